"""The five conformance kits have one contract: they return nothing, or raise a list of all that is broken."""

from __future__ import annotations

import asyncio
import inspect
import pickle

import pytest

import turnbudget
from turnbudget import testing
from turnbudget.testing import ScriptedBackend, ScriptedSynthesizer, ScriptedTranscriber, Take
from turnbudget.voice.errors import BrokenPromise, TurnbudgetError
from turnbudget.voice.sound import audio

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
