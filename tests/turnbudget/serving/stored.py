"""What tests of the small databases need: a disk that is full, and another process of ours."""

from __future__ import annotations

import contextlib
import subprocess
import sys


@contextlib.contextmanager
def refusing(one):
    """Let the disk under the store *one* take nothing more: SQLite says that it is full."""
    connection = one._database._connection
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count={pages}")
    yield
    connection.execute("PRAGMA max_page_count=1000000")


@contextlib.contextmanager
def python(code, *arguments):
    """Another process of ours that runs *code*."""
    with subprocess.Popen(  # noqa: S603 - our own interpreter, and the code above
        [sys.executable, "-c", code, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield process
