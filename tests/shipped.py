"""The project's own source files, for the tests that read them as text."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[1]
SHIPPED = ("voice", "agents", "council", "speculative", "turnbudget", "demos")


def files(*folders: str) -> list[Path]:
    """Return every Python file below *folders*, in a fixed order."""
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def name(path: Path) -> str:
    """Return *path* as a reader would type it from the project's folder."""
    return path.relative_to(ROOT).as_posix()
