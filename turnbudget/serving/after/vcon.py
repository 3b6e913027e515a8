"""The record of a call as a vCon (draft-ietf-vcon-vcon-core-04, syntax 0.3.0), for systems that are not ours.

Its recording lies beside it, with its SHA-512; without one the lines of both sides are its dialogs. What we
measured is an analysis of our own. :mod:`turnbudget.recorded.vcon` reads it back.
"""

from __future__ import annotations

import base64
import hashlib
import uuid
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urljoin

import msgspec

from turnbudget.runs.summary import spread
from turnbudget.serving.ending import EndReason
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from turnbudget.runs.recording import Pause
    from turnbudget.runs.records import CallRecord, Row
    from turnbudget.serving.ending import Handover

SYNTAX: Final = "0.3.0"
"""Version of the vCon draft that is written."""
SCHEMA: Final = "turnbudget-call-1"
"""The form of our analysis: the call's record, its rows (schema 1), and what came of it."""
TRANSCRIPT: Final = "turnbudget-transcript-1"
"""Name of the format of our transcript."""
NEVER: Final = "1970-01-01T00:00:00+00:00"
"""When calls begin that have no calendar time, those in virtual time."""
CALLER, AGENT, TARGET = range(3)
_INCOMPLETE: Final = {
    EndReason.FAILED: "failed",
    EndReason.BROKEN_OFF: "failed",
    EndReason.LINE_LOST: "failed",
}
"""Why there was no conversation, in the draft's words; in any other case somebody hung up."""


@dataclass(frozen=True, slots=True)
class Closed:
    """A call that is over, and what there is to say of it; all of it redacted."""

    record: CallRecord
    """How the call went and ended."""
    rows: Sequence[Row]
    """Its turns, oldest first, redacted."""
    tenant: str
    """Whose call it was."""
    line: str
    """What it came over: ``browser``, ``twilio``, ``audiosocket``, …"""
    began: str | None
    """Calendar time, ISO 8601; ``None`` in virtual time."""
    reason: EndReason
    """Who or what ended it."""
    disposition: str
    """The tenant's word for what came of it."""
    caller: str = ""
    """Number or address, as the line told."""
    called: str = ""
    """The number that was called."""
    session: str = ""
    """The carrier's id of the call."""
    consent: bool = False
    """The caller consents to be recorded."""
    pauses: Sequence[Pause] = ()
    """Where the recording was paused."""
    slots: Mapping[str, str] = field(default_factory=dict)
    """What was known of what the caller wants, redacted."""
    transfer: Handover | None = None
    """What whoever takes the caller over is told; ``None``: the caller was not sent on."""
    sha512: str = ""
    """Of the recording, as :func:`content_hash` gives it."""


def vcon(call: Closed, *, base: str = "", rows: bool = True) -> dict[str, Any]:
    """Return the vCon of *call*, ready for JSON; *base* is the address of the folder of its recording.

    Without its *rows* it is a tenth as long.
    """
    ended = moment(call.began, call.record.length_us)
    dialogs = [_recording(call, base)] if call.record.audio else list(_lines(call))
    spoken = list(range(len(dialogs)))
    if not dialogs:
        dialogs = [_incomplete(call)]
    transfer = call.transfer
    if transfer:
        dialogs.append(_transfer(call, ended, spoken))
    return {
        "vcon": SYNTAX,
        "uuid": str(uuid.uuid5(uuid.NAMESPACE_URL, f"urn:turnbudget:call:{call.record.call}")),
        "created_at": ended,
        "subject": f"{call.tenant}: {call.disposition}",
        "extensions": ["CC"],
        "parties": _parties(call),
        "dialog": dialogs,
        "analysis": [*_transcript(call, spoken), *_summary(call, spoken), _numbers(call, spoken, rows=rows)],
    }


def content_hash(path: Path) -> str:
    """Return the draft's hash of the file at *path*; blocks."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha512").digest()
    return "sha512-" + base64.urlsafe_b64encode(digest).decode().rstrip("=")


def moment(began: str | None, us: int) -> str:
    """Return the calendar time *us* after *began*, as RFC 3339."""
    start = datetime.fromisoformat(began or NEVER)
    return (start + timedelta(microseconds=us)).isoformat(timespec="milliseconds")


def _parties(call: Closed) -> list[dict[str, str]]:
    parties = [
        {**_address(call.caller), "role": "customer"},
        {**_address(call.called), "name": call.tenant, "validation": "none", "role": "agent"},
    ]
    if call.transfer:
        parties.append({**_address(call.transfer.target), "role": "transfer target"})
    return parties


def _address(told: str) -> dict[str, str]:
    """Return what a line told of a party's address, as the draft names it."""
    scheme, _, rest = told.partition(":")
    if scheme.lower() in {"sip", "sips"} and rest:
        return {"sip": told}
    number = "".join(sign for sign in told if sign.isdigit() or sign == "+")
    return {"tel": number} if number and not any(map(str.isalpha, told)) else {}


def _recording(call: Closed, base: str) -> dict[str, Any]:
    name = call.record.audio
    return {
        "type": "recording",
        "start": moment(call.began, 0),
        "duration": round(call.record.length_us / clock.SECOND, 3),
        "parties": [CALLER, AGENT],
        "mediatype": "audio/x-wav",
        "filename": name,
        "url": urljoin(base, quote(name)),
        "content_hash": call.sha512,
        **_session(call),
    }


def _session(call: Closed) -> dict[str, str]:
    return {"session_id": call.session} if call.session else {}


def _said(row: Row) -> list[tuple[int, int, str]]:
    """Return what was said in a turn: by whom, from when on (µs of the call), and the words."""
    ours = row.speech_ended_call_us + (row.first_sound_us or 0)
    lines = [(CALLER, row.speech_began_call_us, row.heard), (AGENT, ours, row.said)]
    return [line for line in lines if line[2]]


def _lines(call: Closed) -> list[dict[str, Any]]:
    """Return the lines of both sides as dialogs: of a call that was not recorded."""
    return [
        {
            "type": "text",
            "start": moment(call.began, at_us),
            "parties": who,
            "mediatype": "text/plain",
            "body": text,
            "encoding": "none",
            **_session(call),
        }
        for row in call.rows
        for who, at_us, text in _said(row)
    ]


def _incomplete(call: Closed) -> dict[str, Any]:
    return {
        "type": "incomplete",
        "start": moment(call.began, 0),
        "parties": [CALLER, AGENT],
        "disposition": _INCOMPLETE.get(call.reason, "hung-up"),
        **_session(call),
    }


def _transfer(call: Closed, ended: str, spoken: list[int]) -> dict[str, Any]:
    original = {"original": spoken[0] if call.record.audio else spoken} if spoken else {}
    return {
        "type": "transfer",
        "start": ended,
        "transferee": CALLER,
        "transferor": AGENT,
        "transfer_target": TARGET,
        **original,
    }


def _analysis(kind: str, spoken: list[int], schema: str, body: object) -> dict[str, Any]:
    """Return one of our analyses; its body is JSON as text, as the draft wants it."""
    return {
        "type": kind,
        **({"dialog": spoken[0] if len(spoken) == 1 else spoken} if spoken else {}),
        "vendor": "turnbudget",
        "product": "turnbudget",
        "schema": schema,
        "mediatype": "application/json",
        "encoding": "json",
        "body": msgspec.json.encode(body).decode(),
    }


def _transcript(call: Closed, spoken: list[int]) -> list[dict[str, Any]]:
    lines = [
        {"party": who, "start": round(at_us / clock.SECOND, 3), "text": text}
        for row in call.rows
        for who, at_us, text in _said(row)
    ]
    return [_analysis("transcript", spoken, TRANSCRIPT, {"lines": lines})] if lines else []


def _summary(call: Closed, spoken: list[int]) -> list[dict[str, Any]]:
    """Return what whoever takes the caller over is told."""
    return [_analysis("summary", spoken, "turnbudget-handover-1", call.transfer)] if call.transfer else []


def _numbers(call: Closed, spoken: list[int], *, rows: bool) -> dict[str, Any]:
    told = report(call)
    if not rows:
        del told["rows"]
    return _analysis("report", spoken, SCHEMA, told)


def report(call: Closed) -> dict[str, Any]:
    """Return what we know and measured of *call*."""
    turns = [row for row in call.rows if row.kind == "turn"]
    return {
        "line": call.line,
        "tenant": call.tenant,
        "reason": call.reason,
        "ended": call.record.ended,
        "disposition": call.disposition,
        "slots": dict(call.slots),
        "recording": {"consent": call.consent, "pauses": [_pause(pause) for pause in call.pauses]},
        "in_time": {"count": sum(row.in_time for row in turns), "of": len(turns)},
        "first_sound": spread(row.first_sound_us for row in turns),
        "record": call.record,
        "rows": list(call.rows),
    }


def _pause(pause: Pause) -> dict[str, Any]:
    return {"began_us": pause.began_us, "ended_us": pause.ended_us, "because": pause.because}
