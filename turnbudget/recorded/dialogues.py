"""Written dialogues held again with our agents: only the caller's words are fed, one turn after another.

The caller of a transcript answers a person's questions, whatever ours were: a council that asks in another
order than people do, or asks for what was said, falls out of step and loses. Each call is scored against
what was wanted: by the corpus's metadata where there are some, else by the rule in
:mod:`turnbudget.recorded.wanted`.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from turnbudget.recorded import harper, wanted
from turnbudget.recorded.wanted import TASKS, Wanted
from turnbudget.voice.call.ledger import Ledger
from turnbudget.voice.call.responder import Question, Said
from turnbudget.voice.errors import UsageError
from turnbudget.voice.language.text import is_words, spoken
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Budget
from turnbudget.voice.time.crew import Crew

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from turnbudget.council.council import Council

TURN_US: Final = 5 * clock.SECOND
"""How long a written turn may take its council."""
HELD_BACK: Final = 3
"""The last third of a file of dialogues, rounded up, is held back: agents were not built looking at it."""
COUNTED: Final = (
    *("questions", "clarifications", "handoffs", "actions", "not understood", "without a reply"),
    "slots not said",
)
"""What a line of figures counts, the last being what the rule did not find, so that it is not scored."""


@dataclass(frozen=True, slots=True)
class Dialogue:
    """One call in writing: its turns as pairs of role and text, and what was wanted."""

    name: str
    group: str
    turns: tuple[tuple[str, str], ...]
    wanted: Wanted

    @property
    def caller(self) -> tuple[str, ...]:
        """What the caller says, turn by turn; a turn of nothing but noise is none."""
        return tuple(spoken(text) for role, text in self.turns if role == "caller" and is_words(text))


@dataclass(slots=True)
class Outcome:
    """What a council made of one dialogue."""

    dialogue: Dialogue
    task: str = ""
    slots: dict[str, str] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    """How often it asked for a slot, asked which of two was meant, handed over, acted, or said nothing."""
    said: list[Said] = field(default_factory=list)
    """The conversation as it went, both sides."""

    @property
    def task_right(self) -> bool:
        """Whether the caller's task was identified."""
        return self.task == self.dialogue.wanted.task

    @property
    def slots_right(self) -> tuple[str, ...]:
        """The wanted slots that are right."""
        right = self.dialogue.wanted.slots
        return tuple(slot for slot in right if wanted.same(slot, right[slot], self.slots.get(slot, "")))


def read(path: Path) -> tuple[Dialogue, ...]:
    """Return the dialogues at *path*: a ``.jsonl`` file, or a HarperValley folder with all it holds.

    Blocks; raises UsageError, one line for a person.
    """
    if not path.is_dir():
        return _file(path)
    if not harper.is_harper(path):
        raise UsageError("is no HarperValley folder", where=str(path), remedy="give one, or a .jsonl file")
    calls = [_call(transcript) for transcript in sorted((path / "transcript").glob("*.json"))]
    more = path / "dialogues.jsonl"
    return (*calls, *(_file(more) if more.exists() else ()))


def _file(path: Path) -> tuple[Dialogue, ...]:
    rows = [_load(text, f"{path}:{number}") for number, text in enumerate(_text(path).splitlines(), 1)]
    kept = len(rows) - -(-len(rows) // HELD_BACK)
    found = []
    for number, row in enumerate(rows):
        try:
            turns = tuple((str(role), str(text)) for role, text in row["turns"])
            name = str(row["sid"])
        except (LookupError, TypeError, ValueError):
            raise UsageError(
                'is no dialogue: {"sid", "turns": [[role, text], …]}',
                where=f"{path}:{number + 1}",
                remedy="mend the line",
            ) from None
        group = "dialogues" if number < kept else "dialogues, held back"
        found.append(Dialogue(name, group, turns, wanted.wanted(turns)))
    return tuple(found)


def _call(transcript: Path) -> Dialogue:
    """Return a recorded call: its segments joined to turns, and its metadata.

    Wanted is what the human agent was to write down, with the values that were meant.
    """
    metadata = transcript.parent.parent / "metadata" / transcript.name
    try:
        segments = [
            (line["speaker_role"], line["human_transcript"])
            for line in sorted(_load(_text(transcript), str(transcript)), key=lambda line: line["offset_ms"])
        ]
        task = _load(_text(metadata), str(metadata))["tasks"][0]
        turns = tuple(
            (role, " ".join(text for _, text in lines)) for role, lines in groupby(segments, itemgetter(0))
        )
    except (LookupError, TypeError):
        raise UsageError("is no HarperValley call", where=str(transcript), remedy="leave it out") from None
    return Dialogue(transcript.stem, "transcripts", turns, wanted.told(task))


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        fault = getattr(error, "strerror", None) or "it is no UTF-8"
        raise UsageError(f"cannot be read ({fault})", where=str(path), remedy="check the name") from None


def _load(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"is no JSON ({error})", where=where, remedy="mend it") from None


async def hold(dialogue: Dialogue, council: Council) -> Outcome:
    """Hold *dialogue* with *council*, which is new, and return what it made of it.

    The task is the one whose seat, of those named after a task, was chosen last.
    """
    outcome = Outcome(dialogue)
    async with Crew() as crew:
        for text in dialogue.caller:
            await _turn(text, council, outcome, crew)
    outcome.slots.update(council.known.slots)
    return outcome


async def _turn(text: str, council: Council, outcome: Outcome, crew: Crew) -> None:
    budget = Budget.of(TURN_US)
    ledger = Ledger(clock.now())
    question = Question(
        said=text, history=tuple(outcome.said), budget=budget, notes=ledger, crew=crew, sound_by=budget
    )
    reply = await council.answer(question)
    outcome.said.append(Said("caller", text))
    if reply is None:
        outcome.counts["without a reply"] += 1
        return
    rest = [piece async for piece in reply.rest]
    outcome.said.append(Said("agent", " ".join((reply.text, *rest))))
    last = council.last
    kind, opinion = (last.kind, last.opinion) if last else ("nothing", None)
    outcome.counts["clarifications"] += kind == "clarification"
    outcome.counts["not understood"] += kind == "otherwise"
    if opinion:
        outcome.counts["questions"] += reply.by in TASKS and bool(opinion.expects)
        outcome.counts["actions"] += opinion.action is not None
        outcome.counts["handoffs"] += bool(opinion.transfer)
    if opinion and reply.by in TASKS:
        outcome.task = reply.by


async def hold_all(dialogues: Iterable[Dialogue], make: Callable[[], Council]) -> list[Outcome]:
    """Hold each of *dialogues* with a council of its own."""
    return [await hold(dialogue, make()) for dialogue in dialogues]


def lines(outcomes: Sequence[Outcome]) -> list[str]:
    """Return the figures of *outcomes*, a line a group, n beside each."""
    groups = dict.fromkeys(outcome.dialogue.group for outcome in outcomes)
    return [_line(group, [one for one in outcomes if one.dialogue.group == group]) for group in groups]


def _line(group: str, outcomes: Sequence[Outcome]) -> str:
    task = _share(sum(one.task_right for one in outcomes), len(outcomes))
    slots = _share(
        sum(len(one.slots_right) for one in outcomes), sum(len(one.dialogue.wanted.slots) for one in outcomes)
    )
    unsaid = sum(
        len(wanted.SLOTS.get(one.dialogue.wanted.task, ())) - len(one.dialogue.wanted.slots)
        for one in outcomes
    )
    counts = sum((one.counts for one in outcomes), Counter({"slots not said": unsaid}))
    counted = ", ".join(f"{counts[name]} {name}" for name in COUNTED)
    return f"{group}: task {task}, slots {slots}; {counted}"


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%} ({part} of {whole})" if whole else "none"
