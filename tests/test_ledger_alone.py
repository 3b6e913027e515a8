"""A ledger is kept alone in somebody else's asyncio program: on its loop, by public names, nothing else."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys

import pytest
from shipped import ROOT

from turnbudget import Ledger, Owner, UsageError, account_row, now, waterfall

PAGE = (ROOT / "docs" / "ledger.md").read_text("utf-8")
LOADED = "\nimport sys; print(*(name for name in sys.modules if name.startswith('turnbudget')))"
LLM = Owner("my-llm", "service")


def shown():
    """Return the program on the page."""
    return re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)[0]


def test_the_program_on_the_page_is_short_and_runs_in_a_process_of_its_own():
    assert len(shown().splitlines()) <= 25
    command = [sys.executable, "-c", shown() + LOADED]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 - our own
    head, bar, row, loaded = done.stdout.splitlines()
    assert re.fullmatch(r"  1 answered +\d+ ms  hello → Good day\.", head)
    assert re.fullmatch(r" {4}E+C+S+◆ +│", bar)
    row = json.loads(row)
    assert sum(entry["us"] for entry in row["entries"]) == row["closed_us"] == row["first_answer_us"]
    assert not re.search(r"\.(tts|lines|call\.call|agents|council|speculative|serving)\b", loaded)


def test_the_page_shows_what_its_program_prints():
    head, bar = re.findall(r"^```text\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)[0].splitlines()
    assert head.endswith("hello → Good day.")
    assert re.fullmatch(r" {4}E+C+S+◆ +│", bar)


async def works():
    """Work for a millisecond."""
    began = now()
    while now() < began + 1_000:
        pass


async def fails():
    """Work for a millisecond, in vain."""
    await works()
    raise TimeoutError


def kept(turn):
    """Run *turn* on a plain loop of asyncio's own with a ledger, and return its row."""

    async def run():
        ledger = Ledger(now())
        outcome = await turn(ledger)
        return account_row(ledger.account(outcome), call="theirs", turn=7, budget_us=500_000)

    return asyncio.run(run())


def test_a_bridge_sounds_first_and_the_answer_closes_the_account():
    async def turn(ledger):
        with ledger.stage("council", LLM):
            await works()
            ledger.sounded(now(), answer=False)
            ledger.decide("bridge", "no answer after 1 ms")
            await works()
        ledger.sounded(now(), answer=True)
        return "bridged"

    row = kept(turn)
    assert 1_000 <= row.first_sound_us < row.first_answer_us == row.closed_us
    assert [(one.took, one.because) for one in row.decisions] == [("bridge", "no answer after 1 ms")]
    assert row.in_time
    assert "bridged" in str(waterfall(row))


def test_a_turn_that_fails_has_a_row_that_says_where():
    async def turn(ledger):
        lane = ledger.lane("second model")
        try:
            with ledger.stage("council", LLM):
                await fails()
        except TimeoutError:
            lane.end("dropped", wasted_us=1_000)
        return "failed"

    row = kept(turn)
    assert row.first_sound_us is None
    assert [(each.stage, each.outcome) for each in row.entries if each.owner == "my-llm"] == [
        ("council", "failed")
    ]
    assert [(lane.name, lane.outcome, lane.wasted_us) for lane in row.lanes] == [
        ("second model", "dropped", 1_000)
    ]
    assert row.critical.owner == "my-llm"


def test_time_before_the_ledger_was_opened_is_charged_and_instants_of_the_call_are_kept():
    async def run():
        ended = now() - 300_000
        ledger = Ledger(ended)
        ledger.charge("endpoint", Owner("silence_ms", "setting"), ended + 200_000)
        account = ledger.account("silent")
        began = {"call_epoch_us": ended - 2_000_000, "speech_began_us": ended - 900_000}
        return account_row(account, call="c", turn=1, **began)

    row = asyncio.run(run())
    assert (row.entries[0].stage, row.entries[0].us) == ("endpoint", 200_000)
    assert row.entries[1].stage == "unaccounted"
    assert (row.speech_began_call_us, row.speech_ended_call_us) == (1_100_000, 2_000_000)


@pytest.mark.parametrize(
    ("stage", "owner", "outcome", "fault"),
    [
        ("tea", Owner("my-llm", "service"), "failed", "no stage is called 'tea'; there are endpoint, "),
        (
            "council",
            Owner("my-llm", "vendor"),
            "failed",
            "is no Owner; its kind is one of setting, service, ",
        ),
        ("council", "my-llm", "failed", "'my-llm' is no Owner"),
        ("council", Owner("my-llm", "service"), "great", "no outcome is called 'great'; there are answered"),
    ],
)
async def test_a_word_that_no_row_can_hold_is_refused_with_those_there_are(stage, owner, outcome, fault):
    ledger = Ledger(now() - 1_000)
    ledger.charge(stage, owner, now())
    with pytest.raises(UsageError, match=fault):
        ledger.account(outcome)
