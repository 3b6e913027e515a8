"""What any agent owes the council, as a check that its maker can run: ``await check_agent(my_agent)``."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Mapping
from contextlib import aclosing, nullcontext
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, get_args

from turnbudget.agents.agent import Action, Context, Foresees, Opinion
from turnbudget.voice.call.responder import Completeness
from turnbudget.voice.errors import BrokenPromise
from turnbudget.voice.promises import tried
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Budget
from turnbudget.voice.time.clock import MS, SECOND
from turnbudget.voice.time.crew import Crew

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from turnbudget.agents.agent import Agent

UTTERANCES: Final = (
    "hello",
    "yes",
    "no",
    "one hundred and thirty five dollars",
    "what was that",
    "",
    "[noise]",
)
LONG_US: Final = SECOND
GONE_US: Final = 5 * MS
"""How long an agent may take to let go once it is cancelled or its budget is over."""
HELD_US: Final = 50 * MS
"""What one answer may hold the loop: far more than it should, for the machine may be busy."""
RESULT: Final = "{result}"


def proven(agent: Any) -> str:
    """Return why *agent* is none; '' if it has what an agent has."""
    name = getattr(agent, "name", None)
    answer = getattr(agent, "answer", None)
    if isinstance(agent, type):
        return f"{agent.__name__} is a class: make one of it"
    if not isinstance(name, str) or not name.strip():
        return f"{type(agent).__name__} has no name"
    if not inspect.iscoroutinefunction(answer):
        return f"{type(agent).__name__} has no `async def answer(utterance, context, budget)`"
    try:
        inspect.signature(answer).bind("", Context(), Budget(0))
    except TypeError:
        return f"{type(agent).__name__}.answer does not take (utterance, context, budget)"
    return ""


async def check_agent(
    agent: Agent, utterances: Sequence[str] = UTTERANCES, context: Context | None = None, *, same: bool = True
) -> None:
    """Raise :class:`BrokenPromise`, which lists all that *agent* breaks of what an agent promises.

    It is asked each of *utterances*, some of which should be its matter, in *context* and in whatever
    context its answers lead to. *same* is false for an agent that may say it differently each time (an
    LLM). Run it in virtual time, where every wait is exact and a blocked loop is seen all the same.
    """
    whose = getattr(agent, "name", "") or type(agent).__name__
    BrokenPromise.unless_kept(f"agent {whose!r}", filter(None, [proven(agent)]))
    async with Crew() as crew:
        trial = _Trial(agent, context or Context(), crew, same=same)
        trial.foresee()
        for utterance in utterances:
            await trial.asked(utterance)
            trial.foresee()
    BrokenPromise.unless_kept(f"agent {whose!r}", trial.broken)


@dataclass(frozen=True, slots=True)
class _Answer:
    """What came of asking: an opinion or none, or an error; and how long it took."""

    opinion: Any
    took_us: int
    error: BaseException | None = None
    late: bool = False
    blocked: bool = False


class _Asking:
    """An agent being asked, on a task that never fails."""

    def __init__(self, agent: Agent, utterance: str, context: Context, us: int) -> None:
        self.opinion: Any = None
        self.error: BaseException | None = asyncio.CancelledError("it cancels itself")
        self._asked = (agent, utterance, context, Budget.of(us))

    async def run(self) -> None:
        """Ask, and keep what comes of it."""
        agent, utterance, context, budget = self._asked
        try:
            self.opinion = await agent.answer(utterance, context, budget)
            self.error = None
        except Exception as error:  # noqa: BLE001 - whatever it raises is the finding
            self.error = error


class _Trial:
    """An agent being asked; ``broken`` is what it did not keep."""

    def __init__(self, agent: Agent, context: Context, crew: Crew, *, same: bool) -> None:
        self.broken: list[str] = []
        self._crew = crew
        self._agent = agent
        self._context = context
        self._same = same

    async def asked(self, utterance: str) -> None:
        """Try *utterance* in every way, then take the answer as chosen."""
        context = _frozen(self._context)
        first = await self._ask(utterance, context, LONG_US)
        self._judge(utterance, first)
        whole = first.opinion is None or not _fault(first.opinion)
        if first.error is None and whole:
            await self._repeated(utterance, context, first)
        await self._hurried(utterance, context)
        await self._cancelled(utterance, context)
        if first.opinion is not None and whole:
            await self._goes_on(utterance, first.opinion)
        await _close(first.opinion)
        if isinstance(first.opinion, Opinion) and whole:
            self._context = self._followed(first.opinion)

    def foresee(self) -> None:
        """Judge what it foresees, if it is one that does."""
        if not isinstance(self._agent, Foresees):
            return
        agent, context = self._agent, self._context
        ways: dict[str, Callable[[], Any]] = {
            "fixed": agent.fixed,
            "next_openings": lambda: agent.next_openings(context),
        }
        for name, way in ways.items():
            try:
                texts = way()
            except Exception as error:  # noqa: BLE001 - whatever it raises is the finding
                self.broken.append(f"{name} raises {error!r}")
                continue
            if not isinstance(texts, tuple) or not all(isinstance(text, str) for text in texts):
                self.broken.append(f"{name} gives no tuple of texts")
            elif any("{" in text or not text.strip() for text in texts):
                self.broken.append(f"{name} has a text with a hole in it, or an empty one")

    def _judge(self, utterance: str, answer: _Answer) -> None:
        if answer.blocked:
            self._break(f"it holds the loop longer than {HELD_US} µs", utterance)
        if answer.late:
            self._break("it does not keep to its budget", utterance)
        elif answer.error is not None:
            self._break(f"it raises {answer.error!r}", utterance)
        elif answer.opinion is not None and (fault := _fault(answer.opinion)):
            self._break(fault, utterance)

    async def _repeated(self, utterance: str, context: Context, first: _Answer) -> None:
        """Ask again, twice at once: a guess leaves no trace, and two do not disturb each other."""
        both = await asyncio.gather(*(self._ask(utterance, context, LONG_US) for _ in range(2)))
        for again in both:
            if self._same and _essence(again.opinion) != _essence(first.opinion):
                self._break("asked the same again it answers otherwise: it is not pure", utterance)
            await _close(again.opinion)

    async def _goes_on(self, utterance: str, opinion: Opinion) -> None:
        """Hear the rest, as far as it comes in time, and close it."""

        async def read() -> None:
            until_us = clock.now() + LONG_US
            async with clock.move_on_at(until_us), aclosing(opinion.rest) as rest:
                async for text in rest:
                    if not isinstance(_any(text), str):
                        self._break(f"its rest yields {text!r}, no text", utterance)

        lasting = "its rest goes on when it is cancelled or closed"
        for fault in await tried(read(), LONG_US + GONE_US, lasting, "its rest raises {!r}"):
            self._break(fault, utterance)

    async def _hurried(self, utterance: str, context: Context) -> None:
        """Ask without time: it may give what it has at once, or nothing; it may not take any."""
        answer = await self._ask(utterance, context, 0)
        if answer.late or answer.took_us > GONE_US:
            self._break("it goes on although no time is left", utterance)
        await _close(answer.opinion)

    async def _cancelled(self, utterance: str, context: Context) -> None:
        """Cancel it once it has begun."""
        asking, task = self._begun(utterance, context, LONG_US)
        await clock.sleep(0)
        task.cancel()
        if not await clock.wait_until([task], clock.now() + GONE_US):
            self._break("it does not end when it is cancelled", utterance)
        await _close(asking.opinion)

    async def _ask(self, utterance: str, context: Context, us: int) -> _Answer:
        blocked: list[bool] = []
        began = clock.now()
        asking, task = self._begun(utterance, context, us)
        # Virtual time does not pass while code runs: a thread watches the wall instead.
        watch = clock.alarm(HELD_US, lambda: blocked.append(True))
        with watch if clock.kind() == "virtual" else nullcontext():
            ended = await clock.wait_until([task], began + us + GONE_US)
        took = clock.now() - began
        stalls = clock.stalls(began, began + took)
        held = bool(blocked) or any(each.ended_us - each.began_us > HELD_US for each in stalls)
        if not ended:
            task.cancel()
            await clock.wait_until([task], clock.now() + GONE_US)
            return _Answer(None, took, late=True, blocked=held)
        return _Answer(asking.opinion, took, asking.error, blocked=held)

    def _begun(self, utterance: str, context: Context, us: int) -> tuple[_Asking, asyncio.Task[None]]:
        asking = _Asking(self._agent, utterance, context, us)
        return asking, self._crew.create_task(asking.run(), name=f"check:{self._agent.name}")

    def _followed(self, opinion: Opinion) -> Context:
        """Return the context once *opinion* was chosen."""
        name, before = self._agent.name, self._context
        states = {**before.states, name: opinion.state}
        slots = {**before.slots, **opinion.slots}
        return replace(before, states=states, slots=slots, asked_by=name, expects=opinion.expects)

    def _break(self, promise: str, utterance: str) -> None:
        self.broken.append(f"{promise} ({utterance!r})")


def _fault(given: Any) -> str:
    """Return what is wrong with an opinion; '' if nothing."""
    if not isinstance(given, Opinion):
        return f"it gives {type(given).__name__}, no Opinion"
    opening, sure, action = _any(given.opening), _any(given.confidence), _any(given.action)
    if not isinstance(_any(given.slots), Mapping) or (
        isinstance(action, Action) and not isinstance(_any(action.arguments), Mapping)
    ):
        return "its slots or its action's arguments are no table"
    texts: list[Any] = [opening, given.because, given.expects, given.transfer]
    texts += [*given.slots, *given.slots.values()]
    if isinstance(action, Action):
        texts += [
            action.name,
            action.otherwise,
            action.meanwhile,
            *action.arguments,
            *action.arguments.values(),
        ]
    checks = {
        "a text of it is none": all(isinstance(text, str) for text in texts),
        "it says nothing": any(each.isalnum() for each in str(opening)),
        f"its confidence is {sure!r}": isinstance(sure, int | float)
        and not isinstance(sure, bool)
        and 0 <= sure <= 1,
        "its action is none": action is None or isinstance(action, Action),
        "it speaks of a {result} without an action": action is not None or RESULT not in str(opening),
        "it speaks of a {result} before there is one": RESULT not in str(getattr(action, "meanwhile", "")),
        "whether it ends the call is neither True nor False": isinstance(_any(given.ends_call), bool),
        "its completeness is none": given.completeness in get_args(Completeness),
        "its rest is no asynchronous generator": hasattr(given.rest, "aclose"),
    }
    return next((fault for fault, holds in checks.items() if not holds), "")


def _any(value: Any) -> Any:
    """Return *value* as what anybody may have put there."""
    return value


def _essence(opinion: Any) -> Any:
    """Return what is compared: all but the stream."""
    if not isinstance(opinion, Opinion):
        return opinion
    action = (opinion.action.name, dict(opinion.action.arguments)) if opinion.action else None
    said = (opinion.opening, opinion.confidence, opinion.expects, opinion.ends_call, opinion.transfer)
    more = (opinion.completeness, opinion.action.meanwhile if opinion.action else "")
    return (said, more, action, opinion.state, dict(opinion.slots))


def _frozen(context: Context) -> Context:
    """Return *context* with tables that nobody can write to."""
    tables = {key: MappingProxyType(dict(getattr(context, key))) for key in ("slots", "states", "facts")}
    return replace(context, **{key: _sealed(table) for key, table in tables.items()})


def _sealed(value: Any) -> Any:
    if isinstance(value, Mapping):
        return MappingProxyType({key: _sealed(each) for key, each in value.items()})
    return tuple(_sealed(each) for each in value) if isinstance(value, list) else value


async def _close(given: Any) -> None:
    """Close what an opinion holds open; whatever else was given holds nothing."""
    if isinstance(given, Opinion) and hasattr(given.rest, "aclose"):
        await given.rest.aclose()
