"""The seam between the Ear and any speech recogniser, and what came out of it.

The Ear begins one :class:`Dictation` an utterance, feeds it while the caller speaks, says when the voice
falls and when it comes back so that the text can be made ready inside the silence, is told when that is
done, and asks for the final text once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from turnbudget.voice.sound.audio import Int16


@dataclass(frozen=True, slots=True)
class Word:
    """A word and its time in the caller's media, in microseconds from the call's first sample."""

    text: str
    began_us: int
    """Where it begins (µs of media)."""
    ended_us: int
    """Where it ends (µs of media)."""


@dataclass(frozen=True, slots=True)
class Work:
    """One piece of recognition: when it ran (µs on the clock), and whether its result was used."""

    began_us: int
    ended_us: int
    used: bool


@dataclass(frozen=True, slots=True)
class Transcript:
    """The final text of one utterance; '' if there were no words in it."""

    text: str
    words: tuple[Word, ...] = ()
    work: tuple[Work, ...] = field(default=(), compare=False)
    """Decodes that it cost."""


class Dictation(Protocol):
    """One utterance on its way to text; only ``final`` waits, and nothing here blocks the loop."""

    @property
    def partial(self) -> str:
        """The text so far; it may still change."""
        ...

    @property
    def whole(self) -> bool:
        """Whether ``partial`` covers all sound up to the pause, and so will be the final text."""
        ...

    def feed(self, samples: Int16) -> None:
        """Take the next samples (16 kHz int16) of the utterance, silence inside it included."""
        ...

    def pause(self) -> None:
        """Handle a pause: bring the text up to date now, for this may be the end.

        Told at every dip of the level, some of them inside words, so it costs next to nothing to be wrong.
        """
        ...

    def resume(self) -> None:
        """Handle the voice's return: a text being made for the pause becomes an ordinary partial."""
        ...

    async def final(self) -> Transcript:
        """Return the text of all that was fed; raises :class:`~turnbudget.voice.errors.AsrError`.

        Whoever calls it bounds the wait and falls back on ``partial``. Feeding has ended by then.
        """
        ...

    def drop(self) -> None:
        """Drop the utterance and stop its work; calling it again does nothing."""
        ...


class Transcriber(Protocol):
    """A speech recogniser (ASR), shared by all calls of a process."""

    name: str
    """Its name, as the ledger tells it."""

    async def warm(self) -> None:
        """Load models and run once, so that the first turn costs no more than later ones; may come twice."""
        ...

    def begin(self, at: int, changed: Callable[[], None]) -> Dictation:
        """Begin an utterance whose first sample stands at *at* in the caller's media (samples).

        *changed* is called on the loop when ``partial`` or ``whole`` may have changed by itself, because
        work came to its end; never from inside a method of the dictation.
        """
        ...

    async def aclose(self) -> None:
        """Free threads and models."""
        ...
