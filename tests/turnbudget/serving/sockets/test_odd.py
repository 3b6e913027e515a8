"""What is odd about a carrier's messages is told of its call, each kind once, however many there are."""

from __future__ import annotations

import logging

from hall import Carried, Table, hall, hangs_up, over
from test_keys import twilio

from turnbudget.voice.lines.telephone import KINDS
from turnbudget.voice.sound.encoding import called
from turnbudget.voice.time.clock import MS, SECOND


async def oddly(*messages):
    """The notes of a call whose carrier says *messages* too, and speaks another law than it says."""
    async with hall(Table({})) as (floor, happenings):
        dialect, far = twilio(floor)
        far._law = called("alaw")
        script = [(100 * MS, lambda far, message=message: far._out.append(message)) for message in messages]
        await Carried(floor, dialect, far, [*script, *hangs_up(2 * SECOND)]).run()
        return (await over(happenings)).record.notes


async def test_another_encoding_than_the_carrier_says_is_told_whatever_else_was_odd(caplog):
    """AUD-14: A-law declared as mu-law, and messages before it that mean nothing."""
    caplog.set_level(logging.INFO)
    notes = await oddly("not json", "not json", '{"event":"foo"}')
    law = "a constant 716 in mulaw: another encoding, or a dead line"
    assert f"odd, 1 times: {law}" in notes
    assert "odd, 2 times: a message that is no JSON" in notes
    logged = [record.message for record in caplog.records if "odd, " in record.message]
    assert logged == [
        "twilio: odd, a message that is no JSON",
        "twilio: odd, an event that is not known: 'foo'",
        f"twilio: odd, {law}",
    ]


async def test_a_flood_of_odd_messages_of_every_kind_is_a_few_lines(caplog):
    """TEL-04: a carrier that says something new each time."""
    caplog.set_level(logging.INFO)
    notes = await oddly(*(f'{{"event":"new {number}"}}' for number in range(1_000)))
    assert notes[-1].endswith("times: others")
    assert len([note for note in notes if note.startswith("odd, ")]) == KINDS + 1
    assert len([record for record in caplog.records if "odd, " in record.message]) == KINDS
