"""A message's lateness is told without a common clock, and drifting clocks are not taken for it."""

from __future__ import annotations

from turnbudget.council.remote.serve import Lateness
from turnbudget.voice.time.clock import SECOND

AHEAD = 12_345 * SECOND
"""By so much the receiver's clock is ahead of the sender's."""


def test_the_first_message_is_taken_for_punctual():
    assert Lateness().of("a", 0, AHEAD) == 0


def test_what_took_longer_than_the_quickest_is_late_by_the_difference():
    late = Lateness()
    assert late.of("a", 0, AHEAD + 900) == 0
    assert late.of("a", 1_000, AHEAD + 1_400) == 0
    held = late.of("a", 2_000, AHEAD + 2_400 + 20 * SECOND)
    assert held == 20 * SECOND - (20 * SECOND + 1_000) // 5_000


def test_each_sender_has_its_own_clock():
    late = Lateness()
    late.of("a", 0, AHEAD)
    assert late.of("b", 0, AHEAD + SECOND) == 0


def test_a_clock_that_drifts_by_a_tenth_of_a_millisecond_a_second_is_never_late():
    late = Lateness()
    assert not any(late.of("a", at * SECOND, AHEAD + at * SECOND + at * 100) for at in range(10_000))


def test_of_senders_the_last_thousand_are_remembered():
    late = Lateness()
    for sender in range(1_001):
        late.of(str(sender), 0, 0)
    assert late.of("1000", 0, 50) == 50
    assert late.of("0", 0, 50) == 0
