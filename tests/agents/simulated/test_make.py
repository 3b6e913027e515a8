"""Simulated backends by name or file; bad input is one line before any call; a TTFT explained sums to it."""

from __future__ import annotations

import pytest
from laws import each
from msgspec.structs import replace
from riding import ask, prompt

from turnbudget.agents.backends.backend import Message
from turnbudget.agents.simulated.endpoint import Endpoint, Remote
from turnbudget.agents.simulated.engine import Engine
from turnbudget.agents.simulated.explain import explain, total
from turnbudget.agents.simulated.hardware import Constant, Price, Speculation, origin, weakest
from turnbudget.agents.simulated.make import dump, find, load, make, read
from turnbudget.agents.simulated.prefixes import Prefixes, count, pieces
from turnbudget.agents.simulated.presets import PRESETS, instance
from turnbudget.agents.simulated.words import Echo, Recorded, Script, Table
from turnbudget.voice.errors import ConfigError


def test_a_preset_has_a_name_with_or_without_its_kind():
    assert make("simulated:gpu-small").name == make("gpu-small").name == "simulated:gpu-small"
    assert isinstance(make("wafer-scale"), Engine)
    assert isinstance(make("api-haiku-4.5", seed=3), Endpoint)


BAD = {
    "no preset is called 'gpu-smal'; did you mean gpu-small?": {"base": "gpu-smal"},
    "machine.cips: is no field; did you mean chips?": {"base": "gpu-small", "machine": {"cips": 2}},
    "machine.chips: -1 is impossible": {"base": "gpu-small", "machine": {"chips": -1}},
    "chip.bandwidth: nan is impossible": {"base": "gpu-small", "chip": {"bandwidth": float("nan")}},
    "losses.weights: 1.5 is impossible": {"base": "gpu-small", "losses": {"weights": 1.5}},
    "does not fit into 80 GB; more machine.chips": {"base": "gpu-batched", "machine": {"chips": 1}},
    "a part is larger than the whole": {"base": "gpu-small", "model": {"active": 1e12}},
    "chip.bandwidth: Expected `float`, got `str`": {"base": "gpu-small", "chip": {"bandwidth": "3 TB"}},
    "chip.bandwidth: True is no number": {"base": "gpu-small", "chip": {"bandwidth": True}},
    "remote.stall: 2 is impossible": {"base": "api-gpt-4o", "stall": 2},
    "speculation.drafted: 0 is impossible": {
        "base": "gpu-small",
        "speculation": {"acceptance": 0.5, "drafted": 0},
    },
    "says neither base nor kind": {"name": "x"},
    "ttft_median_us: is missing": {"kind": "endpoint"},
    "mark: 'believed' is none": {"kind": "endpoint", "mark": "believed", "ttft_median_us": 5.0},
    "schedule.policy: Invalid enum value": {"base": "gpu-small", "schedule": {"policy": "tram"}},
}


@each("line", BAD)
def test_what_cannot_be_is_refused_in_one_line(line):
    with pytest.raises(ConfigError) as caught:
        read(BAD[line], "x")
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("content", "line"), [(b"base = ", "is not TOML"), (b"\xff", "is not TOML")])
def test_a_file_that_is_no_toml_is_named(tmp_path, content, line):
    path = tmp_path / "mine.toml"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=f"mine.toml: {line}"):
        make(str(path))
    with pytest.raises(ConfigError, match="cannot be read"):
        make(str(tmp_path / "none.toml"))


def test_a_file_changes_a_preset_and_what_it_says_is_yours(tmp_path):
    path = tmp_path / "ours.toml"
    path.write_text('base = "gpu-batched"\naccuracy = 0.93\n[machine]\nchips = 8\n[losses]\nlayer_us = 30\n')
    preset = load(path)
    assert (preset.name, preset.machine.chips, preset.accuracy) == ("ours", 8, 0.93)
    assert origin(preset.losses.layer_us)[0] == origin(preset.accuracy)[0] == "yours"
    assert origin(preset.losses.step_us)[0] == "measured"


def test_speculation_can_be_added_to_a_preset_that_has_none():
    preset = read({"base": "gpu-small", "speculation": {"acceptance": 0.7, "drafted": 3}}, "x")
    assert preset.speculation == Speculation(acceptance=0.7, drafted=3)


def test_a_probed_endpoint_comes_back_from_its_file_as_measured(tmp_path):
    measured = Remote(name="ours", model="m", ttft_median_us=61_234.5, ttft_sigma=0.21, uncached_us=2600,
                      tpot_median_us=8300, burst=2, price=Price(input=1, output=2))  # fmt: skip
    path = tmp_path / "ours.toml"
    path.write_text(
        dump(measured, source='probe of "x"', as_of="2026-11-30", probe={"n": 900, "error": 0.07})
    )
    again = load(path)
    assert again == measured
    assert origin(again.ttft_median_us) == ("measured", 'probe of "x"', "2026-11-30")
    assert origin(again.price.input)[0] == "measured"


def test_what_is_made_of_several_constants_is_worth_the_least_of_them():
    sure, guess = Constant(1, "measured", "a"), Constant(2, "assumed", "b", "2026-01")
    assert weakest(sure, guess) == ("assumed", "b", "2026-01")
    assert sure + guess == 3


@each("name", ["gpu-batched", "gpu-small", "gpu-low-batch", "wafer-scale", "lpu"])
async def test_the_terms_of_an_idle_instance_sum_to_what_it_takes(name):
    backend = Engine(instance(name), Echo())
    _, timing = await ask(backend)
    terms = explain(instance(name), uncached=timing.tokens_in, cached=0, batch=0)
    assert total(terms) == pytest.approx(timing.ttft_us, abs=3)
    assert all(term.source and term.mark for term in terms)


async def test_the_terms_of_an_api_sum_to_its_median():
    api = replace(PRESETS["api-gpt-4.1"], uncached_us=100, cached_us=1)
    terms = explain(api, uncached=100, cached=1000, cold=True)
    assert total(terms) == pytest.approx(120_000 + 536_000 + 10_000 + 1000, rel=0.001)


def test_half_of_the_window_is_a_term_of_the_bus():
    assert {term.name: term.us for term in explain(instance("bus"))}["window"] == 125_000


def test_pieces_are_the_text():
    for text in ("", "Zoë 👍 said: 2 < 3, didn't she?\n- tea", " a  b ", "order_id_7"):
        assert "".join(pieces(text)) == text


def test_the_cache_counts_what_two_prompts_share():
    cache, system = Prefixes(), Message("system", "y " * 100)
    cache.add((system, Message("user", "Hello there")), 0)
    assert cache.cached((system, Message("user", "Bye")), 1) == (count(system.text) + 4) // 16 * 16
    assert cache.cached((Message("system", "other"),), 1) == 0
    cache.fit(10)
    assert cache.cached((system,), 2) == 0


def test_words_come_from_a_script_a_table_an_echo_or_a_recorded_agent():
    first, second = prompt("I want a loan"), prompt("bye", Message("user", "I want a loan"))
    assert [Script(["one", "two"]).reply(asked) for asked in (first, second)] == ["one", "two"]
    assert Table({"LOAN": "How much?"}, "Sorry?").reply(first) == "How much?"
    assert Table({"x{2}": "no"}, "Sorry?").reply(first) == "Sorry?"
    assert Echo().reply(first) == "You said: I want a loan"
    said = Recorded([("I'd like a loan.", "Certainly."), ("Goodbye!", "Bye.")])
    assert [said.reply(asked) for asked in (first, second)] == ["Certainly.", "Bye."]


def test_words_that_are_none_are_refused():
    for make_them in (lambda: Script([]), lambda: Recorded([]), lambda: Table({"(": "x"}, "y")):
        with pytest.raises(ConfigError):
            make_them()


def test_no_preset_says_how_good_an_answer_is():
    assert {find(name).accuracy for name in PRESETS} == {None}
