"""A switch that drops silent calls gets sound for as long as a call lasts, whatever keeps us silent."""

from __future__ import annotations

import itertools
import uuid

from floors import SAYS
from hall import Carried, Table, hall, hangs_up, over, rows, says

from turnbudget.serving.doors.door import Guest
from turnbudget.serving.sockets.expected import ExpectedAudioSocket
from voice import clock
from voice.clock import MS, SECOND
from voice.lines.far.audiosocket import FarAudioSocket
from voice.responder import Reply

OPENING, REST = "This is the opening.", "And this is the rest."
STALL_US = 3 * SECOND


class Noted(Carried):
    """A call that notes when something was sent."""

    def __init__(self, *args):
        self.sent_us = []
        super().__init__(*args)

    def write(self, message):
        self.sent_us.append(clock.now() - self.began_us)
        super().write(message)


async def stalled():
    await clock.sleep(STALL_US)
    yield REST


async def test_a_reply_that_stalls_half_said_does_not_lose_the_call():
    """TEL-14: the LLM stops for 3 s behind its first sentence, and the caller's silence sends no frames."""
    far = FarAudioSocket(uuid.UUID(int=7).bytes, began_us=clock.now())
    script = [*says(SAYS[0], SECOND), *hangs_up(12 * SECOND)]
    async with hall(Table({SAYS[0]: Reply(OPENING, "table", rest=stalled())})) as (floor, happenings):
        line = ExpectedAudioSocket(floor, Guest(trusted=True))
        call = await Noted(floor, line, far, script).run()
        await over(happenings)
    assert far.closed == "the caller hung up"
    assert [(row.outcome, row.said) for row in rows(happenings)] == [("answered", f"{OPENING} {REST}")]
    apart = [later - sooner for sooner, later in itertools.pairwise(call.sent_us)]
    assert max(apart) <= 40 * MS
    assert far.refused == [], "nothing came faster than it is played"
