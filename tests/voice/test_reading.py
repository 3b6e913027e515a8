"""An unknown key of a file is told by its line and the nearest name; a byte-order mark is no fault."""

from __future__ import annotations

import codecs
import json
import re

import pytest

from turnbudget.agents.config import read as read_agents
from turnbudget.agents.faq import load as load_faq
from turnbudget.agents.simulated.make import load as load_preset
from turnbudget.recorded.dialogues import read as read_dialogues
from turnbudget.recorded.script import load as load_script
from turnbudget.serving.config import load as load_floor
from turnbudget.settings.config import load as load_agent
from turnbudget.speculative.bank.bank import Bank
from turnbudget.speculative.bank.bank import read as read_bank
from turnbudget.speculative.bank.bank import text as bank_text
from turnbudget.voice.errors import ConfigError

AGENT = {
    "# ours\n\n[endpoint]\nsilence_ms = 500\nsilence_msx = 3\n": "5: [endpoint] has no key silence_msx; "
    "did you mean silence_ms?",
    "budget = 800": "1: there is no key or table budget; did you mean budget_ms?",
    "\n[endpiont]\nsilence_ms = 500": "2: there is no key or table endpiont; did you mean endpoint?",
    "[asr]\nmodle = 'x'": "2: [asr] has no key modle; did you mean model?",
    "[llm]\nmodl = 'm'": "2: [llm] has no key modl; did you mean model?",
    "qqq = 1": "1: there is no key or table qqq; see `turnbudget config`",
    "endpoint.silence_msx = 500": "1: [endpoint] has no key silence_msx; did you mean silence_ms?",
    "\nendpoint = {least_ms = 90, silence_msx = 500}": "2: [endpoint] has no key silence_msx; "
    "did you mean silence_ms?",
    "[[responder.rules]]\nwhen = 'a'\nsay = 'b'\n[[ responder . rules ]]\nwhen = 'c'\nsays = 'd'\n": "6: "
    "[[responder.rules]] has no key says; did you mean say?",
    "[llm]\nsystem = '''\n[endpoint]\nsilence_msx = 1\n'''\n[endpoint]\n\"silence_msx\" = 1": "7: "
    "[endpoint] has no key silence_msx; did you mean silence_ms?",
}


@pytest.mark.parametrize(("text", "fault"), AGENT.items(), ids=range(len(AGENT)))
def test_an_unknown_key_is_told_by_its_line_and_the_nearest_name(tmp_path, text, fault):
    path = tmp_path / "agent.toml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_agent(path)
    assert str(caught.value) == f"{path}:{fault}"


FLOOR = """\
[serve]
port = 8080
[tenants.acme]
called = ["1"]
[tenants.zenith.webhook]
urll = "https://zenith.example"
"""
AGENTS = """\
[[agent]]
kind = "smalltalk"
name = "talk"
[[agent]]
kind = "form"
name = "visit"
trigger = ["visit"]
[[agent.slots]]
name = "day"
type = "date"
ask = "When?"
[[agent.slots]]
name = "time"
tyep = "time"
ask = "At what time?"
"""


def test_a_floor_tells_the_tenant_whose_key_it_does_not_know(tmp_path):
    path = tmp_path / "floor.toml"
    path.write_text(FLOOR)
    with pytest.raises(ConfigError) as caught:
        load_floor(path)
    assert str(caught.value) == f"{path}:6: [tenants.zenith.webhook] has no key urll; did you mean url?"


def test_agents_tell_the_line_whatever_their_kind(tmp_path):
    path = tmp_path / "agents.toml"
    path.write_text(AGENTS)
    with pytest.raises(ConfigError) as caught:
        read_agents(path)
    assert str(caught.value) == f"{path}:14: [[agent.slots]] has no key tyep; did you mean type?"


def test_a_script_tells_the_line_of_its_event(tmp_path):
    path = tmp_path / "s.toml"
    path.write_text('[[event]]\nafter_turn = 1\ndo = "silence"\nwhen = 3')
    with pytest.raises(ConfigError) as caught:
        load_script(path)
    assert str(caught.value) == f"{path}:4: [[event]] has no key when; see `turnbudget replay --help`"


def seen(made, path):
    """What a reader made, whatever its file is called and wherever its objects lie."""
    return re.sub(r"0x[0-9a-f]+", "", repr(made).replace(str(path), ""))


READERS = {
    "agent.toml": (load_agent, "budget_ms = 900\n"),
    "floor.toml": (load_floor, "[serve]\nport = 8081\n"),
    "agents.toml": (read_agents, "[[agent]]\nkind = 'smalltalk'\nname = 'talk'\n"),
    "script.toml": (load_script, "[[event]]\nafter_turn = 1\ndo = 'hang-up'\n"),
    "bank.toml": (read_bank, bank_text(Bank())),
    "preset.toml": (load_preset, "base = 'gpu-small'\n"),
    "faq.csv": (load_faq, "question,answer\nWhen are you open?,From nine to five.\n"),
    "dialogues.jsonl": (
        read_dialogues,
        json.dumps({"sid": "a", "turns": [["caller", "hi"]]}) + "\n",
    ),
}


@pytest.mark.parametrize(
    ("name", "reader", "text"), [(name, *how) for name, how in READERS.items()], ids=READERS
)
def test_a_byte_order_mark_is_no_fault(tmp_path, name, reader, text):
    plain, marked = tmp_path / name, tmp_path / "marked" / name
    marked.parent.mkdir()
    plain.write_text(text)
    marked.write_bytes(codecs.BOM_UTF8 + text.encode())
    assert seen(reader(marked), marked) == seen(reader(plain), plain)
