"""Side files say who speaks when, whoever wrote them, and a replay goes by what they say."""

from __future__ import annotations

import json

import pytest
import soundfile
from calls import QUICK, RATE, Line, replay, track

from turnbudget.recorded.beside import Spoken, manifest, read_notes, side_file
from turnbudget.recorded.sources import find, open_conversation
from turnbudget.recorded.tracks import Reading
from turnbudget.voice.errors import AudioError, UsageError

TALK = (Line("caller", "a large latte", 1_200), Line("caller", "no thanks", 4_000))
TURNS = [
    {"who": "caller", "begin_ms": 1_200, "end_ms": 1_920, "text": "a large latte"},
    {"who": "agent", "begin_ms": 2_500, "end_ms": 3_500, "text": "Anything else?"},
    {"who": "caller", "begin_ms": 4_000, "end_ms": 4_470, "text": "no thanks"},
]
SPOKEN = (
    Spoken("caller", 1_200_000, 1_920_000, "a large latte"),
    Spoken("agent", 2_500_000, 3_500_000, "Anything else?"),
    Spoken("caller", 4_000_000, 4_470_000, "no thanks"),
)
VTT = """\ufeffWEBVTT

NOTE nobody says this

1
00:01.200 --> 00:01.920 align:left
<v Caller>a large
<i>latte</i></v>

00:00:02.500 --> 00:00:03.500
<v.loud Agent Smith>Anything else?

00:04.000 --> 00:04.470
<v Customer>no thanks
"""
SRT = """1\r
00:00:01,200 --> 00:00:01,920\r
Caller: a large latte\r
\r
2\r
00:00:02,500 --> 00:00:03,500\r
Agent: Anything else?\r
\r
3\r
00:00:04,000 --> 00:00:04,470\r
Caller: no thanks\r
"""
RTTM = """;; a comment
SPEAKER call 1 1.200 0.720 <NA> <NA> caller <NA> <NA>
SPEAKER call 1 2.500 1.000 <NA> <NA> agent_1 <NA> <NA>
SPEAKER call 1 4.000 0.470 <NA> <NA> caller <NA> <NA>
"""
CTM = """;; a comment
call A 1.200 0.2 a 0.9
call A 1.45 0.2 large
call B 2.500 0.5 Anything
call B 3.0 0.5 else?
call A 1.70 0.22 latte
call A 4.000 0.22 no
call A 4.25 0.22 thanks
"""


@pytest.fixture
def recording(tmp_path):
    path = tmp_path / "call.wav"
    soundfile.write(path, track("caller", TALK), RATE)
    return path


def beside(recording, kind, text):
    path = recording.with_suffix(kind)
    path.write_text(text, "utf-8", newline="")
    return path


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (".json", json.dumps({"turns": TURNS})),
        (".json", "\ufeff" + json.dumps({"speech": TURNS})),
        (".vtt", VTT),
        (".srt", SRT),
    ],
)
def test_every_kind_says_the_same(recording, kind, text):
    notes = read_notes(beside(recording, kind, text))
    assert notes.spoken == SPOKEN
    assert notes.has_words


def test_rttm_knows_no_words(recording):
    notes = read_notes(beside(recording, ".rttm", RTTM))
    assert [(one.who, one.began_us, one.ended_us) for one in notes.spoken] == [
        (one.who, one.began_us, one.ended_us) for one in SPOKEN
    ]
    assert not notes.has_words


def test_ctm_has_words_and_turns_are_where_they_are_close(recording):
    notes = read_notes(beside(recording, ".ctm", CTM))
    assert [one.text for one in notes.spoken if one.who == "caller"] == ["a large latte", "no thanks"]
    assert [one.text for one in notes.spoken if one.who == "agent"] == ["Anything else?"]


def test_a_replay_goes_by_the_side_file(recording, tmp_path):
    beside(recording, ".json", json.dumps({"turns": TURNS, "intent": "order", "slots": {"size": "large"}}))
    run = replay(recording, tmp_path / "run", QUICK)
    turns = [row for row in run.rows if row.kind == "turn"]
    assert [row.reference for row in turns] == ["a large latte", "no thanks"]
    assert [row.heard for row in turns] == ["a large latte", "no thanks"]
    assert run.summary.calls[0].recorded == 2
    assert {row.false_cut for row in turns} == {False}


def test_one_turn_alone_need_not_be_a_list_and_its_wish_is_read(recording):
    told = {
        "speech": {"begin_ms": 1_200, "end_ms": 1_920},
        "intent": "orderDrink",
        "slots": {"size": "large"},
    }
    notes = read_notes(beside(recording, ".json", json.dumps(told)))
    assert (notes.wanted.task, notes.wanted.slots) == ("orderDrink", {"size": "large"})
    assert [one.who for one in notes.spoken] == ["caller"]


@pytest.mark.usefixtures("recording")
def test_lines_of_a_file_are_about_recordings_below_it(tmp_path):
    lines = [{"sid": "one", "audio": "call.wav", "speech": TURNS}, {"sid": "two"}, "no", {"audio": "x.wav"}]
    path = tmp_path / "calls.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)) + "\n\n")
    found = manifest(path)
    assert [getattr(one, "name", "fault") for one in found] == ["one", "fault", "fault", "fault"]
    assert str(found[1]).startswith(f"{path}:2: says of no recording")
    assert find(path)[0].name == "one"
    assert find(tmp_path)[0].name == "one"
    call = open_conversation(found[0], Reading())
    assert [len(turn) for turn in call.turns()] == [1, 1]
    run = replay(path, tmp_path / "run", QUICK)
    assert run.summary.turns == 2
    assert len(run.summary.faults) == 3


def test_text_alone_is_no_recording(tmp_path):
    (tmp_path / "dialogues.jsonl").write_text('{"sid": "1", "turns": [["caller", "hello"]]}\n')
    with pytest.raises(UsageError, match="there is nothing to replay"):
        find(tmp_path)


@pytest.mark.parametrize(
    ("kind", "text", "fault"),
    [
        (".json", "{", "no side file"),
        (".json", "[]", "no side file"),
        (".json", '{"turns": []}', "the caller has no turn"),
        (".json", '{"turns": [{"begin_ms": 5, "end_ms": 2}]}', "a turn from 5 to 2 ms"),
        (".json", '{"turns": [{"who": "dog", "begin_ms": 1, "end_ms": 2}]}', "who is caller or agent"),
        (".json", '{"turns": [{"begin_ms": "x", "end_ms": 2}]}', "no side file"),
        (".vtt", "WEBVTT\n\n00:01.000 --> 00:02.000\nhello\n", "names no speaker"),
        (".vtt", "WEBVTT\n\n00:01.000 --> 00:02.000\n<v Ann>hello\n", "neither caller nor agent"),
        (".srt", "", "nobody in it is the caller"),
        (".rttm", "SPEAKER call 1 x 1 <NA> <NA> caller", "no side file"),
        (".ctm", "call A 1.0\n", "no side file"),
    ],
)
def test_what_cannot_be_read_is_one_line(recording, kind, text, fault):
    path = beside(recording, kind, text)
    with pytest.raises(UsageError, match=fault) as raised:
        read_notes(path)
    assert str(path) in str(raised.value)
    assert "\n" not in str(raised.value)


def test_times_beyond_the_recording_are_a_fault(recording):
    beside(recording, ".json", json.dumps({"turns": [{"begin_ms": 1_000, "end_ms": 90_000}]}))
    with pytest.raises(
        AudioError, match=r"lasts 8\.0 s, and its side file has the caller speak until 90\.0 s"
    ):
        open_conversation(recording, Reading())


def test_a_recording_without_one_has_none(recording):
    assert side_file(recording) is None
