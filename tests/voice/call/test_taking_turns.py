"""Whole calls: one answer a turn, to all that was said, whatever comes early, late, twice or not at all."""

from __future__ import annotations

import asyncio
from operator import attrgetter

import pytest
from aheads import Guesses
from laws import each

from turnbudget.testing.stage import (
    APOLOGY,
    ASK,
    BRIDGE,
    EIGHT,
    Answers,
    after,
    answering,
    began,
    checked,
    late,
    over,
    play,
    prepared,
    says,
    speech,
    stays,
)
from turnbudget.voice.asr.scripted import ScriptedTranscriber, Take
from turnbudget.voice.call.responder import Reply
from turnbudget.voice.errors import TtsError
from turnbudget.voice.lines.recording import Clip
from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import MS, SECOND
from turnbudget.voice.tts.scripted import ScriptedSynthesizer

HELLO = speech("Good day, this is the clinic, how can I help?", 3 * SECOND)
NOTICE = speech("This call is recorded for training and will be kept for thirty days.", 5 * SECOND)
STILL = speech("Are you still there?")


by_number = attrgetter("number")


def at_once(words, **more):
    return says(words, when="at once", **{"pause_us": 0, **more})


# --- beginnings -------------------------------------------------------------------------------------


@pytest.mark.parametrize("at_ms", [20, 100, 300, 900])
async def test_a_caller_who_speaks_at_pick_up_is_heard_and_greeted_once(at_ms):
    """VAD-10: the greeting yields, no word is lost, one reply answers the question."""
    responder = answering("Yes, it is.")
    clinic = at_once("hello is this the clinic", pause_us=at_ms * MS)
    played = checked(await play(clinic, stays(4 * SECOND), responder=responder, greeting=HELLO, **late()))
    [turn] = played.turns
    assert (turn.asked, turn.said) == ("hello is this the clinic", "Yes, it is.")
    assert [row.kind for row in played.rows].count("greeting") == 1
    greeted = [ended for start, ended in played.sounds if start < 2 * SECOND]
    assert all(ended <= began(played, "hello") + 300 * MS for ended in greeted)
    assert len(played.sounds) == len(greeted) + 1


async def test_a_hello_at_pick_up_lets_the_greeting_go_on():
    """VAD-10: whoever says "hello?" wants to hear it; with no notice nothing else is due."""
    hello = at_once("hello", pause_us=60 * MS)
    played = checked(await play(hello, stays(4 * SECOND), greeting=HELLO, **late()))
    assert [(row.kind, row.said) for row in played.rows] == [("greeting", HELLO.text)]


@pytest.mark.parametrize("at_ms", [0, 1_000, 4_500])
async def test_a_protected_notice_is_heard_whole_and_the_words_over_it_are_answered(at_ms):
    """TURN-12: spoken during the notice, at its very beginning, or over its end."""
    clip = at_once("what is my balance", pause_us=at_ms * MS)
    played = checked(await play(clip, stays(8 * SECOND), notice=NOTICE, greeting=HELLO, **late()))
    notice, turn = played.rows
    assert (notice.kind, notice.said, notice.account.outcome) == ("notice", NOTICE.text, "answered")
    assert (turn.asked, turn.said) == ("what is my balance", "Your balance is ten dollars.")
    (start, ended), (answered, _) = played.sounds
    assert ended - start == 5 * SECOND
    last_word_us = max(end for *_, end in played.words)
    assert answered - max(ended, last_word_us) <= 800 * MS


async def test_all_that_was_said_over_a_notice_is_answered_at_once():
    """TURN-12: two sentences and a cough between them; who does the waiting is in the account."""
    clips = (
        at_once("what is my balance", pause_us=500 * MS),
        stays(700 * MS),
        at_once("and my limit"),
        stays(8 * SECOND),
    )
    played = checked(await play(*clips, notice=NOTICE, **late()))
    _, turn = played.rows
    assert turn.asked == "what is my balance and my limit"
    assert "notice" in [entry.owner.name for entry in turn.account.entries]


async def test_what_a_caller_said_over_a_notice_has_a_row_even_if_they_hang_up():
    """TURN-12, MET-05: never answered, but said."""
    clips = (at_once("what is my balance", pause_us=500 * MS), stays(900 * MS))
    call = play(*clips, Clip(audio.silence(0), when="at once", hangs_up=True), notice=NOTICE)
    played = checked(await call)
    assert [(row.kind, row.asked, row.account.outcome) for row in sorted(played.rows, key=by_number)] == [
        ("notice", "", "cut"),
        ("turn", "what is my balance", "superseded"),
    ]


async def test_keys_over_a_notice_are_answered_after_it():
    """TURN-12: pressed, not said; else a key silences what sounds."""
    call, line, rows = prepared(stays(10 * SECOND), notice=NOTICE)

    async def press():
        await clock.sleep_until(2 * SECOND)
        for key in "42#":
            call.press(key)

    await asyncio.gather(call.run(), press())
    notice, turn = rows
    assert (notice.said, turn.asked, turn.utterance.text) == (NOTICE.text, "[keys]", "4 2")
    assert line.sent[0][0] + 5 * SECOND <= turn.account.first_sound_us <= line.sent[0][0] + 5_800 * MS


@each(("keys", "taken"), [("42#", "4 2"), ("x4#", "4"), ("9" + "12345678" * 4, "1 2 3 4 5 6 7 8 " * 4)])
async def test_keys_pressed_before_the_call_begins_are_its_first_answer(keys, taken):
    """A line may hand on keys while the call is still made ready; of very many the latest 32 are kept."""
    call, _, rows = prepared(stays(10 * SECOND))
    for key in keys:
        call.press(key)
    await call.run()
    assert [(row.kind, row.utterance.text) for row in rows] == [("turn", taken.strip())]


async def test_on_hold_nothing_sounds_whatever_text_comes():
    """A caller put on hold in mid-reply, with a text still to come, hears the rest when they are back."""
    call, line, rows = prepared(
        ASK,
        over(says("mhm", pause_us=SECOND)),
        stays(12 * SECOND),
        responder=answering(EIGHT),
        **late(takes=[Take(), Take(final_us=600 * MS)]),
    )

    async def hold():
        while not line.sent or clock.now() < line.sent[0][0] + 1_900 * MS:
            await clock.sleep(20 * MS)
        call.hold(on=True)
        held.append(clock.now())
        await clock.sleep(3 * SECOND)
        held.append(clock.now())
        call.hold(on=False)

    held = []
    await asyncio.gather(call.run(), hold())
    began_us, ended_us = held
    assert [at for at, _ in line.sent if began_us + audio.FRAME_US < at < ended_us] == []
    assert rows[0].said == EIGHT


async def test_the_greeting_follows_the_notice():
    played = checked(await play(stays(10 * SECOND), notice=NOTICE, greeting=HELLO))
    assert [row.kind for row in played.rows] == ["notice", "greeting"]


# --- one answer -------------------------------------------------------------------------------------


async def test_two_quick_utterances_get_one_answer():
    """TURN-11: "on Sunday I mean" 0.6 s after the question; no answer about any other day before it."""
    responder = Answers((100 * MS, "We open at nine on Monday."), (0, "On Sunday at ten."))
    clips = (at_once("what time do you open", after_us=0), stays(600 * MS), at_once("on Sunday I mean"))
    played = checked(await play(*clips, stays(4 * SECOND), responder=responder, **late()))
    assert responder.asked[-1][0] == "what time do you open on Sunday I mean"
    question_us = next(end for word, _, end in played.words if word == "open")
    [(start, _)] = played.sounds
    assert start - question_us <= 2_600 * MS
    assert [text for who, text, _ in played.history if who == "agent"] == ["On Sunday at ten."]


async def test_after_two_finals_and_a_barge_in_every_later_question_is_answered():
    """TURN-06: no two replies wait for each other."""
    clips = (
        at_once("uh", pause_us=SECOND),
        stays(450 * MS),
        at_once("I need a plumber"),
        over(says("in the morning", pause_us=116 * MS)),
        *[says(f"question number {name}", pause_us=400 * MS) for name in "abc"],
    )
    responder = Answers((300 * MS, "All right, I will see to it."))
    played = checked(await play(*clips, responder=responder, **late()))
    assert [row.asked for row in played.turns][-3:] == [f"question number {name}" for name in "abc"]
    assert set(played.outcomes[-3:]) <= {"answered", "bridged"}
    assert not {"silent", "failed"} & set(played.outcomes)


async def test_of_many_guesses_only_the_reply_to_the_final_text_is_heard():
    """TURN-07: a guess a word; the third ignores its cancellation for 5 s."""
    ahead = Guesses("Wrong, wrong, wrong.", stubborn=3)
    played = checked(
        await play(at_once("I want to book a small table"), stays(8 * SECOND), ahead=ahead, **late())
    )
    assert len(ahead.texts) >= 7
    [row] = played.turns
    assert row.said in {"Wrong, wrong, wrong.", "Your balance is ten dollars."}
    assert len(played.sounds) == 1
    assert len([who for who, *_ in played.history if who == "agent"]) == 1


@pytest.mark.parametrize(
    ("guessed", "final", "reused"),
    [
        ("whats my balance", "What's my balance?", True),
        ("what's my balance", "what's my balance on Friday", False),
    ],
)
async def test_work_on_a_guess_is_reused_for_the_same_words_only(guessed, final, reused):
    """TURN-08: case and punctuation are no other words; "on Friday" is."""
    take = Take(text=final, partials=((600 * MS, guessed),))
    ahead = Guesses("Made early.", on_pauses=False)
    clips = (at_once("what is my balance"), stays(3 * SECOND))
    played = checked(await play(*clips, ahead=ahead, asr=ScriptedTranscriber(takes=[take])))
    [row] = played.turns
    assert row.said == ("Made early." if reused else "Your balance is ten dollars.")
    assert (ahead.texts[0], row.asked) == (guessed, final)
    because = [one.because for one in row.account.decisions if one.took == "reply of guess"]
    assert because == [f"made on {guessed!r}"] * reused
    assert played.history[0] == ("caller", final, False)


async def test_every_word_of_a_streamed_reply_is_spoken_once():
    """TURN-14: a break in its middle, an end without a full stop."""

    class Streams:
        name = "streams"

        async def make_ready(self, _):
            """Have nothing to make ready."""

        async def answer(self, _):
            return Reply("Let me look.", self.name, rest=self._rest())

        async def _rest(self):
            await clock.sleep(3 * SECOND)
            yield "You have two bookings:"
            yield "one on Friday, one on Sunday"

    played = checked(await play(ASK, stays(9 * SECOND), responder=Streams()))
    [row] = played.turns
    assert row.said == "Let me look. You have two bookings one on Friday, one on Sunday"
    assert len(played.sounds) == 2


async def test_a_stream_that_breaks_adds_nothing_twice():
    """LLM-12: what was heard stands in the context once, and the call goes on."""

    class Breaks:
        name = "breaks"
        asked = 0

        async def make_ready(self, _):
            """Have nothing to make ready."""

        async def answer(self, _):
            self.asked += 1
            if self.asked > 1:
                return Reply("The total is forty two euros.", self.name)
            return Reply("The total is", self.name, rest=self._rest())

        async def _rest(self):
            yield "forty."
            raise ConnectionResetError("reset")

    played = checked(await play(ASK, says("say that again", pause_us=SECOND), responder=Breaks()))
    said = [text for who, text, _ in played.history if who == "agent"]
    assert said[0] in {"The total is", "The total is forty."}
    assert said[1:] == ["The total is forty two euros."]


class Sleepy(ScriptedSynthesizer):
    """A voice whose connection is closed after 30 s without a text; to open it again takes a second."""

    def __init__(self, *, opens):
        super().__init__()
        self._opens, self._last_us = opens, 0

    async def render(self, text, budget=None):
        idle_us, self._last_us = clock.now() - self._last_us, clock.now()
        if idle_us > 30 * SECOND:
            await clock.sleep(SECOND)
            if not self._opens:
                raise TtsError("the connection is gone", where=self.name)
        return await super().render(text, budget)


@pytest.mark.parametrize(("opens", "said"), [(True, "Ten dollars."), (False, APOLOGY)])
async def test_a_voice_that_fell_asleep_in_a_quiet_call_is_not_mute(opens, said):
    """TTS-17: the caller speaks at 45 s; something sounds in time, and the turn after is as any."""
    clips = (ASK, stays(45 * SECOND), at_once("what is my balance"), says("and my limit"))
    responder = Answers((0, "Ten dollars."))
    played = checked(await play(*clips, responder=responder, voice=Sleepy(opens=opens)))
    assert [row.said for row in played.turns] == ["Ten dollars.", f"{BRIDGE} {said}", "Ten dollars."]
    for row in played.turns:
        assert after(row.account, row.account.first_sound_us) <= 800 * MS
