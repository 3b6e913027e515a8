"""How an utterance fills slots: by words that announce them, by the question asked, by what they look like.

Nothing is read twice: what one slot has taken, no other sees. What the caller says behind "no", "sorry" or
"actually" stands for what was said before it. How far a form has got is plain values, so that it can
travel and be compared.

Words are whole if they answer what was asked, or wish for something, and nothing in them may still grow. To
take a wish for whole that is none cuts a caller off; to wait for more than comes costs half a second. So
whatever is doubtful is not settled: "I lost my card" is a story, whose wish ("can you send me a new one")
comes next.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from turnbudget.agents.values.heard import cut
from turnbudget.voice.language.language import ENGLISH, Language

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turnbudget.agents.slot import Ready
    from turnbudget.agents.values.heard import Heard
    from turnbudget.agents.values.reading import Reading


_NEAR: Final = 4
"""Words between a cue and its value: "from my other savings account"."""
_FEW: Final = 5
"""Words beside a single digit that say nothing else: "sorry it's seven"."""
_TELLING: Final = 3
"""Digits that are enough to know a value said again."""
_DICTATED: Final = frozenset(("digits", "spelling"))
_GENERAL: Final = frozenset(("confirm", "change"))


@dataclass(frozen=True, slots=True)
class FormProgress:
    """What a form knows."""

    values: Mapping[str, str] = field(default_factory=dict)
    """The values known, by slot."""
    order: tuple[str, ...] = ()
    """The slots as they were filled, the latest last."""
    asking: str = ""
    """The slot that was asked for last ('' if none)."""
    partial: str = ""
    """What was said until now of the value asked for."""
    misses: int = 0
    """How many answers in a row were not understood."""
    done: bool = False
    """Whether the form has acted."""

    @classmethod
    def of(cls, told: Any) -> FormProgress:
        """Return the progress that :meth:`told` told; none from anything else."""
        if not isinstance(told, Mapping):
            return cls()
        known = {key: told[key] for key in cls.__slots__ if key in told}
        progress = cls(**known)
        return replace(progress, values=dict(progress.values), order=tuple(progress.order))

    def told(self) -> dict[str, Any]:
        """Return it as plain values: text, numbers, tables."""
        told: dict[str, Any] = {key: getattr(self, key) for key in self.__slots__}
        return told | {"values": dict(self.values), "order": list(self.order)}

    @property
    def open(self) -> bool:
        """Whether it has asked for something and is not done."""
        return bool(self.asking) and not self.done

    def asks(self, slot: str, *, partial: str = "") -> FormProgress:
        """Return it having asked for *slot*."""
        return replace(self, asking=slot, partial=partial, misses=0)

    def missed(self) -> FormProgress:
        """Return it having not understood."""
        return replace(self, misses=self.misses + 1)

    def knows(self, slot: str, value: str) -> FormProgress:
        """Return it with *slot* filled."""
        order = (*(name for name in self.order if name != slot), slot)
        return replace(self, values={**self.values, slot: value}, order=order, partial="", misses=0)

    def without(self, slot: str) -> FormProgress:
        """Return it with *slot* empty."""
        values = {name: value for name, value in self.values.items() if name != slot}
        return replace(self, values=values, order=tuple(name for name in self.order if name != slot))

    def finished(self) -> FormProgress:
        """Return it done."""
        return replace(self, done=True, partial="", misses=0)


@dataclass(frozen=True, slots=True)
class PartialValue:
    """A part of a slot's value, and what to ask for the rest."""

    slot: str
    """The slot it belongs to."""
    value: str
    """What was said of the value."""
    missing: str
    """What to ask for the rest."""


@dataclass(frozen=True, slots=True)
class Filling:
    """What an utterance did: the new progress, the slots it set, the one it corrected."""

    progress: FormProgress
    """How far the form has got."""
    _: KW_ONLY
    new: tuple[str, ...] = ()
    """The slots that were set."""
    partial: PartialValue | None = None
    """The part of a value that was said, if it is not whole."""
    changed: tuple[str, ...] = ()
    """Those of the new slots that had another value before, or none."""
    corrected: str = ""
    """The slot whose value was corrected ('' if none)."""
    growing: frozenset[str] = frozenset()
    """Those whose value may be a part of what is being said: "one hundred", "from checking"."""
    closing: bool = False
    """Whether the utterance ends in a value that is whole: digits at its end are then all there."""

    @property
    def touched(self) -> frozenset[str]:
        """The slots it had anything for."""
        return frozenset((*self.new, *([self.partial.slot] if self.partial else [])))


def fill(  # noqa: PLR0913 - what was heard, and all that decides how it is meant
    slots: Sequence[Ready], heard: Heard, before: FormProgress, asked: str, *, mine: bool, triggered: bool
) -> Filling:
    """Return what was *heard* put into *slots*; *asked* is the slot it should answer.

    It need not be an answer at all: a question of *mine* was the last one put, and the words *triggered*
    the form. Free text is taken only for an answer.
    """
    work = _Work(slots, before, asked, free=mine and not triggered)
    if heard.mends and not triggered and (corrected := work.correct(heard)):
        return work.filling(corrected)
    parts = heard.parts
    focus: tuple[str, ...] = (asked,)
    for at, part in enumerate(parts):
        if part:
            work.last = at == len(parts) - 1
            words = heard.words if len(parts) == 1 else heard.last_words
            focus = (*work.take(part, focus, words if work.last else ""), *focus)
    if not work.found and not work.partial and (asked in _GENERAL or heard.mends):
        work.correct(heard)
    return work.filling("")


@dataclass(slots=True)
class _Work:
    """One utterance being put into slots."""

    slots: Sequence[Ready]
    before: FormProgress
    asked: str
    free: bool
    found: dict[str, Reading] = field(default_factory=dict)
    partial: PartialValue | None = None
    last: bool = True
    """Whether nothing is said behind what is being read."""
    growing: set[str] = field(default_factory=set)
    cued: set[str] = field(default_factory=set)
    closing: bool = False

    def filling(self, corrected: str) -> Filling:
        progress, known = self.before, self.before.values
        for name, reading in self.found.items():
            progress = progress.knows(name, reading.value)
        changed = tuple(name for name, reading in self.found.items() if known.get(name) != reading.value)
        partial = self.partial if self.partial and self.partial.slot not in self.found else None
        mended = corrected or next((name for name in reversed(changed) if name in known), "")
        growing = frozenset(self.growing | self._unmatched(progress))
        return Filling(
            progress,
            new=tuple(self.found),
            partial=partial,
            changed=changed,
            corrected=mended,
            growing=growing,
            closing=self.closing,
        )

    def _unmatched(self, progress: FormProgress) -> set[str]:
        """Return the slots announced by a cue while another such slot is missing: "from", as long as "to" is.

        Who says "from my checking account" may well go on "to my savings account".
        """
        known = progress.values
        missing = any(each.cue and each.required and each.name not in known for each in self.slots)
        return self.cued & self.found.keys() if missing else set()

    def _keep(self, name: str, reading: Reading, text: str, here: dict[str, Reading]) -> None:
        """Take *reading* of *text* for the slot *name*; it may grow unless that was left behind."""
        here[name] = reading
        self.closing |= self.last and reading.whole and reading.ends(text)
        if self.last and reading.grows(text):
            self.growing.add(name)
        else:
            self.growing.discard(name)

    def take(self, part: str, focus: tuple[str, ...], words: str) -> tuple[str, ...]:
        """Read *part* into slots; return those that what follows a mending would be about.

        Of the slots in *focus* the first that finds something is the one meant.
        """
        here: dict[str, Reading] = {}
        text = self._cued(part, here)
        for name in focus:
            each = self._slot(name)
            if each and name not in here:
                left = self._asked(each, text, words, here)
                if left != text or name in here:
                    text = left
                    break
        for each in self.slots:
            if each.name in here or each.slot.type == "yes_no" or (each.cue and each.slot.type == "choice"):
                continue
            told = words if each.slot.wordy else text
            reading = each.read(told)
            if reading and not reading.missing and self.before.values.get(each.name) != reading.value:
                self._keep(each.name, reading, told, here)
                text = text if each.slot.wordy else cut(text, [(reading.start, reading.end)])
        self.found |= here
        return tuple(reversed(here))

    def correct(self, heard: Heard) -> str:
        """Let *heard* change a slot that is filled, the latest first; return which, '' if none."""
        text = heard.parts[-1]
        if not text:
            return ""
        here: dict[str, Reading] = {}
        rest = self._cued(text, here)
        if here:
            self.found |= here
            self.take(rest, (self.asked,), "")
            return next(reversed(here))
        answer = self._slot(self.asked)
        for name in reversed(self.before.order):
            each = self._slot(name)
            if each is None or (each.slot.wordy and self.asked not in {name, *_GENERAL}):
                continue
            if (
                answer
                and answer.slot.type == each.slot.type
                and not heard.language.has("filling.denies", heard.mends)
            ):
                continue
            told = heard.last_words if each.slot.wordy else text
            reading = each.read(told, asked=True)
            if reading and not reading.missing and reading.value != self.before.values[name]:
                self._keep(name, reading, told, self.found)
                return name
        return ""

    def _slot(self, name: str) -> Ready | None:
        return next((each for each in self.slots if each.name == name), None)

    def _cued(self, text: str, here: dict[str, Reading]) -> str:
        """Read what stands behind a slot's cue; return *text* without it."""
        cues = sorted(
            (found.start(), found.end(), number)
            for number, each in enumerate(self.slots)
            if each.cue and not each.slot.wordy
            for found in each.cue.finditer(text)
        )
        spans: list[tuple[int, int]] = []
        for at, (start, end, number) in enumerate(cues):
            each = self.slots[number]
            others = (later for later, _, other in cues[at + 1 :] if other != number and later >= end)
            until = next(others, len(text))
            reading = each.read(text[end:until], asked=True)
            if not reading or reading.missing or len(text[end : end + reading.start].split()) > _NEAR:
                continue
            value = end + reading.start
            if any(other == number and end <= later < value for later, _, other in cues[at + 1 :]):
                continue  # "for friday for two": the cue next to the value is the one meant
            self._keep(each.name, replace(reading, start=start, end=end + reading.end), text, here)
            self.cued.add(each.name)
            spans.append((start, end + reading.end))
        return cut(text, spans)

    def _asked(self, each: Ready, text: str, words: str, here: dict[str, Reading]) -> str:
        """Read the answer to the question for *each*; return *text* without it."""
        if each.slot.wordy:
            told = _behind(each.cue, words)
            if reading := each.read(told, asked=self.free):
                self._keep(each.name, reading, told, here)
            return text
        before = self.before.partial if each.name == self.before.asking else ""
        if self._said_again(each.name, text):
            return text
        reading = each.read(text, asked=True, before=before)
        if not reading:
            return text
        if reading.missing:
            self.partial = PartialValue(each.name, reading.value, reading.missing)
        else:
            self._keep(each.name, reading, text, here)
            self.partial = None
        return cut(text, [(reading.start, reading.end)])

    def _said_again(self, asked: str, text: str) -> bool:
        """Say whether *text* only repeats digits of another slot: the zip code once more, not an amount."""
        digits = "".join(re.findall(r"\d", text))
        return len(digits) >= _TELLING and any(
            "".join(re.findall(r"\d", value)).endswith(digits)
            for name, value in self.before.values.items()
            if name != asked
        )


def _behind(cue: re.Pattern[str] | None, words: str) -> str:
    """Return what stands behind the last cue in *words*; all of them if there is none."""
    found = list(cue.finditer(words)) if cue else []
    return words[found[-1].end() :].strip() if found else words


def repeats(text: str, values: Mapping[str, str]) -> bool:
    """Say whether *text* has digits, and only ones of a value known: a part of it, said again."""
    digits = "".join(re.findall(r"\d", text))
    few = len(digits) > 1 or len(text.split()) <= _FEW
    return (
        bool(digits) and few and any(digits in "".join(re.findall(r"\d", value)) for value in values.values())
    )


def wishes(words: str, language: Language = ENGLISH) -> bool:
    """Say whether *words* ask for something, and do not only tell of it."""
    told = language.pattern("filling.only_opens").sub(" ", words)
    return bool(
        language.pattern("filling.wish").search(told)
        or language.pattern("filling.commands").match(told.strip())
    )


def asks(utterance: str, words: str, language: Language = ENGLISH) -> bool:
    """Say whether *utterance*, plainly *words*, is a question."""
    return utterance.rstrip("\"'”’ ").endswith("?") or bool(language.pattern("filling.asks").search(words))


def settles(heard: Heard, filling: Filling, *, answers: bool, wish: bool) -> bool:
    """Say whether *heard* needs no more words, given the *filling* it made.

    It *answers* what was asked, or it was taken for a *wish*, which it may yet only tell the story of.
    """
    if not (answers and not heard.language.pattern("filling.corrects").search(heard.words)) and not (
        wish and wishes(heard.words, heard.language)
    ):
        return False
    if filling.growing or filling.partial or heard.taking_back:
        return False
    if heard.ends is None:
        return True
    return filling.closing and heard.ends.kind in _DICTATED
