"""How much of what the code does its tests would notice: ``python bench/mutants.py council --n 60``.

A mutant is the code with one small change that somebody could make by mistake: ``<`` for ``<=``, a number one
larger, a condition turned round, a statement left out. It is killed if a test fails, or runs far longer than
before. One that survives is a promise that no test holds, or code that promises nothing.

The tests of a module are those of its own name, then of the folder that mirrors it, then those that name it
or stand for who imports it. They run on a copy of the tree, so the checkout is never touched.
"""

from __future__ import annotations

import ast
import contextlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

ROOT: Final = Path(__file__).resolve().parents[1]
LEFT_OUT: Final = shutil.ignore_patterns(".*", "__pycache__")
"""What a copy of the tree can do without: the environment is none of it."""
SETTLES_S: Final = 5.0
"""Time that a run may always take beyond a multiple of the unmutated run (seconds)."""
PASSES: Final = (0, 5)
"""What pytest ends with where no test fails: all pass, or all that a file has are left out."""
SWAPS: Final[dict[type, tuple[type, ...]]] = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.FloorDiv,),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Mult,),
    ast.Mod: (ast.FloorDiv,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
    ast.And: (ast.Or,),
    ast.Or: (ast.And,),
}
"""What an operator is mistaken for."""
TESTS: Final = (ast.Name, ast.Attribute, ast.Call, ast.NamedExpr)
"""Conditions that have no operator of their own to be changed."""
NAMES: Final = {"min": "max", "max": "min", "any": "all", "all": "any"}
"""Functions that are mistaken for each other."""
LOGS: Final = frozenset({"log", "logger", "logging", "warnings", "secrets"})
"""Names whose calls only tell people something, or make up a name."""
FEW: Final = 8
"""Files of tests elsewhere that may name a module: more, and it is used by all, and tested at home."""
UNTESTED: Final = frozenset({"__repr__", "__all__", "__slots__", "TypeVar", "NewType", "TypeAlias", "cast"})
"""Names behind which a change means nothing to a program."""


@dataclass(frozen=True, slots=True, order=True)
class Mutant:
    """One change: the bytes from ``start`` to ``end`` of a file become ``after``."""

    path: Path
    line: int
    start: int
    end: int
    before: str
    after: str

    def __str__(self) -> str:
        before, after = (" ".join(text.split()) for text in (self.before, self.after))
        return f"{self.path}:{self.line}: {before}  ->  {after}"

    def applied(self, source: bytes) -> bytes:
        """Return *source* with the change made."""
        return source[: self.start] + self.after.encode() + source[self.end :]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of the mutants that were tried."""

    killed: int
    survivors: tuple[Mutant, ...]

    @property
    def tried(self) -> int:
        """How many were."""
        return self.killed + len(self.survivors)

    @property
    def percent(self) -> float:
        """The share that was killed (%)."""
        return 100 * self.killed / self.tried if self.tried else 0.0


def mutants(path: Path, source: bytes) -> list[list[Mutant]]:
    """Return the changes that can be made in *source*: those of one place together."""
    text = source.decode().splitlines()
    lines = [0]
    for line in source.splitlines(keepends=True):
        lines.append(lines[-1] + len(line))
    found = []
    for node, changes in _places(ast.parse(source)):
        start, end = (
            lines[node.lineno - 1] + node.col_offset,
            lines[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0),
        )
        before = source[start:end].decode()
        if "pragma: no cover" in text[node.lineno - 1]:
            continue
        found.append([Mutant(path, node.lineno, start, end, before, after) for after in changes])
    return found


def _places(tree: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, list[str]]]:
    """Yield what can be changed below *tree*, and into what."""
    for child in _children(tree):
        if isinstance(child, ast.expr | ast.stmt) and (changes := _changes(child)):
            yield child, changes
        match child:
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) if isinstance(test, TESTS):
                yield test, [f"(not ({ast.unparse(test)}))"]
        if not isinstance(child, ast.Raise):  # what it says is for people
            yield from _places(child)


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of *node* in which a change could mean something."""
    passed_over = {"annotation", "returns", "decorator_list", "type_comment", "bases", "keywords"}
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "round":
        node = ast.Call(node.func, node.args[:1], [])  # how finely is no promise
    for name, value in ast.iter_fields(node):
        if name in passed_over and not isinstance(node, ast.Call):
            continue
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, ast.AST) and not _means_nothing(part):
                yield part


def _means_nothing(node: ast.AST) -> bool:  # noqa: PLR0911 - a kind each
    """Say whether no change of *node* could be seen by a program: it is a type, or a text for people."""
    match node:
        case ast.JoinedStr() | ast.Import() | ast.ImportFrom() | ast.Assert():
            return True
        case ast.Expr(value=ast.Constant()):
            return True
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.Name(id=name):
            return name in UNTESTED
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name in UNTESTED
        case ast.AnnAssign(annotation=ast.Name(id="TypeAlias")):
            return True
        case ast.Call(func=ast.Name(id=name)):
            return name in UNTESTED
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name))):
            return name in LOGS
        case ast.keyword(arg="strict" | "name" | "slots" | "frozen"):
            return True
    return False


def _changes(node: ast.expr | ast.stmt) -> list[str]:  # noqa: C901, PLR0911 - a kind each
    """Return what *node* could be by mistake."""
    match node:
        case ast.Compare(ops=[operator]) | ast.BinOp(op=operator) | ast.BoolOp(op=operator):
            return [_swapped(node, swap()) for swap in SWAPS.get(type(operator), ())]
        case ast.AugAssign(op=operator):
            swaps = [_swapped(node, swap()) for swap in SWAPS.get(type(operator), ())]
            return [*swaps, "pass"]
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return [f"({ast.unparse(operand)})"]
        case ast.Constant(value=bool(value)):
            return [str(not value)]
        case ast.Constant(value=int() | float() as value):
            return [str(value + 1), f"({value - 1})", str(value * 2)] if value else ["1"]
        case ast.Name(id=name, ctx=ast.Load()) if name in NAMES:
            return [NAMES[name]]
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            return ["return None"]
        case ast.Break():
            return ["continue"]
        case ast.Continue():
            return ["break"]
        case ast.Expr(value=value) if not _means_nothing(value) and not isinstance(value, ast.Yield):
            return ["pass"]
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]) | ast.Delete() | ast.Raise():
            return ["pass"]
    return []


def _swapped(node: ast.expr | ast.stmt, operator: ast.AST) -> str:
    """Return *node* with another operator, in parentheses where it is a part of something."""
    changed = ast.parse(ast.unparse(node), mode="exec").body[0]
    target = changed.value if isinstance(changed, ast.Expr) and isinstance(node, ast.expr) else changed
    if isinstance(target, ast.Compare):
        target.ops = [operator]  # type: ignore[list-item]
    else:
        target.op = operator  # type: ignore[attr-defined]
    text = ast.unparse(changed)
    return f"({text})" if isinstance(node, ast.expr) else text


def modules(root: Path, named: Sequence[str]) -> list[Path]:
    """Return the modules below what is *named*: a folder, a file, or a name with dots."""
    found: set[Path] = set()
    for name in named:
        path = (root / name).resolve()
        if not path.exists():
            dotted = root / name.replace(".", "/")
            path = (dotted if dotted.is_dir() else dotted.with_suffix(".py")).resolve()
        if not path.exists() or not path.is_relative_to(root):
            raise click.BadParameter(f"{name} is no folder and no module of {root}")
        found.update(path.rglob("*.py") if path.is_dir() else [path])
    return sorted(path.relative_to(root) for path in found)


def tests_of(root: Path, module: Path) -> tuple[str, ...]:
    """Return the tests of *module*: those of its name, of its folder, that name it, and of who imports it."""
    folder = root / "tests" / module.parent
    while not any(folder.glob("test_*.py")) and folder != root / "tests":
        folder = folder.parent
    own = sorted(folder.glob(f"test_{module.stem}*.py"))
    told = re.compile(rf"\b{re.escape('.'.join(module.with_suffix('').parts))}\b")
    naming = [path for path in sorted((root / "tests").rglob("test_*.py")) if told.search(_text(path))]
    importers = [
        root / "tests" / path.relative_to(root).with_name(f"test_{path.name}")
        for path in sorted(root.rglob("*.py"))
        if "tests" not in path.relative_to(root).parts and told.search(_text(path))
    ]
    mirror = dict.fromkeys((*own, *sorted(folder.glob("test_*.py"))))
    others = [path for path in dict.fromkeys((*naming, *importers)) if path.exists() and path not in mirror]
    found = (*mirror, *(others if len(others) <= FEW else ()))
    return tuple(str(path.relative_to(root)) for path in found)


@cache
def _text(path: Path) -> str:
    return path.read_text("utf-8")


class Bed:
    """A copy of the tree on which mutants are tried, one at a time."""

    def __init__(self, root: Path, *, factor: float, more: Sequence[str] = ()) -> None:
        """Copy *root*; a run may take *factor* times the usual; *more* tests run behind the mirror."""
        self._root = root
        self._factor = factor
        self._more = more
        self._folder = tempfile.TemporaryDirectory(prefix="mutants-")
        self.tree = Path(self._folder.name) / "tree"
        shutil.copytree(root, self.tree, symlinks=True, ignore=LEFT_OUT)
        self._usual_s: dict[str, float] = {}
        """What a file of tests takes without any change, on average of those it was run with (seconds)."""
        self._edited = 0
        self._log = self.tree.with_name("log")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def kills(self, mutant: Mutant) -> bool:
        """Say whether a test fails, or never ends, on *mutant*."""
        tests = (*tests_of(self.tree, mutant.path), *self._more)
        if new := [test for test in tests if test not in self._usual_s]:
            began = time.monotonic()
            if self._fails(new, 3_600.0):
                last = "\n".join(self._log.read_text("utf-8").splitlines()[-5:])
                raise click.ClickException(f"the tests of {mutant.path} fail without any change:\n{last}")
            self._usual_s |= dict.fromkeys(new, (time.monotonic() - began) / len(new))
        most_s = self._factor * sum(self._usual_s[test] for test in tests) + SETTLES_S
        path = self.tree / mutant.path
        source = path.read_bytes()
        try:
            self._write(path, mutant.applied(source))
            return self._fails(tests, most_s)
        finally:
            self._write(path, source)

    def _write(self, path: Path, source: bytes) -> None:
        """Write *path* with a time of its own: bytecode is taken for current by second and size."""
        path.write_bytes(source)
        self._edited += 1
        at = path.stat().st_mtime + 2 * self._edited
        os.utime(path, (at, at))

    def _fails(self, tests: Sequence[str], most_s: float) -> bool:
        """Run *tests*; say whether they fail, or take longer than *most_s* (seconds)."""
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:randomly"]
        command += ["-m", "not quiet and not installs", *tests]
        cache = str(Path(self._folder.name) / "bytecode")
        environ = {**os.environ, "PYTHONPATH": str(self.tree), "PYTHONPYCACHEPREFIX": cache}
        with self._log.open("w") as log:
            running = subprocess.Popen(  # noqa: S603 - ours
                command,
                cwd=self.tree,
                env=environ | {"HYPOTHESIS_PROFILE": "unshrunk"},
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        try:
            return running.wait(most_s) not in PASSES
        except subprocess.TimeoutExpired:
            return True
        finally:
            _end(running)


def _end(running: subprocess.Popen[bytes]) -> None:
    """End a run with everything it has started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(running.pid, signal.SIGKILL)
    running.wait()


def measure(bed: Bed, chosen: Sequence[Mutant], told: Callable[[Outcome], None]) -> Outcome:
    """Try the *chosen* mutants until all are, or Ctrl-C; *told* hears how it stands after each."""
    outcome = Outcome(0, ())
    try:
        for mutant in chosen:
            killed = bed.kills(mutant)
            survivors = outcome.survivors if killed else (*outcome.survivors, mutant)
            outcome = Outcome(outcome.killed + killed, survivors)
            told(outcome)
    except KeyboardInterrupt:
        click.echo("\nended by Ctrl-C: what follows is what there is", err=True)
    return outcome


def choose(root: Path, named: Sequence[str], count: int, seed: int) -> list[Mutant]:
    """Return *count* mutants of what is *named*, no two at one place, the same for a *seed*."""
    places = [place for path in modules(root, named) for place in mutants(path, (root / path).read_bytes())]
    chance = random.Random(seed)  # noqa: S311 - a sample, no secret
    return [chance.choice(place) for place in chance.sample(places, min(count, len(places)))]


@click.command(
    epilog="90 % is a good share. Read each survivor: it is a missing test, or code that does nothing."
)
@click.argument("packages", nargs=-1, required=True)
@click.option("--n", "count", default=60, show_default=True, help="Mutants to try.")
@click.option("--seed", type=int, help="Try the same ones again; without it, others each time.")
@click.option("--factor", default=5.0, show_default=True, help="A run so many times the usual is killed.")
@click.option("--tests", "more", multiple=True, help="Tests to run behind those of a module.")
@click.option("--list", "only_list", is_flag=True, help="Show the mutants and try none.")
@click.option("--at-least", type=float, default=0.0, help="Fail if a smaller share (%) is killed.")
def main(  # noqa: PLR0913, PLR0917 - an option each
    packages: tuple[str, ...],
    count: int,
    seed: int | None,
    factor: float,
    more: tuple[str, ...],
    at_least: float,
    *,
    only_list: bool,
) -> None:
    """Make random single changes in PACKAGES and print the share that the tests notice.

    PACKAGES are folders, files or names with dots: council, voice/hearing/endpoint.py,
    turnbudget.voice.call. The tests are those of the folder that mirrors a module, below tests/, and of
    who imports it; what is marked quiet or installs is left out. Ctrl-C prints what there is so far.

    \b
    python bench/mutants.py council --n 60 --seed 1
    python bench/mutants.py voice/call voice/hearing/ear.py --n 20
    python bench/mutants.py speculative --list --n 5
    """  # noqa: D301 - the sign that has click leave a paragraph as it is
    seed = random.SystemRandom().randrange(10_000) if seed is None else seed
    chosen = choose(ROOT, packages, count, seed)
    click.echo(f"{len(chosen)} mutants of {' '.join(packages)}, seed {seed}")
    if only_list:
        click.echo("\n".join(map(str, chosen)))
        return

    def told(so_far: Outcome) -> None:
        last, terminal = chosen[so_far.tried - 1], sys.stderr.isatty()
        text = f"{so_far.tried}/{len(chosen)} tried, {so_far.killed} killed"
        text += f"; survived  {last}" if last in so_far.survivors else ""
        click.echo(f"\r{text}" if terminal else text, nl=not terminal or last in so_far.survivors, err=True)

    for number in (signal.SIGINT, signal.SIGTERM):  # a job in the background is begun without Ctrl-C
        signal.signal(number, signal.default_int_handler)
    with Bed(ROOT, factor=factor, more=more) as bed:
        outcome = measure(bed, chosen, told)
    click.echo(f"\n{outcome.killed} of {outcome.tried} killed ({outcome.percent:.0f} %), seed {seed}")
    for mutant in outcome.survivors:
        click.echo(f"survived  {mutant}")
    if outcome.percent < at_least:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
