"""One worker process as its parent sees it: started, asked, killed, reaped.

Every method but :meth:`Child.kill` blocks and belongs in a thread. An ask writes one request and reads one
answer in one thread, so the two ends cannot get out of step; a timer kills a worker that does not answer,
which ends the read.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from turnbudget.voice.errors import MissingEngine, TtsError
from turnbudget.voice.time import clock
from turnbudget.voice.tts import pipe
from turnbudget.voice.tts.finish import Sound

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import BinaryIO

LOAD_US: Final = 30 * clock.SECOND
"""A worker that is not ready after so long never will be."""
SAMPLE: Final = 2
"""Bytes in a sample."""


class Child:
    """A worker process with *engine* (see :func:`turnbudget.voice.tts.engine.load`) and its *options*."""

    def __init__(self, engine: str, options: Mapping[str, Any]) -> None:
        self._command = [
            sys.executable,
            "-P",
            "-m",
            "turnbudget.voice.tts.worker",
            engine,
            json.dumps(dict(options)),
        ]
        self._engine = engine
        self._process: subprocess.Popen[bytes] | None = None
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        self._guard = threading.Lock()
        self._killed = False
        self._asked = 0

    @property
    def pid(self) -> int | None:
        """The process id, once it is started."""
        return self._process.pid if self._process else None

    def start(self) -> Child:
        """Start the process and wait until its engine has spoken once."""
        try:
            self._begin()
        except BaseException:
            self.end()
            raise
        return self

    def ask(self, text: str, patience_us: int) -> Sound:
        """Return *text* as sound, or raise TtsError within *patience_us*; then this worker has ended."""
        self._asked += 1
        try:
            with clock.alarm(patience_us, self.kill):
                self._send({"id": self._asked, "text": text})
                head, body = self._receive()
            return self._sound(head, body)
        except BaseException:
            self.end()
            raise

    def kill(self) -> None:
        """Kill the process, whatever it does; whoever waits for it reads an end of file."""
        self._killed = True
        if self._process is not None:
            self._process.kill()

    def end(self) -> None:
        """Kill the process, reap it, and give back its pipes and files."""
        with self._guard:
            self.kill()
            if self._process is not None:
                self._process.wait()
                for stream in self._pipes():
                    with contextlib.suppress(OSError):
                        stream.close()
            if self._scratch is not None:
                self._scratch.cleanup()
                self._scratch = None

    def _begin(self) -> None:
        with self._guard:
            if self._killed:
                raise TtsError("the voice has been closed")
            try:
                self._spawn()
            except OSError as error:
                raise TtsError(f"no worker of {self._engine} can be started: {error}") from error
        with clock.alarm(LOAD_US, self.kill):
            head, _ = self._receive()
        if head["kind"] == "missing":
            raise MissingEngine(head["what"], where="tts", remedy=head["remedy"])
        if head["kind"] != "ready":
            raise TtsError(f"{self._engine} does not start: {head.get('what')}")

    def _spawn(self) -> None:
        self._scratch = tempfile.TemporaryDirectory(prefix="turnbudget-")
        home = str(Path(__file__).parents[3])
        path = os.pathsep.join(filter(None, [home, os.environ.get("PYTHONPATH", "")]))
        environment = os.environ | {"PYTHONPATH": path, "TMPDIR": self._scratch.name}
        # A pipe for stderr could fill and block the worker; what matters is told in an answer.
        self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module, no shell
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )

    def _pipes(self) -> tuple[BinaryIO, BinaryIO]:
        if self._process is None or self._process.stdin is None or self._process.stdout is None:
            raise self._lost()
        return self._process.stdin, self._process.stdout  # type: ignore[return-value]  # IO[bytes] is one

    def _send(self, head: pipe.Head) -> None:
        stdin, _ = self._pipes()
        try:
            pipe.write(stdin, head)
        except (OSError, ValueError) as error:
            raise self._lost() from error

    def _receive(self) -> tuple[pipe.Head, bytes]:
        _, stdout = self._pipes()
        try:
            return pipe.read(stdout)
        except (EOFError, OSError, ValueError) as error:
            raise self._lost() from error

    def _sound(self, head: pipe.Head, body: bytes) -> Sound:
        if head.get("id") != self._asked or head["kind"] != "sound":
            raise TtsError(f"{self._engine}: {head.get('what', 'an answer to something else')}")
        samples = np.frombuffer(body[: len(body) // SAMPLE * SAMPLE], "<i2").astype(np.int16)
        if not 0 <= head["onset"] < samples.size or len(body) % SAMPLE:
            raise TtsError(f"{self._engine} returned no whole sound")
        return Sound(samples, head["onset"], head["padding_us"], head["doubt"], head["cpu_us"])

    def _lost(self) -> TtsError:
        return TtsError(f"the worker of {self._engine} died or did not answer")
