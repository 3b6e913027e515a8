"""A law's test names everybody who breaks it, and is one test."""

from __future__ import annotations

import pytest
from laws import each

from turnbudget.voice.time import clock


@each(("one", "other"), [(1, 1), (2, 2)])
def holds(one, other):
    assert one == other


@each("number", [1, 2, 3, pytest.param(4, id="four")])
def is_odd(number):
    assert number % 2, f"{number} is even"


@each("number", [5, 0, 5])
async def divides(number):
    assert clock.now() == 0
    await clock.sleep(1)
    assert 10 / number


@each("one", [1, 2])
@each("other", [1, 2])
def differ(one, other):
    assert one != other, f"{one} and {other}"


@each("letter", "ab", ids=["first", "second"])
def is_nothing(letter, capsys):
    assert capsys is letter


def test_a_law_that_holds_says_nothing():
    assert holds() is None


def test_whoever_breaks_it_is_named_with_the_reason():
    with pytest.raises(AssertionError) as caught:
        is_odd()
    assert str(caught.value).startswith("2 offenders in 4 cases:\n- 2: 2 is even")
    assert "- four: 4 is even" in str(caught.value)
    assert str(caught.value.__cause__).startswith("2 is even")


def test_an_error_is_a_fault_of_its_case_alone_and_each_has_its_own_time():
    with pytest.raises(AssertionError, match="1 offenders in 3 cases:\n- 0: ZeroDivisionError: division by"):
        divides()


def test_laws_may_stand_on_each_other():
    with pytest.raises(AssertionError) as caught:
        differ()
    assert str(caught.value).splitlines()[1:] == ["- 1, 1: 1 and 1", "- 2, 2: 2 and 2"]


def test_fixtures_are_left_to_pytest_and_cases_may_have_names():
    with pytest.raises(AssertionError, match=r"- first: .*\n- second: "):
        is_nothing(capsys=None)


@each("number", range(3))
def test_pytest_sees_one_test(number, request):
    assert request.node.name == "test_pytest_sees_one_test", number
