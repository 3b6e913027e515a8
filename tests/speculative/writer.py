"""Another process at the same store: ``python writer.py FOLDER FIRST LAST [killed]`` writes some replies.

``killed``: it dies of SIGKILL when the last one is written and has not taken effect.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from voices import speech

from turnbudget.speculative.shelf.pieces import Key
from turnbudget.speculative.shelf.store import Store
from turnbudget.voice import database


def key(number):
    return Key(f"This is the reply with the number {number}.", "cheap", "tone")


def die_halfway(base, work, begin):
    base.execute("PRAGMA cache_size = 1")  # so that pages are spilled to the log before they are all there
    base.execute(begin)
    work(base)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    store = Store(Path(sys.argv[1]))
    for number in range(int(sys.argv[2]), int(sys.argv[3])):
        if sys.argv[4:] and number == int(sys.argv[3]) - 1:
            database._attempt = die_halfway
        store.write(key(number), speech(key(number).text), "")
    sys.exit(bool(store.faults()))
