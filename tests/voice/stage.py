"""A stage for whole calls: a caller who says what the test says, and parts that cost what the test says."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from turnbudget.agents.scripted import Rule, ScriptedResponder
from turnbudget.voice.asr.reference import Reference
from turnbudget.voice.asr.scripted import Scripted as ScriptedTranscriber
from turnbudget.voice.asr.transcriber import Word
from turnbudget.voice.call.call import Call
from turnbudget.voice.call.parts import CallSettings, Parts, Phrases
from turnbudget.voice.call.responder import Reply
from turnbudget.voice.hearing.endpoint import Endpointing
from turnbudget.voice.hearing.vad import Scripted as ScriptedVad
from turnbudget.voice.lines.recording import Clip, RecordedLine
from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Cost, Forecast
from turnbudget.voice.time.clock import MS, SECOND
from turnbudget.voice.tts.scripted import ScriptedSynthesizer, tone
from turnbudget.voice.tts.synthesizer import Speech

WORD_US, GAP_US = 250 * MS, 50 * MS
BRIDGE, PARDON, APOLOGY = "One moment please.", "Sorry, what was that?", "Sorry, I can not help with that."
PRIORS = {"choose": Cost(0, 20 * MS), "synthesize": Cost(20 * MS, 60 * MS), "deliver": Cost(10 * MS, 20 * MS)}


def speech(text, us=1 * SECOND, **more):
    """*text* as a tone of *us*."""
    samples = tone(audio.samples(us))
    return Speech(text, samples, audio.first_audible(samples), "tone", **more)


PHRASES = Phrases(speech(BRIDGE), speech(PARDON), speech(APOLOGY, 2 * SECOND))


def says(text, *, pause_us=500 * MS, word_us=WORD_US, after_us=200 * MS, **more):
    """The caller says *text*, 250 ms a word and 50 ms between two; "…" is a second of silence."""
    words, sounds, at = [], [], 0
    for word in text.split():
        if word == "…":
            sounds.append(audio.silence(audio.samples(SECOND)))
            at += SECOND
            continue
        if words and words[-1].ended_us == at:
            sounds.append(audio.silence(audio.samples(GAP_US)))
            at += GAP_US
        words.append(Word(word.replace("~", ""), at, at + word_us))
        sounds.append(tone(audio.samples(word_us)))
        at += word_us
    sounds.append(audio.silence(audio.samples(after_us)))
    return Clip(audio.join(sounds), tuple(words), ((0, at),), pause_us=pause_us, **more)


def murmurs(us, **more):
    """The caller makes a sound of *us* with no word in it."""
    return says("~", word_us=us, **more)


def stays(us):
    """The caller says nothing for *us*, whatever we say."""
    return Clip(audio.silence(audio.samples(us)), when="at once")


ASK = says("what is my balance please")
NEVER = 3_600 * SECOND
ONSET = audio.us(PHRASES.bridge.onset)


def hangs_up(us=0, when="settled"):
    """The caller hangs up."""
    return Clip(audio.silence(0), pause_us=us, when=when, hangs_up=True)


def over(clip):
    """*clip*, but begun some time after our reply began to sound."""
    return replace(clip, when="sounding")


class Line(RecordedLine):
    """A recorded line that remembers when it was handed what, and when it was told to drop it."""

    def __init__(self, clips, reference):
        super().__init__(clips, reference, audio.silence(0))
        self.reference = reference
        self.sent, self.cleared = [], []

    def clear(self):
        self.cleared.append(clock.now())

    def send(self, frame):
        self.sent.append((clock.now(), frame))


class Answers:
    """A responder that gives one thing after another, each as late as its delay: texts, errors, calls."""

    name = "answers"

    def __init__(self, *given):
        self.given = list(given)
        self.asked = []

    async def make_ready(self, history):
        """Have nothing to make ready."""

    async def answer(self, question):
        delay_us, what = self.given[min(len(self.asked), len(self.given) - 1)]
        self.asked.append((question.said, question.history))
        await clock.sleep(delay_us)
        if isinstance(what, Exception):
            raise what
        if callable(what):
            what = await what()
        return Reply(what, "answers", "it is next") if isinstance(what, str) else what


def answering(text="Your balance is ten dollars.", delay_us=0):
    return ScriptedResponder([], Rule("", text, delay_us))


@dataclass
class Played:
    """A call that has been played."""

    call: Call
    line: Line
    rows: list
    tape: audio.Int16 = field(repr=False)

    @property
    def us(self):
        """How long the call lasted."""
        return audio.us(self.tape.shape[0])

    @property
    def turns(self):
        return [row for row in self.rows if row.kind == "turn"]

    @property
    def sounds(self):
        """When we could be heard: (began, ended) of each sound of ours, in µs of the call."""
        blocks = np.abs(self.tape[: self.tape.shape[0] // 80 * 80, 1].reshape(-1, 80)).max(axis=1)
        spans = []
        for block in np.flatnonzero(blocks > audio.AUDIBLE).tolist():
            began = block * 5 * MS
            if spans and began - spans[-1][1] <= 15 * MS:
                spans[-1] = (spans[-1][0], began + 5 * MS)
            else:
                spans.append((began, began + 5 * MS))
        return spans

    @property
    def words(self):
        """What the caller said: (word, began, ended), in µs of the call."""
        return [(word.text, word.began_us, word.ended_us) for word in self.line.reference.words]

    @property
    def outcomes(self):
        return [row.account.outcome for row in self.turns]

    @property
    def history(self):
        return [(said.who, said.text, said.cut) for said in self.call.history]


def prepared(*clips, responder=None, voice=None, takes=(), asr=None, **more):
    """A call that is ready to run: the call, its line, and where its rows go."""
    reference, rows = Reference(), []
    line = more.pop("line", Line)(clips, reference)
    parts = Parts(
        line=line,
        vad=more.pop("vad", ScriptedVad)(reference.words),
        transcriber=asr or ScriptedTranscriber(reference.words, takes=takes),
        endpointing=more.pop("endpointing", Endpointing()),
        responder=responder or answering(),
        voice=voice or ScriptedSynthesizer(),
        forecast=more.pop("forecast", None) or Forecast(PRIORS),
        phrases=more.pop("phrases", PHRASES),
        notice=more.pop("notice", None),
        greeting=more.pop("greeting", None),
        reprompt=more.pop("reprompt", None),
        ahead=more.pop("ahead", None),
    )
    taped = more.pop("taped", True)
    call = Call(parts, CallSettings(**more), rows.append, taped=taped)
    line.follow(call)
    if asr is not None:
        asr.reference = reference.words
    return call, line, rows


async def play(*clips, **more):
    """Play a call to its end."""
    call, line, rows = prepared(*clips, **more)
    await call.run()
    return Played(call, line, rows, call.tape.take(clock.now()))


async def one(*clips, **more):
    """Play a call of one turn and return its row."""
    played = await play(*clips, **more)
    [row] = played.turns
    check_account(row)
    return row


def check_account(row, *, tolerance_us=1 * MS):
    """Every promise a ledger makes: contiguous, summing, witnessed, and nothing unaccounted for."""
    account = row.account
    assert account.outcome in {"answered", "shelved", "bridged", "superseded", "cut", "failed", "silent"}
    cursor = account.zero_us
    for entry in account.entries:
        assert entry.began_us == cursor
        assert entry.us > 0
        cursor = entry.ended_us
    assert cursor == account.closed_us
    assert sum(entry.us for entry in account.entries) == account.closed_us - account.zero_us
    assert (account.witness_us is None) == (account.first_sound_us is None)
    if account.first_sound_us is not None:
        assert abs(account.witness_us - account.first_sound_us) <= tolerance_us
        assert account.first_sound_us <= account.closed_us
    if account.first_answer_us is not None:
        assert account.closed_us == account.first_answer_us
    assert spent(account, "unaccounted") < tolerance_us
    assert all(lane.ended_us is not None and lane.outcome != "open" for lane in account.lanes)


def spent(account, stage):
    """What *stage* cost, in µs."""
    return sum(entry.us for entry in account.entries if entry.stage == stage)


def after(account, instant):
    """*instant* counted from the caller's last voiced sample."""
    return instant - account.zero_us


def lane(account, name):
    [found] = [lane for lane in account.lanes if lane.name == name]
    return found
