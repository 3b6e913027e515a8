"""A microphone and a speaker as a line: nothing heard is misplaced, nothing said clicks."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from sounds import noise, voice

from turnbudget.voice.lines.canceller import Beside, Canceller, installed
from turnbudget.voice.lines.card import BLOCK_US, SimulatedCard
from turnbudget.voice.lines.check import check_line
from turnbudget.voice.lines.microphone import Microphone
from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import MS, SECOND

RING = 200

BLOCK = audio.samples(BLOCK_US)


class Place:
    """A room in which *sounds* are heard from when on (s), and which keeps what was played."""

    def __init__(self, *sounds, seconds=10.0, rate=audio.RATE, echo_us=None, echo_db=-18):
        self.heard = np.zeros(round(seconds * rate), np.int16)
        for at, sound in sounds:
            start = round(at * rate)
            self.heard[start : start + sound.size] = sound
        self.played = np.zeros(0, np.int16)
        self.at = 0
        self.gain = 10 ** (echo_db / 20)
        self.late = None if echo_us is None else echo_us * rate // SECOND

    def play(self, samples):
        self.played = np.concatenate((self.played, samples))

    def hear(self, count):
        piece = self.heard[self.at : self.at + count]
        heard = np.concatenate((piece, np.zeros(count - piece.size, np.int16)))
        if self.late is not None:
            padded = np.concatenate((np.zeros(self.late + count, np.int16), self.played))
            echo = padded[self.at + count : self.at + 2 * count]
            heard[: echo.size] += (echo * self.gain).astype(np.int16)
        self.at += count
        return heard


async def hear(line, us):
    """Listen for *us*, then hang up; return the frames."""
    clock.call_at(clock.now() + us, line.hang_up)
    return [frame async for frame in line.listen()]


async def say(line, sound):
    """Hand *sound* over as the Mouth does: 20 ms at its instant."""
    due = clock.now()
    for start in range(0, sound.size, audio.FRAME):
        await clock.sleep_until(due)
        frame = sound[start : start + audio.FRAME]
        line.send(np.concatenate((frame, audio.silence(audio.FRAME - frame.size))))
        due += audio.FRAME_US
    line.end()


def sound_of(frames):
    return audio.join([frame.samples for frame in frames])


async def test_it_keeps_what_a_line_promises():
    line = Microphone(SimulatedCard(Place((0.0, voice(2)))))
    began = clock.now()
    clock.call_at(began + 2 * SECOND, line.hang_up)
    await check_line(line)
    assert clock.now() == began + 2 * SECOND


async def test_opened_before_anybody_listens_it_loses_that_much_and_hears_the_next_sentence_whole(caplog):
    """AUD-16: four seconds early, no exception; what was lost is counted and logged."""
    spoken = voice(1.0)
    line = Microphone(SimulatedCard(Place((0.5, voice(2)), (4.2, spoken))))
    line.open()
    await clock.sleep(4 * SECOND)
    heard = sound_of(await hear(line, 2 * SECOND))
    first = audio.first_audible(heard)
    begins = audio.first_audible(spoken)
    assert (heard[first:][: spoken.size - begins] == spoken[begins:]).all()
    assert "4.0 s of sound came before anybody listened" in caplog.text
    assert "4.0 s of sound came before anybody listened" in line.notes()


async def test_a_loop_that_is_held_up_too_long_loses_the_oldest_and_leaves_its_place_empty():
    line = Microphone(SimulatedCard(Place()))
    listening = line.listen()
    await anext(listening)
    for value in range(RING + 50):
        line.heard(np.full(BLOCK, value, np.int16).tobytes(), 0, 0)
    frames = [await anext(listening) for _ in range(RING // 2)]
    assert frames[0].samples[0] == 50
    assert frames[0].at == audio.FRAME + 50 * BLOCK
    assert [frame.at for frame in frames] == list(
        range(frames[0].at, frames[0].at + RING // 2 * audio.FRAME, audio.FRAME)
    )
    assert "0.5 s of the microphone's sound were lost" in line.notes()
    line.close()
    await listening.aclose()


async def test_what_the_card_itself_lost_leaves_its_place_empty():
    line = Microphone(SimulatedCard(Place()))
    listening = line.listen()
    first = await anext(listening)
    for lost in (3 * BLOCK, 0):
        line.heard(bytes(2 * BLOCK), 0, lost)
    assert (await anext(listening)).at == first.at + audio.FRAME + 3 * BLOCK
    line.close()
    await listening.aclose()


async def test_a_card_of_another_rate_is_heard_and_played_at_ours():
    rate = 48_000
    place = Place((0.5, np.repeat(noise(1.0, -20), 3)), rate=rate)
    line = Microphone(SimulatedCard(place, rate))
    tone = (8_000 * np.sin(2 * np.pi * 440 * np.arange(audio.RATE) / audio.RATE)).astype(np.int16)
    talking = clock.call_at(clock.now() + SECOND, lambda: None)
    frames = []
    listening = line.listen()
    due = clock.now()
    for start in range(0, tone.size, audio.FRAME):
        await clock.sleep_until(due)
        line.send(tone[start : start + audio.FRAME])
        frames.append(await anext(listening))
        due += audio.FRAME_US
    line.end()
    frames += [await anext(listening) for _ in range(40)]
    talking.cancel()
    line.close()
    await listening.aclose()
    places = [frame.at for frame in frames]
    assert places == list(range(0, len(places) * audio.FRAME, audio.FRAME))
    heard = sound_of(frames)
    loud = np.flatnonzero(np.abs(heard.astype(int)) > 1_000)
    assert loud[-1] - loud[0] == pytest.approx(audio.RATE, abs=audio.FRAME)
    played = place.played[np.flatnonzero(place.played)[0] :][:rate]
    assert int(np.argmax(np.abs(np.fft.rfft(played.astype(float))))) == 440


async def test_the_latency_of_our_voice_is_what_the_card_measures_cushion_included():
    place = Place()
    line = Microphone(SimulatedCard(place, lag_us=30 * MS))
    line.open()
    await clock.sleep(105 * MS)
    assert line.lag.out_us == 55 * MS  # the cushion, half a block, and what the card says
    sent = clock.now()
    await say(line, voice(0.5))
    first = audio.us(int(np.flatnonzero(place.played)[0])) + BLOCK_US  # the first block is asked for at 10 ms
    assert line.lag.out_us == first - sent + 30 * MS == 55 * MS
    assert line.lag.into_us == 30 * MS
    assert line.notes()[-1] == "device latency: microphone 30 ms, speaker 55 ms"
    line.close()


async def test_our_voice_arrives_whole_and_without_a_gap():
    place, spoken = Place(), voice(1.5)
    line = Microphone(SimulatedCard(place))
    line.open()
    await say(line, spoken)
    await clock.sleep(100 * MS)
    begins = int(np.flatnonzero(place.played)[0]) - int(np.flatnonzero(spoken)[0])
    assert (place.played[begins : begins + spoken.size] == spoken).all()
    assert line.notes()[:-1] == ()
    line.close()


async def test_what_is_cleared_falls_silent_within_a_frame_and_does_not_click():
    place, spoken = Place(), voice(1.0)
    line = Microphone(SimulatedCard(place))
    line.open()
    with contextlib.suppress(TimeoutError):
        async with clock.move_on_at(clock.now() + 305 * MS):
            await say(line, spoken)
    line.clear()
    cut = place.played.size
    line.send(
        np.concatenate((audio.fade(spoken[5_000 : 5_000 + audio.EDGE], ended=True), audio.silence(240)))
    )
    await clock.sleep(200 * MS)
    after = place.played[cut:]
    assert np.flatnonzero(after)[-1] < audio.FRAME
    steepest = np.abs(np.diff(spoken.astype(int))).max()
    assert np.abs(np.diff(place.played.astype(int))).max() <= steepest
    line.close()


@pytest.mark.parametrize("ppm", [-500, 500])
async def test_clocks_that_run_apart_never_add_up(ppm):
    """Replies of 3 s for a minute, each whole, each as late as the first."""
    place, spoken = Place(seconds=70), voice(3.0)
    line = Microphone(SimulatedCard(place, mic_ppm=ppm, speaker_ppm=-ppm))
    line.open()
    latencies = []
    for _ in range(15):
        await say(line, spoken)
        await clock.sleep(1 * SECOND)
        latencies.append(line._playout._latencies[-1])
    assert max(latencies) - min(latencies) <= BLOCK_US
    assert not [note for note in line.notes() if "gaps" in note or "never played" in note]
    line.close()


async def test_a_card_that_does_not_ask_in_time_makes_a_gap_that_is_counted():
    line = Microphone(SimulatedCard(Place()))
    line.open()
    await say(line, voice(0.1)[: 3 * audio.FRAME])
    line.send(voice(0.1)[: audio.FRAME])
    await clock.sleep(300 * MS)
    assert "1 gaps in our voice" in line.notes()
    line.end()
    before = line._playout._latencies[-1]
    await say(line, voice(0.1))
    assert line._playout._latencies[-1] == before + 10 * MS  # the next reply begins behind a thicker cushion
    line.close()


async def test_a_card_that_is_unplugged_ends_the_line_with_its_reason():
    card = SimulatedCard(Place())
    line = Microphone(card)
    clock.call_at(clock.now() + 1 * SECOND, card.unplug)
    frames = [frame async for frame in line.listen()]
    assert len(frames) == 49
    assert line.ended == "the card was unplugged"


async def test_a_card_that_falls_silent_without_a_word_ends_the_line():
    card = SimulatedCard(Place())
    line = Microphone(card)
    clock.call_at(clock.now() + 1 * SECOND, card.stop)
    assert [frame async for frame in line.listen()]
    assert line.ended == "the microphone gives no sound any more"
    assert clock.now() <= 5 * SECOND


async def test_a_closed_microphone_hears_silence():
    line = Microphone(SimulatedCard(Place((0.0, voice(2)))))
    line.open_mic = False
    assert not sound_of(await hear(line, 500 * MS)).any()
    assert line.level_db > -40


@pytest.mark.parametrize("echo", [True, False])
async def test_a_microphone_that_hears_our_own_voice_is_told_from_one_that_hears_the_caller(echo):
    ours, theirs = voice(5.0, syllables=3.1), voice(5.0, syllables=4.3, pitch=170)
    sounds = () if echo else ((0.0, theirs),)
    line = Microphone(SimulatedCard(Place(*sounds, echo_us=150 * MS if echo else None)))
    listening = line.listen()
    due = clock.now()
    for start in range(0, ours.size, audio.FRAME):
        await clock.sleep_until(due)
        line.send(ours[start : start + audio.FRAME])
        await anext(listening)
        due += audio.FRAME_US
    assert line.hears_itself == echo
    line.close()
    await listening.aclose()


@pytest.mark.skipif(not installed(), reason="no echo canceller: pip install 'turnbudget[aec]'")
def test_the_canceller_takes_our_voice_out_and_leaves_the_callers():
    """VAD-08: an echo 150 ms late at −18 dB, first alone, then with the caller over it."""
    ours = voice(6.0)
    late = audio.samples(150 * MS)
    echo = np.concatenate((audio.silence(late), ours[:-late])) * 10 ** (-18 / 20)
    caller = np.zeros(ours.size)
    caller[4 * audio.RATE : 5 * audio.RATE] = voice(1.0, -25, pitch=180, syllables=2.7)

    def cleaned(near):
        canceller = Canceller()
        near = near.astype(np.int16)
        frames = range(0, near.size, audio.FRAME)
        return audio.join(
            [canceller.clean(near[a : a + audio.FRAME], ours[a : a + audio.FRAME]) for a in frames]
        )

    def db(sound):
        return 20 * np.log10(np.sqrt(np.mean(np.square(sound.astype(float)))) / 32768 + 1e-9)

    settled, spoken = slice(2 * audio.RATE, 4 * audio.RATE), slice(4 * audio.RATE, 5 * audio.RATE)
    assert db(cleaned(echo)[settled]) < db(echo[settled]) - 15
    assert db(cleaned(echo + caller)[spoken]) > db(caller[spoken]) - 6


def test_played_and_heard_stay_together_however_their_threads_come():
    beside = Beside(audio.RATE)
    blocks = [np.full(BLOCK, value, np.int16).tobytes() for value in range(1, 40)]
    given = b""
    for number, block in enumerate(blocks):
        beside.keep(block)
        if number % 2:  # the microphone's thread comes at every second block, for two
            given += beside.take(len(block)) + beside.take(len(block))
    values = np.frombuffer(given, np.int16)
    assert (values == np.concatenate((np.zeros(BLOCK), np.repeat(np.arange(1, 38), BLOCK)))).all()


def test_played_sound_that_nobody_hears_is_not_kept():
    beside = Beside(audio.RATE)
    for _ in range(1_000):
        beside.keep(bytes(2 * BLOCK))
    assert len(beside._held) <= audio.RATE
