"""The record of a call as others read it: who spoke, the recording and its hash, the words, our numbers."""

from __future__ import annotations

import base64
import hashlib
import json

import pytest
from surroundings import ROWS, ended, record, row, wav

from turnbudget.recorded.tracks import Reading
from turnbudget.recorded.vcon import open_vcon
from turnbudget.runs.recording import Pause
from turnbudget.serving.after.vcon import Closed, content_hash, vcon
from turnbudget.serving.ending import EndReason, handover
from turnbudget.voice.errors import UsageError
from turnbudget.voice.hearing.vad import Energy
from turnbudget.voice.time.clock import SECOND

BEGAN = "2026-11-30T14:00:00+00:00"


def closed(rows=ROWS, *, why=EndReason.CALLER_ENDED, **how):
    """A call that is over."""
    told = {key: how.pop(key) for key in ("sound", "turns") if key in how}
    return Closed(
        record=record(**told),
        rows=rows,
        tenant="bank",
        line="twilio",
        began=BEGAN,
        reason=why,
        disposition="contained",
        caller="+1 (555) 010-0199",
        called="sip:bank@example.com",
        session="CA1",
        **how,
    )


def bodies(made):
    """What its analyses say, by type."""
    return {one["type"]: json.loads(one["body"]) for one in made["analysis"]}


def test_the_reader_gets_back_what_was_written(tmp_path):
    """Its recording lies beside it, under a name that an address needs to escape."""
    sound = wav(tmp_path / "c1 ä.wav")
    made = vcon(closed(sound=sound.name, sha512=content_hash(sound)), base="https://h.example/runs/")
    (tmp_path / "c1.vcon").write_text(json.dumps(made))
    call = open_vcon(tmp_path / "c1.vcon", Reading(vad=Energy))
    assert [round(turn.began_us / SECOND) for turn in call.caller_speech] == [5, 10]
    assert [round(turn.began_us / SECOND) for turn in call.agent_speech] == [7, 12]
    assert made["dialog"][0]["url"] == "https://h.example/runs/c1%20%C3%A4.wav"


def test_the_recording_has_its_channels_its_length_and_its_hash(tmp_path):
    sound = wav(tmp_path / "c1.wav")
    [dialog] = vcon(closed(sound=sound.name, sha512=content_hash(sound)))["dialog"]
    digest = hashlib.sha512(sound.read_bytes()).digest()
    assert dialog["content_hash"] == "sha512-" + base64.urlsafe_b64encode(digest).decode().rstrip("=")
    assert (dialog["type"], dialog["start"], dialog["duration"]) == (
        "recording",
        "2026-11-30T14:00:00.000+00:00",
        16,
    )
    assert (dialog["parties"], dialog["mediatype"], dialog["url"]) == ([0, 1], "audio/x-wav", "c1.wav")
    assert dialog["session_id"] == "CA1"


def test_parties_have_roles_and_addresses():
    made = vcon(closed())
    assert made["vcon"] == "0.3.0"
    assert made["extensions"] == ["CC"]
    assert made["parties"][0] == {"tel": "+15550100199", "role": "customer"}
    assert made["parties"][1]["sip"] == "sip:bank@example.com"
    assert made["parties"][1]["role"] == "agent"


def test_without_a_recording_the_lines_are_its_dialogs():
    made = vcon(closed())
    lines = [(one["type"], one["parties"], one["body"]) for one in made["dialog"]]
    assert lines[:2] == [("text", 0, "what is my balance"), ("text", 1, "It is 12 dollars.")]
    assert made["dialog"][1]["start"] == "2026-11-30T14:00:06.500+00:00"
    assert made["analysis"][0]["dialog"] == [0, 1, 2, 3]


def test_a_vcon_without_a_recording_cannot_be_replayed(tmp_path):
    (tmp_path / "c1.vcon").write_text(json.dumps(vcon(closed())))
    with pytest.raises(UsageError, match="no vCon with a recording"):
        open_vcon(tmp_path / "c1.vcon", Reading(vad=Energy))


def test_the_transcript_says_who_when_and_what():
    lines = bodies(vcon(closed()))["transcript"]["lines"]
    assert lines[0] == {"party": 0, "start": 5.0, "text": "what is my balance"}
    assert [line["party"] for line in lines] == [0, 1, 0, 1]


def test_our_numbers_are_an_analysis_of_our_own():
    made = vcon(closed((row(1), row(2, first_sound_us=900_000)), consent=True, pauses=(Pause(1, 2, "card"),)))
    report = bodies(made)["report"]
    [analysis] = [one for one in made["analysis"] if one["type"] == "report"]
    assert (analysis["vendor"], analysis["schema"], analysis["encoding"]) == (
        "turnbudget",
        "turnbudget-call-1",
        "json",
    )
    assert report["in_time"] == {"count": 1, "of": 2}
    assert report["first_sound"]["p50_us"] == 500_000
    assert report["rows"][0]["entries"][0]["stage"] == "endpoint"
    assert report["recording"] == {
        "consent": True,
        "pauses": [{"began_us": 1, "ended_us": 2, "because": "card"}],
    }
    assert (report["reason"], report["disposition"]) == ("caller-ended", "contained")


def test_a_caller_who_was_sent_on_leaves_who_sent_whom_where_and_a_summary():
    given = handover("+15550100777", ROWS, {"account": "savings"})
    made = vcon(closed(transfer=given, why=EndReason.TRANSFERRED))
    transfer = made["dialog"][-1]
    assert (transfer["type"], transfer["transferee"], transfer["transferor"]) == ("transfer", 0, 1)
    assert made["parties"][transfer["transfer_target"]]["tel"] == "+15550100777"
    assert not {"parties", "originator", "mediatype", "filename", "body", "url"} & transfer.keys()
    summary = bodies(made)["summary"]
    assert summary["because"] == "handoff: a person was asked for"
    assert summary["lines"][-2:] == [
        {"who": "caller", "text": "a person please"},
        {"who": "agent", "text": "I will put you through."},
    ]


@pytest.mark.parametrize(
    ("why", "disposition"),
    [(EndReason.CALLER_ENDED, "hung-up"), (EndReason.FAILED, "failed"), (EndReason.LINE_LOST, "failed")],
)
def test_a_call_in_which_nothing_was_said_is_incomplete(why, disposition):
    made = vcon(closed((), why=why, turns=0))
    [dialog] = made["dialog"]
    assert (dialog["type"], dialog["disposition"]) == ("incomplete", disposition)
    assert not {"body", "url", "content_hash"} & dialog.keys()
    assert "transcript" not in bodies(made)


def test_a_call_keeps_its_uuid_and_its_token_is_nowhere():
    one, other = vcon(closed()), vcon(closed())
    assert one["uuid"] == other["uuid"]
    assert ended().call == "c1"
    assert "secret" not in json.dumps(one)


def test_in_virtual_time_there_is_no_calendar():
    made = vcon(Closed(record(), ROWS, "bank", "twilio", None, EndReason.CALLER_ENDED, ""))
    assert made["created_at"] == "1970-01-01T00:00:16.000+00:00"
