"""What ``replay`` can be given, read from disk: recordings, pairs, folders, vCons.

Every path becomes one or more conversations; one that cannot be read is a fault of one line, and the others
still replay. Everything here blocks.

Layouts: a stereo file (caller left unless told otherwise); a pair ``…caller.wav`` / ``…agent.wav``; a folder
in HarperValley layout (``audio/caller``, ``audio/agent``, ``transcript``); a ``.vcon`` file with its
recording inside or beside it; a recording with a side file (:mod:`turnbudget.recorded.beside`), or a
``.jsonl`` file of such notes; a folder of recordings, pairs, vCons and notes.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from turnbudget.recorded import harper
from turnbudget.recorded.beside import Noted, is_manifest, manifest, read_notes, side_file
from turnbudget.recorded.tracks import Reading, noted, pair, stereo
from turnbudget.recorded.vcon import open_vcon
from turnbudget.voice.errors import AudioError, UsageError
from turnbudget.voice.sound.recording import read

if TYPE_CHECKING:
    from collections.abc import Iterable

    from turnbudget.recorded.conversation import Conversation

SOUNDS: Final = (
    ".wav",
    ".w64",
    ".mp3",
    ".m4a",
    ".mp4",
    ".aac",
    ".webm",
    ".mka",
    ".3gp",
    ".flac",
    ".aif",
    ".aiff",
    ".aifc",
    ".ogg",
    ".oga",
    ".opus",
    ".au",
    ".snd",
    ".caf",
)
"""Suffixes of recordings that say their own rate and encoding."""
RAW: Final = (".ul", ".ulaw", ".raw", ".pcmu", ".al", ".alaw", ".pcma")
"""Suffixes of raw G.711, which says neither."""
OTHERS: Final = (".wma", ".amr")
"""Suffixes of sounds that are not read: each is a fault, so that no recording in a folder is passed over."""
TAKEN: Final = frozenset((*SOUNDS, *RAW, *OTHERS, ".vcon"))
"""Suffixes of all files in a folder that are read or are a fault."""
Source: TypeAlias = Path | Noted
"""A recording by itself, or with the notes of a ``.jsonl`` file about it."""
OTHER: Final = {"caller": "agent", "agent": "caller"}
"""The other side of a call."""


def listing(paths: Iterable[Path]) -> list[Source | UsageError]:
    """Return what there is to replay at *paths*, in their order and each but once.

    A fault stands in the place it came up.
    """
    found: dict[Path, Source | UsageError] = {}
    for path in paths:
        try:
            for file in find(path):
                found.setdefault(_place(file), file)
        except UsageError as fault:
            found[path.absolute()] = fault
    return list(found.values())


def _place(source: Source | UsageError) -> Path:
    """Return what *source* is told apart by: the recording, or the line that is at fault."""
    if isinstance(source, UsageError):
        return Path(str(source))
    return (source.audio if isinstance(source, Noted) else source).absolute()


def find(path: Path) -> list[Source | UsageError]:
    """Return what *path* holds to replay: itself, or what a folder holds in the order of names.

    A HarperValley folder gives its transcripts, a pair its caller's file, a ``.jsonl`` file the recordings
    that its lines are about. Raises UsageError.
    """
    found: list[Source | UsageError]
    try:
        if not path.is_dir():
            if not path.exists():
                raise UsageError("there is no such file or folder", where=str(path), remedy="check the name")
            return [*manifest(path)] if is_manifest(path) else [_callers(path)]
        if harper.is_harper(path):
            found = [*sorted((path / "transcript").glob("*.json"))]
        else:
            files = [file for file in sorted(path.iterdir()) if file.is_file()]
            found = [one for file in files if is_manifest(file) for one in manifest(file)]
            sounds = dict.fromkeys(_callers(file) for file in files if file.suffix.lower() in TAKEN)
            found += sounds
    except (OSError, ValueError) as error:
        fault = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"cannot be read ({fault})", where=str(path), remedy="check its rights") from None
    if not found:
        raise UsageError(
            "there is nothing to replay in it",
            where=str(path),
            remedy="give stereo recordings, caller/agent pairs, a HarperValley folder, or .vcon files",
        )
    return found


def open_conversation(path: Source, reading: Reading) -> Conversation:
    """Return the conversation at *path*; raises AudioError or UsageError, one line for a person."""
    if isinstance(path, Noted):
        return noted(path.name, path.audio, path.notes, reading)
    if path.suffix == ".json" and harper.is_harper(path.absolute().parent.parent):
        return harper.open_call(path.absolute(), reading.rate)
    if path.suffix.lower() == ".vcon":
        return open_vcon(path, reading)
    told = side_file(path)
    return noted(path.stem, path, read_notes(told), reading) if told else _sounds(path, reading)


def _sounds(path: Path, reading: Reading) -> Conversation:
    """Return the conversation of a recording of which nothing else is known: a pair, or one file."""
    other = _other_side(path)
    if other is None:
        return stereo(path.stem, path, reading)
    if other.exists():
        caller, agent = (path, other) if _side(path) == "caller" else (other, path)
        return pair(_pair_name(path), caller, agent, reading)
    if _side(path) == "agent" and read(path, rate=reading.rate).source_channels == 1:
        raise AudioError(
            f"is the agent's side, and the caller's, {other.name}, is not there",
            where=str(path),
            remedy="give both sides, the caller's alone, or a stereo recording",
        )
    return stereo(path.stem, path, reading)


def _callers(path: Path) -> Path:
    """Return the file a pair goes by: its caller's."""
    other = _other_side(path) if _side(path) == "agent" else None
    return other if other is not None and other.exists() else path


def _side(path: Path) -> str:
    found = re.search(r"(caller|agent)$", path.stem.lower())
    return found.group(1) if found else ""


def _other_side(path: Path) -> Path | None:
    side = _side(path)
    if not side:
        return None
    return path.with_name(path.stem[: -len(side)] + OTHER[side] + path.suffix)


def _pair_name(path: Path) -> str:
    """Return what a pair is called: what comes before its sides, else its folder."""
    return path.stem[: -len(_side(path))].rstrip("-_. ") or path.absolute().parent.name
