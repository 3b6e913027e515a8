"""What the shelf goes by: the pieces a reply is rendered in, to the letter but for white space.

The turn cuts a reply with :mod:`turnbudget.voice.words.text` and :mod:`turnbudget.voice.words.sentences`; so
does this.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from turnbudget.voice.words.sentences import split
from turnbudget.voice.words.text import speakable

if TYPE_CHECKING:
    from collections.abc import Iterator

_END: Final = re.compile(
    r"[.!?…,;:—–)]+[\"'”’»)\]]*(?=\s)|[।॥。．！？؟۔、，；：]+[」』】]*",
)
"""Where a sentence or a clause may end. A false end (after "Dr.") does no harm: nothing is kept under it."""


def pieces(text: str) -> list[str]:
    """Return the pieces that a reply of *text* is rendered in; none if there is nothing to speak."""
    return [plain(piece) for piece in split(speakable(text))]


def plain(text: str) -> str:
    """Return *text* with single spaces; nothing else about it is the same if it is written otherwise."""
    return " ".join(text.split())


def beginnings(text: str) -> Iterator[tuple[str, str]]:
    """Yield *text* cut in two at the end of a sentence or clause, the longest beginning first: it whole."""
    yield text, ""
    for cut in reversed([mark.end() for mark in _END.finditer(text)]):
        if rest := text[cut:].strip():
            yield text[:cut], rest
