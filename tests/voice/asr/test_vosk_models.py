from __future__ import annotations

import zipfile

import pytest

from turnbudget.voice import cache
from turnbudget.voice.asr import vosk_models
from turnbudget.voice.errors import AsrError, MissingEngine


@pytest.fixture(autouse=True)
def _nowhere(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TURNBUDGET_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("VOSK_MODEL_PATH", raising=False)


def model(place):
    for part in ("am", "graph", "conf"):
        (place / part).mkdir(parents=True)
        (place / part / "file").write_text("x")
    return place


def archive(tmp_path, *names):
    file = tmp_path / "vosk-model-en-0.3.75.aar"
    with zipfile.ZipFile(file, "w") as packed:
        for name in names:
            packed.writestr(name, "x")
    return file


def test_a_model_is_found_where_it_is_named_or_kept(tmp_path, monkeypatch):
    assert vosk_models.find() is None
    downloaded = model(tmp_path / ".cache" / "vosk" / "vosk-model-small-en-us-0.15")
    assert vosk_models.find() == downloaded
    kept = model(cache.folder() / vosk_models.NAME)
    assert vosk_models.find() == kept
    named = model(tmp_path / "mine")
    monkeypatch.setenv("VOSK_MODEL_PATH", str(named))
    assert vosk_models.find() == named


def test_a_folder_without_the_parts_of_a_model_is_refused(tmp_path):
    with pytest.raises(MissingEngine, match=r"no Vosk model here .*VOSK_MODEL_PATH"):
        vosk_models.checked(tmp_path)


def test_a_model_inside_an_artifact_is_unpacked(tmp_path):
    made = tmp_path / "made"
    made.mkdir()
    names = (f"assets/model-en-us/{part}/file" for part in ("am", "graph", "conf"))
    vosk_models.unpack(archive(tmp_path, "AndroidManifest.xml", *names), made)
    assert vosk_models.is_model(made)


def test_an_artifact_without_a_model_says_what_it_holds(tmp_path):
    made = tmp_path / "made"
    made.mkdir()
    with pytest.raises(AsrError, match=r"holds no model \(only assets/README, assets/uuid\)"):
        vosk_models.unpack(archive(tmp_path, "assets/README", "assets/uuid"), made)
    assert not any(made.iterdir())


def test_what_each_way_ended_in_is_told_in_one_line(monkeypatch):
    def fail(what):
        def get():
            raise AsrError(what)

        return get

    monkeypatch.setattr(vosk_models, "_by_vosk", fail("no network"))
    monkeypatch.setattr(vosk_models, "_by_maven", fail("the artifact holds no model"))
    with pytest.raises(AsrError) as caught:
        vosk_models.fetch()
    assert "no network" in str(caught.value)
    assert "holds no model" in str(caught.value)
    assert "\n" not in str(caught.value)
