"""The heartbeat: what kept the loop from its selector, how long, and who is to blame."""

from __future__ import annotations

from turnbudget.voice.time.pulse import Pulse, Stall


def test_ten_milliseconds_are_a_stall_and_less_is_none():
    pulse = Pulse(int)
    pulse.wake(0)
    pulse.rest(9_999)
    assert not pulse.stalls
    pulse.wake(20_000)
    pulse.rest(30_000)
    assert list(pulse.stalls) == [Stall(20_000, 30_000, "blocking call")]


def test_a_timer_that_fires_late_says_the_machine_was_busy():
    pulse = Pulse(int)
    pulse.rest(0)
    pulse.wake(19_999, due=10_000)
    assert not pulse.stalls
    pulse.rest(20_000)
    pulse.wake(45_000, due=30_000)
    assert list(pulse.stalls) == [Stall(30_000, 45_000, "machine busy")]


def test_who_was_seen_holding_the_loop_is_named():
    pulse = Pulse(int)
    pulse.wake(1_000)
    pulse.accuse("crm.py:33 look_up", 1_000)
    pulse.rest(301_000)
    assert list(pulse.stalls) == [Stall(1_000, 301_000, "crm.py:33 look_up")]


def test_an_accusation_that_comes_too_late_falls_on_nobody_else():
    pulse = Pulse(int)
    pulse.wake(1_000)
    pulse.rest(301_000)
    pulse.accuse("crm.py:33 look_up", 1_000)
    pulse.wake(400_000)
    pulse.rest(500_000)
    assert [stall.cause for stall in pulse.stalls] == ["blocking call", "blocking call"]


def test_a_late_timer_can_be_explained_too():
    pulse = Pulse(int)
    pulse.rest(0)
    pulse.accuse("garbage collection", None)
    pulse.wake(45_000, due=20_000)
    assert [stall.cause for stall in pulse.stalls] == ["garbage collection"]
