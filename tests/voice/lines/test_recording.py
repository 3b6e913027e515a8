"""The recorded caller takes turns: when each clip begins, to the frame, and what is heard between."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import numpy as np
import pytest
from laws import each

from turnbudget.voice.asr.reference import Reference
from turnbudget.voice.asr.transcriber import Word
from turnbudget.voice.errors import BrokenPromise
from turnbudget.voice.lines.check import check_line
from turnbudget.voice.lines.line import Frame
from turnbudget.voice.lines.recording import Clip, RecordedLine
from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import MS, SECOND

GIVE_UP_US, GOODBYE_US, UNANSWERED_US = 15_000_000, 500_000, 3_000_000

FRAME_US = audio.FRAME_US
HISS = np.arange(1, 8_001, dtype=np.int16) % 50 + 1
LOUD = np.full(10 * audio.FRAME, 9_000, np.int16)
"""200 ms of a caller."""


@dataclass
class Agent:
    """What the caller hears of us, by a table of (from, to) in which we sound; settled outside of it."""

    sounds: tuple[tuple[int, int], ...] = ()
    owes: tuple[tuple[int, int], ...] = ()
    """When an answer is owed, or somebody speaks."""

    @property
    def settled(self):
        now = clock.now()
        return not any(began <= now < ended for began, ended in (*self.sounds, *self.owes))

    @property
    def sounding_since_us(self):
        now = clock.now()
        return next((began for began, ended in self.sounds if began <= now < ended), None)

    @property
    def quiet_since_us(self):
        return max((ended for _, ended in self.sounds if ended <= clock.now()), default=0)


async def hear(clips, agent=None, background=HISS, reference=None):
    """All frames of a call, and when each of the loud clips began (µs)."""
    line = RecordedLine(clips, reference or Reference(), background)
    if agent:
        line.follow(agent)
    frames = [frame async for frame in line.listen()]
    loud = [bool((np.abs(frame.samples) > 5_000).any()) for frame in frames]
    began = [at for at, now in enumerate(loud) if now and not (at and loud[at - 1])]
    return frames, [at * FRAME_US for at in began]


async def test_it_keeps_every_promise_of_a_line():
    began = clock.now()
    await check_line(RecordedLine([Clip(LOUD, pause_us=300 * MS)], Reference(), HISS))
    assert clock.now() - began > 10 * FRAME_US


async def test_frames_come_when_they_have_been_spoken_and_leave_no_gap():
    line = RecordedLine([Clip(LOUD)], Reference(), HISS)
    arrived = [(frame.at, frame.samples.size, clock.now()) async for frame in line.listen()]
    assert arrived == [(n * 320, 320, (n + 1) * FRAME_US) for n in range(len(arrived))]


async def test_a_turn_comes_after_our_answer_and_the_pause_of_the_person():
    answers = ((1_000 * MS, 2_000 * MS), (3_000 * MS, 3_510 * MS))
    clips = [Clip(LOUD, pause_us=100 * MS), Clip(LOUD, pause_us=400 * MS)]
    _, began = await hear(clips, Agent(answers))
    assert began == [2_100 * MS, 3_920 * MS]  # the frame after 3,510 + 400


async def test_the_lead_is_played_inside_the_pause():
    clip = Clip(np.concatenate((HISS[:4_800], LOUD)), lead_us=300 * MS, pause_us=500 * MS)
    _, began = await hear([clip], Agent(((0, 1_000 * MS),)))
    assert began == [1_500 * MS]


async def test_a_pause_shorter_than_its_lead_is_as_long_as_the_lead():
    clip = Clip(np.concatenate((HISS[:4_800], LOUD)), lead_us=300 * MS, pause_us=100 * MS)
    _, began = await hear([clip], Agent(((0, 1_000 * MS),)))
    assert began == [1_300 * MS]


async def test_while_an_answer_is_owed_the_caller_waits():
    clips = [Clip(LOUD), Clip(LOUD, pause_us=100 * MS)]
    agent = Agent(
        ((0, 1_000 * MS), (1_300 * MS, 1_600 * MS), (2_000 * MS, 3_000 * MS)), ((1_600 * MS, 2_000 * MS),)
    )
    _, began = await hear(clips, agent)
    assert began == [1_000 * MS, 3_100 * MS]


async def test_without_any_answer_the_caller_goes_on_after_three_seconds():
    clips = [Clip(LOUD), Clip(LOUD)]
    _, began = await hear(clips, Agent(((0, 100 * MS),)))
    assert began == [100 * MS, 300 * MS + UNANSWERED_US]


async def test_a_floor_that_is_never_free_is_taken_in_the_end():
    agent = Agent(owes=((0, 3_600 * SECOND),))
    _, began = await hear([Clip(LOUD, pause_us=200 * MS)], agent)
    assert began == [GIVE_UP_US + 200 * MS]


async def test_a_barge_in_comes_so_long_after_our_reply_began_to_sound():
    agent = Agent(((500 * MS, 4_000 * MS),))
    _, began = await hear([Clip(LOUD, pause_us=600 * MS, when="sounding")], agent)
    assert began == [1_100 * MS]


async def test_a_barge_in_comes_even_if_the_reply_was_short():
    agent = Agent(((500 * MS, 700 * MS),))
    _, began = await hear([Clip(LOUD, pause_us=600 * MS, when="sounding")], agent)
    assert began == [1_100 * MS]


async def test_a_barge_in_is_not_set_off_by_a_reply_before():
    agent = Agent(((0, 300 * MS), (1_000 * MS, 3_000 * MS)))
    clips = [Clip(LOUD), Clip(LOUD, pause_us=100 * MS, when="sounding")]
    _, began = await hear(clips, agent)
    assert began == [300 * MS, 1_100 * MS]


async def test_a_clip_that_follows_at_once_waits_for_nobody():
    agent = Agent(((0, 60 * SECOND),))
    _, began = await hear([Clip(LOUD, when="at once", pause_us=200 * MS)], agent)
    assert began == [200 * MS]


async def test_a_hang_up_ends_the_call_in_the_middle_of_our_reply():
    agent = Agent(((500 * MS, 9_000 * MS),))
    frames, _ = await hear(
        [Clip(audio.silence(0), pause_us=1_000 * MS, when="sounding", hangs_up=True)], agent
    )
    assert len(frames) * FRAME_US == 1_500 * MS


async def test_the_line_stays_open_until_our_last_word_has_been_heard():
    agent = Agent(((0, 100 * MS), (600 * MS, 5_000 * MS)))
    frames, _ = await hear([Clip(LOUD)], agent)
    assert len(frames) * FRAME_US == 5_000 * MS + GOODBYE_US


async def test_while_the_caller_waits_the_line_keeps_its_own_noise():
    frames, _ = await hear([Clip(LOUD)], Agent(((0, 3_000 * MS),)))
    waiting = np.concatenate([frame.samples for frame in frames[: 3_000 // 20]])
    assert waiting.min() >= 1
    steps = np.abs(np.diff(waiting.astype(int)))
    assert steps[8_000 - 1] == 0  # played on backwards, so that its ends meet


async def test_a_line_without_a_noise_of_its_own_is_silent():
    frames, _ = await hear([Clip(LOUD)], Agent(((0, 100 * MS),)), background=audio.silence(0))
    assert not frames[0].samples.any()


async def test_a_clip_is_filled_up_to_whole_frames():
    frames, _ = await hear([Clip(LOUD[:500])])
    assert {frame.samples.size for frame in frames} == {320}
    assert not frames[1].samples[180:].any()


async def test_words_and_turns_are_announced_where_they_will_be_spoken():
    reference = Reference()
    clip = Clip(LOUD, (Word("yes", 20 * MS, 100 * MS),), ((20 * MS, 100 * MS),), pause_us=1_000 * MS)
    await hear([clip], Agent(((0, 100 * MS),)), reference=reference)
    assert reference.words == [Word("yes", 1_120 * MS, 1_200 * MS)]
    assert reference.turns == [(1_120 * MS, 1_200 * MS)]


@dataclass
class Bad:
    """A line with one fault."""

    fault: str
    latency_us = 0
    heard_us = None

    def send(self, _):
        if self.fault == "holds":
            asyncio.get_running_loop().block(20 * MS)

    def clear(self):
        if self.fault == "holds when cleared":
            asyncio.get_running_loop().block(60 * MS)

    def end(self):
        if self.fault == "cannot end":
            raise LookupError("no reply")
        if self.fault == "delays nothing":
            self.latency_us = None
        if self.fault == "hears nothing":
            self.heard_us = "never"

    async def listen(self):
        buffer = np.ones(320, np.int16)
        for n in range(1 << 62 if self.fault == "never ends" else 0 if self.fault == "deaf" else 5):
            if self.fault != "early":
                await clock.sleep(FRAME_US)
            if self.fault == "one buffer":
                buffer[:] = n
                yield Frame(buffer, n * 320)
            elif self.fault == "floats":
                yield Frame(np.zeros(320), n * 320)
            elif self.fault == "empty":
                yield Frame(audio.silence(0), n * 320)
            elif self.fault == "seconds":
                yield Frame(audio.silence(320), n * 0.02)
            elif self.fault == "holds less than nothing":
                yield Frame(audio.silence(320), n * 320, -1)
            elif self.fault == "before the beginning":
                yield Frame(audio.silence(320), -320)
            else:
                yield Frame(audio.silence(320), n * 320)


FAULTS = {
    "holds": "sending returns at once",
    "never ends": "ends when the caller hangs up",
    "deaf": "is heard",
    "early": "before he has spoken",
    "one buffer": "no buffer is used twice",
    "floats": "int16",
    "empty": "holds sound",
    "before the beginning": "has a beginning",
    "seconds": "a whole number of samples",
    "holds less than nothing": "held back",
    "holds when cleared": "clear returns at once, not after 50000 µs",
    "cannot end": "it raises LookupError('no reply')",
    "delays nothing": "latency_us is a delay (µs), not None",
    "hears nothing": "heard_us is an instant (µs) or None, not 'never'",
}


@each(("fault", "promise"), FAULTS.items(), ids=FAULTS)
async def test_the_check_finds(fault, promise):
    with pytest.raises(BrokenPromise) as caught:
        await check_line(Bad(fault))
    [broken] = caught.value.promises
    assert promise in broken


async def test_the_check_passes_a_line_without_a_fault():
    began = clock.now()
    await check_line(Bad(""))
    assert clock.now() - began == 5 * FRAME_US
