"""The pages hold: what they say to type can be typed, what they say to write down is read, and it answers."""

from __future__ import annotations

import re
import shlex
import tomllib

import pytest
from dialplan import Asterisk, parse
from floors import SAYS, serving, until
from laws import each
from shipped import ROOT
from test_readme import PRIVATE, commands, fault

from turnbudget.serving.config import load as load_floor
from turnbudget.serving.events import CallBegan
from turnbudget.settings.config import load as load_agent

PAGES = sorted((ROOT / "docs").glob("*.md"))
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
INCLUDED = re.compile(r"`(demos/[\w/.]+)`:\n\n```\w*\n(.*?)^```", re.DOTALL | re.MULTILINE)
wall = pytest.mark.clock("wall")


def text(name):
    return (ROOT / name).read_text("utf-8")


def blocks(language):
    """Return the code blocks in *language* of every page, each with its page's name."""
    return [
        pytest.param(block, id=f"{page.stem} {number}")
        for page in PAGES
        for number, (kind, block) in enumerate(BLOCK.findall(page.read_text("utf-8")))
        if kind == language
    ]


def dialplans():
    """Return the dialplans of the page about Asterisk, in its order."""
    return [block for kind, block in BLOCK.findall(text("docs/asterisk.md")) if not kind]


def program_fault(words):
    """Return what is wrong with a ``python FILE …`` command, ``None`` if it can be typed."""
    file = ROOT / words[1]
    if not file.is_file():
        return f"{words[1]} is not there"
    source = file.read_text("utf-8")
    unknown = [word for word in words if word.startswith("--") and f'"{word.partition("=")[0]}' not in source]
    return f"{' '.join(words)}: no option {', '.join(unknown)}" if unknown else None


def programs(page):
    """Return the ``python FILE …`` commands of *page*, those within its sentences included."""
    told = page.read_text("utf-8")
    lines = [line for kind, block in BLOCK.findall(told) if kind == "sh" for line in block.splitlines()]
    lines += re.findall(r"`(python [^`]+)`", told)
    return [shlex.split(line, comments=True) for line in lines if line.startswith("python ")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_says_to_type_can_be_typed(page):
    told = page.read_text("utf-8")
    assert [bad for words in commands(told) if (bad := fault(words))] == []
    assert [bad for words in programs(page) if (bad := program_fault(words))] == []
    extras = tomllib.loads(text("pyproject.toml"))["project"]["optional-dependencies"]
    assert {
        name for names in re.findall(r"turnbudget\[([\w,]+)\]", told) for name in names.split(",")
    } <= set(extras)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_is_short_leads_somewhere_and_knows_no_machine_of_ours(page):
    told = page.read_text("utf-8")
    assert len(told.splitlines()) <= 120
    assert PRIVATE.findall(told) == []
    links = [link.partition("#")[0] for link in re.findall(r"\]\(([^)]+)\)", told) if "://" not in link]
    assert [link for link in links if not (page.parent / link).is_file()] == []
    named = re.findall(r"`((?:demos|voice|turnbudget|docs|bench)/[\w/]+\.\w+)`", told)
    assert [name for name in named if not (ROOT / name).is_file()] == []


@pytest.mark.parametrize("block", blocks("toml"))
def test_settings_on_a_page_are_read(block, tmp_path, monkeypatch):
    for name in re.findall(r"env:(\w+)", block):
        monkeypatch.setenv(name, f"{name:x<24}")
    path = tmp_path / "floor.toml"
    path.write_text(block, "utf-8")
    if "[serve]" in block or "[tenants." in block:
        floor, _ = load_floor(path)
        assert floor.tenants
    else:
        load_agent(path)


@pytest.mark.parametrize(
    "file", sorted((ROOT / "demos").glob("*/floor.toml")), ids=lambda file: file.parent.name
)
def test_a_floor_that_is_shipped_is_read_and_stands_on_its_page(file, monkeypatch):
    monkeypatch.setenv("TWILIO_AUTH_TOKEN", "t" * 32)
    load_floor(file)
    assert file.read_text("utf-8") in text(f"docs/{file.parent.name}.md")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_file_that_a_page_shows_is_the_file(page):
    for name, block in INCLUDED.findall(page.read_text("utf-8")):
        assert block == text(name), name


def test_the_pages_show_their_files():
    shown = {name for page in PAGES for name, _ in INCLUDED.findall(page.read_text("utf-8"))}
    assert shown >= {"demos/asterisk/extensions.conf", "demos/asterisk/floor.toml", "demos/twilio/floor.toml"}


@each(
    "line",
    [
        "exten => 1,1,Set(A=${UUID()",
        "exten => 1,1,Answr()",
        "exten => 1,1,Set(A=${CURLY(x)})",
        'exten => 1,1,GotoIf($["a" = "b"]?nowhere)',
        "same => n,Answer()",
        "exten = 1,Answer()",
    ],
)
def test_a_dialplan_that_asterisk_would_not_take_is_caught(line):
    with pytest.raises(ValueError):  # noqa: PT011 - whatever it says
        parse(line)


# --- the dialplans, run -------------------------------------------------------------------------------


def plan(block, server):
    """Return the steps of *block*'s only extension, with the ports of *server*."""
    at = block.replace("127.0.0.1:8080", f"127.0.0.1:{server.listening.port}")
    at = at.replace("127.0.0.1:9092", f"127.0.0.1:{server.listening.audiosocket_port}")
    ((extension, steps),) = parse(at).items()
    return steps, extension


def floor():
    return text("demos/asterisk/floor.toml")


@wall
async def test_two_lines_are_enough(tmp_path):
    async with serving(tmp_path) as (server, _):
        channel = Asterisk(*plan(dialplans()[0], server), says=())
        await channel.run()
        assert channel.heard[0].greeted
        assert channel.trace == ["Answer", "AudioSocket"]


@wall
async def test_the_dialplan_says_who_calls_and_holds_three_turns(tmp_path):
    async with serving(tmp_path, floor=floor()) as (server, happenings):
        channel = Asterisk(*plan(dialplans()[1], server), says=SAYS)
        await channel.run()
        assert len(channel.heard[0].waits_us) == 3
        began = next(one for one in happenings if isinstance(one, CallBegan))
        assert (began.info.caller, began.info.called, began.tenant) == ("15550100", "100", "bank")


@wall
async def test_a_full_floor_is_busy_before_the_call_is_answered(tmp_path):
    """The place of the call before, which has not come yet, counts."""
    async with serving(tmp_path, floor=floor().replace("most_calls = 20", "most_calls = 1")) as (server, _):
        steps, extension = plan(dialplans()[1], server)
        first = Asterisk(steps[:3], extension)
        await first.run()
        assert first.variables["TAKEN"] == "taken"
        second = Asterisk(steps, extension)
        await second.run()
        assert second.trace[-1] == "Busy"
        assert "Answer" not in second.trace


@wall
async def test_the_dialplan_dials_where_the_agent_sends_the_caller(tmp_path):
    async with serving(tmp_path, floor=floor()) as (server, _):
        channel = Asterisk(*plan(dialplans()[1], server), hangs_up=False)

        def send_on(happening):
            if isinstance(happening, CallBegan):
                running = server.floor.calls[happening.call]
                running.transfer = "+1 555-0123"
                running.end("the caller was sent on")

        server.floor.watch(send_on)
        await channel.run()
        assert channel.trace[-3:] == ["Dial", "Local/+15550123@from-internal", "Hangup"]


@wall
async def test_the_16_khz_line_takes_the_place_of_two(tmp_path):
    lines = dialplans()[1].splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if "Answer()" in line)
    wide = "".join([*lines[:at], dialplans()[2], *lines[at + 2 :]])
    async with serving(tmp_path, floor=floor(), audiosocket_rate=16_000) as (server, _):
        channel = Asterisk(*plan(wide, server))
        await channel.run()
        assert len(channel.heard[0].waits_us) == 1


@wall
async def test_the_websocket_line_answers(tmp_path):
    (conf,) = [block for kind, block in BLOCK.findall(text("docs/asterisk.md")) if kind == "ini"]
    async with serving(tmp_path, floor=floor()) as (server, happenings):
        sockets = conf.replace("8080", str(server.listening.port))
        channel = Asterisk(*plan(dialplans()[3], server), says=(), sockets=sockets)
        await channel.run()
        assert channel.heard[0].greeted
        await until(lambda: any(isinstance(one, CallBegan) for one in happenings))
        assert next(one for one in happenings if isinstance(one, CallBegan)).info.caller == "15550100"
