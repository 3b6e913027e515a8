"""Echo: what comes back of our own voice is no caller, and a caller who is louder than it still breaks in."""

from __future__ import annotations

import numpy as np
import pytest
from laws import each
from sounds import MS, SECOND, count, noise, to_int16, voice

from turnbudget.testing.stage import StageLine, began, checked, play, says, stays
from turnbudget.voice.hearing.vad import Energy
from turnbudget.voice.lines.recording import Clip
from turnbudget.voice.sound import audio
from turnbudget.voice.sound.echo import Echo
from turnbudget.voice.time import clock
from turnbudget.voice.tts.synthesizer import Speech

LAG_US = 150 * MS
OURS = voice(8, -15, pitch=170, syllables=3.3)
"""A reply of 8 s."""


def back(sound, *, db, lag_us=LAG_US):
    """What comes back of *sound*: later, and weaker."""
    late = np.concatenate((np.zeros(audio.samples(lag_us)), sound.astype(float)))
    return late * 10 ** (db / 20)


def masked(ours, theirs, echo=None, at_us=0):
    """Tell *echo* of both directions, frame by frame; return for each of *theirs* whether it is masked."""
    echo, marks = echo or Echo(), []
    for at in range(0, theirs.size, audio.FRAME):
        now = at_us + audio.us(at)
        frame = ours[at : at + audio.FRAME]
        if frame.size == audio.FRAME:
            echo.sent(frame, now)
        marks.append(echo.masks(theirs[at : at + audio.FRAME], now + audio.FRAME_US))
    return np.array(marks)


def mixed(seconds, *sounds):
    wave = np.zeros(count(seconds))
    for at, sound in sounds:
        place = wave[count(at) : count(at) + sound.size]
        place += sound[: place.size]
    return to_int16(wave)


@each("db", [-6, -18, -35])
@each("lag_ms", [20, 150, 420])
def test_what_comes_back_is_masked_to_the_end_of_its_tail(db, lag_ms):
    theirs = mixed(10, (0, back(OURS, db=db, lag_us=lag_ms * MS)), (0, noise(10, -75)))
    echo = Echo()
    marks = masked(OURS, theirs, echo)
    sounding = slice(lag_ms // 20 + 1, (8_000 + lag_ms) // 20)
    assert marks[sounding].all()
    assert not marks[(8_000 + lag_ms + 300) // 20 :].any(), "and then the caller is heard"
    assert abs(echo.gain_db - db) <= 1.5
    assert abs(echo.lag_us - lag_ms * MS) <= 2 * MS


@pytest.mark.parametrize("over_db", [12, 18])
def test_a_caller_12_db_over_the_echo_breaks_in(over_db):
    """Once we know how much comes back, 3 s into the first reply."""
    caller = voice(1.5, -15 - 18 + over_db, pitch=110, syllables=4.3)
    theirs = mixed(10, (0, back(OURS, db=-18)), (4, caller.astype(float)), (0, noise(10, -75)))
    marks = masked(OURS, theirs)
    assert marks[8:200].all()
    assert marks[290:400].all()
    assert np.flatnonzero(~marks[200:]).min() <= 5, "within 100 ms"
    assert (~marks[200:275]).mean() > 0.9


def test_a_caller_as_loud_as_the_echo_is_not_told_from_it():
    caller = voice(1.5, -15 - 18, pitch=110, syllables=4.3)
    theirs = mixed(10, (0, back(OURS, db=-18)), (4, caller.astype(float)))
    assert masked(OURS, theirs)[8:400].mean() > 0.95


def test_where_nothing_comes_back_every_caller_is_heard():
    """A headset: after 2 s of our voice nothing is taken for echo that any caller could be."""
    caller = voice(1.5, -45, pitch=110, syllables=4.3)
    theirs = mixed(10, (4, caller.astype(float)), (0, noise(10, -80)))
    assert (~masked(OURS, theirs)[200:275]).mean() > 0.8


def test_a_caller_over_our_first_second_teaches_nothing_wrong():
    caller = voice(3, -12, pitch=110, syllables=4.3)
    theirs = mixed(10, (0, back(OURS, db=-18)), (0.3, caller.astype(float)), (6, caller.astype(float)))
    echo = Echo()
    marks = masked(OURS, theirs, echo)
    assert (~marks[300:400]).mean() > 0.5
    assert abs(echo.gain_db + 18) <= 2


def test_while_we_are_silent_nobody_is_masked():
    assert not masked(audio.silence(0), voice(2, -40)).any()


def test_what_was_learnt_is_kept_for_the_next_reply():
    echo = Echo()
    masked(OURS, mixed(8, (0, back(OURS, db=-18))), echo)
    caller = voice(1, -18, pitch=110)
    theirs = mixed(4, (0, back(OURS[: count(4)], db=-18)), (0.4, caller.astype(float)))
    marks = masked(OURS[: count(4)], theirs, echo, at_us=20 * SECOND)
    assert marks[10:20].all()
    assert (~marks[20:65]).mean() > 0.5


# --- whole calls ------------------------------------------------------------------------------------


class Loudspeaker(StageLine):
    """A line whose microphone hears our own voice, 150 ms late and 18 dB weaker."""

    async def _frame(self, samples):
        frame = await super()._frame(samples)
        heard = np.zeros(audio.FRAME)
        began = clock.now() - audio.FRAME_US - LAG_US
        for at, ours in self.sent[-20:]:
            shift = audio.samples(abs(at - began)) * (1 if at >= began else -1)
            if -audio.FRAME < shift < audio.FRAME:
                piece = ours[max(0, -shift) : audio.FRAME - max(0, shift)]
                heard[max(0, shift) : max(0, shift) + piece.size] += piece
        mixed = to_int16(frame.samples + heard * 10 ** (-18 / 20))
        return type(frame)(mixed, frame.at)


class Room:
    """A voice that sounds like one, and not like the caller."""

    name = voice = "room"

    async def render(self, text, budget=None):
        del budget
        return Speech(text=text, samples=OURS, onset=audio.first_audible(OURS), voice="room")


GREETING = Speech(
    text="Good day, " * 10 + "I am here.", samples=OURS, onset=audio.first_audible(OURS), voice="room"
)


def caller_says(words, at_us, db):
    """*words* in a voice, over our reply."""
    clip = says(words, pause_us=at_us)
    sound = voice(clip.samples.size / audio.RATE, db, pitch=110, syllables=4.3)
    return Clip(sound, clip.words, clip.turns, pause_us=at_us, when="sounding")


async def test_who_hears_only_himself_speaks_to_the_end():
    """VAD-08, first run: no caller; the reply plays to its end, and there is no turn."""
    played = checked(
        await play(
            stays(12 * SECOND), line=Loudspeaker, vad=lambda _: Energy(), greeting=GREETING, half_duplex=True
        )
    )
    assert [(row.kind, row.said) for row in played.rows] == [("greeting", GREETING.text)]
    assert len(played.sounds) == 1
    assert played.call.ear.wordless == 0


async def test_without_the_guard_he_interrupts_himself():
    """VAD-08: what the guard is for."""
    played = await play(stays(12 * SECOND), line=Loudspeaker, vad=lambda _: Energy(), greeting=GREETING)
    assert len(played.sounds) > 2


@pytest.mark.parametrize("over_db", [12, 18])
async def test_a_caller_breaks_into_the_echo_once(over_db):
    """VAD-08, second run: "wait, Thursday" over the echo; one turn, and none of our words in it."""
    wait = caller_says("wait Thursday", 4 * SECOND, -15 - 18 + over_db)
    played = checked(
        await play(
            wait,
            stays(12 * SECOND),
            line=Loudspeaker,
            vad=lambda _: Energy(),
            greeting=GREETING,
            half_duplex=True,
            voice=Room(),
        )
    )
    greeting, turn = played.rows
    assert (greeting.account.outcome, turn.asked) == ("cut", "wait Thursday")
    assert len(played.turns) == 1
    (_, hushed), *_ = played.sounds
    assert hushed - began(played, "wait") <= 400 * MS
