"""Calls are told apart by the carrier's ids: two with one id are one call, those without are many."""

from __future__ import annotations

import uuid

import pytest
from floors import SAYS
from hall import Carried, Table, hall, hangs_up, over, rows, says

from turnbudget.serving.doors.door import Guest
from turnbudget.serving.events import CallBegan, CallEnded
from turnbudget.serving.sockets.audiosocket import ExpectedAudioSocket
from turnbudget.voice.call.responder import Reply
from turnbudget.voice.lines.far.audiosocket import FarAudioSocket
from turnbudget.voice.lines.far.jambonz import FarJambonz
from turnbudget.voice.lines.far.vonage import FarVonage
from turnbudget.voice.lines.jambonz import Jambonz
from turnbudget.voice.lines.pcm_websocket import PcmWebsocket
from turnbudget.voice.lines.vonage import Vonage
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import SECOND
from turnbudget.voice.time.crew import Crew


def vonage():
    """A call that says of itself what Vonage says unless the answer's headers add to it: nothing."""
    return Vonage(), FarVonage(began_us=clock.now())


def jambonz():
    return Jambonz(), FarJambonz(began_us=clock.now(), metadata={"callSid": ""})


@pytest.mark.parametrize("line", [vonage, jambonz])
async def test_a_call_that_says_no_id_takes_no_other_one_over(line):
    """TEL-09: a caller never finds themselves in the call of somebody else who has no id either."""
    table = Table({})
    async with hall(table) as (floor, happenings), Crew() as crew:
        calls = []
        for sentence in SAYS[:2]:
            vendor, far = line()
            script = [*says(sentence, SECOND), *hangs_up(5 * SECOND)]
            calls.append(Carried(floor, PcmWebsocket(vendor), far, script))
            crew.create_task(calls[-1].run(), name="caller")
            await clock.sleep(2 * SECOND)
        await clock.sleep(6 * SECOND)
        assert len([one for one in happenings if isinstance(one, CallBegan)]) == 2
        assert {one.record.ended for one in happenings if isinstance(one, CallEnded)} == {
            "caller hung up (the socket was closed)"
        }
    assert [call.far.closed for call in calls] == ["the caller hung up"] * 2
    assert [(row.heard, row.outcome) for row in rows(happenings)] == [(said, "answered") for said in SAYS[:2]]


@pytest.mark.parametrize("then", ["+15550199", ""])
async def test_where_a_call_goes_is_not_where_one_before_it_with_its_id_went(then):
    """A dialplan may come back with the same UUID when nobody answered where the caller was sent."""
    table = Table({})
    async with hall(table) as (floor, happenings):
        for target in ("+15550123", then):
            happenings.clear()
            table.replies = {SAYS[0]: Reply("One moment.", "table", transfer=target, ends_call=not target)}
            dialect = ExpectedAudioSocket(floor, Guest(trusted=True))
            far = FarAudioSocket(uuid.UUID(int=7).bytes, began_us=clock.now())
            await Carried(floor, dialect, far, says(SAYS[0], SECOND)).run()
            await over(happenings)
            assert (floor.once.look(f"after {uuid.UUID(int=7)}") or "") == target
