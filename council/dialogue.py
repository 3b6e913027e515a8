"""The dialogue of one call: what it knows, whose question is open, and what was done but not yet told.

Nothing here is changed by a guess. What a chosen opinion changes is taken back when its reply was not heard
and the caller's words are asked about again, because they come again whole; what an action has *done* is
never taken back: it is told until it has been heard, and only the words that are new are asked about.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from turnbudget.agents.agent import PERSON, Context
from turnbudget.council.convene import RESULT, dismiss, words
from turnbudget.voice.language.speakable import speakable
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncGenerator, Mapping

    from turnbudget.agents.agent import Action, Opinion
    from turnbudget.council.actions import Actions, Done
    from turnbudget.council.convene import HeardOpinion
    from turnbudget.voice.call.responder import Question, Said

TELLINGS: Final = 3
"""How often what was done is told at most, if no telling is heard whole."""
HEARD: Final = 0.5
"""The share of its words by which a telling counts as heard."""


@dataclass(slots=True, kw_only=True)
class ActionRun:
    """An action that was begun, and how it is told."""

    key: str
    """The idempotency key: the same action, asked again in one exchange, is run once."""
    action: Action
    """What is done."""
    opening: str
    """What is said once it has succeeded."""
    said: str
    """The caller's words it answers."""
    exchange: int
    """How many of the caller's turns had been heard when it was begun."""
    since: int
    """How long the history was when it began."""
    task: asyncio.Task[Done]
    """The task that does it."""
    tellings: int = 0
    """How often it has been told of."""

    @property
    def succeeded(self) -> bool:
        """Whether it has ended, and well."""
        return self.task.done() and not self.task.cancelled() and not self.task.result().failure

    def told(self) -> str | None:
        """Return what to say of it; ``None`` while it is under way."""
        if not self.task.done():
            return None
        return (
            self.opening.replace(RESULT, self.task.result().result)
            if self.succeeded
            else self.action.otherwise
        )

    def tell(self) -> str | None:
        """Return what to say of it, and count that as a telling."""
        told = self.told()
        self.tellings += told is not None
        return told

    def was_heard(self, history: tuple[Said, ...]) -> bool:
        """Say whether the caller has heard of it by *history*."""
        telling = self.told()
        if telling is None:
            return False
        if self.tellings >= TELLINGS:
            return True
        wanted = set(words(telling)) | set(words(speakable(telling)))
        need = HEARD * min(len(set(words(telling))), len(set(words(speakable(telling)))))
        return any(
            len(wanted & set(words(said.text))) >= need
            for said in history[self.since :]
            if said.who != "caller"
        )


@dataclass(frozen=True, slots=True)
class Standing:
    """What the dialogue knows, and between which seats the caller has been asked to choose."""

    known: Context
    """What the dialogue knows."""
    doubt: tuple[str, ...] = ()
    """The seats between which the caller has been asked to choose."""


@dataclass(frozen=True, slots=True)
class TurnStart:
    """What a turn begins with: the words to ask the seats about, what they may know, and what is owed."""

    exchange: int
    """How many of the caller's turns had been heard."""
    asked: str
    """The words to ask the seats about."""
    standing: Standing
    """What the dialogue knew when the turn began."""
    context: Context
    """What the seats may know."""
    owed: tuple[ActionRun, ...]
    """What was done and has not been heard of."""


class Dialogue:
    """What a call knows by now."""

    def __init__(self, facts: Mapping[str, str]) -> None:
        """*facts* come with the call: its number, its tenant."""
        self._now = self._before = Standing(Context(facts=MappingProxyType(dict(facts))))
        self._exchange = -1
        self._commits = 0
        self._runs: tuple[ActionRun, ...] = ()

    @property
    def known(self) -> Context:
        """What the call knows, as the last chosen opinion left it."""
        return self._now.known

    def know(self, facts: Mapping[str, str]) -> None:
        """Know *facts* that came while the call runs; those it began with stay as they are."""
        self._now, self._before = (
            replace(one, known=replace(one.known, facts=MappingProxyType({**facts, **one.known.facts})))
            for one in (self._now, self._before)
        )

    def look(self, said: str, history: tuple[Said, ...]) -> TurnStart:
        """Return what a turn about *said* begins with; changes nothing.

        Words that were answered stand in the history. As long as none are added to it, turns are about the
        same words and more: one exchange.
        """
        exchange = sum(one.who == "caller" for one in history)
        standing = self._before if exchange == self._exchange else self._now
        owed = tuple(run for run in self._runs if not run.was_heard(history))
        answered = [run.said for run in owed if run.exchange == exchange and said.startswith(run.said)]
        asked = said[max(map(len, answered), default=0) :].lstrip(" ,.;")
        return TurnStart(exchange, asked, standing, replace(standing.known, history=history), owed)

    def begin(self, opened: TurnStart) -> None:
        """Begin the turn that :meth:`look` looked at."""
        self._exchange, self._runs = opened.exchange, opened.owed
        self._before = self._now = opened.standing

    def commit(self, name: str, opinion: Opinion) -> None:
        """Let what the chosen *opinion* of the seat *name* changes take effect."""
        self._commits += 1
        self._now = Standing(_asked(_learned(self._now.known, name, opinion), name, opinion))

    def doubt(self, names: tuple[str, ...]) -> None:
        """Note that the caller is asked which of the seats *names* was meant; no other question is open."""
        self._commits += 1
        self._now = Standing(replace(self._now.known, asked_by="", expects=""), names)

    def reserve(self) -> int:
        """Note that an action was begun whose opinion takes effect when it has succeeded; nobody asks now."""
        self._commits += 1
        self._now, self._before = (
            Standing(replace(one.known, asked_by="", expects="")) for one in (self._now, self._before)
        )
        return self._commits

    def did(self, number: int, name: str, opinion: Opinion, *, failed: bool) -> None:
        """Let an action's opinion take effect for good; if it *failed*, offer a person and no more.

        *number* is what was reserved for it: if something else was said since, its question is not open.
        """
        latest = number == self._commits

        def done(standing: Standing) -> Standing:
            known = standing.known
            if not failed:
                known = _learned(known, name, opinion)
            if latest:
                known = _offered(known, opinion) if failed else _asked(known, name, opinion)
            return Standing(known, () if latest else standing.doubt)

        self._now, self._before = done(self._now), done(self._before)

    def owe(self, run: ActionRun) -> None:
        """Remember *run* until it has been heard of; told in new words, it is the same run."""
        self._runs = (*(one for one in self._runs if one.key != run.key), run)


def _learned(known: Context, name: str, opinion: Opinion) -> Context:
    """Return *known* with the state and slots of *opinion*; an empty slot is forgotten."""
    slots = {slot: value for slot, value in {**known.slots, **opinion.slots}.items() if value}
    states = {**known.states, name: opinion.state}
    return replace(known, slots=MappingProxyType(slots), states=MappingProxyType(states))


def _asked(known: Context, name: str, opinion: Opinion) -> Context:
    """Return *known* with the question of *opinion*, if it is one, as the one that is open.

    Who has no state of its own and expects what is expected already ("You're welcome. So, which account?")
    leaves the question with the seat that asked it.
    """
    if opinion.expects and opinion.expects == known.expects and opinion.state is None:
        return known
    asks = opinion.expects or opinion.opening.rstrip().endswith("?")
    return replace(known, asked_by=name if asks else "", expects=opinion.expects)


def _offered(known: Context, opinion: Opinion) -> Context:
    """Return *known* after the action of *opinion* has failed."""
    offers = opinion.action and opinion.action.otherwise.rstrip().endswith("?")
    return replace(known, asked_by="", expects=PERSON if offers else "")


class ActionRunner:
    """What chosen opinions promise is done here: once, when the caller can no longer be going on, and told.

    *still* is said of what outlasts the caller's patience.
    """

    def __init__(self, actions: Actions, dialogue: Dialogue, still: str) -> None:
        self._actions = actions
        self._dialogue = dialogue
        self._still = still

    def key(self, action: Action, opened: TurnStart) -> str:
        """Return what makes *action* the same action, asked again in the exchange that is *opened*."""
        return self._actions.key(action, opened.exchange)

    def begun(self, action: Action, opened: TurnStart) -> bool:
        """Say whether *action* has been begun in this exchange."""
        return self._actions.begun(self.key(action, opened))

    async def act(
        self, action: Action, chosen: HeardOpinion, owed: list[str], opened: TurnStart, question: Question
    ) -> AsyncGenerator[str, None]:
        """Do the *action* of the *chosen* opinion; yield what is *owed* with how it ended, and the rest.

        Nothing begins before the caller can no longer be going on, nor while they speak.
        """
        await clock.sleep_until(question.act_at_us)
        await question.quiet()
        opinion = chosen.opinion
        run = self._do(action, chosen, opened, question)
        await clock.wait_until([run.task], question.budget.ends_us)
        told = run.tell()
        if told is None:
            question.notes.decide("action under way", f"{action.name} has outlasted the patience")
            told = self._still
        yield " ".join((*owed, told))
        if run.succeeded:
            async with contextlib.aclosing(opinion.rest) as rest:
                async for text in rest:
                    yield text
        else:
            await dismiss(opinion)

    def _do(self, action: Action, chosen: HeardOpinion, opened: TurnStart, question: Question) -> ActionRun:
        """Begin the *action* of the *chosen* opinion, which takes effect when that has succeeded."""
        name, opinion = chosen.seat.name, chosen.opinion
        key = self.key(action, opened)
        number = 0 if self._actions.begun(key) else self._dialogue.reserve()

        def then(done: Done) -> None:
            self._dialogue.did(number, name, opinion, failed=bool(done.failure))

        task = self._actions.run(action, key, question.crew, question.notes, then)
        run = ActionRun(
            key=key,
            action=action,
            opening=opinion.opening,
            said=question.said,
            exchange=opened.exchange,
            since=len(question.history),
            task=task,
        )
        self._dialogue.owe(run)
        return run
