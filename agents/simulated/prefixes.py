"""The prompt cache of a server: how many tokens of a prompt it has seen before, message by message.

A prefix is known by a chain of hashes. A message that begins as one known here before counts as far as both
agree, in whole blocks, as paged attention has it: that is what a prewarm on half a sentence gains.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from turnbudget.agents.backends.backend import Message

BLOCK: Final = 16
"""The tokens in a block of the cache (vLLM's default; assumed of others)."""
FRAME: Final = 4
"""The tokens that a chat template puts around a message (assumed)."""
_TOKEN: Final = re.compile(r"\s?\w{1,6}|\s?[^\w\s]|\s")


@lru_cache(maxsize=4096)
def pieces(text: str) -> tuple[str, ...]:
    """Return *text* in token-like pieces: a word of up to six letters with its space, or a sign (assumed)."""
    return tuple(_TOKEN.findall(text))


def count(text: str) -> int:
    """Return about how many tokens *text* has."""
    return len(pieces(text))


def size(messages: Sequence[Message]) -> int:
    """Return about how many tokens a prompt of *messages* has."""
    return sum(count(message.text) + FRAME for message in messages) + FRAME


@dataclass(slots=True)
class _Known:
    tokens: int
    used_us: int
    begins: dict[str, tuple[str, int]]
    """For each role, the text that last followed this prefix, and the key of both."""


class Prefixes:
    """What is cached, by least recent use."""

    def __init__(self, ttl_us: float = 0.0, block: int = BLOCK) -> None:
        """Keep a prefix for *ttl_us* after its last use; for ever if 0, until :meth:`fit` evicts it."""
        self._ttl_us = ttl_us
        self._block = block
        self._known: OrderedDict[int, _Known] = OrderedDict()
        self._root = _Known(0, 0, {})
        self.tokens = 0

    def cached(self, messages: Sequence[Message], now: int) -> int:
        """Return the tokens of *messages* that are known, in whole blocks, and note their use."""
        found, before = 0, self._root
        for key, message in _chain(messages):
            known = self._fresh(key, now)
            if known is None:
                text, alike = before.begins.get(message.role, ("", 0))
                if self._fresh(alike, now):
                    found += count(_common(text, message.text))
                break
            known.used_us = now
            self._known.move_to_end(key)
            found += known.tokens
            before = known
        return found // self._block * self._block

    def add(self, messages: Sequence[Message], now: int) -> None:
        """Know *messages*, and each prefix of them, from *now* on."""
        before = self._root
        for key, message in _chain(messages):
            before.begins[message.role] = (message.text, key)
            known = self._known.pop(key, None)
            if known is None:
                known = _Known(count(message.text) + FRAME, now, {})
                self.tokens += known.tokens
            known.used_us = now
            self._known[key] = before = known

    def fit(self, tokens: float) -> None:
        """Evict what was used longest ago until no more than *tokens* are kept."""
        while self.tokens > tokens and self._known:
            _, known = self._known.popitem(last=False)
            self.tokens -= known.tokens

    def clear(self) -> None:
        """Know nothing more: a change of tier or a restart."""
        self._known.clear()
        self._root.begins.clear()
        self.tokens = 0

    def _fresh(self, key: int, now: int) -> _Known | None:
        known = self._known.get(key)
        if known and self._ttl_us and now - known.used_us > self._ttl_us:
            del self._known[key]
            self.tokens -= known.tokens
            return None
        return known


def _common(first: str, second: str) -> str:
    """Return the beginning that both texts share."""
    same = takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False))
    return first[: sum(1 for _ in same)]


def _chain(messages: Sequence[Message]) -> Iterator[tuple[int, Message]]:
    """Yield each message with the key of the prefix that it ends."""
    key = 0
    for message in messages:
        key = hash((key, message.role, message.text))
        yield key, message
