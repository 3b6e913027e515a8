"""Whole calls with work ahead of the caller's last word: each text has a pitch, so what is heard is known."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace

import numpy as np

from turnbudget.speculative.prepare import Ranks
from turnbudget.speculative.shelf.shelf import Shelf
from turnbudget.speculative.speculation import Speculation
from turnbudget.testing.stage import Played, StageLine, play
from turnbudget.voice.asr.scripted import ScriptedDictation, ScriptedTranscriber, Take
from turnbudget.voice.asr.transcriber import Transcript, Word
from turnbudget.voice.call.responder import Reply
from turnbudget.voice.hearing.endpoint import Endpointing
from turnbudget.voice.lines.recording import Clip
from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import MS
from turnbudget.voice.tts.scripted import ScriptedSynthesizer, tone

LOWEST, STEP = 500, 100
LOUD = 500


def spoken(*said, pause_us=500 * MS, when="settled", word_us=250 * MS, after_us=200 * MS):
    """The caller says texts with pauses (ms) between them: ``spoken("change the", 450, "address")``."""
    words, sounds, at = [], [], 0
    for piece in said:
        if isinstance(piece, int):
            sounds.append(audio.silence(audio.samples(piece * MS)))
            at += piece * MS
            continue
        for word in piece.split():
            words.append(Word(word, at, at + word_us))
            sounds.append(tone(audio.samples(word_us)))
            at += word_us
    sounds.append(audio.silence(audio.samples(after_us)))
    return Clip(audio.join(sounds), tuple(words), ((0, at),), pause_us=pause_us, when=when)


class Pitched(ScriptedSynthesizer):
    """A voice that says each text at a pitch of its own."""

    def __init__(self, **more):
        super().__init__(**more)
        self.texts = []

    async def render(self, text, budget=None):
        speech = await super().render(text, budget)
        if text not in self.texts:
            self.texts.append(text)
        pitch = LOWEST + STEP * self.texts.index(text)
        wave = 6_000 * np.sin(np.arange(speech.samples.size) * (2 * np.pi * pitch / audio.RATE))
        samples = audio.fade(np.rint(wave).astype(np.int16), began=True, ended=True)
        return replace(speech, samples=samples, onset=audio.first_audible(samples))

    def text(self, frame):
        """Return which text a *frame* is of; '' if it is silent, "…" if it is none of ours."""
        if np.abs(frame).max() < LOUD:
            return ""
        pitch = int(np.abs(np.fft.rfft(frame.astype(float))).argmax()) * audio.RATE // frame.size
        place = round((pitch - LOWEST) / STEP)
        return self.texts[place] if 0 <= place < len(self.texts) else "…"


class Timed(StageLine):
    """A line that knows when the caller's last word ended, in µs of the caller's media."""

    @property
    def said_us(self):
        return self._reference.words[-1].ended_us


class Revising(ScriptedTranscriber):
    """Hears at the caller's pauses one of *texts* after the other, and *final* in the end."""

    def __init__(self, texts, final=None, **more):
        super().__init__(**more)
        self.texts = texts
        self.last = final

    def begin(self, at, changed):
        return Revised(self, audio.us(at), Take(), changed)


class Revised(ScriptedDictation):
    """One utterance that is heard anew at every pause."""

    pauses = 0

    def pause(self):
        self.pauses += self._work_began_us is None
        super().pause()

    async def final(self):
        text = (await super().final()).text if self._engine.last is None else self._engine.last
        return Transcript(text)

    def _text(self):
        return self._engine.texts[min(max(self.pauses, 1), len(self._engine.texts)) - 1]

    _so_far = _text


def settled(text):
    """A reply to words that are whole."""
    return Reply(text, "table", "as told", completeness="whole")


@contextlib.asynccontextmanager
async def shelved_voice():
    """A voice and its shelf, for several calls."""
    voice = Pitched()
    shelf = Shelf(voice)
    try:
        yield voice, shelf
    finally:
        await shelf.aclose()


class Table:
    """A responder that says by what was said: a text, a reply, or a call that returns one; else *otherwise*.

    On a guess it answers as it would; a text it says is settled, but to what is *open*.
    """

    name = "table"

    def __init__(self, says, otherwise="Sorry?", delay_us=0, foresees=(), open_=()):
        self.says = says
        self.otherwise = otherwise
        self.delay_us = delay_us
        self.foresees = tuple(foresees)
        self.open = open_
        self.asked = []
        """What was asked, and whether on a guess."""

    async def make_ready(self, history):
        """Have nothing to make ready."""

    def fixed(self):
        return self.foresees

    def foreseen(self):
        return self.foresees

    async def answer(self, question):
        self.asked.append((question.said, question.guess))
        if self.delay_us:
            await clock.sleep(self.delay_us)
        what = self.says.get(question.said, self.otherwise)
        if callable(what):
            what = await what(question)
        whole = question.said in self.says and question.said not in self.open
        return (
            Reply(what, "table", "as told", completeness="whole" if whole else "unknown")
            if isinstance(what, str)
            else what
        )


@dataclass
class Spoke(Played):
    """A call that has been played, and what sounded like ours in it."""

    frames: list
    """When each audible frame left, and which text it was of."""
    voice: Pitched

    @property
    def heard(self):
        """When each text began to sound, but for phrases that all voices have."""
        texts = [(at, text) for at, text in self.frames if text != "…"]
        return [one for before, one in zip([(0, ""), *texts], texts, strict=False) if before[1] != one[1]]

    @property
    def texts(self):
        return [text for _, text in self.heard]

    @property
    def said(self):
        return [row.said for row in self.turns]

    def took(self, turn=-1):
        return [one.took for one in self.turns[turn].account.decisions]

    def guesses(self, turn=-1):
        """What every guess on words of the caller came to."""
        return [(one.said, one.outcome) for one in self.turns[turn].account.guesses if one.said]

    def first_answers(self):
        """How long after the caller's last voiced sample each answer sounded, in ms; ``None`` for none."""
        answers = [(row.account.zero_us, row.account.first_answer_us) for row in self.turns]
        return [None if answer is None else (answer - zero) // MS for zero, answer in answers]


async def speak(*clips, responder, on=True, bank=None, shelf=None, warm=(), **more):
    """Play a call whose *responder* is asked ahead (*on*) or not; *warm* texts are on the shelf."""
    voice = more.pop("voice", None) or Pitched()
    bounds = more.pop("endpointing", None) or Endpointing()
    shared = shelf or Shelf(voice)
    await shared.warm(warm)
    ahead = Speculation(responder, shared.for_call(), bounds=bounds, ranks=Ranks(), bank=bank) if on else None
    played = await play(
        *clips, responder=responder, voice=voice, endpointing=bounds, ahead=ahead, line=Timed, **more
    )
    if shelf is None:
        await shared.aclose()
    frames = [(at, text) for at, frame in played.line.sent if (text := voice.text(frame))]
    return Spoke(played.call, played.line, played.rows, played.tape, frames, voice)
