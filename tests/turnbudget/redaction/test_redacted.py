"""Rows are redacted before anybody is told of them; keys are in none, not even in those behind them."""

from __future__ import annotations

import msgspec
from surroundings import record, row

from turnbudget.redaction.redacted import Redaction
from turnbudget.runs.records import DecisionRow, GuessRow, TaskRecord
from turnbudget.voice.hearing.events import KEYS

CARD = "four one one one one one one one one one one one one one one one"


def said(text, **how):
    """A row in which *text* stands wherever words can."""
    return row(
        heard=text,
        said=f"You said {text}.",
        asked=text,
        decisions=(DecisionRow(at_us=0, took="council", because=f"heard {text}"),),
        guesses=(GuessRow(said=text, text=text, odds=1.0, ready=True, because=text, outcome="kept"),),
        **how,
    )


def test_no_text_of_a_row_is_forgotten():
    shown = Redaction().row(msgspec.structs.replace(said(CARD), reference=CARD))
    assert "one one" not in msgspec.json.encode(shown).decode()
    assert shown.heard == shown.asked == shown.reference == "[card]"
    assert shown.said == "You said [card]."


def test_the_account_of_a_row_is_untouched():
    before = said(CARD)
    after = Redaction().row(before)
    assert (after.entries, after.closed_us, after.outcome) == (
        before.entries,
        before.closed_us,
        before.outcome,
    )


def test_keys_are_written_nowhere_even_where_nothing_else_is_redacted():
    """TEL-12: what is pressed is masked, also where it was never answered and joins the next words."""
    redaction = Redaction(on=False)
    first = redaction.row(row(heard=KEYS, asked="1 2 3 4"), keys=("1 2 3 4",))
    assert (first.heard, first.asked) == (KEYS, KEYS)
    second = redaction.row(row(heard="is that right", asked="1 2 3 4 is that right"))
    assert second.asked == f"{KEYS} is that right"


def test_keys_that_were_pressed_long_before_others_are_masked_whole():
    """An earlier input is a part of a later one, and they stand in the reasons as well."""
    redaction = Redaction(on=False)
    for keys in ("9", "1", "1 2 3 4"):
        redaction.row(row(heard=KEYS, asked=keys), keys=(keys,))
    shown = redaction.row(said("1 2 3 4 and 9"))
    assert shown.asked == f"{KEYS} and {KEYS}"
    assert shown.decisions[0].because == f"heard {KEYS} and {KEYS}"
    assert shown.guesses[0].because == f"{KEYS} and {KEYS}"


def test_where_it_is_switched_off_words_stay():
    assert Redaction(on=False).row(said(CARD)) == said(CARD)
    assert Redaction(on=False).record(record(CARD)) == record(CARD)


def test_of_what_was_said_in_a_pause_of_the_recording_every_number_goes():
    """The number of a card that was said in pieces, a turn each, is none in any of them."""
    shown = Redaction().row(said("four one one one"), hidden=True)
    assert shown.heard == "[digits]"


def test_a_record_is_redacted_as_well():
    task = TaskRecord(wanted="pay", found="pay", slots=1, slots_right=1, got={"card": CARD})
    before = msgspec.structs.replace(
        record(notes=(f"odd: {CARD}",)), task=task, ended="sent on to +15550100199"
    )
    told = Redaction().record(before)
    assert told.ended == "sent on to [phone]"
    assert told.notes == ("odd: [card]",)
    assert told.task.got == {"card": "[card]"}


def test_slots_that_are_sensitive_are_told_to_nobody():
    slots = {"card": "4111", "phone": "555-010-0199", "account": "savings"}
    assert Redaction().slots(slots, {"card"}) == {"phone": "[phone]", "account": "savings"}
