"""How an utterance ends openly: in a hesitation, in an unfinished clause, amid digits or spelled letters.

A recogniser puts a full stop or a comma behind whatever it has, so neither proves anything; a question mark
closes a clause that ends in a preposition or a verb ("what is it for?"), but none that ends in "the". The
tables are data: what is in them has a caller waited for a little longer, what is missing may cut one off.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, Literal, NamedTuple, TypeAlias, get_args

from turnbudget.voice.language.text import spoken

Kind: TypeAlias = Literal["hesitation", "unfinished", "digits", "spelling"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)


class OpenEnd(NamedTuple):
    """That more is to come: of what kind, and the word that says so."""

    kind: Kind
    word: str


def _words(*lines: str) -> frozenset[str]:
    return frozenset(" ".join(lines).split())


def _behind(*phrases: str) -> re.Pattern[str]:
    return re.compile(rf"(?:^| )(?:{'|'.join(phrases)})$")


_NUMBERS: Final = _words(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen",
    "seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand",
    "million double triple",
)
_ALSO_DIGITS: Final = _words("oh o owe to too for fore won ate point dot dash hyphen")
"""What is a digit, or joins two, only behind others."""
_INTO_ONE: Final = _words(
    "is it's its that's be number code zip digits and at with by uh um plus apartment unit"
)
"""Words behind which a lone "one" is a number; elsewhere it stands for a noun: "the savings one"."""
_HESITATIONS: Final = _words("well like actually sorry wait basically")
_FILLER: Final = re.compile(r"u+h+m*|u+m+|e+r+m*|a+h+|h+m+|mm+|ehm")
_THINKING: Final = _behind(
    *("you know", "i mean", "i meant", "i think", "i guess", "let me (?:see|think|check|look)", "let's see"),
    *("hold on", "hang on", "(?:one|just a|give me a) (?:second|sec|moment|minute)", "what's it called"),
    *("no wait", "scratch that", "make that"),
)
_ALWAYS: Final = _words(
    "a an the my your his our their and but or because cause cuz although unless than if whether whose per",
    "i we they he she its mr mrs ms very just",
)
"""Words that end nothing, not even a question."""
_UNLESS_ASKED: Final = _words(
    "so to from of for in at on with by about into onto between under until till since via without near as",
    "is are was were am be been do does did have has had will would can could should may might must",
    "need needs want wants some going gonna wanna gotta got called says say through when where which that's",
    "it's there's here's what's where's who's he's she's name's number's let's",
)
"""Words that end a question ("what is it for?"), but hardly anything else."""
_CONTRACTED: Final = re.compile(r"[a-z]+'(?:m|d|ll|ve|re)")
_CLAUSES: Final = _behind(
    *("(?:would|i'd|you'd|i'll) like", "and then", "i also", "and also", "as in", "what about"),
    r"to (?:transfer|move|send|pay|order|schedule|book|make|check|reset|replace|change|cancel|get|see|know"
    r"|find|speak|talk|ask|report|open|close|buy|give|take|use|set|put)",
    r"(?:can|could|would|will|may) (?:you|i|we)(?: please)?(?: (?:transfer|move|send|pay|order|schedule|book"
    r"|make|check|reset|replace|change|cancel|get|find|tell|give|bring|mail)(?: me| us)?)?",
    "(?:a|an|the|my|your|some) (?:new|other|same|next|different|current|local|old|whole)",
    *("(?:and|that|because|but) it", "(?:and|because|but|if) you", "number [a-z]+ is"),
)
_FINISHED: Final = _behind(
    r"(?:yes|yeah|yep|no|nope|sure|course|so) (?:i|it|that|there|they|we|you) "
    r"(?:is|are|was|were|am|do|does|did|have|has|had|will|would|can|could|should)",
    r"\ball (?:that |what )?(?:i|we|you) (?:really |just |actually )?(?:need|want|have|had|got|wanted)",
    r"\ball (?:that )?i (?:need|needed|wanted)(?: (?:the )?help)? (?:with|for)",
    *("(?:log|logged|sign|signed|locked|come|go) (?:in|on)", "(?:think|hope|guess|believe) so", "please do"),
    *("what (?:it|that|this) is", "who (?:it|that|this) is", "(?:where|when|how) (?:it|that) is"),
    r"(?:what|when|where|how) (?:the|your|my) (?:[a-z]+ ){1,4}(?:is|are)",
    rf"(?:\S*\d|{'|'.join(sorted(_NUMBERS))}) am",
    *("as well", "very well", "never mind", "i don't (?:need|want)"),
)
"""Ends that look open and are not."""
_ABBREVIATIONS: Final = _words("am pm atm id tv us usa ok po cd pc")
_NUMERAL: Final = re.compile(r"\(?\d[\d,.)-]*")
_LETTERS: Final = re.compile(r"(?:[a-z][.-])+[a-z]?")
_TRAILING: Final = re.compile(r"(?:\.{3,}|…|[~–—-])[\s\"'”’]*$")
_AS_IN: Final = re.compile(r"(?:^| )[a-z] as in [a-z]+$")
_SIGNS: Final = re.compile(r"[^\w' .,()/:$€£%-]|_")


@lru_cache(maxsize=512)
def open_end(text: str) -> OpenEnd | None:
    """Return how *text*, as a recogniser wrote it, ends openly; ``None`` if it does not."""
    said = spoken(text).replace("’", "'").lower()
    words = [word for each in _SIGNS.sub(" ", said).split() if (word := each.strip(".,:'/")).strip("-")]
    if not words:
        return None
    last, phrase = words[-1].rstrip("-"), " ".join(words)
    asked = said.rstrip("\"'”’ ").endswith("?")
    if dictated := _dictated(words):
        return OpenEnd(dictated, last)
    if _FILLER.fullmatch(last) or (not asked and _hesitates(last, phrase)):
        return OpenEnd("hesitation", last)
    if _is_unfinished(last, phrase, asked=asked):
        return OpenEnd("unfinished", last)
    trailing = _TRAILING.search(said)
    return OpenEnd("unfinished", trailing[0].strip()) if trailing else None


def _hesitates(last: str, phrase: str) -> bool:
    if _FINISHED.search(phrase) or _CLAUSES.search(phrase):
        return False
    return last in _HESITATIONS or _THINKING.search(phrase) is not None


def _is_unfinished(last: str, phrase: str, *, asked: bool) -> bool:
    """Say whether the clause at the end of *phrase* lacks something; one that is *asked* may end so."""
    if _FINISHED.search(phrase):
        return False
    return last in _ALWAYS or (
        not asked and bool(last in _UNLESS_ASKED or _CONTRACTED.fullmatch(last) or _CLAUSES.search(phrase))
    )


def _dictated(words: list[str]) -> Kind | None:
    """Return what is being dictated at the end of *words*, digits or letters."""
    last, before = words[-1].rstrip("-"), words[-2] if len(words) > 1 else ""
    behind = _is_number(before)
    if _is_number(last) and not (last == "one" and before and not behind and before not in _INTO_ONE):
        return "digits"
    if last in _ALSO_DIGITS and behind and (last not in {"to", "for"} or _is_number(" ".join(words[-3:-2]))):
        return "digits"
    return "spelling" if _is_spelled(words) else None


def _is_number(word: str) -> bool:
    """Say whether *word* is a number, of those that could go on: "$135" and "11:30" could not."""
    parts = word.strip("-").split("-")
    return all(part in _NUMBERS for part in parts) or _NUMERAL.fullmatch(word) is not None


def _is_spelled(words: list[str]) -> bool:
    """Say whether *words* end in letters that are no word and no abbreviation."""
    if _AS_IN.search(" ".join(words)):
        return True
    letters = ""
    for word in reversed(words):
        if len(word) > 1 and not _LETTERS.fullmatch(word):
            break
        letters = re.sub(r"[.-]", "", word) + letters
    return letters.isalpha() and letters not in {"a", "i", *_ABBREVIATIONS}
