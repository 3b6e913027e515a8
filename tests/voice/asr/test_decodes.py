from __future__ import annotations

import asyncio

import pytest

from turnbudget.voice.asr.decodes import Agreement, Decode, Decodes, KnownText, Urgency
from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock

WORK_US = 50_000


class Bench:
    """Decodes that take 50 ms each, end a millisecond after their leave is taken back, and say who began."""

    def __init__(self):
        self.began = []
        self.running = 0
        self.names = {}
        self.decodes = Decodes(lambda decode: asyncio.ensure_future(self._work(decode)))

    async def _work(self, decode):
        name = self.names[decode]
        self.began.append(name)
        self.running += 1
        assert self.running == 1
        ends, leave = clock.now() + WORK_US, decode.leave
        while clock.now() < ends and not leave.taken_back:
            await clock.sleep(1_000)
        self.running -= 1
        if name == "broken":
            raise RuntimeError("bad graph")
        return None if leave.taken_back else name

    def add(self, name, urgency):
        decode = Decode(audio.silence(audio.FRAME), KnownText(), urgency)
        self.names[decode] = name
        self.decodes.add(decode)
        return decode


async def texts(*decodes):
    return [await decode.text for decode in decodes]


async def test_the_most_urgent_goes_first_and_of_equals_who_asked_first():
    bench = Bench()
    first = bench.add("first", Urgency.FINAL)
    waiting = [
        bench.add("partial", Urgency.PARTIAL),
        bench.add("one pause", Urgency.PAUSE),
        bench.add("other pause", Urgency.PAUSE),
        bench.add("final", Urgency.FINAL),
    ]
    await texts(first, *waiting)
    assert bench.began == ["first", "final", "one pause", "other pause", "partial"]
    assert clock.now() == 5 * WORK_US


@pytest.mark.parametrize("urgency", [Urgency.FINAL, Urgency.PAUSE])
async def test_a_partial_under_way_gives_way_for_good(urgency):
    bench = Bench()
    partial = bench.add("partial", Urgency.PARTIAL)
    await clock.sleep(10_000)
    urgent = bench.add("urgent", urgency)
    assert await texts(partial, urgent) == [None, "urgent"]
    assert clock.now() <= 10_000 + WORK_US + 2_000
    assert bench.began == ["partial", "urgent"]


async def test_a_pause_under_way_gives_way_to_a_final_text_and_is_decoded_after_it():
    bench = Bench()
    pause = bench.add("pause", Urgency.PAUSE)
    await clock.sleep(10_000)
    bench.add("other pause", Urgency.PAUSE)
    final = bench.add("final", Urgency.FINAL)
    assert await texts(final) == ["final"]
    assert clock.now() <= 10_000 + WORK_US + 2_000
    assert await texts(pause) == ["pause"]
    assert bench.began == ["pause", "final", "pause"]


async def test_a_final_text_gives_way_to_nothing():
    bench = Bench()
    one = bench.add("one", Urgency.FINAL)
    await clock.sleep(10_000)
    other = bench.add("other", Urgency.FINAL)
    assert await texts(one, other) == ["one", "other"]
    assert bench.began == ["one", "other"]


async def test_a_pause_that_was_not_the_end_waits_and_gives_way_like_a_partial():
    bench = Bench()
    dip, later = bench.add("dip", Urgency.PAUSE), bench.add("later", Urgency.PARTIAL)
    pause = bench.add("pause", Urgency.PAUSE)
    bench.decodes.change(dip, Urgency.PARTIAL)
    assert await texts(dip, pause, later) == [None, "pause", "later"]


async def test_a_pause_that_is_waited_for_goes_before_other_pauses():
    bench = Bench()
    pauses = [bench.add(name, Urgency.PAUSE) for name in ("first", "second", "third")]
    bench.decodes.change(pauses[2], Urgency.FINAL)
    assert await texts(*pauses) == ["first", "second", "third"]
    assert bench.began == ["first", "third", "first", "second"]


async def test_what_is_given_up_never_begins_and_ends_at_once():
    bench = Bench()
    running, waiting = bench.add("running", Urgency.FINAL), bench.add("waiting", Urgency.FINAL)
    await clock.sleep(10_000)
    bench.decodes.give_up_all()
    assert await texts(running, waiting) == [None, None]
    assert bench.began == ["running"]
    assert clock.now() <= 12_000
    bench.decodes.change(waiting, Urgency.FINAL)
    assert await texts(bench.add("next", Urgency.PARTIAL)) == ["next"]
    assert bench.began == ["running", "next"]


async def test_a_failure_is_its_own_and_the_next_goes_on():
    bench = Bench()
    broken, sound = bench.add("broken", Urgency.PAUSE), bench.add("sound", Urgency.PAUSE)
    with pytest.raises(RuntimeError, match="bad graph"):
        await broken.text
    assert await texts(sound) == ["sound"]
    assert not broken.is_lost()


async def test_a_partial_that_was_done_before_it_could_give_way_is_not_lost():
    bench = Bench()
    partial = bench.add("partial", Urgency.PARTIAL)
    await clock.sleep(10_000)
    assert not partial.is_lost()
    await partial.text
    partial.leave.take_back()
    assert not partial.is_lost()


def believed(*decodes):
    agreement, shown = Agreement(), []
    for decode in decodes:
        agreement.hear(decode)
        shown.append(agreement.text)
    return shown


def test_a_word_is_believed_when_two_decodes_agree_on_it():
    assert believed("I", "I need", "I need a", "I need a taxi") == ["", "I", "I need", "I need a"]


def test_case_and_punctuation_do_not_matter():
    assert believed("I need.", "i need, a")[-1] == "i need,"


def test_a_flapping_partial_is_not_believed():
    """ASR-09."""
    assert believed("cancel", "can you", "can you sell", "can you sell my") == [
        "",
        "",
        "can you",
        "can you sell",
    ]


def test_one_odd_decode_takes_nothing_back_and_two_do():
    assert believed("cancel my", "cancel my", "can you", "can you sell")[1:] == [
        "cancel my",
        "cancel my",
        "can you",
    ]


def test_after_a_pause_all_of_the_text_is_believed():
    agreement = Agreement()
    agreement.hear("check my")
    agreement.settle("Check my balance.")
    assert agreement.text == "Check my balance."
    agreement.hear("check my balance please")
    assert agreement.text == "check my balance"
