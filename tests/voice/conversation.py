"""Conversations by chance: a caller who speaks, pauses, coughs, breaks in and hangs up, and what must hold.

A conversation is a list of acts, each with a time; whatever they are, the promises of :func:`check` hold.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from operator import attrgetter

from marked import MarkedVoice, Run, marked, runs

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
from turnbudget.voice.asr.scripted import Scripted
from turnbudget.voice.call.bargein import Rules
from turnbudget.voice.call.parts import Phrases
from turnbudget.voice.call.responder import Reply
from turnbudget.voice.sound import audio
from turnbudget.voice.speaking.mouth import LATE_US
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import MS, SECOND

BRIDGE, PARDON, APOLOGY, GREETING, REPROMPT, NOTICE = range(1, 7)
SAID = {
    BRIDGE: marked(PHRASES.bridge, BRIDGE),
    PARDON: marked(PHRASES.pardon, PARDON),
    APOLOGY: marked(PHRASES.apology, APOLOGY),
    GREETING: marked(speech("Good day, how can I help you?", 2 * SECOND), GREETING),
    REPROMPT: marked(speech("Are you still there?"), REPROMPT),
    NOTICE: marked(speech("This call is recorded and kept for thirty days.", 3 * SECOND), NOTICE),
}
QUESTIONS = (
    "what is my balance",
    "book a table for two",
    "I lost my card",
    "and my limit",
    "no",
    "yes please",
)
NOISES = ("mhm", "okay", "right", "yeah", "uh huh", "I see")
STOPS = ("stop", "wait", "hold on", "no no wait")
REPLIES = (
    "Your balance is ten dollars.",
    "It is done. Is there anything else I can do for you?",
    "I have found two tables. One of them is at seven. The other one is at nine. Which one would you like?",
    "For which day?",
    "I am sorry to hear that. I have blocked the card, and a new one is on its way to you. It takes a week.",
)
HELD_US = Rules().hold_us + 200 * MS


@dataclass(frozen=True)
class Act:
    """Something the caller does: *what*, some time after the floor is free or our reply has begun."""

    what: str
    after_ms: int
    pick: int = 0

    def clip(self):
        """The caller's side of it."""
        return CLIPS[self.what](self.after_ms * MS, self.pick)


def _cough(us, pick, when):
    return murmurs((60 + 90 * (pick % 8)) * MS, pause_us=us, when=when)


CLIPS = {
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
ACTS = (*sorted(CLIPS.keys() - {"hang up"}), "ask", "break in")


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

    def __init__(self, dice, most_us):
        self._dice, self._most_us = dice, most_us

    async def make_ready(self, _):
        """Have nothing to make ready."""

    async def answer(self, _):
        delay_us, text, streams = (
            self._dice.randrange(self._most_us + 1),
            self._dice.choice(REPLIES),
            self._dice.random() < 0.5,
        )
        await clock.sleep(delay_us)
        first, dot, rest = text.partition(". ")
        if streams and rest:
            return Reply(first + dot, self.name, rest=self._stream(rest))
        return Reply(text, self.name)

    async def _stream(self, rest):
        for sentence in rest.split(". "):
            await clock.sleep(self._dice.randrange(700 * MS))
            yield sentence.rstrip(".") + "."


class Watched(StageLine):
    """A line that looks, frame by frame, for silence that is ours, and for a Mouth that is held too long."""

    def __init__(self, clips, reference):
        super().__init__(clips, reference)
        self.owed_us = self.held_us = self.worst_owed_us = self.worst_held_us = 0

    async def _frame(self, samples):
        frame = await super()._frame(samples)
        call = self._floor
        owes = call.settled and bool(call._replies._unanswered or call._later)
        self.owed_us = self.owed_us + audio.FRAME_US if owes else 0
        self.held_us = self.held_us + audio.FRAME_US if call.mouth.held else 0
        self.worst_owed_us = max(self.worst_owed_us, self.owed_us)
        self.worst_held_us = max(self.worst_held_us, self.held_us)
        return frame


async def converse(acts, setting):
    """Play the conversation; return it, the voice that spoke in it, and what the caller said that counts.

    That is, each utterance that is due an answer, and each that wants none but belongs to the conversation.
    """
    voice = MarkedVoice()
    dice = random.Random(setting.seed)  # noqa: S311 - chance, no secret
    opening = {
        name: SAID[number]
        for name, number in (("greeting", GREETING), ("notice", NOTICE))
        if setting.opening in {name, "both"}
    }
    call, line, rows = prepared(
        *[act.clip() for act in acts],
        line=Watched,
        vad=Late,
        asr=Scripted(lag_us=setting.lag_ms * MS, final_us=setting.final_ms * MS),
        voice=voice,
        responder=Thinks(dice, setting.thinks_ms * MS),
        phrases=Phrases(SAID[BRIDGE], SAID[PARDON], SAID[APOLOGY]),
        reprompt=SAID[REPROMPT],
        idle_us=6 * SECOND,
        **opening,
    )
    due, noted, is_due = [], [], call._is_due

    def told(utterance):
        before = len(call.history)
        wanted = is_due(utterance)
        if wanted:
            due.append(utterance)
        elif len(call.history) > before:
            noted.append(utterance)
        return wanted

    call._is_due = told
    await call.run()
    return Played(call, line, rows, call.tape.take(clock.now())), voice, due, noted


def check(played, voice, due, noted):
    """What holds of every conversation, whatever the caller did."""
    checked(played, LATE_US)
    call, line = played.call, played.line
    rows = sorted(played.rows, key=attrgetter("number"))
    assert not {"silent", "failed"} & {row.account.outcome for row in rows}
    assert call.dangling == ()

    # No dead air: what is owed sounds in time, or the caller spoke again; nobody waits for nothing.
    for row in rows:
        account = row.account
        ours = any(entry.owner.name in {"barge_in", "notice"} for entry in account.entries)
        held = any(one.took == "reply held" for one in account.decisions)
        if row.kind == "turn" and account.first_sound_us is not None and not (ours or held):
            assert account.first_sound_us - account.zero_us <= 800 * MS, row
        if row.kind == "turn" and account.first_sound_us is None:
            assert account.outcome == "superseded"
    assert line.worst_owed_us <= 100 * MS
    assert line.worst_held_us <= HELD_US

    # One answer to all that was due.
    turns = [row.utterance.text for row in rows if row.kind == "turn"]
    assert " ".join(filter(None, turns)) == " ".join(one.text for one in due if one.text)

    # No word of the caller's is lost, none comes twice.
    kept = [said.text for said in call.history if said.who == "caller"]
    counted = Counter(" ".join([*kept, call._replies._unanswered]).split())
    assert counted == Counter(" ".join(one.text for one in due + noted).split())

    # No double talk, no reply twice: the frames say so themselves; and what they say was heard.
    pieces = SAID | voice.pieces
    left = runs(line.sent)
    asides = {BRIDGE, APOLOGY}
    assert words(left, pieces) == " ".join(row.said for row in rows if row.said)
    assert words([run for run in left if run.piece not in asides], pieces) == " ".join(
        said.text for said in call.history if said.who == "agent"
    )


def words(left: list[Run], pieces):
    """What the frames that left say."""
    return " ".join(word for run in left for word in run.words(pieces))


def by_chance(seed):
    """Return the acts and the setting of conversation number *seed*."""
    dice = random.Random(seed)  # noqa: S311 - chance, no secret
    acts = [
        Act(dice.choice(ACTS), dice.randrange(0, 2_500), dice.randrange(64))
        for _ in range(dice.randrange(1, 9))
    ]
    if dice.random() < 0.4:
        acts.append(Act("hang up", dice.randrange(0, 4_000), dice.randrange(2)))
    opening = dice.choice(("", "greeting", "notice", "both"))
    setting = Setting(
        seed, dice.randrange(50, 600), dice.randrange(20, 600), dice.randrange(0, 1_500), opening
    )
    return acts, setting
