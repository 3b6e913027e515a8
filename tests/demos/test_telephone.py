"""The telephone of the pages calls a running server over each carrier, and says what it heard and when."""

from __future__ import annotations

import asyncio
import re

import numpy as np
import pytest
import soundfile
from floors import QUIET_US, SAYS, serving, url

from turnbudget.demos.telephone import CARRIERS, CallPlan, ring, stretches
from turnbudget.testing.tones import tone_of
from turnbudget.voice.errors import LineError
from turnbudget.voice.sound import audio

wall = pytest.mark.clock("wall")
TOKEN = "t" * 32
FALSE = "f" * 32
PUBLIC = "https://calls.example.com"
FLOOR = f'[serve]\npublic = "{PUBLIC}"\ntwilio_token = "{TOKEN}"\n[tenants.bank]\ncalled = ["+1 555 0199"]\n'
WHO = {"caller": "+15550100", "called": "+15550199"}


def plan(server, tmp_path, **how):
    """A wish to call *server* and say one sentence, which is a file."""
    file = tmp_path / "said.wav"
    soundfile.write(file, tone_of(SAYS[0], SAYS, audio.RATE), audio.RATE)
    there = {"server": url(server, ""), "socket": f"127.0.0.1:{server.listening.audiosocket_port}"}
    asked = {
        "origin": "",
        "rate": 8_000,
        "who": WHO,
        "says": (str(file),),
        "words": False,
        "patience_us": QUIET_US,
        **how,
    }
    return CallPlan(**there, **asked)


def test_sound_less_than_half_a_second_apart_is_one():
    frame, loud, quiet = 160, np.full(160, 1_000, np.int16), np.zeros(160, np.int16)
    sound = audio.join([quiet, loud, *[quiet] * 24, loud, *[quiet] * 25, loud, quiet])
    assert stretches(sound, frame) == [(frame, 27 * frame), (52 * frame, 53 * frame)]
    assert stretches(quiet, frame) == []


@wall
async def test_over_each_carrier_it_says_what_it_heard_and_how_long_it_waited(tmp_path, capsys):
    async with serving(tmp_path) as (server, _), asyncio.TaskGroup() as calls:
        for carrier in CARRIERS:
            calls.create_task(ring(carrier, plan(server, tmp_path)), name=carrier)
    told = capsys.readouterr().out.splitlines()
    for greeting, said, answer, sum_up, then in zip(*[iter(told)] * 5, strict=True):
        assert "heard" in greeting
        assert said.endswith("said.wav")
        assert re.search(r"heard  \d\.\d s of sound  \(\d+ ms later\)", answer)
        assert sum_up == "1 of 1 answered; ended: the caller hung up"
        assert then.startswith("then: ")
    assert len(told) == 5 * len(CARRIERS)


@wall
async def test_it_signs_as_twilio_does(tmp_path, capsys):
    async with serving(tmp_path, floor=FLOOR) as (server, _):
        await ring("twilio", plan(server, tmp_path, origin=PUBLIC, token=TOKEN))
        assert capsys.readouterr().out.endswith("then: Twilio obeys <Hangup>\n")
        with pytest.raises(LineError, match="403"):
            await ring("twilio", plan(server, tmp_path, origin=PUBLIC, token=TOKEN[1:]))


@wall
async def test_a_call_that_is_not_taken_is_one_line(tmp_path):
    async with serving(tmp_path, floor=FLOOR) as (server, _):
        strange = {**WHO, "called": "+15550111"}
        with pytest.raises(LineError, match=r"not taken: Twilio obeys <Reject>"):
            await ring("twilio", plan(server, tmp_path, origin=PUBLIC, token=TOKEN, who=strange))
        with pytest.raises(LineError, match="403"):
            await ring("chan_websocket", plan(server, tmp_path, token=FALSE))
        with pytest.raises(LineError, match="not taken: 401"):
            await ring("audiosocket", plan(server, tmp_path))


@wall
async def test_it_says_that_nobody_is_there(tmp_path):
    async with serving(tmp_path) as (server, _):
        gone = plan(server, tmp_path)
    with pytest.raises(LineError, match="did not take part"):
        await ring("audiosocket", gone)
