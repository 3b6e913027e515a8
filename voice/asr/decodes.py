"""Decodes wait their turn, one at a time: first a text that is asked for, then a pause, then partials.

What is more urgent does not wait for what is less: a partial under way is abandoned, a pause's decode ends
and begins anew later. Everything here happens on the loop; the work itself does not.

Of texts that change until late, what two decodes in a row agree on can be believed. (Macháček, Dabre and
Bojar, *Turning Whisper into Real-Time Transcription System*, 2023: LocalAgreement-2.)
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from enum import IntEnum
from functools import partial
from typing import TYPE_CHECKING

from turnbudget.voice.asr.moonshine_model import Leave
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from collections.abc import Callable

    from turnbudget.voice.sound.audio import Int16


class Urgency(IntEnum):
    """What a decode is for; the lowest number goes first."""

    FINAL = 0
    PAUSE = 1
    PARTIAL = 2


@dataclass(slots=True)
class KnownText:
    """What earlier decodes of an utterance found; used by the worker thread only."""

    settled: dict[int, str] = field(default_factory=dict)
    """Texts of the pieces that are over, by the sample at which each ends."""
    draft: list[int] = field(default_factory=list)
    """Tokens of the piece that goes on."""


class Decode:
    """One decode: its sound, its purpose, when it was asked for and when it was done."""

    def __init__(self, sound: Int16, known: KnownText, urgency: Urgency) -> None:
        self.sound = sound
        self.known = known
        self.urgency = urgency
        self.leave = Leave()
        self.began_us = clock.now()
        self.ended_us: int | None = None
        self.text: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        """The text; ``None`` if the decode was given up."""
        self.given_up = False

    def failure(self) -> BaseException | None:
        """Return what went wrong in a decode that is done; ``None`` if nothing did."""
        return asyncio.CancelledError() if self.text.cancelled() else self.text.exception()

    def is_lost(self) -> bool:
        """Return whether it has ended, or will end, without a text."""
        if self.text.done():
            return self.failure() is None and self.text.result() is None
        return self.given_up or (self.leave.taken_back and self.urgency is Urgency.PARTIAL)


class Decodes:
    """The decodes of all utterances of a process; *start* begins one in the worker thread."""

    def __init__(self, start: Callable[[Decode], asyncio.Future[str | None]]) -> None:
        self._start = start
        self._waiting: list[Decode] = []
        self._running: Decode | None = None

    def add(self, decode: Decode) -> None:
        """Have *decode* done in its turn."""
        self._waiting.append(decode)
        self._go_on()

    def change(self, decode: Decode, urgency: Urgency) -> None:
        """Change the urgency of *decode*, since it is wanted for something else."""
        decode.urgency = urgency
        self._go_on()

    def give_up(self, decode: Decode) -> None:
        """End *decode* at once, or never begin it."""
        decode.given_up = True
        decode.leave.take_back()
        if decode in self._waiting:
            self._waiting.remove(decode)
            self._end(decode, None)

    def give_up_all(self) -> None:
        """Give up every decode added so far."""
        for decode in [*self._waiting, *([self._running] if self._running else [])]:
            self.give_up(decode)

    def _go_on(self) -> None:
        """Begin the most urgent decode, or have a less urgent one make way for it."""
        if not self._waiting:
            return
        first = min(self._waiting, key=lambda decode: decode.urgency)
        if self._running is None:
            self._waiting.remove(first)
            self._running = first
            self._start(first).add_done_callback(partial(self._done, first))
        elif first.urgency < self._running.urgency:
            self._running.leave.take_back()

    def _done(self, decode: Decode, work: asyncio.Future[str | None]) -> None:
        self._running = None
        if work.cancelled() or work.exception() or work.result() is not None or decode.is_lost():
            self._end(decode, work)
        else:
            decode.leave = Leave()
            self._waiting.insert(0, decode)
        self._go_on()

    @staticmethod
    def _end(decode: Decode, work: asyncio.Future[str | None] | None) -> None:
        decode.ended_us = clock.now()
        if decode.text.done():
            return
        if work is None:
            decode.text.set_result(None)
        elif work.cancelled():
            decode.text.cancel()
        elif error := work.exception():
            decode.text.set_exception(error)
        else:
            decode.text.set_result(work.result())


class Agreement:
    """What can be believed of a text that is decoded again and again.

    It grows, and gives way only when two decodes in a row agree on something else.
    """

    def __init__(self) -> None:
        self.text = ""
        """The words believed so far."""
        self._latest: list[str] = []

    def hear(self, text: str) -> None:
        """Take the newest decode of a sound that goes on."""
        words = text.split()
        agreed = words[: _alike(self._latest, words)]
        believed = self.text.split()
        self._latest = words
        if len(agreed) >= len(believed) or _alike(agreed, believed) < len(agreed):
            self.text = " ".join(agreed)

    def settle(self, text: str) -> None:
        """Take a decode of a sound that has paused, all of which is believed."""
        self._latest = text.split()
        self.text = text


def _alike(one: list[str], other: list[str]) -> int:
    """Return how many words the two have in common from the beginning, case and punctuation apart."""
    count = 0
    for mine, theirs in zip(one, other, strict=False):
        if _bare(mine) != _bare(theirs):
            break
        count += 1
    return count


def _bare(word: str) -> str:
    return "".join(letter for letter in word.casefold() if letter.isalnum())
