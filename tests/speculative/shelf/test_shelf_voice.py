"""CA-05: a voice's name says all that can be heard of it, for what is kept is found by that name."""

from __future__ import annotations

import pytest

from turnbudget.speculative.shelf.store import FORM
from turnbudget.voice.tts import piper, pyttsx3
from turnbudget.voice.tts.choose import choose
from turnbudget.voice.tts.finish import EDITION
from turnbudget.voice.tts.process import ProcessSynthesizer


@pytest.fixture
def model(tmp_path):
    """A file that is no model, which is only looked at."""
    pytest.importorskip("piper")
    (tmp_path / "amy.onnx").write_bytes(b"weights")
    (tmp_path / "amy.onnx.json").write_text("{}")
    return tmp_path / "amy.onnx"


def named(engine, **options):
    return choose(engine, **options)[0].voice


def test_another_rate_or_voice_of_pyttsx3_is_another_name(monkeypatch):
    monkeypatch.setattr(pyttsx3, "reachable", lambda: "the voices of a system")
    names = [named("pyttsx3", rate=rate, voice=voice) for rate in (180, 200) for voice in ("", "en-gb")]
    assert len(set(names)) == 4
    assert named("pyttsx3", rate=180) == names[0]


def test_another_version_of_pyttsx3_or_its_engine_is_another_name(monkeypatch):
    versions = {"pyttsx3": "2.99", "espeakng-loader": "0.2.4"}
    monkeypatch.setattr(pyttsx3, "reachable", lambda: "espeak-ng of espeakng-loader")
    monkeypatch.setattr(pyttsx3.metadata, "version", versions.__getitem__)
    names = {named("pyttsx3")}
    versions["pyttsx3"] = "3.0"
    names.add(named("pyttsx3"))
    versions["espeakng-loader"] = "0.3"
    names.add(named("pyttsx3"))
    assert len(names) == 3
    assert "default@200, pyttsx3 2.99, espeakng-loader 0.2.4" in names


def test_another_model_under_the_same_name_is_another_name(model):
    names = [named("piper", voice=str(model))]
    names.append(named("piper", voice=str(model), rate=180))
    model.write_bytes(b"Weights")
    names.append(named("piper", voice=str(model)))
    model.with_name("amy.onnx.json").write_text('{"length_scale": 2}')
    names.append(named("piper", voice=str(model)))
    assert len(set(names)) == 4
    model.write_bytes(b"weights")
    model.with_name("amy.onnx.json").write_text("{}")
    assert named("piper", voice=str(model)) == names[0]


def test_another_version_of_piper_is_another_name(model, monkeypatch):
    before = named("piper", voice=str(model))
    monkeypatch.setattr(piper.metadata, "version", lambda _: "99")
    assert named("piper", voice=str(model)) != before


def test_a_voice_that_is_not_named_goes_by_its_options_and_tells_none():
    names = [
        ProcessSynthesizer("own.py:Own", options).voice for options in ({}, {"key": "secret"}, {"key": "x"})
    ]
    assert len(set(names)) == 3
    assert "secret" not in "".join(names)


def test_the_form_of_the_samples_is_part_of_what_is_asked_for():
    assert f"int16 16000 Hz, finish {EDITION}" == FORM
