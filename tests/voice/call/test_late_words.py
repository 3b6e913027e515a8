"""Whole calls in which texts come late or changed, and detectors are wrong: still one answer to it all."""

from __future__ import annotations

import dataclasses

import pytest
from aheads import Guesses
from sounds import Open, Pattern, babble, noise, scene, voice

from turnbudget.testing.stage import (
    PARDON,
    PRIORS,
    Answers,
    answering,
    checked,
    late,
    murmurs,
    play,
    says,
    speech,
    spent,
    stays,
)
from turnbudget.voice.asr.scripted import ScriptedTranscriber, Take
from turnbudget.voice.asr.transcriber import Word
from turnbudget.voice.hearing.endpoint import Endpointing
from turnbudget.voice.lines.recording import Clip
from turnbudget.voice.time.budget import Cost, Forecast
from turnbudget.voice.time.clock import MS, SECOND

STILL = speech("Are you still there?")
SHORT = Endpointing(200 * MS)


def at_once(words, **more):
    return says(words, when="at once", **{"pause_us": 0, **more})


# --- texts ------------------------------------------------------------------------------------------


async def test_whenever_the_final_text_comes_there_is_the_same_one_reply():
    """ASR-06: 150 ms before the end, at it, 50, 400 and 1,500 ms after; the log puts the wait under ASR."""
    first_sound = []
    for at_us in (-150 * MS, 0, 50 * MS, 400 * MS, 1_500 * MS):
        take = Take(final_us=at_us - 20 * MS)
        clips = (at_once("check my balance", after_us=600 * MS), stays(4 * SECOND))
        played = checked(await play(*clips, asr=ScriptedTranscriber(takes=[take]), endpointing=SHORT))
        [row] = played.turns
        assert row.said == "Your balance is ten dollars."
        assert row.asked in {"check my balance", "check my"}
        assert len(played.sounds) == 1
        first_sound.append(row.account.first_sound_us - row.account.zero_us)
        waited = spent(row.account, "transcribe")
        assert first_sound[-1] - first_sound[0] == waited
    assert first_sound == sorted(first_sound)
    assert first_sound[-1] <= 800 * MS


async def test_a_late_text_shifts_no_answer():
    """ASR-07: A's text comes when B has begun; then C. Each reply is to what was said last."""
    clips = (
        at_once("the first answer", after_us=0),
        stays(450 * MS),
        at_once("the second"),
        says("what", pause_us=SECOND),
    )
    responder = Answers((0, "One."), (0, "Two."))
    played = checked(
        await play(
            *clips,
            responder=responder,
            endpointing=SHORT,
            asr=ScriptedTranscriber(takes=[Take(final_us=480 * MS)]),
        )
    )
    asked = [said for said, _ in responder.asked]
    assert asked[-2:] == ["the first answer the second", "what"]
    assert played.outcomes == ["superseded", "answered", "answered"]
    assert len(played.sounds) == 2


@pytest.mark.parametrize("take", [Take(never=True), Take(final_us=2 * SECOND), Take(error="broken")])
async def test_a_yes_whose_text_does_not_come_in_time_is_asked_about(take):
    """ASR-06: it is too short for a partial text, and for a mumble; nobody knows that it was no word."""
    yes = at_once("yes", after_us=0, word_us=180 * MS)
    asr = ScriptedTranscriber(takes=[dataclasses.replace(take, partials=())])
    played = checked(await play(stays(500 * MS), yes, stays(4 * SECOND), asr=asr))
    [row] = played.turns
    assert (row.said, row.asked) == (PARDON, "")
    assert row.account.first_sound_us - row.account.zero_us <= 800 * MS


async def test_a_cough_while_the_text_is_made_does_not_leave_the_question_unanswered():
    """ASR-07: the question was superseded by nothing; it is answered when that is known."""
    clips = (
        at_once("what is my balance", after_us=0),
        stays(240 * MS),
        murmurs(120 * MS, when="at once", pause_us=0),
    )
    late_text = ScriptedTranscriber(takes=[Take(final_us=480 * MS)])
    played = checked(await play(*clips, stays(3 * SECOND), endpointing=SHORT, asr=late_text))
    assert played.outcomes == ["superseded", "answered"]
    assert played.turns[-1].asked == "what is my balance"
    assert len(played.sounds) == 1


async def test_a_restated_text_is_one_message():
    """ASR-08."""
    partials = ((500 * MS, "I need a"), (900 * MS, "I need a taxi."))
    take = Take(text="I need a taxi, at nine.", partials=partials)
    responder = Answers((0, "It is on its way."))
    played = checked(
        await play(
            at_once("I need a taxi at nine"),
            stays(3 * SECOND),
            responder=responder,
            asr=ScriptedTranscriber(takes=[take]),
        )
    )
    assert [said for said, _ in responder.asked] == ["I need a taxi, at nine."]
    assert played.history == [
        ("caller", "I need a taxi, at nine.", False),
        ("agent", "It is on its way.", False),
    ]


async def test_nothing_made_on_a_text_that_was_taken_back_is_heard():
    """ASR-09: "cancel", "cancel my", then "can you sell my ticket"."""
    partials = ((400 * MS, "cancel"), (900 * MS, "cancel my"), (1_200 * MS, "can you sell my"))
    take = Take(text="can you sell my ticket", partials=partials)
    ahead = Guesses("It is cancelled.", on_pauses=False)
    responder = Answers((0, "For how much?"))
    played = checked(
        await play(
            at_once("can you sell my ticket"),
            stays(3 * SECOND),
            ahead=ahead,
            responder=responder,
            asr=ScriptedTranscriber(takes=[take]),
        )
    )
    assert "cancel my" in ahead.texts
    assert [row.said for row in played.turns] == ["For how much?"]
    assert len(played.sounds) == 1


@pytest.mark.parametrize(
    ("choose_ms", "waited_ms"),
    [
        (20, 700),  # 20 ms to choose, 60 to render and 20 to send are kept of 800
        (160, 560),
        (400, 780),  # too late for an answer in any case: the bridge alone is kept room for
    ],
)
async def test_a_text_is_awaited_no_longer_than_leaves_room_for_a_reply(choose_ms, waited_ms):
    forecast = Forecast({**PRIORS, "choose": Cost(0, choose_ms * MS)})
    clips = (at_once("check my balance"), stays(4 * SECOND))
    played = await play(*clips, asr=ScriptedTranscriber(takes=[Take(never=True)]), forecast=forecast)
    [row] = played.turns
    account = row.account
    waited_us = spent(account, "endpoint") + spent(account, "transcribe")
    assert round(waited_us / MS) == waited_ms
    assert account.first_sound_us - account.zero_us <= 800 * MS


# --- detectors --------------------------------------------------------------------------------------


def spoken(sound, *words, **more):
    """A clip of *sound* with words ``(text, began, ended)`` in s."""
    placed = tuple(Word(text, round(began * SECOND), round(ended * SECOND)) for text, began, ended in words)
    turns = ((placed[0].began_us, placed[-1].ended_us),) if placed else ()
    return Clip(sound, placed, turns, when="at once", **more)


async def test_a_command_over_babble_is_answered_once_and_the_babble_never():
    """VAD-07: 1.5 s at −12 dBFS over −30 dBFS that goes on for 40 s, and a detector that never closes."""
    sound = scene(40, (3, voice(1.5, -12)), background=babble(40, -30))
    clip = spoken(sound, ("cancel", 3.0, 3.7), ("it", 3.7, 4.5))
    played = checked(await play(clip, vad=lambda _: Open(), responder=answering("Cancelled.")))
    [row] = played.turns
    assert (row.asked, row.said, row.account.outcome) == ("cancel it", "Cancelled.", "answered")
    [(start, _)] = played.sounds
    assert start - 4_500 * MS <= 10 * SECOND


async def test_blips_after_the_end_do_not_hold_the_turn_open():
    """VAD-13: 0.1 for 12 frames and 0.6 for one, 20 s long; an answer at latest some 1.5 s after the end."""
    sound = scene(22, (0.5, voice(1.5)), background=noise(22, -60))
    blips = Pattern((1, [0.0] * 25), (1, [1.0] * 75), (80, [0.1] * 12 + [0.6]))
    clip = spoken(sound, ("cancel", 0.5, 1.2), ("it", 1.2, 2.0))
    played = checked(await play(clip, vad=lambda _: blips))
    assert [row.asked for row in played.turns] == ["cancel it"]
    [(start, _)] = played.sounds
    assert start - 2 * SECOND <= 1_500 * MS


async def test_a_soft_beginning_is_heard():
    """VAD-09: the detector opens 200 ms late; the text has its first word."""
    opened = ((1, [0.0] * 35), (1, [1.0] * 25), (1, [0.0] * 200))
    clip = spoken(scene(4, (0.5, voice(0.7))), ("cancel", 0.5, 0.9), ("it", 0.9, 1.2))
    responder = Answers((0, "Cancelled."))
    await play(clip, vad=lambda _: Pattern(*opened), responder=responder)
    assert [said for said, _ in responder.asked] == ["cancel it"]


async def test_a_whisper_that_opens_the_detector_here_and_there_is_one_turn():
    """VAD-12: "I would like" and, 900 ms later, "to move my visit": the same wait ends every turn."""
    sound = scene(6, (0.5, voice(0.8, -40)), (2.2, voice(0.9, -40)))
    clip = spoken(sound, ("I would like", 0.5, 1.3), ("to move my visit", 2.2, 3.1))
    likely = Pattern((1, [0.0] * 45), (1, [0.6] * 12), (1, [0.2] * 55), (1, [0.6] * 20), (1, [0.0] * 200))
    responder = Answers((0, "When to?"))
    played = checked(
        await play(clip, vad=lambda _: likely, responder=responder, endpointing=Endpointing(1_100 * MS))
    )
    assert [said for said, _ in responder.asked] == ["I would like to move my visit"]
    assert len(played.sounds) == 1


async def test_a_whisper_that_opens_no_detector_is_asked_about_and_not_answered_in_its_middle():
    """VAD-12: no text is made of it, so none can end a turn early; the caller is asked if they are there."""
    sound = scene(14, (0.5, voice(0.8, -40)), (2.2, voice(0.9, -40)))
    clip = spoken(sound, ("I would like", 0.5, 1.3), ("to move my visit", 2.2, 3.1))
    played = checked(await play(clip, vad=lambda _: Pattern(), reprompt=STILL))
    assert [row.kind for row in played.rows][:1] == ["reprompt"]
    assert played.turns == []
    assert played.sounds[0][0] >= 8 * SECOND


@pytest.mark.parametrize("text", ["", "[noise]"])
async def test_a_mumble_is_asked_about_in_time_and_the_line_is_not_left_silent(text):
    """VAD-11: 600 ms with an empty text, then 15 s of silence."""
    mumble = spoken(voice(0.6), ("mumble", 0.0, 0.6))
    takes = [Take(text=text, partials=())]
    played = checked(
        await play(stays(500 * MS), mumble, stays(15 * SECOND), reprompt=STILL, **late(takes=takes))
    )
    (pardon, pardoned), (prompt, _) = played.sounds
    assert pardon - 1_100 * MS <= 800 * MS
    assert prompt - pardoned <= 8_200 * MS
    assert played.us >= 15 * SECOND
