"""A backend by what a person types: the right one, or one line that says what is wrong with it."""

from __future__ import annotations

import json

import pytest
from laws import each
from provider import CLOSE, HOLD, provider, whole

from turnbudget.agents.backends.anthropic import AnthropicBackend
from turnbudget.agents.backends.backend import BackendError, Message, Prompt
from turnbudget.agents.backends.modes import Mode
from turnbudget.agents.backends.openai import OpenAIBackend
from turnbudget.agents.backends.responses_ws import ResponsesBackend
from turnbudget.agents.simulated.endpoint import Endpoint
from turnbudget.agents.simulated.engine import Engine
from turnbudget.settings import answering
from turnbudget.settings.answering import members, open_backend, open_llm, verify
from turnbudget.settings.config import Config, LlmTable, OtherwiseTable, ResponderTable, RuleTable, dump, load
from turnbudget.voice.errors import ConfigError
from turnbudget.voice.time.clock import MS

KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GROQ_API_KEY", "CEREBRAS_API_KEY")
TABLE = ResponderTable(rules=(RuleTable("balance", "It is ten."),), otherwise=OtherwiseTable(say="I see."))
URL = "openai:http://127.0.0.1:1/v1"


@pytest.fixture(autouse=True)
def no_keys(monkeypatch):
    """No key of the person who runs the tests."""
    for key in KEYS:
        monkeypatch.delenv(key, raising=False)


def opened(**table):
    return open_llm(LlmTable(**table), TABLE)


def test_each_kind_is_opened_by_its_name(tmp_path, monkeypatch):
    for key in KEYS:
        monkeypatch.setenv(key, "k")
    (tmp_path / "mine.toml").write_text('base = "gpu-small"\nname = "mine"\n')
    made = {
        "simulated:gpu-small": (Engine, "simulated:gpu-small"),
        "simulated:api-gpt-4.1": (Endpoint, "simulated:api-gpt-4.1"),
        str(tmp_path / "mine.toml"): (Engine, "simulated:mine"),
        f"simulated:{tmp_path / 'mine.toml'}": (Engine, "simulated:mine"),
        URL: (OpenAIBackend, "openai"),
        "openai:https://api.openai.com/v1": (OpenAIBackend, "openai"),
        "anthropic:claude": (AnthropicBackend, "anthropic"),
        "responses:gpt": (ResponsesBackend, "responses"),
    }
    for spec, (kind, name) in made.items():
        backend = open_backend(spec)
        assert (type(backend), backend.name) == (kind, name)


REFUSED = {
    "simulated:gpu-smal": "simulated: no preset is called 'gpu-smal'; did you mean gpu-small?",
    "simulated:": "simulated: no preset is called ''",
    "openai:127.0.0.1:8080/v1": "openai: '127.0.0.1:8080/v1' is no URL; write it as https://host/v1",
    "openai:": "openai: '' is no URL",
    "openai:ftp://host/v1": "openai: 'ftp://host/v1' is no URL",
    "openai:https://api.openai.com/v1": "openai: no key; set OPENAI_API_KEY",
    "openai:https://api.groq.com/openai/v1": "openai: no key; set GROQ_API_KEY",
    "openai:https://me:secret@host/v1": "openai: the URL holds a user or a query; keys are for the environm",
    "anthropic:claude": "anthropic: no key; set ANTHROPIC_API_KEY",
    "anthropic:": "anthropic: which model is not said; write it as anthropic:MODEL",
    "responses:gpt": "responses: no key; set OPENAI_API_KEY",
    "responses:": "responses: which model is not said; write it as responses:MODEL",
    "none.toml": "none.toml: cannot be read (No such file or directory)",
    "gpu-small": "llm: 'gpu-small' names no backend; use simulated:PRESET, FILE.toml, openai:URL,",
}


@each("spec", REFUSED)
def test_what_names_none_is_one_line(spec):
    with pytest.raises(ConfigError) as raised:
        open_backend(spec)
    assert str(raised.value).startswith(REFUSED[spec])
    assert "\n" not in str(raised.value)
    assert "secret" not in str(raised.value)


def test_the_model_is_taken_from_the_setting_where_the_name_has_none(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    assert open_backend("anthropic:", model="claude").model == "claude"
    assert open_backend("anthropic:mine", model="claude").model == "mine"
    assert open_backend(URL, model="m").model == "m"


async def test_a_simulated_one_says_what_the_table_would():
    backend = opened(backend="simulated:gpu-small")
    words = members(backend)[0].words
    assert words.reply(Prompt((Message("user", "My balance, please"),))) == "It is ten."
    assert words.reply(Prompt((Message("user", "Hm"),))) == "I see."


def test_a_table_that_holds_no_pattern_is_refused():
    with pytest.raises(ConfigError, match=r"'\(' is no regular expression"):
        open_llm(LlmTable(backend="simulated:gpu-small"), ResponderTable(rules=(RuleTable("(", "Yes."),)))


def test_one_alone_keeps_its_name_and_is_watched_all_the_same():
    backend = opened(backend="simulated:gpu-small")
    assert isinstance(backend, Mode)
    assert (backend.name, len(members(backend))) == ("simulated:gpu-small", 1)


@pytest.mark.parametrize(("mode", "order"), [("fast", 0), ("hedge", 0), ("race", 0), ("accurate", 1)])
def test_two_answer_under_their_mode(mode, order):
    """In accurate the second, which is the accurate one, is asked first."""
    backend = opened(backend="simulated:gpu-small", second="simulated:gpu-batched", mode=mode)
    names = ["simulated:gpu-small", "simulated:gpu-batched"]
    assert backend.name == mode
    assert [one.name for one in members(backend)] == (names[::-1] if order else names)


def test_a_race_takes_its_checkpoint_from_the_setting():
    backend = opened(
        backend="simulated:gpu-small", second="simulated:gpu-batched", mode="race", checkpoint_ms=300
    )
    assert backend.plan.checkpoint_us == 300 * MS


def test_a_hedge_with_one_asks_it_twice():
    backend = opened(backend="simulated:gpu-small", mode="hedge")
    assert len(backend.backends) == 2
    assert len(members(backend)) == 1


@pytest.mark.parametrize("mode", ["race", "accurate"])
def test_a_mode_for_two_needs_two(mode):
    with pytest.raises(ConfigError, match=f"llm: mode {mode} needs a second backend; name llm.second"):
        opened(backend="simulated:gpu-small", mode=mode)


def test_two_of_one_name_are_told_apart():
    """Else the silence of one would be held against the other, and the row could not say whose it was."""
    remote = opened(backend=URL, second="openai:http://127.0.0.1:2/v1")
    assert [one.name for one in members(remote)] == ["openai", "openai 2"]
    simulated = opened(backend="simulated:gpu-small", second="simulated:gpu-small")
    assert [one.name for one in members(simulated)] == ["simulated:gpu-small", "simulated:gpu-small 2"]


def listing(*names):
    """A server that lists *names* as its models."""
    return [whole(200, json.dumps({"data": [{"id": name} for name in names]}).encode()), CLOSE]


DOWN = [whole(503, b"down"), CLOSE]


async def checked(play, **table):
    async with provider(play) as it:
        backend = opened(backend=f"openai:{it.url}", **table)
        try:
            await verify(backend)
        finally:
            await backend.aclose()
        return members(backend)


@pytest.mark.clock("skip")
async def test_a_model_the_server_has_is_right_and_its_only_one_need_not_be_named():
    await checked(listing("big", "small"), model="small")
    (backend,) = await checked(listing("only"))
    assert backend.model == "only"


@pytest.mark.clock("skip")
@pytest.mark.parametrize(
    ("play", "model", "line"),
    [
        (listing("big"), "small", "openai: the server has no model 'small'; it has big"),
        (listing("a", "b"), "", "openai: which model is not said; name one of a, b"),
        ([whole(401, b'{"error": "who?"}'), CLOSE], "m", "openai: HTTP 401: who?; check the key"),
        ([whole(404, b""), CLOSE], "m", "openai: HTTP 404; check the URL and the model"),
    ],
)
async def test_a_model_key_or_url_the_server_does_not_know_is_a_settings_fault(play, model, line):
    with pytest.raises(ConfigError) as raised:
        await checked(play, model=model)
    assert str(raised.value) == line


@pytest.mark.clock("skip")
async def test_a_server_that_does_not_answer_is_its_own_fault(monkeypatch):
    monkeypatch.setattr(answering, "VERIFY_US", 100 * MS)
    for play in (DOWN, [HOLD]):
        with pytest.raises(BackendError, match=r"openai: (HTTP 503|no answer in time)"):
            await checked(play, model="m")


@pytest.mark.clock("skip")
async def test_one_of_two_that_answers_is_enough_to_begin():
    async with provider(listing("m")) as healthy:
        await checked(DOWN, model="m", second=f"openai:{healthy.url}", second_model="m")
    await checked(DOWN, model="m", second="simulated:gpu-small")
    with pytest.raises(BackendError):
        await checked(DOWN, model="m", second=URL, second_model="m")


@pytest.mark.clock("skip")
async def test_a_second_that_lacks_its_model_is_refused_though_the_first_is_right():
    async with provider(listing("m")) as second:
        with pytest.raises(ConfigError, match="openai 2: the server has no model 'n'; it has m"):
            await checked(listing("m"), model="m", second=f"openai:{second.url}", second_model="n")


async def test_in_virtual_time_a_socket_is_refused_with_the_clock_that_has_some():
    backend = opened(backend=URL, model="m")
    with pytest.raises(ConfigError, match="use a simulated or scripted backend, or --clock skip"):
        await verify(backend)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('mode = "slow"', "Invalid enum value 'slow' - at `$.llm.mode`"),
        ("max_tokens = 0", "Expected `int` >= 1 - at `$.llm.max_tokens`"),
    ],
)
def test_a_setting_of_llm_that_means_nothing_is_one_line(tmp_path, text, line):
    path = tmp_path / "agent.toml"
    path.write_text(f"[llm]\n{text}\n")
    with pytest.raises(ConfigError) as raised:
        load(path)
    assert str(raised.value) == f"{path}: {line}; see `turnbudget config`"


def test_the_settings_of_llm_are_printed_and_load_back(tmp_path):
    table = LlmTable(
        backend="openai:http://h/v1", model="m", second="simulated:lpu", mode="race", system='"Hi"\n'
    )
    (tmp_path / "agent.toml").write_text(dump(Config(llm=table)))
    assert load(tmp_path / "agent.toml").llm == table
