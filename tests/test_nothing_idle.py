"""What a file keeps to itself it uses: a private name at its top that nothing reads is left over."""

from __future__ import annotations

import ast

from shipped import SHIPPED, files, name


def idle(source):
    """Return the private names at the top of *source* that nothing in it reads."""
    tree = ast.parse(source)
    read = {
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }
    made = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            made.append(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            made += [target.id for target in targets if isinstance(target, ast.Name)]
    return [each for each in made if each.startswith("_") and not each.startswith("__") and each not in read]


def test_a_file_uses_what_it_keeps_to_itself():
    found = {name(path): idle(path.read_text("utf-8")) for path in files(*SHIPPED)}
    assert {file: names for file, names in found.items() if names} == {}


def test_the_walk_catches_what_is_left_over():
    assert idle("_A: int = 1\n_B = 2\ndef _c(): ...\nclass _D: ...\n") == ["_A", "_B", "_c", "_D"]
    assert not idle("_A = 1\nB = 2\n__all__ = ['B']\ndef c(): return _A\n")
