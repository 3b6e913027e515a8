"""The Ear: the caller's frames in, events out.

It puts frames in their place in the caller's media, asks a detector and the endpointing machine about
them, keeps half a second before a detected start so that no first syllable is lost, and has the utterance
transcribed while it is spoken. The one thing it waits for is the final text, and never past its bound.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

import numpy as np

from voice import audio, clock
from voice.asr.text import is_words
from voice.endpoint import Began, Ended, Endpoint, Paused, WentOn
from voice.errors import AsrError
from voice.events import Partial, Pause, Resumed, SpeechStarted, Utterance
from voice.level import Level

if TYPE_CHECKING:
    from collections.abc import Callable

    from voice.asr.transcriber import Dictation, Transcriber
    from voice.audio import Int16
    from voice.crew import Crew
    from voice.endpoint import Endpointing, Signal
    from voice.events import Event
    from voice.line import Frame
    from voice.vad import Vad

HIGH: Final = 0.5
"""A window is voiced from this probability on; once it is, down to LOW (Silero's own defaults)."""
LOW: Final = 0.35
PREROLL: Final = audio.samples(300_000)
"""Audio kept from before the detected start: a soft onset lasts up to 250 ms."""
TAIL: Final = audio.samples(50_000)
"""What belongs to the utterance before: its last voiced sample and the breath after it."""
LOST: Final = audio.samples(200_000)
"""Media missing for so long is filled in by the guard: a radio gap, not jitter."""
JUMP: Final = audio.samples(1_000_000)
"""A jump in media places beyond this is a new count, unless as much time has passed."""


class Ear:
    """One call's hearing. Everything but the wait for a final text happens in :meth:`hear`, at once."""

    def __init__(  # noqa: PLR0913 - its parts, once each
        self,
        vad: Vad,
        transcriber: Transcriber,
        endpointing: Endpointing,
        *,
        tell: Callable[[Event], None],
        crew: Crew,
        text_by: Callable[[int, int], int],
    ) -> None:
        """Hear for one call.

        *tell* gets every event at once; *text_by* says by when a final text is worth waiting for, given
        the last voiced sample and the endpoint decision (µs on the clock).
        """
        self._vad = vad
        self._transcriber = transcriber
        self._endpoint = Endpoint(endpointing)
        self._tell = tell
        self._crew = crew
        self._text_by = text_by
        self._level = Level()
        self._epoch: int | None = None
        self._shift = 0
        self._next = 0
        self._filled = False
        self._window: Int16 = audio.silence(0)
        self._voiced = False
        self._recent: deque[tuple[int, Int16]] = deque(maxlen=PREROLL // audio.FRAME + 6)
        self._dictation: Dictation | None = None
        self._ended = -PREROLL
        self._partial = ""
        self.waiting = 0
        """Utterances whose final text is still awaited."""
        self.dropped = 0
        """Frames that came twice or too late."""
        self.wordless = 0
        """Utterances in which there were no words."""

    @property
    def speaking(self) -> bool:
        """Whether the caller is in an utterance, pauses in it included."""
        return self._endpoint.speaking

    @property
    def epoch_us(self) -> int:
        """When the first sample of the caller's media sounded, in µs on the clock."""
        return self._epoch or 0

    def at_clock(self, at: int) -> int:
        """Return when the caller's sample *at* sounded, in µs on the clock."""
        return self.epoch_us + audio.us(at)

    def hear(self, frame: Frame) -> None:
        """Take a frame that has just arrived."""
        at = self._place(frame)
        if at is None:
            self.dropped += 1
            return
        arrived = clock.now() - audio.us(at + frame.samples.size)
        self._epoch = arrived if self._epoch is None else min(self._epoch, arrived)
        self._filled = False
        self._take(frame.samples, at)

    def missed(self) -> None:
        """Count time that passed without frames as silence; a call asks for it some ten times a second."""
        if self._epoch is None:
            return
        missing = audio.samples(clock.now() - self._epoch) - self._next
        if missing < LOST:
            return
        self._filled = True
        if self.speaking:
            self._take(audio.silence(missing), self._next)
        else:
            self._next += missing

    def _place(self, frame: Frame) -> int | None:
        """Return where *frame* belongs, filling a gap before it; ``None`` if that time has passed."""
        if self._epoch is None:
            self._next = frame.at
        at = frame.at + self._shift
        gap = at - self._next
        if gap < 0:
            if not self._filled:
                return None
            self._shift -= gap  # the line counts only what it sends; the silence between is ours
            return self._next
        if gap > JUMP and abs(audio.samples(clock.now() - self.epoch_us) - at) > JUMP:
            self._shift -= gap
            return self._next
        if gap and self.speaking:
            self._take(audio.silence(gap), self._next)
        return at

    def _take(self, samples: Int16, at: int) -> None:
        if at != self._next:
            self._window = audio.silence(0)
        self._next = at + samples.size
        self._level.hear(samples, at)
        self._recent.append((at, samples))
        if self._dictation:
            self._dictation.feed(samples)
        size = self._vad.window
        pending = samples if not self._window.size else np.concatenate((self._window, samples))
        place = self._next - pending.size
        while pending.size >= size:
            self._judge(pending[:size], place)
            pending, place = pending[size:], place + size
        self._window = pending
        if self._dictation and (text := self._dictation.partial) != self._partial:
            self._partial = text
            self._tell(Partial(text, clock.now()))

    def _judge(self, window: Int16, at: int) -> None:
        likely = self._vad.probability(window, at)
        self._voiced = likely >= (LOW if self._voiced else HIGH) and self._level.stands_out(window.size)
        signal = self._endpoint.process(at, window.size, voiced=self._voiced, edge=self._edge)
        if signal:
            self._follow(signal)

    def _edge(self) -> int:
        return self._level.last_voiced(self._endpoint.began)

    def _follow(self, signal: Signal) -> None:
        match signal:
            case Began(at):
                self._begin(at)
            case Paused(at) if self._dictation:
                self._dictation.pause()
                self._tell(Pause(self.at_clock(at), self._partial))
            case WentOn(at) if self._dictation:
                self._dictation.resume()
                self._tell(Resumed(self.at_clock(at)))
            case Ended() if self._dictation:
                dictation, self._dictation = self._dictation, None
                self._ended = signal.at
                self.waiting += 1
                self._crew.create_task(
                    self._finish(dictation, signal, self.at_clock(signal.began), clock.now()),
                    name="final text",
                )
            case _:  # pragma: no cover - the machine gives no other signal
                pass

    def _begin(self, at: int) -> None:
        """Begin a dictation with what was heard before the detector opened."""
        start = max(at - PREROLL, self._ended + TAIL, self._recent[0][0])
        self._partial = ""
        self._dictation = self._transcriber.begin(start)
        for place, samples in self._recent:
            if place + samples.size > start:
                self._dictation.feed(samples[max(0, start - place) :])
        self._tell(SpeechStarted(self.at_clock(at)))

    async def _finish(self, dictation: Dictation, ended: Ended, began_us: int, decided_us: int) -> None:
        """Wait for the final text no longer than it is worth, and tell the utterance."""
        ended_us = self.at_clock(ended.at)
        final, because = None, "the final text came too late"
        try:
            async with clock.move_on_at(self._text_by(ended_us, decided_us)):
                final = await dictation.final()
        except AsrError as error:
            because = str(error)
        finally:
            text = dictation.partial
            dictation.drop()
            self.waiting -= 1
        if final and (is_words(final.text) or not is_words(text)):
            text, because = final.text, ""
        elif final:
            because = "the final text was empty"
        if not is_words(text):
            text = ""
            self.wordless += 1
        self._tell(
            Utterance(
                text,
                began_us,
                ended_us,
                decided_us,
                clock.now(),
                ended.rule,
                audio.us(ended.voiced),
                "partial" if because else "final",
                self._transcriber.name,
                because,
                final.work if final else (),
            )
        )

    def hang_up(self) -> None:
        """Forget an utterance that has not ended."""
        if self._dictation:
            self._dictation.drop()
            self._dictation = None
