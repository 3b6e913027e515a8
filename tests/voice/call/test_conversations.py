"""Whatever a caller does and whenever: no dead air, no double talk, nothing twice, a history that is true."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from turnbudget.testing.conversation import ACTS, Act, Setting, by_chance, check, converse
from turnbudget.voice.time import clock

acts = st.builds(Act, st.sampled_from(ACTS), st.integers(0, 2_500), st.integers(0, 63))
endings = st.one_of(st.none(), st.builds(Act, st.just("hang up"), st.integers(0, 4_000), st.integers(0, 1)))
places = st.builds(
    Setting,
    seed=st.integers(0, 99),
    lag_ms=st.integers(50, 600),
    final_ms=st.integers(20, 600),
    thinks_ms=st.integers(0, 1_500),
    opening=st.sampled_from(("", "greeting", "notice", "both")),
)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(acts, min_size=1, max_size=6), endings, places)
def test_whatever_a_caller_does_the_promises_hold(did, ending, setting):
    """TURN-01, TURN-03, TURN-04, TURN-06, VAD-14, by chance; bench/talk.py plays thousands more."""
    did = [*did, ending] if ending else did
    check(*clock.run(converse(did, setting), "virtual"))


def test_the_first_conversations_of_the_bench_hold():
    for seed in range(60):
        check(*clock.run(converse(*by_chance(seed)), "virtual"))
