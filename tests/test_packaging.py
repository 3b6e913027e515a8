"""What is installed is one import name, whole, beside anybody else's; each in a fresh environment."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest
from calls import harper
from shipped import ROOT, SHIPPED

pytestmark = pytest.mark.installs

BUILDS = ("hatchling", "twine", "basedpyright", "mypy")
BOTH = """
import asyncio
import agents
import turnbudget
from turnbudget.voice.time import clock

async def theirs():
    from agents.tracing import set_tracing_disabled
    set_tracing_disabled(True)
    @agents.function_tool
    def double(n: int) -> int:
        "Double it."
        return 2 * n
    seat = agents.Agent(name="doubler", tools=[double])
    return seat.name, double.name

async def ours():
    began = clock.now()
    await clock.sleep(5 * clock.SECOND)
    return clock.now() - began

assert asyncio.run(theirs()) == ("doubler", "double")
assert clock.run(ours(), "virtual") == 5_000_000
assert turnbudget.Call.__module__.startswith("turnbudget.voice.")
print("both run")
"""
OWN = """
import agents, council, demos, speculative, voice
assert {one.MINE for one in (agents, council, demos, speculative, voice)} == {True}
import turnbudget
from turnbudget.agents.form import Form
from turnbudget.council.council import Council
from turnbudget.speculative.speculation import Speculation
print(turnbudget.Call.__name__, Form.__name__, Council.__name__, Speculation.__name__)
"""
EVERY = """
import contextlib, importlib, io, pkgutil, sys
import turnbudget
failed = []
for module in pkgutil.walk_packages(turnbudget.__path__, "turnbudget."):
    if not module.name.endswith("__main__"):
        try:
            importlib.import_module(module.name)
        except Exception as error:
            failed.append((module.name, repr(error)))
failed += {"voice", "agents", "council", "speculative", "demos"} & set(sys.modules)
print(len(failed), "fail", *failed)
"""
TYPED = """
from turnbudget import Budget
from turnbudget.voice.time import clock

reveal_type(clock.now())
budget: Budget = clock.now()
"""


def run(*command, cwd, code=0, **variables):
    """Run *command* and return what it printed; any exit code but *code* is a failure."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run(  # noqa: S603 - our own commands
        [str(word) for word in command],
        cwd=cwd,
        env=kept | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The wheel and the sdist of this checkout, built as ``pip`` would."""
    out = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "hatchling", "build", "-d", out, cwd=ROOT)
    (wheel,), (sdist,) = out.glob("*.whl"), out.glob("*.tar.gz")
    return wheel, sdist


class Fresh:
    """A new virtual environment with nothing in it but pip."""

    def __init__(self, folder):
        """Make it at *folder*."""
        self.folder = folder
        venv.create(folder, with_pip=True)
        self.python = folder / "bin" / "python"

    def pip(self, *arguments):
        """Run pip in it; skip the test where no registry is within reach."""
        quiet = ("--quiet", "--no-input", "--disable-pip-version-check")
        return run(self.python, "-m", "pip", *arguments, *quiet, cwd=self.folder)

    @property
    def packages(self):
        """Every file below its site-packages that belongs to nobody's cache."""
        (place,) = self.folder.glob("lib/python*/site-packages")
        return {path.relative_to(place).as_posix() for path in place.rglob("*") if path.name != "__pycache__"}


@pytest.fixture(scope="module")
def ours_first(built, tmp_path_factory):
    """Our wheel, then openai-agents."""
    fresh = Fresh(tmp_path_factory.mktemp("ours-first"))
    fresh.pip("install", built[0])
    fresh.pip("install", "openai-agents")
    return fresh


@pytest.fixture(scope="module")
def theirs_first(built, tmp_path_factory):
    """openai-agents, then our sdist."""
    fresh = Fresh(tmp_path_factory.mktemp("theirs-first"))
    fresh.pip("install", "openai-agents")
    fresh.before = fresh.packages
    fresh.pip("install", built[1])
    return fresh


def names(archive):
    """Every file that *archive* holds below turnbudget/."""
    if archive.suffix == ".whl":
        found = zipfile.ZipFile(archive).namelist()
    else:
        with tarfile.open(archive) as held:
            found = [name.partition("/")[2] for name in held.getnames()]
    return {name for name in found if name.startswith("turnbudget/")}


def test_wheel_and_sdist_hold_every_file_that_is_ours_and_no_other(built):
    listed = run("git", "ls-files", *SHIPPED, cwd=ROOT).split()
    files = {name for name in listed if not (ROOT / name).is_symlink()}
    wanted = {name if name.startswith("turnbudget/") else f"turnbudget/{name}" for name in files}
    assert names(built[0]) == names(built[1]) == wanted
    parts = ("turnbudget/py.typed", "turnbudget/pages/talk.html", "turnbudget/demos/bank/bank.toml")
    assert wanted.issuperset(parts)
    assert any(name.endswith("language/en/words.toml") for name in wanted)


def test_the_wheel_owns_one_import_name(built):
    tops = {name.partition("/")[0] for name in zipfile.ZipFile(built[0]).namelist()}
    assert {name for name in tops if not name.endswith(".dist-info")} == {"turnbudget"}


def test_the_registry_would_take_both(built):
    assert run(sys.executable, "-m", "twine", "check", "--strict", *built, cwd=ROOT).count("PASSED") == 2


@pytest.mark.parametrize("order", ["ours_first", "theirs_first"])
def test_beside_openai_agents_both_run_in_either_order(order, request, tmp_path):
    fresh = request.getfixturevalue(order)
    assert run(fresh.python, "-c", BOTH, cwd=tmp_path) == "both run\n"
    fresh.pip("check")
    told = run(fresh.folder / "bin" / "turnbudget", "doctor", cwd=tmp_path)
    assert "import turnbudget" not in told, "nobody else owns our name"


def test_a_project_with_folders_of_our_names_imports_us(ours_first, tmp_path):
    for name in ("agents", "council", "demos", "speculative", "voice"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("MINE = True\n")
    (tmp_path / "main.py").write_text(OWN)
    assert run(ours_first.python, "main.py", cwd=tmp_path) == "Call Form Council Speculation\n"


def test_every_module_imports_without_a_checkout_and_under_no_other_name(ours_first, tmp_path):
    """Nothing is found by the name of a folder at the top of the checkout, which is on no other path."""
    assert run(ours_first.python, "-c", EVERY, cwd=tmp_path) == "0 fail\n"


def test_a_call_is_replayed_by_the_bank_without_a_checkout(ours_first, tmp_path):
    harper(tmp_path / "in")
    program = ours_first.folder / "bin" / "turnbudget"
    told = run(
        program,
        "replay",
        "in",
        "--council",
        "bank",
        "--clock",
        "virtual",
        cwd=tmp_path,
    )
    assert "of all caller turns sounded within 800 ms" in told
    assert (tmp_path / "runs" / "in" / "report.html").is_file()


def test_a_project_that_uses_us_sees_types(ours_first, tmp_path):
    (tmp_path / "use.py").write_text(TYPED)
    mypy = (sys.executable, "-m", "mypy", "--strict", "--python-executable", ours_first.python)
    told = run(*mypy, "use.py", cwd=tmp_path, code=1)
    assert 'Revealed type is "int"' in told.replace("builtins.", "")
    assert 'variable has type "Budget"' in told
    assert "Found 1 error in 1 file" in told
    pyright = (sys.executable, "-m", "basedpyright", "--pythonpath", ours_first.python, "--level", "error")
    told = run(*pyright, "use.py", cwd=tmp_path, code=1)
    assert "1 error" in told
    assert '"Budget"' in told


def test_an_editor_finds_a_definition_in_the_checkout():
    """The links are what a static tool sees: the modules behind them have files, and types."""
    told = run(sys.executable, "-m", "basedpyright", "--level", "error", cwd=ROOT)
    assert "0 errors" in told


def test_what_is_uninstalled_is_gone(theirs_first):
    theirs_first.pip("uninstall", "--yes", "turnbudget")
    left = {name for name in theirs_first.packages - theirs_first.before if "turnbudget" in name}
    assert left == set()
    assert (
        run(theirs_first.python, "-c", "import agents; print(agents.Agent(name='a').name)", cwd="/") == "a\n"
    )


def test_the_links_lead_to_the_folders_at_the_top():
    linked = {
        path.name: str(path.readlink()) for path in (ROOT / "turnbudget").iterdir() if path.is_symlink()
    }
    assert linked == {name: f"../{name}" for name in SHIPPED if name != "turnbudget"}


@pytest.fixture(scope="module", autouse=True)
def tools():
    """Skip, saying what is missing, where the programs that build and check are not installed."""
    lacking = [
        name for name in BUILDS if not list(Path(sys.prefix).glob(f"lib/python*/site-packages/{name}"))
    ]
    if lacking:
        pytest.skip(f"not installed: {', '.join(lacking)}; pip install --group dev")
