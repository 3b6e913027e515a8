"""Rounding never flatters, and no rate stands without its n."""

from __future__ import annotations

from sample_run import FORESEEN, SHELF, header, sample_rows, turn

from turnbudget.runs.readings import bad, good, headline, ms, percent
from turnbudget.runs.records import Share
from turnbudget.runs.summary import summarise


def share(count, of):
    return Share(count=count, of=of, share=count / of if of else None)


def lines(*rows, **named):
    return list(headline(summarise(rows, header(rows, **named))))


def test_a_time_is_rounded_up():
    assert ms(800_001) == "801 ms"
    assert ms(1_200) == "1.2 ms"
    assert ms(60) == "0.1 ms"


def test_what_is_wanted_is_rounded_down():
    assert percent(share(1_999, 2_000)) == "99.9 %"
    assert good(share(1_999, 2_000)) == "99.9 % (1999 of 2000)"
    assert good(share(2, 2)) == "100.0 % (2 of 2)"


def test_what_is_not_wanted_is_rounded_up():
    assert bad(share(1, 2_000)) == "0.1 % (1 of 2000)"
    assert bad(share(0, 2_000)) == "0.0 % (0 of 2000)"


def test_of_nothing_there_is_no_share():
    assert good(share(0, 0)) == bad(share(0, 0)) == "– (0 of 0)"


def test_wrong_hits_and_hits_stand_in_one_line_the_wrong_ones_first():
    (line,) = [line for line in lines(turn(lanes=SHELF), turn()) if "hits" in line]
    assert line == "  wrong hits  0.0 % (0 of 1), hits  50.0 % (1 of 2)"


def test_headline_has_both_marks_of_the_first_answer_and_false_cuts_each_with_n():
    found = lines(turn(), turn({"endpoint": 500_000}), turn({"endpoint": 900_000}, false_cut=True))
    assert "  first answer within 200 ms  33.3 % (1 of 3)" in found
    assert "  first answer within 800 ms  66.6 % (2 of 3)" in found
    assert "  false cuts  33.4 % (1 of 3)" in found


def test_a_run_without_speculation_says_so():
    rows = sample_rows()
    assert "  speculation  off" in lines(*rows, speculation=False)
    assert any("head starts kept" in line for line in lines(*rows))


def test_cpu_of_renders_not_used_is_told_and_no_zero_that_nobody_measured():
    known = lines(turn(guesses=FORESEEN))
    assert any(line.startswith("  CPU of renders not used  33 ms (") for line in known)
    assert any(line.startswith("  CPU of renders not used  – (") for line in lines(turn()))
