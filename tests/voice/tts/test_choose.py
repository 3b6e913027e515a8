"""Which voice is taken, and what is said where none is."""

from __future__ import annotations

import pytest

from turnbudget.voice.errors import ConfigError, MissingEngine
from turnbudget.voice.tts import piper, pyttsx3
from turnbudget.voice.tts.choose import choose


@pytest.fixture
def installed(monkeypatch):
    def these(espeak="", joe=""):
        monkeypatch.setattr(pyttsx3, "reachable", lambda: espeak)
        monkeypatch.setattr(piper, "reachable", lambda: joe)

    return these


def test_auto_takes_the_fastest_voice_and_says_so(installed):
    installed(espeak="espeak-ng", joe="joe")
    synthesizer, why = choose()
    assert synthesizer.name == "pyttsx3"
    assert why == "pyttsx3 with espeak-ng; the fastest voice here"


def test_auto_takes_piper_where_espeak_is_missing(installed):
    installed(joe="joe")
    synthesizer, why = choose()
    assert synthesizer.name == "piper"
    assert synthesizer.voice.startswith("joe@200")
    assert "finds no espeak-ng" in why


@pytest.mark.parametrize("name", ["auto", "pyttsx3", "piper"])
def test_where_no_voice_is_the_message_says_what_to_type(installed, name):
    """TTS-06: a machine without a voice learns it at the start, with the package to install."""
    installed()
    with pytest.raises(MissingEngine, match=r"pip install 'turnbudget\[(espeak|piper)\]'"):
        choose(name)


def test_a_tone_can_always_be_chosen(installed):
    """TTS-06: a replay can go on without a voice, and says so."""
    installed()
    synthesizer, why = choose("scripted")
    assert synthesizer.name == "scripted"
    assert "no speech" in why


def test_an_unknown_name_or_rate_is_a_setting_to_mend(installed):
    installed(espeak="espeak-ng")
    with pytest.raises(ConfigError, match="choose of auto, pyttsx3, piper, scripted"):
        choose("hal")
    with pytest.raises(ConfigError, match="80 to 450"):
        choose("pyttsx3", rate=9_000)
