"""How long a silence is worth waiting for: never less than what is known, and ready, allows."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import each

from turnbudget.speculative.spend import Words, silence
from turnbudget.voice.hearing.endpoint import Endpointing
from turnbudget.voice.time.clock import MS

USUAL = Endpointing()
ENDS, FEW, HARDLY_ANY = 0.95, 0.66, 0.24
"""Shares of callers who had ended."""
TEXTS = (
    "",
    "yes",
    "no",
    "what is my balance",
    "can you change the",
    "my number is five five",
    "B R A",
    "um",
    "send it",
)
ODDS = st.none() | st.floats(0, 1)

words = st.builds(
    Words,
    st.sampled_from(TEXTS),
    completeness=st.sampled_from(["unknown", "lead-in", "part", "whole"]),
    understood=st.booleans(),
    acts=st.booleans(),
    ready=st.booleans(),
    ended=ODDS,
    parting=st.booleans(),
)
pauses = st.lists(st.integers(0, 5_000 * MS), max_size=4)
TIMES = st.lists(st.integers(20 * MS, 3_000 * MS), min_size=4, max_size=4)
LEAST, SETTLED, SILENT, MOST = "least_us", "settled_us", "silence_us", "most_us"
bounds = TIMES.map(
    lambda times: Endpointing(**dict(zip((LEAST, SETTLED, SILENT, MOST), sorted(times), strict=True)))
)
odd_bounds = TIMES.map(
    lambda times: Endpointing(
        least_us=min(times[:2]), most_us=max(times[:2]), settled_us=times[2], silence_us=times[3]
    )
)
"""What somebody may write who has not thought about it."""


@given(words, pauses, odd_bounds)
def test_a_silence_lies_within_its_bounds_and_says_why(known, before, within):
    chosen = silence(known, before, within)
    longest = max(within.most_us, within.part_us) if chosen.rule == "endpoint.part_ms" else within.most_us
    assert within.least_us <= chosen.us <= longest
    assert chosen.rule in {f"endpoint.{name}_ms" for name in ("settled", "silence", "most", "part")}
    assert chosen.because


@given(words, pauses)
def test_it_is_short_only_for_what_is_whole_and_ready_and_rests_on_no_effect(known, before):
    if silence(known, before, USUAL).us < USUAL.silence_us:
        learned = known.ended is not None and known.ended >= ENDS
        assert known.ready
        assert not known.acts
        assert known.completeness == "whole" or learned


@given(words, pauses)
def test_words_that_mostly_go_on_are_waited_for_as_long_as_can_be(known, before):
    if known.goes_on and not known.parting:
        part = known.completeness == "part"
        assert silence(known, before, USUAL).us == (USUAL.part_us if part else USUAL.most_us)


@given(words, pauses, bounds)
@pytest.mark.parametrize(
    ("less", "more"),
    [
        ({"ready": True}, {"ready": False}),
        ({"completeness": "whole"}, {"completeness": "unknown"}),
        ({"completeness": "unknown"}, {"completeness": "lead-in"}),
        ({"completeness": "unknown"}, {"completeness": "part"}),
        ({"completeness": "whole"}, {"completeness": "part"}),
        ({"acts": False}, {"acts": True}),
        ({"understood": True}, {"understood": False}),
        ({"parting": True}, {"parting": False}),
    ],
)
def test_knowing_more_never_makes_it_longer(less, more, known, before, within):
    shorter, longer = (silence(replace(known, **one), before, within).us for one in (less, more))
    assert shorter <= longer


@given(words, pauses, bounds, st.floats(0, 1), st.floats(0, 1))
def test_the_more_callers_had_ended_the_shorter_it_is(known, before, within, one, other):
    few, many = sorted((one, other))
    longer, shorter = (silence(replace(known, ended=ended), before, within).us for ended in (few, many))
    assert shorter <= longer


@given(words, pauses, st.integers(0, 5_000 * MS))
def test_a_caller_who_pauses_longer_is_given_no_less(known, before, one):
    assert silence(known, [*before, one], USUAL).us >= silence(known, before, USUAL).us


@given(words, pauses)
def test_what_is_waited_for_without_a_reason_keeps_the_promise(known, before):
    chosen = silence(known, before, USUAL)
    assert chosen.rule in {"endpoint.most_ms", "endpoint.part_ms"} or chosen.us <= Endpointing().patient_us


@each(
    ("known", "us"),
    [
        (Words("what is my balance", completeness="whole", ready=True), USUAL.settled_us),
        (Words("what is my balance", completeness="whole"), USUAL.silence_us),
        (Words("what is my balance", completeness="whole", ready=True, acts=True), USUAL.silence_us),
        (Words("what is my balance", ready=True), USUAL.silence_us),
        (Words("what is my balance", ready=True, ended=ENDS), USUAL.settled_us),
        (Words("what is my balance", ready=True, ended=ENDS, acts=True), USUAL.silence_us),
        (Words("what is my balance", ended=ENDS), USUAL.silence_us),
        (Words("what is my balance", ready=True, ended=FEW), USUAL.most_us),
        (Words("what is my balance", completeness="whole", ready=True, ended=FEW), USUAL.settled_us),
        (Words("what is my balance", completeness="whole", ready=True, ended=HARDLY_ANY), USUAL.most_us),
        (Words("no", completeness="whole", ready=True, ended=HARDLY_ANY), USUAL.settled_us),
        (Words("four four two", ready=True, completeness="part"), USUAL.part_us),
        (Words("hi my name is ann", ready=True, completeness="lead-in"), USUAL.most_us),
        (Words("can you change the", ready=True), USUAL.most_us),
        (Words("can you change the", ready=True, ended=ENDS), USUAL.most_us),
        (Words("my number is five five five", ready=True), USUAL.most_us),
        (Words("my number is five five five", ready=True, completeness="whole"), USUAL.settled_us),
        (Words("blue elephants", understood=False), Endpointing().patient_us),
        (Words("can you change the", parting=True), USUAL.silence_us),
        (Words("bye", parting=True, ready=True, completeness="whole"), USUAL.settled_us),
    ],
)
def test_the_table(known, us):
    """VAD-01, VAD-02: digits and open clauses are waited for, unless who answers has what it asked for."""
    assert silence(known, (), USUAL).us == us


@each(
    ("ended", "completeness", "us"),
    [
        (
            0.66,
            "unknown",
            USUAL.most_us,
        ),  # two in three had ended: cutting one off costs as much as two who wait
        (0.67, "unknown", USUAL.silence_us),
        (0.24, "whole", USUAL.most_us),
        (0.25, "whole", USUAL.settled_us),
        (0.94, "unknown", USUAL.silence_us),
        (0.95, "unknown", USUAL.settled_us),
    ],
)
def test_from_how_many_on_others_decide(ended, completeness, us):
    known = Words("what is my balance", completeness=completeness, ready=True, ended=ended)
    assert silence(known, (), USUAL).us == us


@pytest.mark.parametrize(("sounds_ended", "us"), [(0.04, 550 * MS), (0.05, 150 * MS)])
def test_who_sounds_unfinished_is_given_the_usual_silence(sounds_ended, us):
    known = Words("what is my balance", completeness="whole", ready=True, sounds_ended=sounds_ended)
    assert silence(known, (), USUAL).us == us


@pytest.mark.parametrize(
    ("known", "because"),
    [
        (Words("what is my balance", ready=True), "it may go on"),
        (Words("what is my balance", completeness="whole"), "the reply is not ready"),
        (
            Words("what is my balance", completeness="whole", ready=True, sounds_ended=0.04),
            "it sounds unfinished (4%)",
        ),
        (Words("what is my balance", completeness="whole", ready=True, acts=True), "the reply has an effect"),
        (Words("blue elephants", understood=False), "nobody understands it yet"),
    ],
)
def test_the_usual_silence_says_what_it_is_for(known, because):
    assert silence(known, (), USUAL).because == because


@pytest.mark.parametrize("ended", [None, ENDS])
def test_a_word_that_ends_in_a_stop_is_given_time_for_its_release(ended):
    """The "t" of "it" may come 200 ms after the voice."""
    completeness = "whole" if ended is None else "unknown"
    known = Words("send it", completeness=completeness, ready=True, ended=ended)
    assert silence(known, (), USUAL).us == 210 * MS
    assert silence(known, (), replace(USUAL, silence_us=180 * MS)).us == 180 * MS


@pytest.mark.parametrize(
    ("pause_us", "us"),
    [
        (300 * MS, USUAL.silence_us),
        (500 * MS, 600 * MS),
        (520 * MS, 624 * MS),
        (3_000 * MS, Endpointing().patient_us),
    ],
)
def test_a_caller_who_lately_paused_longer_is_given_a_fifth_more(pause_us, us):
    assert silence(Words("what is my balance"), (pause_us, 100 * MS), USUAL).us == us
