"""What has an effect is done once, and what came of it is said until it has been heard."""

from __future__ import annotations

import asyncio

import pytest
from panel import LAST_US, Says, table

from turnbudget.agents.agent import Action, Opinion
from turnbudget.agents.handoff import Handoff
from turnbudget.council.actions import Actions
from turnbudget.voice.call.responder import Said
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import MS, SECOND


class Till:
    """A tool that keeps count."""

    def __init__(self, *, after_us=0, result="receipt 7", error=None):
        self.ran = []
        self._after_us, self._result, self._error = after_us, result, error

    async def __call__(self, arguments, key):
        self.ran.append((dict(arguments), key))
        if self._after_us:
            await clock.sleep(self._after_us)
        if self._error:
            raise self._error
        return self._result


def paying(said="Paid, {result}.", **more):
    """Pays whenever the caller says yes."""
    action = Action("pay", {"amount": "7"}, "The payment failed.")
    opinion = Opinion(said, 0.9, action=action, state="paid", slots={"paid": "7"}, **more)
    return Says("pay", lambda words, _: opinion if "yes" in words else None)


async def test_an_action_runs_once_and_its_result_is_in_the_reply():
    till = Till()
    async with table(paying(), tools={"pay": till}) as call:
        assert (await call.talk("yes")).text == "Paid, receipt 7."
        assert [arguments for arguments, _ in till.ran] == [{"amount": "7"}]
        assert dict(call.council.known.slots) == {"paid": "7"}
        assert [(lane.name, lane.outcome) for lane in call.ledger.lanes] == [
            ("seat:pay", "chosen"),
            ("action:pay", "done"),
        ]
        assert "action pay" in call.took


@pytest.mark.parametrize(
    ("error", "because"), [(None, "done in 300 ms"), (ValueError("no"), "failed after 300 ms: ")]
)
async def test_the_log_says_how_long_an_action_took(error, because):
    async with table(paying(), tools={"pay": Till(after_us=300 * MS, error=error)}) as call:
        await clock.sleep(7 * SECOND)
        await call.talk("yes")
        [told] = [one.because for one in call.ledger.decisions if one.took == "action pay"]
        assert told.startswith(because)


async def test_nothing_is_done_while_the_caller_may_still_go_on():
    till = Till()
    async with table(paying(), tools={"pay": till}) as call:
        asking = call.ask("yes", act_at_us=clock.now() + 400 * MS)
        reply = call.crew.create_task(asking, name="the turn")
        await clock.sleep(399 * MS)
        assert not till.ran
        assert (await reply).text == "Paid, receipt 7."


async def test_nothing_is_done_while_the_caller_speaks():
    till, silent = Till(), asyncio.Event()
    async with table(paying(), tools={"pay": till}) as call:
        reply = call.crew.create_task(call.ask("yes", quiet=silent.wait), name="the turn")
        await clock.sleep(400 * MS)
        assert not till.ran
        silent.set()
        assert (await reply).text == "Paid, receipt 7."


async def test_only_the_action_of_the_chosen_opinion_runs():
    till, other = Till(), Till()
    loser = Says("loser", Opinion("Sold.", 0.6, action=Action("sell")))
    async with table(paying(), loser, tools={"pay": till, "sell": other}) as call:
        await call.talk("yes")
        assert (len(till.ran), other.ran) == (1, [])


@pytest.mark.parametrize("tools", [{"pay": Till(error=ValueError("no funds"))}, {}])
async def test_a_failed_action_is_spoken_and_changes_nothing(tools):
    agent = paying(expects="more")
    async with table(agent, tools=tools) as call:
        reply = await call.talk("yes")
        assert reply.text == "The payment failed."
        known = call.council.known
        assert (dict(known.slots), dict(known.states), known.asked_by, known.expects) == ({}, {}, "", "")


async def test_the_rest_of_a_reply_whose_action_failed_is_closed_and_not_said():
    closed = []

    async def more():
        try:
            yield "And you have won."
            yield "A lot."
        finally:
            closed.append(True)

    rest = more()
    await anext(rest)
    async with table(paying(rest=rest), tools={"pay": Till(error=ValueError("no"))}) as call:
        reply = await call.ask("yes")
        assert [text async for text in reply.rest] == []
        await clock.sleep(1)
        assert closed


async def test_the_same_words_asked_again_do_not_run_it_again():
    """The turn is superseded before its reply has sounded, and asked again with more words."""
    till = Till()
    async with table(paying(), tools={"pay": till}) as call:
        assert (await call.ask("yes")).text == "Paid, receipt 7."
        assert (await call.ask("yes")).text == "Paid, receipt 7."
        assert (await call.ask("yes please")).text == "Paid, receipt 7."
        assert (await call.ask("well yes please")).text == "Paid, receipt 7."
        assert len(till.ran) == 1


async def test_what_was_done_and_is_wished_again_is_told_once():
    till = Till()
    async with table(paying(), tools={"pay": till}) as call:
        await call.ask("yes")
        assert (await call.ask("yes yes")).text == "Paid, receipt 7."
        assert len(till.ran) == 1


async def test_what_is_owed_is_not_told_again_behind_what_is_said_meanwhile():
    sold = Opinion("Sold.", 0.9, action=Action("sell", meanwhile="One moment."))
    selling = Says("sell", lambda said, _: sold if said == "sell" else None)
    async with table(paying(), selling, tools={"pay": Till(), "sell": Till()}) as call:
        await call.ask("yes")
        reply = await call.ask("yes sell")
        rest = [text async for text in reply.rest]
        assert [reply.text, *rest] == ["Paid, receipt 7. One moment.", "Sold."]


async def test_who_asks_again_for_what_is_under_way_is_not_asked_to_wait_again():
    sold = Opinion("Sold.", 0.9, action=Action("sell", meanwhile="One moment."))
    till = Till()
    async with table(Says("sell", sold), tools={"sell": till}) as call:
        first = await call.ask("sell")
        assert [first.text, *[text async for text in first.rest]] == ["One moment.", "Sold."]
        again = await call.ask("sell please")
        assert [again.text, *[text async for text in again.rest]] == ["Sold."]
        assert len(till.ran) == 1


async def test_the_question_behind_an_action_asked_for_twice_is_open():
    till = Till(after_us=SECOND)
    async with table(paying("Paid, {result}. How much more?", expects="more"), tools={"pay": till}) as call:
        turn = call.crew.create_task(call.ask("yes"), name="turn")
        await clock.sleep(100 * MS)
        turn.cancel()
        await call.ask("well yes")
        assert (call.council.known.asked_by, call.council.known.expects) == ("pay", "more")


async def test_what_was_done_is_told_before_new_words_are_answered_and_never_taken_back():
    till = Till()
    wait = Says("wait", lambda words, _: "I am waiting." if words == "no wait" else None)
    async with table(paying(), wait, tools={"pay": till}) as call:
        await call.ask("yes")
        reply = await call.talk("yes no wait")
        assert reply.text == "Paid, receipt 7. I am waiting."
        assert dict(call.council.known.states)["pay"] == "paid"
        assert (await call.talk("no wait")).text == "I am waiting."


async def test_a_turn_broken_off_does_not_break_off_its_action():
    till = Till(after_us=SECOND)
    async with table(paying(), tools={"pay": till}) as call:
        turn = call.crew.create_task(call.ask("yes"), name="turn")
        await clock.sleep(100 * MS)
        turn.cancel()
        began = clock.now()
        assert (await call.ask("yes please")).text == "Paid, receipt 7."
        assert clock.now() - began == 900 * MS
        assert len(till.ran) == 1
        assert dict(call.council.known.slots) == {"paid": "7"}


async def test_the_same_action_in_a_later_exchange_runs_again_under_another_key():
    till = Till()
    async with table(paying(), tools={"pay": till}) as call:
        await call.talk("yes")
        await call.talk("yes")
        assert len({key for _, key in till.ran}) == 2


async def test_a_failed_action_is_not_tried_again_for_the_same_words():
    till = Till(error=ValueError("no"))
    async with table(paying(), tools={"pay": till}) as call:
        await call.ask("yes")
        assert (await call.ask("yes")).text == "The payment failed."
        assert len(till.ran) == 1


async def test_an_action_that_outlasts_the_patience_is_told_when_it_is_done():
    till = Till(after_us=LAST_US + SECOND)
    async with table(paying(), Says("hours", "We open at nine.", 0.3), tools={"pay": till}) as call:
        began = clock.now()
        assert (await call.talk("yes")).text == call.council.wording.still
        assert clock.now() - began == LAST_US
        assert "action under way" in call.took
        assert (await call.talk("well")).text == "We open at nine."
        await clock.sleep(2 * SECOND)
        assert (await call.talk("and now")).text == "Paid, receipt 7. We open at nine."
        assert (await call.talk("fine")).text == "We open at nine."


async def test_a_reply_that_was_cut_early_is_told_again_and_one_heard_in_the_main_is_not():
    agent = Says("hours", "We open at nine.", 0.3)
    for heard, again in (("Paid,", True), ("Paid, receipt", False)):
        async with table(paying(), agent, tools={"pay": Till()}) as call:
            await call.ask("yes")
            call.history += [Said("caller", "yes"), Said("agent", heard, cut=True)]
            assert (await call.ask("go on")).text.startswith("Paid") is again


async def test_a_hang_up_breaks_an_action_off_and_says_so():
    till = Till(after_us=100 * SECOND)
    async with table(paying(), tools={"pay": till}) as call:
        turn = call.crew.create_task(call.ask("yes"), name="turn")
        await clock.sleep(MS)
        turn.cancel()
    assert call.ledger.decisions[-1].because.endswith("broken off")


def test_keys_differ_by_call_exchange_and_content_and_by_nothing_else():
    action = Action("pay", {"to": "a", "amount": "7"})
    key = Actions({}, "call").key(action, 1)
    assert key == Actions({}, "call").key(Action("pay", {"amount": "7", "to": "a"}), 1)
    others = {
        Actions({}, "other").key(action, 1),
        Actions({}, "call").key(action, 2),
        Actions({}, "call").key(Action("pay", {"to": "a", "amount": "8"}), 1),
        Actions({}, "call").key(Action("sell", {"to": "a", "amount": "7"}), 1),
    }
    assert len({key, *others}) == 5


async def test_a_tool_that_leaves_by_cancelling_itself_is_no_end_of_the_call():
    async def leave(*_):
        raise asyncio.CancelledError

    async with table(paying(), tools={"pay": leave}) as call:
        assert (await call.ask("yes")).text == "The payment failed."


async def test_the_offer_of_a_person_after_a_failure_can_be_taken():
    failing = Opinion("Paid.", 0.9, action=Action("pay"))
    pay = Says("pay", lambda words, _: failing if words == "pay it" else None)
    async with table(pay, Handoff(), tools={}) as call:
        assert (await call.talk("pay it")).text.endswith("Shall I connect you to a person?")
        assert (await call.talk("yes please")).by == "handoff"
        assert "transfer" in call.took
