"""Whole calls on real sockets, in real time: three turns, each answered inside the budget."""

from __future__ import annotations

import msgspec
import pytest
from floors import FARS, SAYS, call, serving, until

from turnbudget.runs.folder import load
from turnbudget.runs.records import CallRecord
from turnbudget.serving.events import CallBegan, CallEnded, TurnEnded
from turnbudget.serving.journal import CALLS
from turnbudget.voice.time.crew import Crew

pytestmark = [pytest.mark.clock("wall"), pytest.mark.quiet]
BUDGET_US = 800_000


async def test_calls_of_every_carrier_are_answered_in_time_turn_after_turn(tmp_path):
    fars = {path: make() for path, make in FARS.items()}
    async with serving(tmp_path) as (server, happenings):
        async with Crew() as crew:
            tasks = {path: crew.create_task(call(server, path, far), name=path) for path, far in fars.items()}
            heard = {path: await task for path, task in tasks.items()}
        await until(lambda: not server.floor.calls)
        folder = server.floor.journal.folder
    began = {one.call: one.line for one in happenings if isinstance(one, CallBegan)}
    assert sorted(began.values()) == ["audiosocket", "chan_websocket", "jambonz", "twilio", "vonage"]
    for name, line in began.items():
        turns = [one.row for one in happenings if isinstance(one, TurnEnded) and one.call == name]
        assert [row.heard for row in turns if row.kind == "turn"] == list(SAYS), line
        assert all(row.in_time for row in turns), line
    for path, told in heard.items():
        assert told.greeted, path
        assert len(told.waits_us) == len(SAYS), path
        assert max(told.waits_us) <= BUDGET_US, path
        assert fars[path].refused == [], path
    ended = [one.record for one in happenings if isinstance(one, CallEnded)]
    written = [
        msgspec.json.decode(line, type=CallRecord) for line in (folder / CALLS).read_bytes().splitlines()
    ]
    assert written == ended
    assert load(folder).summary.turns == len(SAYS) * len(FARS)
    assert list(folder.glob("*.wav")) == [], "nobody consented to a recording"
