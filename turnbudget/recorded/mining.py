"""Recorded dialogues become a reply bank, and dialogues it was not made from say what it is worth.

A turn is one of the caller's that an agent answered; it is a **hit** if the bank has a reply that passes the
threshold and the guard. A hit is **wrong** if a human reader would say that the reply does not fit there.
The judge is mechanical (:mod:`turnbudget.speculative.bank.rehearse`): what it finds to fit is counted as
such, all else counts as wrong and is printed for a person to judge.

Dialogues are read as text, whatever they were recorded by: pairs of role and words, call by call, from a
``.jsonl`` of dialogues, a HarperValley folder, a run's folder or its ``turns.jsonl``, a ``.vcon`` with its
conversation in writing, or a folder of any of these. Everything here blocks.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from turnbudget.recorded import dialogues, harper
from turnbudget.speculative.bank import bank as banks
from turnbudget.speculative.bank.calibration import reliability
from turnbudget.speculative.bank.endings import Endings, prefixes
from turnbudget.speculative.bank.guess import Guesser
from turnbudget.speculative.bank.match import THRESHOLD, Match
from turnbudget.speculative.bank.mine import mine
from turnbudget.speculative.bank.rehearse import THRESHOLDS, Rehearsed, curve, exchanges, rehearse
from turnbudget.voice import reading
from turnbudget.voice.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from turnbudget.speculative.bank.bank import Bank

HOLD_OUT: Final = 0.33
"""Share of the dialogues that the bank is not made from, and is judged by."""
LEAST: Final = 2
"""Dialogues below which nothing is mined: fewer have nothing in common."""
RECALL: Final = 0.8
"""Share of the true ends to be found at the threshold at which endings are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mined:
    """A bank, and how it did on what it was not made from."""

    bank: Bank
    trained: int
    held_out: int
    rehearsed: tuple[Rehearsed, ...]
    ends: tuple[tuple[float, bool], ...]
    """At each beginning of a held-out turn: how likely it was taken to be over, and whether it was."""


def split(dialogues: Sequence[Text], hold_out: float) -> tuple[Sequence[Text], Sequence[Text]]:
    """Return the dialogues to learn from and those held out: the last, rounded up; raises UsageError."""
    if not 0 <= hold_out < 1:
        raise UsageError(
            f"{hold_out:g} of the dialogues cannot be held out", where="--hold-out", remedy="give 0 to 0.9"
        )
    kept = len(dialogues) - math.ceil(len(dialogues) * hold_out)
    if kept < LEAST:
        raise UsageError(
            f"{len(dialogues)} dialogues leave {kept} to learn from",
            where="--hold-out",
            remedy="hold out fewer, or give more",
        )
    return dialogues[:kept], dialogues[kept:]


def mined(
    dialogues: Sequence[Text],
    hold_out: float = HOLD_OUT,
    *,
    everything: bool = False,
    doing: Callable[[int, int, str], None] = lambda *_: None,
) -> Mined:
    """Return the bank of *dialogues* and how it does on those held out.

    The bank knows nothing of these, unless *everything* asks for one made from all: the figures are then of
    the bank without them.
    """
    kept, held = split(dialogues, hold_out)
    bank = mine([each.turns for each in kept], heard=lambda done, of: doing(done, of, "mining"))
    if not bank.reply:
        raise UsageError(
            f"no reply was said twice to the same question in {len(kept)} dialogues",
            remedy="give more dialogues",
        )
    guesser = Guesser(bank)
    rehearsed = rehearse(guesser, held)
    ends = tuple(_ends(Endings(bank, guesser), held))
    if everything and held:
        bank = mine([each.turns for each in dialogues], heard=lambda done, of: doing(done, of, "mining all"))
    return Mined(bank=bank, trained=len(kept), held_out=len(held), rehearsed=rehearsed, ends=ends)


def _ends(endings: Endings, held: Sequence[Text]) -> Iterator[tuple[float, bool]]:
    for dialogue in held:
        for exchange in exchanges(dialogue.turns):
            for prefix, over in prefixes(exchange.said):
                yield endings.over(prefix, exchange.asked) or 0.0, over


def run(  # noqa: PLR0913 - the options of a command
    paths: Sequence[Path],
    out: Path,
    *,
    hold_out: float = HOLD_OUT,
    threshold: float = THRESHOLD,
    everything: bool = False,
    show_misfits: bool = False,
    force: bool = True,
    doing: Callable[[int, int, str], None] = lambda *_: None,
) -> Iterator[str]:
    """Yield the lines of ``turnbudget mine``, the bank being written to *out*; blocks, raises UsageError.

    Without *force* nothing that reads otherwise is replaced: a bank is there to be edited.
    """
    if not 0 <= threshold <= 1:
        raise UsageError(f"{threshold:g} are no odds", where="--threshold", remedy="give 0 to 1")
    banks.try_place(out)
    found = mined(texts(paths), hold_out, everything=everything, doing=doing)
    if not force and out.exists() and out.read_bytes() != banks.text(found.bank).encode():
        raise UsageError("exists, and is another", where=str(out), remedy="choose another --out, or --force")
    banks.write(found.bank, out)
    yield _what(found, everything=everything)
    if found.rehearsed:
        yield from _curve(found, threshold)
        yield from _odds(found)
        yield from _endings(found)
    yield from _unlike(found, threshold) if show_misfits else _wrong(found, threshold)
    bank = found.bank
    endings = sum(map(_size, bank.ending))
    yield f"{out}: {len(bank.state)} states, {len(bank.reply)} replies, {endings} endings"


def _size(ending: banks.Ending) -> int:
    return len(ending.counts)


def _what(found: Mined, *, everything: bool) -> str:
    made = "the bank is made from all" if everything else "the bank does not know them"
    return f"learned from {found.trained} dialogues, tried on the last {found.held_out}; {made}"


def _curve(found: Mined, threshold: float) -> Iterator[str]:
    n = len(found.rehearsed)
    yield f"threshold   hits          wrong         same act   announcing   (n = {n} answered turns)"
    for point in curve(found.rehearsed, sorted({*THRESHOLDS, threshold})):
        mark = "  <- chosen" if point.threshold == threshold else ""
        yield (
            f"{point.threshold:9.2f}   {_share(point.hits, n):11}   {_share(point.wrong, n):11}   "
            f"{point.same:8d}   {point.announcing:10d}{mark}"
        )


def _odds(found: Mined) -> Iterator[str]:
    yield "odds        promised   came true   n"
    for each in reliability(each.trial for each in found.rehearsed if each.trial):
        yield f"{each.low:.2f}-{each.high:.2f}   {each.odds:8.2f}   {each.fits:9.2f}   {each.n}"


def _endings(found: Mined) -> Iterator[str]:
    true = sorted((likely for likely, over in found.ends if over), reverse=True)
    inner = [likely for likely, over in found.ends if not over]
    if true and inner:
        point = true[math.ceil(RECALL * len(true)) - 1]
        early = sum(likely >= point for likely in inner)
        yield (
            f"endings: at {point:.2f}, where {RECALL:.0%} of {len(true)} ends are found, "
            f"{_share(early, len(inner))} of {len(inner)} inner places would be called over"
        )


def _wrong(found: Mined, threshold: float) -> Iterator[str]:
    return _shown(found, threshold, {"misfit"})


def _unlike(found: Mined, threshold: float) -> Iterator[str]:
    return _shown(found, threshold, {"misfit", "other"})


def _shown(found: Mined, threshold: float, verdicts: set[str]) -> Iterator[str]:
    """Yield the hits with one of *verdicts*, for a person to judge."""
    for each in found.rehearsed:
        hit = each.found
        if isinstance(hit, Match) and hit.odds >= threshold and each.verdict in verdicts:
            yield (
                f"{each.verdict} in {each.call}, odds {hit.odds:.2f}:\n  agent   {each.exchange.asked}\n"
                f"  caller  {each.exchange.said}\n  person  {each.exchange.replied}\n  bank    {hit.text}"
            )


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%} ({part})" if whole else "none"


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
        return reading.read(path)
    except OSError as error:
        raise UsageError(
            f"cannot be read ({error.strerror})", where=str(path), remedy="check its rights"
        ) from None
