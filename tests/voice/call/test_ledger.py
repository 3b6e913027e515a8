"""A turn's account: contiguous, summing to the microsecond, whatever happened in which order."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnbudget.voice.call import ledger
from turnbudget.voice.call.ledger import NOBODY, Account, Entry, Ledger, Owner, carve
from turnbudget.voice.errors import LedgerError
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import MS
from turnbudget.voice.time.pulse import Stall

AGENT, VOICE, WIRE = Owner("faq", "agent"), Owner("piper", "service"), Owner("line", "own code")
OWNERS = {"choose": AGENT, "synthesize": VOICE, "deliver": WIRE}
SPANS = st.tuples(st.integers(0, 5_000), st.integers(0, 5_000))
STALLS = st.lists(SPANS, max_size=6).map(
    lambda spans: [Stall(began, began + length, "blocking call") for began, length in spans]
)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["enter", "leave", "otherwise", "charge", "cut", "sound", "answer", "close", "wait"]),
        st.sampled_from(list(OWNERS)),
        st.integers(0, 900),
    ),
    max_size=30,
)


def contiguous(entries, began, ended):
    for entry in entries:
        assert entry.began_us == began
        assert entry.ended_us > began
        began = entry.ended_us
    return began == ended


def shape(account):
    return [(entry.stage, entry.us, entry.outcome) for entry in account.entries]


async def test_a_cut_ends_one_entry_and_begins_the_next():
    book = Ledger(0)
    with book.stage("choose", AGENT):
        await clock.sleep(200 * MS)
    with book.stage("synthesize", VOICE):
        await clock.sleep(50 * MS)
    assert shape(book.account("answered")) == [("choose", 200_000, "done"), ("synthesize", 50_000, "done")]


async def test_a_stage_in_a_stage_is_charged_alone_and_then_the_one_around_it_again():
    book = Ledger(0)
    with book.stage("choose", AGENT):
        await clock.sleep(10 * MS)
        with book.stage("synthesize", VOICE):
            await clock.sleep(20 * MS)
        await clock.sleep(30 * MS)
    assert shape(book.account("answered")) == [
        ("choose", 10_000, "done"),
        ("synthesize", 20_000, "done"),
        ("choose", 30_000, "done"),
    ]


async def test_time_that_no_stage_claims_is_unaccounted():
    book = Ledger(0)
    await clock.sleep(5 * MS)
    with book.stage("choose", AGENT):
        await clock.sleep(5 * MS)
    assert shape(book.account("answered")) == [("unaccounted", 5_000, "done"), ("choose", 5_000, "done")]


async def test_what_passed_before_the_ledger_was_opened_is_charged_afterwards():
    await clock.sleep(600 * MS)
    book = Ledger(0)
    book.charge("endpoint", Owner("endpoint.silence_ms", "setting"), 550_000)
    book.charge("transcribe", VOICE, 580_000)
    book.otherwise("choose", AGENT)
    assert shape(book.account("answered")) == [
        ("endpoint", 550_000, "done"),
        ("transcribe", 30_000, "done"),
        ("choose", 20_000, "cut"),
    ]


async def test_a_stage_that_raises_has_failed_and_one_that_is_cancelled_was_cut():
    book = Ledger(0)
    with suppress(ValueError), book.stage("choose", AGENT):
        await clock.sleep(MS)
        raise ValueError
    async with clock.move_on_at(3 * MS):
        with book.stage("synthesize", VOICE):
            await clock.sleep(MS * 100)
    assert shape(book.account("failed")) == [("choose", 1_000, "failed"), ("synthesize", 2_000, "cut")]


async def test_only_the_first_answer_is_the_answer():
    """MET-07: one value a turn, however many pieces and frames follow."""
    book = Ledger(0)
    book.sounded(100, answer=False)
    for at in (300, 400, 500):
        book.sounded(at, answer=True)
    account = book.account("bridged")
    assert (account.first_sound_us, account.first_answer_us, account.closed_us) == (100, 300, 300)


async def test_a_sound_that_is_no_answer_leaves_the_account_open():
    book = Ledger(0)
    book.sounded(100, answer=False)
    await clock.sleep(2 * MS)
    account = book.account("failed")
    assert (account.first_answer_us, account.closed_us) == (None, 2_000)


async def test_an_account_never_ends_before_the_sound_it_tells_of():
    book = Ledger(0)
    book.sounded(15_000, answer=False)
    assert book.account("cut").closed_us == 15_000


async def test_after_its_end_nothing_is_charged_any_more():
    book = Ledger(0)
    with book.stage("deliver", WIRE):
        await clock.sleep(10 * MS)
        book.sounded(12_000, answer=True)
        await clock.sleep(500 * MS)
    assert shape(book.account("answered")) == [("deliver", 12_000, "done")]


async def test_the_critical_entry_is_the_longest():
    book = Ledger(0)
    book.charge("endpoint", NOBODY, 500)
    book.charge("choose", AGENT, 2_000)
    await clock.sleep(3 * MS)
    book.charge("deliver", WIRE, 3_000)
    assert book.account("answered").critical == Entry("choose", 500, 2_000, AGENT)


async def test_a_lane_ends_once_and_an_open_one_is_dropped_with_the_account():
    book = Ledger(0)
    first, second = book.lane("seat:a", -300), book.lane("seat:b")
    first.end("chosen", 12, saved_us=300)
    first.end("dropped", 99)
    await clock.sleep(MS)
    book.account("answered")
    assert (first.outcome, first.ended_us, first.saved_us) == ("chosen", 12, 300)
    assert (second.outcome, second.ended_us) == ("dropped", 1_000)


async def test_lanes_are_shown_and_never_added():
    book = Ledger(0)
    for _ in range(3):
        book.lane("seat:a", -5_000).end("late", 900_000, wasted_us=905_000)
    book.charge("endpoint", NOBODY, 500)
    await clock.sleep(MS)
    account = book.account("answered")
    assert sum(entry.us for entry in account.entries) == account.closed_us == 1_000


async def test_an_attempt_that_failed_is_no_part_of_the_next_at_the_same():
    book = Ledger(0)
    with suppress(ValueError), book.stage("synthesize", VOICE):
        await clock.sleep(10 * MS)
        raise ValueError
    with book.stage("synthesize", VOICE):
        await clock.sleep(20 * MS)
    assert shape(book.account("answered")) == [
        ("synthesize", 10_000, "failed"),
        ("synthesize", 20_000, "done"),
    ]


async def test_what_was_noted_before_the_turn_stands_first_and_what_goes_on_is_noted_here():
    draft, book = Ledger(0), Ledger(0)
    for notes, name in ((draft, "head start"), (book, "asr:vosk")):
        notes.lane(name)
        notes.decide(name, "a pause")
    book.adopt(draft)
    draft.lane("seat:late")
    draft.decide("seat:late", "after the turn had begun")
    account = book.account("answered")
    assert [lane.name for lane in account.lanes] == ["head start", "asr:vosk", "seat:late"]
    assert [decision.took for decision in account.decisions] == ["head start", "asr:vosk", "seat:late"]


async def test_a_stall_is_carved_out_of_whoever_waited():
    book = Ledger(0)
    with book.stage("choose", AGENT):
        await clock.sleep(100 * MS)
    stall = Stall(20_000, 70_000, "crm.py:12 look_up")
    account = book.account("answered", [stall])
    assert shape(account) == [
        ("choose", 20_000, "done"),
        ("stall", 50_000, "done"),
        ("choose", 30_000, "done"),
    ]
    assert account.entries[1].owner == Owner("crm.py:12 look_up", "own code")


async def test_an_account_that_would_not_sum_is_a_defect_of_ours(monkeypatch):
    monkeypatch.setattr(ledger, "carve", lambda entries, _: list(entries)[:-1])
    book = Ledger(0)
    book.charge("endpoint", NOBODY, 500)
    with pytest.raises(LedgerError, match="do not sum to 500"):
        book.account("answered")


async def test_what_is_charged_otherwise_outlives_a_stage_that_is_charged_alike():
    book = Ledger(0)
    with book.stage("choose", AGENT):
        with book.stage("synthesize", VOICE):
            book.otherwise("synthesize", VOICE)
        book.otherwise("deliver", WIRE)
        await clock.sleep(5)
    await clock.sleep(7)
    assert shape(book.account("answered")) == [("choose", 5, "done"), ("deliver", 7, "cut")]


async def take(book, steps):
    """Do *steps* in order on *book*; stages may be left in any order, as tasks leave them."""
    entered = []
    for what, stage, us in steps:
        owner = OWNERS[stage]
        match what:
            case "enter":
                entered.append(book.stage(stage, owner))
                entered[-1].__enter__()
            case "leave" if entered:
                entered.pop(us % len(entered)).__exit__(None, None, None)
            case "otherwise":
                book.otherwise(stage, owner)
            case "charge":
                book.charge(stage, owner, clock.now() - us // 2)
            case "sound" | "answer":
                book.sounded(clock.now() + 300, answer=what == "answer")
            case "cut" | "close":
                getattr(book, what)()
            case _:
                await clock.sleep(us)
    for scope in entered:
        scope.__exit__(None, None, None)


@given(STEPS, STALLS, st.integers(-500, 500))
def test_whatever_happens_the_entries_are_contiguous_and_sum(steps, stalls, zero):
    async def main():
        book = Ledger(zero)
        await take(book, steps)
        return book.account("answered", stalls)

    account = clock.run(main(), "virtual")
    assert contiguous(account.entries, zero, account.closed_us)
    assert sum(entry.us for entry in account.entries) == account.closed_us - account.zero_us
    sounds = [at for at in (account.first_sound_us, account.first_answer_us) if at is not None]
    assert all(at <= account.closed_us for at in sounds)
    assert sounds == sorted(sounds)


def entries_of(lengths, began=0):
    entries = []
    for index, length in enumerate(lengths):
        stage = list(OWNERS)[index % 3]
        entries.append(Entry(stage, began, began + length, OWNERS[stage]))
        began += length
    return entries


LENGTHS = st.lists(st.integers(1, 2_000), max_size=8)


@given(LENGTHS, STALLS)
def test_carving_keeps_the_total_and_charges_each_instant_once(lengths, stalls):
    entries = entries_of(lengths)
    carved = list(carve(entries, stalls))
    assert contiguous(carved, 0, sum(lengths))
    for entry in carved:
        held = any(stall.began_us <= entry.began_us and entry.ended_us <= stall.ended_us for stall in stalls)
        assert (entry.stage == "stall") == held


@given(LENGTHS, STALLS, st.integers(-3_000, 20_000), st.integers(-500, 500))
def test_an_account_whose_zero_is_moved_is_contiguous_and_sums(lengths, stalls, moved, began):
    entries = tuple(carve(entries_of(lengths, began), stalls))
    closed = began + sum(lengths)
    account = Account(
        zero_us=began,
        closed_us=closed,
        outcome="answered",
        entries=entries,
        lanes=(),
        decisions=(),
        first_sound_us=closed,
        first_answer_us=closed,
        witness_us=closed,
    ).since(moved)
    assert account.zero_us == min(moved, closed)
    assert contiguous(account.entries, account.zero_us, closed)


def test_time_gained_by_a_moved_zero_is_no_stall():
    entries = (Entry("stall", 0, 50, NOBODY), Entry("endpoint", 50, 500, AGENT))
    account = Account(
        zero_us=0,
        closed_us=500,
        outcome="answered",
        entries=entries,
        lanes=(),
        decisions=(),
        first_sound_us=None,
        first_answer_us=None,
        witness_us=None,
    ).since(-100)
    assert [(entry.stage, entry.us) for entry in account.entries] == [
        ("endpoint", 100),
        ("stall", 50),
        ("endpoint", 450),
    ]


async def test_two_tasks_may_leave_their_stages_in_any_order():
    """A bridge is delivered while the reply is still being chosen."""
    book = Ledger(0)

    async def charged(stage, began, ended):
        await clock.sleep_until(began)
        with book.stage(stage, OWNERS[stage]):
            await clock.sleep_until(ended)

    await asyncio.gather(
        charged("choose", 0, 300), charged("deliver", 100, 200), charged("synthesize", 150, 400)
    )
    account = book.account("answered")
    assert contiguous(account.entries, 0, 400)
    assert [(entry.stage, entry.us) for entry in account.entries] == [
        ("choose", 100),
        ("deliver", 50),
        ("synthesize", 250),
    ]
    assert [stage for stage, _ in book._stack] == ["unaccounted"]
