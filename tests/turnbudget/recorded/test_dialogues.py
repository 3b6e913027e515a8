"""Written dialogues: how they are read, held, and counted."""

from __future__ import annotations

import json

import pytest

from turnbudget.agents.agent import Action, Opinion
from turnbudget.council.convene import Seat
from turnbudget.council.council import Council
from turnbudget.recorded.dialogues import Dialogue, Outcome, hold, hold_all, lines, read
from turnbudget.recorded.wanted import Wanted
from turnbudget.voice.errors import UsageError


def line(sid, *turns):
    return json.dumps({"sid": sid, "turns": [list(turn) for turn in turns]})


BALANCE = (
    ("agent", "hello how can i help you"),
    ("caller", "[noise] i need my balance"),
    ("agent", "which account would you like to check"),
    ("caller", "[noise]"),
    ("caller", "<unk> savings"),
)


@pytest.fixture
def folder(tmp_path):
    """A folder in the corpus's layout, with one call."""
    for name in ("transcript", "metadata", "audio/caller"):
        (tmp_path / name).mkdir(parents=True)
    segments = [
        {"speaker_role": role, "human_transcript": text, "offset_ms": at}
        for at, role, text in [
            (30, "caller", "four two"),
            (0, "agent", "hello"),
            (20, "caller", "my number is"),
        ]
    ]
    (tmp_path / "transcript" / "a1.json").write_text(json.dumps(segments))
    task = {"task_type": "reset password", "phone": "42", "password dest": "phone"}
    (tmp_path / "metadata" / "a1.json").write_text(json.dumps({"tasks": [task]}))
    return tmp_path


def test_the_last_third_of_a_file_rounded_up_is_held_back(tmp_path):
    path = tmp_path / "d.jsonl"
    path.write_text("\n".join(line(str(number), *BALANCE) for number in range(4)))
    assert [dialogue.group for dialogue in read(path)] == ["dialogues"] * 2 + ["dialogues, held back"] * 2


def test_the_caller_says_words_and_no_noise(tmp_path):
    path = tmp_path / "d.jsonl"
    path.write_text(line("x", *BALANCE))
    [dialogue] = read(path)
    assert dialogue.caller == ("i need my balance", "savings")
    assert dialogue.wanted == Wanted("check balance", {"account": "savings"})


def test_segments_of_a_call_are_joined_to_turns_and_its_metadata_are_what_was_wanted(folder):
    [call] = read(folder)
    assert call.turns == (("agent", "hello"), ("caller", "my number is four two"))
    assert call.group == "transcripts"
    assert call.wanted == Wanted("reset password", {"phone": "42"})


def test_a_folder_holds_its_dialogues_too(folder):
    (folder / "dialogues.jsonl").write_text(line("x", *BALANCE))
    assert [dialogue.name for dialogue in read(folder)] == ["a1", "x"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "d.jsonl:1: is no JSON"),
        ("[1]", "d.jsonl:1: is no dialogue"),
        ('{"sid": "x", "turns": [["caller"]]}', "d.jsonl:1: is no dialogue"),
        ('{"sid": "x", "turns": 3}', "d.jsonl:1: is no dialogue"),
        ('{"turns": []}', "d.jsonl:1: is no dialogue"),
    ],
)
def test_a_broken_line_is_named(tmp_path, text, says):
    path = tmp_path / "d.jsonl"
    path.write_text(text)
    with pytest.raises(UsageError) as fault:
        read(path)
    assert says in str(fault.value)


def test_what_is_not_there_is_one_line(tmp_path):
    with pytest.raises(UsageError, match="cannot be read"):
        read(tmp_path / "none.jsonl")
    with pytest.raises(UsageError, match="no HarperValley folder"):
        read(tmp_path)


def test_a_call_without_its_metadata_is_named(folder):
    (folder / "metadata" / "a1.json").write_text('{"tasks": []}')
    with pytest.raises(UsageError) as fault:
        read(folder)
    assert "a1.json: is no HarperValley call" in str(fault.value)


class Scripted:
    """Says what its table has for the words it hears, and nothing to others."""

    def __init__(self, name, **table):
        self.name = name
        self._table = table

    async def answer(self, utterance, *_):
        return self._table.get(utterance)


async def balance(*_):
    return "$5"


def council():
    return Council(
        [
            Seat(Scripted("check balance", balance=ASKS, savings=TELLS), about="your balance"),
            Seat(Scripted("pay bill", balance=None, pay=Opinion("Which company?", 0.8, expects="company"))),
            Seat(Scripted("greeting", hello=Opinion("Hello.", 0.9), person=LEAVES)),
        ],
        call="c",
        tools={"balance": balance},
    )


ASKS = Opinion("Which account?", 0.9, expects="account")
TELLS = Opinion("It is {result}.", 0.9, action=Action("balance"), slots={"account": "savings"})
LEAVES = Opinion("I connect you.", 0.9, transfer="operator")


def dialogue(*said, task="check balance", group="transcripts", **slots):
    return Dialogue("x", group, tuple(("caller", text) for text in said), Wanted(task, slots))


async def test_a_dialogue_is_held_turn_by_turn_and_counted():
    outcome = await hold(
        dialogue("hello", "balance", "[noise]", "savings", "what", account="savings"), council()
    )
    assert [line.text for line in outcome.said if line.who == "agent"][:3] == [
        "Hello.", "Which account?", "It is $5.",
    ]  # fmt: skip
    assert (outcome.task, outcome.task_right, outcome.slots_right) == ("check balance", True, ("account",))
    assert (outcome.counts["questions"], outcome.counts["actions"], outcome.counts["not understood"]) == (
        1,
        1,
        1,
    )


async def test_small_talk_and_a_handoff_are_no_task():
    outcome = await hold(dialogue("pay", "person", task="pay bill"), council())
    assert (outcome.task, outcome.counts["handoffs"]) == ("pay bill", 1)


async def test_each_dialogue_has_a_council_of_its_own():
    first, second = await hold_all([dialogue("savings"), dialogue("hello")], council)
    assert first.slots == {"account": "savings"}
    assert second.slots == {}


def test_the_figures_have_their_n_and_a_group_a_line():
    outcomes = [
        Outcome(dialogue(account="savings"), "check balance", {"account": "checking"}),
        Outcome(dialogue(account="savings"), "check balance", {"account": "savings"}),
        Outcome(dialogue(group="dialogues"), "pay bill"),
    ]
    first, second = lines(outcomes)
    assert first.startswith("transcripts: task 100.0% (2 of 2), slots 50.0% (1 of 2); 0 questions,")
    assert second.startswith("dialogues: task 0.0% (0 of 1), slots none;")
