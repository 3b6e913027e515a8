"""Sounds that behave like speech, noise and lines, and an Ear to hear them with; the same on every run."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from turnbudget.voice.asr.scripted import ScriptedTranscriber
from turnbudget.voice.asr.transcriber import Word
from turnbudget.voice.hearing.ear import Ear
from turnbudget.voice.hearing.endpoint import Endpointing
from turnbudget.voice.hearing.events import Pause, Resumed, SpeechStarted, Utterance
from turnbudget.voice.hearing.vad import ScriptedVad
from turnbudget.voice.lines.line import Frame
from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock
from turnbudget.voice.time.crew import Crew

MS = clock.MS
SECOND = clock.SECOND


def count(seconds):
    return round(seconds * audio.RATE)


def amplitude(db):
    return 32768 * 10 ** (db / 20)


def to_int16(wave):
    return np.clip(np.rint(wave), -32768, 32767).astype(np.int16)


def voice(seconds, db=-20, pitch=120, syllables=4.0):
    """A harmonic tone that swells and falls with its syllables, abrupt at both ends; *db* is its power."""
    time = np.arange(count(seconds)) / audio.RATE
    wave = sum(np.sin(2 * np.pi * pitch * k * time + k * k) / k for k in range(1, 16))
    wave *= 0.65 - 0.35 * np.cos(2 * np.pi * syllables * time + np.pi)
    return to_int16(wave * amplitude(db) / max(float(wave.std()), 1e-9))


def noise(seconds, db=-60, seed=1):
    return to_int16(np.random.default_rng(seed).normal(0, amplitude(db), count(seconds)))


def hum(seconds, db=-45, hz=50):
    return to_int16(
        np.sqrt(2) * amplitude(db) * np.sin(2 * np.pi * hz * np.arange(count(seconds)) / audio.RATE)
    )


def babble(seconds, db=-30):
    """Eight people at once, none of whom can be told from the others."""
    people = [voice(seconds, -20, 90 + 17 * k, 3.1 + 0.43 * k).astype(float) for k in range(8)]
    wave = sum(np.roll(person, 1_777 * k) for k, person in enumerate(people))
    return to_int16(wave * amplitude(db) / wave.std())


def scene(seconds, *pieces, background=None):
    """Return *seconds* of *background* (or silence) with each ``(at, sound)`` of *pieces* laid over it."""
    wave = np.zeros(count(seconds)) if background is None else background[: count(seconds)].astype(float)
    for at, sound in pieces:
        place = wave[count(at) : count(at) + sound.size]
        place += sound[: place.size]
    return to_int16(wave)


def speak(*phrases, seconds=None):
    """Return sound and words of ``(text, began, ended)`` phrases (s); the words of one share its time."""
    words, pieces = [], []
    for text, began, ended in phrases:
        texts = text.split()
        edges = np.rint(np.linspace(began, ended, len(texts) + 1) * SECOND).astype(int).tolist()
        words += [Word(word, *edges[k : k + 2]) for k, word in enumerate(texts)]
        pieces.append((began, voice(ended - began)))
    return scene(seconds or phrases[-1][2] + 2, *pieces), words


def frames(sound, size=audio.FRAME, at=0):
    """Cut *sound* into frames; *size* may be one number or the sizes one after another."""
    sizes, cut, start = iter(() if isinstance(size, int) else size), [], 0
    while start < sound.size:
        step = size if isinstance(size, int) else next(sizes, audio.FRAME)
        cut.append(Frame(sound[start : start + step], at + start))
        start += step
    return cut


def on_time(cut, late=()):
    """Return ``(arrival, frame)``: each when it has been spoken, or later by what *late* says."""
    late = dict(late)
    return [
        (audio.us(frame.at + frame.samples.size) + late.get(number, 0), frame)
        for number, frame in enumerate(cut)
    ]


@dataclass
class Heard:
    """What an Ear told, and the Ear."""

    ear: Ear | None = None
    events: list = field(default_factory=list)
    began_us: int = 0
    """When the line opened; arrivals count from it."""

    def of(self, kind):
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def utterances(self):
        return self.of(Utterance)

    @property
    def texts(self):
        return [utterance.text for utterance in self.utterances]

    @property
    def turns(self):
        """When the speech of each utterance began and ended, and by which rule; media time."""
        return [
            (told.began_us - self.began_us, told.ended_us - self.began_us, told.rule)
            for told in self.utterances
        ]

    @property
    def marks(self):
        """What the endpointing said, in its order: media times of starts, pauses and resumptions."""
        kinds = (SpeechStarted, Pause, Resumed)
        return [
            (type(event).__name__, event.at_us - self.began_us)
            for event in self.events
            if type(event) in kinds
        ]


async def listen(  # noqa: PLR0913 - a test names what it cares for
    arrivals,
    *,
    vad=None,
    transcriber=None,
    words=(),
    endpointing=None,
    text_us=500 * MS,
    rest_us=2 * SECOND,
    told=None,
):
    """Let an Ear hear *arrivals* (frames, or ``(arrival, frame)``), then *rest_us* of nothing at all.

    Meanwhile it is asked for what is missing, as a call does; *told* gets the Ear and each event.
    """
    arrivals = list(arrivals)
    if arrivals and isinstance(arrivals[0], Frame):
        arrivals = on_time(arrivals)
    heard = Heard(began_us=clock.now())

    def tell(event):
        heard.events.append(event)
        if told:
            told(ear, event)

    async with Crew() as crew:
        heard.ear = ear = Ear(
            vad or ScriptedVad(words),
            transcriber or ScriptedTranscriber(words),
            endpointing or Endpointing(),
            tell=tell,
            crew=crew,
            text_by=lambda _, decided: decided + text_us,
        )
        crew.create_task(_guard(ear), name="guard")
        for at, frame in arrivals:
            if heard.began_us + at > clock.now():
                await clock.sleep_until(heard.began_us + at)
            ear.hear(frame)
        await clock.sleep(rest_us)
    return heard


async def _guard(ear):
    """What a call does for its Ear while no frame comes."""
    while True:
        await clock.sleep(100 * MS)
        ear.missed()


class Pattern:
    """A detector that says what it is told, window by window, then nothing."""

    name = "pattern"
    window = audio.FRAME

    def __init__(self, *likely):
        self._likely = [value for repeat, values in likely for value in list(values) * repeat]

    def probability(self, window, at):  # noqa: ARG002 - it is told what to say
        place = at // self.window
        return self._likely[place] if place < len(self._likely) else 0.0


class Open:
    """A detector that never closes: for it everything is a voice."""

    name = "open"
    window = audio.FRAME

    def probability(self, window, at):  # noqa: ARG002 - it hears nothing
        return 1.0


class Recorder(ScriptedTranscriber):
    """A scripted transcriber that keeps what it was fed."""

    def __init__(self, *args, **how):
        super().__init__(*args, **how)
        self.began, self.fed = [], []

    def begin(self, at, changed):
        dictation, fed, feed = super().begin(at, changed), [], None
        feed = dictation.feed
        dictation.feed = lambda samples: (fed.append(samples), feed(samples))[1]
        self.began.append(at)
        self.fed.append(fed)
        return dictation

    @property
    def sounds(self):
        return [np.concatenate(fed) for fed in self.fed]
