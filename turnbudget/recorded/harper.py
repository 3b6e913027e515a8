"""Calls of the HarperValleyBank corpus (arXiv 2010.13929): one file a side, and who said which word when.

``offset_ms`` is the call's clock; ``start_ms`` the place in the channel's own file, which may begin later.
The caller's sound is moved onto the call's clock.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Final

import msgspec

from turnbudget.recorded.conversation import Conversation, Segment
from turnbudget.recorded.wanted import told
from turnbudget.runs.names import legible
from turnbudget.voice.asr.transcriber import Word
from turnbudget.voice.errors import UsageError
from turnbudget.voice.language.text import is_words
from turnbudget.voice.sound import audio
from turnbudget.voice.sound.recording import misdeclared_rate, read
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from pathlib import Path

    from turnbudget.recorded.wanted import Wanted
    from turnbudget.voice.sound.recording import Recording

Ms = Annotated[int, msgspec.Meta(ge=-clock.SECOND, le=24 * 3600 * clock.MS)]
BEYOND_US: Final = clock.SECOND
"""Speech that ends so long after its sound belongs to another file, or to another rate."""
LATEST_MS: Final = 600_000
"""A side that begins later than ten minutes into the call is a slip of the pen."""


class TranscriptLine(msgspec.Struct, frozen=True):
    """One segment of a transcript, as far as it concerns us."""

    speaker_role: str
    human_transcript: str
    offset_ms: Ms
    start_ms: Ms
    duration_ms: Ms
    word_offsets_ms: tuple[Ms, ...]
    word_durations_ms: tuple[Ms, ...]

    @property
    def spoken(self) -> bool:
        """Whether there are words in it beside the markers."""
        return is_words(self.human_transcript)

    @property
    def late_ms(self) -> int:
        """How long after the call its channel's file begins."""
        return self.offset_ms - self.start_ms


def is_harper(folder: Path) -> bool:
    """Whether *folder* has the corpus's layout."""
    return (folder / "transcript").is_dir() and (folder / "audio" / "caller").is_dir()


def open_call(transcript: Path, rate: int | None = None) -> Conversation:
    """Return the call whose *transcript* this is; raises UsageError, or AudioError for its sound."""
    folder, name = transcript.parent.parent, transcript.stem
    sound = read(folder / "audio" / "caller" / f"{name}.wav", rate=rate)
    where = str(transcript)
    lines = _lines(transcript)
    theirs = [line for line in lines if line.speaker_role == "caller" and line.spoken]
    if not theirs:
        raise UsageError("the caller says nothing in it", where=where, remedy="leave it out")
    late_ms = max(line.late_ms for line in theirs)
    if late_ms > LATEST_MS:
        raise UsageError(
            f"the caller's file begins {late_ms // 1_000} s after the call",
            where=where,
            remedy="mend start_ms",
        )
    ours = [line for line in lines if line.speaker_role == "agent" and line.spoken]
    shift = audio.samples(late_ms * clock.MS)
    samples = audio.join([audio.silence(max(0, shift)), sound.samples[max(0, -shift) :]])
    try:
        caller, agent = (tuple(map(_segment, side)) for side in (theirs, ours))
    except ValueError as error:
        raise _no_transcript(where, error) from None
    notes = (*sound.notes, *_odd_length(sound, theirs, where))
    wanted = wanted_of(folder / "metadata" / transcript.name)
    return Conversation(
        name=name,
        source=where,
        caller=samples,
        caller_speech=caller,
        agent_speech=agent,
        has_words=True,
        notes=notes,
        wanted=wanted,
    )


def wanted_of(metadata: Path) -> Wanted | None:
    """Return what the *metadata* of a call say was wanted; ``None`` if there are none that can be read."""
    try:
        return told(json.loads(metadata.read_bytes())["tasks"][0])
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None


def _lines(transcript: Path) -> list[TranscriptLine]:
    try:
        # Not msgspec's own decoder: half a character, which it refuses, costs one letter and not the call.
        return msgspec.convert(json.loads(transcript.read_bytes()), list[TranscriptLine])
    except (OSError, ValueError, RecursionError, msgspec.ValidationError) as error:
        raise _no_transcript(str(transcript), error) from None


def _no_transcript(where: str, error: Exception) -> UsageError:
    return UsageError(
        f"is no HarperValley transcript ({error})", where=where, remedy="mend it, or leave the call out"
    )


def _segment(line: TranscriptLine) -> Segment:
    began = line.offset_ms * clock.MS
    texts = legible(line.human_transcript).split()
    spoken = [text for text in texts if is_words(text)]
    if len(texts) != len(line.word_offsets_ms):
        texts = spoken  # the corpus times the words of a recogniser, which hears no [noise]
    words = sorted(
        (
            Word(text, began + start, began + end)
            for text, (start, end) in zip(texts, _times(line, len(texts)), strict=True)
            if text in spoken
        ),
        key=lambda word: word.began_us,
    )
    return Segment(words[0].began_us, words[-1].ended_us, tuple(words))


def _times(line: TranscriptLine, count: int) -> list[tuple[int, int]]:
    """Return where each of *count* words begins and ends, in µs from the segment's beginning.

    Where a person wrote down more words than were timed, or fewer, they share the times in their order: the
    first begins and the last ends where it was measured.
    """
    timed = [
        (offset * clock.MS, (offset + duration) * clock.MS)
        for offset, duration in zip(line.word_offsets_ms, line.word_durations_ms, strict=True)
    ] or [(0, line.duration_ms * clock.MS)]

    def at(place: int, *, ends: bool) -> int:
        whole, part = divmod(place * len(timed) - ends, count)
        began, ended = timed[whole]
        return began + (ended - began) * (part + ends) // count

    return [(at(word, ends=False), at(word + 1, ends=True)) for word in range(count)]


def _odd_length(sound: Recording, lines: list[TranscriptLine], where: str) -> tuple[str, ...]:
    """Return what is odd about the length of *sound*; raises UsageError if the *lines* do not fit into it."""
    ended_us = max(line.start_ms + line.duration_ms for line in lines) * clock.MS
    says = f"{sound.us / clock.SECOND:.1f} s of sound at {sound.source_rate} Hz"
    if ended_us > sound.us + BEYOND_US:
        raise UsageError(
            f"the caller speaks until {ended_us / clock.SECOND:.1f} s, and there are {says}",
            where=where,
            remedy="give its own recording, with its true rate in the header",
        )
    rate = misdeclared_rate(sound, ended_us)
    doubt = f"{says}, and the last word ends at {ended_us / clock.SECOND:.1f} s: is its true rate {rate} Hz?"
    return (doubt,) if rate else ()
