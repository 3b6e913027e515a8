"""How a call of ours ends: the last word is heard, the line is free, the caller is sent on if need be."""

from __future__ import annotations

import json

import msgspec
import numpy as np
import pytest
from floors import SAYS
from hall import Carried, Table, hall, hangs_up, over, rows, says
from test_keys import audiosocket, twilio
from watched import began, ended, rows_of

from turnbudget.council.remote.broker import broker_at
from turnbudget.serving.ending import EndReason, reason
from turnbudget.serving.watch.bus import Bus
from turnbudget.serving.watch.watching import Watched
from turnbudget.voice.call.responder import Reply
from turnbudget.voice.time.clock import MS, SECOND

GOODBYE = Reply(" ".join(["thank you very much for calling the bank"] * 5) + ".", "table", ends_call=True)
SENT_ON = Reply("I will put you through.", "table", transfer="+15550123")
SCRIPT = says(SAYS[0], SECOND)


async def parted(reply, line=twilio, **how):
    """A call in which *reply* answers the only sentence; its carrier, what happened, and its end."""
    async with hall(Table({SAYS[0]: reply})) as (floor, happenings):
        script = [*how.pop("script", SCRIPT), *hangs_up(50 * SECOND)]
        call = await Carried(floor, *line(floor), script, **how).run()
        end = await over(happenings)
        after = floor.once.look(f"after {end.record.call}") or floor.once.look(f"after {called(call)}")
    return call, happenings, end, after


def called(call):
    """The carrier's id of a call."""
    return call.connection._call.info.call


@pytest.mark.parametrize("lag_us", [0, 3 * SECOND])
async def test_the_goodbye_is_heard_to_its_end_before_we_hang_up(lag_us):
    """TEL-17: behind the final mark and half a second, however long the carrier's queue is."""
    call, happenings, end, _ = await parted(GOODBYE, lag_us=lag_us)
    [row] = rows(happenings)
    assert row.said == GOODBYE.text
    last, closed = call.loud_us[-1], call.closed_us - call.began_us
    assert 500 * MS <= closed - last <= 2 * SECOND + 100 * MS
    assert np.count_nonzero(call.far.playout.heard()) == 0, "nothing was left to hear"
    assert end.record.ended == "we said goodbye"


async def test_a_mark_that_never_comes_is_not_waited_for_for_ever():
    """TEL-17: an upper limit."""
    call, _, _, _ = await parted(GOODBYE, deaf='"mark"')
    assert 5 * SECOND <= call.closed_us - call.began_us - call.loud_us[-1] <= 7 * SECOND


@pytest.mark.parametrize("line", [twilio, audiosocket])
async def test_when_we_said_goodbye_the_line_is_free_within_two_seconds(line):
    """TEL-18: and the reason is that the agent ended the call."""
    call, _, end, _ = await parted(GOODBYE, line)
    assert call.closed_us - call.began_us - call.loud_us[-1] <= 2 * SECOND
    assert reason(end.record.ended, end.transfer) is EndReason.AGENT_ENDED


async def test_a_caller_who_speaks_behind_our_goodbye_is_answered():
    """They have the time that it takes to say one thing more."""
    short = Reply("Bye.", "table", ends_call=True)
    call, happenings, _, _ = await parted(short, script=[*SCRIPT, *says(SAYS[1], 3 * SECOND)])
    assert [row.heard for row in rows(happenings)] == list(SAYS[:2])
    assert call.closed_us is None or call.closed_us - call.began_us > 10 * SECOND


@pytest.mark.parametrize("line", [twilio, audiosocket])
async def test_a_caller_who_is_sent_on_hears_it_first_and_the_carrier_is_told_where(line):
    call, happenings, end, after = await parted(SENT_ON, line)
    assert rows(happenings)[-1].said == SENT_ON.text
    assert after == end.transfer == "+15550123"
    assert reason(end.record.ended, end.transfer) is EndReason.TRANSFERRED
    assert 400 * MS <= call.closed_us - call.began_us - call.loud_us[-1] <= SECOND


async def test_over_a_line_that_cannot_send_on_the_call_goes_on():
    """What a reply promises there is the tenant's to mend; nobody is cut off."""

    def vonage(_):
        dialect, far = twilio(None)
        dialect.name = "fonoster"
        return dialect, far

    _, _, end, after = await parted(SENT_ON, vonage, script=[*SCRIPT, *hangs_up(9 * SECOND)])
    assert (end.transfer, after) == ("", None)
    assert end.record.ended == "caller hung up (stop)"


class Told:
    """A link that keeps what it is given."""

    def __init__(self):
        self.letters = []

    def deliver(self, letter):
        self.letters.append((letter.topic.rpartition("/")[2], json.loads(letter.payload)))


@pytest.mark.parametrize("texts", [False, True])
async def test_a_transfer_is_told_with_a_summary_before_the_call_ends(texts):
    """Texts stand in it where they are asked for, and nowhere else."""
    bus = Bus(broker_at("mqtt://127.0.0.1:1"), Watched(None, None), site="main", texts=texts)
    bus.link = Told()
    turns = rows_of("c1", 2)
    bus(began("c1"))
    bus(ended("c1", turns, reason="the caller was sent on", transfer="+15550123"))
    assert [name for name, _ in bus.link.letters] == ["began", "transfer_requested", "ended"]
    [_, (_, asked), (_, last)] = bus.link.letters
    assert asked["handover"]["target"] == "+15550123"
    assert bool(asked["handover"]["lines"]) is texts
    assert (last["reason"], last["transferred"]) == ("transferred", True)
    assert [body["seq"] for _, body in bus.link.letters] == [0, 1, 2]
    assert msgspec.json.encode(asked)
