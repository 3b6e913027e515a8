"""Two tracks of which nobody wrote down who spoke when: a detector listens to both.

A stereo recording has the caller on one channel and the agent on another; a pair is one file a side.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from turnbudget.recorded import sides
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

    from turnbudget.recorded.beside import Notes
    from turnbudget.voice.hearing.vad import Vad
    from turnbudget.voice.sound.audio import Int16
    from turnbudget.voice.sound.recording import Recording

APART_US = clock.SECOND
"""Two sides of a call whose lengths differ by more may not have begun together."""


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
        name,
        str(path),
        recording.samples,
        notes.side("caller"),
        notes.side("agent"),
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
    if sides.same(caller, agent):
        raise AudioError(
            "both channels hold the same sound, so nobody can tell who speaks",
            where=source,
            remedy="give a recording with a side a channel, or the caller's side alone",
        )
    (caller, ours), (agent, theirs) = sides.without(caller, agent), sides.without(agent, caller)
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
        name,
        source,
        caller,
        caller_speech,
        agent_speech,
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
