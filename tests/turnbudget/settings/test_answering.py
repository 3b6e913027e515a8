"""Who answers a run's calls, and what it cost: every attempt by the price of its own backend."""

from __future__ import annotations

import gc
from dataclasses import replace

import pytest

from turnbudget.agents.backends.backend import Timing
from turnbudget.agents.llm import LlmResponder
from turnbudget.agents.scripted import ScriptedResponder
from turnbudget.agents.simulated.make import make
from turnbudget.runs.records import Engine
from turnbudget.settings.answering import open_answering
from turnbudget.settings.config import Config, CouncilTable, LlmTable
from turnbudget.testing.stage import ASK, play
from turnbudget.voice.errors import ConfigError

USED = Timing("simulated:gpu-small", "m", 0, tokens_in=1_000, tokens_cached=600, tokens_out=50)


def answering(**table):
    return open_answering(Config(llm=LlmTable(**table)))


def priced(backend, *timings, **table):
    """What *timings* cost a run that *backend* answers."""
    made = answering(backend=backend, **table)
    for timing in timings:
        made.attempted(timing)
    return made.usd()


async def test_without_a_backend_the_table_answers_and_costs_nothing():
    made = answering()
    assert isinstance(made.make(), ScriptedResponder)
    assert (made.engine.name, made.usd()) == ("scripted", None)
    await made.ready()
    await made.aclose()


def test_each_call_has_a_responder_of_its_own_on_one_backend():
    made = answering(backend="simulated:gpu-small", system="Be kind.", max_tokens=20)
    one, other = made.make(), made.make()
    assert isinstance(one, LlmResponder)
    assert one is not other
    assert one._backend is other._backend
    assert (one._system.text, one._max_tokens) == ("Be kind.", 20)


@pytest.mark.parametrize(
    ("spec", "fault"),
    {
        "turnbudget.demos.smallest:table": "makes no councils; see docs/engines.md",
        "os:path": "makes no councils; see docs/engines.md",
        "json:dumps": "TypeError: dumps\\(\\) missing 1 required positional argument",
        "json:JSONDecoder": "makes no councils; see docs/engines.md",
    }.items(),
)
def test_what_makes_no_councils_is_refused_in_one_line(spec, fault):
    with pytest.raises(ConfigError, match=f"council.open: {spec} (cannot be made .)?{fault}"):
        open_answering(Config(council=CouncilTable(open=spec)))


def test_a_council_that_takes_no_backend_is_refused_in_one_line():
    config = Config(
        council=CouncilTable(open="builtins:dict.fromkeys"), llm=LlmTable(backend="simulated:lpu")
    )
    with pytest.raises(ConfigError, match=r"cannot be made .TypeError: .* takes no keyword arguments"):
        open_answering(config)


def test_the_summary_says_who_answers_and_why():
    assert answering(backend="simulated:gpu-small").engine == Engine(
        job="responder", name="llm:simulated:gpu-small", why="llm.backend = 'simulated:gpu-small'"
    )
    both = answering(backend="simulated:gpu-small", second="simulated:lpu", mode="hedge").engine
    assert (both.name, both.why) == (
        "llm:hedge",
        "llm.backend = 'simulated:gpu-small', hedge with 'simulated:lpu'",
    )


def test_the_cost_is_the_sum_over_all_attempts():
    """Also of those that were cancelled: their tokens were made."""
    once = make("gpu-small").price(USED)
    assert once > 0
    cancelled = replace(USED, ending="cancelled", attempt=1)
    assert priced("simulated:gpu-small", USED, cancelled) == pytest.approx(2 * once)


def test_under_a_mode_each_attempt_has_the_price_of_its_own_backend():
    other = replace(USED, backend="simulated:gpu-batched")
    both = make("gpu-small").price(USED) + make("gpu-batched").price(other)
    assert make("gpu-batched").price(other) > make("gpu-small").price(USED)
    assert priced(
        "simulated:gpu-small", USED, other, second="simulated:gpu-batched", mode="race"
    ) == pytest.approx(both)


def test_a_cost_of_which_a_part_is_unknown_is_unknown():
    assert priced("simulated:wafer-scale", replace(USED, backend="simulated:wafer-scale")) is None
    partly = replace(USED, backend="simulated:wafer-scale")
    assert priced("simulated:gpu-small", USED, partly, second="simulated:wafer-scale") is None
    assert priced("openai:http://127.0.0.1:1/v1", replace(USED, backend="openai"), model="m") is None


def test_no_attempt_is_no_cost_that_is_known():
    assert priced("simulated:gpu-small") is None


async def test_the_attempts_of_every_call_are_counted_and_none_is_kept():
    """A server that answers for months holds no more of them at its end than at its beginning."""
    made = answering(backend="simulated:gpu-small")
    costs = []
    for _ in range(2):
        await play(ASK, responder=made.make())
        costs.append(made.usd())
    assert made.attempts == 2
    assert costs[1] == pytest.approx(2 * costs[0], rel=0.2)
    made.attempted(timing := replace(USED))
    assert not gc.get_referrers(timing)


def test_a_backend_that_is_none_is_refused_before_any_call():
    with pytest.raises(ConfigError, match="no preset is called 'nope'"):
        answering(backend="simulated:nope")


def test_a_council_of_somebodys_own_that_cannot_be_made_costs_one_line(tmp_path, monkeypatch):
    (tmp_path / "their_bank.py").write_text("def opens():\n    raise KeyError('accounts')\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigError, match=r"their_bank:opens cannot be made \(KeyError: 'accounts'\)"):
        open_answering(Config(council=CouncilTable("their_bank:opens")))
