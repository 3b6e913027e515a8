"""The floors hold: a file imports from its own floor or lower ones, at its top, and from nowhere else.

Reads every import of every shipped file, those under ``TYPE_CHECKING`` and those by name included.
"""

from __future__ import annotations

import ast
import re
import sys
from textwrap import dedent

import pytest
from shipped import SHIPPED, files, name

BELOW = {
    "voice": (),
    "agents": ("voice",),
    "council": ("voice", "agents"),
    "speculative": ("voice", "agents"),
    "turnbudget": ("voice", "agents", "council", "speculative"),
    "demos": ("voice", "agents", "council", "speculative", "turnbudget"),
}
OUTSIDE = ("tests", "bench", "scripts")
MARKER = "# noqa: PLC0415 - an extra, imported when used"
MARKED = re.compile(r"# noqa: PLC0415(, \w+)* - \w+")
"""A heavy engine imported where it is used says why."""


def imported(node, package):
    """Return the modules that *node* imports, relative ones resolved against *package*."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        if not node.level:
            return [node.module]
        base = package[: len(package) - node.level + 1]
        return [".".join([*base, *filter(None, [node.module])])]
    if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
        called = ast.unparse(node.func)
        if called.split(".")[-1] in {"import_module", "__import__"}:
            return [str(node.args[0].value)]
    return []


def marked(source, node):
    """Say whether a line of *node* carries the marker of a heavy engine."""
    lines = source.splitlines()[node.lineno - 1 : node.end_lineno]
    return any(MARKED.search(line) for line in lines)


def faults(source, path):
    """Return what *source*, standing at *path*, imports against the law."""
    package = path.split("/")[:-1]
    floor = package[0]
    tree = ast.parse(source)
    inside = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for node in ast.walk(function)
    }
    found = []
    for node in ast.walk(tree):
        for module in imported(node, package):
            root = module.split(".")[0]
            where = f"{path}:{node.lineno} imports {module}"
            if root in OUTSIDE or (root in BELOW and root != floor and root not in BELOW[floor]):
                found.append(f"{where}: {floor} stands below or beside {root}")
            elif id(node) in inside and (root in BELOW or root in sys.stdlib_module_names):
                found.append(f"{where} inside a function: the top of the file is the place")
            elif id(node) in inside and not marked(source, node):
                found.append(f"{where} inside a function: only a heavy engine may, and says so")
    return found


@pytest.mark.parametrize("path", files(*SHIPPED), ids=name)
def test_a_file_imports_from_its_own_floor_or_lower_ones(path):
    assert faults(path.read_text("utf-8"), name(path)) == []


def test_every_package_has_its_floor():
    assert {name(path).split("/")[0] for path in files(*SHIPPED)} <= set(BELOW)


BAD = {
    "upward": ("voice/turn.py", "from council import convene"),
    "upward, whole": ("voice/turn.py", "import turnbudget.cli as cli"),
    "upward, among others": ("agents/llm.py", "import json, speculative"),
    "sideways": ("council/choose.py", "from speculative.shelf.shelf import Shelf"),
    "sideways, the other way": ("speculative/shelf.py", "import council"),
    "for types only": (
        "voice/turn.py",
        """
        from typing import TYPE_CHECKING
        if TYPE_CHECKING:
            from agents.agent import Opinion
        """,
    ),
    "relative, out of the package": ("voice/asr/vosk.py", "from ...council import convene"),
    "by name": ("voice/turn.py", "import importlib\nimportlib.import_module('council.convene')"),
    "tests": ("voice/turn.py", "from tests.shipped import files"),
    "own floor, in a function": ("voice/turn.py", "def f():\n    from voice import clock"),
    "own floor, marked": ("voice/turn.py", f"def f():\n    from voice import clock  {MARKER}"),
    "own floor by name, in a function": ("voice/turn.py", "def f():\n    return __import__('voice.clock')"),
    "lower floor, in a method": (
        "turnbudget/cli.py",
        """
        class C:
            async def f(self):
                if self:
                    from voice import clock
        """,
    ),
    "standard library, in a function": ("voice/turn.py", f"def f():\n    import json  {MARKER}"),
    "an extra, marked without a reason": ("voice/asr/vosk.py", "def f():\n    import vosk  # noqa: PLC0415"),
    "an extra, unmarked": ("voice/asr/vosk.py", "def f():\n    import vosk"),
}


@pytest.mark.parametrize(("path", "source"), BAD.values(), ids=BAD)
def test_the_walk_catches(path, source):
    assert len(faults(dedent(source), path)) == 1


GOOD = {
    "downward": ("turnbudget/cli.py", "from voice import clock\nimport council, speculative"),
    "own floor": ("voice/asr/vosk.py", "from voice import clock\nfrom .transcriber import Word"),
    "a name that only begins alike": ("voice/turn.py", "import agentscope, voices"),
    "an extra, marked": ("voice/asr/vosk.py", f"def f():\n    import vosk  {MARKER}"),
    "an extra, marked, over lines": ("voice/a.py", f"def f():\n    from onnx import (  {MARKER}\n  helper)"),
}


@pytest.mark.parametrize(("path", "source"), GOOD.values(), ids=GOOD)
def test_the_walk_passes(path, source):
    assert faults(source, path) == []
