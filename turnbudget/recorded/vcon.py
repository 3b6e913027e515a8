"""A call as a vCon (draft-ietf-vcon-vcon-core): its first recording, inside the file or beside it."""

from __future__ import annotations

import base64
import binascii
import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from turnbudget.recorded.tracks import stereo
from turnbudget.voice.errors import AudioError, UsageError

if TYPE_CHECKING:
    from turnbudget.recorded.conversation import Conversation
    from turnbudget.recorded.tracks import Reading


def open_vcon(path: Path, reading: Reading) -> Conversation:
    """Return the call of the vCon at *path*; raises UsageError, or AudioError for its recording."""
    recordings = _recordings(path)
    dialog = recordings[0]
    if dialog.get("body"):
        call = _inside(path, dialog, reading)
    else:
        call = stereo(path.stem, _beside(path, dialog), reading)
    more = (f"{len(recordings)} recordings, took the first",) if len(recordings) > 1 else ()
    return replace(call, source=str(path), notes=(*call.notes, *more))


def _recordings(path: Path) -> list[dict[str, Any]]:
    try:
        dialogs = json.loads(path.read_bytes())["dialog"]
        recordings = [dialog for dialog in dialogs if dialog.get("type") == "recording"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        recordings = []
    if not recordings:
        raise UsageError(
            "is no vCon with a recording in it", where=str(path), remedy="its dialog needs type recording"
        )
    return recordings


def _inside(path: Path, dialog: dict[str, Any], reading: Reading) -> Conversation:
    body = dialog["body"]
    try:
        blob = base64.urlsafe_b64decode(body + "=" * (-len(body) % 4))
    except (binascii.Error, ValueError, TypeError):
        raise UsageError("its recording is not base64url", where=str(path), remedy="encode it anew") from None
    with tempfile.TemporaryDirectory() as folder:
        # Raw G.711 is known by its suffix alone; whatever else the file was called is its own affair.
        inside = Path(folder, f"recording{_suffix(dialog)}")
        inside.write_bytes(blob)
        try:
            return stereo(path.stem, inside, reading)
        except AudioError as error:
            raise AudioError(error.what, where=str(path), remedy=error.remedy) from None


def _suffix(dialog: dict[str, Any]) -> str:
    suffix = Path(str(dialog.get("filename") or "")).suffix
    return suffix if suffix.isascii() and suffix[1:].isalnum() else ".wav"


def _beside(path: Path, dialog: dict[str, Any]) -> Path:
    try:
        named = Path(unquote(urlsplit(str(dialog.get("url") or dialog.get("filename") or "")).path)).name
    except ValueError:  # no URL at all
        named = ""
    beside = path.parent / named
    if not named or not beside.is_file() or beside == path:
        raise UsageError(
            "its recording is neither inside nor beside it",
            where=str(path),
            remedy=f"put {named or 'the recording'} next to it",
        )
    return beside
