"""Only voice/time/clock.py touches time; no task runs free; no queue is without bound; no test sleeps."""

from __future__ import annotations

import ast

import pytest
from laws import each
from shipped import SHIPPED, files, name

CLOCK = "voice/time/clock.py"
CREW = "voice/time/crew.py"
"""A task group of our own, that does not wait for ever on a task which swallows its cancellation."""

TIME = {
    "asyncio": {"sleep", "wait_for", "timeout", "timeout_at"},
    "datetime": {"now", "utcnow", "today"},
    "os": {"times"},
    "sched": None,
    "signal": {"alarm", "setitimer", "sigtimedwait"},
    "threading": {"Timer"},
    "time": None,
    "timeit": None,
}
"""Module: its names that read or spend time; ``None``: all of them."""
TIMERS = {"call_at", "call_later"}
FREE = {"create_task", "ensure_future"}
QUEUES = {"Queue", "LifoQueue", "PriorityQueue", "SimpleQueue"}
LOOPS = ("get_running_loop", "get_event_loop", "new_event_loop")
SLEEPS = {"time.sleep", "asyncio.sleep"}


class Law(ast.NodeVisitor):
    """Collects what a file does with time, tasks and queues; imports are followed to what they name."""

    def __init__(self):
        self.known = {}
        self.used = []

    def visit_Import(self, node):
        for alias in node.names:
            bound = alias.asname or alias.name.split(".")[0]
            self.known[bound] = alias.name if alias.asname else bound
            self.used.append((node, alias.name))

    def visit_ImportFrom(self, node):
        for alias in node.names:
            self.known[alias.asname or alias.name] = f"{node.module}.{alias.name}"
            self.used.append((node, f"{node.module}.{alias.name}"))

    def visit_Assign(self, node):
        if isinstance(node.value, ast.Call) and ast.unparse(node.value.func).endswith(LOOPS):
            self.known |= {target.id: "loop" for target in node.targets if isinstance(target, ast.Name)}
        self.generic_visit(node)

    def visit_Attribute(self, node):
        self.used.append((node, self.full(node)))
        self.generic_visit(node)

    def visit_Name(self, node):
        if node.id in self.known:
            self.used.append((node, self.known[node.id]))

    def full(self, node):
        """Return the dotted name of *node*, its first part replaced by what was imported under it."""
        first, *rest = ast.unparse(node).split(".")
        return ".".join([self.known.get(first, first), *rest])


def read(source):
    """Return the tree of *source* and every (node, full name) in it."""
    tree = ast.parse(source)
    law = Law()
    law.visit(tree)
    return tree, law


def touches_time(full):
    """Say whether the dotted name *full* reads or spends time past the clock."""
    if full.startswith("turnbudget.voice.time.clock."):
        return False
    owner, _, last = full.rpartition(".")
    module = full.partition(".")[0]
    if module in TIME and (TIME[module] is None or last in TIME[module]):
        return True
    return last in TIMERS or (last == "time" and is_loop(owner))


def is_loop(owner):
    """Say whether the dotted name *owner* ends in something called a loop."""
    return owner.removesuffix("()").rpartition(".")[2].endswith("loop")


def time_faults(source):
    """Return the lines of *source* that touch time."""
    tree, law = read(source)
    found = {node.lineno for node, full in law.used if touches_time(full)}
    found |= {
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and law.full(node.func) == "asyncio.wait"
        and any(keyword.arg == "timeout" for keyword in node.keywords)
    }
    return sorted(found)


def task_faults(source):
    """Return the lines of *source* that start a task outside a group."""
    _, law = read(source)
    names = [(node.lineno, *full.rpartition(".")[::2]) for node, full in law.used]
    return sorted(
        {at for at, owner, last in names if last in FREE and (owner == "asyncio" or is_loop(owner))}
    )


def queue_faults(source):
    """Return the lines of *source* that make a queue without a bound."""
    tree, law = read(source)
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = node.func.value if isinstance(node.func, ast.Subscript) else node.func
        module, _, made = law.full(called).rpartition(".")
        if made not in QUEUES or module not in {"asyncio", "queue", "multiprocessing"}:
            continue
        sizes = [*node.args[:1], *(keyword.value for keyword in node.keywords if keyword.arg == "maxsize")]
        unbounded = not sizes or (isinstance(sizes[0], ast.Constant) and sizes[0].value in {0, None})
        if unbounded or made == "SimpleQueue":
            found.append(node.lineno)
    return found


def sleep_faults(source):
    """Return the lines of *source* that sleep."""
    _, law = read(source)
    return sorted({node.lineno for node, full in law.used if full in SLEEPS})


def offenders(law, *folders, but=""):
    """Return every ``file:line`` below *folders* that *law* finds."""
    return [
        f"{name(path)}:{line}"
        for path in files(*folders)
        if name(path) != but
        for line in law(path.read_text("utf-8"))
    ]


def test_no_file_but_the_clock_touches_time():
    assert offenders(time_faults, *SHIPPED, but=CLOCK) == []
    assert offenders(time_faults, "voice/time") != []


def test_every_task_belongs_to_a_group():
    assert offenders(task_faults, *SHIPPED, but=CREW) == []


def test_every_queue_has_a_bound():
    assert offenders(queue_faults, *SHIPPED) == []


def test_no_test_and_no_bench_sleeps():
    assert offenders(sleep_faults, "tests", "bench") == []


@each(
    "source",
    [
        "import time",
        "import time as t",
        "from time import perf_counter",
        "import os\nos.times()",
        "from timeit import default_timer",
        "import sched",
        "import asyncio\nasyncio.sleep(1)",
        "import asyncio as aio\naio.wait_for(x, 1)",
        "from asyncio import sleep",
        "import asyncio\nasyncio.timeout(1)",
        "import asyncio\nasyncio.timeout_at(1)",
        "import asyncio\nasyncio.wait(tasks, timeout=1)",
        "import asyncio\nasyncio.get_running_loop().time()",
        "loop.time()",
        "self._loop.time()",
        "loop.call_later(1, f)",
        "asyncio.get_running_loop().call_at(1, f)",
        "import datetime\ndatetime.datetime.now()",
        "from datetime import datetime\ndatetime.now(tz)",
        "from datetime import date as day\nday.today()",
        "import threading\nthreading.Timer(1, f)",
        "from threading import Timer",
        "import signal\nsignal.setitimer(0, 1)",
    ],
)
def test_a_file_that_touches_time_is_caught(source):
    assert time_faults(source) == [source.count("\n") + 1]


@each(
    "source",
    [
        "from turnbudget.voice.time import clock\nclock.now()\nawait_ = clock.sleep(5)",
        "import asyncio\nasyncio.wait(tasks)",
        "import threading\nthreading.Event().wait(0.025)",
        "from datetime import datetime\ndatetime.fromisoformat(x)",
        "turn.time()\nself.time = 5",
        "span.timeout\nconfig.sleep",
    ],
)
def test_a_file_that_leaves_time_alone_passes(source):
    assert time_faults(source) == []


@each(
    "source",
    [
        "import asyncio\nasyncio.create_task(f())",
        "from asyncio import create_task",
        "import asyncio as a\na.ensure_future(f())",
        "loop.create_task(f())",
        "import asyncio\nasyncio.get_running_loop().create_task(f())",
        "self._loop.create_task(f())",
        "running = asyncio.get_running_loop()\nrunning.create_task(f())",
    ],
)
def test_a_task_without_a_group_is_caught(source):
    assert task_faults(source) == [source.count("\n") + 1]


def test_a_task_of_a_group_passes():
    assert task_faults("crew.create_task(f())\nself._crew.create_task(g())") == []


@each(
    "source",
    [
        "import asyncio\nasyncio.Queue()",
        "from asyncio import Queue\nQueue(0)",
        "import asyncio\nasyncio.PriorityQueue(maxsize=0)",
        "from queue import SimpleQueue\nSimpleQueue()",
        "import queue\nqueue.Queue()",
        "import asyncio\nasyncio.Queue[int]()",
    ],
)
def test_a_queue_without_a_bound_is_caught(source):
    assert queue_faults(source) == [2]


def test_a_queue_with_a_bound_passes():
    assert queue_faults("import asyncio\nasyncio.Queue(8)\nasyncio.Queue(maxsize=SIZE)") == []


@pytest.mark.parametrize(
    "source",
    [
        "import time\ntime.sleep(1)",
        "from asyncio import sleep as s\ns(1)",
        "import asyncio\nasyncio.sleep(0)",
    ],
)
def test_a_test_that_sleeps_is_caught(source):
    assert 2 in sleep_faults(source)
