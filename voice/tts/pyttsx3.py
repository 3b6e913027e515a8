"""pyttsx3 inside a worker: the system's own voice, ten milliseconds a sentence, if it is watched.

On Linux it drives espeak-ng, from the system or from the package espeakng-loader, which needs no root.
Faults seen in 2.99 and kept away from here: the first run of a process ends before its speech does and may
leave an order to stop, which cuts the second to a header of 44 bytes; two saves before one run write only
the last; two threads hang; ``''`` raises an AssertionError; a folder that is not there raises nothing. So
the first run is an empty one, espeak-ng is idle before each call, there is one call at a time, and a file
counts when it has been read and is long enough.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import platform
import sys
import tempfile
import threading
from importlib import metadata
from pathlib import Path
from typing import Any, Final

import soundfile

from turnbudget.voice.errors import MissingEngine, TtsError
from turnbudget.voice.sound import audio
from turnbudget.voice.tts.engine import Raw
from turnbudget.voice.tts.finish import shortest_us

SYSTEM: Final = ("libespeak-ng.so.1", "libespeak.so.1")
"""Libraries of the system that pyttsx3 can drive."""
PACKAGED: Final = "espeakng-loader"
"""Package that brings espeak-ng."""
LATE: Final = 30
"""Looks, 20 ms apart, at a file that is not there yet: drivers return before they have written."""
REMEDY: Final = "pip install 'turnbudget[espeak]'"
"""What to type where espeak-ng is missing."""


def reachable() -> str:
    """Return what pyttsx3 would speak with here; '' if there is nothing."""
    if importlib.util.find_spec("pyttsx3") is None:
        return ""
    if sys.platform != "linux":
        return {"darwin": "the voices of macOS", "win32": "the voices of Windows"}.get(sys.platform, "")
    for library in SYSTEM:
        try:
            ctypes.CDLL(library)
        except OSError:
            continue
        return f"the system's {library}"
    return f"espeak-ng of {PACKAGED}" if importlib.util.find_spec("espeakng_loader") else ""


def edition() -> str:
    """Return the versions of what would speak here, since another one may sound different."""
    where = reachable()
    if not where:
        return ""
    if PACKAGED in where:
        engine = f"{PACKAGED} {metadata.version(PACKAGED)}"
    elif where.endswith(SYSTEM):
        info = ctypes.CDLL(where.rsplit(maxsplit=1)[-1]).espeak_Info
        info.restype = ctypes.c_char_p
        engine = f"espeak {info(None).decode()}"
    else:
        engine = f"{where} {platform.version()}"
    return f"pyttsx3 {metadata.version('pyttsx3')}, {engine}"


class Pyttsx3:
    """A voice of pyttsx3: *voice* as the driver names it ('' is its own choice), *rate* in words a minute."""

    def __init__(self, voice: str = "", rate: int = 200) -> None:
        self.pace = 200 / rate
        self._folder = Path(tempfile.mkdtemp(prefix="speech-"))
        self._pause = threading.Event()
        self._spoken = 0
        self._espeak: ctypes.CDLL | None = None
        self._engine = self._open()
        self._engine.runAndWait()
        self._engine.setProperty("rate", rate)
        if voice:
            self._engine.setProperty("voice", voice)

    def say(self, text: str) -> Raw:
        """Return *text* as sound, read back from the file that pyttsx3 wrote."""
        if self._espeak is not None:
            self._espeak.espeak_Synchronize()  # a driver that finds it playing orders it to stop
        self._spoken += 1
        path = self._folder / f"{self._spoken}.wav"
        self._engine.save_to_file(text, str(path))
        self._engine.runAndWait()
        try:
            return self._collect(path, shortest_us(text, self.pace))
        finally:
            path.unlink(missing_ok=True)

    def _open(self) -> Any:
        where = reachable()
        if not where:
            raise MissingEngine("pyttsx3 finds no espeak-ng to speak with", remedy=REMEDY)
        self._espeak = _espeak(where)
        import pyttsx3  # noqa: PLC0415 - finds the packaged espeak-ng only after it has been loaded

        engine = pyttsx3.init()
        if self._espeak is not None:
            self._espeak.espeak_Synchronize()
        return engine

    def _collect(self, path: Path, shortest: int) -> Raw:
        """Return the sound in the file at *path* once it is there, whole, and *shortest* µs long."""
        size = found = 0
        for look in range(LATE):
            found = path.stat().st_size if path.exists() else 0
            if found and (not look or found == size):
                raw = _read(path)
                if raw is not None and audio.us(audio.RATE) * len(raw.samples) // raw.rate >= shortest:
                    return raw
            size = found
            self._pause.wait(0.02)
        raise TtsError(f"pyttsx3 wrote {found} bytes, which hold no such speech")


def _read(path: Path) -> Raw | None:
    try:
        samples, rate = soundfile.read(path, dtype="float32")
    except (OSError, soundfile.SoundFileError):
        return None
    return Raw(samples, rate)


def _espeak(where: str) -> ctypes.CDLL | None:
    """Return the library that pyttsx3 will drive, the packaged one loaded first."""
    if sys.platform != "linux":
        return None
    if PACKAGED not in where:
        return ctypes.CDLL(where.rsplit(maxsplit=1)[-1])
    import espeakng_loader  # noqa: PLC0415 - an extra, imported when used

    os.environ["ESPEAK_DATA_PATH"] = espeakng_loader.get_data_path()
    return ctypes.CDLL(espeakng_loader.get_library_path(), mode=ctypes.RTLD_GLOBAL)
