"""What a run writes: one row a turn in ``turns.jsonl``, and ``summary.json``. Schema 1.

Times are integer microseconds from the caller's last voiced sample; names that say ``call`` count from
the call's first sample. A row validates itself: its entries sum to ``closed_us``, or it is not written.

A hit is a turn whose answer's opening came from the shelf. It is wrong if it began before the caller's real
end (a false cut), or if the words it answered were not what was heard of the caller in the end; the rows
alone say so. Whether a reply fits they do not say: misheard words can be answered rightly to the letter.
"""

from __future__ import annotations

import platform
from importlib import metadata
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from turnbudget.voice.language.text import same

if TYPE_CHECKING:
    from collections.abc import Sequence


SCHEMA: Final = 1
"""Version of the schema of rows and summaries."""

Kind = Literal["turn", "notice", "greeting", "reprompt"]
Outcome = Literal["answered", "shelved", "bridged", "superseded", "cut", "shed", "failed", "silent"]
EndedBy = Literal["reference", "vad"]


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A plain record, written as JSON with its fields in this order."""

    def json(self) -> str:
        """Return the record as one line of JSON, as it stands in its file."""
        return msgspec.json.encode(self).decode()


class EntryRow(Record, frozen=True, kw_only=True):
    """One stage's share of the turn."""

    stage: str
    us: int
    owner: str
    owner_kind: str
    outcome: str = "done"


class LaneRow(Record, frozen=True, kw_only=True):
    """Work beside the path: shown, never added."""

    name: str
    began_us: int
    ended_us: int
    outcome: str
    saved_us: int = 0
    wasted_us: int = 0


class DecisionRow(Record, frozen=True, kw_only=True):
    """A choice, and the number that caused it."""

    at_us: int
    took: str
    because: str


class GuessRow(Record, frozen=True, kw_only=True):
    """A reply thought likely before the turn was final, and what came of it.

    ``said`` are the words it rests on ('' if it was foreseen before the caller spoke); ``outcome`` is *said*
    or *not said* of what was foreseen, *kept* or *dropped* of a head start. ``wasted_us`` is the work on it,
    as it ran on the clock, and ``cpu_us`` the CPU of its renders, that the turn did not use.
    """

    said: str
    text: str
    odds: float | None
    ready: bool
    because: str
    outcome: str
    saved_us: int = 0
    wasted_us: int = 0
    cpu_us: int = 0


class CriticalRow(Record, frozen=True, kw_only=True):
    """The entry that cost most: what to change first."""

    stage: str
    owner: str
    us: int


class Row(Record, frozen=True, kw_only=True):
    """One turn, answered or not; or something we said unasked (``kind``)."""

    schema: int = SCHEMA
    kind: Kind
    call: str
    turn: int
    outcome: Outcome
    heard: str
    heard_whole: bool | None = None
    """Whether ``heard`` was the recogniser's final text; if not, the words at the end may be missing."""
    asked: str = ""
    """The words that were answered: those heard, behind words before them that never were."""
    said: str
    reference: str | None
    """What the reference says the caller said, if there is one."""
    speech_began_call_us: int
    speech_ended_call_us: int
    speech_ended_by: EndedBy
    vad_ended_call_us: int
    """The VAD's own last voiced sample, so that a reference which errs can be seen to."""
    budget_us: int
    first_sound_us: int | None
    first_answer_us: int | None
    closed_us: int
    witness_us: int | None
    """When the first audible sample left, read off the sent samples, not off the ledger."""
    false_cut: bool | None = False
    """A sound began in a pause of the caller, who had more to say by the reference (word times, or where a
    detector that heard the whole recording found the turn to end); None where the recording cannot tell."""
    entries: tuple[EntryRow, ...]
    lanes: tuple[LaneRow, ...] = ()
    decisions: tuple[DecisionRow, ...] = ()
    guesses: tuple[GuessRow, ...] = ()
    critical: CriticalRow | None = None

    @property
    def in_time(self) -> bool:
        """Whether something sounded inside the budget."""
        return self.first_sound_us is not None and self.first_sound_us <= self.budget_us

    @property
    def answered_in_time(self) -> bool:
        """Whether an answer (no bridge) sounded inside the budget."""
        return self.first_answer_us is not None and self.first_answer_us <= self.budget_us

    @property
    def hit(self) -> bool:
        """Whether an answer sounded whose opening came from the shelf."""
        shelved = any((lane.name, lane.outcome) == ("shelf", "hit") for lane in self.lanes)
        return shelved and self.first_answer_us is not None


class Share(Record, frozen=True, kw_only=True):
    """So many of so many."""

    count: int
    of: int
    share: float | None
    """``None`` where there was nothing to count."""


NONE: Final = Share(count=0, of=0, share=None)
"""A share of nothing."""


class Spread(Record, frozen=True, kw_only=True):
    """Nearest-rank percentiles of n values; ``None`` where n is 0."""

    n: int
    p50_us: int | None = None
    p90_us: int | None = None
    p95_us: int | None = None
    p99_us: int | None = None


class StageTotal(Record, frozen=True, kw_only=True):
    """What a stage cost over all turns of a run."""

    stage: str
    n: int
    total_us: int
    share: float
    p50_us: int
    p95_us: int


class GuessTotals(Record, frozen=True, kw_only=True):
    """What was done ahead of the caller's last word, over all caller turns, and what came of it."""

    head_starts: Share = NONE
    """Of the head starts, those whose work a turn took up."""
    foreseen: Share = NONE
    """Of the turns in which something was foreseen, those whose answer began with it."""
    saved_us: int = 0
    """Work done ahead that turns took up, and that their callers did not wait for."""
    unused_us: int = 0
    """Work on guesses that their turns did not take up, as it ran on the clock: no CPU time."""
    unused_cpu_us: int = 0
    """CPU of the voice's process for renders that ended and were not used; 0 also where nobody measures.

    What a render that was given up had taken, and what the responder took to think, is not in it.
    """


class Checks(Record, frozen=True, kw_only=True):
    """What every account is held to beside its sum, over all rows, what we said unasked among them."""

    witnessed: Share = NONE
    """Of the rows with a sound, those whose first sound the tape has read as well."""
    apart_us: int = 0
    """How far ledger and tape are apart on it, at most; more than a millisecond is a fault of ours."""
    unaccounted_us: int = 0
    """What no stage explains of a row, at most; the same holds."""


class Engine(Record, frozen=True, kw_only=True):
    """Which engine did a job, and why it was taken."""

    job: str
    name: str
    why: str


class WordErrors(Record, frozen=True, kw_only=True):
    """Word errors against the reference: substituted, deleted and inserted words."""

    rate: float
    words: int
    substituted: int
    deleted: int
    inserted: int


class TaskRecord(Record, frozen=True, kw_only=True):
    """What a caller wanted by the recording's own metadata, and what the council made of it."""

    wanted: str
    found: str
    slots: int
    slots_right: int
    got: dict[str, str]


class CallRecord(Record, frozen=True, kw_only=True):
    """One call of a run."""

    call: str
    source: str
    length_us: int
    turns: int
    audio: str
    """The resulting call as stereo WAV in the run folder: caller left, our voice right."""
    ended: str
    recorded: int = 0
    """Turns of the caller that the recording holds; 0 for a live call."""
    not_replayed: int = 0
    """Of those, the turns that the call ended before (``ended`` says why): they have no row."""
    backchannels: int = 0
    """What the recorded caller sounded over the agent, who spoke on: no turns, owed no answer."""
    notes: tuple[str, ...] = ()
    """What was odd about the recording, and how it was taken: nothing that kept it from being replayed."""
    task: TaskRecord | None = None
    """Only where the recording's metadata say what was wanted, and a council answered."""


class Summary(Record, frozen=True, kw_only=True):
    """A run in numbers, with n beside each."""

    schema: int = SCHEMA
    name: str
    clock: str
    pacing: str
    began: str | None
    """Calendar time, as a label only; ``None`` in virtual time."""
    seed: int
    versions: dict[str, str]
    engines: tuple[Engine, ...]
    budget_us: int
    calls: tuple[CallRecord, ...]
    turns: int
    outcomes: dict[str, int]
    speculation: bool = False
    """Whether work was done ahead of the caller's last word."""
    in_time: Share
    """The headline: of all caller turns, those with a sound inside the budget."""
    answered_in_time: Share = NONE
    """Of all caller turns, those with an answer (no bridge) inside the budget."""
    under_200: Share
    """Of all caller turns, those with an answer (no bridge) within 200 ms."""
    superseded_early: Share
    """Of all caller turns, those that the caller took back inside the budget, before any sound.

    None was owed a sound yet; they count against ``in_time`` all the same.
    """
    first_sound: Spread
    first_answer: Spread
    stages: tuple[StageTotal, ...]
    ended_by: dict[str, int]
    """Where the zero of the turns came from."""
    partial_texts: Share = NONE
    """Of the caller turns with a text, those taken on a partial one, for the final came too late."""
    not_replayed: int = 0
    """Turns of the recordings that no row stands for, because their call ended before them."""
    false_cuts: Share
    saved_us: int
    wasted_us: int
    wrong_hits: Share
    """Of the hits, those begun before the caller's real end or answering other words than the caller's in the
    end; see :mod:`turnbudget.runs.records`."""
    hits: Share
    """Of all caller turns, those whose answer's opening came from the shelf."""
    guesses: GuessTotals = GuessTotals()
    checks: Checks = Checks()
    wer: WordErrors | None
    usd: float | None = None
    """What the LLM attempts cost by the backend's own price; ``None`` if there were none or it names none."""
    faults: tuple[str, ...] = ()
    """Inputs that could not be replayed, one line each."""
    truncated: bool = False
    """The run was ended before its end."""


class Side(Record, frozen=True, kw_only=True):
    """One run of a comparison: what it is called in it, and its folder beside the other's."""

    label: str
    folder: str
    summary: Summary


class Comparison(Record, frozen=True, kw_only=True):
    """Runs of the same recordings that differ in one thing."""

    schema: int = SCHEMA
    sides: tuple[Side, ...]


def verdicts(rows: Sequence[Row]) -> list[str | None]:
    """Return, for each of *rows*, why its hit was wrong: '' if it was right, ``None`` if it is no hit.

    The rows of a call stand in the order of its turns.
    """
    after: dict[str, Row] = {}
    found: list[str | None] = []
    for row in reversed(rows):
        turn = row.kind == "turn"
        found.append(_wrong(row, after.get(row.call)) if turn and row.hit else None)
        if turn:
            after[row.call] = row
    return found[::-1]


def told(row: Row, verdict: str | None) -> str:
    """Return in words whether *row* was a hit, given its *verdict*."""
    if verdict is not None:
        return f"wrong hit: {verdict}" if verdict else "hit"
    return "no answer sounded" if row.first_answer_us is None else "miss: its opening was not ready"


def _wrong(row: Row, after: Row | None) -> str:
    """Say why the hit of *row* was wrong, knowing the turn *after* it; '' if it was right."""
    if row.false_cut:
        return "begun before the caller's real end"
    asked = row.asked or row.heard
    if after and after.asked != after.heard and after.asked.startswith(f"{asked} "):
        return "the caller had more to say, and the words came again in the next turn"
    other = next(
        (guess for guess in row.guesses if guess.outcome == "kept" and not same(guess.said, asked)), None
    )
    return f"the head start kept was on {other.said!r}, and {asked!r} was heard" if other else ""


MEASURED_WITH: Final = ("turnbudget", "numpy", "onnxruntime", "soundfile", "soxr", "vosk", "pyttsx3")
"""Distributions whose versions a summary names."""


def versions(*more: str) -> dict[str, str]:
    """Return the versions of Python, of MEASURED_WITH and of *more*, as far as they are installed."""
    found = {"python": platform.python_version()}
    for name in (*MEASURED_WITH, *more):
        if version := _installed(name):
            found[name] = version
    return found


def _installed(name: str) -> str:
    """Return the version of the distribution *name*; "" if it is not installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


__version__: Final = _installed("turnbudget")
"""The installed version of turnbudget; "" where its files are used without having been installed."""
