"""A switch that drops silent calls gets sound for as long as a call lasts; one that is gone is no hang-up."""

from __future__ import annotations

import asyncio
import itertools
import uuid

import pytest
from floors import SAYS
from hall import Carried, Table, hall, hangs_up, over, rows, says

from turnbudget.serving.doors.door import Guest
from turnbudget.serving.ending import reason
from turnbudget.serving.sockets.audiosocket import AudioSocketWire, ExpectedAudioSocket
from turnbudget.voice.call.responder import Reply
from turnbudget.voice.lines.audiosocket import FIRST
from turnbudget.voice.lines.far.audiosocket import FarAudioSocket
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import MS, SECOND

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


class Held(asyncio.Transport):
    """A TCP stream that takes whatever it gets."""

    def set_write_buffer_limits(self, high=None, low=None):
        """Have none."""

    def is_closing(self):
        return False

    def write(self, data):
        """Take it."""


@pytest.mark.parametrize(
    ("how", "why"),
    [
        (None, "caller-ended"),
        (ConnectionResetError(104, "Connection reset by peer"), "caller-ended"),
        (TimeoutError(110, "Connection timed out"), "line-lost"),
        (OSError(113, "No route to host"), "line-lost"),
    ],
)
async def test_a_switch_that_cannot_be_reached_any_more_has_not_hung_up(how, why):
    """TEL-20: a cut cable is told by what was not acknowledged; a caller who hung up by the stream's end."""
    async with hall(Table({})) as (floor, happenings):
        guest = Guest(trusted=True)
        wire = AudioSocketWire(floor, ExpectedAudioSocket(floor, guest), guest)
        wire.connection_made(Held())
        wire.data_received(FIRST + uuid.UUID(int=7).bytes)
        await clock.sleep(SECOND)
        wire.connection_lost(how)
        end = await over(happenings)
    assert reason(end.record.ended) == why
