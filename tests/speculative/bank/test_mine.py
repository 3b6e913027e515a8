"""Mining: what is learned from dialogues, and whose data is not."""

from __future__ import annotations

import pytest
from laws import each
from spoken import BYE, ELSE, GREETING, NAMES, calls

from turnbudget.speculative.bank import learn
from turnbudget.speculative.bank.bank import read, text, write
from turnbudget.speculative.bank.mine import mine
from turnbudget.speculative.bank.moves import Move, moves
from turnbudget.speculative.bank.rehearse import Exchange, exchanges
from turnbudget.speculative.bank.words import CHOICES, Slot, answered, general, named, told


@pytest.fixture(scope="module")
def bank():
    return mine(calls(24))


def one(bank, act):
    [found] = [reply for reply in bank.reply if act in reply.act]
    return found


def test_a_reply_keeps_as_a_slot_what_the_caller_told(bank):
    booked = one(bank, "booked")
    assert booked.says == "Your taxi has been booked for {day}. Is there anything else I can help you with?"
    assert booked.announces
    assert booked.given == ("day",)


def test_what_nobody_told_is_a_result(bank):
    assert one(bank, "cancelled").slots == ("result",)


def test_a_question_names_the_slot_it_asks_for(bank):
    assert one(bank, "ask order number").asks == "order"
    assert [(state.asks, state.kind) for state in bank.state if state.name == "ask day"] == [("day", "day")]


def test_a_reply_follows_a_state_and_what_the_caller_means(bank):
    """CA-04: the state is part of the key, the sentence alone is none."""
    asks = [reply for reply in bank.reply if "help" in reply.state and reply.asks]
    assert {reply.says for reply in asks} == {
        "What day would you like the taxi?",
        "What is the order number?",
    }
    assert len({reply.caller for reply in asks}) == 2
    assert all(reply.count == reply.of == 12 for reply in asks)


def test_a_bank_holds_no_name_and_no_number_of_a_caller(bank):
    written = text(bank)
    assert "{name}" in written
    assert not [name for name in NAMES if name.split()[0] in written]
    assert "4427" not in written


def test_what_an_agent_could_not_hear_teaches_no_reply():
    again = (
        ("agent", GREETING),
        ("caller", "please cancel my order"),
        ("agent", "can you repeat that please"),
    )
    assert not [
        reply for reply in mine([*calls(6), again, again, again]).reply if "repeat" in reply.says.lower()
    ]


def test_the_same_dialogues_make_the_same_bank():
    assert text(mine(calls(12))) == text(mine(calls(12)))


def test_the_passes_are_told():
    heard = []
    mine(calls(12), heard=lambda done, of: heard.append((done, of)))
    assert heard == [(number, 6) for number in range(1, 7)]


def test_nothing_to_learn_from_is_an_empty_bank():
    assert mine([]).reply == ()
    assert mine([(("caller", "hello"),)]).reply == ()


def test_turns_of_noise_are_none_and_what_stood_around_them_is_one_turn():
    turns = (
        *(("caller", "[noise]"), ("agent", "hello"), ("caller", "hi <unk>"), ("agent", "[noise]")),
        *(("caller", "a taxi please"), ("agent", "sure")),
    )
    assert exchanges(turns) == (Exchange("hello", "hi a taxi please", "sure"),)


@each(
    ("said", "plain"),
    [
        (
            "Hi, my name is Zoe Quark and I lost my credit card",
            "hi my name is {name} and i lost my {card} card",
        ),
        ("my name is michael but last name smith", "my name is {name} but last name {name}"),
        ("the amount is one hundred and forty six dollars", "the amount is {amount}"),
        ("uh tuesday at four thirty p m", "{day} at {time}"),
        ("two four five four nine six nine eight six three", "{10 digits}"),
        ("my address is 12 oak street springfield ohio 45501", "my address is {address}"),
        ("my address is 12 oak street", "my address is {number} oak street"),
        ("from savings to checking", "from {account} to {account}"),
        ("can you send me a new one", "can you send me a new one"),
        ("my name is not important", "my name is not important"),
    ],
)
def test_values_are_taken_out(said, plain):
    assert general(said) == plain


@pytest.mark.parametrize(
    ("said", "plain"),
    [
        ("the company is blue water", "the company is {text}"),
        ("i would rather check my balance", "i would rather check my balance"),
        ("i don't know", "i don't know"),
        ("cancel", "cancel"),
    ],
)
def test_a_short_answer_that_means_nothing_else_is_a_value(said, plain):
    assert answered(said, "text", CHOICES, frozenset(("cancel",))) == plain


@each(
    ("said", "kinds"),
    [
        (f"okay it has been sent to you {ELSE}", ["statement", "question"]),
        ("Which account would you like to check, checking or savings?", ["question"]),
        ("sure one moment what is the amount what is the uh transfer amount", ["question", "question"]),
        (f"okay {BYE} bye", ["farewell"]),
        ("okay alright one moment", []),
    ],
)
def test_an_agents_turn_is_cut_into_moves(said, kinds):
    assert [move.kind for move in moves(said)] == kinds


def test_two_slots_of_a_kind_go_by_what_tells_them_apart():
    asked = [
        ("account",),
        ("account",),
        ("source", "account"),
        ("destination", "account"),
        ("bill", "amount"),
    ]
    found = named([asked[:1], asked[:1], asked[2:]], CHOICES)
    assert [slot.name for slot in found.values()] == [
        "account",
        "amount",
        "destination",
        "source",
    ]
    assert found[frozenset(("account", "source"))] == Slot("source", "account")


def test_two_values_in_one_answer_tell_nothing():
    source = Slot("source", "account")
    assert told(source, "from savings", (source,), CHOICES) == {"source": "savings"}
    assert told(source, "savings no checking", (source,), CHOICES) == {}


def test_a_turn_whose_telling_is_not_understood_is_no_mere_offer():
    """What was told may be what the caller needed: nobody learns to leave it out."""
    odd = (
        "your florist rings tomorrow",
        "our garden opens soon",
        "every umbrella sells out",
        "big parcels float",
    )
    seen = [
        (("agent", GREETING), ("caller", "please cancel my order"), ("agent", f"{told} {ELSE}"))
        for told in odd
    ]
    assert not [reply for reply in mine(seen).reply if "anything else" in reply.says]
    plain = (("agent", GREETING), ("caller", "please cancel my order"), ("agent", f"okay {ELSE}"))
    assert [reply for reply in mine([*seen, plain, plain]).reply if "anything else" in reply.says]


def test_what_is_said_again_is_learned_in_no_state():
    """CA-04: after "could you repeat that" the same words answer whatever was asked before."""
    again = (
        ("agent", "could you repeat that please"),
        ("caller", "thirty dollars"),
        ("agent", "what is the colour"),
    )
    assert not [state for state in mine([again] * 6).state if "repeat" in state.says[0]]


def test_a_question_that_is_asked_although_the_caller_told_is_a_confirmation():
    turns = (
        ("agent", GREETING),
        ("caller", "i lost my credit card"),
        ("agent", "which card would you like to replace"),
    )
    [reply] = mine([turns] * 4).reply
    assert (reply.asks, reply.confirms) == ("card", True)


TAXI, ORDER, USUAL = "a taxi for tonight", "cancel an order", "the usual"


@pytest.mark.parametrize(
    ("first", "second", "stands"), [(2, 1, ["taxi"]), (1, 2, ["order"]), (2, 2, []), (1, 0, ["taxi"])]
)
def test_a_sentence_with_two_replies_stands_for_the_one_it_mostly_had_or_for_none(first, second, stands):
    """Either reply would contradict the other, and such a bank is refused."""
    seen = [(TAXI, "taxi"), (ORDER, "order")] * 4 + [(USUAL, "taxi")] * first + [(USUAL, "order")] * second
    found = learn.groups(seen)
    examples = learn.examples(found, 10)
    assert [found[name].surely for name, texts in examples.items() if USUAL in texts] == stands
    assert sorted(text for texts in examples.values() for text in texts if text != USUAL) == [TAXI, ORDER]


def test_what_people_contradict_themselves_in_makes_a_bank_that_can_be_read(tmp_path):
    """Also where a caller only hesitated."""
    asks = {TAXI: "what day is it for", ORDER: "what is the order number"}
    told = [*([TAXI, asks[TAXI]], [ORDER, asks[ORDER]]) * 4]
    told += [[said, asked] for said in (USUAL, "uh") for asked in asks.values() for _ in range(2)]
    bank = mine([(("agent", GREETING), ("caller", said), ("agent", asked)) for said, asked in told])
    write(bank, tmp_path / "bank.toml")
    assert read(tmp_path / "bank.toml") == bank
    assert len(bank.reply) == 2


@pytest.mark.parametrize(
    ("other", "name"), [(("source", "branch"), "source_account"), (("target", "account"), "source")]
)
def test_a_slot_goes_by_its_first_word_only_where_nothing_else_does(other, name):
    found = named([[("account",)], [("account",)], [("source", "account"), other]], CHOICES)
    assert found[frozenset(("source", "account"))].name == name


def test_a_group_is_called_by_what_tells_it_from_the_others_and_not_by_what_all_say():
    assert list(learn.groups([("hat of wool", "a")] * 2 + [("hat of silk", "b")] * 2)) == [
        "wool hat",
        "silk hat",
    ]


@pytest.mark.parametrize(
    ("kind", "wordings", "says"),
    [
        ("question", ["what day is it", "what day", "what day is it for"], "What day is it for?"),
        ("statement", ["your taxi is booked", "now your taxi is booked"], "Your taxi is booked."),
        ("statement", ["a taxi is booked", "a taxi is here", "a taxi is booked"], "A taxi is booked."),
    ],
)
def test_of_wordings_said_equally_often_a_question_is_the_fullest_and_an_announcement_the_least(
    kind, wordings, says
):
    assert learn.template([learn.Said(Move(text, kind), {}, "") for text in wordings], ()).says == says
