"""Recorded dialogues as text, whatever they were recorded by: pairs of role and words, call by call.

A ``.jsonl`` of dialogues, a HarperValley folder, a run's folder or its ``turns.jsonl``, a ``.vcon`` with its
conversation in writing, or a folder of any of these. Everything here blocks.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from turnbudget.recorded import dialogues, harper
from turnbudget.voice.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

AGENTS: Final = frozenset(("agent", "operator", "representative", "bot", "assistant", "contact center agent"))
"""What vCons call the party that answers."""


class Text(NamedTuple):
    """One call in writing."""

    name: str
    turns: tuple[tuple[str, str], ...]


class _Row(msgspec.Struct):
    """As much of a run's row as was said in it."""

    call: str
    kind: str
    heard: str
    said: str


def texts(paths: Iterable[Path]) -> tuple[Text, ...]:
    """Return the calls at *paths*, in their order and each once; raises UsageError.

    Two calls may have one name, for every day's folder begins with a "call-1".
    """
    return tuple(dict.fromkeys(text for path in paths for text in _texts(path)))


def _texts(path: Path) -> Iterator[Text]:
    if not path.exists():
        raise UsageError("there is no such file or folder", where=str(path), remedy="check the name")
    if path.is_dir():
        yield from _folder(path)
    elif path.suffix.lower() == ".vcon":
        yield _vcon(path)
    elif path.name == "turns.jsonl":
        yield from _run(path)
    elif path.suffix == ".jsonl":
        yield from (Text(each.name, each.turns) for each in dialogues.read(path))
    else:
        raise _nothing(path)


def _folder(path: Path) -> Iterator[Text]:
    if harper.is_harper(path):
        yield from (Text(each.name, each.turns) for each in dialogues.read(path))
        return
    if (path / "turns.jsonl").exists():
        yield from _run(path / "turns.jsonl")
        return
    files = sorted(file for file in path.iterdir() if file.suffix.lower() in {".vcon", ".jsonl"})
    if not files:
        raise _nothing(path)
    for file in files:
        yield from _texts(file)


def _nothing(path: Path) -> UsageError:
    return UsageError(
        "there are no dialogues in it",
        where=str(path),
        remedy="give a .jsonl of dialogues, a HarperValley folder, a run, or .vcon files",
    )


def _run(path: Path) -> Iterator[Text]:
    """Yield the calls of a run, as they were heard and answered."""
    calls: dict[str, list[tuple[str, str]]] = {}
    for number, line in enumerate(_read(path).splitlines(), 1):
        try:
            row = msgspec.json.decode(line, type=_Row)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise UsageError(
                f"is no row of a run ({error})",
                where=f"{path}:{number}",
                remedy="mend the line, or take it out",
            ) from None
        turns = calls.setdefault(row.call, [])
        turns += [(role, text) for role, text in (("caller", row.heard), ("agent", row.said)) if text]
    yield from (Text(f"{path.parent.name}/{call}", tuple(turns)) for call, turns in calls.items())


def _vcon(path: Path) -> Text:
    """Return the conversation of a vCon, from its text dialogs or else from a transcript in its analysis."""
    try:
        vcon = json.loads(_read(path))
        roles = ["agent" if str(p.get("role", "")).lower() in AGENTS else "caller" for p in vcon["parties"]]
        said = list(_said(vcon))
        turns = tuple((roles[party], text) for party, text in said if 0 <= party < len(roles))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise UsageError(
            "is no vCon with parties", where=str(path), remedy="mend it, or leave it out"
        ) from None
    if {role for role, _ in turns} != {"agent", "caller"}:
        raise UsageError(
            "has no conversation in writing between an agent and somebody else",
            where=str(path),
            remedy='it needs dialogs of type "text" or a transcript, and a party with the role "agent"',
        )
    return Text(path.stem, turns)


def _said(vcon: dict[str, Any]) -> Iterator[tuple[int, str]]:
    """Yield who said what: the index of a party, and the words."""
    texts = [dialog for dialog in vcon.get("dialog", ()) if dialog.get("type") == "text"]
    for dialog in texts:
        parties = dialog.get("originator", dialog.get("parties"))
        yield int(parties[0] if isinstance(parties, list) else parties), str(dialog["body"])
    for analysis in () if texts else vcon.get("analysis", ()):
        if analysis.get("type") == "transcript":
            body = analysis["body"]
            lines = json.loads(body) if isinstance(body, str) else body
            for line in lines:
                yield int(line["party"]), str(line["text"])
            return


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"cannot be read ({error.strerror})", where=str(path), remedy="check its rights"
        ) from None
