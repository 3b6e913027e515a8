"""Answers out of a user's own file: the passage that fits the question best, and how well it does.

BM25 (Robertson & Zaragoza 2009, by bm25s) finds the passage. Its score has no upper bound, so the confidence
is made from two shares: how much of what was asked stands in the passage (by the rarity of the words), and by
how much it is ahead of the next passage.
"""

from __future__ import annotations

import csv
import math
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from turnbudget.agents.agent import Opinion
from turnbudget.agents.filling import asks
from turnbudget.agents.values.heard import plain
from turnbudget.voice.call.responder import nothing
from turnbudget.voice.errors import ConfigError
from turnbudget.voice.language.language import ENGLISH
from turnbudget.voice.language.sentences import split

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence
    from pathlib import Path

    from turnbudget.agents.agent import Context
    from turnbudget.voice.time.budget import Budget

BEST: Final = 0.9
"""The confidence in a passage that holds every word of the question and has no rival."""
PLAIN: Final = 0.7
"""The confidence from which a question is taken for whole: most of what was asked is understood."""
LEAST: Final = 0.3
"""The confidence below which a question is not our matter."""
_HEADING: Final = re.compile(r"^#{1,6}\s+(.+?)\s*#*\s*$")
_FENCE: Final = re.compile(r"^\s*(?:```|~~~)")


@dataclass(frozen=True, slots=True)
class Passage:
    """A question and its answer."""

    question: str
    answer: str


class Faq:
    """An agent that answers a question with the one of *passages* that fits best."""

    def __init__(self, name: str, passages: Sequence[Passage], *, least: float = LEAST) -> None:
        """Index *passages*; below the confidence *least* it says nothing. Raises ConfigError if none."""
        # With numpy it takes a fifth of a second to load.
        import bm25s  # type: ignore[import-untyped] # noqa: PLC0415 - loaded by whoever has a FAQ

        where = f"agent {name}"
        if not passages:
            raise ConfigError("there is no passage", where=where, remedy="write a question and its answer")
        if not 0 <= least <= 1:
            raise ConfigError(f"least = {least} is not between 0 and 1", where=where)
        self.name = name
        self._least = least
        self._passages = tuple(passages)
        # The question counts twice: it is what callers say, the answer what they want to hear.
        stems = [[*_stems(each.question) * 2, *_stems(each.answer)] for each in self._passages]
        self._sets = [frozenset(each) for each in stems]
        counts = Counter(stem for each in self._sets for stem in each)
        self._weights = {stem: math.log(1 + len(stems) / count) for stem, count in counts.items()}
        self._unknown = math.log(1 + len(stems))
        self._index: Any = bm25s.BM25()
        self._index.index(stems, show_progress=False)

    async def answer(self, utterance: str, context: Context, budget: Budget) -> Opinion | None:  # noqa: ARG002 - it never waits
        """Return the passage that fits, ``None`` if none does; a pending question of another agent counts."""
        place, sure, score = self._best(utterance)
        if sure < self._least:
            return None
        passage = self._passages[place]
        first, *others = split(passage.answer)
        because = f"BM25 {score:.2f} for {passage.question!r}"
        heard = plain(utterance)
        whole = sure >= PLAIN and heard.over and asks(utterance, heard.words, heard.language)
        rest = _each(others) if others else nothing()
        return Opinion(first, sure, because, rest=rest, completeness="whole" if whole else "unknown")

    def fixed(self) -> tuple[str, ...]:
        """Return the first sentence of each answer, in the file's order, then all others."""
        answers = [split(each.answer) for each in self._passages]
        later = (sentence for answer in answers for sentence in answer[1:])
        return tuple(dict.fromkeys((*(answer[0] for answer in answers), *later)))

    def next_openings(self, context: Context) -> tuple[str, ...]:
        """Return nothing: any question may come next."""
        del context
        return ()

    def _best(self, utterance: str) -> tuple[int, float, float]:
        """Return the place of the best passage, its confidence, and its BM25 score."""
        asked = list(dict.fromkeys(_stems(utterance)))
        if not asked:
            return 0, 0.0, 0.0
        scores: list[float] = self._index.get_scores(asked).tolist()
        place = max(range(len(scores)), key=lambda each: (scores[each], -each))
        best = scores[place]
        if best <= 0:
            return place, 0.0, 0.0
        second = max((score for each, score in enumerate(scores) if each != place), default=0.0)
        weights = {stem: self._weights.get(stem, self._unknown) for stem in asked}
        held = sum(weight for stem, weight in weights.items() if stem in self._sets[place])
        ahead = (best - second) / best
        return place, BEST * held / sum(weights.values()) * (0.5 + 0.5 * min(1.0, 2 * ahead)), best


def load(path: Path) -> tuple[Passage, ...]:
    """Return the passages of a Markdown file (a heading is a question) or of a CSV file.

    A CSV file has the columns ``question`` and ``answer``. Raises ConfigError, one line with the place.
    """
    try:
        text = path.read_text("utf-8-sig")
    except OSError as error:
        raise ConfigError(f"cannot be read ({error.strerror})", where=str(path)) from None
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"is not UTF-8 (byte {error.start})", where=str(path), remedy="save it as UTF-8"
        ) from None
    if "\x00" in text:
        raise ConfigError("is no text", where=str(path), remedy="give a Markdown or CSV file")
    passages = _table(text, path) if path.suffix.lower() == ".csv" else _sections(text, path)
    if not passages:
        raise ConfigError("holds no question with an answer", where=str(path), remedy="write one: # question")
    return tuple(passages)


def _sections(text: str, path: Path) -> list[Passage]:
    """Return each heading with the text under it; a heading over other headings is no question."""
    sections: list[tuple[int, str, list[str]]] = []
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        fenced ^= bool(_FENCE.match(line))
        heading = None if fenced else _HEADING.match(line)
        if heading:
            sections.append((number, heading[1], []))
        elif sections:
            sections[-1][2].append(line)
    filled = [(question, " ".join(" ".join(lines).split())) for _, question, lines in sections]
    if sections and not filled[-1][1]:
        raise ConfigError(
            f"{filled[-1][0]!r} has no answer", where=f"{path}:{sections[-1][0]}", remedy="write one below it"
        )
    return [Passage(question, answer) for question, answer in filled if answer]


def _table(text: str, path: Path) -> list[Passage]:
    rows = csv.DictReader(text.splitlines(), strict=True)
    try:
        names = {str(name).strip().lower(): name for name in rows.fieldnames or ()}
        if not {"question", "answer"} <= set(names):
            raise ConfigError(
                "the first line does not name the columns question and answer", where=f"{path}:1"
            )
        passages: list[Passage] = []
        for row in rows:
            question, answer = ((row[names[name]] or "").strip() for name in ("question", "answer"))
            if None in row or not (question and answer):
                raise ConfigError("is not a question and an answer", where=f"{path}:{rows.line_num}")
            passages.append(Passage(question, answer))
    except csv.Error as error:
        raise ConfigError(f"is not CSV ({error})", where=f"{path}:{rows.line_num}") from None
    return passages


def _stems(text: str) -> list[str]:
    """Return the words of *text* that tell something, without their endings."""
    return [
        _stem(word)
        for word in re.findall(r"[^\W_]+(?:'[a-z]+)?", plain(text).words)
        if not ENGLISH.has("faq.stop", word)
    ]


def _stem(word: str) -> str:
    for ending in ENGLISH.words("faq.endings"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:  # noqa: PLR2004 - what is left is a word
            return word[: -len(ending)] + ("y" if ending == "ies" else "")
    return word


async def _each(sentences: Sequence[str]) -> AsyncGenerator[str, None]:
    for sentence in sentences:
        yield sentence
