"""Async tests run on the virtual loop: they take no time, and the same time on every run."""

from __future__ import annotations

import inspect
import os
import signal
import threading
from pathlib import Path

import pytest

from voice import clock


def pytest_configure():
    """Let Ctrl-C mean what it means in a terminal: a shell starts its background jobs with it ignored."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)


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


@pytest.fixture(scope="session")
def recordings() -> Path:
    """The recorded calls, where they are; tests that need them skip where they are not."""
    folder = Path(os.environ.get("TURNBUDGET_DATA") or Path(__file__).parents[2] / "shared" / "data")
    if not (folder / "harper-valley").is_dir():
        pytest.skip(f"no recorded calls at {folder} (set TURNBUDGET_DATA)")
    return folder
