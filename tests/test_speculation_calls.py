"""Whole calls with work ahead of the caller's last word: what is heard of us, and when."""

from __future__ import annotations

import asyncio
import contextlib

import pytest
from speculating import Revising, Table, settled, shelved_voice, speak, spoken
from spoken import GREETING, calls

from turnbudget.speculative.bank.mine import mine
from turnbudget.speculative.prepare import Ranks
from turnbudget.speculative.speculation import CallBank, SharedBank, Speculation
from turnbudget.testing.stage import check_account, prepared, speech, stays
from turnbudget.voice.call.responder import Reply
from turnbudget.voice.hearing.endpoint import Endpointing
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import MS, SECOND

BALANCE = "It is ten dollars."
THANKS = "Thank you, I have that."


# --- time -------------------------------------------------------------------------------------------


async def test_a_whole_sentence_whose_reply_is_ready_is_answered_at_once():
    table = Table({"what is my balance": BALANCE})
    spoke = await speak(spoken("what is my balance"), responder=table, warm=[BALANCE])
    assert (spoke.outcomes, spoke.texts) == (["shelved"], [BALANCE])
    assert spoke.first_answers()[0] <= Endpointing().settled_us // MS + 20
    check_account(spoke.turns[0])


async def test_digits_with_long_pauses_between_them_are_one_turn():
    """VAD-01: and its clock starts at the last digit."""
    number = spoken("my number is five five five", 700, "oh one", 650, "oh oh", pause_us=0)
    spoke = await speak(number, responder=Table({}, THANKS))
    assert [row.asked for row in spoke.turns] == ["my number is five five five oh one oh oh"]
    assert spoke.texts == [THANKS]
    last_digit_us = spoke.call.epoch_us + spoke.line.said_us
    assert abs(spoke.turns[0].account.zero_us - last_digit_us) <= 20 * MS


async def test_what_is_foreseen_while_keys_are_pressed_follows_what_was_said_last():
    """It is rendered meanwhile; what was foreseen of the turn before is told there, and not again."""

    class Numbered(Table):
        def foreseen(self):
            return (f"That was answer {sum(not guess for _, guess in self.asked)}.",)

    table = Numbered({}, "That was answer 1.")
    async with shelved_voice() as (voice, shelf):
        ahead = Speculation(table, shelf.for_call(), bounds=Endpointing(), ranks=Ranks())
        clips = spoken("what is my balance"), stays(10 * SECOND)
        call, _, rows = prepared(*clips, responder=table, voice=voice, ahead=ahead)

        async def press():
            await clock.sleep_until(call.epoch_us + 5 * SECOND)
            for key in "42#":
                call.press(key)
                await clock.sleep(200 * MS)

        await asyncio.gather(call.run(), press())
    foreseen = [[(one.text, one.outcome) for one in row.account.guesses if not one.said] for row in rows]
    assert foreseen == [[("That was answer 0.", "not said")], [("That was answer 1.", "said")]]
    assert rows[1].account.outcome == "shelved"


@pytest.mark.parametrize("letters", [("B", 600, "R", 600, "A"), ("B", 600, "R", 600, "A", 600, "D")])
def test_spelled_letters_are_one_turn(letters):
    """VAD-01: nothing of ours sounds before a second of silence."""
    spoke = clock.run(speak(spoken(*letters), responder=Table({}, THANKS)), "virtual")
    assert [row.asked for row in spoke.turns] == [" ".join(letters[::2])]
    assert spoke.first_answers()[0] >= 1_200


async def test_a_thinking_pause_is_no_end():
    """VAD-02: one turn, and the reply begun at the first pause is dropped unheard."""
    table = Table(
        {"can you change the": "Change what?", "can you change the uh delivery address": "To which one?"},
        open_=["can you change the"],
    )
    spoke = await speak(spoken("can you change the", 450, "uh", 500, "delivery address"), responder=table)
    assert spoke.texts == ["To which one?"]
    assert spoke.history[0] == ("caller", "can you change the uh delivery address", False)
    assert spoke.guesses()[0] == ("can you change the", "dropped")
    assert "Change what?" in spoke.voice.texts


async def test_who_goes_on_as_soon_as_we_sound_is_answered_once_for_all_of_it():
    """The words join into one turn, for nobody reacts to a sound within 200 ms of it."""
    table = Table({"move fifty": "From where?", "move fifty to savings": "Alright, to savings."})
    spoke = await speak(spoken("move fifty", 250, "to savings"), responder=table, warm=["From where?"])
    first, last = spoke.turns
    assert (first.account.outcome, last.asked) == ("cut", "move fifty to savings")
    assert [one for one in spoke.history if one[0] == "caller"] == [
        ("caller", "move fifty to savings", False)
    ]
    began, stopped = spoke.heard[0][0], max(at for at, text in spoke.frames if text == "From where?")
    assert stopped - began <= 400 * MS
    assert spoke.texts[-1] == "Alright, to savings."


async def test_who_speaks_long_after_we_began_is_answered_anew():
    table = Table({"move fifty": "From where?", "to savings": "Alright, to savings."})
    spoke = await speak(spoken("move fifty", 700, "to savings"), responder=table, warm=["From where?"])
    assert [row.asked for row in spoke.turns] == ["move fifty", "to savings"]


# --- one reply --------------------------------------------------------------------------------------


async def stubborn(_):
    """Ignores its cancellation for five seconds."""
    until = clock.now() + 5 * SECOND
    while clock.now() < until:
        with contextlib.suppress(BaseException):
            await clock.sleep_until(until)
    return Reply("Wrong.", "table", completeness="whole")


async def test_only_the_reply_for_the_final_text_is_heard():
    """TURN-07: seven guesses in one turn, the third of which ignores its cancellation for five seconds."""
    words = ["i", "would", "like", "a", "card", "for", "travelling"]
    parts = [part for word in words for part in (word, 180)][:-1]
    texts = [" ".join(words[:count]) for count in range(1, 8)]
    table = Table({text: f"You said {len(text)}." for text in texts} | {texts[2]: stubborn})
    table.open = texts[:-1]
    again = spoken("what is my balance", 200, "please", pause_us=500 * MS)
    table.says["what is my balance please"] = BALANCE
    spoke = await speak(spoken(*parts), again, responder=table)
    assert [said for said, guess in table.asked if guess][:7] == texts
    assert spoke.texts == [f"You said {len(texts[-1])}.", BALANCE]
    assert [outcome for _, outcome in spoke.guesses(0)] == ["dropped"] * 6 + ["kept"]
    assert not spoke.call.dangling


async def test_a_final_text_that_is_only_written_otherwise_takes_up_the_guess():
    """TURN-08: as early as if nothing had changed, and history has the final form."""
    same = {"what is my balance": BALANCE, "What is my balance?": BALANCE}
    plain = await speak(spoken("what is my balance"), responder=Table(same), warm=[BALANCE])
    asr = Revising(["what is my balance"], final="What is my balance?")
    spoke = await speak(spoken("what is my balance"), responder=Table(same), asr=asr, warm=[BALANCE])
    assert spoke.first_answers() == plain.first_answers()
    assert spoke.guesses() == [("what is my balance", "kept")]
    assert spoke.history[0] == ("caller", "What is my balance?", False)


async def test_a_final_text_with_a_word_more_does_not():
    """TURN-08: "what's my balance on Friday" is another question."""
    asr = Revising(["whats my balance"], final="What's my balance on Friday?")
    table = Table({"whats my balance": BALANCE, "What's my balance on Friday?": "It was twelve."})
    spoke = await speak(spoken("what is my balance"), responder=table, asr=asr, warm=[BALANCE])
    assert spoke.texts == ["It was twelve."]
    assert spoke.guesses() == [("whats my balance", "dropped")]


async def test_what_flapping_partials_say_is_never_heard():
    """ASR-09: "cancel", "cancel my", "can you sell my", and in the end "can you sell my ticket"."""
    flaps = ["cancel", "cancel my", "can you sell my", "can you sell my ticket"]
    table = Table(
        {"cancel": "Cancelled.", "cancel my": "Cancelled, all of it.", flaps[-1]: "Yes, I can sell it."},
        open_=flaps[:-1],
    )
    clip = spoken("can you", 200, "sell", 200, "my", 200, "ticket")
    spoke = await speak(clip, responder=table, asr=Revising(flaps), warm=["Cancelled."])
    assert [said for said, _ in spoke.guesses()] == flaps
    assert spoke.texts == ["Yes, I can sell it."]
    assert spoke.said == spoke.texts


# --- the reply bank ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def library():
    return SharedBank(mine(calls(40)), 0.4, alone=True)


async def banked(library, said, **more):
    """A call that a reply bank may answer by itself; what else is said is "Sorry?"."""
    greeting = speech(GREETING)
    return await speak(spoken(said), responder=Table({}), bank=CallBank(library), greeting=greeting, **more)


async def test_a_reply_of_the_bank_is_heard_where_it_fits(library):
    """CA-01: "I'd like to cancel my order" does hit."""
    spoke = await banked(library, "I'd like to cancel my order please")
    assert "reply of reply bank" in spoke.took()
    assert spoke.texts[-1] == "What is the order number?"


@pytest.mark.parametrize(
    "said",
    ["don't cancel my order", "please do not cancel it", "never mind keep my order", "turn the alerts off"],
)
def test_the_opposite_of_a_stored_wish_is_not_answered_from_the_bank(library, said):
    """CA-01: when unsure, miss."""
    spoke = clock.run(banked(library, said), "virtual")
    assert spoke.texts == ["Sorry?"]


class Account:
    """One caller's balance; *asked* counts."""

    def __init__(self, balance):
        self.balance = balance
        self.asked = 0

    async def __call__(self, question):
        self.asked += not question.guess
        return settled(f"You have {self.balance} euros.")


async def test_what_one_caller_is_told_no_other_hears():
    """CA-03: nor is it kept: after a payment the first hears the new value."""
    async with shelved_voice() as (voice, shelf):
        heard = []
        for balance in (412, 88, 300):
            table = Table({"what is my balance": Account(balance)})
            spoke = await speak(spoken("what is my balance"), responder=table, voice=voice, shelf=shelf)
            heard += spoke.texts
            assert spoke.outcomes == ["shelved"]
            assert not shelf.has(f"You have {balance} euros.")
        assert heard == ["You have 412 euros.", "You have 88 euros.", "You have 300 euros."]


async def test_the_same_word_in_another_state_has_its_own_answer(library):
    """CA-04: "yes" to booking, "yes" to cancelling."""
    answers = {"Shall I book?": "It is booked.", "Shall I cancel?": "It is cancelled."}

    async def answer(question):
        return settled(answers[question.history[-1].text])

    async with shelved_voice() as (voice, shelf):
        for asked, answered in answers.items():
            spoke = await speak(
                spoken("yes"),
                responder=Table({"yes": answer}, foresees=answers.values()),
                voice=voice,
                shelf=shelf,
                warm=answers.values(),
                greeting=speech(asked),
                bank=CallBank(library),
            )
            assert spoke.texts[-1] == answered


# --- without it -------------------------------------------------------------------------------------

TALK = (
    spoken("hello"),
    spoken("i would like", 250, "a card", pause_us=600 * MS),
    spoken("what is my balance", pause_us=700 * MS),
    spoken("no thank you", pause_us=400 * MS),
)
SAYS = {
    "hello": "Hello, who is there?",
    "i would like a card": "Which card would you like?",
    "what is my balance": BALANCE,
    "no thank you": "Goodbye.",
}


@pytest.mark.parametrize("delay_us", [0, 300 * MS, 1_500 * MS])
def test_without_speculation_the_same_is_said_but_later(delay_us):
    texts = list(SAYS.values())
    on, off = (
        clock.run(
            speak(
                *TALK, responder=Table(SAYS, delay_us=delay_us, open_=["i would like"]), on=on, warm=texts[:2]
            ),
            "virtual",
        )
        for on in (True, False)
    )
    assert on.texts == off.texts
    assert on.history == off.history
    assert [row.asked for row in on.turns] == [row.asked for row in off.turns] == list(SAYS)
    assert {*on.outcomes, *off.outcomes} <= {"answered", "shelved", "bridged"}
    assert all(early <= late for early, late in zip(on.first_answers(), off.first_answers(), strict=True))
    assert sum(on.first_answers()) < sum(off.first_answers())
    for row in (*on.turns, *off.turns):
        check_account(row)
