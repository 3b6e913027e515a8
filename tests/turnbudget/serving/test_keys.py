"""Keys in whole calls: one input, in order with speech, stopping a prompt, and written nowhere."""

from __future__ import annotations

import logging
import uuid

import msgspec
import pytest
from floors import SAYS
from hall import Carried, Table, hall, hangs_up, over, presses, rows, says

from turnbudget.serving.doors.door import Guest
from turnbudget.serving.sockets.audiosocket import ExpectedAudioSocket
from turnbudget.voice.hearing.events import KEYS
from turnbudget.voice.lines.chan_websocket import ChanWebsocket
from turnbudget.voice.lines.dialect import Hold
from turnbudget.voice.lines.far.audiosocket import FarAudioSocket
from turnbudget.voice.lines.far.twilio import FarTwilio
from turnbudget.voice.lines.pcm_websocket import PcmWebsocket
from turnbudget.voice.lines.twilio import TwilioDialect
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import MS, SECOND

LONG = " ".join(["press one for your balance and two for anything else"] * 6) + "."
REPLIES = {"1 2 3 4": "You pressed 1234.", "*": LONG, "5": "Fine."}
SCRIPT = [
    *presses("1234#", SECOND),
    *presses("*", 4 * SECOND),
    *presses("5", 8 * SECOND),
    *says(SAYS[0], 12 * SECOND),
    *hangs_up(16 * SECOND),
]


def twilio(_):
    return TwilioDialect(), FarTwilio(began_us=clock.now())


def audiosocket(floor):
    far = FarAudioSocket(uuid.UUID(int=7).bytes, began_us=clock.now(), transmits_silence=True)
    return ExpectedAudioSocket(floor, Guest(trusted=True)), far


@pytest.mark.parametrize("line", [twilio, audiosocket])
async def test_keys_are_one_input_stop_a_prompt_and_stay_in_order_with_speech(line, caplog):
    """TEL-12: 1, 2, 3, 4 at 120 ms steps and '#'; then '*'; then '5' while the agent speaks; then words."""
    caplog.set_level(logging.DEBUG)
    table = Table(REPLIES)
    async with hall(table) as (floor, happenings):
        call = await Carried(floor, *line(floor), SCRIPT).run()
        end = await over(happenings)
    assert table.asked == ["1 2 3 4", "*", "5", SAYS[0]]
    turns = rows(happenings)
    assert [row.heard for row in turns] == [KEYS, KEYS, KEYS, SAYS[0]]
    # A lone key is whole 2 s later, when the answer would be late: the bridge goes before it.
    assert [row.outcome for row in turns] == ["answered", "cut", "bridged", "answered"]
    assert turns[0].said == f"You pressed {KEYS}."
    before = [at for at in call.loud_us if at < 10 * SECOND]
    assert 7_900 * MS < before[-1] < 8_000 * MS + 200 * MS, "the prompt went on over the key"
    written = msgspec.json.encode([*turns, end.record, *end.rows]).decode() + caplog.text
    assert not [keys for keys in ("1 2 3 4", "1234") if keys in written]


async def test_keys_that_were_never_answered_are_masked_in_the_row_behind_them():
    """TEL-12: the caller goes on before the answer to their keys sounds; both are answered as one."""
    table = Table({"1 2 3 4": "You pressed 1234."})
    script = [
        *presses("1234", SECOND, 20 * MS),
        *presses("#", 2 * SECOND),
        *presses("9#", 2 * SECOND + 20 * MS, 20 * MS),
    ]
    async with hall(table) as (floor, happenings):
        await Carried(floor, *twilio(floor), [*script, *hangs_up(5 * SECOND)]).run()
        await over(happenings)
    assert table.asked[-1] == "1 2 3 4 9"
    assert [(row.heard, row.asked) for row in rows(happenings)][-1] == (KEYS, f"{KEYS} {KEYS}")
    assert "1 2 3 4" not in msgspec.json.encode(rows(happenings)).decode()


async def test_keys_that_come_with_the_start_of_a_call_are_not_lost():
    """TEL-05: in the same piece of the stream as the start, before there is a call to press them in."""
    table = Table({"7 7": "Seven."})
    async with hall(table) as (floor, happenings):
        await Carried(floor, *twilio(floor), [*presses("77#", 0, 0), *hangs_up(4 * SECOND)]).run()
        await over(happenings)
    assert table.asked == ["7 7"]


async def test_on_hold_nobody_speaks_and_behind_it_the_call_goes_on():
    """Nobody asks a caller on hold whether they are there."""
    dialect, far = twilio(None)
    on, off = [(at * SECOND, Hold(on=at == 2)) for at in (2, 30)]
    async with hall(Table({})) as (floor, happenings):
        call = Carried(floor, dialect, far, [*says(SAYS[0], 31 * SECOND), *hangs_up(35 * SECOND)])
        for at_us, hold in (on, off):
            clock.call_at(clock.now() + at_us, lambda hold=hold: call.connection.told(hold))
        await call.run()
        await over(happenings)
    assert not [at for at in call.loud_us if 2_100 * MS < at < 30 * SECOND]
    assert [row.outcome for row in rows(happenings)] == ["answered"]


def test_a_dialect_that_knows_keys_tells_them():
    """A key of Asterisk's WebSocket is one like any other."""
    dialect = PcmWebsocket(ChanWebsocket({}))
    dialect.receive(
        '{"event": "MEDIA_START", "channel": "c", "connection_id": "x", "channel_id": "1",'
        ' "format": "slin16", "optimal_frame_size": 640, "ptime": 20}'
    )
    [told] = dialect.receive('{"event": "DTMF_END", "digit": "5", "duration_ms": 90}')
    assert told.digit == "5"
