"""The machine that a measurement was made on, in one line: without it a number means nothing."""

from __future__ import annotations

import os
import platform
from pathlib import Path


def facts() -> str:
    """Return processor, cores, Python and system; no host name."""
    python = f"{platform.python_implementation()} {platform.python_version()}"
    system = f"{platform.system()} {platform.release().partition('-')[0]} {platform.machine()}"
    return f"{processor()}, {cores()} cores, {python}, {system}"


def processor() -> str:
    """Return the processor's name as the system gives it."""
    described = Path("/proc/cpuinfo")
    lines = described.read_text("utf-8").splitlines() if described.exists() else []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())


def cores() -> int:
    """Return how many cores this process may use."""
    usable = getattr(os, "sched_getaffinity", None)
    return len(usable(0)) if usable else os.cpu_count() or 1
