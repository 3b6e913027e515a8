"""Async tests run on the virtual loop: they take no time, and the same time on every run."""

from __future__ import annotations

import contextlib
import inspect
import os
import signal
import socket
import threading
from pathlib import Path

import hypothesis
import pytest

from turnbudget.voice.asr import moonshine
from turnbudget.voice.hearing.vad import Silero
from turnbudget.voice.time import clock
from turnbudget.voice.tts import pyttsx3

USUAL, FIRST = os.getpriority(os.PRIO_PROCESS, 0), -15
"""The niceness of this process, and of a test that needs a quiet machine."""
LENIENT = {"deadline": None, "suppress_health_check": [hypothesis.HealthCheck.too_slow]}
"""No example fails for being slow: that says what else the machine does."""
hypothesis.settings.register_profile("lenient", **LENIENT)
hypothesis.settings.register_profile(
    "unshrunk", phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate], database=None, **LENIENT
)
"""For who asks only whether a test fails (bench/mutants.py): nothing is simplified, nothing remembered."""
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "lenient"))


def pytest_configure():
    """Let Ctrl-C mean what it means in a terminal: a shell starts its background jobs with it ignored."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter):
    """Say last, before pytest's own closing line, what the runs of scripts/test before this one came to."""
    given = yield
    noted = os.environ.get("TURNBUDGET_TEST_RUNS")
    if noted and not hasattr(terminalreporter.config, "workerinput"):
        runs = Path(noted)
        before = runs.read_text("utf-8")
        terminalreporter.write(before)
        counts = ", ".join(text for text, _ in terminalreporter.build_summary_stats_line()[0])
        runs.write_text(f"{before}in parallel, before this: {counts}\n", "utf-8")
    return given


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Have a test that needs a quiet machine come before whatever else runs, where the system lets it."""
    first = item.get_closest_marker("quiet") is not None
    threads = Path("/proc/self/task")
    with contextlib.suppress(OSError):  # not everybody may
        for thread in map(int, os.listdir(threads)) if threads.exists() else [0]:  # noqa: PTH208 - their names
            os.setpriority(os.PRIO_PROCESS, thread, min(USUAL, FIRST) if first else USUAL)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Run an ``async def`` test in virtual time; marked ``clock("skip")`` or ``clock("wall")``, on that."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    marker = pyfuncitem.get_closest_marker("clock")
    names = pyfuncitem._fixtureinfo.argnames
    arguments = {name: pyfuncitem.funcargs[name] for name in names}
    clock.run(pyfuncitem.obj(**arguments), marker.args[0] if marker else "virtual")
    return True


@pytest.fixture
def nowhere():
    """A HOST:PORT of this machine that refuses connections: the port is taken, and nobody listens on it."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{taken.getsockname()[1]}"


@pytest.fixture(scope="session")
def recordings() -> Path:
    """The recorded calls, where they are; tests that need them skip where they are not."""
    folder = Path(os.environ.get("TURNBUDGET_DATA") or Path(__file__).parents[2] / "shared" / "data")
    if not (folder / "harper-valley").is_dir():
        pytest.skip(f"no recorded calls at {folder} (set TURNBUDGET_DATA)")
    return folder


@pytest.fixture(scope="session")
def real_engines() -> None:
    """Have a real detector, recogniser and voice; where one is missing, skip and say which."""
    if lacks := moonshine.missing():
        pytest.skip(f"no real recogniser: {lacks}")
    if not pyttsx3.reachable():
        pytest.skip(f"no real voice: {pyttsx3.REMEDY}")
    try:
        Silero()
    except Exception as error:  # noqa: BLE001 - whatever keeps it away is the reason
        pytest.skip(f"no real detector: {error}")
