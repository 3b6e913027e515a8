"""Conversations by chance: a caller who speaks, pauses, coughs, breaks in and hangs up, and what must hold.

A conversation is a list of acts, each with a time; whatever they are, the promises of :func:`check` hold.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from turnbudget.testing.stage import (
    PHRASES,
    Late,
    Played,
    StageLine,
    checked,
    hangs_up,
    murmurs,
    prepared,
    says,
    speech,
    stays,
)
from turnbudget.voice.asr.scripted import ScriptedTranscriber
from turnbudget.voice.call.bargein import Rules
from turnbudget.voice.call.call import Call
from turnbudget.voice.call.parts import Phrases
from turnbudget.voice.call.responder import Reply
from turnbudget.voice.errors import BrokenPromise
from turnbudget.voice.sound import audio
from turnbudget.voice.speaking.mouth import LATE_US
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import MS, SECOND
from turnbudget.voice.tts.scripted import ScriptedSynthesizer

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence

    from turnbudget.testing.stage import When
    from turnbudget.voice.asr.reference import Reference
    from turnbudget.voice.call.parts import CallRow
    from turnbudget.voice.call.responder import Question, Said
    from turnbudget.voice.hearing.events import Utterance
    from turnbudget.voice.lines.line import Frame
    from turnbudget.voice.lines.recording import Clip
    from turnbudget.voice.sound.audio import Int16
    from turnbudget.voice.time.budget import Budget
    from turnbudget.voice.tts.synthesizer import Speech

PIECE_AT: Final = 100
"""Where in a frame the mark of its piece stands (samples): behind what a fade may touch."""
FRAME_AT: Final = 101
"""Where in a frame the mark of its number stands (samples)."""
ZERO: Final = 1_000
"""What a mark of 0 is written as."""
RENDERED: Final = 10
"""Pieces from this number on are rendered in the call, each once; those below it may be said again."""


def marked(speech: Speech, number: int) -> Speech:
    """Return *speech*, filled up to whole frames, each of which says its piece's *number* and its own."""
    count = -(-speech.samples.size // audio.FRAME)
    samples = np.zeros(count * audio.FRAME, np.int16)
    samples[: speech.samples.size] = speech.samples
    frames = samples.reshape(count, audio.FRAME)
    frames[:, PIECE_AT] = ZERO + number
    frames[:, FRAME_AT] = ZERO + np.arange(count)
    return replace(speech, samples=samples, onset=audio.first_audible(samples) or 0)


class MarkedVoice(ScriptedSynthesizer):
    """A scripted voice that numbers what it renders, so that what left can be read off the line."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: dict[int, Speech] = {}

    async def render(self, text: str, budget: Budget | None = None) -> Speech:
        """Return a tone for *text* whose frames are marked."""
        speech = await super().render(text, budget)
        number = RENDERED + len(self.pieces)
        self.pieces[number] = marked(speech, number)
        return self.pieces[number]


@dataclass
class Run:
    """Frames of one piece that left one after another."""

    piece: int
    frames: int = 0

    def words(self, pieces: Mapping[int, Speech]) -> list[str]:
        """Return what was heard of it, by proportion, as the Mouth counts."""
        speech = pieces[self.piece]
        words = speech.text.split()
        share = self.frames * audio.FRAME / speech.samples.size
        return words[: round(len(words) * share)]


def runs(sent: Iterable[tuple[int, Int16]]) -> list[Run]:
    """Read the frames that left; raise ``BrokenPromise`` if one came twice, was left out, or was mixed in."""
    found: list[Run] = []
    broken: list[str] = []
    faded = True
    for at, frame in sent:
        piece, number = int(frame[PIECE_AT]) - ZERO, int(frame[FRAME_AT]) - ZERO
        if piece < 0:
            if frame[audio.EDGE :].any():
                broken.append(f"a frame that is no fade bears no mark, at {at} µs")
            if faded:
                broken.append(f"a sound that faded out before fades out again, at {at} µs")
            faded = True
            continue
        faded = False
        if not found or found[-1].piece != piece or (number == 0 and piece < RENDERED):
            if piece >= RENDERED and piece in [run.piece for run in found]:
                broken.append(f"piece {piece} sounds again, at {at} µs")
            found.append(Run(piece))
        if number != found[-1].frames:
            broken.append(f"frame {number} of piece {piece} follows {found[-1].frames} of it, at {at} µs")
        found[-1].frames += 1
    BrokenPromise.unless_kept("what left", broken)
    return found


BRIDGE, PARDON, APOLOGY, GREETING, REPROMPT, NOTICE = range(1, 7)
SAID: Final = {
    BRIDGE: marked(PHRASES.bridge, BRIDGE),
    PARDON: marked(PHRASES.pardon, PARDON),
    APOLOGY: marked(PHRASES.apology, APOLOGY),
    GREETING: marked(speech("Good day, how can I help you?", 2 * SECOND), GREETING),
    REPROMPT: marked(speech("Are you still there?"), REPROMPT),
    NOTICE: marked(speech("This call is recorded and kept for thirty days.", 3 * SECOND), NOTICE),
}
QUESTIONS: Final = (
    "what is my balance",
    "book a table for two",
    "I lost my card",
    "and my limit",
    "no",
    "yes please",
)
NOISES: Final = ("mhm", "okay", "right", "yeah", "uh huh", "I see")
STOPS: Final = ("stop", "wait", "hold on", "no no wait")
REPLIES: Final = (
    "Your balance is ten dollars.",
    "It is done. Is there anything else I can do for you?",
    "I have found two tables. One of them is at seven. The other one is at nine. Which one would you like?",
    "For which day?",
    "I am sorry to hear that. I have blocked the card, and a new one is on its way to you. It takes a week.",
)
STREAMED: Final = 0.5
"""Share of replies that stream."""
ENDED: Final = 0.4
"""Share of conversations that the caller ends."""
HELD_US: Final = Rules().hold_us + 200 * MS
"""Longest that a reply may be held (µs)."""


@dataclass(frozen=True)
class Act:
    """Something the caller does: *what*, some time after the floor is free or our reply has begun."""

    what: str
    after_ms: int
    pick: int = 0

    def clip(self) -> Clip:
        """Return the caller's side of it."""
        return CLIPS[self.what](self.after_ms * MS, self.pick)


def _cough(us: int, pick: int, when: When) -> Clip:
    return murmurs((60 + 90 * (pick % 8)) * MS, pause_us=us, when=when)


CLIPS: Final[dict[str, Callable[[int, int], Clip]]] = {
    "ask": lambda us, pick: says(QUESTIONS[pick % 6], pause_us=us),
    "ask with a pause": lambda us, _: says("I would like … to move my visit", pause_us=us),
    "go on": lambda us, _: says("and on friday", pause_us=us // 3, when="at once"),
    "break in": lambda us, pick: says(QUESTIONS[pick % 6], pause_us=us, when="sounding"),
    "listen": lambda us, pick: says(NOISES[pick % 6], pause_us=us, when="sounding", word_us=300 * MS),
    "stop": lambda us, pick: says(STOPS[pick % 4], pause_us=us, when="sounding"),
    "hello": lambda us, _: says("hello", pause_us=us, when="at once"),
    "cough": lambda us, pick: _cough(us, pick, "sounding"),
    "cough anywhere": lambda us, pick: _cough(us // 3, pick, "at once"),
    "mumble": lambda us, pick: murmurs((300 + 250 * (pick % 8)) * MS, pause_us=us),
    "be silent": lambda us, _: stays(3 * us),
    "hang up": lambda us, pick: hangs_up(us, "sounding" if pick % 2 else "at once"),
}
ACTS: Final = (*sorted(CLIPS.keys() - {"hang up"}), "ask", "break in")


@dataclass(frozen=True)
class Setting:
    """What else differs from one conversation to another."""

    seed: int
    lag_ms: int
    final_ms: int
    thinks_ms: int
    opening: str
    """``greeting``, ``notice``, ``both`` or nothing."""


class Thinks:
    """A responder whose replies take any time up to *most_us*, and some of which stream."""

    name = "thinks"

    def __init__(self, dice: random.Random, most_us: int) -> None:
        self._dice, self._most_us = dice, most_us

    async def make_ready(self, history: tuple[Said, ...]) -> None:
        """Have nothing to make ready."""

    async def answer(self, question: Question) -> Reply:  # noqa: ARG002 - it says what it says
        """Return a reply drawn by chance, as late as chance has it."""
        delay_us, text, streams = (
            self._dice.randrange(self._most_us + 1),
            self._dice.choice(REPLIES),
            self._dice.random() < STREAMED,
        )
        await clock.sleep(delay_us)
        first, dot, rest = text.partition(". ")
        if streams and rest:
            return Reply(first + dot, self.name, rest=self._stream(rest))
        return Reply(text, self.name)

    async def _stream(self, rest: str) -> AsyncGenerator[str, None]:
        for sentence in rest.split(". "):
            await clock.sleep(self._dice.randrange(700 * MS))
            yield sentence.rstrip(".") + "."


class Watched(StageLine):
    """A line that looks, frame by frame, for silence that is ours, and for a Mouth that is held too long."""

    def __init__(self, clips: Sequence[Clip], reference: Reference) -> None:
        super().__init__(clips, reference)
        self.owed_us = self.held_us = 0
        """How long, now, an answer has been owed in silence, and a reply has been held (µs)."""
        self.worst_owed_us = self.worst_held_us = 0
        """The longest of each (µs)."""

    async def _frame(self, samples: Int16) -> Frame:
        frame = await super()._frame(samples)
        call = self._floor
        if not isinstance(call, Call):
            return frame
        owes = call.settled and bool(call._replies._unanswered or call._later)  # noqa: SLF001 - looks inside
        self.owed_us = self.owed_us + audio.FRAME_US if owes else 0
        self.held_us = self.held_us + audio.FRAME_US if call.mouth.held else 0
        self.worst_owed_us = max(self.worst_owed_us, self.owed_us)
        self.worst_held_us = max(self.worst_held_us, self.held_us)
        return frame


async def converse(
    acts: Iterable[Act], setting: Setting
) -> tuple[Played, MarkedVoice, list[Utterance], list[Utterance]]:
    """Play the conversation; return it, the voice that spoke in it, and what the caller said that counts.

    That is, each utterance that is due an answer, and each that wants none but belongs to the conversation.
    """
    voice = MarkedVoice()
    dice = random.Random(setting.seed)  # noqa: S311 - chance, no secret
    opening: dict[str, Any] = {
        name: SAID[number]
        for name, number in (("greeting", GREETING), ("notice", NOTICE))
        if setting.opening in {name, "both"}
    }
    call, line, rows = prepared(
        *[act.clip() for act in acts],
        line=Watched,
        vad=Late,
        asr=ScriptedTranscriber(lag_us=setting.lag_ms * MS, final_us=setting.final_ms * MS),
        voice=voice,
        responder=Thinks(dice, setting.thinks_ms * MS),
        phrases=Phrases(SAID[BRIDGE], SAID[PARDON], SAID[APOLOGY]),
        reprompt=SAID[REPROMPT],
        idle_us=6 * SECOND,
        **opening,
    )
    due: list[Utterance] = []
    noted: list[Utterance] = []
    is_due = call._is_due  # noqa: SLF001 - looks inside

    def told(utterance: Utterance) -> bool:
        before = len(call.history)
        wanted = is_due(utterance)
        if wanted:
            due.append(utterance)
        elif len(call.history) > before:
            noted.append(utterance)
        return wanted

    setattr(call, "_is_due", told)  # noqa: B010 - looks inside
    await call.run()
    return Played(call, line, rows, call.tape.take(clock.now())), voice, due, noted


def check(played: Played, voice: MarkedVoice, due: Sequence[Utterance], noted: Sequence[Utterance]) -> None:
    """Raise ``BrokenPromise`` unless all holds that must hold whatever the caller did."""
    checked(played, LATE_US)
    left = runs(played.line.sent)  # no double talk, no reply twice: the frames say so themselves
    pieces = SAID | voice.pieces
    answers = [run for run in left if run.piece not in {BRIDGE, APOLOGY}]
    call, history = played.call, played.call.history
    rows = sorted(played.rows, key=attrgetter("number"))
    answered = " ".join(row.utterance.text for row in rows if row.kind == "turn" and row.utterance)
    kept = [said.text for said in history if said.who == "caller"]
    kept.append(call._replies._unanswered)  # noqa: SLF001 - looks inside
    heard = " ".join(said.text for said in history if said.who == "agent")
    outcomes = {row.account.outcome for row in rows}
    promises = {
        f"a turn is {' and '.join(sorted(outcomes & {'silent', 'failed'}))}": not outcomes
        & {"silent", "failed"},
        f"tasks are left: {', '.join(call.dangling)}": not call.dangling,
        f"an answer is owed for {played.line.worst_owed_us} µs of silence": played.line.worst_owed_us
        <= 100 * MS,
        f"a reply is held for {played.line.worst_held_us} µs": played.line.worst_held_us <= HELD_US,
        "not one answer to all that was due": answered.split()
        == " ".join(one.text for one in due if one.text).split(),
        "a word of the caller's is lost, or comes twice": Counter(" ".join(kept).split())
        == Counter(" ".join(one.text for one in (*due, *noted)).split()),
        "rows do not say what left": words(left, pieces) == " ".join(row.said for row in rows if row.said),
        "the history is not what was heard": words(answers, pieces) == heard,
    }
    broken = [promise for promise, holds in promises.items() if not holds]
    BrokenPromise.unless_kept("the conversation", [*broken, *_late(rows)])


def _late(rows: Iterable[CallRow]) -> Iterable[str]:
    """Tell of each turn that was neither in time nor superseded: what is owed sounds, or was asked anew."""
    for row in rows:
        account = row.account
        ours = any(entry.owner.name in {"barge_in", "notice"} for entry in account.entries)
        held = any(one.took == "reply held" for one in account.decisions)
        if row.kind != "turn":
            continue
        if account.first_sound_us is None:
            if account.outcome != "superseded":
                yield f"turn {row.number} has no sound and is {account.outcome}"
        elif not (ours or held) and account.first_sound_us - account.zero_us > 800 * MS:
            yield f"turn {row.number} sounds after {account.first_sound_us - account.zero_us} µs"


def words(left: Iterable[Run], pieces: Mapping[int, Speech]) -> str:
    """Return what the frames that left say."""
    return " ".join(word for run in left for word in run.words(pieces))


def by_chance(seed: int) -> tuple[list[Act], Setting]:
    """Return the acts and the setting of conversation number *seed*."""
    dice = random.Random(seed)  # noqa: S311 - chance, no secret
    acts = [
        Act(dice.choice(ACTS), dice.randrange(0, 2_500), dice.randrange(64))
        for _ in range(dice.randrange(1, 9))
    ]
    if dice.random() < ENDED:
        acts.append(Act("hang up", dice.randrange(0, 4_000), dice.randrange(2)))
    opening = dice.choice(("", "greeting", "notice", "both"))
    setting = Setting(
        seed, dice.randrange(50, 600), dice.randrange(20, 600), dice.randrange(0, 1_500), opening
    )
    return acts, setting
