"""A call as a vCon (draft-ietf-vcon-vcon-core): its first recording, inside the file or beside it."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

from turnbudget.recorded.tracks import stereo
from turnbudget.voice import reading
from turnbudget.voice.errors import AudioError, UsageError

if TYPE_CHECKING:
    from turnbudget.recorded.conversation import Conversation
    from turnbudget.recorded.tracks import Reading

CALLERS: Final = ("customer", "caller", "client", "consumer", "patient", "user")
"""Roles of a vCon's party that mean who called..."""
AGENTS: Final = ("agent", "assistant", "bot", "representative", "operator")
"""...and who answered."""
STEREO: Final = 2
"""Parties of a recording of which the one that is not the agent is the caller."""


def open_vcon(path: Path, reading: Reading) -> Conversation:
    """Return the call of the vCon at *path*; raises UsageError, or AudioError for its recording."""
    whole = _read(path)
    recordings = [
        dialog
        for dialog in _listed(whole, "dialog")
        if isinstance(dialog, dict) and dialog.get("type") == "recording"
    ]
    if not recordings:
        raise _no_vcon(path)
    dialog = recordings[0]
    if reading.caller is None:
        reading = replace(reading, caller=_callers_channel(_listed(whole, "parties"), dialog))
    if dialog.get("body"):
        call = _inside(path, dialog, reading)
    else:
        beside = _beside(path, dialog)
        _check(path, dialog, beside.read_bytes())
        call = stereo(path.stem, beside, reading)
    more = (f"{len(recordings)} recordings, took the first",) if len(recordings) > 1 else ()
    return replace(call, source=str(path), notes=(*call.notes, *more))


def _read(path: Path) -> dict[str, Any]:
    """Return the vCon at *path*, unsigned and unencrypted; raises UsageError."""
    try:
        whole = json.loads(reading.read(path))
    except (OSError, ValueError, RecursionError):
        whole = None
    if not isinstance(whole, dict):
        raise _no_vcon(path)
    if "ciphertext" in whole:
        raise UsageError("is encrypted (a JWE)", where=str(path), remedy="decrypt it first")
    if "signatures" in whole or ("payload" in whole and "signature" in whole):
        raise UsageError("is signed (a JWS)", where=str(path), remedy="give the vCon that is its payload")
    return whole


def _no_vcon(path: Path) -> UsageError:
    return UsageError(
        "is no vCon with a recording in it", where=str(path), remedy="its dialog needs type recording"
    )


def _listed(whole: dict[str, Any], name: str) -> list[Any]:
    found = whole.get(name)
    return found if isinstance(found, list) else []


def _callers_channel(parties: list[Any], dialog: dict[str, Any]) -> int | None:
    """Return the channel of whoever called, by the roles of the parties of *dialog*, a channel each."""
    order = dialog.get("parties")
    roles = []
    for index in order if isinstance(order, list) else []:
        party = parties[index] if isinstance(index, int) and 0 <= index < len(parties) else None
        roles.append(str(party.get("role", "")).lower() if isinstance(party, dict) else "")
    callers = [channel for channel, role in enumerate(roles) if role in CALLERS]
    agents = [channel for channel, role in enumerate(roles) if role in AGENTS]
    if len(callers) == 1:
        return callers[0]
    return 1 - agents[0] if len(agents) == 1 and len(roles) == STEREO else None


def _check(path: Path, dialog: dict[str, Any], content: bytes) -> None:
    """Refuse *content* that is not what the ``content_hash`` of *dialog* says; raises UsageError."""
    told = dialog.get("content_hash")
    for one in told if isinstance(told, list) else [told]:
        name, _, digest = str(one or "").partition("-")
        if name != "sha512" or not digest:
            continue
        found = base64.urlsafe_b64encode(hashlib.sha512(content).digest()).decode().rstrip("=")
        if found != digest.rstrip("="):
            raise UsageError(
                "its recording is not the one it was made with (content_hash differs)", where=str(path)
            )


def _inside(path: Path, dialog: dict[str, Any], reading: Reading) -> Conversation:
    body = dialog["body"]
    try:
        blob = base64.urlsafe_b64decode(body + "=" * (-len(body) % 4))
    except (binascii.Error, ValueError, TypeError):
        raise UsageError("its recording is not base64url", where=str(path), remedy="encode it anew") from None
    _check(path, dialog, blob)
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
