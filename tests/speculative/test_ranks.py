"""How often each rank came: counted, never judged."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from turnbudget.speculative.prepare import PRIOR, Ranks


def test_before_anything_was_counted_earlier_ranks_are_likelier():
    ranks = Ranks()
    assert [ranks.odds(rank) for rank in range(5)] == [1 / 2, 1 / 4, 1 / 6, 1 / 6, 1 / 6]


def test_what_came_is_counted_for_its_rank_and_against_the_others():
    ranks = Ranks()
    ranks.count(("one", "two"), "two")
    assert [ranks.odds(rank) for rank in range(3)] == [2 / 5, 2 / 5, 1 / 6]


def test_what_nobody_foresaw_counts_against_all():
    ranks = Ranks()
    ranks.count(("one", "two"), "three")
    ranks.count((), "three")
    assert [ranks.odds(rank) for rank in range(3)] == [2 / 5, 1 / 5, 1 / 6]


def test_one_process_counts_apart_from_another():
    Ranks().count(("one",), "one")
    assert Ranks().odds(0) == PRIOR[0][0] / PRIOR[0][1]


@given(
    st.lists(st.tuples(st.lists(st.sampled_from("abc"), max_size=5, unique=True), st.sampled_from("abcd")))
)
def test_odds_stay_odds(turns):
    ranks = Ranks()
    for foreseen, came in turns:
        ranks.count(foreseen, came)
    assert all(0 < ranks.odds(rank) < 1 for rank in range(6))
