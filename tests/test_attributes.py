"""An object has all its attributes from the moment it is made: none appears late, in some other method.

So nothing that asks it early meets an AttributeError, and its ``__init__`` tells all that it is.
"""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest
from shipped import SHIPPED, files, name

from turnbudget.speculative.speculation import Speculation
from turnbudget.testing.stage import ASK, prepared
from turnbudget.voice.time.crew import Crew

MAKING = {"__init__", "__post_init__"}


def assigned(function):
    """Yield each attribute of its first argument that *function* assigns: (name, line)."""
    arguments = [*function.args.posonlyargs, *function.args.args]
    if not arguments or any(ast.unparse(mark) == "staticmethod" for mark in function.decorator_list):
        return
    for node in ast.walk(function):
        stored = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
        if stored and ast.unparse(node.value) == arguments[0].arg:
            yield node.attr, node.lineno


def methods(made):
    """Return the methods of the class *made*."""
    return [node for node in made.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def makers(made):
    """Return the methods that make an object of the class *made*: ``__init__`` and what that calls on it."""
    by_name = {method.name: method for method in methods(made)}
    found, called = {}, set(MAKING)
    while fresh := [by_name[each] for each in called & (by_name.keys() - found.keys())]:
        for method in fresh:
            found[method.name] = method
            called |= {
                node.func.attr
                for node in ast.walk(method)
                if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("self.")
            }
    return list(found.values())


def is_made(node, made):
    """Say whether *node*, in the body of the class *made*, gives each object an attribute from the beginning.

    A bare annotation does so in a dataclass or a Struct; a field that no argument fills needs a default.
    """
    if not isinstance(node, ast.AnnAssign):
        return isinstance(node, ast.Assign)
    if node.value is None:
        return bool(made.decorator_list or made.bases)
    value = ast.unparse(node.value)
    return "init=False" not in value or "default" in value


def has(made, classes):
    """Return what an object of the class *made* has once it is made, by its bases of ours as well."""
    own = {
        target.id
        for node in made.body
        if is_made(node, made)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    own |= {attribute for method in makers(made) for attribute, _ in assigned(method)}
    own |= {method.name for method in methods(made) if method.decorator_list}  # a property with a setter
    for base in made.bases:
        inherited = classes.get(ast.unparse(base).partition("[")[0])
        own |= has(inherited, classes) if inherited else set()
    return own


def late(sources):
    """Return every attribute that appears late in *sources*, which are (where, source)."""
    trees = {where: ast.parse(source) for where, source in sources}
    found = [(where, node) for where, tree in trees.items() for node in ast.walk(tree)]
    made = [(where, node) for where, node in found if isinstance(node, ast.ClassDef)]
    classes = {node.name: node for _, node in made}
    return sorted(
        {
            f"{where}:{line} {node.name}.{attribute}"
            for where, node in made
            for method in methods(node)
            for attribute, line in assigned(method)
            if attribute not in has(node, classes)
        }
    )


def test_no_attribute_appears_late():
    assert late([(name(path), path.read_text("utf-8")) for path in files(*SHIPPED)]) == []


async def test_a_call_that_has_run_has_what_it_had_before():
    call, _, _ = prepared(ASK)
    before = set(vars(call))
    await call.run()
    assert set(vars(call)) == before


def test_speculation_that_has_begun_has_what_it_had_before():
    speculation = Speculation(None, None, bounds=None, ranks=None)
    before = set(vars(speculation))
    speculation.begin(Crew())
    assert set(vars(speculation)) == before


BAD = {
    "in another method": "class A:\n def __init__(self): self.a = 1\n def run(self): self.b = 1",
    "without an __init__": "class A:\n def run(self): self.b = 1",
    "annotated": "class A:\n def run(self): self.b: int = 1",
    "among others": "class A:\n def run(self): x, self.b = 1, 2",
    "added to": "class A:\n def run(self): self.b += 1",
    "annotated alone": "class A:\n b: int\n def run(self): self.b = 1",
    "a field nothing fills": "@data\nclass A:\n b: int = field(init=False)\n def run(self): self.b = 1",
    "in a coroutine": "class A:\n async def run(self): self.b = 1",
    "as a with block's": "class A:\n def run(self):\n  with open('x') as self.b: pass",
}


@pytest.mark.parametrize("source", BAD.values(), ids=BAD)
def test_the_walk_catches(source):
    assert [each.partition(" ")[2] for each in late([("a.py", source)])] == ["A.b"]


GOOD = {
    "made": "class A:\n def __init__(self): self.b = 0\n def run(self): self.b = 1",
    "a field": "class A:\n b: int = 0\n def run(self): self.b = 1",
    "a field without a default": "@data\nclass A:\n b: int\n def run(self): self.b = 1",
    "made by what __init__ calls": """
        class A:
            def __init__(self): self.reset()
            def reset(self): self.b = 0
    """,
    "made by a base": """
        class B:
            def __init__(self): self.b = 0
        class A(B):
            def run(self): self.b = 1
    """,
    "a setter": """
        class A:
            @property
            def b(self): return 0
            def run(self): self.b = 1
    """,
    "another's": "class A:\n def run(self, other): other.b = 1",
}


@pytest.mark.parametrize("source", GOOD.values(), ids=GOOD)
def test_the_walk_passes(source):
    assert late([("a.py", dedent(source))]) == []
