"""The fast path: it answers where everything agrees, and says why where something does not."""

from __future__ import annotations

import pytest
from laws import each
from msgspec import structs
from spoken import BYE, ELSE, GREETING, calls

from turnbudget.speculative.bank import moves
from turnbudget.speculative.bank.bank import Bank, Caller, Reply, State, read, write
from turnbudget.speculative.bank.guess import Guesser
from turnbudget.speculative.bank.match import Match, Miss, match
from turnbudget.speculative.bank.mine import mine
from turnbudget.speculative.bank.rehearse import Exchange, Point, Rehearsed, curve, judge
from turnbudget.speculative.bank.words import CHOICES

DAY = "What day would you like the taxi?"
NUMBER = "What is the order number?"


@pytest.fixture(scope="module")
def guesser():
    return Guesser(mine(calls(40)))


@pytest.mark.parametrize(
    ("asked", "said", "text"),
    [
        (GREETING, "Hi, my name is Zoe Quark, I'd like to book a taxi.", DAY),
        (GREETING, "please cancel my order", NUMBER),
        (ELSE, "No, that's all.", "Thank you for calling. Have a nice day."),
        (ELSE, "no that's it thank you", "Thank you for calling. Have a nice day."),
        (DAY, "Sunday, please.", f"Your taxi has been booked for Sunday. {ELSE[0].upper()}{ELSE[1:]}?"),
    ],
)
def test_a_reply_fits_other_callers(guesser, asked, said, text):
    found = match(guesser, asked, said)
    assert isinstance(found, Match), found
    assert found.text.lower() == text.lower()
    assert "odds" in found.because


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (GREETING, "don't cancel my order"),
        (GREETING, "please do not cancel it"),
        (GREETING, "never mind, keep my order"),
        (GREETING, "I would not like to book a taxi"),
        (GREETING, "I would like to book a taxi and cancel my order"),
        (GREETING, "can i book a taxi for my dog"),
        (ELSE, "no that's not all"),
        (ELSE, "no wait"),
        (ELSE, "yes"),
        (ELSE, "no but cancel my order"),
        (ELSE, "no order that thank you"),
        (ELSE, "no transfer that's all"),
        (ELSE, "no that's all but is it cheap"),
        (DAY, "monday no tuesday"),
        (DAY, "not monday please"),
        (DAY, "monday or tuesday please"),
    ],
)
def test_what_turns_the_meaning_is_a_miss(guesser, asked, said):
    """CA-01: opposites, corrections and other wishes do not get the stored reply."""
    assert isinstance(match(guesser, asked, said, 0.0), Miss)


def test_the_opposite_wish_gets_a_miss_and_the_same_wish_a_hit(guesser):
    """CA-01: "I'd like to cancel the order" does hit."""
    assert isinstance(match(guesser, GREETING, "I'd like to cancel my order, please."), Match)


def test_a_yes_is_answered_by_what_was_asked():
    """CA-04: "yes" books in one state and cancels in the other, and is nothing where neither was asked."""
    bank = Bank(
        state=(State(name="book", says=("may i book it",)), State(name="cancel", says=("may i cancel it",))),
        caller=tuple(
            Caller(state=name, name="yes", count=9, examples=("yes",)) for name in ("book", "cancel")
        ),
        reply=(
            Reply(state="book", caller="yes", says="Booked.", act="booked", count=9, of=9, odds=0.9),
            Reply(state="cancel", caller="yes", says="Cancelled.", act="cancelled", count=9, of=9, odds=0.9),
        ),
    )
    guesser = Guesser(bank)
    assert match(guesser, "May I book it?", "Yes.").text == "Booked."
    assert match(guesser, "May I cancel it?", "Yes.").text == "Cancelled."
    assert match(guesser, "Is it raining?", "yes") == Miss("state: the bank does not know “Is it raining?”")
    assert isinstance(match(guesser, "", "yes"), Miss)


def test_a_slot_that_this_call_has_not_told_is_a_miss(guesser):
    found = match(guesser, NUMBER, "my order number is four four two seven one", 0.0, known={"amount": "30"})
    assert found.because.startswith("slots: this call has not told result")


def test_a_question_for_what_is_known_is_a_miss(guesser):
    found = match(guesser, GREETING, "I would like to book a taxi", known={"day": "Friday"})
    assert found.because.startswith("slots: “What day would you like the taxi?” asks for day")


@pytest.mark.parametrize(
    "said",
    [
        "Ich möchte bitte ein Taxi bestellen",
        "タクシーを予約したい",
        "Quisiera reservar para mañana",
        "",
        "[noise]",
    ],
)
def test_another_language_is_a_safe_miss(guesser, said):
    assert isinstance(match(guesser, GREETING, said, 0.0), Miss)


def test_another_language_is_named(guesser):
    assert match(guesser, GREETING, "Quisiera reservar") == Miss(
        "words: the bank has none of them; another language?"
    )


def test_an_agent_in_another_language_is_a_state_the_bank_does_not_know(guesser):
    assert match(guesser, "Womit kann ich dienen?", "yes").because.startswith("state:")


def test_beyond_the_threshold_or_not_at_all(guesser):
    odds = match(guesser, ELSE, "no that's all thank you").odds
    assert isinstance(match(guesser, ELSE, "no that's all thank you", odds), Match)
    assert match(guesser, ELSE, "no that's all thank you", odds + 1e-9).because.startswith("odds:")


def test_a_reply_said_but_once_is_an_accident():
    once = (("agent", GREETING), ("caller", "sing me a song"), ("agent", "what is your favourite song"))
    guesser = Guesser(mine([*calls(12), once, once]))
    assert isinstance(match(guesser, GREETING, "sing me a song", 0.0), Match)
    guesser = Guesser(mine([*calls(12), once]))
    assert isinstance(match(guesser, GREETING, "sing me a song", 0.0), Miss)


def test_a_farewell_has_no_reply_where_nobody_replied(guesser):
    assert isinstance(match(guesser, BYE, "you too bye"), Miss)


@each(
    ("example", "said", "count", "because"),
    [
        ("yes please book the large red car", "yes please book the large red car", 9, "odds 0.8"),
        (
            "yes please book the large red car",
            "yes please book the large red car",
            1,
            "odds: “Booked.” was said but once",
        ),
        ("yes please book the large red car", "red", 9, "text: too little in common"),
        ("on {day}", "on monday", 9, "odds 0.8"),
        ("on {day}", "on monday at four p m", 9, "text: it tells other things"),
        ("on {day}", "on", 9, "text: it tells other things"),
    ],
)
def test_each_condition_is_enough_for_a_miss(example, said, count, because):
    bank = Bank(
        state=(State(name="book", says=("may i book it",)),),
        caller=(Caller(state="book", name="yes", count=count, examples=(example,)),),
        reply=(Reply(state="book", caller="yes", says="Booked.", act="b", count=count, of=count, odds=0.9),),
    )
    assert match(Guesser(bank), "May I book it?", said, 0.0).because.startswith(because)


ASKS = Reply(
    state="x", caller="y", says="What is the size?", act="ask size", count=2, of=9, odds=0.2, asks="size"
)


@each(
    ("changes", "replied", "known", "verdict"),
    [
        ({}, "okay and what is the size", (), "same"),
        ({}, "okay that's one twenty and what is the size", (), "same"),
        ({}, "what is the colour", (), "other"),
        ({}, "what is the colour", ("size",), "misfit"),
        ({"confirms": True}, "what is the colour", ("size",), "other"),
        ({"count": 1}, "what is the colour", (), "misfit"),
        ({"of": 11}, "what is the colour", (), "misfit"),
        ({"says": "Thank you for calling. Bye."}, "goodbye", (), "other"),
        ({"says": "Thank you for calling. Bye."}, "thank you for calling have a nice day bye", (), "same"),
        (
            {"says": "It has been sent to you. Anything else?"},
            "okay it has been sent to you today",
            (),
            "same",
        ),
    ],
)
def test_the_judge_calls_wrong_what_no_person_said_to_such_words(changes, replied, known, verdict):
    assert judge(structs.replace(ASKS, **changes), replied, known, CHOICES) == verdict


def large():
    """Return a bank of so many states that it has 10⁵ lines."""
    words = [a + b + c for a in "bdfgklmnprst" for b in "aeiou" for c in "bdgklmnrst"]
    states, callers, replies = [], [], []
    for number in range(4_500):
        one, two, three = (
            words[number % 600],
            words[(number * 7 + 3) % 600],
            words[(number // 600 * 11 + 5) % 600],
        )
        name = f"state {number}"
        states.append(State(name=name, says=(f"may i have the {one} {two} {three}",)))
        callers.append(
            Caller(state=name, name="any", count=3, examples=(f"take the {one} {two}", f"a {three}"))
        )
        says = f"That is {two} {one}."
        replies.append(Reply(state=name, caller="any", says=says, act="a", count=3, of=3, odds=0.75))
    return Bank(state=tuple(states), caller=tuple(callers), reply=tuple(replies))


def test_a_large_bank_is_read_and_only_what_the_words_lead_to_is_looked_at(tmp_path, monkeypatch):
    path = tmp_path / "bank.toml"
    write(large(), path)
    assert path.read_text().count("\n") >= 100_000
    guesser = Guesser(read(path))
    looked_at = []
    compare = moves.same_move
    monkeypatch.setattr(moves, "same_move", lambda *moves: looked_at.append(moves) or compare(*moves))
    found = match(guesser, "May I please have the kab rob bak?", "take the kab rob")
    assert isinstance(found, Match | Miss)
    asked = guesser.bank.state[4_321].says[0]
    assert (
        match(guesser, f"Okay, {asked}?", guesser.bank.caller[4_321].examples[0]).reply.state == "state 4321"
    )
    assert len(looked_at) <= 2 * moves.NEAREST


def test_a_curve_counts_hits_from_its_threshold_on():
    def told(odds, *, announces=False):
        return Match(
            "Yes.",
            odds,
            "help",
            "said so",
            Reply(
                state="help",
                caller="greets",
                says="Yes.",
                act="a",
                count=1,
                of=1,
                odds=1.0,
                announces=announces,
            ),
        )

    turn = Exchange("How can I help?", "hello", "Yes.")
    seen = (
        Rehearsed("one", turn, told(0.4), "same", None),
        Rehearsed("one", turn, told(0.39, announces=True), "misfit", None),
        Rehearsed("two", turn, Miss("nobody said so"), None, None),
    )
    assert curve(seen, (0.0, 0.4)) == (Point(0.0, 3, 2, 1, 1, 1), Point(0.4, 3, 1, 1, 0, 0))
