"""Whole calls on real sockets, in real time: three turns, each answered inside the budget."""

from __future__ import annotations

import uuid

import pytest
from floors import SAYS, call, call_audiosocket, serving

from turnbudget.serving.events import CallBegan, CallEnded, TurnEnded
from voice import clock
from voice.lines.far.audiosocket import FarAudioSocket
from voice.lines.far.chan_websocket import FarChanWebsocket
from voice.lines.far.jambonz import FarJambonz
from voice.lines.far.twilio import FarTwilio
from voice.lines.far.vonage import FarVonage

pytestmark = pytest.mark.clock("wall")
BUDGET_US = 800_000
FARS = {
    "/twilio/ws": lambda now: FarTwilio(began_us=now),
    "/asterisk/ws": lambda now: FarChanWebsocket(began_us=now, transmits_silence=True),
    "/vonage/ws": lambda now: FarVonage(began_us=now),
    "/jambonz/ws": lambda now: FarJambonz(began_us=now),
    "audiosocket": lambda now: FarAudioSocket(uuid.uuid4().bytes, began_us=now),
}


@pytest.mark.parametrize("path", FARS)
async def test_a_call_of_three_turns_is_answered_in_time(tmp_path, path):
    async with serving(tmp_path) as (server, happenings):
        far = FARS[path](clock.now())
        if path == "audiosocket":
            heard = await call_audiosocket(server, far)
        else:
            heard = await call(server, path, far)
        while server.floor.calls:
            await clock.sleep(10_000)
        print(heard, far.refused)
        rows = [one.row for one in happenings if isinstance(one, TurnEnded)]
        turns = [row for row in rows if row.kind == "turn"]
        print([(row.heard, row.said, row.outcome, row.first_sound_us) for row in rows])
        assert heard.greeted
        assert [row.heard for row in turns] == list(SAYS)
        assert max(heard.waits_us) <= BUDGET_US
        assert not far.refused
