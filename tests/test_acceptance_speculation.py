"""What speculation is for, on recorded callers: most turns under 200 ms, and none of them wrong."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from turnbudget.recorded import mining
from turnbudget.recorded.replay import ReplayPlan, replay
from turnbudget.settings.config import load
from turnbudget.voice.time import clock

CALLS = Path(__file__).parent.parent / "demos" / "bank" / "calls.toml"


@pytest.fixture(scope="module")
def bank(recordings, tmp_path_factory):
    """A reply bank mined from the first two thirds of the written dialogues."""
    path = tmp_path_factory.mktemp("bank") / "bank.toml"
    for _ in mining.run((recordings / "harper-valley" / "dialogues.jsonl",), path):
        pass
    return path


def replayed(recordings, bank, folder, kind, config):
    told = msgspec.structs.replace(config.speculation, bank=str(bank))
    plan = ReplayPlan(
        (recordings / "harper-valley",), folder, msgspec.structs.replace(config, speculation=told)
    )
    return clock.run(replay(plan), kind)


def test_with_perfect_ears_most_turns_are_answered_under_200_ms_and_nobody_is_cut_off(
    recordings, bank, tmp_path
):
    """VAD-01, VAD-02: these callers dictate digits and addresses, and pause 44 times inside their turns."""
    summary = replayed(recordings, bank, tmp_path / "run", "virtual", load(CALLS)).summary
    assert summary.under_200.share >= 0.6
    assert summary.false_cuts.count == summary.wrong_hits.count == 0
    assert summary.hits.count == summary.turns == 42
    late = summary.turns - summary.answered_in_time.count
    assert late <= 1, "an address that ends in 'street' is waited for, as the town may come"
    tasks = [call.task for call in summary.calls]
    assert all(task.found == task.wanted and task.slots_right == task.slots for task in tasks)


@pytest.mark.quiet
@pytest.mark.usefixtures("real_engines")
def test_with_real_ears_nobody_is_cut_off_either(recordings, bank, tmp_path):
    """How soon depends on the machine, and is in the bench; whether it is right does not, if it has time."""
    config = load(CALLS)
    patient = msgspec.structs.replace(
        config, budget_ms=4_000, asr=msgspec.structs.replace(config.asr, text_ms=3_000)
    )
    summary = replayed(recordings, bank, tmp_path / "run", "skip", patient).summary
    assert summary.outcomes["silent"] == summary.outcomes["failed"] == 0
    assert summary.false_cuts.count <= 2
    assert summary.wrong_hits.count <= 2
    right = [call.task.found == call.task.wanted for call in summary.calls]
    assert sum(right) >= 7
