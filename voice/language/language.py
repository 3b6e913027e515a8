"""A language as data: every word of it that decides anything, and what we say in it by default.

A language is a folder of TOML files beside this one. In each table a list holds words or phrases, a table
says what its words stand for, and a text is a pattern (a regular expression); ``<<name>>`` in a list or a
pattern stands for another entry, of the same table, of ``[common]``, or, with a dot, of any table. What a
language does not say is in none of its lists and matches nothing: a small language decides less.
"""

from __future__ import annotations

import re
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final
from unicodedata import normalize

import msgspec

from turnbudget.voice.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from importlib.resources.abc import Traversable

HUNDRED: Final = 100
TENS: Final = range(20, HUNDRED, 10)
"""Numbers behind which a unit may follow: twenty, thirty one."""
MARKS: Final = "\u0300-\u036f\u0900-\u0903\u093a-\u094f\u0951-\u0957\u0962\u0963\u200c\u200d"
"""Signs that belong to the letter before them, as in a character class: accents, vowels of Devanagari."""
NEVER: Final = re.compile(r"(?!)()()()()()()")
"""The pattern that matches nothing; what is put for its groups may be named all the same."""
_HOLE: Final = re.compile(r"<<([\w.]+)>>")
_WRAPPED: Final = re.compile(r"(?:\A|\n)  +")
_NUMBERS: Final = "numbers"
_MEANINGS: Final = "meanings"
_SAYS: Final = "says"
_FOLDER: Final = files(__package__ or "")


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table of a language's file."""


class Numbers(Table, frozen=True):
    """``numbers.toml``: the words for numbers, and what stands between their digits."""

    cardinals: dict[str, int] = {}
    """Words for the numbers below a hundred."""
    scales: dict[str, int] = {}
    """Words that multiply what stands before them: hundred, thousand, million."""
    ordinals: dict[str, int] = {}
    times: dict[str, int] = {}
    """Words that repeat the digit behind them: double, triple."""
    dictated: dict[str, str] = {}
    """Further words for digits where digits are dictated."""
    alike: dict[str, str] = {}
    """Words that only sound like digits: they are such only between digits."""
    zeros: list[str] = []
    """Those of the words alike that are a zero behind a digit, whoever reads."""
    ending: list[str] = []
    """Those of the words alike that may end a number."""
    point: list[str] = []
    lone: bool = False
    """Whether a scale alone counts as one of it."""
    joins: list[str] = []
    """Words that may stand within a cardinal: "two hundred *and* ten"."""
    between: list[str] = []
    """Words that may stand between the digits of one number."""
    counted: list[str] = []
    """Units, as patterns: a number before one counts something."""


class Language:
    """The words of one language, ready to be asked for by their table and name."""

    def __init__(self, code: str, known: Language | None = None) -> None:
        """Read the folder *code*; what only *known* has is empty here, and never matches."""
        self.code = code
        self._tables: dict[str, dict[str, Any]] = {}
        told: dict[str, dict[str, Any]] = {}
        for file in sorted(_FOLDER.joinpath(code).iterdir(), key=lambda each: each.name):
            topic = file.name.removesuffix(".toml")
            if topic == _NUMBERS:
                self.numbers = msgspec.toml.decode(_read(file), type=Numbers)
            elif file.name.endswith(".toml"):
                told[topic] = msgspec.toml.decode(_read(file))
        meanings = told.pop(_MEANINGS, {})
        self._says: dict[str, str] = told.pop(_SAYS, {})
        for tables in told.values():
            self._tables |= tables
        self._tables["number"] = self._numbered()
        common: Mapping[str, Any] = self._tables["common"]
        self.letters: str = common.get("letters", "")
        """Signs beside letters and digits that are part of a word, as in a character class."""
        self._edge = rf"(?:(?<![\w{self.letters}])(?=[\w])|(?<=[\w{self.letters}])(?![\w{self.letters}]))"
        self._words: dict[str, tuple[str, ...]] = {}
        self._patterns: dict[str, re.Pattern[str]] = {}
        for table, entries in self._tables.items():
            for name, entry in entries.items():
                if isinstance(entry, list | dict):
                    self._words[f"{table}.{name}"] = tuple(self._listed(table, entry))
                self._patterns[f"{table}.{name}"] = self._compiled(table, name)
        self.meanings: Mapping[str, Any] = self._told(meanings)
        """``meanings.toml``, which :mod:`turnbudget.voice.language.wording` reads."""
        if known:
            self._words = dict.fromkeys(known.lists, ()) | self._words
            self._patterns = dict.fromkeys(known.patterns, NEVER) | self._patterns
            self._says = {**known.sentences, **self._says}

    def words(self, name: str) -> tuple[str, ...]:
        """Return the list *name* (``table.name``), in its order."""
        return self._words[name]

    def set(self, name: str) -> frozenset[str]:
        """Return the list *name* as a set."""
        return _as_set(self._words[name])

    def has(self, name: str, word: str) -> bool:
        """Say whether *word* is in the list *name*."""
        return word in _as_set(self._words[name])

    def pattern(self, name: str) -> re.Pattern[str]:
        """Return the pattern *name* (``table.name``); of a list, the one that finds any of its phrases."""
        return self._patterns[name]

    def sources(self, name: str) -> tuple[str, ...]:
        """Return the phrases of the list *name* as regular expressions, nothing left standing for another."""
        table = name.partition(".")[0]
        return tuple(_HOLE.sub(lambda hole: self._held(table, hole[1]), each) for each in self._words[name])

    def table(self, name: str) -> Mapping[str, Any]:
        """Return what the words of the table *name* stand for; nothing if there is none."""
        table, _, entry = name.partition(".")
        found: Mapping[str, Any] = self._tables.get(table, {}).get(entry, {})
        return found

    def word(self, name: str) -> str:
        """Return the first of the list *name*; '' if it is empty."""
        return next(iter(self._words[name]), "")

    def outside(self, kept: str) -> re.Pattern[str]:
        """Return the pattern of a sign that is no part of a word and not among those *kept*."""
        return _outside(kept)

    def bounded(self, source: str) -> re.Pattern[str]:
        """Return the regular expression *source*, its word boundaries those of the language."""
        return re.compile(source.replace(r"\b", self._edge) if self.letters else source)

    def says(self, name: str) -> str:
        """Return what we say by default under *name*."""
        return self._says[name]

    @property
    def lists(self) -> Mapping[str, tuple[str, ...]]:
        """Every list there is, by its name."""
        return self._words

    @property
    def patterns(self) -> Mapping[str, re.Pattern[str]]:
        """Every pattern there is, by its name."""
        return self._patterns

    @property
    def sentences(self) -> Mapping[str, str]:
        """Everything that is said by default, by its name."""
        return self._says

    def _numbered(self) -> dict[str, list[str]]:
        """Return the words for numbers as lists, for patterns to name: ``<<number.words>>``."""
        known = self.numbers
        return {
            "words": [*known.cardinals, *known.scales, *known.times],
            "cardinals": [*known.cardinals],
            "tens": [word for word, value in known.cardinals.items() if value in TENS],
            "scales": [*known.scales],
            "thousands": [word for word, value in known.scales.items() if value > HUNDRED],
            "ordinals": sorted(known.ordinals, key=len, reverse=True),
            "digits": [*known.cardinals, *known.dictated, *known.alike],
            "counted": [*known.counted],
        }

    def _listed(self, table: str, entry: list[str] | dict[str, Any]) -> list[str]:
        found: list[str] = []
        for word in entry:
            hole = _HOLE.fullmatch(word)
            inner, where = self._entry(table, hole[1]) if hole else ([], "")
            found += [word] if isinstance(inner, str) or not hole else self._listed(where, inner)
        return list(dict.fromkeys(found))

    def _entry(self, table: str, name: str) -> tuple[Any, str]:
        """Return the entry that *name* stands for in *table*, and the table it is from."""
        if "." in name:
            where, _, name = name.partition(".")
            return self._tables[where][name], where
        where = table if name in self._tables[table] else "common"
        return self._tables[where][name], where

    def _source(self, table: str, entry: list[str] | dict[str, Any] | str) -> str:
        """Return *entry* as the text of a regular expression, with nothing left standing for another."""
        if isinstance(entry, list | dict):
            entry = f"(?:{'|'.join(self._listed(table, entry))})"
        return _HOLE.sub(lambda hole: self._held(table, hole[1]), _WRAPPED.sub("", entry))

    def _held(self, table: str, name: str) -> str:
        """Return the regular expression that *name* stands for in *table*."""
        entry, where = self._entry(table, name)
        return self._source(where, entry)

    def _told(self, entry: Any) -> Any:
        """Return *entry*, of any depth, its lists with what stands for a list replaced by that."""
        if isinstance(entry, dict):
            return {name: self._told(inner) for name, inner in entry.items()}
        if not isinstance(entry, list):
            return entry
        words = all(isinstance(inner, str) for inner in entry)
        return self._listed("common", entry) if words else [self._told(inner) for inner in entry]

    def _compiled(self, table: str, name: str) -> re.Pattern[str]:
        entry = self._tables[table][name]
        source = self._source(table, entry)
        if isinstance(entry, list | dict):
            source = rf"\b{source}\b"
        return self.bounded(source)


def _read(file: Traversable) -> str:
    """Return the text of *file*, its letters composed as those of what is heard are."""
    return normalize("NFC", file.read_text("utf-8"))


@lru_cache(maxsize=64)
def _outside(kept: str) -> re.Pattern[str]:
    return re.compile(rf"[^\w{MARKS}{kept}]|_")


@lru_cache(maxsize=256)
def _as_set(words: tuple[str, ...]) -> frozenset[str]:
    return frozenset(words)


ENGLISH: Final = Language("en")
LANGUAGES: Final = tuple(
    sorted(each.name for each in _FOLDER.iterdir() if each.joinpath("numbers.toml").is_file())
)
"""The languages there are, by their codes."""


@lru_cache(maxsize=16)
def language(code: str) -> Language:
    """Return the language with the *code* ("en", "en-GB"); raises ConfigError, one line, if there is none."""
    plain = re.split(r"[-_]", code.lower())[0]
    if plain == ENGLISH.code:
        return ENGLISH
    if plain not in LANGUAGES:
        raise ConfigError(
            f"there is no language called {code!r}",
            where="language",
            remedy=f"there are {', '.join(LANGUAGES)}",
        )
    return Language(plain, ENGLISH)
