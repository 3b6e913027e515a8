"""The programs on the page about testing run as they stand, each in a process of its own."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from shipped import ROOT

PAGE = (ROOT / "docs" / "testing.md").read_text("utf-8")
PROGRAMS = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
ANSWERED = r"\d .* → Your balance is ten dollars\. \d{3} ms\n"
PRINTED = (ANSWERED * 2, r"agent 'hasty' breaks .*\n(  - .*\n)+")


@pytest.mark.parametrize(
    ("program", "printed"), list(zip(PROGRAMS, PRINTED, strict=True)), ids=("call", "kit")
)
def test_a_program_on_the_page_about_testing_runs(program, printed):
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own
    assert done.stderr == ""
    assert re.fullmatch(printed, done.stdout), done.stdout
