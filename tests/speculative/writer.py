"""Another process at the same store: ``python writer.py FOLDER FIRST LAST [killed]`` writes some replies.

``killed``: it dies of SIGKILL when the last one is written and has not taken effect.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from pathlib import Path

from voices import speech

from turnbudget.speculative.shelf import store as module
from turnbudget.speculative.shelf.pieces import Key
from turnbudget.speculative.shelf.store import Store


def key(number):
    return Key(f"This is the reply with the number {number}.", "cheap", "tone")


@contextlib.contextmanager
def die_halfway(base):
    base.execute("PRAGMA cache_size = 1")  # so that pages are spilled to the log before they are all there
    base.execute("BEGIN IMMEDIATE")
    yield
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    store = Store(Path(sys.argv[1]))
    for number in range(int(sys.argv[2]), int(sys.argv[3])):
        if sys.argv[4:] and number == int(sys.argv[3]) - 1:
            module._transaction = die_halfway
        store.write(key(number), speech(key(number).text), "")
    sys.exit(bool(store.faults()))
