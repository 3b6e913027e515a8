"""A measuring program that is asked what it does says so, and measures nothing."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest
from shipped import ROOT

BENCHES = sorted(path for path in (ROOT / "bench").glob("*.py") if path.stem != "facts")


@pytest.mark.parametrize("path", BENCHES, ids=lambda path: path.stem)
def test_a_bench_that_is_asked_says_what_it_does(path):
    command = [sys.executable, path, "--help"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)  # noqa: S603 - ours
    assert done.returncode == 0, done.stderr
    assert done.stdout.lower().startswith(f"usage: {path.name}")
    assert ast.get_docstring(ast.parse(path.read_text("utf-8")))
