"""Keys pressed on a telephone come as one input."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnbudget.voice.hearing.events import KEYS
from turnbudget.voice.hearing.keypad import DIGITS, Gathering, Keypad
from turnbudget.voice.time.clock import MS, SECOND

STEP = 120 * MS


def pressed(keys, pad=None):
    """Every input that *keys*, 120 ms apart, make whole."""
    pad = pad or Keypad(Gathering())
    return [whole for number, key in enumerate(keys) if (whole := pad.press(key, number * STEP))]


def test_the_terminator_makes_one_input_of_the_keys_before_it():
    """TEL-12: 1, 2, 3, 4 at 120 ms steps, then #."""
    [whole] = pressed("1234#")
    assert (whole.text, whole.rule) == ("1 2 3 4", "keypad.terminator")
    assert (whole.began_us, whole.ended_us, whole.decided_us) == (0, 3 * STEP, 4 * STEP)


def test_keys_are_written_nowhere():
    """TEL-12: they may be a card's number or a code."""
    [whole] = pressed("1234#")
    assert whole.masked == KEYS
    assert whole.keys == ("1 2 3 4",)


def test_a_pause_makes_the_input_whole():
    pad = Keypad(Gathering(gap_us=2 * SECOND))
    assert pressed("42", pad) == []
    assert pad.waited(STEP + 2 * SECOND - 1) is None
    whole = pad.waited(STEP + 2 * SECOND)
    assert (whole.text, whole.ended_us, whole.rule) == ("4 2", STEP, "keypad.gap_ms")
    assert pad.waited(9 * SECOND) is None, "and it is given once"


def test_so_many_keys_are_an_input():
    assert [whole.text for whole in pressed("123456", Keypad(Gathering(most=3)))] == ["1 2 3", "4 5 6"]


def test_a_terminator_alone_and_what_is_no_key_are_nothing():
    pad = Keypad(Gathering())
    assert pressed("##x ", pad) == []
    assert pad.waited(9 * SECOND) is None


@pytest.mark.parametrize("terminator", ["#", "*"])
@given(keys=st.text(sorted(DIGITS), max_size=60))
def test_no_key_is_lost_and_none_comes_twice(terminator, keys):
    """TEL-12: fast and mixed digits, in their order."""
    pad = Keypad(Gathering(terminator=terminator))
    found = [whole.text for whole in pressed(keys, pad)]
    rest = pad.waited(60 * STEP + 9 * SECOND)
    found += [rest.text] if rest else []
    assert "".join(found).replace(" ", "") == keys.replace(terminator, "")
