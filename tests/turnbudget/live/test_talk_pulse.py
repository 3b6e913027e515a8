"""The whole of ``turnbudget talk`` on a sound card that PulseAudio makes: three turns with real engines."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest
import soundfile
from rapidfuzz import fuzz

from turnbudget.runs.folder import load
from turnbudget.settings.compose import render_phrase
from turnbudget.settings.config import Config
from turnbudget.settings.engines import open_voice
from turnbudget.voice.asr import choose as transcribers
from turnbudget.voice.errors import MissingEngine
from turnbudget.voice.lines.portaudio import library
from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import MS, SECOND

SAYINGS = (
    "I would like to check my account balance.",
    "My savings account please.",
    "No, that was it. Thank you very much.",
)
LIKE = 50.0
"""So alike (percent) is what is heard at least: a recogniser for people hears a synthesizer's voice."""
CARD = """\
load-module module-native-protocol-unix socket={socket} auth-anonymous=1
load-module module-null-sink sink_name=caller rate=48000
load-module module-null-sink sink_name=agent rate=48000
set-default-source caller.monitor
set-default-sink agent
"""
TALK = "from turnbudget.commands.talking import talk; talk()"
ROW = re.compile(r"^ +(\d+|·) (\w+) ")
BY_US = 20 * SECOND


@pytest.fixture
def pulse(tmp_path):
    """A sound server of our own, whose microphone hears the sink ``caller``; the environment to use it."""
    for tool in ("pulseaudio", "paplay", "parec"):
        if not shutil.which(tool):
            pytest.skip(f"no {tool}: apt install pulseaudio pulseaudio-utils")
    try:
        library()
    except MissingEngine as missing:
        pytest.skip(str(missing))
    home = tmp_path / "pulse"
    home.mkdir(mode=0o700)
    card = home / "card.pa"
    card.write_text(CARD.format(socket=home / "socket"))
    own = {"HOME": str(home), "XDG_RUNTIME_DIR": str(home), "PULSE_RUNTIME_PATH": str(home)}
    daemon = ["pulseaudio", "-n", "-F", str(card), "--daemonize=yes", "--exit-idle-time=-1", "--realtime=no"]
    started = subprocess.run(  # noqa: S603 - the system's own
        daemon, env=os.environ | own, capture_output=True, text=True, check=False
    )
    if started.returncode:
        pytest.skip(f"PulseAudio does not start here: {started.stderr.strip()[-200:]}")
    yield os.environ | {"PULSE_SERVER": f"unix:{home / 'socket'}"}
    subprocess.run(  # noqa: S603 - likewise
        [*daemon[:1], "--kill"], env=os.environ | own, check=True
    )


async def rendered(folder):
    """What the caller says, as files; and how each sounds."""
    try:
        voice, _ = open_voice(Config(), "wall")
        transcribers.choose("auto")
    except MissingEngine as missing:
        pytest.skip(str(missing))
    try:
        await voice.warm()
        for number, text in enumerate(SAYINGS):
            speech = await render_phrase(voice, text)
            soundfile.write(folder / f"{number}.wav", speech.samples, audio.RATE)
    finally:
        await voice.aclose()


@contextlib.asynccontextmanager
async def running(*command, env, **how):
    """A process that is gone when the block ends."""
    process = await asyncio.create_subprocess_exec(*command, env=env, **how)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def row(talk):
    """Wait for the next row that is printed; return its number and outcome."""
    async with clock.move_on_at(clock.now() + BY_US):
        while line := await talk.stdout.readline():
            if found := ROW.match(line.decode()):
                return found.groups()
    pytest.fail(f"no row came: {(await talk.stderr.read()).decode()[-500:]}")


def stretches(sound):
    """How often *sound* is loud; silences under 300 ms are in one stretch."""
    loud = np.flatnonzero(np.abs(sound.astype(int)) > 300)
    return 0 if not loud.size else 1 + int(np.count_nonzero(np.diff(loud) > 0.3 * audio.RATE))


@pytest.mark.quiet
@pytest.mark.clock("wall")
async def test_a_caller_is_answered_three_times_through_a_sound_card(pulse, tmp_path):
    """Their voice goes in by one virtual cable, ours comes out of another, and every turn is witnessed."""
    await rendered(tmp_path)
    run, heard = tmp_path / "run", tmp_path / "heard.raw"
    form = ("--format=s16le", "--rate=16000", "--channels=1", "--raw", "--latency-msec=20")
    listen = ("parec", "--device=agent.monitor", *form)
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with heard.open("wb") as file:
        async with (
            running(*listen, env=pulse, stdout=file),
            running(
                sys.executable, "-c", TALK, "--latency=high", "--record", str(run), env=pulse, **pipes
            ) as talk,
        ):
            assert (await row(talk))[0] == "·"
            for number in range(len(SAYINGS)):
                say = ("paplay", "--device=caller", str(tmp_path / f"{number}.wav"))
                async with running(*say, env=pulse) as saying:
                    await saying.wait()
                assert (await row(talk))[1] in {"answered", "shelved", "bridged"}
            talk.send_signal(signal.SIGINT)
            out, error = await talk.communicate()
    assert talk.returncode == 0, error.decode()
    assert "you hung up" in out.decode()
    summary, rows = load(run)
    turns = [row for row in rows if row.kind == "turn"]
    assert len(turns) == len(SAYINGS)
    for turn, said in zip(turns, SAYINGS, strict=True):
        assert fuzz.ratio(turn.heard.lower(), said.lower()) > LIKE
        assert abs(turn.witness_us - turn.first_sound_us) < 10 * MS  # a busy machine comes between
        assert {"device in", "device out"} <= {lane.name for lane in turn.lanes}
    [call] = summary.calls
    sound, _ = soundfile.read(run / call.audio, dtype="int16")
    ours = np.fromfile(heard, np.int16)
    sent, sounded = (np.count_nonzero(np.abs(track) > 300) for track in (sound[:, 1], ours))
    assert sounded > 0.7 * sent  # a busy machine makes gaps; what is played is ours
    assert stretches(ours) >= 1 + len(SAYINGS)
