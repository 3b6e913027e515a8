"""Agents are configured in one file; what it says wrongly is one line with its place."""

from __future__ import annotations

import re

import pytest

from turnbudget.agents.backends.scripted import ScriptedBackend
from turnbudget.agents.config import read
from turnbudget.agents.form import Form
from turnbudget.voice.errors import ConfigError

FILE = r"""
[[agent]]
kind = "form"
name = "appointment"
about = "an appointment"
rank = 2
settle = 0.9
trigger = ['\bappointment\b']
action = "book"
done = "Booked for {day}."

  [[agent.slots]]
  name = "day"
  type = "date"
  ask = "Which day?"

  [[agent.slots]]
  name = "card"
  type = "choice"
  choices = { debit = ["debt"], credit = [] }
  required = false

[[agent]]
kind = "faq"
name = "questions"
file = "faq.md"

[[agent]]
kind = "lookup"
name = "orders"
trigger = ["order"]
say = "It is {state}."
database = "orders.db"
query = "SELECT state FROM orders"
deadline_ms = 150

[[agent]]
kind = "smalltalk"
name = "chat"
says = { goodbye = "Cheerio." }

[[agent]]
kind = "handoff"
name = "desk"
to = "+15550100"

[[agent]]
kind = "llm"
name = "model"
backend = "scripted"
system = "You are a bank."

  [[agent.tools]]
  name = "order"
  say = "Done. {result}"
"""


def write(folder, text):
    (folder / "faq.md").write_text("# When?\nNow.\n", "utf-8")
    path = folder / "agents.toml"
    path.write_text(text, "utf-8")
    return path


def test_every_kind_of_agent_is_made(tmp_path):
    made = read(write(tmp_path, FILE), backend=lambda name: ScriptedBackend(name=name))
    assert [type(each.agent).__name__ for each in made] == [
        "Form",
        "Faq",
        "Lookup",
        "Smalltalk",
        "Handoff",
        "Llm",
    ]
    assert [each.agent.name for each in made] == [
        "appointment",
        "questions",
        "orders",
        "chat",
        "desk",
        "model",
    ]
    assert (made[0].about, made[0].rank, made[0].settle) == ("an appointment", 2, 0.9)


def test_a_subclass_is_named_in_the_file(tmp_path):
    class Careful(Form):
        pass

    text = FILE.replace('kind = "form"', 'kind = "form"\nclass = "careful"')
    made = read(write(tmp_path, text), backend=lambda _: ScriptedBackend(), classes={"careful": Careful})
    assert type(made[0].agent) is Careful


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", r".*agents\.toml: there is no agent; write \[\[agent\]\]"),
        ("[", r".*agents\.toml: .*"),
        (
            '[[agent]]\nkind = "oracle"\nname = "a"',
            r".*agents\.toml: Invalid value 'oracle' - at `\$\.agent\[0\]\.kind`",
        ),
        (
            '[[agent]]\nkind = "handoff"\nname = "a"\ncolour = 1',
            r".*agents\.toml:4: \[\[agent\]\] has no key colour; see agents/config.py for the keys$",
        ),
        ('[[agent]]\nkind = "form"\nname = "a"', r".*missing required field `trigger` - at `\$\.agent\[0\]`"),
        (
            FILE.replace('"date"', '"colour"'),
            r".*agents\.toml: agent appointment, slot day: no slot type is called",
        ),
        (FILE.replace("faq.md", "gone.md"), r".*agents\.toml: .*gone\.md: cannot be read"),
        (FILE.replace("query =", "url = 'http://x'\n#"), None),
        (FILE.replace("query =", "#"), r".*agent orders: it needs a url, or a database and a query"),
        (FILE.replace("settle = 0.9", "settle = 9"), r".*<= 1.* - at `\$\.agent\[0\]\.settle`"),
        (
            FILE.replace('kind = "faq"', 'kind = "faq"\nclass = "x"'),
            r".*agent questions: no class is called 'x'",
        ),
    ],
)
def test_what_it_says_wrongly_is_one_line(tmp_path, text, line):
    path = write(tmp_path, text)
    if line is None:
        read(path, backend=lambda _: ScriptedBackend())
        return
    with pytest.raises(ConfigError) as caught:
        read(path, backend=lambda _: ScriptedBackend())
    assert re.match(line, str(caught.value)), str(caught.value)
    assert "\n" not in str(caught.value)


def test_without_a_backend_no_model_has_a_seat(tmp_path):
    assert "model" not in [each.agent.name for each in read(write(tmp_path, FILE))]


def test_a_lookup_may_ask_the_programs_own_database(tmp_path):
    path = write(tmp_path, FILE.replace('database = "orders.db"', ""))
    assert len(read(path, database=tmp_path / "books.db")) == 5


def test_a_file_that_is_not_there_is_one_line(tmp_path):
    with pytest.raises(ConfigError, match=r"gone\.toml: cannot be read"):
        read(tmp_path / "gone.toml")


def test_a_class_that_makes_no_agent_is_refused(tmp_path):
    class Mute:
        def __init__(self, **settings):
            self.name = settings["name"]

    text = FILE.replace('kind = "form"', 'kind = "form"\nclass = "mute"')
    with pytest.raises(ConfigError, match="agent appointment: Mute has no `async def answer"):
        read(write(tmp_path, text), classes={"mute": Mute})
