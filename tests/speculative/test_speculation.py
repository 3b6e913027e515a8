"""One call's work ahead: what is taken up, what is dropped, what is told of it, and that nothing leaks."""

from __future__ import annotations

import pytest
from guessing import LONG, QUICK, USUAL, Answers, talking
from msgspec import structs
from spoken import GREETING, calls
from voices import Voice

from turnbudget.speculative.bank.bank import Ending
from turnbudget.speculative.bank.mine import mine
from turnbudget.speculative.prepare import Ranks
from turnbudget.speculative.speculation import CallBank, SharedBank
from turnbudget.voice.call.responder import Reply, Said
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import MS

READY, OTHER = "Yes, it is.", "No, it is not."


def guesses(ledger):
    return [(guess.said, guess.outcome) for guess in ledger.guesses if guess.said]


def foreseen(ledger):
    return {guess.text: guess for guess in ledger.guesses if not guess.said}


async def test_the_head_start_on_the_final_words_is_kept_and_the_others_are_waste():
    async with talking(Answers(READY, delay_us=50 * MS)) as talk:
        talk.listening()
        await talk.pause("move", 20 * MS)
        talk.speculation.went_on()
        await talk.pause("move fifty", 200 * MS)
        ledger = talk.settle("Move fifty.")
        assert guesses(ledger) == [("move", "dropped"), ("move fifty", "kept")]
        dropped, kept = [lane for lane in ledger.lanes if lane.name == "head start"]
        assert (dropped.outcome, dropped.wasted_us, dropped.saved_us) == ("dropped", 20 * MS, 0)
        assert (kept.outcome, kept.wasted_us, kept.saved_us) == ("kept", 0, 50 * MS)
        assert "silence" in [one.took for one in ledger.decisions]


@pytest.mark.parametrize("said", ["move fifty", "Move fifty!", "move, uh, fifty"])
async def test_words_that_are_written_otherwise_are_the_same(said):
    """TURN-08."""
    async with talking(Answers(READY)) as talk:
        talk.listening()
        await talk.pause("move fifty")
        assert guesses(talk.settle(said)) == [("move fifty", "kept")]


@pytest.mark.parametrize("said", ["move fifteen", "move fifty on friday", "don't move fifty", ""])
async def test_any_other_words_are_not(said):
    """TURN-08."""
    async with talking(Answers(READY)) as talk:
        talk.listening()
        await talk.pause("move fifty")
        assert guesses(talk.settle(said)) == [("move fifty", "dropped")]


async def test_what_was_broken_off_is_not_kept_though_the_words_are_the_same():
    """The caller coughs: the work was cancelled, and nothing of it is saved."""
    async with talking(Answers(READY, delay_us=300 * MS)) as talk:
        talk.listening()
        await talk.pause("move fifty", 100 * MS)
        talk.speculation.went_on()
        await clock.sleep(500 * MS)
        assert guesses(talk.settle("move fifty")) == [("move fifty", "dropped")]


async def test_what_had_come_before_a_cough_is_kept():
    async with talking(Answers(READY)) as talk:
        talk.listening()
        await talk.pause("move fifty", 100 * MS)
        talk.speculation.went_on()
        await clock.sleep(500 * MS)
        assert guesses(talk.settle("move fifty")) == [("move fifty", "kept")]


async def test_a_head_start_that_failed_has_saved_nothing_for_it_is_asked_again():
    async with talking(Answers(ZeroDivisionError("odd"), READY, delay_us=50 * MS)) as talk:
        ledger = await talk.say("move fifty")
        assert guesses(ledger) == [("move fifty", "dropped")]
        [lane] = [lane for lane in ledger.lanes if lane.name == "head start"]
        assert (lane.outcome, lane.wasted_us, lane.saved_us) == ("dropped", 50 * MS, 0)


TAXI, DAY = "I would like to book a taxi", "What day would you like the taxi?"


@pytest.mark.parametrize(("ends", "silence"), [(19, QUICK), (1, LONG)])
async def test_where_the_bank_has_the_reply_nobody_else_is_asked_and_it_says_how_long_to_wait(ends, silence):
    """That a reply is known does not make the words whole: how many had ended there does."""
    bank = mine(calls(40))
    ending = Ending(span="turn", counts={TAXI.lower(): (ends, 20)})
    known = CallBank(SharedBank(structs.replace(bank, ending=(ending,)), 0.4, alone=True))
    responder = Answers(READY, delay_us=500 * MS)
    async with talking(responder, bank=known) as talk:
        talk.history.append(Said("agent", GREETING))
        ledger = await talk.say(TAXI)
        assert talk.silences(1)[-1] == silence
        assert responder.asked == []
        assert talk.match(TAXI).text == DAY
        assert talk.speculation.opening(DAY)[1] == ""
        [(said, outcome)] = guesses(ledger)
        [lane] = [lane for lane in ledger.lanes if lane.name == "head start"]
        assert (said, outcome, lane.saved_us) == (TAXI, "kept", 0)


async def test_a_head_start_saves_no_more_than_the_turn_has_lasted():
    """What was done before a cough was not waited for; the turn counts from behind it."""
    async with talking(Answers(READY, delay_us=150 * MS)) as talk:
        talk.listening()
        await talk.pause("move fifty", 200 * MS)
        talk.speculation.went_on()
        await clock.sleep(500 * MS)
        talk.zero_us = clock.now() - 100 * MS
        [kept] = [lane for lane in talk.settle("move fifty").lanes if lane.name == "head start"]
        assert (kept.outcome, kept.saved_us) == ("kept", 100 * MS)


async def test_other_words_in_the_same_pause_end_the_head_start_on_the_first():
    responder = Answers(READY, OTHER, delay_us=100 * MS)
    async with talking(responder) as talk:
        talk.listening()
        await talk.pause("send mine", 50 * MS)
        await talk.pause("send nine of them", 300 * MS)
        assert responder.cancelled == 1
        assert talk.silences(1) == [USUAL]
        assert talk.silences(2)[-1] == QUICK


async def test_a_pause_without_a_head_start_is_no_long_one():
    """A caller goes on twice, once after a pause that nothing was known of: that is no pause of seconds."""
    async with talking(Answers(Reply(READY, "a"))) as talk:
        talk.listening()
        await talk.pause("move", 200 * MS)
        talk.speculation.went_on()
        await clock.sleep(3_000 * MS)
        talk.speculation.went_on()
        await talk.pause("send nine of them", 200 * MS)
        assert set(talk.silences(2)) == {USUAL}


async def test_a_caller_who_pauses_long_is_given_longer_for_four_pauses():
    async with talking(Answers(Reply(READY, "a"))) as talk:
        talk.listening()
        await talk.pause("one", 500 * MS)
        talk.speculation.went_on()
        await talk.pause("what is it", 10 * MS)
        assert set(talk.silences(2)) == {600 * MS}
        for _ in range(4):
            talk.speculation.went_on()
            await talk.pause("what is it", 10 * MS)
        assert set(talk.silences(6)) == {USUAL}


async def test_what_is_foreseen_is_rendered_while_the_caller_speaks_and_told():
    async with talking(Answers(READY, foresees=[OTHER, READY])) as talk:
        talk.listening()
        await clock.sleep(200 * MS)
        assert talk.shelf.has(READY)
        assert talk.shelf.has(OTHER)
        await talk.pause("what is it", 100 * MS)
        ledger = talk.settle("what is it")
        assert talk.speculation.opening(READY)[1] == ""
        said, unsaid = foreseen(ledger)[READY], foreseen(ledger)[OTHER]
        assert (said.outcome, said.ready, said.wasted_us) == ("said", True, 0)
        assert (unsaid.outcome, unsaid.ready, unsaid.wasted_us) == ("not said", True, talk.voice.cost_us)
        assert said.odds < unsaid.odds


async def test_the_cpu_of_a_render_is_told_where_it_was_not_used_and_once():
    """The reply foreseen and not said cost CPU in vain; what sounds did not, nor what was paid for before."""
    async with talking(Answers(READY, foresees=[OTHER, READY]), voice=Voice(cpu_us=7)) as talk:
        talk.listening()
        await clock.sleep(200 * MS)
        await talk.pause("what is it", 100 * MS)
        ledger = talk.settle("what is it")
        talk.speculation.opening(READY)
        assert {guess.text: guess.cpu_us for guess in ledger.guesses} == {READY: 0, OTHER: 7}
        assert [guess.cpu_us for guess in (await talk.say("and what is it")).guesses] == [0, 0, 0]


async def test_the_cpu_of_a_dropped_head_start_is_waste_unless_its_reply_sounds_after_all():
    async with talking(Answers(READY, OTHER), voice=Voice(cpu_us=7)) as talk:
        talk.listening()
        await talk.pause("move")
        talk.speculation.went_on()
        await talk.pause("move fifty")
        dropped, kept = talk.settle("move fifty").guesses
        assert (dropped.cpu_us, kept.cpu_us) == (7, 0)
        talk.speculation.opening(READY)
        assert dropped.cpu_us == 0


async def test_a_render_that_two_wait_for_is_charged_to_one():
    """The head start joins what is being rendered for a reply foreseen."""
    async with talking(Answers(READY, foresees=[READY]), voice=Voice(cpu_us=7)) as talk:
        talk.listening()
        await clock.sleep(talk.voice.cost_us // 2)
        await talk.pause("what is it", 100 * MS)
        assert [guess.cpu_us for guess in talk.settle("no").guesses] == [0, 7]


async def test_a_reply_of_two_sentences_was_foreseen_if_its_first_one_was():
    ranks = Ranks()
    async with talking(Answers(READY, foresees=[f"{READY} Anything else?"]), ranks=ranks) as talk:
        before = ranks.odds(0)
        ledger = await talk.say("what is it")
        assert talk.speculation.opening(READY) is not None
        assert ranks.odds(0) > before
        assert foreseen(ledger)[f"{READY} Anything else?"].outcome == "said"


async def test_it_matches_by_what_we_said_last_and_not_when_the_caller_began():
    """CA-04: the question that was cut by the answer came after the caller had begun to speak."""
    known = CallBank(SharedBank(mine(calls(40)), 0.4, alone=True))
    async with talking(Answers(READY), bank=known) as talk:
        talk.history.append(Said("agent", GREETING))
        talk.listening()
        assert talk.match("I would like to book a taxi").text.startswith("What day")
        talk.hear("I would like to book a taxi", "What is the order number?")
        assert talk.match("I would like to book a taxi") is None


async def test_the_bank_says_whether_callers_go_on_from_here():
    known = CallBank(SharedBank(mine(calls(40)), 0.4, alone=True))
    async with talking(Answers(READY), bank=known) as talk:
        talk.history.append(Said("agent", GREETING))
        talk.listening()
        await talk.pause("hello my name is mary", 10 * MS)
        assert talk.silences(1)[0] == LONG


async def test_a_hang_up_ends_all_work_and_forgets_all_sound():
    responder = Answers(READY, delay_us=10_000 * MS, foresees=[OTHER])
    async with talking(responder) as talk:
        talk.listening()
        await clock.sleep(100 * MS)
        await talk.pause("what is it", 10 * MS)
        assert talk.shelf.has(OTHER)
        talk.speculation.hang_up()
        await clock.sleep(10 * MS)
        assert responder.cancelled == 1
        assert not talk.shelf.has(OTHER)
