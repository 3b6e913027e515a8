"""What is done is told until it has been heard; what was only said is taken back with its unheard reply."""

from __future__ import annotations

import asyncio

from turnbudget.agents.agent import PERSON, Action, Opinion
from turnbudget.council.actions import Done
from turnbudget.council.dialogue import TELLINGS, ActionRun, Dialogue
from turnbudget.voice.call.responder import Said


def done(result="", failure=""):
    """A task that has ended."""
    ended = asyncio.get_running_loop().create_future()
    ended.set_result(Done(result, failure))
    return ended


def run(opening="Paid, {result}.", task=None, **more):
    return ActionRun(
        key="key",
        action=Action("pay", otherwise="That failed."),
        opening=opening,
        said="yes",
        exchange=0,
        since=0,
        task=task or done("receipt 7"),
        **more,
    )


def heard(*texts):
    return tuple(Said("agent", text) for text in texts)


async def test_an_action_is_told_with_its_result_or_its_failure_or_not_yet():
    assert run().told() == "Paid, receipt 7."
    assert run(task=done(failure="no funds")).told() == "That failed."
    assert run(task=asyncio.get_running_loop().create_future()).told() is None


async def test_an_action_counts_as_heard_by_half_of_its_words():
    assert not run().was_heard(())
    assert not run().was_heard(heard("One moment please.", "Paid,"))
    assert run().was_heard(heard("Paid, receipt"))
    assert not run().was_heard((Said("caller", "Paid, receipt 7."),))


async def test_words_heard_before_it_was_done_do_not_count():
    late = run()
    late.since = 1
    assert not late.was_heard(heard("Paid, receipt 7."))


async def test_signs_that_were_spoken_as_words_count():
    """The history holds what the voice said: "50 dollars" for "$50"."""
    assert run("Moved {result}.", done("$50 & 7%")).was_heard(heard("Moved 50 dollars and 7 percent."))


async def test_an_action_that_is_never_recognised_is_not_told_for_ever():
    assert run(tellings=TELLINGS).was_heard(())


def test_to_look_changes_nothing():
    dialogue = Dialogue({})
    before = dialogue.known
    opened = dialogue.look("hello", ())
    assert dialogue.look("hello", ()) == opened
    assert dialogue.known is before


def test_a_turn_that_was_never_answered_is_begun_again_from_where_it_began():
    dialogue = Dialogue({})
    dialogue.begin(dialogue.look("one", ()))
    dialogue.commit("form", Opinion("Where to?", 0.9, state=1, expects="to"))
    assert dialogue.known.expects == "to"
    dialogue.begin(dialogue.look("one two", heard("One moment please.")))
    assert (dialogue.known.expects, dict(dialogue.known.states)) == ("", {})


def test_a_turn_that_was_answered_stands():
    dialogue = Dialogue({})
    dialogue.begin(dialogue.look("one", ()))
    dialogue.commit("form", Opinion("Where to?", 0.9, state=1, expects="to"))
    dialogue.begin(dialogue.look("two", (Said("caller", "one"), *heard("Where to?"))))
    assert (dialogue.known.asked_by, dialogue.known.expects) == ("form", "to")


def test_what_was_done_stands_when_its_turn_is_begun_again():
    dialogue = Dialogue({})
    dialogue.begin(dialogue.look("yes", ()))
    number = dialogue.reserve()
    dialogue.did(number, "form", Opinion("Paid. More?", 0.9, state="paid"), failed=False)
    dialogue.begin(dialogue.look("yes please", ()))
    assert (dict(dialogue.known.states), dialogue.known.asked_by) == ({"form": "paid"}, "form")


def test_the_question_of_an_action_that_ends_late_is_not_open_if_somebody_else_has_asked():
    dialogue = Dialogue({})
    dialogue.begin(dialogue.look("yes", ()))
    number = dialogue.reserve()
    dialogue.commit("other", Opinion("Which day?", 0.9, expects="day"))
    dialogue.did(number, "form", Opinion("Paid. More?", 0.9, state="paid"), failed=False)
    assert (dialogue.known.asked_by, dialogue.known.expects) == ("other", "day")
    assert dialogue.known.states["form"] == "paid"


def test_who_only_repeats_a_question_leaves_it_with_the_seat_that_asked():
    dialogue = Dialogue({})
    dialogue.begin(dialogue.look("one", ()))
    dialogue.commit("form", Opinion("Where to?", 0.9, state=1, expects="to"))
    dialogue.commit("smalltalk", Opinion("You're welcome. Where to?", 0.9, expects="to"))
    assert dialogue.known.asked_by == "form"
    dialogue.commit("other", Opinion("Where to?", 0.9, state=2, expects="to"))
    assert dialogue.known.asked_by == "other"


def test_after_a_failed_action_the_answer_to_the_offer_of_a_person_is_expected():
    dialogue = Dialogue({})
    dialogue.begin(dialogue.look("yes", ()))
    opinion = Opinion("Paid.", 0.9, action=Action("pay"), state="paid", expects="more")
    dialogue.did(dialogue.reserve(), "form", opinion, failed=True)
    assert (dialogue.known.asked_by, dialogue.known.expects) == ("", PERSON)
    assert dict(dialogue.known.states) == {}
