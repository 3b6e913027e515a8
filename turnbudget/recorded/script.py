"""Scripted callers: what happens beside the recording, from a TOML file of events.

::

    [[event]]
    after_turn = 2          # after the caller's second turn
    do = "barge-in"         # barge-in | silence | hang-up
    after_ms = 600          # barge-in, hang-up: after our reply began to sound; silence: so much longer
    audio = "stop.wav"      # barge-in: what the caller says; without it, their next turn
    text = "no stop"        # the words in it, for scripted engines and for the count of word errors
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import msgspec

from turnbudget.voice.asr.transcriber import Word
from turnbudget.voice.errors import ConfigError
from turnbudget.voice.lines.recording import Clip
from turnbudget.voice.reading import toml
from turnbudget.voice.sound import audio
from turnbudget.voice.sound.recording import read
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turnbudget.recorded.conversation import Conversation, Pacing
    from turnbudget.voice.sound.audio import Int16

NOTHING: Final = audio.silence(0)
"""No sound."""


class Event(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One event beside the recording."""

    after_turn: Annotated[int, msgspec.Meta(ge=1)]
    do: Literal["barge-in", "silence", "hang-up"]
    after_ms: Annotated[int, msgspec.Meta(ge=0, le=3_600_000)] = 0
    audio: str = ""
    text: str = ""

    def __post_init__(self) -> None:
        if self.audio and self.do != "barge-in":
            raise ValueError(f"a {self.do} has no audio")
        if self.text and not self.audio:
            raise ValueError("text says what is in audio, and there is none")


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    event: tuple[Event, ...]


def load(path: Path) -> tuple[Event, ...]:
    """Return the events of the file at *path*, in the order of their turns; raises ConfigError."""
    events = toml(path, _File, remedy="see `turnbudget replay --help`").event
    beside = (
        msgspec.structs.replace(event, audio=str(path.parent / event.audio)) if event.audio else event
        for event in events
    )
    return tuple(sorted(beside, key=lambda event: event.after_turn))


def clips_of(conversation: Conversation, pacing: Pacing, events: Sequence[Event]) -> list[Clip]:
    """Return what the caller of *conversation* plays, *events* among it; blocks, raises UsageError."""
    clips = conversation.clips(pacing)
    if pacing != "script":
        return clips
    turns = len(clips)
    for event in reversed(events):
        if event.after_turn > turns:
            raise ConfigError(
                f"the script has an event after turn {event.after_turn}, and the caller {turns} turns",
                where=conversation.source,
                remedy="mend after_turn",
            )
        if event.do == "barge-in" and not event.audio and event.after_turn == turns:
            raise ConfigError(
                f"the script has a barge-in after turn {turns}, the last: there is no next turn to say",
                where=conversation.source,
                remedy="name its audio",
            )
        _inject(clips, event)
    return clips


def _inject(clips: list[Clip], event: Event) -> None:
    us = event.after_ms * clock.MS
    place = event.after_turn
    if event.do == "hang-up":
        clips[place:] = [Clip(NOTHING, pause_us=us, when="sounding", hangs_up=True)]
    elif event.do == "silence":
        # Counted from the moment the caller could have spoken, whatever we say into it.
        after = clips[place] if place < len(clips) else Clip(NOTHING)
        clips[place : place + 1] = [
            Clip(NOTHING),
            replace(after, pause_us=after.pause_us + us, when="at once"),
        ]
    elif event.audio:
        clips.insert(place, _spoken(read(Path(event.audio)).samples, event.text.split(), us))
    else:
        clips[place] = replace(clips[place], pause_us=us, when="sounding")


def _spoken(samples: Int16, texts: Sequence[str], pause_us: int) -> Clip:
    """Return *samples* as a barge-in, its words spread evenly over it."""
    length = audio.us(samples.size)
    words = tuple(
        Word(text, length * place // len(texts), length * (place + 1) // len(texts))
        for place, text in enumerate(texts)
    )
    return Clip(samples, words, ((0, length),), pause_us=pause_us, when="sounding")
