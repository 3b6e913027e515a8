"""Two tracks of which nobody wrote down who spoke when: a detector listens to both.

A stereo recording has the caller on one channel and the agent on another; a pair is one file a side.
Before that the two are compared: whether they are one sound, and what of one leaks into the other.

A leak is linear: the other side's voice, later, softer, and filtered. It is found where the cross-correlation
of the channels has one clear peak, fitted by least squares, and taken out, so that a detector hears in each
channel whose channel it is. All is done in blocks of 2 s: an hour needs little more memory than itself.
Blocks the thread: about 0.1 s a minute of sound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from turnbudget.recorded.conversation import TURN_SILENCE_US, Conversation, segments_of
from turnbudget.voice.errors import AudioError, UsageError
from turnbudget.voice.hearing.ear import HIGH
from turnbudget.voice.hearing.endpoint import Ended, Endpoint, Endpointing
from turnbudget.voice.hearing.level import Level
from turnbudget.voice.sound import audio
from turnbudget.voice.sound.recording import misdeclared_rate, read, read_channels
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import numpy.typing as npt

    from turnbudget.recorded.beside import Notes
    from turnbudget.voice.hearing.vad import Vad
    from turnbudget.voice.sound.audio import Int16
    from turnbudget.voice.sound.recording import Recording


APART_US: Final = clock.SECOND
"""Difference in length above which two sides of a call may not have begun together (µs; 1 s)."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How to read recordings: the caller's channel, the rate of raw files, who detects speech.

    ``caller`` is None for the left one, or the one that the file's own roles say. ``turn_silence_us`` is the
    caller's silence that ends a turn where the agent is not in the recording.
    """

    caller: int | None = None
    rate: int | None = None
    vad: Callable[[], Vad] | None = None
    turn_silence_us: int = TURN_SILENCE_US


def stereo(name: str, path: Path, reading: Reading) -> Conversation:
    """Return the call *name* in a recording; one channel alone is the caller's. Raises AudioError."""
    channels = read_channels(path, rate=reading.rate)
    on = reading.caller or 0
    if on >= len(channels):
        raise AudioError(
            f"has {len(channels)} channels, and the caller is said to be on {on}",
            where=str(path),
            remedy="give --caller-channel one that there is",
        )
    caller = channels[on]
    agent = channels[0 if on else 1].samples if len(channels) > 1 else audio.silence(0)
    return _detected(name, str(path), caller.samples, agent, caller.notes, reading)


def noted(name: str, path: Path, notes: Notes, reading: Reading) -> Conversation:
    """Return the call *name* of whose recording somebody wrote down who speaks when; raises AudioError."""
    on = reading.caller or 0
    recording = read(path, channel=on, rate=reading.rate)
    ended = max(one.ended_us for one in notes.spoken if one.who == "caller")
    if ended > recording.us + APART_US:
        raise AudioError(
            f"lasts {recording.us / clock.SECOND:.1f} s, and its side file has the caller speak until"
            f" {ended / clock.SECOND:.1f} s",
            where=str(path),
            remedy="mend the times, or give the recording they are of",
        )
    return Conversation(
        name=name,
        source=str(path),
        caller=recording.samples,
        caller_speech=notes.side("caller"),
        agent_speech=notes.side("agent"),
        has_words=notes.has_words,
        notes=recording.notes,
        told_turns=True,
        wanted=notes.wanted,
    )


def _alone(silence_us: int) -> str:
    return (
        f"the recording holds no agent: a silence of {silence_us / clock.SECOND:.1f} s ends a turn,"
        " and whether a reply cuts the caller off is unknown"
    )


def pair(name: str, caller: Path, agent: Path, reading: Reading) -> Conversation:
    """Return the call *name* recorded in one file a side; raises AudioError."""
    theirs, ours = read(caller, rate=reading.rate), read(agent, rate=reading.rate)
    notes = (*theirs.notes, *_lengths(theirs, ours))
    return _detected(name, str(caller), theirs.samples, ours.samples, notes, reading)


def _lengths(theirs: Recording, ours: Recording) -> Iterator[str]:
    """Yield what is odd about the lengths of two sides of one call."""
    if abs(theirs.us - ours.us) <= APART_US:
        return
    lengths = f"it lasts {theirs.us / clock.SECOND:.1f} s, the agent's side {ours.us / clock.SECOND:.1f} s"
    for side, one, other in (("it", theirs, ours), ("the agent's side", ours, theirs)):
        rate = misdeclared_rate(one, other.us)
        if rate:
            yield f"{lengths}: if {side} is really of {rate} Hz, not {one.source_rate}, mend its header"
            return
    yield f"{lengths}: taken to begin together, so pad the beginning of one that began late"


def _detected(  # noqa: PLR0913, PLR0917 - what a conversation is made of
    name: str, source: str, caller: Int16, agent: Int16, notes: tuple[str, ...], reading: Reading
) -> Conversation:
    if reading.vad is None:
        raise UsageError("has no transcript, and no detector may listen to it", where=source)
    if same(caller, agent):
        raise AudioError(
            "both channels hold the same sound, so nobody can tell who speaks",
            where=source,
            remedy="give a recording with a side a channel, or the caller's side alone",
        )
    (caller, ours), (agent, theirs) = without(caller, agent), without(agent, caller)
    if ours:
        notes = (*notes, f"the agent's voice in the caller's channel ({ours}) was taken out")
    if theirs:
        notes = (*notes, f"the caller's voice in the agent's channel ({theirs}) was taken out")
    caller_speech = segments_of(voiced(caller, reading.vad()))
    if not caller_speech:
        raise AudioError(
            "no speech in the caller's channel",
            where=source,
            remedy="if the caller is on another: --caller-channel 1",
        )
    agent_speech = segments_of(voiced(agent, reading.vad()))
    if not agent_speech:
        notes = (*notes, _alone(reading.turn_silence_us))
    return Conversation(
        name=name,
        source=source,
        caller=caller,
        caller_speech=caller_speech,
        agent_speech=agent_speech,
        has_words=False,
        notes=notes,
        turn_silence_us=reading.turn_silence_us,
    )


def voiced(sound: Int16, vad: Vad) -> Iterator[tuple[int, int]]:
    """Yield where there is voice in *sound*, in µs, as the endpointing machine hears it.

    What the endpointing machine takes for the beginning of a turn counts, however short: "no" lasts 110 ms.
    """
    level = Level()
    endpoint = Endpoint(Endpointing(silence_us=300 * clock.MS, longest_us=3600 * clock.SECOND))

    def edge() -> audio.Samples:
        return level.last_voiced(endpoint.began)

    for at in map(audio.Samples, range(0, sound.size - vad.window + 1, vad.window)):
        window = sound[at : at + vad.window]
        level.hear(window, at)
        likely = vad.probability(window, at) >= HIGH and level.stands_out(vad.window)
        signal = endpoint.process(at, vad.window, voiced=likely, edge=edge)
        if isinstance(signal, Ended):
            yield audio.us(signal.began), audio.us(signal.at)
    if endpoint.speaking:
        yield audio.us(endpoint.began), audio.us(edge())


SAME: Final = 0.98
"""Correlation at no delay above which two channels hold the same sound."""
BLOCK: Final = 1 << 15
"""Samples of the blocks in which the channels are compared: 2 s at 16 kHz."""
LONGEST: Final = audio.samples(500_000)
"""Delay up to which a leak is looked for (samples; 500 ms)."""
CLEAR: Final = 12.0
"""Times the usual height of the cross-correlation (its root mean square) at which a peak is a leak."""
BEFORE: Final = audio.samples(4_000)
"""Length of the leak's filter before its peak (samples; 4 ms)."""
AFTER: Final = audio.samples(28_000)
"""Length of the leak's filter behind its peak (samples; 28 ms)."""
SOFTEST_DB: Final = -50.0
"""Level below which a leak cannot be taken for a voice, and is left."""


@dataclass(frozen=True, slots=True)
class Leak:
    """One channel's sound in the other: how much later (µs) and how loud against the original (dB)."""

    delay_us: int
    level_db: float

    def __str__(self) -> str:
        """Return it as a person reads it."""
        return f"{self.delay_us / 1_000:.0f} ms late, {self.level_db:.0f} dB"


def same(one: Int16, other: Int16) -> bool:
    """Say whether two channels hold the same sound, at whatever level."""
    ab = aa = bb = 0.0
    for at in range(0, min(one.size, other.size), BLOCK):
        a, b = (side[at : at + BLOCK].astype(np.float64) for side in (one, other))
        a, b = a[: b.size], b[: a.size]
        ab, aa, bb = ab + float(a @ b), aa + float(a @ a), bb + float(b @ b)
    both = math.sqrt(aa * bb)
    return bool(both) and ab / both > SAME


def without(heard: Int16, source: Int16) -> tuple[Int16, Leak | None]:
    """Return *heard* without what leaks of *source* into it, and the leak; as it was and None without one."""
    delay = _delay(heard, source)
    if delay is None:
        return heard, None
    first = delay - BEFORE
    taps = _fitted(heard, source, first)
    cleaned = heard.copy()
    leaked = power = 0.0
    for at in range(0, heard.size, BLOCK):
        voice = _piece(source, at - first - taps.size + 1, BLOCK + taps.size - 1)
        length = BLOCK + 2 * taps.size
        through = np.fft.irfft(np.fft.rfft(voice, length) * np.fft.rfft(taps, length), length)
        leak = through[taps.size - 1 :][: min(BLOCK, heard.size - at)]
        leaked, power = leaked + float(leak @ leak), power + float(voice @ voice)
        left = heard[at : at + BLOCK] - leak
        cleaned[at : at + BLOCK] = np.clip(np.rint(left), -32_768, 32_767).astype(np.int16)
    level = 10 * math.log10(max(leaked, 1e-9) / power) if power else -math.inf
    return (heard, None) if level < SOFTEST_DB else (cleaned, Leak(round(audio.us(delay)), level))


def _delay(heard: Int16, source: Int16) -> int | None:
    """Return by how many samples *source* comes later in *heard*, where it clearly does."""
    size = min(heard.size, source.size)
    if size < BLOCK:
        heard, source = (np.pad(side[:size], (0, BLOCK - size)) for side in (heard, source))
        size = BLOCK
    window = np.hanning(BLOCK)
    cross = np.zeros(BLOCK // 2 + 1, np.complex128)
    power = np.zeros(BLOCK // 2 + 1)
    for at in range(0, size - BLOCK + 1, BLOCK // 2):
        theirs = np.fft.rfft(source[at : at + BLOCK] * window)
        ours = np.fft.rfft(heard[at : at + BLOCK] * window)
        cross += ours * theirs.conj()
        power += np.abs(theirs) ** 2
    if not power.any():
        return None
    response = np.fft.irfft(cross / (power + power.mean() * 0.01))
    height = float(np.sqrt(np.mean(response**2)))
    near = np.abs(response[: LONGEST + 1])
    peak = int(near.argmax())
    return peak if height and near[peak] > CLEAR * height else None


def _fitted(heard: Int16, source: Int16, first: int) -> npt.NDArray[np.float64]:
    """Return the filter that makes *source*, *first* samples later, most like *heard* (least squares)."""
    taps = BEFORE + AFTER
    length = BLOCK + 2 * taps
    auto, cross = np.zeros(taps), np.zeros(taps)
    for at in range(0, heard.size, BLOCK):
        voice = np.fft.rfft(_piece(source, at, BLOCK), length)
        auto += np.fft.irfft(np.fft.rfft(_piece(source, at, BLOCK + taps), length) * voice.conj(), length)[
            :taps
        ]
        later = np.fft.rfft(_piece(heard, at + first, BLOCK + taps), length)
        cross += np.fft.irfft(later * voice.conj(), length)[:taps]
    lags = np.abs(np.subtract.outer(np.arange(taps), np.arange(taps)))
    return np.linalg.solve(auto[lags] + np.eye(taps) * auto[0] * 1e-6, cross)


def _piece(sound: Int16, at: int, size: int) -> npt.NDArray[np.float64]:
    """Return *size* samples of *sound* from *at* on, with silence where there are none."""
    piece = np.zeros(size)
    begin, end = max(0, at), min(sound.size, at + size)
    if begin < end:
        piece[begin - at : end - at] = sound[begin:end]
    return piece
