"""One answer for one turn; what it changes, it changes once, and only if it was chosen."""

from __future__ import annotations

import pytest
from laws import each
from panel import FIRST_US, LAST_US, Says, Stream, council, sleeper, table

from turnbudget.agents.agent import Action, Opinion
from turnbudget.council.convene import Seat
from turnbudget.council.council import Council
from turnbudget.testing.stage import ASK, BRIDGE, over, play, says, stays
from turnbudget.voice.errors import ConfigError
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import MS, SECOND

# --- the dialogue -----------------------------------------------------------------------------------


async def test_state_slots_and_question_of_the_chosen_opinion_take_effect_and_no_other():
    chosen = Opinion("To which account?", 0.9, state="asked", slots={"from": "checking"}, expects="to")
    other = Opinion("Hello.", 0.5, state="greeted", slots={"from": "savings", "mood": "good"})
    form = Says("transfer", lambda *_: chosen)
    async with table(form, Says("smalltalk", lambda *_: other)) as call:
        await call.talk("move it from checking")
        await call.talk("savings")
        context = form.asked[1][1]
        assert dict(context.slots) == {"from": "checking"}
        assert dict(context.states) == {"transfer": "asked"}
        assert (context.asked_by, context.expects) == ("transfer", "to")
        assert [said.who for said in context.history] == ["caller", "agent"]


async def test_facts_of_the_call_reach_every_agent():
    agent = Says("a", "Yes.")
    async with table(agent, facts={"number": "+1"}) as call:
        await call.talk()
        assert dict(agent.asked[0][1].facts) == {"number": "+1"}


async def test_what_agents_are_given_cannot_be_changed_by_them():
    caught = []

    def spoil(_, context):
        for mapping in (context.slots, context.states, context.facts):
            try:
                mapping["spoilt"] = "yes"
            except TypeError as error:
                caught.append(error)
        return "Yes."

    async with table(Says("bad", spoil), facts={"number": "+1"}) as call:
        await call.talk()
        await call.talk()
    assert len(caught) == 6


async def test_a_slot_set_to_nothing_is_forgotten():
    given = [Opinion("One.", 0.9, slots={"a": "1", "b": "2"}), Opinion("Two.", 0.9, slots={"a": ""})]
    async with table(Says("form", lambda *_: given.pop(0))) as call:
        await call.talk()
        await call.talk()
        assert dict(call.council.known.slots) == {"b": "2"}


async def test_a_question_stays_open_until_somebody_else_has_spoken():
    given = [Opinion("Which account?", 0.9, expects="account"), None]
    form = Says("form", lambda *_: given.pop(0))
    async with table(
        form, Says("hours", lambda said, _: "We open at nine." if "open" in said else None)
    ) as call:
        await call.talk("transfer")
        assert call.council.known.asked_by == "form"
        await call.talk("when do you open")
        assert (call.council.known.asked_by, call.council.known.expects) == ("", "")


async def test_words_that_are_nobodys_matter_leave_the_question_open():
    given = [Opinion("Which account?", 0.9, expects="account"), None]
    async with table(Says("form", lambda *_: given.pop(0))) as call:
        await call.talk("transfer")
        assert (await call.talk("hm")).text == call.council.wording.otherwise
        assert call.council.last.kind == "otherwise"
        assert call.council.known.expects == "account"


async def test_what_an_unheard_reply_changed_is_taken_back_when_the_words_are_asked_again():
    agent = Says("form", lambda said, _: Opinion("To where?", 0.9, state=said, slots={said: "yes"}))
    async with table(agent) as call:
        await call.ask("move fifty")
        await call.ask("move fifty to savings")
        assert dict(agent.asked[1][1].states) == {}
        assert dict(call.council.known.slots) == {"move fifty to savings": "yes"}


# --- doubt -----------------------------------------------------------------------------------------


async def test_two_that_disagree_closely_make_a_question_and_change_nothing():
    one = Seat(Says("balance", Opinion("Ten dollars.", 0.9, slots={"a": "1"})), about="your balance")
    two = Seat(Says("card", Opinion("Which card?", 0.9, slots={"b": "1"})), about="a new card")
    async with table(one, two) as call:
        reply = await call.talk("my card balance")
        assert reply.text == "Sorry, do you mean your balance, or a new card?"
        assert reply.by == "council"
        assert call.lanes == {"balance": "heard", "card": "heard"}
        assert (call.council.last.kind, call.council.last.between) == ("clarification", ("balance", "card"))
        assert dict(call.council.known.slots) == {}
        assert (await call.talk("the balance")).by == "balance"


# --- guesses ---------------------------------------------------------------------------------------


async def test_a_guess_changes_nothing():
    form = Says("form", Opinion("Which account?", 0.9, state="asked", slots={"a": "1"}, expects="account"))
    async with table(form) as call:
        before = call.council.known
        reply = await call.ask("transfer", guess=True)
        assert (reply.text, reply.by) == ("Which account?", "form")
        assert call.council.known is before
        assert call.council.last is None


async def test_a_guess_on_words_to_come_leaves_what_the_words_before_have_changed():
    """The reply has not been heard yet; the words may turn out to be no more than "mhm"."""
    form = Says("form", Opinion("Which account?", 0.9, state="asked", slots={"a": "1"}, expects="account"))
    async with table(form) as call:
        await call.ask("transfer")
        before = call.council.known
        await call.ask("transfer mhm", guess=True)
        assert call.council.known is before
        assert dict(before.slots) == {"a": "1"}


async def test_an_action_proposed_on_a_guess_never_runs():
    """ASR-09, TURN-09: four guesses on one utterance, and one final text; it runs once."""
    ran = []

    async def pay(_, key):
        ran.append(key)
        return "done"

    async with table(Says("pay", Opinion("Paid.", 0.9, action=Action("pay"))), tools={"pay": pay}) as call:
        for _ in range(4):
            guessed = await call.ask("pay it", guess=True)
            assert (guessed.text, guessed.acts) == ("Paid.", True)
        assert ran == []
        assert (await call.ask("pay it")).text == "Paid."
        assert len(ran) == 1


# --- what is refused --------------------------------------------------------------------------------


class Nameless:
    async def answer(self, *_):
        return None


@each(
    ("seats", "why"),
    [
        ((), "a council needs a seat"),
        ((Seat(object()),), "council seat 1: object is no agent"),
        ((Seat(Nameless()),), "Nameless is no agent"),
        ((Seat(Says("")),), "is no agent"),
        ((Seat(Says("a")), Seat(Says("a"))), "council seat 2: a second agent is named 'a'"),
        ((Seat(Says("a"), settle=80),), "settle = 80 of 'a'"),
    ],
)
def test_what_cannot_sit_in_a_council_is_refused_in_one_line(seats, why):
    with pytest.raises(ConfigError, match=why) as refusal:
        Council(seats, call="1")
    assert "\n" not in str(refusal.value)


def test_a_tool_that_is_none_is_refused():
    with pytest.raises(ConfigError, match="'pay' cannot be called"):
        council(Says("a"), tools={"pay": "http://pay"})


# --- in a call -------------------------------------------------------------------------------------


async def test_a_council_answers_a_call():
    played = await play(ASK, responder=council(Says("balance", "Ten dollars.", after_us=50 * MS), sleeper()))
    [row] = played.turns
    assert (row.account.outcome, row.said) == ("answered", "Ten dollars.")
    assert {lane.name: lane.outcome for lane in row.account.lanes if lane.name.startswith("seat:")} == {
        "seat:balance": "chosen",
        "seat:sleeper": "late",
    }
    assert "reply of balance" in [decision.took for decision in row.account.decisions]


async def test_a_reply_taken_at_the_first_deadline_still_sounds_in_time_without_a_bridge():
    large = Seat(sleeper("large"), rank=1)
    played = await play(ASK, responder=council(Says("balance", "Ten dollars."), large))
    [row] = played.turns
    assert (row.account.outcome, row.said) == ("answered", "Ten dollars.")
    assert row.account.first_sound_us - row.account.zero_us <= 800 * MS


async def test_behind_the_bridge_the_late_best_becomes_the_answer():
    slow = Says("balance", "Ten dollars.", after_us=SECOND)
    played = await play(ASK, responder=council(Says("weak", "Ten?", 0.3), slow))
    [row] = played.turns
    assert (row.account.outcome, row.said) == ("bridged", f"{BRIDGE} Ten dollars.")
    assert row.account.first_sound_us - row.account.zero_us <= 800 * MS


async def test_a_slow_action_is_covered_by_the_bridge():
    """While an action runs longer than its share, the caller hears so."""

    async def pay(*_):
        await clock.sleep(2 * SECOND)
        return "number 7"

    agent = Says("pay", Opinion("It is paid, {result}.", 0.9, action=Action("pay")))
    played = await play(ASK, responder=council(agent, tools={"pay": pay}))
    [row] = played.turns
    assert (row.account.outcome, row.said) == ("bridged", f"{BRIDGE} It is paid, number 7.")


async def test_a_turn_superseded_while_its_action_runs_is_told_once_and_done_once():
    """TURN-09."""
    ran = []

    async def pay(_, key):
        ran.append(key)
        await clock.sleep(400 * MS)
        return ""

    agent = Says(
        "pay", lambda said, _: Opinion("It is paid.", 0.9, action=Action("pay")) if "yes" in said else None
    )
    played = await play(
        says("yes", after_us=0),
        stays(620 * MS),
        says("and my card", when="at once", pause_us=0),
        responder=council(agent, tools={"pay": pay}),
    )
    assert played.outcomes == ["superseded", "answered"]
    assert [row.said for row in played.turns] == ["", "It is paid."]
    assert len(ran) == 1


async def test_a_hang_up_ends_everything():
    played = await play(ASK, over(says("bye")), responder=council(Says("a", "One. Two."), sleeper()))
    assert played.call.dangling == ()


async def test_a_reply_that_is_broken_off_before_it_is_spoken_is_closed():
    """The caller goes on while what is owed to them is waited for."""
    stream = Stream()
    rest = stream.pieces()
    await anext(rest)

    async def pay(*_):
        await clock.sleep(SECOND)
        return ""

    paying = Says(
        "pay", lambda said, _: Opinion("Paid.", 0.9, action=Action("pay")) if said == "yes" else None
    )
    news = Says("news", lambda said, _: Opinion("One.", 0.9, rest=rest) if said == "news" else None)
    async with table(paying, news, tools={"pay": pay}) as call:
        for said in ("yes", "yes news"):
            turn = call.crew.create_task(call.ask(said), name=said)
            await clock.sleep(100 * MS)
            turn.cancel()
        await clock.sleep(MS)
        assert stream.closed


async def test_a_refused_deadline_order_is_no_trouble():
    """The first deadline may lie behind the last: the last holds."""
    async with table(sleeper()) as call:
        began = clock.now()
        assert await call.ask(first_us=LAST_US, last_us=FIRST_US) is None
        assert clock.now() - began == FIRST_US
