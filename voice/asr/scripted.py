"""A transcriber that plays a reference transcript with stated delays: no model, no thread, no noise.

It hears whatever words of the reference stand in the sound it was fed, as late as it was told to, and
fails in the ways it was told to. Runs on every clock.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from turnbudget.voice.asr.transcriber import Transcript, Word, Work
from turnbudget.voice.errors import AsrError
from turnbudget.voice.language.text import is_words
from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from turnbudget.voice.sound.audio import Int16

FINAL_US: Final = 80_000
"""Default delay of the final text after the pause (µs; 80 ms)."""
LAG_US: Final = 300_000
"""Default delay of a partial after its word's end (µs; 300 ms)."""


@dataclass(frozen=True, slots=True)
class Take:
    """What one utterance is heard as; by default, what the reference says."""

    text: str | None = None
    """Final text; ``None`` for the reference's."""
    partials: tuple[tuple[int, str], ...] | None = None
    """Partial texts, each with the length of sound from which it shows (µs); ``None`` for the reference's."""
    final_us: int | None = None
    """Delay of the final text (µs); ``None`` for the transcriber's."""
    never: bool = False
    """Whether the final text never comes."""
    error: str = ""
    """Why the final text fails; '' if it does not."""


class ScriptedTranscriber:
    """A transcriber that hears the words of *reference*, which may grow while the call plays.

    A final text is ready *final_us* after the pause (or, without one, after it is asked for), a word shows
    in the partial once *lag_us* of sound came after it. The first utterance is heard as the first of
    *takes*, and so on; those beyond are heard as the reference has them.
    """

    name = "scripted"

    def __init__(
        self,
        reference: Sequence[Word] = (),
        *,
        final_us: int = FINAL_US,
        lag_us: int = LAG_US,
        takes: Sequence[Take] = (),
    ) -> None:
        self.reference = reference
        self.final_us = final_us
        self.lag_us = lag_us
        self._takes = iter(tuple(takes))

    async def warm(self) -> None:
        """Do nothing: there is nothing to load."""

    def begin(self, at: int, changed: Callable[[], None]) -> ScriptedDictation:
        """Begin an utterance whose first sample stands at *at* in the caller's media (samples)."""
        return ScriptedDictation(self, audio.us(at), next(self._takes, Take()), changed)

    async def aclose(self) -> None:
        """Do nothing: there is nothing to free."""


class ScriptedDictation:
    """One utterance, heard as its take says."""

    def __init__(
        self, engine: ScriptedTranscriber, began_us: int, take: Take, changed: Callable[[], None]
    ) -> None:
        self._engine = engine
        self._began_us = began_us
        self._take = take
        self._changed = changed
        self._fed = 0
        self._work_began_us: int | None = None
        self._ready: asyncio.TimerHandle | None = None
        self._whole = False
        self._work: list[Work] = []
        self._dropped = False

    @property
    def partial(self) -> str:
        """The final text once it is ready, before that the take's latest partial."""
        return self._text() if self._whole else self._so_far()

    @property
    def whole(self) -> bool:
        """Whether the final text is ready: its delay has passed since the pause."""
        return self._whole

    def _so_far(self) -> str:
        heard_us = audio.us(self._fed)
        if self._take.partials is not None:
            return next((text for at, text in reversed(self._take.partials) if at <= heard_us), "")
        shown = self._began_us + heard_us - self._engine.lag_us
        return " ".join(word.text for word in self._words() if word.ended_us <= shown)

    def feed(self, samples: Int16) -> None:
        """Take the next samples."""
        self._fed += samples.size

    def pause(self) -> None:
        """Begin to make the final text."""
        if self._work_began_us is None and not self._dropped:
            self._work_began_us = clock.now()
            if not (self._take.never or self._take.error):
                self._ready = clock.call_at(self._work_began_us + self._final_us(), self._be_whole)

    def resume(self) -> None:
        """Drop the text that was being made for the pause."""
        if self._work_began_us is not None:
            ended = min(clock.now(), self._work_began_us + self._final_us())
            self._work.append(Work(self._work_began_us, ended, used=False))
            self._work_began_us = None
            self._forget_pause()

    async def final(self) -> Transcript:
        """Return the final text when its delay has passed."""
        if self._dropped:
            raise AsrError("the utterance was dropped", where=self._engine.name)
        self.pause()
        began = self._work_began_us or 0
        if self._take.never:
            await asyncio.get_running_loop().create_future()
        ready = began + self._final_us()
        if clock.now() < ready:
            await clock.sleep_until(ready)
        if self._take.error:
            raise AsrError(self._take.error, where=self._engine.name)
        words = tuple(self._words()) if self._take.text is None else ()
        return Transcript(self._text(), words, (*self._work, Work(began, ready, used=True)))

    def drop(self) -> None:
        """Drop the utterance."""
        self._dropped = True
        self._forget_pause()

    def _be_whole(self) -> None:
        """Show the final text; an empty one does not erase a partial."""
        self._whole = is_words(self._text()) or not is_words(self._so_far())
        self._changed()

    def _forget_pause(self) -> None:
        self._whole = False
        if self._ready:
            self._ready.cancel()

    def _text(self) -> str:
        """Return the final text."""
        if self._take.text is not None:
            return self._take.text
        return " ".join(word.text for word in self._words())

    def _final_us(self) -> int:
        return self._engine.final_us if self._take.final_us is None else self._take.final_us

    def _words(self) -> list[Word]:
        """Return the words whose middle lies in the sound fed, so that none is heard twice."""
        ended_us = self._began_us + audio.us(self._fed)
        return [
            word
            for word in self._engine.reference
            if self._began_us <= (word.began_us + word.ended_us) // 2 < ended_us and is_words(word.text)
        ]
