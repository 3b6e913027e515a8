"""A call leaves a row for every turn, says nothing over the caller, and leaves nothing behind."""

from __future__ import annotations

import asyncio
from itertools import pairwise

from turnbudget.testing.stage import (
    APOLOGY,
    ASK,
    BRIDGE,
    PARDON,
    PRIORS,
    Answers,
    after,
    answering,
    check_account,
    murmurs,
    over,
    play,
    prepared,
    says,
    speech,
    stays,
)
from turnbudget.voice.hearing.events import SpeechStarted, Utterance
from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Forecast
from turnbudget.voice.time.clock import MS, SECOND
from turnbudget.voice.tts.scripted import ScriptedSynthesizer

HELLO = speech("Good day, how can I help?", 3 * SECOND)
STILL = speech("Are you still there?")
LONG = " ".join(f"Sentence number {name} goes on for a while." for name in "abcdefghijkl")


def said_at_once(text, now):
    """An utterance that is told the moment it is over."""
    return Utterance(
        text=text,
        began_us=now - SECOND,
        ended_us=now,
        decided_us=now,
        text_us=now,
        rule="endpoint.silence_ms",
        voiced_us=SECOND,
    )


async def on(call, at_us, *events):
    """Tell *call* of *events* at one instant, as the Ear would."""
    await clock.sleep_until(at_us)
    for event in events:
        call._hear(event(clock.now()) if callable(event) else event)


# --- rows ------------------------------------------------------------------------------------------


async def test_every_kind_has_a_row_of_its_own():
    played = await play(ASK, stays(12 * SECOND), greeting=HELLO, reprompt=STILL)
    assert [(row.kind, row.number, row.said) for row in played.rows] == [
        ("greeting", 1, HELLO.text),
        ("turn", 2, "Your balance is ten dollars."),
        ("reprompt", 3, STILL.text),
    ]
    for row in played.rows:
        check_account(row)
    assert played.rows[0].utterance is None
    assert after(played.rows[0].account, played.rows[0].account.first_sound_us) < audio.FRAME_US
    assert played.call.ended == "caller hung up"


async def test_a_caller_who_breaks_into_the_greeting_is_answered():
    played = await play(over(says("what is my balance", pause_us=500 * MS)), greeting=HELLO)
    greeting, turn = played.rows
    for row in played.rows:
        check_account(row)
    assert (greeting.kind, greeting.account.outcome) == ("greeting", "cut")
    assert HELLO.text.startswith(greeting.said)
    assert greeting.said != HELLO.text
    assert turn.account.outcome == "answered"
    assert played.history[0] == ("agent", greeting.said, True)


async def test_a_caller_who_breaks_in_during_the_bridge_is_answered_for_all_he_said():
    played = await play(
        ASK,
        over(says("and my limit", pause_us=300 * MS)),
        responder=Answers((3 * SECOND, "Late."), (0, "Both are fine.")),
    )
    first, second = played.turns
    for row in played.turns:
        check_account(row)
    assert played.outcomes == ["cut", "answered"]
    assert first.account.first_answer_us is None
    assert BRIDGE.startswith(first.said)
    assert second.asked == "what is my balance please and my limit"
    assert second.said == "Both are fine."


async def test_a_bridge_that_was_heard_does_not_make_a_cut_answer_whole():
    played = await play(
        ASK,
        over(says("stop", pause_us=1_200 * MS)),
        responder=Answers((1 * SECOND, "One two three four five six seven eight nine ten."), (0, "Yes.")),
    )
    said = played.turns[0].said
    assert said.startswith(f"{BRIDGE} One two")
    assert played.history[1] == ("agent", said.removeprefix(f"{BRIDGE} "), True), "a bridge is no answer"


async def test_the_rest_of_a_reply_that_was_cut_is_never_sent():
    """Twelve sentences, stopped in the second: one frame fades out, and no render goes on behind it."""
    voice, seen = ScriptedSynthesizer(), {}
    call, line, rows = prepared(ASK, stays(20 * SECOND), responder=answering(LONG), voice=voice)

    async def break_in():
        while not line.sent or clock.now() - line.sent[0][0] < 3 * SECOND:
            await clock.sleep(7 * MS)
        seen["sent"] = len(line.sent)
        call._hear(SpeechStarted(clock.now()))
        call._hear(said_at_once("stop", clock.now()))
        await clock.sleep(100 * MS)
        seen["tasks"] = [task.get_name() for task in asyncio.all_tasks()]
        seen["rendered"] = voice.rendered

    await asyncio.gather(call.run(), break_in())
    assert len(line.sent) - seen["sent"] == 1
    assert not [name for name in seen["tasks"] if name.startswith("turn")]
    assert voice.rendered == seen["rendered"] < 12
    assert rows[0].said.split()[-1] != "while."
    assert 8 < len(rows[0].said.split()) < 17


# --- races -----------------------------------------------------------------------------------------


async def test_a_turn_that_is_broken_off_before_its_task_began_has_a_row():
    call, _, rows = prepared(stays(5 * SECOND))
    stop = (SpeechStarted, lambda now: said_at_once("stop", now))
    await asyncio.gather(call.run(), on(call, SECOND, lambda now: said_at_once("book a table", now), *stop))
    [row] = rows
    assert (row.account.outcome, row.asked) == ("superseded", "book a table")
    assert call.settled


async def test_of_two_utterances_at_one_instant_both_are_answered():
    responder = Answers((0, "Done."))
    call, _, rows = prepared(stays(5 * SECOND), responder=responder)
    await asyncio.gather(
        call.run(),
        on(
            call,
            SECOND,
            lambda now: said_at_once("book a table", now),
            lambda now: said_at_once("for two", now),
            lambda now: said_at_once("at nine", now),
        ),
    )
    assert [row.account.outcome for row in rows] == ["superseded", "superseded", "answered"]
    assert [said for said, _ in responder.asked] == ["book a table for two at nine"]


async def test_an_utterance_while_the_voice_fades_waits_for_it():
    """The next reply begins when the cut one has let go of the Mouth."""
    call, line, rows = prepared(ASK, stays(10 * SECOND), responder=Answers((0, LONG), (0, "Yes.")))
    broke_us = 6 * SECOND + 7 * MS
    friday = (SpeechStarted, lambda now: said_at_once("and on friday", now))
    await asyncio.gather(call.run(), on(call, broke_us, *friday))
    assert [row.account.outcome for row in rows] == ["cut", "answered"]
    sent = [at for at, _ in line.sent if at >= broke_us]
    assert all(later - before >= audio.FRAME_US for before, later in pairwise(sent[1:]))


async def test_a_cough_before_the_answer_does_not_cost_the_answer():
    """TURN-10: noise 100 ms before the first sound holds the reply back, and it is spoken whole, once."""
    played = await play(
        says("what is my balance", after_us=0),
        stays(700 * MS),
        murmurs(120 * MS, when="at once", pause_us=0),
        responder=Answers((230 * MS, "Ten dollars.")),
        budget_us=2 * SECOND,
    )
    [row] = played.turns
    check_account(row)
    assert (row.account.outcome, row.asked, row.said) == ("answered", "what is my balance", "Ten dollars.")
    [held] = [entry for entry in row.account.entries if entry.owner.name == "barge_in"]
    assert 150 * MS <= held.us <= 200 * MS, "the wait for what the voice would be has an owner"
    assert [said for said in played.history if said[0] == "agent"] == [("agent", "Ten dollars.", False)]


async def test_an_apology_that_a_cough_held_back_is_no_slow_line():
    """What the wait took has an owner, and is no cost of delivery that would send later bridges sooner."""
    forecast = Forecast(PRIORS)
    played = await play(
        says("what is my balance", after_us=0),
        stays(700 * MS),
        murmurs(120 * MS, when="at once", pause_us=0),
        responder=Answers((230 * MS, ValueError("no"))),
        budget_us=2 * SECOND,
        forecast=forecast,
    )
    [row] = played.turns
    check_account(row)
    assert (row.account.outcome, row.said) == ("failed", APOLOGY)
    [held] = [entry for entry in row.account.entries if entry.owner.name == "barge_in"]
    assert 150 * MS <= held.us <= 250 * MS
    assert forecast.of("deliver") == PRIORS["deliver"]


async def test_a_cough_over_the_answer_is_no_turn():
    """TURN-10."""
    played = await play(ASK, over(murmurs(300 * MS, pause_us=400 * MS)))
    assert played.outcomes == ["answered"]
    assert played.history[-1] == ("agent", "Your balance is ten dollars.", False)


async def test_a_cough_that_broke_off_nothing_is_no_turn():
    played = await play(ASK, murmurs(120 * MS, pause_us=SECOND))
    assert played.outcomes == ["answered"]


# --- silence ---------------------------------------------------------------------------------------


async def test_nobody_is_prompted_after_a_long_reply_or_while_he_speaks():
    """VAD-14: idle is 5 s, we speak for 9 s, the caller goes on 400 ms later and speaks for 6 s."""
    nine = Answers((0, "a " * 155 + "."), (0, "Yes."))
    played = await play(
        ASK, says("well " * 20, pause_us=400 * MS), responder=nine, reprompt=STILL, idle_us=5 * SECOND
    )
    assert played.turns[0].said.count("a") > 150
    assert "reprompt" not in [row.kind for row in played.rows]


async def test_a_silent_caller_is_prompted_and_then_let_go():
    """VAD-14."""
    played = await play(stays(60 * SECOND), greeting=HELLO, reprompt=STILL, idle_us=5 * SECOND)
    assert [row.kind for row in played.rows] == ["greeting", "reprompt", "reprompt"]
    assert played.call.ended == "caller said nothing"
    assert 20 * SECOND <= clock.now() <= 21 * SECOND


async def test_a_caller_who_answers_a_prompt_may_be_silent_again():
    played = await play(
        over(says("yes I am here", pause_us=SECOND)), stays(60 * SECOND), reprompt=STILL, idle_us=5 * SECOND
    )
    assert [row.kind for row in played.rows] == ["reprompt", "turn", "reprompt", "reprompt"]
    assert played.call.ended == "caller said nothing"


async def test_noise_that_cuts_the_prompts_does_not_keep_a_silent_line_open():
    """VAD-14: hang-up by rule, even if the prompt was cut, by a sound too long for a cough."""
    noise = over(murmurs(1_400 * MS, pause_us=300 * MS))
    still = speech("Are you still there?", 3 * SECOND)
    played = await play(
        noise, stays(6 * SECOND), noise, stays(60 * SECOND), reprompt=still, idle_us=5 * SECOND
    )
    assert played.call.ended == "caller said nothing"
    assert [row.account.outcome for row in played.rows if row.kind == "reprompt"] == ["cut", "cut"]


async def test_after_a_mumble_nobody_waits_for_ever():
    """VAD-11: the caller mumbles 600 ms, then is silent for 15 s."""
    mumble = murmurs(600 * MS, when="at once", pause_us=0)
    played = await play(stays(500 * MS), mumble, stays(15 * SECOND), reprompt=STILL)
    pardon, prompt = played.rows
    assert [pardon.said, prompt.said] == [PARDON, STILL.text]
    assert prompt.account.zero_us - pardon.account.closed_us <= 10 * SECOND


async def test_after_a_breath_the_prompt_waits_its_time():
    """VAD-14: nobody is asked whether he is there just after he made a sound."""
    played = await play(
        ASK, stays(7 * SECOND), murmurs(120 * MS, when="at once"), stays(12 * SECOND), reprompt=STILL
    )
    prompt = next(row for row in played.rows if row.kind == "reprompt")
    silent_us = prompt.account.zero_us - played.call._spoke_us
    assert 8 * SECOND <= silent_us <= 8 * SECOND + 200 * MS
