"""Engines for the worker process that go wrong where the text says so, once or always."""

from __future__ import annotations

import os
import threading
import wave
from pathlib import Path

import numpy as np

from turnbudget.voice.errors import MissingEngine
from turnbudget.voice.tts.engine import Raw
from turnbudget.voice.tts.finish import expected_us
from turnbudget.voice.tts.pyttsx3 import Pyttsx3


class Faulty:
    """A 440 Hz tone; a fault named in the text happens once if *marks* is a folder, else each time."""

    pace = 1.0

    def __init__(self, marks: str = "", rate: int = 16_000, says: int = 0) -> None:
        self._marks = marks
        self._rate = rate
        self._says = says or rate

    def say(self, text: str) -> Raw:
        print("engines print, and the protocol must not mind")  # noqa: T201 - as pyttsx3 does
        for fault in ("hang", "exit", "raise", "empty", "silent", "short", "noise"):
            if fault in text.lower() and self._first(fault):
                return getattr(self, f"_{fault}")()
        drawl = 1.6 if "drawl" in text.lower() else 1.0
        count = self._rate * expected_us(text, drawl) // 1_000_000
        return self._raw(0.3 * np.sin(np.arange(count) * 2 * np.pi * 440 / self._rate))

    def _first(self, fault: str) -> bool:
        if not self._marks:
            return True
        mark = Path(self._marks) / fault
        seen = mark.exists()
        mark.touch()
        return not seen

    def _raw(self, samples: np.ndarray) -> Raw:
        return Raw(samples.astype(np.float32), self._says)

    def _hang(self) -> Raw:
        threading.Event().wait()
        raise AssertionError("never reached")

    def _exit(self) -> Raw:
        os._exit(3)

    def _raise(self) -> Raw:
        raise RuntimeError("run loop already started")

    def _empty(self) -> Raw:
        return self._raw(np.zeros(0))

    def _silent(self) -> Raw:
        return self._raw(np.zeros(16_000))

    def _short(self) -> Raw:
        return self._raw(np.full(200, 0.1))

    def _noise(self) -> Raw:
        return self._raw(np.where(np.arange(16_000) % 2, 1.0, -1.0))


class Absent:
    """An engine whose package is not here."""

    def __init__(self) -> None:
        raise MissingEngine("it is not here", remedy="pip install it")


class Unready:
    """An engine that cannot load its voice."""

    def __init__(self) -> None:
        raise ValueError("the model is broken")


class Careless(Pyttsx3):
    """pyttsx3 whose driver forgets to write, writes only a header, or writes late."""

    def __init__(self, marks: str = "") -> None:
        self._marks = Path(marks)
        super().__init__()

    def _open(self) -> Driver:
        return Driver(self._marks)


class Driver:
    def __init__(self, marks: Path) -> None:
        self._marks = marks
        self._order = ("", "")

    def setProperty(self, name: str, value: object) -> None:  # noqa: N802 - as pyttsx3 spells it
        pass

    def save_to_file(self, text: str, path: str) -> None:
        self._order = (text, path)

    def runAndWait(self) -> None:  # noqa: N802 - as pyttsx3 spells it
        text, path = self._order
        if not path:
            return
        if "late" in text:
            threading.Timer(0.3, _write, (path, expected_us(text))).start()
        elif "zero" in text and not (self._marks / "zero").exists():
            (self._marks / "zero").touch()
            Path(path).touch()
        elif "header" in text and not (self._marks / "header").exists():
            (self._marks / "header").touch()
            _write(path, 0)
        else:
            _write(path, expected_us(text))


def _write(path: str, us: int) -> None:
    samples = 8_000 * np.sin(np.arange(22_050 * us // 1_000_000) / 20)
    with wave.open(path, "wb") as file:
        file.setparams((1, 2, 22_050, 0, "NONE", ""))
        file.writeframes(samples.astype("<i2").tobytes())
