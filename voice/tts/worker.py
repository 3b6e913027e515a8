"""The program of a worker process: one engine, one request at a time, checked sound out.

``python -m turnbudget.voice.tts.worker pyttsx3 '{"rate": 180}'`` reads requests on its standard input and
answers on its standard output (:mod:`turnbudget.voice.tts.engine`). Whatever an engine prints goes to
standard error, and when the parent goes away, so does the worker, whatever its engine is doing.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
from typing import TYPE_CHECKING, BinaryIO, Final

import numpy as np

from turnbudget.voice.errors import MissingEngine, TurnbudgetError
from turnbudget.voice.time import clock
from turnbudget.voice.tts import engine, finish

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turnbudget.voice.tts.engine import Engine

WARM: Final = "One moment, please."
"""Text that is rendered at the start, to load everything."""
WAITING: Final = 8
"""Requests read ahead; the parent sends one at a time."""


def main(arguments: Sequence[str]) -> int:
    """Serve the engine named until the parent closes our input."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent decides
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    requests: queue.Queue[engine.Head] = queue.Queue(WAITING)
    threading.Thread(target=_listen, args=(requests,), name="requests", daemon=True).start()
    try:
        voice = engine.load(arguments[0], json.loads(arguments[1]) if len(arguments) > 1 else {})
        _render(voice, WARM)
    except MissingEngine as missing:
        engine.write_message(out, {"kind": "missing", "what": missing.what, "remedy": missing.remedy})
        return 1
    except Exception as error:  # noqa: BLE001 - any fault of an engine is told, not shown
        engine.write_message(out, {"kind": "failed", "what": _told(error)})
        return 1
    engine.write_message(out, {"kind": "ready"})
    while True:
        _answer(voice, requests.get(), out)


def _listen(requests: queue.Queue[engine.Head]) -> None:
    """Pass requests on; end the process with its parent, even while the engine hangs."""
    stream = os.fdopen(0, "rb")
    try:
        while True:
            head, _ = engine.read_message(stream)
            requests.put(head)
    except (EOFError, OSError, ValueError):
        os._exit(0)


def _answer(voice: Engine, request: engine.Head, out: BinaryIO) -> None:
    began = clock.cpu()
    try:
        sound = _render(voice, request["text"])
    except Exception as error:  # noqa: BLE001 - any fault of an engine is told, not shown
        engine.write_message(out, {"kind": "failed", "id": request["id"], "what": _told(error)})
        return
    head = {
        "kind": "sound",
        "id": request["id"],
        "onset": sound.onset,
        "padding_us": sound.padding_us,
        "doubt": sound.doubt,
        "cpu_us": clock.cpu() - began,
    }
    engine.write_message(out, head, sound.samples.astype("<i2").tobytes())


def _render(voice: Engine, text: str) -> finish.Sound:
    raw = voice.say(text)
    return finish.finish(np.asarray(raw.samples, np.float32), raw.rate, text, voice.pace)


def _told(error: Exception) -> str:
    if isinstance(error, TurnbudgetError):
        return str(error)
    return f"{type(error).__name__}: {error}".splitlines()[0]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
