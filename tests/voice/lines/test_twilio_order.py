"""Whatever the order of arrival: nothing twice, nothing before what is older, and places that are its own."""

from __future__ import annotations

import base64
import json
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnbudget.voice.lines.dialect import AudioIn, Odd
from turnbudget.voice.lines.reorder import Chunk, Reorder
from turnbudget.voice.lines.twilio import TwilioDialect

FRAME = 160


def chunk(number, stamp=None, size=FRAME):
    return Chunk(bytes([number % 256]) * size, number * 20 if stamp is None else stamp, number)


def taken(chunks, scale=8):
    """Return what comes out, as (first byte, place), and how many chunks were dropped."""
    order, out, dropped = Reorder(scale), [], 0
    for one in chunks:
        placed = order.feed(one)
        dropped += placed is None
        out += placed or []
    return [(one.payload[0], one.at) for one in [*out, *order.flush()]], dropped


def places(*numbers, first=1):
    return [(number, (number - first) * FRAME) for number in numbers]


def test_chunks_late_twice_and_missing():
    """AUD-18: 1,2,4,3,5,5,6,9,10 – 3 before 4, 5 once, the gap in its place."""
    arrived = [chunk(number) for number in (1, 2, 4, 3, 5, 5, 6, 9, 10, 11, 12)]
    assert taken(arrived) == (places(1, 2, 3, 4, 5, 6, 9, 10, 11, 12), 1)


def test_a_gap_holds_newer_media_up_no_longer_than_100_ms():
    """AUD-18"""
    order = Reorder(8)
    out = [len(order.feed(chunk(number)) or []) for number in (1, 2, 5, 6, 7, 8, 9, 10)]
    assert out == [1, 1, 0, 0, 0, 4, 1, 1]
    assert order.feed(chunk(3)) is None


def test_a_jump_of_the_count_goes_on_where_the_stamps_do():
    """AUD-18: a jump of sequence from 12 to 4000, stamps 20 ms apart."""
    jump = [chunk(11), chunk(12), chunk(4_000, 260), chunk(4_001, 280), chunk(13, 300), chunk(14, 320)]
    out, dropped = taken(jump)
    assert [at for _, at in out] == [0, 160, 320, 480, 640, 800]
    assert dropped == 0


def test_a_jump_of_the_stamps_is_told_as_it_is_and_a_new_count_goes_on():
    """AUD-18: jump resynchronises; the call's media decides whether so much time has passed."""
    out, dropped = taken([chunk(1), chunk(2), chunk(3, 80_000), chunk(4, 80_020), chunk(5, 0), chunk(6, 20)])
    assert [at for _, at in out] == [0, 160, 639_840, 640_000, 640_160, 640_320]
    assert dropped == 0
    out, dropped = taken([*(chunk(number) for number in range(100, 200)), chunk(1), chunk(2)])
    assert [at for _, at in out] == [160 * number for number in range(102)]
    assert dropped == 0


def test_a_clock_that_was_set_back_goes_on_from_where_it_is():
    """AUD-18: what comes behind it keeps its distance."""
    stamps = [0, 20, 40, 60, 10, 30, 230, 250]
    out, dropped = taken([chunk(number, stamp) for number, stamp in enumerate(stamps)])
    assert [at // 8 for _, at in out] == [0, 20, 40, 60, 80, 100, 300, 320]
    assert dropped == 0


def test_silence_that_was_not_sent_is_a_gap_and_holds_nothing_up():
    """AUD-15, AUD-18: the count goes on, the stamps have moved."""
    order = Reorder(8)
    out = [order.feed(one)[0].at for one in (chunk(1), chunk(2), chunk(3, 100), chunk(4, 120))]
    assert out == [0, 160, 640, 800]


def test_stamps_that_tremble_neither_tear_nor_drop():
    """AUD-18: what is off by less than a chunk goes on."""
    stamps = [0, 21, 39, 63, 77, 100, 118, 141, 160]
    out, dropped = taken([chunk(number, stamp) for number, stamp in enumerate(stamps)])
    assert (out, dropped) == (places(*range(9), first=0), 0)


@pytest.mark.parametrize(
    ("stamped", "at"),
    [((False, False), [None] * 5), ((True, False), [0, 160, 320, 480, 640]), ((False, True), None)],
)
def test_stamps_or_counts_or_both_may_be_missing(stamped, at):
    """AUD-18"""
    stamps, numbers = stamped
    chunks = [Chunk(bytes([n]) * FRAME, n * 20 if stamps else None, n if numbers else None) for n in range(5)]
    out, dropped = taken(chunks)
    assert [place for _, place in out] == (at or [0, 160, 320, 480, 640])
    assert dropped == 0


def test_stamps_that_stand_still_leave_the_order_to_the_count():
    out, dropped = taken([chunk(number, 0) for number in range(20)])
    assert (out, dropped) == (places(*range(20), first=0), 0)


def test_what_waits_is_bounded():
    order = Reorder(8)
    order.feed(chunk(0))
    for number in range(2, 10_000):
        order.feed(Chunk(b"\1", 30, number))
        assert len(order._held) <= 17


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32), st.sampled_from([8, 16, 32]), st.integers(5, 60))
def test_what_is_late_by_less_than_100_ms_comes_in_order(seed, scale, count):
    """AUD-18: each is at most four 20 ms chunks away from its place; the first is first."""
    rng = random.Random(seed)  # noqa: S311 - an order, not a secret
    size = 20 * scale
    arrival = [0, *sorted(range(1, count), key=lambda number: number + rng.uniform(0, 4))]
    out, dropped = taken([chunk(number, size=size) for number in arrival], scale)
    assert out == [(number, number * size) for number in range(count)]
    assert dropped == 0


@settings(deadline=None, max_examples=200)
@given(
    st.lists(
        st.tuples(
            st.one_of(st.none(), st.integers(0, 3_000)),
            st.one_of(st.none(), st.integers(0, 60)),
            st.integers(1, 400),
        ),
        max_size=40,
    )
)
def test_any_chunks_come_out_at_most_once_and_never_over_one_another(said):
    """AUD-18: every chunk comes out or is told as dropped; places only grow."""
    order, out, dropped = Reorder(8), [], 0
    for index, (stamp, number, size) in enumerate(said):
        placed = order.feed(Chunk(index.to_bytes(2, "big") + bytes(size), stamp, number))
        dropped += placed is None
        out += placed or []
    out += order.flush()
    indices = [one.payload[:2] for one in out]
    assert len(set(indices)) == len(indices)
    assert len(out) + dropped == len(said)
    end = 0
    for one in out:
        if one.at is not None:
            assert one.at >= end
            end = one.at + len(one.payload)


def test_a_dialect_gives_sound_in_the_order_it_was_spoken():
    """AUD-18: through the messages, with what is held at the end given out, and what came twice counted."""
    dialect = TwilioDialect()
    form = {"encoding": "audio/x-l16", "sampleRate": 16_000}
    dialect.receive(json.dumps({"event": "start", "streamSid": "M", "start": {"mediaFormat": form}}))
    events = []
    for number in (1, 3, 2, 2, 5):
        payload = base64.b64encode(np.full(320, number, np.int16).tobytes()).decode()
        media = {"chunk": str(number), "timestamp": str(number * 20), "payload": payload}
        events += dialect.receive(json.dumps({"event": "media", "streamSid": "M", "media": media}))
    events += dialect.ended()
    sound = [(int(event.samples[0]), event.at) for event in events if isinstance(event, AudioIn)]
    assert sound == [(1, 0), (2, 320), (3, 640), (5, 1_280)]
    assert len([event for event in events if isinstance(event, Odd)]) == 1
