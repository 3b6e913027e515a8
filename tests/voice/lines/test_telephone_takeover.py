"""A telephone line whose far side opens another stream for the same call."""

from __future__ import annotations

import numpy as np

from turnbudget.voice.lines.far.twilio import FarCall, FarTwilio
from turnbudget.voice.lines.telephone import TelephoneLine
from turnbudget.voice.lines.twilio import TwilioDialect
from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock


def stream(far, line_or_dialect):
    """Give what *far* says until now to a line, or to a dialect alone."""
    for message in far.advance(clock.now()):
        line_or_dialect.receive(message)


async def test_the_callers_audio_goes_on_where_the_clock_says():
    """TEL-09: what the caller says on the second stream is not put into the past."""
    sent, told = [], []
    before = FarTwilio(began_us=clock.now())
    line = TelephoneLine(TwilioDialect(), lambda _: None, told.append)
    for _ in range(50):
        await clock.sleep(20_000)
        stream(before, line)
    await clock.sleep(2 * clock.SECOND)
    second, dialect = FarTwilio(call=FarCall(stream="MZ2"), began_us=clock.now()), TwilioDialect()
    stream(second, dialect)
    line.take_over(dialect, sent.append, told.append)
    line._frames.clear()
    for _ in range(5):
        await clock.sleep(20_000)
        stream(second, line)
    first, *_, last = line._frames
    assert abs(audio.us(first.at) - 3 * clock.SECOND) <= 60_000
    assert last.at + last.samples.size == first.at + sum(frame.samples.size for frame in line._frames)
    line.send(np.ones(audio.FRAME, np.int16))
    assert sent
    assert all('"MZ2"' in message for message in sent)


async def test_a_line_says_why_it_ended():
    line = TelephoneLine(TwilioDialect(), lambda _: None, lambda _: None)
    far = FarTwilio(began_us=clock.now())
    stream(far, line)
    far.hang_up()
    stream(far, line)
    assert (line.over, line.ended) == (True, "caller hung up (stop)")
    other = TelephoneLine(TwilioDialect(), lambda _: None, lambda _: None)
    other.hang_up("the server is going down")
    other.lost()
    assert (other.over, other.ended) == (True, "the server is going down")
