"""A stage for whole calls: a caller who says what a test says, and parts that cost what a test says.

In virtual time a call of minutes takes milliseconds and is the same on every run. ::

    played = turnbudget.run(play(says("hello"), responder=answering("Good day.")), "virtual")
    assert checked(played).outcomes == ["answered"]
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import numpy as np

from turnbudget.agents.scripted import Rule, ScriptedResponder
from turnbudget.voice.asr.reference import Reference
from turnbudget.voice.asr.scripted import ScriptedTranscriber
from turnbudget.voice.asr.transcriber import Word
from turnbudget.voice.call.call import Call
from turnbudget.voice.call.parts import CallSettings, Parts, Phrases
from turnbudget.voice.call.responder import Reply
from turnbudget.voice.errors import BrokenPromise
from turnbudget.voice.hearing.endpoint import Endpointing
from turnbudget.voice.hearing.vad import ScriptedVad
from turnbudget.voice.lines.recording import Clip, RecordedLine
from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Cost, Forecast
from turnbudget.voice.time.clock import MS, SECOND
from turnbudget.voice.tts.scripted import ScriptedSynthesizer, tone
from turnbudget.voice.tts.synthesizer import Speech

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from turnbudget.voice.asr.transcriber import Transcriber
    from turnbudget.voice.call.ahead import Ahead
    from turnbudget.voice.call.ledger import Account, Lane
    from turnbudget.voice.call.parts import CallRow
    from turnbudget.voice.call.responder import Question, Responder, Said
    from turnbudget.voice.hearing.vad import Vad
    from turnbudget.voice.sound.audio import Int16
    from turnbudget.voice.tts.synthesizer import Synthesizer

When: TypeAlias = Literal["settled", "sounding", "at once"]
Given: TypeAlias = "str | Reply | Exception | Callable[[], Awaitable[Reply | None]] | None"

WORD_US: Final = 250 * MS
"""Length of a word of the caller's (µs)."""
GAP_US: Final = 50 * MS
"""Silence between two words of the caller's (µs)."""
RISES_US: Final = 40 * MS
"""How late a real detector notices speech (µs): Silero on telephone speech, in its 32 ms windows."""
FALLS_US: Final = 80 * MS
"""How late a real detector notices silence (µs), likewise."""
BRIDGE: Final = "One moment please."
"""What is said when no answer can be in time."""
PARDON: Final = "Sorry, what was that?"
"""What is said to speech without words."""
APOLOGY: Final = "Sorry, I can not help with that."
"""What is said when no answer comes at all."""
EIGHT: Final = "one two three four five six seven eight nine ten " * 2 + "and so on."
"""A text that takes some 8 s to say."""
PRIORS: Final = {
    "choose": Cost(0, 20 * MS),
    "synthesize": Cost(20 * MS, 60 * MS),
    "deliver": Cost(10 * MS, 20 * MS),
}
"""What each stage is taken to cost before it has been measured."""
NEVER: Final = 3_600 * SECOND
"""A delay that no call waits for (µs; an hour)."""
OUTCOMES: Final = frozenset({"answered", "shelved", "bridged", "superseded", "cut", "failed", "silent"})
"""Outcomes of a turn that was taken."""


def speech(text: str, us: int = 1 * SECOND, **more: Any) -> Speech:
    """Return *text* as a tone of *us* (µs)."""
    samples = tone(audio.samples(us))
    return Speech(text=text, samples=samples, onset=audio.first_audible(samples) or 0, voice="tone", **more)


PHRASES: Final = Phrases(speech(BRIDGE), speech(PARDON), speech(APOLOGY, 2 * SECOND))
"""The three phrases that a call keeps ready, as tones."""
ONSET: Final = audio.us(PHRASES.bridge.onset)
"""Silence before the first audible sample of a phrase (µs)."""


# --- what the caller does ----------------------------------------------------------------------------------


def says(  # noqa: PLR0913 - how it is said
    text: str,
    *,
    pause_us: int = 500 * MS,
    word_us: int = WORD_US,
    after_us: int = 200 * MS,
    when: When = "settled",
    lead_us: int = 0,
) -> Clip:
    """Have the caller say *text*: *word_us* a word, 50 ms between two; "…" is a second of silence.

    It begins *pause_us* after the floor is free; *when* and *lead_us* are those of a ``Clip``. "~" is a sound
    without a word.
    """
    words: list[Word] = []
    sounds: list[Int16] = []
    at = 0
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
    return Clip(
        samples=audio.join(sounds),
        words=tuple(words),
        turns=((0, at),),
        pause_us=pause_us,
        lead_us=lead_us,
        when=when,
    )


def murmurs(us: int, *, pause_us: int = 500 * MS, after_us: int = 200 * MS, when: When = "settled") -> Clip:
    """Have the caller make a sound of *us* (µs) with no word in it."""
    return says("~", word_us=us, pause_us=pause_us, after_us=after_us, when=when)


def stays(us: int) -> Clip:
    """Have the caller say nothing for *us* (µs), whatever we say."""
    return Clip(audio.silence(audio.samples(us)), when="at once")


def hangs_up(us: int = 0, when: When = "settled") -> Clip:
    """Have the caller hang up *us* (µs) after the floor is free, or as *when* says."""
    return Clip(audio.silence(0), pause_us=us, when=when, hangs_up=True)


def over(clip: Clip) -> Clip:
    """Return *clip*, but begun its pause after our reply began to sound: a barge-in."""
    return replace(clip, when="sounding")


ASK: Final = says("what is my balance please")
"""A question of five words."""


# --- the parts ---------------------------------------------------------------------------------------------


class StageLine(RecordedLine):
    """A recorded line that remembers when it was handed what, and when it was told to drop it."""

    def __init__(self, clips: Sequence[Clip], reference: Reference) -> None:
        super().__init__(clips, reference, audio.silence(0))
        self.reference = reference
        self.sent: list[tuple[int, Int16]] = []
        """Each frame of ours, with the instant at which it was handed over (µs)."""
        self.cleared: list[int] = []
        """When it was told to drop what had not sounded (µs)."""

    def clear(self) -> None:
        """Note that what has not sounded is to be dropped."""
        self.cleared.append(clock.now())

    def send(self, frame: Int16) -> None:
        """Keep our *frame*."""
        self.sent.append((clock.now(), frame))


class Answers:
    """A responder that gives one thing after another, each a (delay in µs, what): texts, errors, calls.

    The last is given again and again.
    """

    name = "answers"

    def __init__(self, *given: tuple[int, Given]) -> None:
        self.given = list(given)
        self.asked: list[tuple[str, tuple[Said, ...]]] = []
        """Each question's words, and what had been heard before."""

    async def make_ready(self, history: tuple[Said, ...]) -> None:
        """Have nothing to make ready."""

    async def answer(self, question: Question) -> Reply | None:
        """Return the next thing, after its delay."""
        delay_us, what = self.given[min(len(self.asked), len(self.given) - 1)]
        self.asked.append((question.said, question.history))
        await clock.sleep(delay_us)
        if isinstance(what, Exception):
            raise what
        if callable(what):
            what = await what()
        return Reply(what, "answers", "it is next") if isinstance(what, str) else what


def answering(text: str = "Your balance is ten dollars.", delay_us: int = 0) -> ScriptedResponder:
    """Return a responder that says *text* to everything, *delay_us* (µs) after it was asked."""
    return ScriptedResponder([], Rule("", text, delay_us))


class Late(ScriptedVad):
    """A detector as late as a real one: it rises 40 ms after a word begins and falls 80 ms after its end."""

    name = "late"

    def probability(self, window: Int16, at: int) -> float:
        """Return 1 if a word of the reference, so delayed, overlaps the window at *at*, else 0."""
        began, ended = audio.us(at), audio.us(at + window.size)
        return float(
            any(
                word.began_us + RISES_US < ended and began < word.ended_us + FALLS_US
                for word in self._words[-12:]
            )
        )


def late(**how: Any) -> dict[str, Any]:
    """Return parts that hear as late as real ones: a word 350 ms after its end, the final text after 150.

    They are keyword arguments of :func:`play`; *how* goes to the scripted transcriber.
    """
    return {"vad": Late, "asr": ScriptedTranscriber(lag_us=350 * MS, final_us=150 * MS, **how)}


# --- the call ----------------------------------------------------------------------------------------------


@dataclass
class Played:
    """A call that has been played: its rows, its sound, and what the caller said."""

    call: Call
    line: Any
    """The line: a :class:`StageLine` unless the test made one of its own."""
    rows: list[CallRow]
    tape: Int16 = field(repr=False)
    """Both tracks, (n, 2): the caller's and ours."""

    @property
    def us(self) -> int:
        """How long the call lasted (µs)."""
        return audio.us(self.tape.shape[0])

    @property
    def turns(self) -> list[CallRow]:
        """The rows of the caller's turns, without what we said unasked."""
        return [row for row in self.rows if row.kind == "turn"]

    @property
    def sounds(self) -> list[tuple[int, int]]:
        """When we could be heard: (began, ended) of each sound of ours, in µs of the call."""
        blocks = np.abs(self.tape[: self.tape.shape[0] // 80 * 80, 1].reshape(-1, 80)).max(axis=1)
        spans: list[tuple[int, int]] = []
        for block in np.flatnonzero(blocks > audio.AUDIBLE).tolist():
            began = block * 5 * MS
            if spans and began - spans[-1][1] <= 15 * MS:
                spans[-1] = (spans[-1][0], began + 5 * MS)
            else:
                spans.append((began, began + 5 * MS))
        return spans

    @property
    def words(self) -> list[tuple[str, int, int]]:
        """What the caller said: (word, began, ended), in µs of the call."""
        return [(word.text, word.began_us, word.ended_us) for word in self.line.reference.words]

    @property
    def outcomes(self) -> list[str]:
        """How each of the caller's turns ended."""
        return [row.account.outcome for row in self.turns]

    @property
    def history(self) -> list[tuple[str, str, bool]]:
        """What was heard: (who, text, cut), one after another."""
        return [(said.who, said.text, said.cut) for said in self.call.history]


def prepared(  # noqa: PLR0913 - what a call is made of
    *clips: Clip,
    responder: Responder | None = None,
    voice: Synthesizer | None = None,
    takes: Sequence[Any] = (),
    asr: Transcriber | None = None,
    line: Callable[[Sequence[Clip], Reference], Any] = StageLine,
    vad: Callable[[Sequence[Word]], Vad] = ScriptedVad,
    endpointing: Endpointing | None = None,
    forecast: Forecast | None = None,
    phrases: Phrases = PHRASES,
    notice: Speech | None = None,
    greeting: Speech | None = None,
    reprompt: Speech | None = None,
    ahead: Ahead | None = None,
    taped: bool = True,
    **settings: Any,
) -> tuple[Call, Any, list[CallRow]]:
    """Return a call that is ready to run, its line, and the list that its rows go to.

    *clips* is what the caller does; *takes* what is heard of each utterance, if that is not what was said;
    *settings* are the settings of the call.
    """
    reference = Reference()
    rows: list[CallRow] = []
    laid = line(clips, reference)
    parts = Parts(
        line=laid,
        vad=vad(reference.words),
        transcriber=asr or ScriptedTranscriber(reference.words, takes=takes),
        endpointing=endpointing or Endpointing(),
        responder=responder or answering(),
        voice=voice or ScriptedSynthesizer(),
        forecast=forecast or Forecast(PRIORS),
        phrases=phrases,
        notice=notice,
        greeting=greeting,
        reprompt=reprompt,
        ahead=ahead,
    )
    call = Call(parts, CallSettings(**settings), rows.append, taped=taped)
    laid.follow(call)
    if isinstance(asr, ScriptedTranscriber):
        asr.reference = reference.words
    return call, laid, rows


async def play(*clips: Clip, **more: Any) -> Played:
    """Play a call to its end; arguments as :func:`prepared` takes them."""
    call, line, rows = prepared(*clips, **more)
    await call.run()
    return Played(call, line, rows, call.tape.take(clock.now()))


async def one(*clips: Clip, **more: Any) -> CallRow:
    """Play a call of one turn, check its account, and return its row."""
    played = await play(*clips, **more)
    [row] = played.turns
    check_account(row)
    return row


# --- what must hold of it ----------------------------------------------------------------------------------


def check_account(row: CallRow, *, tolerance_us: int = 1 * MS) -> None:
    """Raise ``BrokenPromise`` unless the account is contiguous, sums, is witnessed, and explains itself."""
    account = row.account
    entries = account.entries
    cursors = [account.zero_us, *(entry.ended_us for entry in entries)]
    sound, witness, answer = account.first_sound_us, account.witness_us, account.first_answer_us
    checks = {
        f"the outcome is {account.outcome}": account.outcome in OUTCOMES,
        "entries are not contiguous": [entry.began_us for entry in entries] == cursors[:-1],
        "an entry took no time": all(entry.us > 0 for entry in entries),
        "entries do not reach the account's end": cursors[-1] == account.closed_us,
        "entries do not sum": sum(entry.us for entry in entries) == account.closed_us - account.zero_us,
        "a sound without a witness, or a witness without a sound": (witness is None) == (sound is None),
        f"the witness says {witness}, the ledger {sound}": sound is None
        or witness is None
        or abs(witness - sound) <= tolerance_us,
        "the account was closed before it sounded": sound is None or sound <= account.closed_us,
        "the answer did not close the account": answer is None or account.closed_us == answer,
        f"{spent(account, 'unaccounted')} µs are unaccounted for": spent(account, "unaccounted")
        < tolerance_us,
        "a lane has no end": all(
            lane.ended_us is not None and lane.outcome != "open" for lane in account.lanes
        ),
    }
    broken = [fault for fault, holds in checks.items() if not holds]
    BrokenPromise.unless_kept(f"the account of {row.kind} {row.number}", broken)


def checked(played: Played, late_us: int = 0) -> Played:
    """Return *played* if every account holds and no frame left before the one before it had sounded.

    But the frame that fades a reply out, and those that make up for one that was *late_us* (µs) itself.
    """
    for row in played.rows:
        check_account(row)
    due = 0
    early = []
    for at, _ in played.line.sent:
        if at not in played.line.cleared:
            if at < due - late_us:
                early.append(f"a frame left at {at} µs, {due - late_us - at} µs too early")
            due = max(due, at) + audio.FRAME_US
    BrokenPromise.unless_kept("the call's sound", early)
    return played


def quiet_by(played: Played, instant: int, *, within: int) -> int:
    """Return when the sound that went on at *instant* ended (µs); raise if that took longer than *within*."""
    [ended] = [end for began, end in played.sounds if began < instant + 60 * MS and end > instant]
    late = [] if ended - instant <= within else [f"it went on for {(ended - instant) / MS} ms"]
    BrokenPromise.unless_kept(f"the sound at {instant} µs", late)
    return ended


def began(played: Played, word: str) -> int:
    """Return when the caller first said *word*, in µs of the call."""
    return next(at for text, at, _ in played.words if text == word)


async def spoken_us(text: str) -> int:
    """Return how long the scripted voice takes to say *text* (µs)."""
    return audio.us((await ScriptedSynthesizer().render(text)).samples.size)


def spent(account: Account, stage: str) -> int:
    """Return what *stage* cost (µs)."""
    return sum(entry.us for entry in account.entries if entry.stage == stage)


def after(account: Account, instant: int) -> int:
    """Return *instant* counted from the caller's last voiced sample (µs)."""
    return instant - account.zero_us


def lane(account: Account, name: str) -> Lane:
    """Return the one lane of that *name*."""
    [found] = [each for each in account.lanes if each.name == name]
    return found
