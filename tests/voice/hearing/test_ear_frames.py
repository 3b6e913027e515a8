"""The Ear and its frames: late, twice, out of order, cut anyhow, counted anyhow, or not there at all."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import each
from sounds import MS, SECOND, Recorder, count, frames, listen, noise, on_time, scene, speak, voice

from turnbudget.voice.errors import MissingEngine
from turnbudget.voice.hearing.ear import Ear
from turnbudget.voice.hearing.endpoint import Endpointing
from turnbudget.voice.hearing.events import SpeechStarted
from turnbudget.voice.hearing.vad import Energy, ScriptedVad, Silero
from turnbudget.voice.lines.line import Frame
from turnbudget.voice.sound import audio
from turnbudget.voice.sound.recording import read
from turnbudget.voice.time import clock
from turnbudget.voice.time.crew import Crew

SENTENCE = (("move my visit", 0.4, 1.2), ("to Friday", 1.5, 2.0))


def close(us, expected, within_ms):
    return abs(us - expected) <= within_ms * MS


def moved(cut, since, by):
    """Return frames that count *by* samples more from the one with the number *since* on."""
    return [Frame(frame.samples, frame.at + by * (number >= since)) for number, frame in enumerate(cut)]


def without(arrivals, began, ended):
    """Return *arrivals* without the frames that would come between two moments (s)."""
    return [(at, frame) for at, frame in arrivals if not began * SECOND < at <= ended * SECOND]


sizes = st.lists(st.integers(1, 2_000), min_size=1, max_size=40)


@given(sizes)
def test_it_does_not_matter_how_the_line_cuts_its_frames(cut):
    """Frames of 1 to 2,000 samples give what frames of 20 ms give, to the microsecond."""
    sound = scene(4, (0.5, voice(0.7)), (1.5, voice(0.5)), background=noise(4))
    even = clock.run(listen(frames(sound), vad=Energy()), "virtual")
    odd = clock.run(listen(frames(sound, cut), vad=Energy()), "virtual")
    assert odd.marks == even.marks
    assert odd.turns == even.turns
    assert len(even.turns) == 1


async def test_frames_of_ten_milliseconds_lose_no_first_syllable():
    """VAD-09: what is kept from before the start is counted in sound, not in frames."""
    sound = scene(3, (1.0, voice(0.8)), background=noise(3))
    for size in (80, 160, 320, 1_600):
        transcriber = Recorder()
        await listen(frames(sound, size), vad=Energy(), transcriber=transcriber)
        assert audio.us(transcriber.began[0]) <= 750 * MS
        fed = transcriber.sounds[0]
        assert np.array_equal(fed, sound[transcriber.began[0] :][: fed.size])


async def test_frames_late_twice_and_out_of_order_are_put_right():
    """AUD-18: 1, 2, 4, 3, 5, 5, 6, 9, 10 in the middle of a word, up to 120 ms late."""
    sound, words = speak(*SENTENCE)
    cut = frames(sound)
    order = [*range(31), 31, 32, 34, 33, 35, 35, 36, 39, *range(40, len(cut))]
    jitter, now, arrivals = np.random.default_rng(1), 0, []
    for number in order:
        now = max(now, audio.us((number + 1) * audio.FRAME) + int(jitter.integers(120)) * MS)
        arrivals.append((now, cut[number]))
    arrivals[0] = (20 * MS, cut[0])
    transcriber = Recorder(words)
    heard = await listen(arrivals, words=words, transcriber=transcriber)
    assert heard.texts == ["move my visit to Friday"]
    assert close(heard.turns[0][1], 2_000 * MS, 20)
    assert heard.ear.dropped == 2
    expected = sound.copy()
    for lost in (33, 37, 38):
        expected[lost * audio.FRAME : (lost + 1) * audio.FRAME] = 0
    fed, start = transcriber.sounds[0], transcriber.began[0]
    assert np.array_equal(fed, expected[start : start + fed.size])


@pytest.mark.parametrize("by", [3_988 * audio.FRAME, -80 * audio.FRAME])
async def test_a_count_that_jumps_is_taken_up_where_it_is(by):
    """AUD-18: from 12 to 4,000 while no time passes; and back, as when a stream begins anew."""
    sound, words = speak(*SENTENCE)
    cut = moved(frames(sound), 85, by)
    arrivals = [(audio.us((number + 1) * audio.FRAME), frame) for number, frame in enumerate(cut)]
    heard = await listen(arrivals, words=words)
    assert heard.texts == ["move my visit to Friday"]
    assert close(heard.turns[0][1], 2_000 * MS, 20)
    assert heard.ear.dropped == 0


async def test_a_count_that_steps_back_a_little_is_taken_for_frames_that_come_twice():
    """AUD-18: what is lost is a fifth of a second; then the clock says where the frames belong."""
    sound, words = speak(("move my visit to Friday", 0.4, 2.0))
    cut = moved(frames(sound), 45, -20 * audio.FRAME)
    arrivals = [(audio.us((number + 1) * audio.FRAME), frame) for number, frame in enumerate(cut)]
    heard = await listen(arrivals, words=words)
    assert heard.texts == ["move my visit to Friday"]
    assert close(heard.turns[0][1], 2_000 * MS, 20)
    assert 0 < heard.ear.dropped <= 16


async def test_a_new_count_does_not_make_the_ear_deaf():
    """AUD-18: the stream begins again at 0 after a minute; what is said then is heard, at its time."""
    sound = scene(64, (0.5, voice(0.8)), (61.5, voice(0.8)), background=noise(64))
    cut = moved(frames(sound), 3_000, -3_000 * audio.FRAME)
    arrivals = [(audio.us((number + 1) * audio.FRAME), frame) for number, frame in enumerate(cut)]
    heard = await listen(arrivals, vad=Energy())
    assert [round(ended / SECOND, 1) for _, ended, _ in heard.turns] == [1.3, 62.3]


async def test_frames_that_stop_end_the_turn():
    """AUD-15: 1.2 s of speech, then nothing at all for 6 s: over within a second, with its text."""
    sound, words = speak(("move my visit", 0.5, 1.7))
    heard = await listen(without(on_time(frames(sound)), 1.7, 99), words=words, rest_us=6 * SECOND)
    (told,) = heard.utterances
    assert told.text == "move my visit"
    assert close(heard.turns[0][1], 1_700 * MS, 20)
    assert told.decided_us - heard.began_us <= 2_700 * MS


async def test_a_hole_of_three_hundred_milliseconds_splits_no_turn():
    """AUD-15: a radio gap in the middle of a word."""
    sound, words = speak(("move my visit to Friday", 0.5, 2.0))
    heard = await listen(without(on_time(frames(sound)), 1.0, 1.3), words=words)
    assert heard.texts == ["move my visit to Friday"]
    assert close(heard.turns[0][1], 2_000 * MS, 20)


@each("line", ["stamps real time", "counts what it sends"])
@each("hole", [0.25, 0.3, 0.5, 1.37, 6.0])
async def test_after_a_hole_speech_stands_where_the_clock_says(line, hole):
    """AUD-15: frames resume; the next turn's zero is right on a line of either kind."""
    after = 3.0 + hole
    sound = scene(after + 3, (0.5, voice(0.8)), (after + 0.5, voice(1.0)), background=noise(after + 3))
    arrivals = without(on_time(frames(sound)), 3.0, after)
    if line == "counts what it sends":
        arrivals = [
            (at, Frame(frame.samples, number * audio.FRAME)) for number, (at, frame) in enumerate(arrivals)
        ]
    heard = await listen(arrivals, vad=Energy())
    (_, (began, ended, _)) = heard.turns
    assert close(began, (after + 0.5) * SECOND, 20)
    assert close(ended, (after + 1.5) * SECOND, 20)


async def test_frames_held_up_and_then_delivered_at_once_keep_their_time():
    """A stalled connection: 600 ms of frames come together; what follows stands at its own time."""
    sound = scene(5, (0.5, voice(0.6)), (3.0, voice(1.0)), background=noise(5))
    arrivals = [
        (2_100 * MS if 1_500 * MS < at <= 2_100 * MS else at, frame) for at, frame in on_time(frames(sound))
    ]
    heard = await listen(arrivals, vad=Energy())
    assert [round(ended / SECOND, 1) for _, ended, _ in heard.turns] == [1.1, 4.0]


@each("held_ms", [250, 300, 400, 600])
@each("since_ms", [1_310, 1_350, 1_500, 1_800])
async def test_frames_held_up_behind_the_last_word_move_no_zero(since_ms, held_ms):
    """The silence is filled in meanwhile; what comes late stands behind it, and what was heard stays."""
    sound = scene(8, (0.5, voice(0.8)), (5.0, voice(0.8)), background=noise(8))
    since, until = since_ms * MS, (since_ms + held_ms) * MS
    arrivals = [(until if since < at <= until else at, frame) for at, frame in on_time(frames(sound))]
    heard = await listen(arrivals, vad=Energy())
    assert [round(ended / SECOND, 1) for _, ended, _ in heard.turns] == [1.3, 5.8]


async def test_jitter_moves_no_zero():
    """Every frame up to 120 ms late, none early: the times are those of a line on time."""
    sound, words = speak(*SENTENCE)
    jitter, now, late = np.random.default_rng(2), 0, []
    for at, frame in on_time(frames(sound)):
        now = max(now, at + int(jitter.integers(120)) * MS)
        late.append((now, frame))
    heard = await listen(late, words=words)
    assert close(heard.turns[0][1], 2_000 * MS, 30)


async def test_a_line_that_never_counts_from_zero_is_no_different():
    sound = scene(3, (0.5, voice(1.0)), background=noise(3))
    start = 10**9
    arrivals = [(at, Frame(frame.samples, frame.at + start)) for at, frame in on_time(frames(sound))]
    heard = await listen(arrivals, vad=Energy())
    assert close(heard.turns[0][1], 1_500 * MS, 20)


async def test_hearing_says_when_a_frame_sounded():
    """What a tape needs: the frame's own time, or that it is no frame to keep."""
    heard = await listen(frames(noise(1.0)), rest_us=0)
    ear, end = heard.ear, heard.began_us + SECOND
    await clock.sleep(20 * MS)
    assert ear.hear(Frame(noise(0.02), count(1.0))) == end
    assert ear.hear(Frame(noise(0.02), count(1.0))) is None
    assert ear.dropped == 1


async def test_a_caller_who_was_away_for_an_hour_in_mid_word_costs_a_second_of_listening():
    """Nobody asks for what is missing while a call is on hold: the first frame behind it tells."""
    sound, words = speak(("move my visit", 0.5, 1.7), seconds=1.7)
    transcriber, events = Recorder(words), []
    async with Crew() as crew:
        ear = Ear(
            ScriptedVad(words),
            transcriber,
            Endpointing(),
            tell=events.append,
            crew=crew,
            text_by=lambda _, decided: decided + SECOND,
        )
        for at, frame in on_time(frames(sound)):
            await clock.sleep_until(at)
            ear.hear(frame)
        await clock.sleep_until(3_600 * SECOND)
        assert ear.speaking
        ear.hear(Frame(noise(0.02), count(3_600)))
        await clock.sleep(SECOND)
    assert events[-1].text == "move my visit"
    assert close(events[-1].ended_us, 1_700 * MS, 20)
    assert transcriber.sounds[0].size < count(5)


async def test_lost_frames_before_a_word_do_not_move_it():
    """A hole just before the start: what the transcriber is fed stands where it was spoken."""
    sound = scene(3, (1.0, voice(0.8)), background=noise(3))
    transcriber = Recorder()
    arrivals = without(on_time(frames(sound)), 0.8, 0.88)
    heard = await listen(arrivals, vad=Energy(), transcriber=transcriber)
    expected = sound.copy()
    expected[count(0.8) : count(0.88)] = 0
    fed, start = transcriber.sounds[0], transcriber.began[0]
    assert np.array_equal(fed, expected[start : start + fed.size])
    assert close(heard.of(SpeechStarted)[0].at_us - heard.began_us, SECOND, 20)


@pytest.fixture(scope="module")
def caller(recordings):
    """The caller of a real call: its first 25 seconds."""
    file = min((recordings / "harper-valley" / "audio" / "caller").glob("*.wav"))
    return read(file).samples[: count(25)]


def test_a_real_call_is_heard_the_same_however_its_frames_are_cut(caller):
    """With Silero, whose windows are no multiple of a frame."""
    try:
        vads = [Silero() for _ in range(3)]
    except MissingEngine as error:
        pytest.skip(str(error))
    ways = (320, 160, np.random.default_rng(3).integers(1, 2_001, 2_000).tolist())
    heard = [
        clock.run(listen(frames(caller, way), vad=vad), "virtual")
        for way, vad in zip(ways, vads, strict=True)
    ]
    assert len(heard[0].turns) > 2
    assert heard[0].marks == heard[1].marks == heard[2].marks
    assert heard[0].turns == heard[1].turns == heard[2].turns
