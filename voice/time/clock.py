"""The one clock; nothing else in the project touches time.

Time is integer microseconds on the running loop's clock. The same code runs on three loops:

``wall``
    real time, for live calls;
``skip``
    real components, idle time skipped: while work is under way beyond the loop (threads, and whatever
    stands inside :func:`beyond`) the clock runs with the wall, otherwise it jumps to the next timer;
``virtual``
    scripted and simulated components only: frozen between timers, first set first fired at equal
    instants, threads refused, :class:`~turnbudget.voice.errors.Deadlock` raised when nothing can ever happen.

All three are :class:`asyncio.SelectorEventLoop` with a selector of ours, which is public API: the selector
is where a loop waits, so it is the one place that can wait less, and the one place that sees how long the
loop was *not* waiting (:mod:`turnbudget.voice.time.pulse`).
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import selectors
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Literal, NewType, NoReturn, TypeVar, TypeVarTuple

from turnbudget.voice.errors import Deadlock, Defect
from turnbudget.voice.time.pulse import Pulse

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Iterator
    from concurrent.futures import Executor
    from contextvars import Context
    from types import TracebackType

    from turnbudget.voice.time.pulse import Stall

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
Kind = Literal["wall", "skip", "virtual"]
"""One of the three clocks."""
Micros = NewType("Micros", int)
"""Microseconds (an instant on the loop's clock, or a duration), as a type of their own where samples are
about."""

MS: Final = 1_000
"""Microseconds in a millisecond."""
SECOND: Final = 1_000_000
"""Microseconds in a second."""
GIVE_WAY_S: Final = 0.0005
"""Time after which a thread that computes lets another run (s; 0.5 ms)."""


def now() -> int:
    """Return the running loop's time in microseconds."""
    loop = asyncio.get_running_loop()
    return loop.now_us() if isinstance(loop, _OURS) else round(loop.time() * SECOND)


def kind() -> Kind:
    """Return which of the three clocks is running; a foreign loop counts as ``wall``."""
    return getattr(asyncio.get_running_loop(), "kind", "wall")


async def sleep_until(instant: int) -> None:
    """Wait until *instant* (µs on the clock); give way once even if it has passed."""
    woken = asyncio.get_running_loop().create_future()
    handle = call_at(instant, lambda: _wake(woken))
    try:
        await woken
    except BaseException:
        handle.cancel()
        raise


def call_at(instant: int, action: Callable[[], object]) -> asyncio.TimerHandle:
    """Have the loop call *action* at *instant* (µs on the clock); the handle can be cancelled."""
    return asyncio.get_running_loop().call_at(instant / SECOND, action)


async def sleep(us: int) -> None:
    """Wait for *us* microseconds."""
    await sleep_until(now() + us)


def _wake(woken: asyncio.Future[None]) -> None:
    if not woken.done():
        woken.set_result(None)


def move_on_at(instant: int) -> contextlib.AbstractAsyncContextManager[asyncio.Timeout]:
    """Cut the block short at *instant* (µs); the scope's ``expired()`` says whether it was cut.

    Never ``yield`` inside: the scope would cancel whoever consumes the generator.
    """
    return _MoveOn(instant)


class _MoveOn:
    """``asyncio.timeout_at`` that swallows its own expiry and nothing else."""

    def __init__(self, instant: int) -> None:
        self._scope = asyncio.timeout_at(instant / SECOND)

    async def __aenter__(self) -> asyncio.Timeout:
        return await self._scope.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Literal[True] | None:
        try:
            await self._scope.__aexit__(kind, error, trace)
        except TimeoutError:
            return True
        return None


async def wait_until(tasks: Iterable[asyncio.Future[Any]], instant: int, *, first: bool = False) -> bool:
    """Wait for all *tasks*, or the *first*, until *instant* (µs); return whether that was reached."""
    tasks = tuple(tasks)
    waiting = [task for task in tasks if not task.done()]
    if not waiting or (first and len(waiting) < len(tasks)):
        return True
    until = asyncio.FIRST_COMPLETED if first else asyncio.ALL_COMPLETED
    left = max(0, instant - now()) / SECOND
    done, pending = await asyncio.wait(waiting, timeout=left, return_when=until)
    return bool(done) if first else not pending


async def offload(function: Callable[..., T], *args: Any, executor: Executor | None = None) -> T:
    """Run blocking *function* in a thread, or in place in virtual time.

    For bookkeeping beside a call (disk): in virtual time it costs nothing and keeps its order. An engine
    whose cost matters calls ``loop.run_in_executor`` itself, which virtual time refuses.
    """
    if kind() == "virtual":
        return function(*args)
    return await asyncio.get_running_loop().run_in_executor(executor, function, *args)


@contextlib.contextmanager
def beyond() -> Iterator[None]:
    """Say that real work is under way outside the loop (a socket, a process) until the block ends.

    Under ``skip`` the clock runs with the wall meanwhile. Threads started by ``run_in_executor`` are
    counted without it.
    """
    loop = asyncio.get_running_loop()
    count: Callable[[int], None] = getattr(loop, "count_beyond", lambda _: None)
    count(1)
    try:
        yield
    finally:
        count(-1)


@contextlib.contextmanager
def alarm(us: int, action: Callable[[], None]) -> Iterator[None]:
    """Call *action* from another thread if the block takes longer than *us* microseconds.

    For blocking code that runs in a thread, where no loop's deadline reaches.
    """
    over = threading.Event()

    def wait() -> None:
        if not over.wait(us / SECOND):
            action()

    guard = threading.Thread(target=wait, name="alarm", daemon=True)
    guard.start()
    try:
        yield
    finally:
        over.set()
        guard.join()


def label() -> str | None:
    """Return the calendar time (UTC, ISO 8601) as a label for a record; ``None`` in virtual time."""
    return None if kind() == "virtual" else datetime.now(UTC).isoformat(timespec="seconds")


def cpu() -> int:
    """Return the CPU time this process has used, in microseconds."""
    return time.process_time_ns() // 1_000


def pulse() -> Pulse | None:
    """Return the running loop's heartbeat; ``None`` on a foreign loop, which has none."""
    return getattr(asyncio.get_running_loop(), "pulse", None)


def stalls(began: int, ended: int) -> tuple[Stall, ...]:
    """Return the stalls that touch the time from *began* to *ended* (µs), one still going on included."""
    heart = pulse()
    return heart.touching(began, ended) if heart else ()


class _Waiting(selectors.DefaultSelector):
    """A selector that waits in real time, keeps the heartbeat, and can skip what is idle."""

    def __init__(self, *, skips: bool) -> None:
        super().__init__()
        self.pulse = Pulse(self.now_us)
        self.skipped_ns = 0
        self.outstanding = 0
        self._skips = skips

    def now_us(self) -> int:
        return (time.monotonic_ns() + self.skipped_ns) // 1_000

    def select(self, timeout: float | None = None) -> list[Any]:
        self.pulse.rest(self.now_us())
        due = None if not timeout else self.now_us() + round(timeout * SECOND)
        if self._skips and timeout and not self.outstanding:
            ready = super().select(0)
            if not ready:
                self.skipped_ns += round(timeout * 1e9)
        else:
            ready = super().select(timeout)
        self.pulse.wake(self.now_us(), None if ready else due)
        return ready


class WallLoop(asyncio.SelectorEventLoop):
    """Real time, with a heartbeat."""

    kind: Kind = "wall"

    def __init__(self) -> None:
        self._waiting = _Waiting(skips=self.kind == "skip")
        self.pulse = self._waiting.pulse
        super().__init__(self._waiting)

    def time(self) -> float:
        """Return seconds: the wall clock's, and what has been skipped."""
        return (time.monotonic_ns() + self._waiting.skipped_ns) / 1e9

    def now_us(self) -> int:
        """Return microseconds: the wall clock's, and what has been skipped."""
        return (time.monotonic_ns() + self._waiting.skipped_ns + 500) // 1_000

    def count_beyond(self, change: int) -> None:
        """Add *change* to the count of real work under way outside the loop."""
        self._waiting.outstanding += change


class SkipLoop(WallLoop):
    """Real work at its real cost; idle time skipped."""

    kind: Kind = "skip"

    def __init__(self) -> None:
        super().__init__()
        self._threads = ThreadPoolExecutor(thread_name_prefix="turnbudget")
        self.set_default_executor(self._threads)

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[*Ts], T], *args: *Ts
    ) -> asyncio.Future[T]:
        """Run *func* in a thread; until it ends the clock runs with the wall, even if nobody waits for it."""
        work = (executor or self._threads).submit(func, *args)
        self.count_beyond(1)
        future = asyncio.wrap_future(work, loop=self)
        # After wrap_future, so that the result is in before the clock may skip.
        work.add_done_callback(self._ended)
        return future

    async def shutdown_default_executor(self, *timeout: Any) -> None:
        """Wait for the threads to end, at the wall's pace: skipped, it would be over before they are."""
        self.count_beyond(1)
        try:
            await super().shutdown_default_executor(*timeout)
        finally:
            self.count_beyond(-1)

    def _ended(self, _: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self.call_soon_threadsafe(self.count_beyond, -1)


class _Instant(float):
    """A moment; of two equal ones, the one set first comes first."""

    __slots__ = ("order",)
    order: int

    def __lt__(self, other: float) -> bool:
        if self == other and isinstance(other, _Instant):
            return self.order < other.order
        return float(self) < other


class _Jump(selectors.DefaultSelector):
    """A selector that moves the clock on instead of waiting."""

    elapsed_us = 0

    def __init__(self) -> None:
        super().__init__()
        self.pulse = Pulse(lambda: self.elapsed_us)
        self.waiting: Callable[[], str] = str

    def select(self, timeout: float | None = None) -> list[Any]:
        self.pulse.rest(self.elapsed_us)
        if timeout is None:
            raise Deadlock(f"nothing can ever happen: {self.waiting()}", remedy="set a timer or end the call")
        self.elapsed_us += round(timeout * SECOND)
        self.pulse.wake(self.elapsed_us)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop in which no time passes but what timers ask for: deterministic, as fast as the code."""

    kind: Kind = "virtual"

    def __init__(self) -> None:
        self._births = itertools.count()
        self._jump = _Jump()
        self._jump.waiting = self._who_waits
        self.pulse = self._jump.pulse
        super().__init__(self._jump)

    def _who_waits(self) -> str:
        names = sorted(task.get_name() for task in asyncio.all_tasks(self))
        return f"{', '.join(names)} wait and no timer is set" if names else "no task is left"

    def now_us(self) -> int:
        """Return microseconds since the loop was made."""
        return self._jump.elapsed_us

    def time(self) -> float:
        """Return seconds since the loop was made."""
        return self._jump.elapsed_us / SECOND

    def call_at(
        self,
        when: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """Set a timer at the microsecond nearest to *when*; equal instants fire in the order set."""
        instant = _Instant(round(when * SECOND) / SECOND)
        instant.order = next(self._births)
        return super().call_at(instant, callback, *args, context=context)

    def run_in_executor(self, *_: object) -> NoReturn:
        """Refuse, since a thread takes real time."""
        raise Defect(
            "a thread takes real time, and virtual time has none",
            remedy="use scripted engines, or --clock skip",
        )

    def block(self, us: int) -> None:
        """Hold the loop for *us* microseconds, as a blocking call would."""
        self._jump.elapsed_us += us


_OURS: Final = (WallLoop, VirtualLoop)
_LOOPS: Final[dict[Kind, type[asyncio.SelectorEventLoop]]] = {
    "wall": WallLoop,
    "skip": SkipLoop,
    "virtual": VirtualLoop,
}


def run(main: Coroutine[Any, Any, T], clock: Kind = "wall") -> T:
    """Run *main* to its end on a new loop with the *clock* named.

    Meanwhile threads give way to one another after 0.5 ms instead of Python's 5 ms: an engine's thread that
    computes in Python would else hold up the loop for a quarter of a frame each time it wakes.
    """
    interval = sys.getswitchinterval()
    sys.setswitchinterval(GIVE_WAY_S)
    try:
        with asyncio.Runner(loop_factory=_LOOPS[clock]) as runner:
            return runner.run(main)
    finally:
        sys.setswitchinterval(interval)
