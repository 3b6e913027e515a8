"""``turnbudget mine``: what is read, what is held out, what is printed, and what is refused."""

from __future__ import annotations

import json

import pytest

from turnbudget.recorded.mining import Text, mined, run, split, texts
from turnbudget.speculative.bank.bank import read
from turnbudget.voice.errors import UsageError

THRESHOLD = 0.4

CALL = (
    ("agent", "hello how can i help you"),
    ("caller", "please cancel my order"),
    ("agent", "what is the order number"),
    ("caller", "four four two seven one"),
    ("agent", "it has been cancelled is there anything else i can help you with"),
    ("caller", "no that's all"),
    ("agent", "thank you for calling bye"),
)
ODD = (
    ("agent", "hello how can i help you"),
    ("caller", "please cancel my order"),
    ("agent", "who is your favourite"),
)


def dialogues(path, *turns):
    lines = [json.dumps({"sid": f"call {number}", "turns": each}) for number, each in enumerate(turns)]
    path.write_text("\n".join(lines))
    return path


@pytest.fixture
def file(tmp_path):
    return dialogues(tmp_path / "d.jsonl", *[CALL] * 12)


def test_the_last_third_is_held_out_and_never_learned_from():
    calls = [Text(str(number), ()) for number in range(61)]
    kept, held = split(calls, 0.33)
    assert (len(kept), held[0].name) == (40, "40")


def test_a_bank_knows_nothing_of_what_was_held_out_unless_asked_to(tmp_path):
    other = (
        ("agent", "hello how can i help you"),
        ("caller", "zebra zebra"),
        ("agent", "what is the zebra number"),
    )
    path = dialogues(tmp_path / "d.jsonl", *[CALL] * 8, *[other] * 4)
    list(run([path], tmp_path / "bank.toml"))
    assert "zebra" not in (tmp_path / "bank.toml").read_text()
    shown = list(run([path], tmp_path / "bank.toml", everything=True))
    assert "zebra" in (tmp_path / "bank.toml").read_text()
    assert "made from all" in shown[0]
    assert "8 dialogues" in shown[0]


def test_hits_and_wrong_hits_stand_beside_each_other_at_each_threshold(file, tmp_path):
    shown = list(run([file], tmp_path / "bank.toml"))
    [point] = [line for line in shown if "chosen" in line]
    assert point.split()[:5] == [f"{THRESHOLD:.2f}", "100.0%", "(12)", "0.0%", "(0)"]
    assert "n = 12 answered turns" in "".join(shown)
    assert any(line.startswith("endings: ") for line in shown)
    assert read(tmp_path / "bank.toml").dialogues == 8


def test_a_hit_that_a_person_did_not_give_is_shown_for_a_person_to_judge(tmp_path):
    path = dialogues(tmp_path / "d.jsonl", *[CALL] * 8, *[CALL] * 3, ODD)
    quiet = list(run([path], tmp_path / "bank.toml"))
    loud = list(run([path], tmp_path / "bank.toml", show_misfits=True))
    [shown] = [line for line in loud if line not in quiet]
    assert shown.startswith("other in call 11")
    assert "who is your favourite" in shown
    assert "What is the order number?" in shown


def test_progress_is_told(file, tmp_path):
    heard = []
    list(run([file], tmp_path / "b.toml", doing=lambda done, of, what: heard.append((done, of, what))))
    assert heard[-1] == (1, 1, "mining")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"hold_out": 1.0}, "--hold-out: 1 of the dialogues cannot be held out"),
        ({"hold_out": 0.95}, "leave 0 to learn from"),
        ({"threshold": 2.0}, "--threshold: 2 are no odds"),
    ],
)
def test_an_option_that_means_nothing_is_refused(file, tmp_path, options, says):
    with pytest.raises(UsageError) as refused:
        list(run([file], tmp_path / "b.toml", **options))
    assert says in str(refused.value)
    assert not (tmp_path / "b.toml").exists()


def test_dialogues_with_nothing_in_common_make_no_bank(tmp_path):
    path = dialogues(tmp_path / "d.jsonl", *[(("caller", "hm"),)] * 6)
    with pytest.raises(UsageError, match="no reply was said twice"):
        list(run([path], tmp_path / "b.toml"))


def test_a_run_is_read_call_by_call(tmp_path):
    rows = [
        {"call": "a", "kind": "greeting", "heard": "", "said": "hello", "schema": 1},
        {"call": "b", "kind": "turn", "heard": "hm", "said": ""},
        {"call": "a", "kind": "turn", "heard": "cancel it", "said": "Sure."},
    ]
    folder = tmp_path / "night"
    folder.mkdir()
    (folder / "turns.jsonl").write_text("\n".join(map(json.dumps, rows)))
    called = Text("night/a", (("agent", "hello"), ("caller", "cancel it"), ("agent", "Sure.")))
    assert (
        texts([folder]) == texts([folder / "turns.jsonl"]) == (called, Text("night/b", (("caller", "hm"),)))
    )


VCON = {
    "parties": [{"role": "customer"}, {"role": "Agent"}],
    "dialog": [
        {"type": "text", "originator": 1, "body": "hello"},
        {"type": "text", "parties": [0, 1], "body": "hi"},
    ],
}
SPOKEN = [{"party": 1, "text": "hello"}, {"party": 0, "text": "hi"}]


@pytest.mark.parametrize(
    "vcon",
    [
        VCON,
        {**VCON, "dialog": [{"type": "recording"}], "analysis": [{"type": "transcript", "body": SPOKEN}]},
        {**VCON, "dialog": [], "analysis": [{"type": "transcript", "body": json.dumps(SPOKEN)}]},
    ],
)
def test_a_vcon_is_read_from_its_text_or_its_transcript(tmp_path, vcon):
    (tmp_path / "one.vcon").write_text(json.dumps(vcon))
    assert texts([tmp_path]) == (Text("one", (("agent", "hello"), ("caller", "hi"))),)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("x.vcon", "[]", "is no vCon with parties"),
        ("x.vcon", json.dumps({**VCON, "dialog": []}), "has no conversation in writing"),
        ("x.vcon", json.dumps({**VCON, "parties": [{}, {}]}), 'a party with the role "agent"'),
        ("turns.jsonl", "{}", "turns.jsonl:1: is no row of a run"),
        ("x.jsonl", "{}", "x.jsonl:1: is no dialogue"),
        ("x.wav", "", "there are no dialogues in it"),
    ],
)
def test_a_file_that_holds_no_dialogue_is_one_line(tmp_path, name, content, says):
    (tmp_path / name).write_text(content)
    with pytest.raises(UsageError) as refused:
        texts([tmp_path / name])
    assert says in str(refused.value)


def test_a_path_that_is_not_there_is_one_line(tmp_path):
    with pytest.raises(UsageError, match="there is no such file or folder"):
        texts([tmp_path / "absent"])
    with pytest.raises(UsageError, match="there are no dialogues in it"):
        texts([tmp_path])


def test_a_call_given_twice_counts_once(file):
    assert len(texts([file, file])) == 12


def test_two_calls_of_one_name_are_two(tmp_path):
    """Files are numbered anew each day."""
    for day, word in (("monday", "hi"), ("tuesday", "good morning")):
        (tmp_path / day).mkdir()
        said = [VCON["dialog"][0], {**VCON["dialog"][1], "body": word}]
        (tmp_path / day / "call-1.vcon").write_text(json.dumps({**VCON, "dialog": said}))
    assert [text.turns[1][1] for text in texts([tmp_path / "monday", tmp_path / "tuesday"])] == [
        "hi",
        "good morning",
    ]


def test_a_place_where_no_bank_can_be_is_told_before_the_work(file, tmp_path):
    told = []
    with pytest.raises(UsageError, match="cannot be written"):
        list(run([file], tmp_path / "absent" / "bank.toml", doing=lambda *step: told.append(step)))
    assert told == []


def test_the_recorded_dialogues_make_a_bank_worth_having(recordings, tmp_path):
    """The first forty, the last third of them held out: what was looked at while this was built."""
    lines = (recordings / "harper-valley" / "dialogues.jsonl").read_text().splitlines()[:40]
    (tmp_path / "d.jsonl").write_text("\n".join(lines))
    found = mined(texts([tmp_path / "d.jsonl"]))
    hits = [each for each in found.rehearsed if each.verdict]
    assert len(hits) / len(found.rehearsed) > 0.5
    assert not [each for each in hits if each.verdict == "misfit"]
