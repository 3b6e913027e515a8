from __future__ import annotations

import jsonschema
import msgspec
from sample_run import (
    ANSWERED,
    FORESEEN,
    PREPARED,
    SHELF,
    SHELVED,
    SLOW,
    STARTS,
    header,
    lane,
    sample_rows,
    turn,
    unasked,
)

from turnbudget.runs.readings import headline
from turnbudget.runs.records import Checks, GuessTotals, Row, Share
from turnbudget.runs.summary import spread, summarise


def summary(*rows, **named):
    return summarise(rows, header(rows, **named))


def test_headline_counts_every_caller_turn_answered_or_not():
    """MET-03: what was cut off before it answered is counted, and lends its time to no percentile."""
    answered = [turn(ANSWERED, outcome="answered", turn=n) for n in range(6)]
    cut_off = [
        turn({"endpoint": 100_000}, answered=False, outcome="superseded", turn=n) for n in range(6, 10)
    ]
    run = summary(*answered, *cut_off)
    assert run.in_time == Share(count=6, of=10, share=0.6)
    assert run.first_answer.n == 6
    assert run.first_answer.p50_us == sum(ANSWERED.values())
    assert run.outcomes["superseded"] == 4


def test_sound_exactly_at_the_budget_is_in_time_and_a_microsecond_later_is_not():
    at = turn({"endpoint": 800_000}, outcome="answered")
    after = turn({"endpoint": 800_001}, outcome="answered")
    assert summary(at, after).in_time.count == 1


def test_answer_exactly_at_200_ms_is_as_fast_as_people_and_a_microsecond_later_is_not():
    at, after = turn({"endpoint": 200_000}), turn({"endpoint": 200_001})
    assert summary(at, after).under_200 == Share(count=1, of=2, share=0.5)


def test_bridge_keeps_the_promise_but_is_no_answer():
    run = summary(turn(SLOW, outcome="bridged", sounded=180_000))
    assert run.in_time.count == 1
    assert run.under_200.count == 0
    assert run.first_sound.p50_us == 180_000
    assert run.first_answer.p50_us == sum(SLOW.values())


def test_turn_taken_back_inside_the_budget_is_shown_beside_the_headline_not_left_out_of_it():
    early = turn({"endpoint": 800_000}, answered=False, outcome="superseded")
    late = turn({"endpoint": 800_001}, answered=False, outcome="superseded")
    bridged = turn({"endpoint": 700_000}, answered=False, sounded=640_000, outcome="superseded")
    run = summary(early, late, bridged)
    assert run.superseded_early.count == 1
    assert run.in_time == Share(count=1, of=3, share=1 / 3)


def test_what_we_say_unasked_is_in_no_number():
    """MET-12: neither the greeting nor the warm-up under it is a turn."""
    greeting = unasked("a", "greeting", 0, 0, "Hello")
    reprompt = unasked("a", "reprompt", 2, 0, "Are you there?")
    run = summary(greeting, turn(call="a"), reprompt)
    assert run.turns == 1
    assert run.first_sound.n == 1
    assert sum(stage.total_us for stage in run.stages) == sum(SHELVED.values())


def test_stage_totals_sum_to_all_turns_and_come_in_the_order_of_a_turn():
    rows = sample_rows()
    run = summarise(rows, header(rows))
    assert sum(stage.total_us for stage in run.stages) == sum(
        row.closed_us for row in rows if row.kind == "turn"
    )
    assert abs(sum(stage.share for stage in run.stages) - 1) < 1e-9
    assert [stage.stage for stage in run.stages][:3] == ["endpoint", "transcribe", "match"]


def test_stage_entered_twice_in_a_turn_is_one_value_of_that_turn():
    """MET-07: one value per turn and stage."""
    row = turn({"council": 100_000})
    twice = msgspec.structs.replace(row, entries=row.entries * 2, closed_us=200_000)
    (stage,) = summary(twice).stages
    assert (stage.n, stage.p50_us, stage.total_us) == (1, 200_000, 200_000)


def test_percentiles_are_values_that_occurred():
    ranks = spread(range(1, 101))
    assert (ranks.p50_us, ranks.p90_us, ranks.p95_us, ranks.p99_us) == (50, 90, 95, 99)
    assert spread([7, None, 3]).p50_us == 3


def test_saved_and_wasted_come_from_the_lanes():
    lanes = (
        lane("headstart", (-300, 0), "used", saved_ms=172),
        lane("seat:faq", (0, 80), "outranked", wasted_ms=80),
    )
    run = summary(turn(lanes=lanes))
    assert (run.saved_us, run.wasted_us) == (172_000, 80_000)


def test_a_hit_is_counted_by_where_its_answer_came_from_and_not_by_how_the_turn_ended():
    cut = turn(lanes=SHELF, outcome="cut")
    unsounded = turn({"endpoint": 100_000}, answered=False, outcome="superseded", lanes=SHELF)
    run = summary(cut, unsounded, turn(ANSWERED, outcome="answered"))
    assert run.hits == Share(count=1, of=3, share=1 / 3)
    assert run.wrong_hits == Share(count=0, of=1, share=0.0)


def test_wrong_hits_are_a_share_of_the_hits():
    """CA-01: how often the shelf was right is not told without how often it was wrong."""
    run = summary(turn(lanes=SHELF), turn(lanes=SHELF, false_cut=True), turn(false_cut=True))
    assert run.wrong_hits == Share(count=1, of=2, share=0.5)
    assert run.false_cuts == Share(count=2, of=3, share=2 / 3)


def test_an_answer_in_time_is_no_bridge_in_time():
    run = summary(turn(SLOW, outcome="bridged", sounded=180_000), turn())
    assert run.in_time.count == 2
    assert run.answered_in_time == Share(count=1, of=2, share=0.5)


def test_guesses_are_totalled_with_what_became_of_them():
    asr = lane("asr:moonshine", (-40, 10), "used", saved_ms=50)  # saved, but by no guess
    run = summary(
        turn(lanes=(asr, *PREPARED), guesses=(*STARTS, *FORESEEN)), turn(guesses=FORESEEN[1:]), turn()
    )
    assert run.guesses == GuessTotals(
        head_starts=Share(count=1, of=2, share=0.5),
        foreseen=Share(count=1, of=2, share=0.5),
        saved_us=15_000,
        unused_us=98_000,
        unused_cpu_us=66_000,
    )


def test_the_worst_account_of_a_run_is_told_also_of_what_we_said_unasked():
    run = summary(
        turn(),
        turn({"endpoint": 160_000, "unaccounted": 900}, witness_us=160_000),
        turn(kind="greeting", first_sound_us=13_000, witness_us=10_500),
        turn(witness_us=None),
        turn(answered=False),
    )
    assert run.checks == Checks(
        witnessed=Share(count=3, of=4, share=0.75), apart_us=2_500, unaccounted_us=900
    )
    told = next(line for line in headline(run) if "ledger and tape" in line)
    assert told.endswith("2.5 ms apart at most (n 3 of 4), unaccounted 0.9 ms at most")


def test_empty_run_has_no_shares_rather_than_false_ones():
    run = summary()
    assert run.in_time == Share(count=0, of=0, share=None)
    assert (run.first_sound.n, run.first_sound.p50_us) == (0, None)
    assert run.stages == ()
    assert run.outcomes["silent"] == 0
    assert b"NaN" not in msgspec.json.encode(run)


def test_turn_without_any_time_divides_by_nothing():
    (stage,) = summary(turn({"endpoint": 0})).stages
    assert stage.share == 0.0


def test_every_row_and_summary_is_what_its_schema_says():
    rows = sample_rows()
    row_schema = jsonschema.Draft202012Validator(msgspec.json.schema(Row))
    for row in rows:
        row_schema.validate(msgspec.json.decode(msgspec.json.encode(row)))
    run = summarise(rows, header(rows))
    jsonschema.validate(msgspec.json.decode(msgspec.json.encode(run)), msgspec.json.schema(type(run)))
