"""Single keys from a terminal, as they are pressed: for push-to-talk."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import termios
import tty
from typing import TYPE_CHECKING

from turnbudget.voice.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextlib.contextmanager
def keys(pressed: Callable[[str], None]) -> Iterator[None]:
    """Tell *pressed* every key but Ctrl-C until the block ends; raises UsageError without a terminal."""
    source = sys.stdin.fileno()
    if not os.isatty(source):
        raise UsageError(
            "keys are read from a terminal, and there is none", remedy="leave --push-to-talk out"
        )

    def read() -> None:
        for key in os.read(source, 64).decode(errors="ignore"):
            pressed(key)

    before = termios.tcgetattr(source)
    loop = asyncio.get_running_loop()
    tty.setcbreak(source)
    loop.add_reader(source, read)
    try:
        yield
    finally:
        loop.remove_reader(source)
        termios.tcsetattr(source, termios.TCSADRAIN, before)
