"""A synthesizer that lives in worker processes, so that whatever an engine does, a turn only loses time.

There is one live worker and one warm spare. A worker that hangs, dies, raises, or makes a sound that
cannot be its text is killed and the spare takes its place at once, while a new spare warms up. One call is
served at a time; nobody waits beyond a Budget; a failed render is tried once more on the spare if there is
time left.

One worker is a :class:`Child`: started, asked, killed, reaped. An ask writes one request and reads one
answer in one thread, so the two ends cannot get out of step; a timer kills a worker that does not answer,
which ends the read.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
import os
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from turnbudget.voice.errors import MissingEngine, TtsError
from turnbudget.voice.language.sentences import pack
from turnbudget.voice.language.speakable import pronounceable
from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Budget
from turnbudget.voice.time.clock import MS, SECOND
from turnbudget.voice.tts import engine
from turnbudget.voice.tts.finish import Sound
from turnbudget.voice.tts.synthesizer import Speech

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import BinaryIO


LIMIT_US: Final = 2 * SECOND
"""Longest render without a budget of its own (µs; 2 s)."""
QUEUE: Final = 64
"""Renders that may wait; more means that somebody asks for sounds nobody needs."""
ODD: Final = 3
"""Sounds of a strange length in a row that are worth a warning; one is just a strange text."""
PAUSE: Final = audio.samples(120 * MS)
"""Silence between the pieces of a text that was too long for one render (samples; 120 ms)."""

_log = logging.getLogger(__name__)


LOAD_US: Final = 30 * clock.SECOND
"""Longest wait for a worker to be ready (µs; 30 s)."""
SAMPLE: Final = 2
"""Length of a sample (bytes)."""


class WorkerPatience(NamedTuple):
    """How long a worker may take for one piece of text.

    After *hung_us* it counts as hung. If less than twice that is left of a Budget, the worker gets half of
    what is left, but at least *quick_us*, and the spare gets the rest.
    """

    hung_us: int = 900 * MS
    quick_us: int = 200 * MS


PATIENCE: Final = WorkerPatience()
"""Patience with a voice of which nothing else is known."""


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
        """The process id; ``None`` before the start."""
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
        """Return *text* as sound; raises TtsError within *patience_us*, which ends this worker."""
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
        """Kill the process; whoever waits for it reads an end of file."""
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
        # Somebody's own engine is looked for where we looked; ours need nothing but what is installed.
        own = [] if self._engine in engine.ENGINES else [str(Path(place).resolve()) for place in sys.path]
        path = os.pathsep.join(filter(None, [home, os.environ.get("PYTHONPATH", ""), *own]))
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

    def _send(self, head: engine.Head) -> None:
        stdin, _ = self._pipes()
        try:
            engine.write_message(stdin, head)
        except (OSError, ValueError) as error:
            raise self._lost() from error

    def _receive(self) -> tuple[engine.Head, bytes]:
        _, stdout = self._pipes()
        try:
            return engine.read_message(stdout)
        except (EOFError, OSError, ValueError) as error:
            raise self._lost() from error

    def _sound(self, head: engine.Head, body: bytes) -> Sound:
        if head.get("id") != self._asked or head["kind"] != "sound":
            raise TtsError(f"{self._engine}: {head.get('what', 'an answer to something else')}")
        samples = np.frombuffer(body[: len(body) // SAMPLE * SAMPLE], "<i2").astype(np.int16)
        if not 0 <= head["onset"] < samples.size or len(body) % SAMPLE:
            raise TtsError(f"{self._engine} returned no whole sound")
        return Sound(
            samples=samples,
            onset=head["onset"],
            padding_us=head["padding_us"],
            doubt=head["doubt"],
            cpu_us=head["cpu_us"],
        )

    def _lost(self) -> TtsError:
        return TtsError(f"the worker of {self._engine} died or did not answer")


class _Seat(NamedTuple):
    child: Child
    ready: asyncio.Future[Child]


class _Ask(NamedTuple):
    child: Child
    sound: asyncio.Future[Sound]


class ProcessSynthesizer:
    """A voice whose *engine* (:func:`turnbudget.voice.tts.engine.load`) runs in worker processes."""

    def __init__(
        self,
        engine: str,
        options: Mapping[str, Any] | None = None,
        *,
        name: str = "",
        voice: str = "",
        patience: WorkerPatience = PATIENCE,
    ) -> None:
        self.name = name or engine
        self.voice = voice or _unnamed(options or {})
        self._engine = engine
        self._options = dict(options or {})
        self._patience = patience
        self._pool = ThreadPoolExecutor(4, thread_name_prefix=f"tts-{self.name}")
        self._lock = asyncio.Lock()
        self._queued = 0
        self._live: _Seat | None = None
        self._spare: _Seat | None = None
        self._running: set[asyncio.Future[Any]] = set()
        self._asked: _Ask | None = None
        self._closed = False
        self._odd = 0
        self.replaced = 0
        """Number of workers lost so far."""

    async def warm(self) -> None:
        """Start both workers and wait until each has spoken; raises MissingEngine or TtsError."""
        live, spare = self._seats()
        await asyncio.wait([live.ready, spare.ready])
        live.ready.result()

    async def render(self, text: str, budget: Budget | None = None) -> Speech:
        """Return *text* as sound before *budget* ends (2 s if there is none); raises TtsError."""
        began = clock.now()
        if not pronounceable(text):
            raise TtsError("nothing to speak")
        if self._queued >= QUEUE:
            raise TtsError(f"{QUEUE} texts wait for {self.name} already")
        budget = budget or Budget.of(LIMIT_US)
        self._queued += 1
        held = False
        try:
            async with clock.move_on_at(budget.ends_us):
                held = await self._lock.acquire()
            if not held:
                raise self._late()
            pieces = filter(pronounceable, pack(text))
            sounds = [await self._piece(piece, budget) for piece in pieces]
        finally:
            self._queued -= 1
            if held:
                self._lock.release()
        first = sounds[0]
        doubt = next((sound.doubt for sound in sounds if sound.doubt), "")
        self._odd = self._odd + 1 if doubt else 0
        if self._odd == ODD:
            _log.warning("%s: %r %s", self.name, text[:40], doubt)
        return Speech(
            text=text,
            samples=_joined(sounds),
            onset=first.onset,
            voice=self.voice,
            padding_us=first.padding_us,
            cost_us=clock.now() - began,
            doubt=doubt,
            cpu_us=sum(sound.cpu_us for sound in sounds),
        )

    async def aclose(self) -> None:
        """Kill and reap the workers, and end the threads."""
        self._closed = True
        children = [seat.child for seat in (self._live, self._spare) if seat]
        self._live = self._spare = None
        for child in children:
            child.kill()
        for child in children:
            self._run(child.end)
        while self._running:
            await asyncio.wait(self._running)
        self._pool.shutdown()

    async def _piece(self, text: str, budget: Budget) -> Sound:
        """Return one piece of text as sound, at the second attempt if the first worker fails."""
        allowed = max(self._patience.quick_us, min(self._patience.hung_us, budget.left() // 2))
        try:
            return await self._attempt(text, budget, allowed)
        except TtsError:
            if budget.left() <= 0 or self._closed:
                raise
        return await self._attempt(text, budget, self._patience.hung_us)

    async def _attempt(self, text: str, budget: Budget, allowed: int) -> Sound:
        await self._drain(budget)
        live, _ = self._seats()
        if not await clock.wait_until([live.ready], budget.ends_us):
            raise self._late()
        if isinstance(live.ready.exception(), TtsError):
            self._replace(live)
        child = live.ready.result()
        if budget.left() <= 0:
            raise self._late()
        asked: asyncio.Future[Sound] = self._run(child.ask, text, self._patience.hung_us)
        self._asked = _Ask(child, asked)
        asked.add_done_callback(partial(self._settle, live))
        if not await clock.wait_until([asked], min(budget.ends_us, clock.now() + allowed)):
            if budget.left() > 0:  # it had its share; whoever has none left says nothing about the worker
                child.kill()
            raise self._late()
        return asked.result()

    async def _drain(self, budget: Budget) -> None:
        """Wait a little for a sound that nobody wants any more."""
        if self._asked is None:
            return
        child, sound = self._asked
        soon = min(budget.ends_us, clock.now() + self._patience.quick_us)
        if await clock.wait_until([sound], soon):
            return
        if budget.left() > 0:
            child.kill()
        if not await clock.wait_until([sound], budget.ends_us):
            raise self._late()

    def _settle(self, seat: _Seat, asked: asyncio.Future[Sound]) -> None:
        """Handle the end of an ask, whether or not anybody still waits for it."""
        if asked.exception() is not None:
            self._replace(seat)

    def _replace(self, seat: _Seat) -> None:
        if self._live is seat and not self._closed:
            self.replaced += 1
            self._live, self._spare = self._spare, self._launch()

    def _seats(self) -> tuple[_Seat, _Seat]:
        if self._closed:
            raise TtsError(f"{self.name} has been closed")
        self._live = self._live or self._launch()
        self._spare = self._spare or self._launch()
        return self._live, self._spare

    def _launch(self) -> _Seat:
        child = Child(self._engine, self._options)
        return _Seat(child, self._run(child.start))

    def _run(self, work: Any, *arguments: Any) -> asyncio.Future[Any]:
        """Run blocking *work* in a thread of ours, whether or not anybody waits for it."""
        future = asyncio.get_running_loop().run_in_executor(self._pool, work, *arguments)
        self._running.add(future)
        future.add_done_callback(self._ran)
        return future

    def _ran(self, future: asyncio.Future[Any]) -> None:
        self._running.discard(future)
        future.exception()  # has been seen, even if nobody asks for it

    def _late(self) -> TtsError:
        return TtsError(f"{self.name} gave no sound in time")


def _unnamed(options: Mapping[str, Any]) -> str:
    """Return a name, made of a checksum of *options*, for a voice that was given none."""
    if not options:
        return "default"
    settings = json.dumps(dict(options), sort_keys=True, default=repr)
    return f"default, options {hashlib.sha256(settings.encode()).hexdigest()[:12]}"


def _joined(sounds: list[Sound]) -> audio.Int16:
    parts = [part for sound in sounds for part in (audio.silence(PAUSE), sound.samples)]
    return audio.join(parts[1:])
