"""A reply bank: what is written is read again, and one that contradicts itself is refused in one line."""

from __future__ import annotations

import os

import pytest
from laws import each
from spoken import calls

from turnbudget.speculative.bank.bank import (
    Bank,
    Caller,
    Ending,
    Reply,
    State,
    check,
    read,
    text,
    try_place,
    write,
)
from turnbudget.speculative.bank.mine import mine
from turnbudget.voice.errors import ConfigError

STATE = State(name="colour", says=("what is the colour",), asks="colour", kind="text")
CALLER = Caller(state="colour", name="{text}", count=4, examples=("{text}", "it's {text}"))
REPLY = Reply(
    state="colour", caller="{text}", says="What is the size?", act="ask size", count=3, of=4, odds=0.6
)


def bank(**changes):
    return Bank(**{"state": (STATE,), "caller": (CALLER,), "reply": (REPLY,), **changes})


def reply(**changes):
    return Reply(**{field: getattr(REPLY, field) for field in REPLY.__struct_fields__} | changes)


def test_a_mined_bank_is_read_as_it_was_written(tmp_path):
    mined = mine(calls(12))
    write(mined, tmp_path / "bank.toml")
    assert read(tmp_path / "bank.toml") == mined


def test_text_that_would_break_a_file_comes_through(tmp_path):
    odd = 'say "\\n"\t[x] = {amount}\x7f ünï \U0001f600'
    write(
        bank(caller=(Caller(state="colour", name=CALLER.name, count=1, examples=(odd,)),)),
        tmp_path / "b.toml",
    )
    assert read(tmp_path / "b.toml").caller[0].examples == (odd,)


def test_a_bank_that_is_refused_leaves_the_old_one(tmp_path):
    write(bank(), tmp_path / "b.toml")
    with pytest.raises(ConfigError):
        write(bank(reply=(REPLY, REPLY)), tmp_path / "b.toml")
    assert read(tmp_path / "b.toml") == bank()
    assert [file.name for file in tmp_path.iterdir()] == ["b.toml"]


@each(
    ("changes", "says"),
    [
        ({"reply": (REPLY, reply(says="Which size?"))}, "sum to 1.20, more than 1"),
        ({"reply": (reply(count=5),)}, "was said 5 times of 4"),
        ({"reply": (reply(caller="nobody"),)}, "answers 'nobody' in state 'colour', which there is not"),
        ({"state": (STATE, STATE)}, "state 'colour' is there twice"),
        ({"caller": (CALLER, CALLER)}, "caller '{text}' is there twice"),
        ({"state": ()}, "is in state 'colour', which there is not"),
        ({"ending": (Ending(state="size", span="1", counts={"x": (1, 1)}),)}, "an ending is in state 'size'"),
        ({"ending": (Ending(span="1", counts={"x": (2, 1)}),)}, "was over 2 times of 1"),
    ],
)
def test_a_bank_that_contradicts_itself_names_the_entry(changes, says):
    with pytest.raises(ConfigError, match=r"mend the entry, or drop it") as refused:
        check(bank(**changes))
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


def test_one_sentence_in_one_state_has_no_two_sole_replies():
    other = Caller(state="colour", name="it's", count=2, examples=("it's {text}",))
    twin = reply(caller="it's", says="Good bye.", count=2, of=2, odds=0.67)
    with pytest.raises(ConfigError, match=r"the sentence \"it's \{text\}\" has two replies"):
        check(bank(caller=(CALLER, other), reply=(REPLY, twin)))
    check(bank(caller=(CALLER, other), reply=(REPLY, reply(caller="it's"))))
    unsure = [reply(count=2, odds=0.5), reply(caller="it's", says="Good bye.", count=1, of=2, odds=0.5)]
    check(bank(caller=(CALLER, other), reply=tuple(unsure)))


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ("schema = 2", "Invalid enum value 2"),
        ("colour = 1", "unknown field `colour`"),
        ("[[reply]]\nodds = 1.5", "$.reply[0]"),
        ("[[state]]\nname = ''\nsays = ['x']", "$.state[0].name"),
        ("[calibration]\nslope = 500.0", "$.calibration.slope"),
        ("[calibration]\nslope = nan", "$.calibration.slope"),
        ("[calibration]\nslope = -1.0", "$.calibration.slope"),
        ("[calibration]\noffset = inf", "$.calibration.offset"),
        ("[calibration]\noffset = nan", "$.calibration.offset"),
        ("[[", "is no reply bank"),
    ],
)
def test_a_file_that_is_no_bank_says_where(tmp_path, lines, says):
    (tmp_path / "b.toml").write_text(lines)
    with pytest.raises(ConfigError) as refused:
        read(tmp_path / "b.toml")
    assert says in str(refused.value)


def test_a_bank_that_is_not_there_is_one_line(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read"):
        read(tmp_path / "b.toml")


@pytest.mark.parametrize("place", ["absent/b.toml", "file/b.toml", ".", "pipe"])
def test_a_bank_that_cannot_be_written_is_one_line(tmp_path, place):
    """Nor is anything replaced that is no file, such as /dev/stdout."""
    (tmp_path / "file").write_text("mine")
    os.mkfifo(tmp_path / "pipe")
    for attempt in (lambda path: write(bank(), path), try_place):
        with pytest.raises(ConfigError, match="cannot be written") as refused:
            attempt(tmp_path / place)
        assert "\n" not in str(refused.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "pipe"]


def test_to_try_a_place_changes_nothing(tmp_path):
    write(bank(), tmp_path / "b.toml")
    for name in ("b.toml", "c.toml"):
        try_place(tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["b.toml"]
    assert read(tmp_path / "b.toml") == bank()


def test_what_a_person_deletes_or_adds_is_all_there_is(tmp_path):
    """CA-09: a wrong entry is dropped by taking it out of the file."""
    lines = text(bank())
    head, entry = lines.split("[[reply]]")
    (tmp_path / "b.toml").write_text(head)
    assert "What is the size?" in entry
    assert read(tmp_path / "b.toml").reply == ()


@each("odds", ["0.0", "-0.1", "1.01", "2.0"])
def test_odds_are_more_than_none_and_at_most_certain(tmp_path, odds):
    (tmp_path / "b.toml").write_text(text(bank()).replace("odds = 0.6", f"odds = {odds}"))
    with pytest.raises(ConfigError, match=r"\$\.reply\[0\]\.odds"):
        read(tmp_path / "b.toml")
