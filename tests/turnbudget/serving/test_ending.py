"""How a call ended is one of a few reasons, and by the tenant's rules one word."""

from __future__ import annotations

import msgspec
import pytest
from laws import each
from surroundings import ROWS, row

from turnbudget.serving.ending import DispositionRule, EndReason, disposition, handover, reason

LAST = 5


@each(
    ("told", "why"),
    [
        ("we said goodbye", "agent-ended"),
        ("caller hung up", "caller-ended"),
        ("the caller hung up", "caller-ended"),
        ("Asterisk hung up", "caller-ended"),
        ("stop: call-ended", "caller-ended"),
        ("caller said nothing", "caller-silent"),
        ("the call was too long", "too-long"),
        ("the server is going down", "drained"),
        ("the socket was closed", "line-lost"),
        ("the socket broke (Connection timed out)", "line-lost"),
        ("the page is gone", "line-lost"),
        ("the peer answers no ping", "line-lost"),
        ("the peer does not read", "line-lost"),
        ("AudioSocket error 2: hangup", "line-lost"),
        ("ended by the operator", "operator-ended"),
        ("broken off", "broken-off"),
        ("broken off: we failed", "failed"),
        ("the caller was sent on", "transferred"),
        ("whatever a carrier says", "caller-ended"),
        ("", "caller-ended"),
    ],
)
def test_the_words_for_an_end_are_a_reason(told, why):
    """TEL-18: an agent that says goodbye and goes is recorded as the one who ended the call."""
    assert reason(told) == why


def test_who_was_sent_on_did_not_hang_up():
    assert reason("the caller hung up", "+15550100777") is EndReason.TRANSFERRED


@each(
    ("why", "rows", "name"),
    [
        (EndReason.CALLER_ENDED, ROWS, "contained"),
        (EndReason.AGENT_ENDED, ROWS, "contained"),
        (EndReason.CALLER_ENDED, (), "abandoned"),
        (EndReason.CALLER_ENDED, (row(kind="greeting"),), "abandoned"),
        (EndReason.FAILED, ROWS, "failed"),
        (EndReason.TRANSFERRED, ROWS, "transferred"),
        (EndReason.DRAINED, ROWS, "unfinished"),
        (EndReason.CALLER_SILENT, ROWS, "went silent"),
        (EndReason.CALLER_ENDED, (row(outcome="silent"),), "with faults"),
    ],
)
def test_every_call_has_a_disposition(why, rows, name):
    assert disposition(why, rows) == name


def test_the_first_of_the_tenants_own_rules_that_fits_is_taken():
    rules = (
        DispositionRule("vip", heard="platinum"),
        DispositionRule(
            "balance told", said=r"it is \d+ dollars", least_turns=2, reasons=(EndReason.CALLER_ENDED,)
        ),
        DispositionRule("anything"),
    )
    assert disposition(EndReason.CALLER_ENDED, ROWS, rules) == "balance told"
    assert disposition(EndReason.AGENT_ENDED, ROWS, rules) == "anything"
    assert disposition(EndReason.CALLER_ENDED, ROWS[:1], rules) == "anything"
    assert disposition(EndReason.CALLER_ENDED, (row(heard="Platinum card"),), rules) == "vip"


def test_rules_are_settings_and_their_faults_are_told():
    text = b'[[rules]]\nname = "sale"\nreasons = ["caller-ended"]\nsaid = "sold"\n'
    kind = msgspec.defstruct("File", [("rules", tuple[DispositionRule, ...])])
    assert msgspec.toml.decode(text, type=kind).rules[0].reasons == (EndReason.CALLER_ENDED,)
    with pytest.raises(msgspec.ValidationError, match="no pattern"):
        msgspec.toml.decode(text.replace(b"sold", b"("), type=kind)
    with pytest.raises(msgspec.ValidationError, match="caller-endet"):
        msgspec.toml.decode(text.replace(b"ended", b"endet"), type=kind)


def test_who_takes_a_caller_over_is_told_the_last_words_and_what_is_known():
    given = handover(
        "desk", [row(number, f"words {number}") for number in range(1, 9)], {"account": "savings"}
    )
    assert [line.text for line in given.lines if line.who == "caller"] == [f"words {n}" for n in range(4, 9)]
    assert len(given.lines) == 2 * LAST
    assert (given.turns, given.slots, given.because) == (8, {"account": "savings"}, "")


def test_a_handover_of_nobody_who_spoke_is_empty():
    given = handover("desk", (row(kind="greeting"),), {})
    assert (given.lines, given.turns) == ((), 0)
