"""Whole calls in which the caller makes a sound while we speak, or are about to, and the reply goes on."""

from __future__ import annotations

from itertools import pairwise

import pytest

from turnbudget.testing.stage import (
    ASK,
    BRIDGE,
    EIGHT,
    NEVER,
    Answers,
    StageLine,
    answering,
    began,
    checked,
    late,
    murmurs,
    over,
    play,
    prepared,
    says,
    spoken_us,
    stays,
)
from turnbudget.voice.asr.scripted import ScriptedTranscriber, Take
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import MS, SECOND


async def test_listeners_noises_leave_the_reply_whole_and_are_no_turns():
    """VAD-03: "mhm" at 2 s and "okay" at 5 s into 8 s of talk."""
    played = checked(
        await play(
            ASK,
            over(says("mhm", pause_us=2 * SECOND, word_us=300 * MS)),
            over(says("okay", pause_us=3 * SECOND, word_us=300 * MS)),
            stays(8 * SECOND),
            responder=Answers((0, EIGHT), (0, "Wrong.")),
            **late(),
        )
    )
    [row] = played.turns
    assert row.said == EIGHT
    assert played.history == [("caller", "what is my balance please", False), ("agent", EIGHT, False)]
    silences = [later - ended for (_, ended), (later, _) in pairwise(played.sounds)]
    assert len(silences) <= 2, "it dips at most, once each"
    assert all(silence <= SECOND for silence in silences)


async def test_the_same_okay_after_our_question_is_an_answer():
    """VAD-03: 1 s after the question; and in its last word."""
    responder = Answers((0, "Shall I book it for you now?"), (0, "It is booked."))
    played = checked(
        await play(ASK, says("okay", pause_us=SECOND, word_us=300 * MS), responder=responder, **late())
    )
    assert played.outcomes == ["answered", "answered"]
    assert played.turns[1].asked == "okay"
    responder = Answers((0, "Shall I book it for you now?"), (0, "It is booked."))
    played = checked(await play(ASK, over(says("okay", pause_us=1_900 * MS)), responder=responder, **late()))
    assert [said for said, _ in responder.asked][1:] == ["okay"]
    assert played.turns[-1].said == "It is booked."


async def test_a_listeners_noise_at_the_end_of_a_reply_is_no_turn_either():
    """VAD-03: it begins over our last word and ends after it."""
    last_word_us = await spoken_us(EIGHT) - 150 * MS
    mhm = over(says("mhm", pause_us=last_word_us, word_us=400 * MS))
    played = checked(await play(ASK, mhm, stays(3 * SECOND), responder=answering(EIGHT), **late()))
    assert [row.said for row in played.turns] == [EIGHT]
    [(_, ended)] = played.sounds
    assert began(played, "mhm") < ended < began(played, "mhm") + 400 * MS


@pytest.mark.parametrize("text", ["", "[noise]", "um"])
async def test_noise_over_the_reply_pauses_it_and_it_goes_on_from_the_cut_point(text):
    """TURN-10: noise at 1 s; on within 1 s, no word lost, none said twice, one entry in the history."""
    takes = [Take(), Take(text=text, partials=())]
    played = checked(
        await play(
            ASK,
            over(murmurs(400 * MS, pause_us=SECOND)),
            stays(8 * SECOND),
            responder=answering(EIGHT),
            **late(takes=takes),
        )
    )
    [row] = played.turns
    assert row.said == EIGHT
    (first, hushed), (again, ended) = played.sounds
    noise = began(played, "")
    assert hushed - noise <= 300 * MS
    assert again - (noise + 400 * MS) <= SECOND
    heard_us = (ended - again) + (hushed - first)
    assert abs(heard_us - await spoken_us(EIGHT)) <= 50 * MS, "nothing twice, nothing lost"
    assert played.history[1:] == [("agent", EIGHT, False)]


async def test_noise_whose_text_never_comes_holds_the_reply_no_longer():
    """TURN-10: within 1 s of the noise's end, though there would be time to wait for the text."""
    takes = [Take(), Take(never=True, partials=())]
    clips = (ASK, over(murmurs(400 * MS, pause_us=SECOND)), stays(8 * SECOND))
    given = {"responder": answering(EIGHT), "budget_us": 3 * SECOND}
    played = checked(await play(*clips, **given, **late(takes=takes)))
    (_, hushed), (again, _) = played.sounds
    assert hushed < again <= began(played, "") + 400 * MS + SECOND


async def test_a_listeners_noise_whose_text_is_late_is_not_taken_for_the_next_stretch():
    """ASR-07: "okay" ends after the reply; its text comes when "and my limit" has begun, over no reply."""
    takes = [Take(), Take(final_us=900 * MS)]
    okay = over(says("okay", pause_us=await spoken_us(EIGHT) - 150 * MS, word_us=400 * MS, after_us=0))
    limit = says("and my limit", when="at once", pause_us=650 * MS)
    responder = Answers((0, EIGHT), (0, "A hundred."))
    clips = (ASK, okay, limit, stays(3 * SECOND))
    played = checked(
        await play(*clips, responder=responder, budget_us=3 * SECOND, asr=ScriptedTranscriber(takes=takes))
    )
    assert [said for said, _ in responder.asked] == ["what is my balance please", "and my limit"]
    assert [row.said for row in played.turns] == [EIGHT, "A hundred."]


async def test_okay_while_the_answer_to_our_question_is_in_flight_is_no_second_answer():
    """VAD-03: the question has been answered; what sounds now is about nothing yet."""
    responder = Answers((0, "For which account?"), (SECOND, "Ten dollars."), (0, "Wrong."))
    clips = (ASK, says("savings", after_us=0), stays(650 * MS), says("okay", when="at once", pause_us=0))
    played = checked(
        await play(*clips, stays(3 * SECOND), responder=responder, budget_us=3 * SECOND, **late())
    )
    assert [said for said, _ in responder.asked][1:] == ["savings"]
    assert played.turns[-1].said == "Ten dollars."


async def test_hello_while_the_answer_is_in_flight_brings_the_bridge_and_not_a_second_answer():
    """Nothing has sounded: the bridge goes at once, and the answer follows."""
    responder = Answers((4 * SECOND, "Ten dollars."), (0, "Wrong."))
    hello = says("hello", when="at once", pause_us=0, word_us=350 * MS)
    played = checked(
        await play(
            says("what is my balance", after_us=0),
            stays(700 * MS),
            hello,
            stays(6 * SECOND),
            responder=responder,
            budget_us=4 * SECOND,
            patience_us=9 * SECOND,
            **late(),
        )
    )
    [row] = played.turns
    assert row.said == f"{BRIDGE} Ten dollars."
    assert row.account.first_sound_us - (began(played, "hello") + 350 * MS) <= 700 * MS
    assert [said for said, _ in responder.asked] == ["what is my balance"]


async def test_hello_behind_the_bridge_does_not_cancel_the_answer():
    responder = Answers((4 * SECOND, "Ten dollars."), (0, "Wrong."))
    hello = says("hello", when="at once", pause_us=0, word_us=350 * MS)
    clips = (says("what is my balance", after_us=0), stays(2_600 * MS), hello, stays(6 * SECOND))
    played = checked(await play(*clips, responder=responder, **late()))
    [row] = played.turns
    assert (row.said, row.account.outcome) == (f"{BRIDGE} Ten dollars.", "bridged")
    assert [said for said, _ in responder.asked] == ["what is my balance"]


async def test_the_answer_that_came_while_a_cough_held_us_needs_no_bridge():
    """TURN-15: the bridge was due during the cough, the answer is there when it is over."""
    cough = murmurs(400 * MS, when="at once", pause_us=0)
    clips = (says("what is my balance", after_us=0), stays(600 * MS), cough, stays(4 * SECOND))
    played = checked(await play(*clips, responder=Answers((400 * MS, "Ten dollars.")), **late()))
    [row] = played.turns
    assert row.said == "Ten dollars."


async def test_who_asked_is_told_of_what_was_overheard_and_of_no_turn():
    """A replay counts the words that a listener's noise was heard as."""
    told = []
    call, _, rows = prepared(ASK, over(says("mhm")), stays(2 * SECOND), responder=answering(EIGHT))
    call._overheard = told.append
    await call.run()
    assert [utterance.text for utterance in told] == ["mhm"]
    assert [row.asked for row in rows if row.kind == "turn"] == ["what is my balance please"]


class Stopping(StageLine):
    """A line whose frames stop in the caller's first word over us, and never come again."""

    async def listen(self):
        async for frame in super().listen():
            if self.sent and clock.now() > self.sent[0][0] + 1_240 * MS:
                await clock.sleep(NEVER)
            yield frame


async def test_a_reply_held_for_a_voice_goes_on_though_no_frame_comes_any_more():
    """The caller's frames stop while their voice holds our reply: it goes on before their turn would end."""
    mhm = over(says("mhm mhm mhm", pause_us=SECOND))
    played = await play(
        ASK, mhm, stays(9 * SECOND), responder=answering(EIGHT), line=Stopping, longest_us=20 * SECOND
    )
    made = {made.took: made.at_us for made in played.rows[0].account.decisions}
    assert made["reply goes on"] - made["reply held"] <= 450 * MS
