"""What the tests of what surrounds a call share: rows and calls that are over, and servers that misbehave."""

from __future__ import annotations

import asyncio
import contextlib

import numpy as np
import soundfile
from aiohttp import web

from turnbudget.runs.records import CallRecord, DecisionRow, EntryRow, Row
from turnbudget.serving.events import CallBegan, CallEnded
from turnbudget.voice.lines.dialect import CallInfo
from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import SECOND

TOKEN = "t0p-secret-" + "token"
SECRET = "whsec_" + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
INFO = CallInfo("CA1", caller="+15550100199", called="sip:bank@example.com", token=TOKEN)


def row(turn=1, heard="what is my balance", said="It is 12 dollars.", **how):
    """A turn that was answered after 500 ms."""
    how = {"outcome": "answered", "first_sound_us": 500_000, "first_answer_us": 500_000, **how}
    began = turn * 5 * SECOND
    return Row(
        kind=how.pop("kind", "turn"),
        call="c1",
        turn=turn,
        heard=heard,
        said=said,
        reference=None,
        speech_began_call_us=began,
        speech_ended_call_us=began + SECOND,
        speech_ended_by="vad",
        vad_ended_call_us=began + SECOND,
        budget_us=800_000,
        closed_us=500_000,
        witness_us=500_000,
        entries=(EntryRow(stage="endpoint", us=500_000, owner="endpoint", owner_kind="setting"),),
        **how,
    )


TRANSFER = DecisionRow(at_us=0, took="transfer", because="handoff: a person was asked for")
ROWS = (row(1), row(2, "a person please", "I will put you through.", decisions=(TRANSFER,)))


def record(ended="the caller hung up", *, sound="", turns=2, seconds=16, notes=()):
    """The record of a call."""
    return CallRecord(
        call="c1",
        source="twilio",
        length_us=seconds * SECOND,
        turns=turns,
        audio=sound,
        ended=ended,
        notes=notes,
    )


def began(at_us=0):
    """A call that begins."""
    return CallBegan("c1", "bank", "twilio", INFO, at_us)


def ended(rows=ROWS, *, transfer="", pauses=(), **how):
    """A call that is over."""
    slots = {"account": "savings"}
    return CallEnded("c1", "bank", record(**how), tuple(rows), transfer=transfer, slots=slots, pauses=pauses)


def wav(path, seconds=16):
    """A stereo call: the caller speaks from 5 s and from 10 s on, for a second; we after each."""
    sides = np.random.default_rng(1).normal(0, 8, (seconds * audio.RATE, 2))
    tone = 6_000 * np.sin(np.arange(audio.RATE) / 4)
    for at, side in ((5, 0), (7, 1), (10, 0), (12, 1)):
        sides[at * audio.RATE : (at + 1) * audio.RATE, side] += tone
    soundfile.write(path, np.rint(sides).astype(np.int16), audio.RATE)
    return path


class Scripted:
    """Sends nothing: answers with each of *answers* in turn, the last for ever; ``None`` hangs."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.sent = []

    async def __call__(self, url, headers, body, until_us):
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        self.sent.append((url, dict(headers), body))
        if isinstance(answer, OSError):
            raise answer
        if answer is None:
            await clock.sleep_until(until_us)
            return 0
        return answer


@contextlib.asynccontextmanager
async def listening(*answers, path="/hook"):
    """A real server on this machine that gives *answers*, the last for ever; ``None`` hangs.

    An answer is a status, or the text of one with 200. Its address and what came are what one gets.
    """
    came, waiting, left = [], asyncio.Event(), list(answers)

    async def answer(request):
        came.append((request, await request.read()))
        said = left.pop(0) if len(left) > 1 else left[0]
        if said is None:
            await waiting.wait()
        return web.Response(text=said) if isinstance(said, str) else web.Response(status=said or 200)

    app = web.Application(client_max_size=1 << 24)
    app.router.add_route("*", path, answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}{path}", came
    finally:
        waiting.set()
        await runner.cleanup()
