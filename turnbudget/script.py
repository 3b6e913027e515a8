"""Scripted callers: what happens beside the recording, from a TOML file of events.

::

    [[event]]
    after_turn = 2          # after the caller's second turn
    do = "barge-in"         # barge-in | silence | hang-up
    after_ms = 600          # barge-in, hang-up: after our reply began to sound; silence: how long
    audio = "stop.wav"      # barge-in: what the caller says; without it, their next turn
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from voice import audio, clock
from voice.errors import ConfigError
from voice.lines.recording import Clip
from voice.recording import read

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turnbudget.conversation import Conversation, Pacing


class Event(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One event beside the recording."""

    after_turn: int
    do: Literal["barge-in", "silence", "hang-up"]
    after_ms: int = 0
    audio: str = ""


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    event: tuple[Event, ...]


def load(path: Path) -> tuple[Event, ...]:
    """Return the events of the file at *path*, in the order of their turns; raises ConfigError."""
    try:
        events = msgspec.toml.decode(path.read_bytes(), type=_File).event
    except OSError as error:
        raise ConfigError(f"cannot be read ({error.strerror})", where=str(path)) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ConfigError(str(error), where=str(path), remedy="see `turnbudget replay --help`") from None
    beside = (
        msgspec.structs.replace(event, audio=str(path.parent / event.audio)) if event.audio else event
        for event in events
    )
    return tuple(sorted(beside, key=lambda event: event.after_turn))


def clips_of(conversation: Conversation, pacing: Pacing, events: Sequence[Event]) -> list[Clip]:
    """Return what the caller of *conversation* plays, *events* among it; raises ConfigError."""
    clips = conversation.clips(pacing)
    if pacing != "script":
        return clips
    for event in reversed(events):
        if not 1 <= event.after_turn <= len(clips):
            raise ConfigError(
                f"after_turn = {event.after_turn}, and the caller has {len(clips)} turns",
                where=conversation.source,
            )
        _inject(clips, event)
    return clips


def _inject(clips: list[Clip], event: Event) -> None:
    us = event.after_ms * clock.MS
    place = event.after_turn
    if event.do == "hang-up":
        clips[place:] = [Clip(audio.silence(0), pause_us=us, when="sounding", hangs_up=True)]
    elif event.do == "silence":
        if place < len(clips):
            clips[place] = replace(clips[place], pause_us=clips[place].pause_us + us)
        else:
            clips.append(Clip(audio.silence(0), pause_us=us))
    elif event.audio:
        clips.insert(place, Clip(read(Path(event.audio)).samples, pause_us=us, when="sounding"))
    elif place < len(clips):
        clips[place] = replace(clips[place], pause_us=us, when="sounding")
