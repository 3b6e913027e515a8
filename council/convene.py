"""The hearing: every seat is asked at once, and whoever asked is never made to wait for one.

Each seat answers on a task of its own in the call's crew. When enough has been heard, or at the deadline, the
rest is cancelled and left to itself: a seat that sleeps for ever, swallows its cancellation, raises, or gives
nonsense costs its own opinion and nothing else. An answer that comes exactly at a deadline is late.
Everything is kept in the order of the seats. An agent may be anybody's, so an opinion is believed only where
it is what it says it is.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from turnbudget.agents.agent import Action, Opinion
from turnbudget.voice.call.responder import nothing
from turnbudget.voice.errors import ConfigError
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

    from turnbudget.agents.agent import Agent, Context
    from turnbudget.voice.call.ledger import Lane
    from turnbudget.voice.call.responder import Notes
    from turnbudget.voice.time.budget import Budget
    from turnbudget.voice.time.crew import Crew


Enough: TypeAlias = "Callable[[Hearing], bool]"
"""Says, each time a seat has answered, whether the hearing may end."""
LEFT_BEHIND: Final = 3
"""How many unfinished tasks of earlier turns a seat may have before it is not asked again."""
RESULT: Final = "{result}"
"""What stands in an opening for what the action returns."""
_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


@dataclass(frozen=True, slots=True)
class Seat:
    """An agent in a council, with its rank and how sure it must be to end the hearing."""

    agent: Agent
    """Who sits there."""
    rank: int = 0
    """Its rank: of opinions that are good enough the one of the highest rank is taken."""
    settle: float = 0.8
    """The confidence (0 to 1) from which its opinion ends a hearing, if nobody who outranks it is awaited."""
    about: str = ""
    """What a caller would call its matter: with it the council can ask which of two was meant."""

    @property
    def name(self) -> str:
        """The agent's name."""
        return self.agent.name


def seated(seats: Iterable[Seat]) -> tuple[Seat, ...]:
    """Return *seats* in their order; raises ConfigError for what cannot sit in a council."""
    taken = tuple(seats)
    if not taken:
        raise ConfigError("a council needs a seat", where="council", remedy="seat at least one agent")
    names: set[str] = set()
    for place, seat in enumerate(taken, 1):
        where = f"council seat {place}"
        name = getattr(seat.agent, "name", None)
        if not isinstance(name, str) or not name or not callable(getattr(seat.agent, "answer", None)):
            raise ConfigError(
                f"{type(seat.agent).__name__} is no agent",
                where=where,
                remedy="give it a name and `async def answer(self, utterance, context, budget)`",
            )
        if name in names:
            raise ConfigError(f"a second agent is named {name!r}", where=where, remedy="rename one")
        if not 0 <= seat.settle <= 1:
            raise ConfigError(f"settle = {seat.settle} of {name!r}", where=where, remedy="use 0 to 1")
        names.add(name)
    return taken


@dataclass(frozen=True, slots=True)
class HeardOpinion:
    """An opinion, whose it is, and when it came."""

    place: int
    """The seat's place in the council, from 0."""
    seat: Seat
    """Whose opinion it is."""
    opinion: Opinion
    """What was said."""
    at_us: int
    """When it came (µs on the clock)."""


class LeftBehind:
    """Tasks of earlier turns that were cancelled and have not ended; one a call."""

    def __init__(self) -> None:
        self._tasks: dict[int, list[asyncio.Task[None]]] = {}

    def note(self, place: int, task: asyncio.Task[None]) -> None:
        """Remember *task* of the seat at *place* until it ends."""
        self._tasks.setdefault(place, []).append(task)

    def too_many(self, place: int) -> bool:
        """Say whether a seat has left so many tasks that another would be one too many."""
        if place not in self._tasks:
            return False
        running = [task for task in self._tasks.pop(place) if not task.done()]
        if running:
            self._tasks[place] = running
        return len(running) >= LEFT_BEHIND


@contextlib.contextmanager
def convene(  # noqa: PLR0913 - what is asked, and where its work and its notes belong
    seats: Sequence[Seat],
    said: str,
    context: Context,
    budget: Budget,
    *,
    crew: Crew,
    notes: Notes,
    left: LeftBehind,
) -> Iterator[Hearing]:
    """Ask all *seats* at once what they would say to *said*; leaving the block ends the hearing."""
    hearing = Hearing(seats, crew, notes, left)
    try:
        hearing.ask(said, context, budget)
        yield hearing
    finally:
        hearing.end()


class Hearing:
    """All seats, asked once, and what they have said so far."""

    def __init__(self, seats: Sequence[Seat], crew: Crew, notes: Notes, left: LeftBehind) -> None:
        self._seats = seats
        self._crew = crew
        self._notes = notes
        self._left = left
        self._heard: list[HeardOpinion | None] = [None] * len(seats)
        self._lanes: list[Lane] = []
        self._tasks: list[asyncio.Task[None] | None] = []
        self._waiting = [True] * len(seats)
        self._by_rank = sorted(range(len(seats)), key=lambda place: -seats[place].rank)
        self._highest = 0
        self._enough: Enough | None = None
        self._over: asyncio.Future[None] | None = None
        self._ended_us: int | None = None
        self.pending = len(seats)
        """How many have not answered yet."""
        self.answered_us: int | None = None
        """When the first gave an opinion, or said that it is not its matter."""
        self.settled_rank: int | None = None
        """The highest rank of those who gave an opinion they are sure enough of."""
        self.surest = -1.0
        """The highest confidence heard."""
        self.taken: HeardOpinion | None = None
        """The opinion that was chosen; it alone stays open when the hearing ends."""

    @property
    def pending_rank(self) -> int | None:
        """The highest rank that has not answered yet."""
        while self._highest < len(self._by_rank) and not self._waiting[self._by_rank[self._highest]]:
            self._highest += 1
        if self._highest == len(self._by_rank):
            return None
        return self._seats[self._by_rank[self._highest]].rank

    def ask(self, said: str, context: Context, budget: Budget) -> None:
        """Ask every seat, but one that has left too many tasks behind."""
        for place, seat in enumerate(self._seats):
            lane = self._notes.lane(f"seat:{seat.name}")
            self._lanes.append(lane)
            if self._left.too_many(place):
                self._tasks.append(None)
                self._take(place, "failed", f"not asked: {LEFT_BEHIND} of its tasks would not end")
            else:
                asking = self._ask(place, said, context, budget)
                self._tasks.append(self._crew.create_task(asking, name=lane.name))

    async def _ask(self, place: int, said: str, context: Context, budget: Budget) -> None:
        """Hear one seat; no error of it leaves this task."""
        given: Opinion | None = None
        outcome, why = "failed", "it was cancelled from within"
        try:
            given = await self._seats[place].agent.answer(said, context, budget)
            why = "" if given is None else fault(given)
            outcome = "nonsense" if why else "none" if given is None else "heard"
        except Exception as error:  # noqa: BLE001 - an agent may raise anything
            why = f"{type(error).__name__}: {error}"
        finally:
            if self._ended_us is None:
                self._take(place, outcome, why, given)
            elif given is not None and outcome == "heard":
                self._note_late(place, given, self._ended_us)
        if given is not None and (outcome == "nonsense" or self._ended_us is not None):
            await dismiss(given)

    def _take(self, place: int, outcome: str, why: str, given: Opinion | None = None) -> None:
        """Note what the seat at *place* answered, and end the listening if that is enough."""
        seat, lane, now = self._seats[place], self._lanes[place], clock.now()
        self._waiting[place] = False
        self.pending -= 1
        if self.answered_us is None and outcome in {"heard", "none"}:
            self.answered_us = now
        if why:
            self._notes.decide(f"{seat.name}: {outcome}", why)
        if outcome == "heard" and given is not None:
            self._heard[place] = HeardOpinion(place, seat, given, now)
            self.surest = max(self.surest, given.confidence)
            if given.confidence >= seat.settle and (
                self.settled_rank is None or seat.rank > self.settled_rank
            ):
                self.settled_rank = seat.rank
        else:
            lane.end(outcome, now, wasted_us=now - lane.began_us)
        over = self._over
        if over and not over.done() and (not self.pending or (self._enough and self._enough(self))):
            over.set_result(None)

    def _note_late(self, place: int, given: Opinion, ended_us: int) -> None:
        late_ms = (clock.now() - ended_us) // clock.MS
        because = f"{given.confidence:.2f}, {late_ms} ms after the hearing had ended: not used"
        self._notes.decide(f"{self._seats[place].name}: late", because)

    async def until(self, enough: Enough, instant: int) -> tuple[HeardOpinion, ...]:
        """Listen until all have answered, *enough* says so, or *instant*; return what came before that."""
        if self.pending and not enough(self):
            self._enough = enough
            self._over = asyncio.get_running_loop().create_future()
            await clock.wait_until([self._over], instant)
        return tuple(heard for heard in self._heard if heard and heard.at_us < instant)

    def end(self) -> None:
        """Cancel who has not answered and walk away; close every opinion but the one taken."""
        self._ended_us = now = clock.now()
        for place, (task, lane) in enumerate(zip(self._tasks, self._lanes, strict=True)):
            if task and not task.done():
                task.cancel()
                self._left.note(place, task)
            if self._waiting[place]:
                lane.end("late", now, wasted_us=now - lane.began_us)
        for heard in filter(None, self._heard):
            lane = self._lanes[heard.place]
            if self.taken and heard.place == self.taken.place:
                lane.end("chosen", heard.at_us)
                continue
            lane.end("heard", heard.at_us, wasted_us=heard.at_us - lane.began_us)
            if lingers(heard.opinion):
                self._crew.create_task(dismiss(heard.opinion), name=f"closing {lane.name}")


def fault(given: Any) -> str:
    """Return why *given* cannot be taken for an opinion; '' if it can."""
    if not isinstance(given, Opinion):
        return f"{type(given).__name__} is no opinion"
    opinion: Any = given  # of the right class, but its fields may be anything
    sure, action, rest, opening = opinion.confidence, opinion.action, opinion.rest, opinion.opening
    if not isinstance(opening, str) or not words(opening):
        return "an opening without words"
    checks = (
        (isinstance(sure, int | float) and 0 <= sure <= 1, f"a confidence of {sure!r}"),
        (hasattr(rest, "__aiter__") and hasattr(rest, "aclose"), "a rest that is no asynchronous generator"),
        (action is None or _is_action(action), "an action that is none"),
        (action is not None or RESULT not in opening, f"{RESULT} without an action"),
        (_is_texts(opinion.slots), "slots that are no texts"),
        (isinstance(opinion.expects, str), "an expected slot that is no text"),
        (isinstance(opinion.transfer, str), "a transfer that is no text"),
    )
    return next((why for right, why in checks if not right), "")


def _is_action(action: Any) -> bool:
    if not isinstance(action, Action):
        return False
    name: Any = action.name
    otherwise: Any = action.otherwise
    return isinstance(name, str) and isinstance(otherwise, str) and _is_texts(action.arguments)


def _is_texts(mapping: Any) -> bool:
    return isinstance(mapping, Mapping) and all(
        isinstance(key, str) and isinstance(value, str) for key, value in mapping.items()
    )


def words(text: str) -> list[str]:
    """Return the words of *text* without case and marks."""
    return _WORD.findall(text.casefold())


def sense(opinion: Opinion) -> Hashable:
    """Return what *opinion* comes to: two agree if they would do the same, or say the same words.

    Nothing nearer than that counts: a sentence with one number changed is another sentence.
    """
    if opinion.action:
        return (opinion.action.name, tuple(sorted(opinion.action.arguments.items())))
    return (opinion.transfer, " ".join(words(opinion.opening)))


def lingers(opinion: Opinion) -> bool:
    """Say whether *opinion* holds something open, such as a stream from an LLM."""
    return getattr(opinion.rest, "ag_code", None) is not nothing.__code__


async def dismiss(opinion: Any) -> None:
    """Close what *opinion* holds open; an error in that interests nobody."""
    with contextlib.suppress(Exception):
        await opinion.rest.aclose()
