"""The Mouth: paced on the clock, true to the sample, silent within a frame."""

from __future__ import annotations

import asyncio
import random
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import each

from turnbudget.testing.stage import StageLine, speech
from turnbudget.voice.asr.reference import Reference
from turnbudget.voice.sound import audio
from turnbudget.voice.speaking.mouth import Mouth, Playback, Rendering, at_once
from turnbudget.voice.speaking.tape import Tape
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import MS, SECOND
from turnbudget.voice.tts.synthesizer import Speech

WORDS = "one two three four five six seven eight nine ten"


class Stage:
    """A Mouth on a line, and what it told."""

    def __init__(self):
        self.line = StageLine((), Reference())
        self.tape = Tape(clock.now())
        self.mouth = Mouth(self.line, self.tape)
        self.heard = Playback()
        self.told = []

    async def play(self, *pieces):
        await self.mouth.play(at_once(*pieces), self.heard, lambda *instants: self.told.append(instants))

    def track(self):
        return self.tape.take(clock.now() + SECOND)[:, 1]


def piece(samples, text=WORDS):
    samples = np.asarray(samples, np.int16)
    return Speech(text=text, samples=samples, onset=audio.first_audible(samples) or 0, voice="test")


def padded(samples):
    return np.concatenate([samples, audio.silence(-samples.size % audio.FRAME)])


async def test_frames_leave_every_20_ms_and_play_returns_when_the_last_has_sounded():
    """TEL-17: a hang-up that follows a goodbye follows its sound, not its sending."""
    stage = Stage()
    await clock.sleep(137 * MS)
    await stage.play(speech(WORDS, 990 * MS))
    assert [at for at, _ in stage.line.sent] == [137 * MS + number * 20 * MS for number in range(50)]
    assert clock.now() == 137 * MS + SECOND
    assert stage.heard == Playback(WORDS, complete=True)
    assert stage.mouth.quiet_since_us == clock.now()


async def test_only_the_first_audible_sample_of_a_reply_is_told():
    stage = Stage()
    lead = audio.silence(audio.samples(45 * MS))
    await stage.play(
        piece(np.concatenate([lead, speech("a").samples])), piece(speech("b").samples), speech("c")
    )
    [(by_clock, by_tape)] = stage.told
    found = audio.us(audio.first_audible(stage.track()))
    assert abs(by_clock - found) <= 63
    assert abs(by_tape - found) <= 63


async def test_a_voice_that_lies_about_its_beginning_is_found_out_by_the_tape():
    """The witness reads the samples; the ledger believes the voice."""
    stage = Stage()
    late = np.concatenate([audio.silence(320), speech("a").samples])
    await stage.play(Speech(text="a", samples=late, onset=0, voice="liar"))
    [(by_clock, by_tape)] = stage.told
    assert by_tape - by_clock >= 20 * MS


async def test_while_it_sounds_the_mouth_says_since_when():
    stage = Stage()
    assert stage.mouth.sounding_since_us is None
    playing = asyncio.ensure_future(stage.play(speech(WORDS)))
    await clock.sleep(500 * MS)
    assert stage.mouth.sounding_since_us == stage.told[0][0]
    await playing
    assert stage.mouth.sounding_since_us is None


async def test_one_reply_sounds_at_a_time():
    stage = Stage()
    await asyncio.gather(stage.play(speech("a", 400 * MS)), stage.play(speech("b", 400 * MS)))
    sent = [at for at, _ in stage.line.sent]
    assert sent == [number * 20 * MS for number in range(40)]


async def cut_after(stage, us, *pieces):
    playing = asyncio.ensure_future(stage.play(*pieces))
    await clock.sleep(us)
    playing.cancel()
    await asyncio.wait([playing])
    return playing


@each("cut_ms", [1, 507, 512, 519, 520, 987])
async def test_a_cut_in_mid_wave_fades_within_a_frame_and_does_not_click(cut_ms):
    """TTS-13: no step between neighbouring samples reaches 2000."""
    stage = Stage()
    wave = np.rint(9_000 * np.sin(np.arange(audio.RATE) * 2 * np.pi * 310 / audio.RATE)).astype(np.int16)
    playing = await cut_after(stage, cut_ms * MS, piece(wave))
    assert playing.cancelled()
    assert max(at for at, _ in stage.line.sent) <= cut_ms * MS
    track = stage.track().astype(np.int32)
    assert np.abs(np.diff(track)).max() < 2_000
    assert audio.us(int(np.flatnonzero(track).max())) <= cut_ms * MS + 25 * MS
    assert not stage.heard.complete


async def test_pieces_meet_without_a_click():
    """TTS-13: a piece that ends loud and one that begins loud, each faded as every voice fades them."""
    stage = Stage()
    ends, begins = (np.full(4_000, level, np.int16) for level in (9_000, -7_000))
    await stage.play(piece(audio.fade(ends, ended=True)), piece(audio.fade(begins, began=True, ended=True)))
    assert np.abs(np.diff(stage.track()[1_000:].astype(np.int32))).max() < 2_000


async def test_what_was_heard_is_counted_in_words():
    stage = Stage()
    await cut_after(stage, 1_300 * MS, speech("A first sentence."), speech(WORDS))
    assert stage.heard.text == "A first sentence. one two three"
    assert not stage.heard.complete


async def test_a_second_reply_adds_to_what_was_heard_and_is_not_complete_before_its_end():
    """A bridge that was heard to its end does not make the answer behind it whole."""
    stage = Stage()
    await stage.play(speech("One moment."))
    await cut_after(stage, 500 * MS, speech(WORDS))
    assert stage.heard.text.startswith("One moment. one two")
    assert not stage.heard.complete


async def test_a_reply_cancelled_while_another_sounds_leaves_no_trace():
    stage = Stage()
    heard, told = Playback(), []
    first = asyncio.ensure_future(stage.play(speech(WORDS)))
    await clock.sleep(10 * MS)
    second = asyncio.ensure_future(stage.mouth.play(at_once(speech("b")), heard, lambda *at: told.append(at)))
    await clock.sleep(10 * MS)
    second.cancel()
    await first
    assert second.cancelled()
    assert (heard, told) == (Playback(), [])
    assert stage.heard.complete


async def test_whoever_makes_the_pieces_is_closed_when_the_mouth_is_cut():
    stage, closed = Stage(), []

    async def pieces():
        try:
            yield speech(WORDS)
        finally:
            closed.append(clock.now())

    playing = asyncio.ensure_future(stage.mouth.play(pieces(), stage.heard, lambda *_: None))
    await clock.sleep(300 * MS)
    playing.cancel()
    await asyncio.wait([playing])
    assert closed == [300 * MS]


class Jittery(StageLine):
    """A line whose loop is kept busy, so that wake-ups come late by up to *most_us*."""

    def __init__(self, most_us):
        super().__init__((), Reference())
        self._late = random.Random(0)  # noqa: S311 - jitter, not secrets
        self._most_us = most_us

    def send(self, frame):
        super().send(frame)
        loop = asyncio.get_running_loop()
        loop.call_soon(loop.block, self._late.randrange(self._most_us))


async def jittery(most_us, *pieces):
    stage = Stage()
    stage.line = Jittery(most_us)
    stage.mouth = Mouth(stage.line, stage.tape)
    await stage.play(*pieces)
    return stage


async def test_late_wake_ups_never_add_up():
    """TEL-16: drift below 40 ms at the end of a reply of 30 s in twelve pieces."""
    stage = await jittery(25 * MS, *[speech(WORDS, 2_500 * MS) for _ in range(12)])
    sent = [at for at, _ in stage.line.sent]
    due = [sent[0] + number * 20 * MS for number in range(1_500)]
    drift = [at - on_time for at, on_time in zip(sent, due, strict=True)]
    assert max(drift) < 40 * MS
    assert min(drift) >= 0
    assert drift[-1] < 40 * MS


async def test_however_late_its_second_frame_a_reply_is_told_when_it_sounds():
    """20 ms of silence before a soft start: the first audible sample is in the second frame."""
    quiet = piece(np.concatenate([audio.silence(320), speech("a").samples]))
    for seed in range(5):
        stage = Stage()
        stage.line = Jittery(30 * MS)
        stage.line._late.seed(seed)
        stage.mouth = Mouth(stage.line, stage.tape)
        began = clock.now()
        await stage.play(quiet)
        [(by_clock, by_tape)] = stage.told
        second = stage.line.sent[1][0]
        assert abs(by_clock - second) <= 63 + audio.us(quiet.onset - 320)
        assert abs(by_clock - by_tape) <= 63
        assert abs(audio.us(audio.first_audible(stage.track())) + began - by_clock) <= 63


async def test_after_a_long_stall_the_schedule_begins_anew():
    stage = Stage()
    playing = asyncio.ensure_future(stage.play(speech(WORDS)))
    await clock.sleep(410 * MS)
    asyncio.get_running_loop().block(300 * MS)
    await playing
    sent = [at for at, _ in stage.line.sent]
    assert min(later - before for before, later in pairwise(sent)) == 20 * MS
    assert len(sent) == 50


@settings(max_examples=60)
@given(st.lists(st.integers(1, 1_500), min_size=1, max_size=6), st.integers(0, 50_000))
def test_what_is_on_the_tape_is_the_pieces_frame_after_frame(sizes, began_us):
    async def main():
        stage = Stage()
        await clock.sleep(began_us)
        rng = np.random.default_rng(sum(sizes))
        pieces = [piece(rng.integers(200, 9_000, size)) for size in sizes]
        await stage.play(*pieces)
        return stage.track(), [padded(found.samples) for found in pieces]

    track, pieces = clock.run(main(), "virtual")
    start = audio.samples(began_us)
    expected = np.concatenate(pieces)
    assert not track[:start].any()
    assert np.array_equal(track[start : start + expected.size], expected)
    assert not track[start + expected.size :].any()


AHEAD = 4


async def heard(rendering):
    return [piece.text async for piece in rendering.pieces()]


async def test_the_pieces_come_in_order_and_the_end_after_the_last():
    rendering = Rendering()
    for text in "abc":
        await rendering.put(speech(text))
    rendering.end("")
    assert await heard(rendering) == ["a", "b", "c"]
    assert (rendering.failure, rendering.broken) == ("", "")


async def test_it_is_ready_with_its_first_piece():
    rendering = Rendering()
    assert (rendering.ready.done(), rendering.failure) == (False, "no answer came in time")
    await clock.sleep(5 * MS)
    await rendering.put(speech("a"))
    assert (rendering.ready.done(), rendering.ready_us, rendering.failure) == (True, 5 * MS, "")


async def test_it_is_ready_with_its_failure_when_there_is_no_piece():
    rendering = Rendering()
    rendering.end("the table is empty")
    assert (rendering.ready.done(), rendering.failure) == (True, "the table is empty")
    assert await heard(rendering) == []


async def test_a_failure_after_the_first_piece_breaks_the_reply_and_leaves_what_is_there():
    rendering = Rendering()
    await rendering.put(speech("a"))
    rendering.end("the voice failed")
    assert (rendering.failure, rendering.broken) == ("", "the voice failed")
    assert await heard(rendering) == ["a"]


async def fill(rendering, count):
    for number in range(count):
        await rendering.put(speech(str(number), cost_us=10))


async def test_few_pieces_are_rendered_ahead():
    rendering = Rendering()
    filling = asyncio.ensure_future(fill(rendering, 12))
    await clock.sleep(MS)
    assert rendering._pieces.qsize() == AHEAD
    pieces = rendering.pieces()
    await anext(pieces)
    await clock.sleep(MS)
    assert rendering._pieces.qsize() == AHEAD
    filling.cancel()
    await pieces.aclose()


@pytest.mark.parametrize("count", [AHEAD, AHEAD + 1, AHEAD + 5])
async def test_the_end_never_waits_and_is_never_lost(count):
    """Whoever renders is cancelled while it waits for room; the Mouth still finds an end."""
    rendering = Rendering()

    async def render():
        try:
            await fill(rendering, count)
        finally:
            rendering.end("broken off")

    task = asyncio.ensure_future(render())
    await clock.sleep(MS)
    task.cancel()
    await asyncio.wait([task])
    assert len(await heard(rendering)) == AHEAD


async def test_a_mouth_that_goes_away_leaves_nobody_waiting_but_the_one_who_renders():
    rendering = Rendering()
    filling = asyncio.ensure_future(fill(rendering, 12))
    listening = asyncio.ensure_future(heard(Rendering()))
    await clock.sleep(MS)
    for task in (listening, filling):
        task.cancel()
    await asyncio.wait([listening, filling])
    assert rendering.unheard_us() == AHEAD * 10
    assert rendering.unheard_us() == 0
