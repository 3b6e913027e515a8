"""A turn's account: at every instant exactly one stage is charged.

The ledger is a cursor with a stack of stages, not a bag of stopwatches: a cut ends one entry and begins
the next, so entries are contiguous and sum to the turn in whole microseconds. Time that no stage claims
is charged to ``unaccounted``. Work beside the path (each seat, each attempt, each early start) lies in
lanes, which are shown and never added.

The zero is the caller's last voiced sample. A stalled loop is measured by its own heartbeat and carved out
of whatever entry it fell into, so that nobody who merely waited is blamed for it.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

from turnbudget.voice.errors import LedgerError, UsageError
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from turnbudget.voice.time.pulse import Stall

Stage: TypeAlias = Literal[
    "endpoint",
    "transcribe",
    "match",
    "council",
    "choose",
    "synthesize",
    "deliver",
    "stall",
    "unaccounted",
]
"""What a turn's time is charged to."""
OwnerKind: TypeAlias = Literal["setting", "service", "agent", "own code", "budget"]
"""What kind of thing an owner is."""
Outcome: TypeAlias = Literal[
    "answered", "shelved", "bridged", "superseded", "cut", "shed", "failed", "silent"
]
"""How a turn ended."""


@dataclass(frozen=True, slots=True)
class Owner:
    """Who or what a stage waited for, so that a reader knows what to change."""

    name: str
    """A setting's key, or the name of a service, an agent or a part of the program."""
    kind: OwnerKind


NOBODY: Final = Owner("turnbudget", "own code")
"""Owner of time that nobody explains."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One stage's share of the turn, in microseconds on the loop's clock."""

    stage: Stage
    began_us: int
    """Beginning (µs on the clock)."""
    ended_us: int
    """End, where the next entry begins (µs on the clock)."""
    owner: Owner
    """Who or what was waited for."""
    outcome: str = "done"
    """How the stage ended: ``done``, ``cut`` or ``failed``."""

    @property
    def us(self) -> int:
        """Duration (µs)."""
        return self.ended_us - self.began_us


@dataclass(frozen=True, slots=True)
class Decision:
    """A choice that the turn made at ``at_us``, and the number that caused it."""

    at_us: int
    took: str
    """What was chosen."""
    because: str
    """Why, with the number."""


@dataclass(slots=True)
class Lane:
    """Work beside the path: when it ran, how it ended, what it saved or wasted. Times in microseconds."""

    name: str
    """What ran, for instance ``seat:transfer`` or ``asr:moonshine``."""
    began_us: int
    """When it began (µs on the clock)."""
    ended_us: int | None = None
    """When it ended (µs on the clock); ``None`` while it runs."""
    outcome: str = "open"
    """How it ended; ``open`` while it runs."""
    saved_us: int = 0
    """By how much it shortened the turn (µs)."""
    wasted_us: int = 0
    """Work that the turn did not use (µs)."""

    def end(self, outcome: str, at_us: int | None = None, *, saved_us: int = 0, wasted_us: int = 0) -> None:
        """Close the lane; a second call does nothing."""
        if self.ended_us is None:
            self.ended_us = clock.now() if at_us is None else at_us
            self.outcome, self.saved_us, self.wasted_us = outcome, saved_us, wasted_us


@dataclass(slots=True)
class Guess:
    """A reply thought likely before the turn was final, and what came of it.

    ``said`` are the words it rests on ('' if it was foreseen before the caller spoke), ``odds`` how likely
    it was held to be, ``ready`` whether its opening could sound at once; ``wasted_us`` is the work on it and
    ``cpu_us`` the CPU of its renders that the turn did not use.
    """

    said: str
    text: str
    """The reply that was thought likely."""
    odds: float | None
    ready: bool
    because: str
    """Why it was thought likely."""
    outcome: str = "not said"
    """What became of it: ``said``, ``kept``, ``dropped`` or ``not said``."""
    saved_us: int = 0
    """By how much it shortened the turn (µs)."""
    wasted_us: int = 0
    cpu_us: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A closed ledger; its entries are contiguous from ``zero_us`` to ``closed_us``."""

    zero_us: int
    """The caller's last voiced sample (µs on the clock)."""
    closed_us: int
    """First audible sample of the answer, or the turn's end without one (µs on the clock)."""
    outcome: Outcome
    """How the turn ended."""
    entries: tuple[Entry, ...]
    """Shares of the stages, one after another; their durations sum to the turn's."""
    lanes: tuple[Lane, ...]
    """Work beside the path; never added."""
    decisions: tuple[Decision, ...]
    """Choices in the order made."""
    first_sound_us: int | None
    """First audible sample of anything, a bridge included (µs on the clock); ``None`` if there was none."""
    first_answer_us: int | None
    """First audible sample of the answer (µs on the clock); ``None`` if there was none."""
    witness_us: int | None
    """First audible sample as the tape counts it (µs on the clock); ``None`` if there was none."""
    guesses: tuple[Guess, ...] = ()
    """Replies that were thought likely before the turn was final."""

    @property
    def critical(self) -> Entry | None:
        """The longest entry, which is the wait to shorten first; ``None`` without entries."""
        return max(self.entries, key=lambda entry: entry.us, default=None)

    def since(self, zero_us: int) -> Account:
        """Return the account with its zero moved to *zero_us*; what lies before it is cut.

        Time it gains at its beginning is charged like the first entry that is no stall. A zero after the
        end is the end.
        """
        zero_us = min(zero_us, self.closed_us)
        entries = [
            replace(entry, began_us=max(zero_us, entry.began_us))
            for entry in self.entries
            if entry.ended_us > zero_us
        ]
        if zero_us < self.zero_us:
            gained = Entry("unaccounted", zero_us, self.zero_us, NOBODY)
            first = next((entry for entry in entries if entry.stage != "stall"), gained)
            entries.insert(0, replace(first, began_us=zero_us, ended_us=self.zero_us))
        return replace(self, zero_us=zero_us, entries=_merge(entries))


@dataclass(slots=True)
class Ledger:
    """The account of one turn while it runs; all times in microseconds on the loop's clock."""

    zero_us: int
    """The caller's last voiced sample (µs on the clock)."""
    lanes: list[Lane] = field(default_factory=list)
    """Work beside the path; never added."""
    decisions: list[Decision] = field(default_factory=list)
    """Choices in the order made."""
    guesses: list[Guess] = field(default_factory=list)
    """Replies that were thought likely before the turn was final."""
    first_sound_us: int | None = None
    """First audible sample of anything, a bridge included; ``None`` before it."""
    first_answer_us: int | None = None
    """First audible sample of the answer; ``None`` before it."""
    witness_us: int | None = None
    """First audible sample as the tape counts it; ``None`` before it."""
    closed_us: int | None = None
    """When the account was closed; ``None`` while it is open."""
    _entries: list[Entry] = field(default_factory=list)
    _stack: list[tuple[Stage, Owner]] = field(default_factory=lambda: [("unaccounted", NOBODY)])
    _cursor_us: int = 0

    def __post_init__(self) -> None:
        self._cursor_us = self.zero_us

    def charge(self, stage: Stage, owner: Owner, until_us: int) -> None:
        """Charge *stage* from the last entry to *until_us*: for time before the ledger was opened."""
        self._stack.append((stage, owner))
        self.cut(until_us)
        self._stack.pop()

    @contextlib.contextmanager
    def stage(self, stage: Stage, owner: Owner) -> Iterator[None]:
        """Charge *stage* until the block ends; then the stage around it is charged again."""
        self.cut()
        self._stack.append((stage, owner))
        outcome = "cut"
        try:
            yield
            outcome = "done"
        except Exception:
            outcome = "failed"
            raise
        finally:
            self.cut(outcome=outcome)
            self._leave((stage, owner))

    def _leave(self, charged: tuple[Stage, Owner]) -> None:
        """Take *charged* off the stack, the topmost one."""
        del self._stack[-1 - self._stack[::-1].index(charged)]

    def otherwise(self, stage: Stage, owner: Owner) -> None:
        """Charge *stage* for time that no other stage claims, from the last entry on."""
        if len(self._stack) > 1 or self._stack[0][0] != "unaccounted":
            self.cut()
        self._stack[0] = (stage, owner)

    def cut(self, at_us: int | None = None, outcome: str = "done") -> None:
        """End the current entry at *at_us* (default: now) and begin the next."""
        if self.closed_us is not None:
            return
        at_us = clock.now() if at_us is None else at_us
        if at_us > self._cursor_us:
            stage, owner = self._stack[-1]
            self._entries.append(
                Entry(stage=stage, began_us=self._cursor_us, ended_us=at_us, owner=owner, outcome=outcome)
            )
            self._cursor_us = at_us

    def lane(self, name: str, began_us: int | None = None) -> Lane:
        """Open a lane for work beside the path, begun at *began_us* (default: now)."""
        lane = Lane(name, clock.now() if began_us is None else began_us)
        self.lanes.append(lane)
        return lane

    def adopt(self, draft: Ledger) -> None:
        """Take over the lanes and decisions that *draft* noted before the turn began."""
        self.lanes[:0], self.decisions[:0] = draft.lanes, draft.decisions
        draft.lanes, draft.decisions = self.lanes, self.decisions  # work that goes on notes the rest here

    def decide(self, took: str, because: str) -> None:
        """Log a choice and the number that caused it."""
        self.decisions.append(Decision(clock.now(), took, because))

    def sounded(self, at_us: int, *, answer: bool) -> None:
        """Note an audible sample that left at *at_us*; the answer's first one closes the account."""
        if self.closed_us is not None:
            return
        if self.first_sound_us is None:
            self.first_sound_us = at_us
        if answer:
            self.first_answer_us = at_us
            self.close(at_us)

    def close(self, at_us: int | None = None) -> None:
        """Close the account at *at_us* (default: now); a second call does nothing.

        A sound that was handed over belongs to it, even if its first audible sample is still to come.
        """
        if self.closed_us is None:
            at_us = max(clock.now() if at_us is None else at_us, self._cursor_us, self.first_sound_us or 0)
            self.cut(at_us, "cut" if self.first_answer_us is None else "done")
            self.closed_us = at_us

    def account(self, outcome: Outcome, stalls: Iterable[Stall] = ()) -> Account:
        """Return the closed account with *stalls* carved out; raises LedgerError if it does not sum.

        Raises UsageError for an outcome, a stage or an owner that there is not, since no row could be read.
        """
        self.close()
        if unknown := _unknown(outcome, self._entries):
            raise UsageError(unknown)
        closed_us = self._cursor_us
        for lane in self.lanes:
            lane.end("dropped")
        entries = _merge(carve(self._entries, stalls))
        if sum(entry.us for entry in entries) != closed_us - self.zero_us:
            raise LedgerError(f"entries do not sum to {closed_us - self.zero_us} µs")
        return Account(
            zero_us=self.zero_us,
            closed_us=closed_us,
            outcome=outcome,
            entries=entries,
            lanes=tuple(self.lanes),
            decisions=tuple(self.decisions),
            first_sound_us=self.first_sound_us,
            first_answer_us=self.first_answer_us,
            witness_us=self.witness_us,
            guesses=tuple(self.guesses),
        )


def _unknown(outcome: Any, entries: Iterable[Any]) -> str:
    """Return what is none of the words that an account may hold; '' if all are."""
    if outcome not in get_args(Outcome):
        return f"no outcome is called {outcome!r}; there are {', '.join(get_args(Outcome))}"
    for entry in entries:
        if entry.stage not in get_args(Stage):
            return f"no stage is called {entry.stage!r}; there are {', '.join(get_args(Stage))}"
        kind = entry.owner.kind if isinstance(entry.owner, Owner) else None
        if kind not in get_args(OwnerKind):
            return f"{entry.owner!r} is no Owner; its kind is one of {', '.join(get_args(OwnerKind))}"
    return ""


def carve(entries: Iterable[Entry], stalls: Iterable[Stall]) -> Iterator[Entry]:
    """Yield *entries* with the time of *stalls* charged to ``stall``; the sum stays the same."""
    ordered = sorted(stalls, key=lambda stall: stall.began_us)
    for entry in entries:
        cursor = entry.began_us
        for stall in ordered:
            began, ended = max(cursor, stall.began_us), min(entry.ended_us, stall.ended_us)
            if began >= ended:
                continue
            if began > cursor:
                yield replace(entry, began_us=cursor, ended_us=began)
            yield Entry("stall", began, ended, Owner(stall.cause, "own code"))
            cursor = ended
        if cursor < entry.ended_us:
            yield replace(entry, began_us=cursor)


def _merge(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """Join neighbouring entries with the same stage, owner and outcome."""
    merged: list[Entry] = []
    for entry in entries:
        last = merged[-1] if merged else None
        if last and (last.stage, last.owner, last.outcome) == (entry.stage, entry.owner, entry.outcome):
            merged[-1] = replace(last, ended_us=entry.ended_us)
        else:
            merged.append(entry)
    return tuple(merged)
