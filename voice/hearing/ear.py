"""The Ear: the caller's frames in, events out.

It puts frames in their place in the caller's media, asks a detector and the endpointing machine about
them, keeps what came before a detected start so that no first syllable is lost, and has the utterance
transcribed while it is spoken. The one thing it waits for is the final text, and never past its bound.
Utterances are told in the order in which they were spoken, whichever text is there first.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from turnbudget.voice.errors import AsrError
from turnbudget.voice.hearing.endpoint import TOGETHER, Began, Ended, Endpoint, Paused, WentOn
from turnbudget.voice.hearing.events import Partial, Pause, Resumed, SpeechStarted, Utterance
from turnbudget.voice.hearing.level import Level
from turnbudget.voice.hearing.media import JUMP, Media
from turnbudget.voice.language.text import is_words
from turnbudget.voice.sound import audio
from turnbudget.voice.sound.audio import Samples
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from collections.abc import Callable

    from turnbudget.voice.asr.transcriber import Dictation, Transcriber
    from turnbudget.voice.hearing.endpoint import Endpointing, Signal
    from turnbudget.voice.hearing.events import Event
    from turnbudget.voice.hearing.vad import Vad
    from turnbudget.voice.lines.line import Frame
    from turnbudget.voice.sound.audio import Int16
    from turnbudget.voice.time.clock import Micros
    from turnbudget.voice.time.crew import Crew

HIGH: Final = 0.5
"""Probability from which a window is voiced (Silero's own default)."""
LOW: Final = 0.35
"""Probability down to which a window stays voiced once one was (Silero's own default)."""
DIP: Final = audio.samples(30_000)
"""Quiet inside a voice at which the text is brought up to date, before the detector falls (samples; 30
ms)."""
PREROLL: Final = audio.samples(300_000)
"""Audio kept from before the detected start, for a soft onset (samples; 300 ms)."""
TAIL: Final = audio.samples(50_000)
"""Audio after the last voiced sample that still belongs to the utterance (samples; 50 ms)."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """What is known by now of the utterance that the caller is in, pauses included."""

    voiced_us: int
    """Voice in it so far (µs of media)."""
    silence_us: int
    """How long the caller has been silent (µs of media); 0 while they speak."""
    text: str
    """The text so far."""
    whole: bool
    """Whether the text covers all that was said before the silence."""


class Ear:
    """One call's hearing; everything but the wait for a final text happens in :meth:`hear`, at once."""

    def __init__(  # noqa: PLR0913 - its parts, once each
        self,
        vad: Vad,
        transcriber: Transcriber,
        endpointing: Endpointing,
        *,
        tell: Callable[[Event], None],
        crew: Crew,
        text_by: Callable[[int, int], int],
        listens_us: int = 0,
    ) -> None:
        """Hear for one call.

        *tell* gets every event at once; *text_by* says by when a final text is worth waiting for, given
        the last voiced sample and the endpoint decision (µs on the clock); of an utterance's sound
        *listens_us* are kept.
        """
        self._vad = vad
        self._transcriber = transcriber
        self._endpoint = Endpoint(endpointing)
        self._tell = tell
        self._crew = crew
        self._text_by = text_by
        self._level = Level()
        self._media = Media()
        self._window: Int16 = audio.silence(0)
        self._voiced = False
        self._recent: deque[tuple[Samples, Int16]] = deque()
        preroll = PREROLL + (TOGETHER + 1) * audio.samples(endpointing.start_us)
        self._recent_size = max(preroll, audio.samples(listens_us))
        self._dictation: Dictation | None = None
        self._dipped = False
        self._spent = Samples(0)
        self._partial = ("", False)
        self._finishing: asyncio.Task[None] | None = None
        self.waiting = 0
        """Number of utterances whose final text is still awaited."""
        self.dropped = 0
        """Number of frames that came twice or too late."""
        self.wordless = 0
        """Number of utterances without words."""

    @property
    def speaking(self) -> bool:
        """Whether the caller is in an utterance, pauses included."""
        return self._endpoint.speaking

    @property
    def stirring(self) -> bool:
        """Whether some voice is heard, but too little yet to begin an utterance."""
        return self._endpoint.stirring

    @property
    def stretch(self) -> Stretch | None:
        """The utterance that the caller is in; ``None`` if there is none."""
        if not self._endpoint.speaking:
            return None
        voiced, silence = self._endpoint.so_far()
        return Stretch(audio.us(voiced), audio.us(silence), *self._partial)

    @property
    def epoch_us(self) -> Micros:
        """When the first sample of the caller's media sounded (µs on the clock)."""
        return self._media.epoch_us

    def at_clock(self, at: Samples) -> Micros:
        """Return when the caller's sample *at* sounded (µs on the clock)."""
        return self._media.at_clock(at)

    def counted(self, us: Micros) -> Samples:
        """Return which of the caller's samples sounded at *us* on the clock, as the far side counts."""
        return self._media.counted(us)

    def hear(self, frame: Frame, *, masked: bool = False) -> Micros | None:
        """Take a frame that has just arrived; return when it began to sound (µs on the clock).

        ``None``: it came twice, or too late. What is *masked* is not the caller's sound: silence is heard.
        """
        at = self._media.place(frame)
        if at is None:
            self.dropped += 1
            return None
        self._fill(at)
        self._take(audio.silence(frame.samples.size) if masked else frame.samples, lost=masked)
        return self.at_clock(at)

    def sound(self) -> Int16:
        """Return the sound of the current utterance, as far as it is kept."""
        began = max(self._endpoint.began - PREROLL, self._spent)
        return audio.join([samples for place, samples in self._recent if place + samples.size > began])

    def wait(self, silence_us: int, rule: str) -> None:
        """Let this pause last *silence_us* before it ends the turn; *rule* names the setting that says so.

        If it has lasted as long, the turn ends now. Without a pause it changes nothing.
        """
        if signal := self._endpoint.wait(silence_us, rule):
            self._follow(signal)

    def missed(self) -> None:
        """Take time that passed without frames as silence; a call asks for it about ten times a second."""
        if lost := self._media.lost():
            self._fill(Samples(self._media.next + lost))

    def _fill(self, until: Samples) -> None:
        """Take what never came as silence, second by second until the utterance ends; skip the rest."""
        while self.speaking and self._media.next < until:
            self._take(audio.silence(min(until - self._media.next, JUMP)), lost=True)
        gap = until - self._media.next
        if gap > JUMP:
            self._media.next, self._window = until, audio.silence(0)
            self._recent.clear()
        elif gap:
            self._take(audio.silence(gap), lost=True)

    def _take(self, samples: Int16, *, lost: bool = False) -> None:
        media = self._media
        began = media.next
        self._recent.append((began, samples))
        media.next = Samples(began + samples.size)
        while media.next - self._recent[0][0] - self._recent[0][1].size > self._recent_size:
            self._recent.popleft()
        if self._dictation:
            self._dictation.feed(samples)
        self._level.hear(samples, began, lost=lost)
        size = self._vad.window
        pending = samples if not self._window.size else np.concatenate((self._window, samples))
        place = Samples(media.next - pending.size)
        while pending.size >= size:
            self._judge(pending[:size], place)
            pending, place = pending[size:], Samples(place + size)
        self._window = pending
        if self._dictation and not self._endpoint.paused:
            self._dip(self._dictation)
        elif signal := self._endpoint.heard(self._media.next):
            self._follow(signal)
        self._read()

    def _dip(self, dictation: Dictation) -> None:
        """Have the text brought up to date when the level falls, some 75 ms before the detector does."""
        heard = self._media.next
        dipped = heard - self._level.last_voiced(self._endpoint.began, heard) >= DIP
        if dipped != self._dipped:
            self._dipped = dipped
            if dipped:
                dictation.pause()
            else:
                dictation.resume()

    def _read(self) -> None:
        """Tell the text if it has changed."""
        if self._dictation:
            read = self._dictation.partial, self._dictation.whole and self._endpoint.paused
            if read != self._partial:
                self._partial = read
                self._tell(Partial(read[0], clock.now(), whole=read[1]))

    def _judge(self, window: Int16, at: Samples) -> None:
        likely = self._vad.probability(window, at)
        self._voiced = likely >= (LOW if self._voiced else HIGH) and self._level.stands_out(
            window.size, Samples(at + window.size)
        )

        until = Samples(at + window.size)

        def edge() -> Samples:
            return self._level.last_voiced(self._endpoint.began, until)

        signal = self._endpoint.process(at, window.size, voiced=self._voiced, edge=edge)
        if signal:
            self._follow(signal)

    def _follow(self, signal: Signal) -> None:
        match signal:
            case Began(at):
                self._begin(at)
            case Paused(at) if self._dictation:
                if not self._dipped:
                    self._dictation.pause()
                self._tell(Pause(self.at_clock(at), self._partial[0]))
            case WentOn(at) if self._dictation:
                self._dipped = False
                self._dictation.resume()
                self._tell(Resumed(self.at_clock(at)))
            case Ended() if self._dictation:
                dictation, self._dictation = self._dictation, None
                self._spent = Samples(min(signal.at + TAIL, self._media.next))
                self.waiting += 1
                self._finishing = self._crew.create_task(
                    self._finish(dictation, self._untold(signal), self._finishing), name="final text"
                )
            case _:  # pragma: no cover - the machine gives no other signal
                pass

    def _begin(self, at: Samples) -> None:
        """Begin a dictation with the audio kept from before the detected start."""
        start = Samples(max(at - PREROLL, self._spent, self._recent[0][0]))
        self._partial, self._dipped = ("", False), False
        self._dictation = self._transcriber.begin(start, self._read)
        for place, samples in self._recent:
            if place + samples.size > start:
                self._dictation.feed(samples[max(0, start - place) :])
        self._tell(SpeechStarted(self.at_clock(at)))

    def _untold(self, ended: Ended) -> Utterance:
        """Return the utterance that has just *ended*, without its text."""
        now = clock.now()
        return Utterance(
            "",
            self.at_clock(ended.began),
            self.at_clock(ended.at),
            decided_us=now,
            text_us=now,
            rule=ended.rule,
            voiced_us=audio.us(ended.voiced),
            transcriber=self._transcriber.name,
        )

    async def _finish(self, dictation: Dictation, said: Utterance, before: asyncio.Task[None] | None) -> None:
        """Tell the utterance *said* when its text is there, after the one *before* it."""
        try:
            told = await self._with_text(said, dictation)
            if before and not before.done():
                await asyncio.wait([before])
        finally:
            self.waiting -= 1
        self.wordless += not told.text
        self._tell(replace(told, text_us=clock.now()))

    async def _with_text(self, said: Utterance, dictation: Dictation) -> Utterance:
        """Return *said* with its final text, or with the partial one if the final comes too late."""
        final, because = None, "the final text came too late"
        try:
            async with clock.move_on_at(self._text_by(said.ended_us, said.decided_us)):
                final = await dictation.final()
        except AsrError as error:
            because = str(error)
        except Exception as error:  # noqa: BLE001 - whatever an engine raises costs its own text only
            because = f"{type(error).__name__}: {error}"
        except asyncio.CancelledError:
            because = "the call ended first"  # what was said is told all the same
        finally:
            text = dictation.partial
            dictation.drop()
        if final and (is_words(final.text) or not is_words(text)):
            text, because = final.text, ""
        elif final:
            because = "the final text was empty"
        return replace(
            said,
            text=text if is_words(text) else "",
            trust="partial" if because else "final",
            because=because,
            work=final.work if final else (),
        )

    def hang_up(self) -> None:
        """Drop an utterance that has not ended."""
        if self._dictation:
            self._dictation.drop()
            self._dictation = None
