"""Whole calls, word for word as the vendors' documents write them: what comes, what it means, what we say.

A line of a transcript begins with ``in`` (the far side says), ``is`` (it means), ``do`` (we want) or ``out``
(we say). What is not written must not happen.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from laws import each

from turnbudget.voice.lines.dialect import AudioIn, Dtmf, Hangup, MarkPlayed, Odd, Started
from turnbudget.voice.lines.twilio import TwilioDialect
from turnbudget.voice.lines.twilio_messages import PLIVO, TELNYX, VENDORS

TRANSCRIPTS = sorted((Path(__file__).parent / "transcripts").glob("*.txt"))
LIKE_TWILIO = ("signalwire", "fonoster")


def written(event):
    """Return *event* as a transcript writes it."""
    match event:
        case Started(info):
            said = f"tenant={info.tenant} caller={info.caller} called={info.called} token={info.token}"
            return f"Started {info.call} {info.stream} {said}"
        case AudioIn(samples, at):
            return f"AudioIn {' '.join(map(str, samples))} at {at}"
        case Dtmf(digit):
            return f"Dtmf {digit}"
        case MarkPlayed(name, cleared):
            return f"MarkPlayed {name}{' cleared' * cleared}"
        case Hangup(reason):
            return f"Hangup {reason}"
        case Odd(why):
            return f"Odd {why}"
    raise AssertionError(event)


def done(dialect, want):
    """Do what a transcript wants; return what it has us say."""
    what, *how = want.split()
    if what == "ended":
        return [f"is  {written(event)}" for event in dialect.ended()]
    given = [np.array([int(word) for word in how], np.int16)] if what == "audio" else how
    return [f"out {message}" for message in getattr(dialect, what)(*given)]


def replayed(lines, dialect):
    """Return the transcript that *dialect* makes of what comes and what is wanted in *lines*."""
    out = []
    for line in lines:
        kind, rest = line[:4].strip(), line[4:]
        if kind == "in":
            out += [line, *(f"is  {written(event)}" for event in dialect.receive(rest))]
        elif kind == "do":
            out += [line, *done(dialect, rest)]
    return out


def lines_of(path):
    return [line for line in path.read_text("utf-8").splitlines() if not line.startswith("#")]


@each("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_a_call_goes_as_its_vendor_documents_it(path):
    """TEL-01, TEL-12, TEL-19: clear, marks that prove nothing behind it, keys, our own track."""
    lines = lines_of(path)
    assert replayed(lines, TwilioDialect(VENDORS[path.stem])) == lines


@pytest.mark.parametrize("name", LIKE_TWILIO)
def test_some_vendors_speak_as_twilio_does(name):
    lines = lines_of(Path(__file__).parent / "transcripts" / "twilio.txt")
    assert replayed(lines, TwilioDialect(VENDORS[name])) == lines


def test_every_vendor_is_held_to_a_transcript():
    assert {path.stem for path in TRANSCRIPTS} | set(LIKE_TWILIO) == set(VENDORS)


def test_abilities_say_what_the_vendor_does():
    assert TwilioDialect().abilities.marks_on_clear
    assert not TwilioDialect(PLIVO).abilities.marks_on_clear
    assert TwilioDialect(TELNYX).abilities.rate == 8_000
    assert not TwilioDialect(VENDORS["fonoster"]).abilities.transfers
