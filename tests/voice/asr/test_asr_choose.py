from __future__ import annotations

import pytest

from turnbudget.voice.asr import choose as choosing
from turnbudget.voice.asr.choose import choose
from turnbudget.voice.errors import ConfigError, MissingEngine


@pytest.fixture
def engines(monkeypatch):
    """Set what each engine lacks."""

    def lacking(**lacks):
        monkeypatch.setattr(
            choosing, "ENGINES", {name: lambda lack=lack: lack for name, lack in lacks.items()}
        )

    return lacking


def test_auto_takes_the_best_that_is_here_and_says_why(engines):
    engines(moonshine=None, vosk="pip install vosk")
    transcriber, why = choose()
    assert transcriber.name == "moonshine"
    assert why.startswith("moonshine: the one measured on telephone English")
    assert "vosk not ready" in why


def test_auto_takes_the_next_where_the_best_is_not(engines):
    engines(moonshine="pip install 'turnbudget[moonshine]'", vosk=None)
    assert choose()[0].name == "vosk"


def test_what_is_asked_for_is_taken(engines):
    engines(moonshine=None, vosk=None)
    transcriber, why = choose("vosk")
    assert (transcriber.name, why) == ("vosk", "vosk: asked for")


def test_an_engine_asked_for_and_absent_says_what_to_type(engines):
    engines(moonshine="pip install 'turnbudget[moonshine]'", vosk=None)
    with pytest.raises(MissingEngine) as caught:
        choose("moonshine")
    assert str(caught.value) == "asr: moonshine is not ready to run; type pip install 'turnbudget[moonshine]'"


def test_no_engine_at_all_names_every_way_out(engines):
    engines(moonshine="pip install 'turnbudget[moonshine]'", vosk="pip install vosk")
    with pytest.raises(MissingEngine, match=r"moonshine\].* or: pip install vosk"):
        choose()


def test_a_vosk_model_given_by_path_makes_vosk_ready(engines, tmp_path):
    engines(moonshine=None, vosk="turnbudget models vosk")
    assert choose("vosk", model=tmp_path)[0].name == "vosk"


def test_an_unknown_name_is_the_config_s_fault():
    with pytest.raises(ConfigError, match="'whisper'; use auto, moonshine or vosk"):
        choose("whisper")
