"""A turn keeps one promise: inside the budget something sounds, and the account says where the time went."""

from __future__ import annotations

import asyncio
import select
from itertools import pairwise

import pytest
from aheads import Guesses
from laws import each

from turnbudget.testing.stage import (
    APOLOGY,
    ASK,
    BRIDGE,
    NEVER,
    ONSET,
    PARDON,
    PHRASES,
    PRIORS,
    Answers,
    StageLine,
    after,
    answering,
    check_account,
    lane,
    murmurs,
    one,
    over,
    play,
    says,
    speech,
    spent,
    stays,
)
from turnbudget.voice.asr.scripted import ScriptedTranscriber, Take
from turnbudget.voice.call.ledger import Owner
from turnbudget.voice.hearing.endpoint import Endpointing
from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Cost, Forecast
from turnbudget.voice.time.clock import MS, SECOND
from turnbudget.voice.time.watch import watch
from turnbudget.voice.tts.scripted import ScriptedSynthesizer

SHORT = Endpointing(silence_us=200 * MS)


def stages(row):
    """What each stage took, in ms, in order."""
    return [(entry.stage, round(entry.us / MS)) for entry in row.account.entries if entry.us >= MS]


# --- ledger truth, by name -------------------------------------------------------------------------


async def test_plain_turn():
    """The wait for silence, the choice, the voice, the line: nothing else, and nothing missing."""
    row = await one(ASK, responder=answering(delay_us=100 * MS))
    assert row.account.outcome == "answered"
    assert stages(row) == [("endpoint", 550), ("choose", 100), ("synthesize", 30)]
    assert after(row.account, row.account.first_sound_us) == 680 * MS + ONSET
    assert row.account.first_answer_us == row.account.first_sound_us


async def test_answer_after_a_bridge_has_two_numbers():
    row = await one(ASK, responder=answering(delay_us=1_500 * MS))
    account = row.account
    assert account.outcome == "bridged"
    assert 760 * MS <= after(account, account.first_sound_us) <= 800 * MS
    assert after(account, account.first_answer_us) == 2_080 * MS + ONSET
    assert account.closed_us == account.first_answer_us
    assert row.said == f"{BRIDGE} Your balance is ten dollars."
    assert spent(account, "choose") == 1_500 * MS


async def test_caller_speaks_again_before_any_sound():
    """The turn is superseded, and its words join the next."""
    played = await play(
        says("what is my balance", after_us=0),
        stays(620 * MS),
        says("and my limit", when="at once", pause_us=0),
        responder=Answers((400 * MS, "Never heard."), (0, "Ten dollars, and a hundred.")),
    )
    first, second = played.turns
    for row in played.turns:
        check_account(row)
    assert played.outcomes == ["superseded", "answered"]
    assert (first.account.first_sound_us, first.account.witness_us, first.said) == (None, None, "")
    assert (second.asked, second.utterance.text) == ("what is my balance and my limit", "and my limit")
    assert lane(first.account, "reply:answers").wasted_us > 0
    assert played.history == [
        ("caller", "what is my balance and my limit", False),
        ("agent", "Ten dollars, and a hundred.", False),
    ]


async def test_barge_in():
    """The reply stops within a frame, its row stays, and the history holds what was heard of it."""
    reply = "One two three four five six seven eight nine ten eleven twelve."
    played = await play(ASK, over(says("and my limit", pause_us=1_000 * MS)), responder=answering(reply))
    first, second = played.turns
    for row in played.turns:
        check_account(row)
    assert played.outcomes == ["cut", "answered"]
    assert first.account.first_answer_us is not None
    assert reply.startswith(first.said)
    assert 2 <= len(first.said.split()) <= 7
    assert played.history[1] == ("agent", first.said, True)
    assert second.asked == "and my limit"


async def test_answer_never_comes():
    """The bridge keeps the promise, the apology comes before patience has passed, and nobody is fooled."""
    played = await play(ASK, responder=Answers((NEVER, "")), patience_us=4 * SECOND)
    [row] = played.turns
    check_account(row)
    account = row.account
    assert (account.outcome, account.first_answer_us) == ("failed", None)
    assert after(account, account.first_sound_us) <= 800 * MS
    assert row.said == f"{BRIDGE} {APOLOGY}"
    apology_us = after(account, account.closed_us) - audio.us(PHRASES.apology.samples.size)
    assert 3_900 * MS <= apology_us + ONSET <= 4 * SECOND
    assert lane(account, "reply:answers").wasted_us == apology_us - 550 * MS


async def test_a_blocking_call_of_300_ms_is_charged_to_stall_and_to_nobody_else():
    async def block():
        asyncio.get_running_loop().block(300 * MS)
        return "Your balance is ten dollars."

    row = await one(ASK, responder=Answers((50 * MS, block)), budget_us=2 * SECOND)
    assert stages(row) == [("endpoint", 550), ("choose", 50), ("stall", 300), ("synthesize", 30)]
    assert row.account.outcome == "answered"


@pytest.mark.clock("skip")
async def test_a_blocking_call_of_300_ms_is_charged_to_stall_in_real_time_too_and_named():
    """MET-10."""

    blocked = []

    async def look_up_the_customer():
        began = clock.now()
        select.select([], [], [], 0.3)
        blocked.append(clock.now() - began)
        return "Your balance is ten dollars."

    with watch():
        row = await one(ASK, responder=Answers((50 * MS, look_up_the_customer)), budget_us=2 * SECOND)
    account = row.account
    [stall] = [entry for entry in account.entries if entry.stage == "stall" and entry.us > 100 * MS]
    assert abs(stall.us - blocked[0]) <= 20 * MS, "however late a busy machine wakes it"
    line = look_up_the_customer.__code__.co_firstlineno + 2
    assert stall.owner == Owner(f"test_turn.py:{line} look_up_the_customer", "own code")
    assert 50 * MS <= spent(account, "choose") <= 70 * MS


class Asked(Answers):
    """Keeps what it was asked."""

    def __init__(self):
        super().__init__((0, "Ten."))
        self.questions = []

    async def answer(self, question):
        self.questions.append(question)
        return await super().answer(question)


async def test_a_reply_is_asked_for_by_when_it_can_still_be_rendered_and_sound():
    """The voice is kept 60 ms and the line 200 ms: from the bridge's last moment, and from the patience."""
    forecast = Forecast({**PRIORS, "deliver": Cost(100 * MS, 200 * MS)})
    responder = Asked()
    row = await one(ASK, responder=responder, forecast=forecast, patience_us=4 * SECOND)
    [question] = responder.questions
    assert after(row.account, question.sound_by.ends_us) == (800 - 200 - 60) * MS - ONSET
    assert after(row.account, question.budget.ends_us) == (4_000 - 200 - 60) * MS


class Sure(Guesses):
    """Knows at every pause that the caller has said all."""

    def paused(self, question, draft, wait, sound):
        del question, draft, sound
        wait(160 * MS, "the sentence is whole")


async def test_what_has_an_effect_waits_for_the_usual_silence_though_the_turn_did_not():
    """A caller who goes on within it has taken back what would have been done."""
    responder = Asked()
    row = await one(ASK, responder=responder, ahead=Sure("Never said."))
    [question] = responder.questions
    assert after(row.account, row.account.first_answer_us) < 300 * MS
    assert after(row.account, question.act_at_us) == Endpointing().silence_us


async def test_work_begun_before_the_end_of_speech_shows_as_saved():
    """The text is made inside the silence that has to be waited for anyhow."""
    row = await one(ASK, asr=ScriptedTranscriber(final_us=300 * MS))
    assert lane(row.account, "asr:scripted").saved_us == 300 * MS
    assert spent(row.account, "transcribe") == 0


async def test_work_that_was_waited_for_saves_only_what_was_not():
    row = await one(ASK, asr=ScriptedTranscriber(final_us=300 * MS), endpointing=SHORT)
    waited = spent(row.account, "transcribe")
    assert 100 * MS <= waited <= 130 * MS
    assert lane(row.account, "asr:scripted").saved_us == 300 * MS - waited


async def test_work_that_was_waited_for_whole_saves_nothing():
    """A caller who never pauses is taken at the longest sound: the text is begun only then."""
    endpointing = Endpointing(longest_us=2 * SECOND)
    long = says("well", word_us=2_050 * MS)
    first = await one(long, asr=ScriptedTranscriber(final_us=300 * MS), endpointing=endpointing)
    assert first.utterance.rule == "endpoint.longest_ms"
    assert lane(first.account, "asr:scripted").saved_us == 0


class Listening(Guesses):
    """Notes what was said by then, each time the caller is known to speak."""

    def __init__(self):
        super().__init__("Never said.", on_pauses=False)
        self.before = []

    def listening(self, history):
        self.before.append([said.text for said in history])


async def test_whoever_works_ahead_is_told_when_the_caller_begins_and_what_was_said():
    """It can look up what the conversation calls for while the first words are spoken."""
    ahead = Listening()
    await play(ASK, ASK, stays(SECOND), ahead=ahead, responder=answering("It is ten."))
    asked = "what is my balance please"
    assert ahead.before == [[], [asked, "It is ten."]]


class Rendering(Guesses):
    """Has the first piece of every reply under way: 300 ms of work, of which 100 ms are still to come."""

    async def joined(self, piece, budget):
        del budget
        await clock.sleep(100 * MS)
        return speech(piece, cost_us=300 * MS)


async def test_a_render_that_was_joined_saves_what_had_been_done_of_it():
    row = await one(ASK, responder=answering("It is ten."), ahead=Rendering("Never said.", on_pauses=False))
    joined = lane(row.account, "shelf")
    assert (joined.outcome, joined.saved_us) == ("joined", 200 * MS)
    assert joined.ended_us - joined.began_us == 100 * MS


async def test_work_thrown_away_shows_as_wasted():
    """A text made for a pause, and a reply that nobody heard."""
    row = await one(says("what is … my balance", word_us=500 * MS), endpointing=Endpointing(1_300 * MS))
    wasted = [found.wasted_us for found in row.account.lanes if found.name.startswith("asr:")]
    assert sum(wasted) >= 80 * MS
    played = await play(ASK, over(says("stop", pause_us=200 * MS)), responder=answering("One. " * 12))
    assert lane(played.turns[0].account, "reply:scripted").wasted_us >= 60 * MS


# --- what goes wrong beside it ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "take",
    [
        pytest.param(Take(text=""), id="ASR-02 an empty final text"),
        pytest.param(Take(never=True), id="ASR-14 a final text that never comes"),
        pytest.param(Take(error="the socket closed"), id="a recogniser that fails"),
        pytest.param(Take(final_us=20 * SECOND), id="a final text 20 s late"),
    ],
)
async def test_the_partial_text_has_to_do_and_the_answer_is_in_time(take):
    """ASR-02, ASR-14."""
    row = await one(says("check my balance", after_us=0), takes=[take])
    assert row.utterance.trust == "partial"
    assert row.asked in {"check my", "check my balance"}
    assert row.account.outcome == "answered"
    assert after(row.account, row.account.first_sound_us) <= 800 * MS
    assert any(decision.took == "partial text" for decision in row.account.decisions)


@pytest.mark.parametrize("text", ["thank you", "yes", "you", "no no no"])
async def test_short_answers_reach_the_dialogue(text):
    """ASR-12."""
    responder = Answers((0, "All right."))
    await play(says(text), responder=responder)
    assert [said for said, _ in responder.asked] == [text]


@pytest.mark.parametrize("fault", ["hang", "raise", "empty"])
async def test_a_voice_that_fails_costs_the_answer_and_not_the_promise(fault):
    """TTS-01, TTS-04, TTS-07: the second of three turns has no voice, and sounds in time all the same."""
    voice = ScriptedSynthesizer(faults={1: fault})
    played = await play(ASK, says("and my limit"), says("and my card"), voice=voice)
    for row in played.turns:
        check_account(row)
        assert after(row.account, row.account.first_sound_us) <= 800 * MS
    assert played.outcomes == ["answered", "failed", "answered"]
    assert played.turns[2].asked == "and my card"
    after_it = [("caller", "and my limit", False), ("caller", "and my card", False)]
    assert played.history[2:4] == after_it, "an apology is no part of the conversation (LLM-10)"
    bridged = fault == "hang"
    assert played.turns[1].said == (f"{BRIDGE} {APOLOGY}" if bridged else APOLOGY)


class Mute(ScriptedSynthesizer):
    """A voice that breaks its contract: silence, nothing at all, or no end of waiting."""

    def __init__(self, gives):
        super().__init__()
        self._gives = gives

    async def render(self, text, budget=None):
        spoken = await super().render(text, budget)
        if self._gives is None:
            await clock.sleep(NEVER)
        return type(spoken)(text, audio.silence(self._gives), 0, "tone")


@pytest.mark.parametrize("gives", [0, audio.RATE, None])
async def test_a_voice_that_breaks_its_contract_is_not_played(gives):
    """TTS-01, TTS-04: nothing that cannot be heard is taken for an answer."""
    row = await one(ASK, voice=Mute(gives))
    assert row.account.outcome == "failed"
    assert row.said.endswith(APOLOGY)


async def test_a_long_reply_loses_none_of_its_sentences():
    """TTS-07: twelve sentences, heard for longer than the patience for the first of them."""
    reply = " ".join(f"This is the sentence with the number {name}." for name in "abcdefghijkl")
    played = await play(ASK, stays(40 * SECOND), responder=answering(reply), patience_us=3 * SECOND)
    [row] = played.turns
    assert row.said == reply
    assert played.history[-1] == ("agent", reply, False)


async def test_a_reply_that_breaks_in_the_middle_is_not_called_whole():
    played = await play(
        ASK, responder=answering("One two. Three four."), voice=ScriptedSynthesizer(faults={1: "raise"})
    )
    [row] = played.turns
    assert (row.account.outcome, row.said) == ("answered", "One two.")
    assert played.history[-1] == ("agent", "One two.", True)


class Forgetful(ScriptedSynthesizer):
    """A voice that never comes back with a second piece, whatever its budget."""

    async def render(self, text, budget=None):
        if self.rendered:
            await clock.sleep(NEVER)
        return await super().render(text, budget)


async def test_a_piece_that_never_comes_ends_the_reply_and_not_the_call():
    """TTS-01."""
    reply = answering("One two three. Four five six.")
    played = await play(ASK, stays(10 * SECOND), responder=reply, voice=Forgetful())
    [row] = played.turns
    assert (row.account.outcome, row.said) == ("answered", "One two three.")
    [given_up] = [one.at_us for one in row.account.decisions if one.took == "reply given up"]
    assert given_up < row.account.closed_us + 3 * SECOND, "silence behind half a reply is ours"
    assert played.call.dangling == ()


@each("given", [ValueError("no such table"), None, "", "🙂", 7])
async def test_a_responder_that_gives_nothing_is_apologised_for_at_once(given):
    row = await one(ASK, responder=Answers((0, given)))
    assert (row.account.outcome, row.said) == ("failed", APOLOGY)
    assert after(row.account, row.account.first_sound_us) <= 800 * MS
    assert "apology" in [decision.took for decision in row.account.decisions]


@pytest.mark.parametrize(
    ("ready_ms", "said"),
    [(385, "Ten."), (410, f"{BRIDGE} Ten."), (2_500, f"{BRIDGE} Ten.")],
    ids=["in time", "just too late", "far too late"],
)
async def test_a_bridge_comes_once_before_the_answer_or_not_at_all(ready_ms, said):
    """TURN-15: never last, never over the answer."""
    played = await play(
        ASK,
        responder=answering("Ten.", delay_us=(ready_ms - 230) * MS),
        endpointing=SHORT,
        budget_us=400 * MS,
        forecast=Forecast({}),
    )
    [row] = played.turns
    check_account(row)
    assert row.said == said
    assert after(row.account, row.account.first_sound_us) <= 400 * MS
    sent = [at for at, _ in played.line.sent]
    assert all(later - before >= audio.FRAME_US for before, later in pairwise(sent))


async def test_speech_without_words_is_asked_about():
    """VAD-11."""
    row = await one(murmurs(600 * MS))
    assert (row.account.outcome, row.said, row.asked) == ("answered", PARDON, "")


class Stalling(StageLine):
    """A line whose loop stands still for 600 ms when it is handed its first frame."""

    def send(self, frame):
        if not self.sent:
            asyncio.get_running_loop().block(600 * MS)
        super().send(frame)


async def test_one_stall_does_not_send_a_bridge_before_every_later_answer():
    """What a stalled loop took is no cost of delivery."""
    played = await play(ASK, *[says("and my limit")] * 3, line=Stalling)
    assert played.outcomes == ["answered"] * 4
    first, *later = (after(row.account, row.account.first_sound_us) // MS for row in played.turns)
    assert first > 1_100
    assert max(later) < 620


async def test_a_final_text_is_waited_for_when_the_bridge_covers_the_wait():
    """A responder that is always slow needs the true text, not an early one."""
    played = await play(
        says("transfer fifty", after_us=0),
        takes=[Take(text="transfer fifteen", final_us=650 * MS)],
        responder=answering("Done.", delay_us=1_500 * MS),
        forecast=Forecast({**PRIORS, "choose": Cost(1_500 * MS, 1_500 * MS)}),
    )
    [row] = played.turns
    check_account(row)
    assert (row.asked, row.utterance.trust) == ("transfer fifteen", "final")
    assert after(row.account, row.account.first_sound_us) <= 800 * MS
