"""A new agent in a new domain is one short file."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from turnbudget.agents.chat import AgentChat
from turnbudget.agents.check import check_agent

ROOT = Path(__file__).parents[2]
FILE = ROOT / "demos" / "smallest.py"


def test_it_is_no_longer_than_it_says():
    assert len(FILE.read_text("utf-8").splitlines()) <= 15


def test_it_talks():
    done = subprocess.run(  # noqa: S603 - our own
        [sys.executable, str(FILE)],
        input="do you have a table for friday\nfour\nwhat\n",
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT)},
    )
    assert done.stdout.splitlines() == [
        "How many people?",
        "A table for 4 on Friday. See you then!",
        "-> book(day='Friday', guests='4')",
        "(that is not my matter)",
    ]


@pytest.mark.parametrize("said", ["a table for four on friday", "i need a table for friday for four people"])
async def test_it_takes_two_answers_at_once_and_the_cue_next_to_a_value_is_the_one_meant(said):
    opinion = await AgentChat(runpy.run_path(str(FILE))["table"]).say(said)
    assert opinion.opening == "A table for 4 on Friday. See you then!"


async def test_it_keeps_what_an_agent_promises():
    table = runpy.run_path(str(FILE))["table"]
    await check_agent(table, ("a table please", "tomorrow", "banana", "two"))
