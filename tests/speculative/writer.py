"""Another process at the same store: ``python writer.py FOLDER FIRST LAST [killed]`` writes some replies.

``killed``: it dies of SIGKILL when half of the last one is written.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from voices import speech

from turnbudget.speculative.shelf import files
from turnbudget.speculative.shelf.held import Key
from turnbudget.speculative.shelf.store import Store


def key(number):
    return Key(f"This is the reply with the number {number}.", "cheap", "tone")


def die_halfway(path, whole):
    handle, _ = files.tempfile.mkstemp(prefix=files.REMNANT, dir=path.parent)
    os.write(handle, whole[: len(whole) // 2])
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    store = Store(Path(sys.argv[1]))
    for number in range(int(sys.argv[2]), int(sys.argv[3])):
        if sys.argv[4:] and number == int(sys.argv[3]) - 1:
            files.put = die_halfway
        store.write(key(number), speech(key(number).text), "")
    sys.exit(bool(store.faults()))
