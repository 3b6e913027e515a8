"""A carrier of somebody's own is served beside ours, at the path of its name."""

from __future__ import annotations

import sys

import pytest
from floors import SAYS, FarVonage, call, serving, until

from turnbudget.serving.events import CallBegan
from turnbudget.voice.errors import ConfigError
from turnbudget.voice.time import clock

LINE = """
from turnbudget.voice.lines.pcm_websocket import PcmWebsocket
from turnbudget.voice.lines.vonage import Vonage


def speaks():
    return PcmWebsocket(Vonage())


def fails():
    raise RuntimeError("no such wire")
"""


@pytest.fixture(autouse=True)
def _theirs(tmp_path, monkeypatch):
    (tmp_path / "their_line.py").write_text(LINE)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("their_line", None)


@pytest.mark.clock("wall")
async def test_a_line_of_somebodys_own_carries_calls_at_the_path_of_its_name(tmp_path):
    async with serving(tmp_path, carriers={"theirs": "their_line:speaks"}) as (server, happenings):
        heard = await call(server, "/theirs/ws", FarVonage(began_us=clock.now()), says=SAYS[:1])
        await until(lambda: not server.floor.calls)
    assert heard.greeted
    assert [one.line for one in happenings if isinstance(one, CallBegan)] == ["vonage"]


@pytest.mark.clock("wall")
@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        ("their_line:fails", r"their_line:fails cannot be made \(RuntimeError: no such wire\)"),
        ("their_line:gone", "their_line:gone cannot be loaded"),
        ("json:loads.__name__.upper", "makes no Dialect: it has no name, transport, "),
    ],
)
async def test_a_line_that_is_none_is_one_line_before_any_call(tmp_path, spec, fault):
    with pytest.raises(ConfigError, match=f"serve.carriers: .*{fault}"):
        async with serving(tmp_path, carriers={"theirs": spec}):
            pass
