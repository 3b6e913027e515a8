from __future__ import annotations

import json
from itertools import pairwise

from sample_run import FORESEEN, PREPARED, SHELVED, STARTS, header, lane, sample_rows, took, turn, unasked

from turnbudget.runs.report import trace
from turnbudget.runs.summary import summarise


def events(*rows):
    return json.loads(trace(summarise(rows, header(rows)), rows))["traceEvents"]


def threads(found):
    return {event["args"]["name"]: event["tid"] for event in found if event["name"] == "thread_name"}


def spans(found, thread):
    tid = threads(found)[thread]
    return [event for event in found if event["ph"] == "X" and event["tid"] == tid]


def test_every_event_has_what_the_format_asks_for():
    for event in events(*sample_rows()):
        assert event["ph"] in {"X", "i", "M"}
        assert isinstance(event["pid"], int)
        assert isinstance(event["tid"], int)
        if event["ph"] == "X":
            assert isinstance(event["ts"], int)
            assert event["ts"] >= 0
            assert event["dur"] >= 0
        if event["ph"] == "i":
            assert event["s"] == "t"


def test_call_is_a_process_and_its_threads_are_named():
    found = events(turn(call="a", lanes=(lane("seat:faq", (10, 20), "chosen"),)), turn(call="b"))
    names = {event["pid"]: event["args"]["name"] for event in found if event["name"] == "process_name"}
    assert names == {1: "a", 2: "b"}
    assert {"caller", "agent", "turns", "stages", "lane seat:faq"} <= set(threads(found))


def test_entries_lie_one_after_another_on_the_clock_of_the_call():
    row = turn(SHELVED, speech_ended_call_us=26_190_000)
    found = spans(events(row), "stages")
    assert [event["name"] for event in found] == list(SHELVED)
    assert found[0]["ts"] == 26_190_000
    assert all(before["ts"] + before["dur"] == after["ts"] for before, after in pairwise(found))
    assert found[-1]["ts"] + found[-1]["dur"] == 26_190_000 + row.closed_us


def test_events_of_one_thread_never_overlap():
    lanes = (lane("seat:faq", (0, 300), "chosen"), lane("seat:faq", (100, 400), "outranked"))
    found = events(*sample_rows(), turn(call="overlap", lanes=lanes))
    tracks = {}
    for event in found:
        if event["ph"] == "X":
            tracks.setdefault((event["pid"], event["tid"]), []).append(
                (event["ts"], event["ts"] + event["dur"])
            )
    for track in tracks.values():
        assert all(before[1] <= after[0] for before, after in pairwise(track))
    assert "lane seat:faq (2)" in threads(found)


def test_work_begun_before_the_call_is_clipped_at_its_start():
    row = turn(speech_ended_call_us=100_000, lanes=(lane("headstart", (-310, 12), "used"),))
    (event,) = spans(events(row), "lane headstart")
    assert (event["ts"], event["dur"]) == (0, 112_000)
    assert event["args"]["began_us"] == -310_000


def test_head_start_has_a_lane_that_tells_its_guess():
    found = events(turn(lanes=PREPARED, guesses=(*FORESEEN, *STARTS)))
    assert [event["args"]["guess"]["said"] for event in spans(found, "lane head start")] == ["sav", "savings"]


def test_what_was_foreseen_lies_under_the_words_it_was_foreseen_in():
    row = turn(guesses=(*STARTS, *FORESEEN))
    (event,) = spans(events(row), "foreseen")
    assert event["name"] == "2 foreseen, said: And what is the destination account?"
    assert (event["ts"], event["dur"]) == (24_900_000, 1_290_000)
    assert [guess["odds"] for guess in event["args"]["guesses"]] == [0.62, 0.2]
    (event,) = spans(events(turn(guesses=FORESEEN[1:])), "foreseen")
    assert event["name"] == "1 foreseen, none said"


def test_decision_is_an_instant_that_tells_its_number():
    row = turn(speech_ended_call_us=1_000_000, decisions=(took(160, "shelf", "odds 0.93"),))
    (event,) = [event for event in events(row) if event["name"] == "took shelf"]
    assert (event["ph"], event["ts"], event["args"]["because"]) == ("i", 1_160_000, "odds 0.93")


def test_caller_is_not_said_to_have_asked_for_a_greeting():
    found = events(unasked("a", "greeting", 0, 0, "Hello"))
    assert "caller" not in threads(found)


def test_same_rows_give_the_same_bytes():
    rows = sample_rows()
    run = summarise(rows, header(rows))
    assert trace(run, rows) == trace(run, sample_rows())


def test_empty_run_is_a_trace_too():
    assert events() == []
