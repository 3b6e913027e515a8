"""Whole calls in which the caller speaks while we speak, or are about to, and it cuts our reply."""

from __future__ import annotations

import asyncio

import pytest

from turnbudget.testing.stage import (
    ASK,
    BRIDGE,
    EIGHT,
    NEVER,
    PARDON,
    Answers,
    answering,
    began,
    checked,
    late,
    murmurs,
    over,
    play,
    quiet_by,
    says,
    spoken_us,
    stays,
)
from turnbudget.voice.asr.scripted import ScriptedTranscriber, Take
from turnbudget.voice.call.responder import Reply
from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import MS, SECOND


async def test_stop_silences_and_wants_no_answer():
    """VAD-04: "stop" (350 ms) at 3 s: silence within 300 ms of its end, and the caller has the floor."""
    stop = over(says("stop", pause_us=3 * SECOND, word_us=350 * MS))
    played = checked(await play(ASK, stop, stays(6 * SECOND), responder=answering(EIGHT), **late()))
    assert played.outcomes == ["cut"]
    quiet_by(played, began(played, "stop"), within=300 * MS)
    assert len(played.sounds) == 1
    [row] = played.turns
    assert [said[:2] for said in played.history[1:]] == [("agent", row.said), ("caller", "stop")]


@pytest.mark.parametrize("words", ["don't stop", "please go on"])
async def test_dont_stop_does_not_stop(words):
    """VAD-04."""
    clip = over(says(words, pause_us=3 * SECOND))
    played = checked(await play(ASK, clip, stays(8 * SECOND), responder=answering(EIGHT), **late()))
    assert [row.said for row in played.turns] == [EIGHT]


async def test_a_stop_that_becomes_a_command_is_answered_as_the_command():
    """VAD-04."""
    command = over(says("stop the report for room four", pause_us=3 * SECOND))
    responder = Answers((0, EIGHT), (0, "Stopped."))
    played = checked(await play(ASK, command, responder=responder, **late()))
    assert [said for said, _ in responder.asked][1:] == ["stop the report for room four"]
    assert played.turns[-1].said == "Stopped."


class Streaming:
    """A responder whose reply streams on, a sentence each half second, and which counts what it made."""

    name = "streaming"

    def __init__(self, sentences):
        self.sentences, self.made, self.ended_us = sentences, 0, None

    async def make_ready(self, history):
        """Have nothing to make ready."""

    async def answer(self, _):
        if self.made:
            return Reply("Friday it is.", self.name)
        self.made = 1
        return Reply(self.sentences[0], self.name, rest=self._rest())

    async def _rest(self):
        try:
            for sentence in self.sentences[1:]:
                await clock.sleep(500 * MS)
                self.made += 1
                yield sentence
        finally:
            self.ended_us = clock.now()


async def test_a_barge_in_ends_the_stream_behind_the_reply_as_well():
    """TURN-01: twelve sentences over 6 s, the caller breaks in at 1.5 s."""
    sentences = [f"Sentence number {name} is here." for name in "abcdefghijkl"]
    responder = Streaming(sentences)
    barge = over(says("and what about friday", pause_us=1_500 * MS))
    played = checked(await play(ASK, barge, stays(4 * SECOND), responder=responder, **late()))
    first, second = played.turns
    quiet_by(played, began(played, "and"), within=300 * MS)
    assert (first.account.outcome, second.said) == ("cut", "Friday it is.")
    assert first.said.split()[-1] in sentences[1] or first.said.endswith(sentences[0])
    assert "number c" not in first.said
    cut = next(one.at_us for one in first.account.decisions if one.took == "broken off")
    assert responder.ended_us - cut <= 100 * MS
    assert responder.made < 12
    assert len([end for _, end in played.sounds]) == 2


async def test_nothing_of_a_cut_reply_is_heard_in_the_next_turn():
    """TURN-03: 20 times, three sentences still queued, the next reply 700 ms later."""
    for number in range(20):
        barge = over(says("and what about friday", pause_us=(900 + 37 * number) * MS))
        responder = Answers(
            (0, "One two three. Four five six. Seven eight nine. Ten."), (700 * MS, "B one. B two.")
        )
        played = checked(await play(ASK, barge, responder=responder, **late()))
        assert played.turns[-1].said.removeprefix(f"{BRIDGE} ") == "B one. B two."
        spoken = await spoken_us("B one.") + await spoken_us("B two.")
        spoken += SECOND if BRIDGE in played.turns[-1].said else 0
        silent_from = began(played, "and") + 300 * MS
        heard = sum(ended - start for start, ended in played.sounds if ended > silent_from)
        assert abs(heard - spoken) <= 60 * MS


MONTHS = "January February March April May June July August September October November December"


async def test_history_holds_what_was_heard_to_the_word():
    """TURN-04: cut after some months; the next reply builds on that."""
    responder = Answers((0, MONTHS), (0, "June."))
    barge = over(says("go on please what is next", pause_us=2 * SECOND))
    played = checked(await play(ASK, barge, responder=responder, **late()))
    first = played.turns[0]
    (start, hushed), *_ = played.sounds
    expected = round(12 * (hushed - start) / await spoken_us(MONTHS))
    assert abs(len(first.said.split()) - expected) <= 1
    assert MONTHS.startswith(first.said)
    assert played.history[1] == ("agent", first.said, True)
    assert responder.asked[1][1][-1].text == first.said


async def test_a_reply_cut_before_its_first_sound_is_in_no_history():
    """TURN-04: the variant."""
    clips = (
        says("what is my balance", after_us=0),
        stays(700 * MS),
        says("no my limit", when="at once", pause_us=0),
    )
    responder = Answers((230 * MS, "Never heard."), (0, "A hundred."))
    played = checked(await play(*clips, responder=responder, **late()))
    assert played.outcomes == ["superseded", "answered"]
    assert [text for who, text, _ in played.history if who == "agent"] == ["A hundred."]
    assert len(played.sounds) == 1


@pytest.mark.parametrize("offset_ms", [-90, -50, 50, 150])
async def test_both_start_together_and_we_yield(offset_ms):
    """TURN-16: the caller goes on shortly before or after our first frame; their first word is kept."""
    first_us = 1_150 * MS + 730 * MS  # said, ended, answered
    clips = (
        says("what is my balance", after_us=0, when="at once", pause_us=0),
        stays((730 + offset_ms) * MS),
        says("friday i mean", when="at once", pause_us=0),
    )
    responder = Answers((140 * MS, "Never heard to its end, for it is so long."), (0, "A hundred."))
    played = checked(await play(*clips, responder=responder, budget_us=1_500 * MS))
    assert abs(began(played, "friday") - first_us - offset_ms * MS) <= audio.FRAME_US
    early = [ended for start, ended in played.sounds if start < began(played, "friday") + 300 * MS]
    if offset_ms < 0:
        assert early == []
    assert all(ended - began(played, "friday") <= 300 * MS for ended in early)
    assert responder.asked[-1][0] == "what is my balance friday i mean"
    assert played.turns[-1].said == "A hundred."


async def test_the_first_syllable_of_a_barge_in_is_heard():
    """VAD-09: the detector opens 200 ms late while we speak; the text has its first word."""
    takes = [Take()]
    played = checked(
        await play(
            ASK,
            over(says("cancel it", pause_us=SECOND)),
            responder=(responder := Answers((0, EIGHT), (0, "Cancelled."))),
            **late(takes=takes),
        )
    )
    assert responder.asked[-1][0] == "cancel it"
    assert played.turns[-1].said == "Cancelled."


async def test_a_sound_without_end_and_without_words_is_asked_about():
    """Nobody coughs for 2 s: it cuts, and then somebody must speak."""
    played = checked(await play(ASK, over(murmurs(2 * SECOND, pause_us=SECOND)), responder=answering(EIGHT)))
    assert [row.said for row in played.turns][1:] == [PARDON]


async def test_a_recogniser_that_owes_two_texts_mixes_up_no_stretches():
    """ASR-07: a cough's text comes after the next stretch has begun over the same reply."""
    takes = [Take(), Take(text="", partials=(), final_us=900 * MS), Take()]
    played = checked(
        await play(
            ASK,
            over(murmurs(300 * MS, pause_us=500 * MS)),
            stays(400 * MS),
            says("mhm", when="at once", pause_us=0, word_us=300 * MS),
            stays(8 * SECOND),
            responder=answering(EIGHT),
            asr=ScriptedTranscriber(takes=takes),
        )
    )
    assert [row.said for row in played.turns] == [EIGHT]


async def test_a_stop_takes_back_what_was_asked():
    """What waits for an answer when the caller says "stop" is history, and joins no later words."""
    clips = (says("book a table", after_us=0), stays(700 * MS), says("stop", when="at once", pause_us=0))
    responder = Answers((NEVER, ""), (0, "Ten dollars."))
    task = asyncio.all_tasks()
    played = checked(
        await play(
            *clips, says("what is my balance", pause_us=SECOND), responder=responder, budget_us=3 * SECOND
        )
    )
    assert played.outcomes == ["superseded", "answered"]
    assert played.turns[-1].asked == "what is my balance"
    assert played.history[0] == ("caller", "book a table stop", False)
    assert asyncio.all_tasks() == task
