"""The five conformance kits have one contract: they return nothing, or raise a list of all that is broken."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import pickle

import pytest

import turnbudget
from turnbudget import testing
from turnbudget.agents.backends.backend import nobody
from turnbudget.agents.backends.scripted import says
from turnbudget.testing import ScriptedBackend, ScriptedSynthesizer, ScriptedTranscriber, Take
from turnbudget.voice.errors import BrokenPromise, TurnbudgetError
from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock

KITS = ("check_agent", "check_backend", "check_line", "check_synthesizer", "check_transcriber")


@pytest.mark.parametrize("name", KITS)
def test_a_kit_stands_at_both_doors_and_returns_nothing(name):
    kit = getattr(testing, name)
    assert kit is getattr(turnbudget, name)
    assert inspect.iscoroutinefunction(kit)
    assert inspect.signature(kit).return_annotation == "None"
    assert kit.__doc__.startswith("Raise :class:`BrokenPromise`, which lists all that ")


class Mute:
    """An agent and a line that do what they are asked, and keep nothing of what they promise."""

    name = "mute"

    async def answer(self, utterance, context, budget):
        raise RuntimeError(f"no answer to {utterance!r} in {context} by {budget}")

    def send(self, frame):
        """Take a frame."""

    async def listen(self):
        for frame in ():
            yield frame


BROKEN = {
    "check_agent": (Mute(),),
    "check_backend": (ScriptedBackend(()),),
    "check_line": (Mute(),),
    "check_synthesizer": (ScriptedSynthesizer(faults=dict.fromkeys(range(99), "raise")),),
    "check_transcriber": (ScriptedTranscriber, audio.silence(audio.RATE), ["hello"]),
}


@pytest.mark.parametrize("name", KITS)
async def test_what_keeps_nothing_fails_a_test_by_itself(name):
    with pytest.raises(BrokenPromise) as caught:
        await getattr(testing, name)(*BROKEN[name])
    assert caught.value.promises
    assert all(promise in str(caught.value) for promise in caught.value.promises)


class Hung(Mute):
    """A backend that never answers, and a voice that never speaks, whatever their budgets."""

    voice = "hung"

    async def stream(self, prompt, budget, told=None):
        await self.render(prompt, budget, told)
        yield

    async def render(self, *_):
        await asyncio.get_running_loop().create_future()

    async def prewarm(self, prefix, budget):
        """Have nothing to warm."""

    async def warm(self):
        """Have nothing to load."""

    async def aclose(self):
        """Have nothing to free."""


DEAF = ScriptedTranscriber(takes=[Take(never=True)] * 99)
HUNG = {
    "check_backend": ((Hung(),), "an answer does not end"),
    "check_synthesizer": ((Hung(),), "a render does not end"),
    "check_transcriber": ((lambda: DEAF, audio.silence(audio.RATE), []), "everything ends, but not hears"),
}


@pytest.mark.parametrize("name", HUNG)
async def test_what_hangs_fails_a_test_too(name):
    arguments, finding = HUNG[name]
    with pytest.raises(BrokenPromise, match=finding):
        await getattr(testing, name)(*arguments)


def told(kit, component):
    """The promises that *component* is told to break, the call to a factory included."""
    return getattr(testing, kit)(
        *((component,) if kit != "check_transcriber" else (component, SOUND, ["hi"]))
    )


SOUND = audio.silence(audio.RATE)
SHAPES = {
    "check_backend": ScriptedBackend,
    "check_line": testing.StageLine,
    "check_synthesizer": ScriptedSynthesizer,
    "check_agent": Mute,
}


@pytest.mark.parametrize("kit", SHAPES)
async def test_a_class_is_no_component(kit):
    with pytest.raises(BrokenPromise, match="is a class: make one of it"):
        await told(kit, SHAPES[kit])


@pytest.mark.parametrize("kit", KITS)
@pytest.mark.parametrize("thing", [None, object(), 3, "my:Thing"])
async def test_what_is_no_component_at_all_fails_a_test_too(kit, thing):
    with pytest.raises(BrokenPromise, match=r"has no name|has no latency_us|cannot be made"):
        await told(kit, thing)


class Waiting(Mute):
    """A line whose send waits, which no call does."""

    latency_us = 0
    heard_us = None

    async def send(self, frame):
        """Take a frame, and wait."""

    def clear(self):
        """Drop nothing."""

    end = None


async def test_a_method_that_waits_where_nobody_awaits_it_is_found():
    with pytest.raises(BrokenPromise) as caught:
        await testing.check_line(Waiting())
    assert caught.value.promises == (
        "its send is `async def`, and nobody would wait for it",
        "its end cannot be called",
    )


class Stubborn:
    """What does not close, and goes on when it is cancelled, twice."""

    async def aclose(self):
        for _ in range(2):
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.get_running_loop().create_future()


class Clumsy:
    async def aclose(self):
        raise RuntimeError("it sticks")


OPEN = (ScriptedSynthesizer, "check_synthesizer"), (testing.ScriptedBackend, "check_backend")


@pytest.mark.parametrize(("kind", "kit"), OPEN)
@pytest.mark.parametrize(
    ("closing", "finding"), [(Stubborn, "aclose does not end"), (Clumsy, "aclose raises .*it sticks")]
)
async def test_how_it_closes_is_a_finding_like_any_other(kind, kit, closing, finding):
    one = type("One", (closing, kind), {})(*([()] if kind is ScriptedBackend else []))
    with pytest.raises(BrokenPromise, match=finding):
        await told(kit, one)


class Sleepy(ScriptedSynthesizer):
    async def warm(self):
        await asyncio.get_running_loop().create_future()


async def test_a_voice_that_never_warms_is_found():
    with pytest.raises(BrokenPromise, match="warm does not end"):
        await testing.check_synthesizer(Sleepy())


async def test_a_factory_that_fails_is_found():
    with pytest.raises(BrokenPromise, match="cannot be made: ZeroDivisionError"):
        await testing.check_transcriber(lambda: 1 / 0, SOUND, ["hi"])


class Overtime(ScriptedBackend):
    """Refuses without time, and otherwise takes all that it needs."""

    async def stream(self, prompt, budget, told=nobody):
        given = budget if budget.left() <= 0 else turnbudget.Budget.of(10_000_000)
        async with contextlib.aclosing(super().stream(prompt, given, told)) as deltas:
            async for delta in deltas:
                yield delta


async def test_an_answer_that_goes_on_when_its_budget_has_ended_in_the_middle_is_found():
    with pytest.raises(BrokenPromise, match=r"goes on for [0-9]+ µs behind the end of its budget"):
        await testing.check_backend(Overtime(says("It is so. " * 20, each_us=100_000)))


async def stubborn_rest():
    try:
        yield "And so on."
        await asyncio.get_running_loop().create_future()
    finally:
        await clock.sleep(5_000_000)


async def failing_rest():
    yield "And so on."
    raise LookupError("lost the thread")


async def numbers():
    yield 3


OPINIONS = {
    "a table of slots that is a list": ({"slots": ["pin"]}, "are no table"),
    "a reason that is none": ({"because": 3}, "a text of it is none"),
    "an end that is a word": ({"ends_call": "no"}, "neither True nor False"),
    "a rest of numbers": ({"rest": numbers}, "its rest yields 3, no text"),
    "a rest that fails": ({"rest": failing_rest}, "its rest raises LookupError"),
    "a rest that does not let go": (
        {"rest": stubborn_rest},
        "its rest goes on when it is cancelled or closed",
    ),
}


class Odd:
    """An agent whose opinion has the parts given."""

    name = "odd"

    def __init__(self, given):
        self.given = given

    async def answer(self, _utterance, _context, _budget):
        parts = {key: value() if callable(value) else value for key, value in self.given.items()}
        return turnbudget.Opinion("It is so.", 0.5, **parts)


@pytest.mark.parametrize("case", OPINIONS)
async def test_an_opinion_is_looked_at_whole(case):
    given, finding = OPINIONS[case]

    with pytest.raises(BrokenPromise, match=finding):
        await testing.check_agent(Odd(given))


async def test_what_keeps_everything_passes_and_nothing_is_returned():
    assert await testing.check_synthesizer(ScriptedSynthesizer()) is None


def test_a_broken_promise_is_a_failed_assertion_and_no_error_of_a_call():
    assert issubclass(BrokenPromise, AssertionError)
    assert not issubclass(BrokenPromise, TurnbudgetError)


def test_it_says_how_many_promises_are_broken_and_lists_each_once():
    broken = BrokenPromise("voice 'a'", ["it is late", "it is loud", "it is late"])
    assert broken.promises == ("it is late", "it is loud")
    assert str(broken) == "voice 'a' breaks 2 promises:\n  - it is late\n  - it is loud"
    assert pickle.loads(pickle.dumps(broken)).promises == broken.promises  # noqa: S301 - our own


def test_nothing_broken_raises_nothing():
    BrokenPromise.unless_kept("voice 'a'", [])
