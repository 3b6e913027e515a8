"""The Council: a responder that asks all its seats, lets one speak, and does what that one promises.

One answer for one turn; what was heard on a guess is taken up by the turn if that is about the same words.
At the first deadline, by which a reply still sounds in time, the best opinion is taken if it is good enough;
if none is, the council listens on behind the bridge, for the first that is, until the caller's patience
ends. It returns by then in any case. One council belongs to one call.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from turnbudget.agents.agent import Foresees
from turnbudget.agents.prefetch import Prefetch
from turnbudget.council.actions import Actions
from turnbudget.council.choose import SCALES, DialogueState
from turnbudget.council.choose import policy as named
from turnbudget.council.convene import LeftBehind, convene, dismiss, seated, words
from turnbudget.council.dialogue import ActionRunner, Dialogue
from turnbudget.council.refine import refined
from turnbudget.voice.call.responder import Reply
from turnbudget.voice.language.text import same
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from turnbudget.agents.agent import Context, Opinion
    from turnbudget.council.actions import Tool
    from turnbudget.council.choose import Policy, Ruling, Scales
    from turnbudget.council.convene import HeardOpinion, Hearing, Seat
    from turnbudget.council.dialogue import TurnStart
    from turnbudget.voice.call.responder import Question, Said
    from turnbudget.voice.time.budget import Budget


Kind: TypeAlias = Literal["opinion", "clarification", "otherwise", "owed", "nothing"]
"""What an answer of the council is: an opinion, or what it says in its own name."""
NAME: Final = "council"
"""The council's name, where nobody says otherwise."""


@dataclass(frozen=True, slots=True)
class Wording:
    """What the council says in its own name."""

    otherwise: str = "Sorry, I did not get that. Could you say it in other words?"
    """To words that are nobody's matter."""
    which: str = "Sorry, do you mean {one}, or {other}?"
    """When two seats disagree too closely to guess."""
    still: str = "That is taking a little longer. I will tell you as soon as it is done."
    """When an action has not ended by the end of the caller's patience."""


@dataclass(frozen=True, slots=True)
class CouncilAnswer:
    """What the council's last answer was: whose opinion, or what else, and why."""

    kind: Kind
    """What it is: an opinion, or what the council says in its own name."""
    by: str
    """Whose it is."""
    because: str
    """Why, as it is written in the decisions."""
    opinion: Opinion | None = None
    """The opinion, if it is one."""
    between: tuple[str, ...] = ()
    """The seats a clarification asks between."""


@dataclass(frozen=True, slots=True)
class CouncilVerdict:
    """A ruling, with the opinion to speak: the one chosen, or that one refined."""

    ruling: Ruling
    """What the choice came to."""
    opinion: Opinion | None
    """The opinion to speak: the one chosen, or that one refined."""
    answered: bool
    """Whether any seat did, be it that it has nothing to say."""

    async def close(self) -> None:
        """Close what its opinion holds open: nobody will hear it."""
        if self.opinion:
            await dismiss(self.opinion)


@dataclass(frozen=True, slots=True)
class BegunHearing:
    """A hearing begun on a guess: kept if the turn turns out to be about the same words, else dropped."""

    opened: TurnStart
    hearing: Prefetch[CouncilVerdict]

    def fits(self, opened: TurnStart) -> bool:
        """Whether the turn that is *opened* is about the same words, and nothing else has changed."""
        asked = self.opened.asked
        return same(asked, opened.asked) and replace(opened, asked=asked) == self.opened


@dataclass(slots=True)
class Council:
    """A responder that asks several agents at once and takes the best opinion in time; one for each call."""

    seats: Iterable[Seat]
    """Who is asked."""
    call: str
    """The call's id; it keeps what one call does apart from what another does."""
    tools: Mapping[str, Tool] = field(default_factory=dict)
    """What actions do, by name."""
    policy: Policy | str = "first-good"
    scales: Scales = SCALES
    wording: Wording = field(default_factory=Wording)
    facts: Mapping[str, str] = field(default_factory=dict)
    """What is known of the call before anybody speaks."""
    name: str = NAME
    last: CouncilAnswer | None = None
    """What was answered last, but on a guess."""
    _seats: tuple[Seat, ...] = field(init=False, repr=False)
    _policy: Policy = field(init=False, repr=False)
    _dialogue: Dialogue = field(init=False, repr=False)
    _runner: ActionRunner = field(init=False, repr=False)
    _left: LeftBehind = field(init=False, repr=False, default_factory=LeftBehind)
    _begun: BegunHearing | None = field(init=False, repr=False, default=None)

    def __post_init__(self) -> None:
        """Seat the agents; raises ConfigError for what is none, and for an unknown policy."""
        self._seats = seated(self.seats)
        self._policy = named(self.policy) if isinstance(self.policy, str) else self.policy
        self._dialogue = Dialogue(self.facts)
        self._runner = ActionRunner(Actions(self.tools, self.call), self._dialogue, self.wording.still)

    @property
    def known(self) -> Context:
        """What the call knows by now: slots, states, whose question is open."""
        return self._dialogue.known

    def know(self, facts: Mapping[str, str]) -> None:
        """Know *facts* of the caller that came while the call runs; those it began with stay as they are."""
        self._dialogue.know(facts)

    def fixed(self) -> tuple[str, ...]:
        """Return what its agents and itself may say that holds no caller's data."""
        texts = (text for agent in self._foreseeing() for text in agent.fixed())
        return tuple(dict.fromkeys((*texts, self.wording.otherwise, self.wording.still)))

    def foreseen(self) -> tuple[str, ...]:
        """Return what the agent whose question is open, or else any, is likely to say next."""
        known = self._dialogue.known
        asking = [seat.agent for seat in self._seats if seat.name == known.asked_by]
        foreseeing = [agent for agent in asking if isinstance(agent, Foresees)] or self._foreseeing()
        return tuple(dict.fromkeys(text for agent in foreseeing for text in _next(agent, known)))

    def _foreseeing(self) -> list[Foresees]:
        return [seat.agent for seat in self._seats if isinstance(seat.agent, Foresees)]

    async def make_ready(self, history: tuple[Said, ...]) -> None:
        """Have nothing to make ready."""

    async def answer(self, question: Question) -> Reply | None:
        """Return the one reply, by the question's budget; ``None`` if no seat has answered at all.

        Asked on a guess it changes nothing, and runs no action.
        """
        opened = self._dialogue.look(question.said, question.history)
        if question.guess:
            return await self._guess(opened, question)
        self._dialogue.begin(opened)
        verdict = await self._take_up(opened, question)
        try:
            return await self._speak(verdict, opened, question)
        except BaseException:
            if verdict.opinion:
                question.crew.create_task(dismiss(verdict.opinion), name="closing an unspoken reply")
            raise

    async def _guess(self, opened: TurnStart, question: Question) -> Reply | None:
        """Return what would be said to words that may not be all, and keep the hearing for when they are."""
        self._drop()
        if opened.owed:
            return None
        hearing = Prefetch(lambda: self._hear(opened, question), CouncilVerdict.close, question.crew)
        self._begun = begun = BegunHearing(opened, hearing)
        try:
            verdict = await hearing.come()
        except BaseException:
            if self._begun is begun:
                self._drop()
            raise
        opinion, ruling = verdict.opinion, verdict.ruling
        if ruling.doubt:
            return Reply(self._which(ruling), self.name, ruling.because)
        if opinion is None or ruling.chosen is None:
            # A caller's first words, if they are nobody's, are likely to lead up to some that are.
            if not verdict.answered or opened.exchange:
                return None
            return Reply(self.wording.otherwise, self.name, ruling.because, completeness="lead-in")
        # Who is not good enough to be heard need not be right that no more will come.
        doubtful = opinion.completeness == "whole" and not ruling.good
        opening, acts = opinion.opening, False
        if opinion.action:
            acts = not opinion.action.meanwhile
            opening = opinion.action.meanwhile or opening
        return Reply(
            opening,
            ruling.chosen.seat.name,
            ruling.because,
            completeness="unknown" if doubtful else opinion.completeness,
            acts=acts,
        )

    def _drop(self) -> None:
        """Drop what is kept of an earlier guess."""
        begun, self._begun = self._begun, None
        if begun:
            begun.hearing.drop()

    async def _take_up(self, opened: TurnStart, question: Question) -> CouncilVerdict:
        """Return the verdict of the hearing that was begun on a guess, if it fits, else of a new one."""
        begun, verdict = self._begun, None
        if begun and begun.fits(opened):
            self._begun = None
            verdict = await begun.hearing.take(question.budget.ends_us)
        self._drop()
        if verdict and verdict.answered:
            return verdict
        return await self._hear(opened, question)  # seats that failed on a guess may answer now

    # --- hearing -----------------------------------------------------------------------------------

    async def _hear(self, opened: TurnStart, question: Question) -> CouncilVerdict:
        """Ask the seats, and rule."""
        if opened.owed and not words(opened.asked):
            return CouncilVerdict(self._rule((), opened), None, answered=False)
        crew, notes = question.crew, question.notes
        asking = convene(
            self._seats,
            opened.asked,
            opened.context,
            question.budget,
            crew=crew,
            notes=notes,
            left=self._left,
        )
        with asking as hearing:
            ruling, better = await self._listen(hearing, opened, question)
            chosen = None if ruling.doubt else ruling.chosen
            hearing.taken = chosen
        opinion = chosen.opinion if chosen else None
        if better and opinion:
            crew.create_task(dismiss(opinion), name="closing a refined draft")
        first_us = hearing.answered_us
        in_time = first_us is not None and first_us < question.budget.ends_us
        return CouncilVerdict(ruling, better or opinion, answered=in_time)

    async def _listen(
        self, hearing: Hearing, opened: TurnStart, question: Question
    ) -> tuple[Ruling, Opinion | None]:
        """Listen until the first deadline, and if nothing good enough has come, until the last."""
        policy, sound_by = self._policy, min(question.sound_by, question.budget)
        refiner = policy.refiner
        if refiner and refiner.fits(sound_by):
            heard = await hearing.until(policy.enough, sound_by.keep(refiner.needs_us()).ends_us)
            ruling = self._rule(heard, opened)
            better = await self._refine(ruling, heard, sound_by, opened, question)
            if better:
                return ruling, better
        ruling = self._rule(await hearing.until(policy.enough, sound_by.ends_us), opened)
        if not ruling.good:
            if hearing.pending:
                because = f"{ruling.because}; {hearing.pending} to be heard"
                question.notes.decide("listening on", because)
            ruling = self._rule(await hearing.until(self._any_good, question.budget.ends_us), opened)
        return ruling, None

    async def _refine(
        self,
        ruling: Ruling,
        heard: tuple[HeardOpinion, ...],
        sound_by: Budget,
        opened: TurnStart,
        question: Question,
    ) -> Opinion | None:
        refiner = self._policy.refiner
        if not (refiner and ruling.chosen and ruling.good):
            return None
        return await refined(
            refiner,
            opened.asked,
            heard,
            ruling.chosen,
            sound_by=sound_by,
            budget=question.budget,
            crew=question.crew,
            notes=question.notes,
        )

    def _any_good(self, hearing: Hearing) -> bool:
        return hearing.surest >= self.scales.good

    def _rule(self, heard: tuple[HeardOpinion, ...], opened: TurnStart) -> Ruling:
        context = opened.context
        state = DialogueState(context.asked_by if context.expects else "", opened.standing.doubt)
        return self._policy.choose(heard, state, self.scales)

    # --- speaking ----------------------------------------------------------------------------------

    async def _speak(self, verdict: CouncilVerdict, opened: TurnStart, question: Question) -> Reply | None:
        """Say what is owed, and what was chosen; do what that promises."""
        under_way = [run.task for run in opened.owed if run.exchange == opened.exchange]
        await clock.wait_until(under_way, question.budget.ends_us)
        ruling, opinion, chosen = verdict.ruling, verdict.opinion, verdict.ruling.chosen
        again = self._runner.key(opinion.action, opened) if opinion and opinion.action else ""
        owed = [told for run in opened.owed if run.key != again and (told := run.tell()) is not None]
        if ruling.doubt:
            names = tuple(one.seat.name for one in ruling.doubt)
            self._dialogue.doubt(names)
            self.last = CouncilAnswer("clarification", self.name, ruling.because, between=names)
            text = self._which(ruling)
        elif opinion and chosen:
            self.last = CouncilAnswer("opinion", chosen.seat.name, ruling.because, opinion)
            return await self._let_speak(replace(chosen, opinion=opinion), owed, opened, question)
        elif opened.owed:
            self.last = CouncilAnswer("owed", self.name, "what was done has not been heard")
            text = "" if owed else self.wording.still
        elif verdict.answered:
            self.last = CouncilAnswer("otherwise", self.name, ruling.because)
            text = self.wording.otherwise
        else:
            self.last = CouncilAnswer("nothing", self.name, "no seat has answered")
            return None
        return Reply(" ".join(filter(None, (*owed, text))), self.last.by, self.last.because)

    async def _let_speak(
        self, chosen: HeardOpinion, owed: list[str], opened: TurnStart, question: Question
    ) -> Reply:
        """Return the chosen opinion as the reply, once its action has been done."""
        name, opinion, action = chosen.seat.name, chosen.opinion, chosen.opinion.action
        because = self.last.because if self.last else ""
        for took, what in (("transfer", opinion.transfer), ("end of the call", opinion.ends_call)):
            if what:
                question.notes.decide(took, f"{name}: {what if isinstance(what, str) else opinion.because}")
        if not action:
            self._dialogue.commit(name, opinion)
            text = " ".join((*owed, opinion.opening))
            return Reply(
                text, name, because, opinion.rest, ends_call=opinion.ends_call, transfer=opinion.transfer
            )
        meanwhile = "" if self._runner.begun(action, opened) else action.meanwhile
        acting = self._runner.act(action, chosen, [] if meanwhile else owed, opened, question)
        text = " ".join((*owed, meanwhile)) if meanwhile else await anext(acting)
        return Reply(text, name, because, acting, ends_call=opinion.ends_call)

    def _which(self, ruling: Ruling) -> str:
        one, other = (heard.seat.about for heard in ruling.doubt)
        return self.wording.which.format(one=one, other=other)


def _next(agent: Foresees, known: Context) -> tuple[str, ...]:
    """Return what *agent* foresees; one that raises instead foresees nothing, and costs the call nothing."""
    try:
        return tuple(agent.next_openings(known))
    except Exception:  # noqa: BLE001 - an agent may raise anything; check_agent finds it out
        return ()
