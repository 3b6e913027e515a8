"""The floors hold: a file imports from its own floor or lower ones, at its top, and from nowhere else.

Reads every import of every shipped file, those under ``TYPE_CHECKING`` and those by name included.
"""

from __future__ import annotations

import ast
import re
import sys
from textwrap import dedent

from laws import each
from shipped import SHIPPED, files, name

BELOW = {
    "voice": (),
    "agents": ("voice",),
    "council": ("voice", "agents"),
    "speculative": ("voice", "agents"),
    "turnbudget": ("voice", "agents", "council", "speculative"),
    "demos": ("voice", "agents", "council", "speculative", "turnbudget"),
}
ROOMS = {
    "voice": (
        "errors",
        "cache database named reading",
        "time",
        "promises",
        "sound",
        "language",
        "asr",
        "tts",
        "lines",
        "hearing speaking",
        "call",
    ),
    "agents": ("phrases", "values", "backends", "simulated", "*"),
    "council": ("*", "remote"),
    "speculative": ("guard", "bank", "shelf", "*"),
    "turnbudget": (
        "pages",
        "runs",
        "redaction settings",
        "endpoints recorded live",
        "serving testing",
        "commands",
        "cli",
        "__main__",
    ),
    "turnbudget/serving": (
        "admission ending",
        "config events",
        "after doors journal",
        "connection",
        "running",
        "floor",
        "sockets",
        "app recovery watch",
        "server",
        "workers",
    ),
}
"""Inner floors of a package, lowest first: rooms on one do not know each other; * is every other room."""
OUTSIDE = ("tests", "bench", "scripts")
MARKER = "# noqa: PLC0415 - an extra, imported when used"
MARKED = re.compile(r"# noqa: PLC0415(, \w+)* - \w+")
"""A heavy engine imported where it is used says why."""


def imported(node, package):
    """Return the modules that *node* imports, relative ones resolved against *package*."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        if not node.level:  # a name may be a module of its own: the room it stands in counts
            return [f"{node.module}.{alias.name}" for alias in node.names]
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


def house(dotted):
    """Return the floor of our module *dotted*, and the rooms it stands in; the front door has none."""
    _, *inside = dotted.split(".")
    return (inside[0], inside[1:]) if inside and inside[0] in BELOW else ("turnbudget", inside)


def level(floor, room):
    """Return how high *room* lies on *floor*; None for the package itself, which holds no code."""
    order = [names.split() for names in ROOMS.get(floor, ())]
    found = [at for at, names in enumerate(order) if room in names]
    rest = [at for at, names in enumerate(order) if names == ["*"]]
    return (found or rest or [None])[0] if room else None


def misplaced(path, module):
    """Return why the file at *path* may not import *module*, "" if it may."""
    floor, *rooms = path.removesuffix(".py").removesuffix("/__init__").split("/")
    root = module.split(".")[0]
    if root in OUTSIDE:
        return f"{root} is not shipped"
    if root != "turnbudget":
        return "the name to import begins with turnbudget" if root in BELOW else ""
    theirs, their_rooms = house(module)
    if theirs != floor:
        return "" if theirs in BELOW[floor] else f"{floor} stands below or beside {theirs}"
    for room, their_room in zip(rooms, their_rooms, strict=False):
        mine, other = level(floor, room), level(floor, their_room)
        known = room != their_room and mine is not None and other is not None
        if known and (other > mine or (other == mine and ROOMS[floor][mine] != "*")):
            return f"{floor}/{room} stands below or beside {floor}/{their_room}"
        if room != their_room:
            break
        floor = f"{floor}/{room}"
    return ""


def faults(source, path):
    """Return what *source*, standing at *path*, imports against the law."""
    package = ["turnbudget", *path.split("/")[:-1]]
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
            if why := misplaced(path, module):
                found.append(f"{where}: {why}")
            elif id(node) in inside and (root in BELOW or root in sys.stdlib_module_names):
                found.append(f"{where} inside a function: the top of the file is the place")
            elif id(node) in inside and not marked(source, node):
                found.append(f"{where} inside a function: only a heavy engine may, and says so")
    return found


def test_a_file_imports_from_its_own_floor_or_lower_ones():
    found = [fault for path in files(*SHIPPED) for fault in faults(path.read_text("utf-8"), name(path))]
    assert found == []


def dotted(path):
    """Return the name under which the file at *path* is imported."""
    inside = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return inside if inside.split(".")[0] == "turnbudget" else f"turnbudget.{inside}"


def graph(sources):
    """Return which modules each of *sources*, by path, imports among them, those for types included."""
    modules = {dotted(path) for path in sources}
    return {
        dotted(path): {
            known
            for node in ast.walk(ast.parse(source))
            for module in imported(node, ["turnbudget", *path.split("/")[:-1]])
            for known in [next((one for one in (module, module.rpartition(".")[0]) if one in modules), None)]
            if known not in {None, dotted(path)}
        }
        for path, source in sources.items()
    }


def circles(imports):
    """Return every set of modules of *imports* each of which comes to all others."""

    def reached(module):
        seen, ahead = set(), [module]
        while ahead:
            ahead = [one for known in ahead for one in imports[known] if not (one in seen or seen.add(one))]
        return seen

    ways = {module: reached(module) for module in imports}
    found = {tuple(sorted(one for one in way if module in ways[one])) for module, way in ways.items()}
    return sorted(circle for circle in found if circle)


def test_no_imports_run_in_a_circle():
    sources = {name(path): path.read_text("utf-8") for path in files(*SHIPPED)}
    assert circles(graph(sources)) == []


def test_the_walk_catches_a_circle():
    sources = {
        "voice/a.py": "from turnbudget.voice import b",
        "voice/b.py": "if TYPE_CHECKING:\n    from turnbudget.voice.c import C",
        "voice/c.py": "from turnbudget.voice.a import A",
        "voice/d.py": "from turnbudget.voice.a import A",
    }
    assert circles(graph(sources)) == [("turnbudget.voice.a", "turnbudget.voice.b", "turnbudget.voice.c")]
    del sources["voice/c.py"]
    assert circles(graph(sources)) == []


def test_every_package_has_its_floor():
    assert {name(path).split("/")[0] for path in files(*SHIPPED)} <= set(BELOW)


BAD = {
    "upward": ("voice/call/turn.py", "from turnbudget.council import convene"),
    "upward, whole": ("voice/call/turn.py", "import turnbudget.cli as cli"),
    "upward, among others": ("agents/llm.py", "import json, turnbudget.speculative"),
    "by a name that is not ours": ("council/choose.py", "from voice import errors"),
    "up within a floor": ("voice/time/clock.py", "from turnbudget.voice.call import ledger"),
    "beside within a floor": ("voice/speaking/mouth.py", "from turnbudget.voice.hearing.ear import Ear"),
    "up within the top floor": ("turnbudget/runs/rows.py", "from turnbudget.settings.config import Config"),
    "up within a room": (
        "turnbudget/serving/doors/door.py",
        "from turnbudget.serving.floor import Floor",
    ),
    "beside within a room": ("turnbudget/serving/journal.py", "import turnbudget.serving.doors.door"),
    "sideways": ("council/choose.py", "from turnbudget.speculative.shelf.shelf import Shelf"),
    "sideways, the other way": ("speculative/shelf.py", "import turnbudget.council"),
    "for types only": (
        "voice/call/turn.py",
        """
        from typing import TYPE_CHECKING
        if TYPE_CHECKING:
            from turnbudget.agents.agent import Opinion
        """,
    ),
    "relative, out of the package": ("voice/asr/vosk.py", "from ...council import convene"),
    "by name": (
        "voice/call/turn.py",
        "import importlib\nimportlib.import_module('turnbudget.council.convene')",
    ),
    "tests": ("voice/call/turn.py", "from tests.shipped import files"),
    "own floor, in a function": ("voice/call/turn.py", "def f():\n    from turnbudget.voice import clock"),
    "own floor, marked": (
        "voice/call/turn.py",
        f"def f():\n    from turnbudget.voice import clock  {MARKER}",
    ),
    "own floor by name, in a function": (
        "voice/call/turn.py",
        "def f():\n    return __import__('turnbudget.voice.time.clock')",
    ),
    "lower floor, in a method": (
        "turnbudget/cli.py",
        """
        class C:
            async def f(self):
                if self:
                    from turnbudget.voice import clock
        """,
    ),
    "standard library, in a function": ("voice/call/turn.py", f"def f():\n    import json  {MARKER}"),
    "an extra, marked without a reason": ("voice/asr/vosk.py", "def f():\n    import vosk  # noqa: PLC0415"),
    "an extra, unmarked": ("voice/asr/vosk.py", "def f():\n    import vosk"),
}


@each(("path", "source"), BAD.values(), ids=BAD)
def test_the_walk_catches(path, source):
    assert len(faults(dedent(source), path)) == 1


GOOD = {
    "downward": (
        "turnbudget/cli.py",
        "from turnbudget.voice import clock\nimport turnbudget.council, turnbudget.speculative",
    ),
    "own floor": (
        "voice/asr/vosk.py",
        "from turnbudget.voice.time import clock\nfrom .transcriber import Word",
    ),
    "a name that only begins alike": ("voice/call/turn.py", "import agentscope, voices"),
    "an extra, marked": ("voice/asr/vosk.py", f"def f():\n    import vosk  {MARKER}"),
    "an extra, marked, over lines": ("voice/a.py", f"def f():\n    from onnx import (  {MARKER}\n  helper)"),
}


@each(("path", "source"), GOOD.values(), ids=GOOD)
def test_the_walk_passes(path, source):
    assert faults(source, path) == []
