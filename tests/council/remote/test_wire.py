"""What is sent arrives; what cannot be sent is found before it is; what is none of ours is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import each

from turnbudget.agents.agent import Action, Context, Opinion
from turnbudget.council.remote import wire
from turnbudget.council.remote.wire import WireError
from turnbudget.voice.call.responder import Said

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
TABLES = st.dictionaries(WORDS, WORDS, max_size=3)
STATES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=5,
)
CONTEXTS = st.builds(
    Context,
    history=st.lists(st.builds(Said, WORDS, WORDS, st.booleans()), max_size=3).map(tuple),
    slots=TABLES,
    states=STATES.map(lambda state: {} if state is None else {"bank": state}),
    asked_by=WORDS,
    expects=WORDS,
    facts=TABLES,
)
OPINIONS = st.builds(
    Opinion,
    opening=WORDS,
    confidence=st.floats(0, 1),
    because=WORDS,
    rest=st.none(),
    action=st.none() | st.builds(Action, WORDS, TABLES, WORDS),
    state=STATES,
    slots=TABLES,
    expects=WORDS,
    ends_call=st.booleans(),
    transfer=WORDS,
)


def asked(utterance="hello", context=None, seat="bank"):
    return wire.ask(seat, utterance, context or Context(), asker="a1", sent_us=5, left_us=300_000)


@given(WORDS, CONTEXTS)
def test_a_question_arrives_as_it_was_asked(utterance, context):
    found = wire.read_ask(asked(utterance, context))
    assert (found.utterance, found.sent_us, found.left_us) == (utterance, 5, 300_000)
    assert found.context("bank") == context


@given(OPINIONS)
def test_an_opinion_arrives_as_it_was_given(opinion):
    found = wire.read_answer(wire.answer(opinion))
    assert found.kind == "opinion"
    assert replace(found.opinion(), rest=None) == opinion


def test_the_bytes_of_a_question_are_these():
    context = Context((Said("caller", "hi", cut=True),), {"a": "b"}, {"bank": [1], "other": {2}}, "bank")
    assert (
        asked("naïve", context)
        == (
            '{"v":2,"seat":"bank","asker":"a1","sent_us":5,"left_us":300000,"utterance":"naïve",'
            '"history":[{"who":"caller","text":"hi","cut":true}],"slots":{"a":"b"},"state":[1],"asked_by":"bank"}'
        ).encode()
    )


def test_the_bytes_of_an_opinion_are_these():
    opinion = Opinion("Done.", 0.5, action=Action("pay", {"to": "Ann"}, "No."), ends_call=True)
    assert wire.answer(opinion, " Goodbye. ") == (
        b'{"v":2,"kind":"opinion","opening":"Done. Goodbye.","confidence":0.5,'
        b'"action":{"name":"pay","arguments":{"to":"Ann"},"otherwise":"No."},"ends_call":true}'
    )
    assert wire.answer(None) == b'{"v":2,"kind":"none"}'


def test_an_agent_finds_its_state_under_its_own_name_whatever_its_seat_is_called():
    context = Context(states={"bank": 7, "shop": 8}, asked_by="bank")
    found = wire.read_ask(asked(context=context)).context("teller")
    assert found.states == {"teller": 7}
    assert found.asked_by == "teller"


def test_what_is_too_big_is_refused_before_it_is_sent():
    """MQ-07: the broker would close the connection."""
    with pytest.raises(WireError, match="more than the 65536"):
        asked("x" * 131_073)
    with pytest.raises(WireError, match="more than the 65536"):
        wire.answer(Opinion("x" * 131_073, 0.5))


LOOP = []
LOOP.append(LOOP)


@each(
    "opinion",
    [
        Opinion("a", 1.5),
        Opinion("a", float("nan")),
        Opinion("a", "sure"),
        Opinion(7, 0.5),
        Opinion("a", 0.5, slots={"a": 1}),
        Opinion("a", 0.5, state=object()),
        Opinion("a", 0.5, state=LOOP),
        Opinion("\ud800", 0.5),
        "an opinion",
    ],
)
def test_nonsense_is_refused_where_it_is_made(opinion):
    with pytest.raises(WireError):
        wire.answer(opinion)


@each(
    "payload",
    [
        b"",
        b"hello",
        b"[]",
        b"\xff",
        b'{"v":2}',
        b'{"v":2,"kind":"opinion","opening":"a","confidence":2}',
        b'{"v":2,"kind":"opinion","opening":"a","confidence":"1"}',
        b'{"v":2,"kind":"shout"}',
        b'{"v":1,"kind":"none"}',
        b'{"v":2,"kind":"opinion","state":' + b"[" * 30_000 + b"]" * 30_000 + b"}",
        b'{"v":2,"kind":"none","because":"' + b"x" * 65_536 + b'"}',
    ],
)
def test_what_is_no_answer_of_ours_is_refused(payload):
    with pytest.raises(WireError):
        wire.read_answer(payload)


@given(st.binary(max_size=200))
def test_no_bytes_raise_anything_else(payload):
    for read in (wire.read_ask, wire.read_answer, wire.read_status):
        with pytest.raises(WireError):
            read(payload)


def test_a_newer_peer_may_say_more():
    assert wire.read_answer(b'{"v":2,"kind":"none","mood":"good"}').kind == "none"
