"""Every setting has a default, and what means nothing is refused with its place."""

from __future__ import annotations

import re
import tomllib

import msgspec
import pytest

from turnbudget.settings.config import (
    Config,
    PhraseTable,
    ResponderTable,
    RuleTable,
    SpeculationTable,
    TtsTable,
    dump,
    load,
)
from turnbudget.voice.errors import ConfigError


def written(tmp_path, text):
    path = tmp_path / "agent.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_no_file_is_the_default():
    assert load(None) == Config()


def test_an_empty_file_is_the_default(tmp_path):
    assert load(written(tmp_path, "")) == Config()


def test_a_file_says_only_what_differs(tmp_path):
    config = load(written(tmp_path, 'budget_ms = 900\n[phrases]\ngreeting = ""\n'))
    assert (config.budget_ms, config.phrases.greeting, config.phrases.bridge) == (900, "", "One moment.")


def test_what_is_printed_loads_back(tmp_path):
    assert load(written(tmp_path, dump(Config()))) == Config()


ODD = Config(
    speculation=SpeculationTable(threshold=0.55),
    phrases=PhraseTable(greeting='"Hi"\\ \n\t\x7f\x01 ☎ \U0001f600'),
    responder=ResponderTable(rules=(RuleTable(r"\b'x'\b", "é", 7),)),
)


@pytest.mark.parametrize("config", [ODD, Config(responder=ResponderTable(rules=()))])
def test_any_settings_that_are_printed_load_back(tmp_path, config):
    assert load(written(tmp_path, dump(config))) == config


def test_what_is_printed_says_what_each_table_is_for():
    text = dump(Config())
    assert "[asr]\n# who transcribes; text_ms bounds the wait for a final text after the endpoint.\n" in text
    assert max(len(line) for line in text.splitlines() if line.startswith("#")) < 110


def test_what_is_printed_has_every_key():
    assert tomllib.loads(dump(Config())) == msgspec.json.decode(msgspec.json.encode(Config()))


def test_what_is_printed_says_what_each_key_means():
    meaning, unnamed = {}, []
    for block in dump(Config()).split("\n\n"):
        lines = block.splitlines()
        table = lines[0] if lines[0].startswith("[") else "the whole file"
        meaning.setdefault(table, " ".join(line for line in lines if line.startswith("#")))
        keys = [line.partition(" = ")[0] for line in lines if not line.startswith(("#", "["))]
        unnamed += [f"{table} {key}" for key in keys if not re.search(rf"\b{key}\b", meaning[table])]
    assert not unnamed


FAULTS = {
    "budget_ms = '800'": r"Expected `int`, got `str`.*\$\.budget_ms",
    "budget_ms = 0": r">= 1.*\$\.budget_ms",
    "budget_ms = 800.5": r"\$\.budget_ms",
    "[asr]\nengine = 'nonsense'": r"asr\.engine is auto, .*, scripted or module:attribute,.* 'nonsense'",
    "[[responder.rules]]\nwhen = 'a'": r"missing required field `say`.*\$\.responder\.rules\[0\]",
    "[endpoint]\nsilence_ms = 750": "silence_ms and margin_ms eat the whole budget_ms",
    "patience_ms = 800": "patience_ms must be longer than budget_ms",
    "budget_ms = ": "Invalid",
    b"\xff\xfe": "utf-8",
}


@pytest.mark.parametrize(("text", "fault"), FAULTS.items(), ids=range(len(FAULTS)))
def test_what_means_nothing_is_refused_in_one_line_with_file_and_place(tmp_path, text, fault):
    path = written(tmp_path, text)
    with pytest.raises(ConfigError, match=fault) as caught:
        load(path)
    line = str(caught.value)
    assert line.startswith(f"{path}: ")
    assert line.endswith("; see `turnbudget config`")
    assert "\n" not in line


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"none\.toml: cannot be read \(No such file"):
        load(tmp_path / "none.toml")


def test_settings_cannot_be_changed_afterwards():
    with pytest.raises(AttributeError):
        Config().budget_ms = 1
    assert msgspec.structs.replace(Config(), budget_ms=1_000).budget_ms == 1_000


def test_equal_settings_are_one_key_of_a_table_options_of_an_engine_included():
    one, same, other = (
        Config(tts=TtsTable(engine="mine:Voice", options={"speed": speed})) for speed in (1, 1, 2)
    )
    assert len({one, same, other}) == 2
