"""What ``replay`` can be given, read from disk: recordings, pairs, folders, vCons.

Every path becomes one or more conversations; one that cannot be read is a fault of one line, and the others
still replay. Everything here blocks.

Layouts: a stereo file (caller left unless told otherwise); a pair ``…caller.wav`` / ``…agent.wav``; a folder
in HarperValley layout (``audio/caller``, ``audio/agent``, ``transcript``); a folder of any of these; a
``.vcon`` file (draft-ietf-vcon-vcon-core) with its recording inside or beside it.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from turnbudget.conversation import Conversation, Segment, segments_of
from voice import audio, clock
from voice.asr.transcriber import Word
from voice.endpoint import Ended, Endpoint, Endpointing
from voice.errors import AudioError, UsageError
from voice.level import Level
from voice.listen import HIGH
from voice.recording import read, read_channels

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from voice.audio import Int16
    from voice.vad import Vad

SOUNDS: Final = (".wav", ".flac", ".aif", ".aiff", ".ul", ".ulaw", ".raw", ".pcmu", ".al", ".alaw", ".pcma")
NOT_SPOKEN: Final = re.compile(r"\[[^\]]*\]|<[^>]*>")
"""Markers of a human transcript: ``[noise]``, ``<unk>``."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How to read recordings: which channel the caller is on, the rate of raw files, who detects speech."""

    caller: int = 0
    rate: int | None = None
    vad: Callable[[], Vad] | None = None


def find(path: Path) -> list[Path]:
    """Return what *path* holds to replay: itself, or the recordings of a folder in the order of their names.

    A HarperValley folder gives its transcripts, a pair its caller's file.
    """
    if not path.exists():
        raise UsageError("there is no such file or folder", where=str(path), remedy="check the name")
    if path.is_file():
        return [path]
    if _is_harper(path):
        return sorted((path / "transcript").glob("*.json"))
    found = [
        file
        for file in sorted(path.iterdir())
        if file.is_file()
        and file.suffix.lower() in (*SOUNDS, ".vcon")
        and not (_side(file) == "agent" and _other_side(file).exists())
    ]
    if not found:
        raise UsageError(
            "there is nothing to replay in it",
            where=str(path),
            remedy="give stereo recordings, caller/agent pairs, a HarperValley folder, or .vcon files",
        )
    return found


def open_conversation(path: Path, reading: Reading) -> Conversation:
    """Return the conversation at *path*; raises AudioError or UsageError, one line for a person."""
    if path.suffix == ".json" and _is_harper(path.parent.parent):
        return _harper(path.parent.parent, path.stem, reading)
    if path.suffix.lower() == ".vcon":
        return _vcon(path, reading)
    if _side(path):
        return _pair(path, reading)
    return _stereo(path.stem, path, reading)


def _is_harper(folder: Path) -> bool:
    return (folder / "transcript").is_dir() and (folder / "audio" / "caller").is_dir()


def _side(path: Path) -> str:
    found = re.search(r"(caller|agent)$", path.stem.lower())
    return found.group(1) if found else ""


def _other_side(path: Path) -> Path:
    side = _side(path)
    return path.with_name(
        path.stem[: -len(side)] + {"caller": "agent", "agent": "caller"}[side] + path.suffix
    )


def _stereo(name: str, path: Path, reading: Reading) -> Conversation:
    channels = read_channels(path, least=2, rate=reading.rate)
    if reading.caller >= len(channels):
        raise AudioError(
            f"has {len(channels)} channels, and the caller is said to be on {reading.caller}",
            where=str(path),
            remedy="give --caller-channel one that there is",
        )
    agent = channels[1 - reading.caller] if reading.caller < 2 else channels[0]  # noqa: PLR2004 - stereo
    caller = channels[reading.caller]
    return _detected(name, str(path), caller.samples, agent.samples, caller.notes, reading)


def _pair(path: Path, reading: Reading) -> Conversation:
    other = _other_side(path)
    if not other.exists():
        raise AudioError(
            f"its other side {other.name} is not there", where=str(path), remedy="give both sides"
        )
    caller, agent = (path, other) if _side(path) == "caller" else (other, path)
    ours, theirs = read(agent, rate=reading.rate), read(caller, rate=reading.rate)
    notes = theirs.notes
    if abs(ours.us - theirs.us) > clock.SECOND:
        notes = (
            *notes,
            f"its sides differ by {abs(ours.us - theirs.us) // clock.MS} ms; they begin together",
        )
    name = path.stem[: -len(_side(path))].rstrip("-_. ") or path.parent.name
    return _detected(name, str(caller), theirs.samples, ours.samples, notes, reading)


def _detected(  # noqa: PLR0913, PLR0917 - what a conversation is made of
    name: str, source: str, caller: Int16, agent: Int16, notes: tuple[str, ...], reading: Reading
) -> Conversation:
    """Return a conversation whose speech a detector has found, for nobody wrote down who spoke when."""
    if reading.vad is None:
        raise UsageError("has no transcript, and no detector may listen to it", where=source)
    caller_speech = segments_of(voiced(caller, reading.vad()))
    if not caller_speech:
        raise AudioError(
            "no speech in the caller's channel", where=source, remedy="try the other: --caller-channel 1"
        )
    return Conversation(
        name,
        source,
        caller,
        caller_speech,
        segments_of(voiced(agent, reading.vad())),
        has_words=False,
        notes=notes,
    )


def voiced(sound: Int16, vad: Vad) -> Iterator[tuple[int, int]]:
    """Yield where there is voice in *sound*, in µs, as the endpointing machine hears it."""
    level = Level()
    endpoint = Endpoint(Endpointing(silence_us=300 * clock.MS, longest_us=3600 * clock.SECOND))

    def edge() -> int:
        return level.last_voiced(endpoint.began)

    for at in range(0, sound.size - vad.window + 1, vad.window):
        window = sound[at : at + vad.window]
        level.hear(window, at)
        likely = vad.probability(window, at) >= HIGH and level.stands_out(vad.window)
        signal = endpoint.process(at, vad.window, voiced=likely, edge=edge)
        if isinstance(signal, Ended):
            yield audio.us(signal.began), audio.us(signal.at)
    if endpoint.speaking:
        yield audio.us(endpoint.began), audio.us(edge())


def _harper(folder: Path, name: str, reading: Reading) -> Conversation:
    """Return a call of the HarperValleyBank corpus (arXiv 2010.13929).

    ``offset_ms`` is the call's clock; ``start_ms`` the place in the channel's own file, which may begin
    later. The caller's sound is moved onto the call's clock.
    """
    transcript = folder / "transcript" / f"{name}.json"
    sound = read(folder / "audio" / "caller" / f"{name}.wav", rate=reading.rate)
    try:
        segments = json.loads(transcript.read_text("utf-8"))
        sides = {
            role: [segment for segment in segments if segment["speaker_role"] == role and _spoken(segment)]
            for role in ("caller", "agent")
        }
        late = {segment["offset_ms"] - segment["start_ms"] for segment in sides["caller"]}
        caller, agent = (tuple(map(_segment, sides[role])) for role in ("caller", "agent"))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"is no HarperValley transcript ({type(error).__name__}: {error})", where=str(transcript)
        ) from None
    if not caller:
        raise UsageError("the caller says nothing in it", where=str(transcript))
    shift = audio.samples(max(0, *late) * clock.MS)
    samples = audio.join([audio.silence(shift), sound.samples])
    return Conversation(name, str(transcript), samples, caller, agent, has_words=True, notes=sound.notes)


def _spoken(segment: dict[str, Any]) -> str:
    return NOT_SPOKEN.sub(" ", segment["human_transcript"]).strip()


def _segment(segment: dict[str, Any]) -> Segment:
    began = segment["offset_ms"] * clock.MS
    texts = segment["human_transcript"].split()
    times = zip(segment["word_offsets_ms"], segment["word_durations_ms"], strict=True)
    words = [
        Word(text, began + offset * clock.MS, began + (offset + duration) * clock.MS)
        for text, (offset, duration) in zip(texts, times, strict=False)
        if not NOT_SPOKEN.fullmatch(text)
    ]
    ended = words[-1].ended_us if words else began + segment["duration_ms"] * clock.MS
    return Segment(words[0].began_us if words else began, ended, tuple(words))


def _vcon(path: Path, reading: Reading) -> Conversation:
    """Return the first recording of a vCon: inline (base64url), or a file beside it."""
    try:
        vcon = json.loads(path.read_text("utf-8"))
        recordings = [dialog for dialog in vcon["dialog"] if dialog.get("type") == "recording"]
        dialog = recordings[0]
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError):
        raise UsageError(
            "is no vCon with a recording in it", where=str(path), remedy="its dialog needs type recording"
        ) from None
    if body := dialog.get("body"):
        try:
            blob = base64.urlsafe_b64decode(body + "=" * (-len(body) % 4))
        except (binascii.Error, ValueError, TypeError):
            raise UsageError("its recording is not base64url", where=str(path)) from None
        suffix = Path(str(dialog.get("filename") or "call.wav")).suffix or ".wav"
        with tempfile.TemporaryDirectory() as folder:
            inline = Path(folder, f"{path.stem}{suffix}")
            inline.write_bytes(blob)
            return _named(_stereo(path.stem, inline, reading), path)
    beside = path.with_name(Path(str(dialog.get("url") or dialog.get("filename") or "")).name)
    if not beside.is_file() or beside == path:
        raise UsageError("its recording is neither inside nor beside it", where=str(path))
    return _named(_stereo(path.stem, beside, reading), path)


def _named(conversation: Conversation, path: Path) -> Conversation:
    return Conversation(
        conversation.name,
        str(path),
        conversation.caller,
        conversation.caller_speech,
        conversation.agent_speech,
        conversation.has_words,
        conversation.notes,
    )


def listing(paths: Iterable[Path]) -> list[Path | UsageError]:
    """Return what there is to replay at *paths*, in their order; a fault stands in the place it came up."""
    found: list[Path | UsageError] = []
    for path in paths:
        try:
            found.extend(find(path))
        except UsageError as fault:
            found.append(fault)
    return found
