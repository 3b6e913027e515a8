"""The tape is the witness: two tracks on one clock, sample by sample, however it is taken off."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from turnbudget.voice.sound import audio
from turnbudget.voice.speaking.tape import Tape
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import MS, SECOND


def sound(count, first=1):
    return (np.arange(count) % 30_000 + first).astype(np.int16)


async def test_each_side_stands_where_it_sounded():
    tape = Tape(0)
    tape.caller(sound(320), 40 * MS)
    await clock.sleep(100 * MS)
    assert tape.agent(sound(160, 9), fresh=True) == 1_600
    block = tape.take(200 * MS)
    assert block.shape == (3_200, 2)
    assert np.array_equal(block[640:960, 0], sound(320))
    assert np.array_equal(block[1_600:1_760, 1], sound(160, 9))
    assert np.count_nonzero(block) == 480


async def test_a_frame_that_goes_on_follows_without_a_seam_however_late_it_was_sent():
    tape = Tape(clock.now())
    places = [tape.agent(sound(320), fresh=True)]
    for late in (3, 30, 0, 17):
        await clock.sleep(late * MS)
        places.append(tape.agent(sound(320), fresh=False))
    assert places == [0, 320, 640, 960, 1_280]


async def test_a_frame_that_goes_on_stands_behind_the_one_before_and_not_where_it_was_sent():
    tape = Tape(clock.now())
    tape.agent(sound(320), fresh=True)
    await clock.sleep(500 * MS)
    assert tape.agent(sound(320), fresh=False) == 320
    await clock.sleep(500 * MS)
    assert tape.agent(sound(320), fresh=True) == 16_000


async def test_a_fresh_frame_never_overlaps_the_one_before():
    tape = Tape(clock.now())
    tape.agent(sound(320), fresh=True)
    await clock.sleep(5 * MS)
    assert tape.agent(sound(320), fresh=True) == 320


async def test_a_place_on_the_tape_is_an_instant_on_the_clock():
    await clock.sleep(777)
    tape = Tape(clock.now())
    await clock.sleep(123_456)
    place = tape.agent(sound(320), fresh=True)
    assert 0 <= clock.now() - tape.clock_at(place) < 63


async def test_a_tape_that_keeps_nothing_is_still_a_witness():
    tape = Tape(0, keeps=False)
    await clock.sleep(SECOND)
    tape.caller(sound(320), 0)
    assert tape.agent(sound(320), fresh=True) == audio.RATE
    assert tape._tracks.shape[1] == audio.RATE
    assert not tape.take(2 * SECOND).any()


async def test_what_is_taken_is_forgotten():
    """MET-14: a tape that is taken off as it grows stays as small as what is not taken yet."""
    tape = Tape(0)
    for second in range(600):
        tape.agent(sound(audio.RATE), fresh=False)
        tape.caller(sound(audio.RATE), second * SECOND)
        assert tape.take((second + 1) * SECOND).shape == (audio.RATE, 2)
    assert tape._tracks.shape[1] <= 2 * audio.RATE


async def test_sound_that_comes_after_its_time_was_taken_is_cut_to_what_is_left():
    tape = Tape(0)
    tape.take(10 * MS)
    tape.caller(sound(320), 0)
    tape.caller(sound(320), -SECOND)
    block = tape.take(30 * MS)
    assert np.array_equal(block[:160, 0], sound(320)[160:])


def test_taking_backwards_takes_nothing():
    tape = Tape(0)
    tape.take(SECOND)
    assert tape.take(500 * MS).shape == (0, 2)


PIECES = st.lists(
    st.tuples(
        st.integers(0, 900), st.sampled_from(["caller", "fresh", "on"]), st.integers(0, 60_000), st.booleans()
    ),
    max_size=15,
)


@settings(max_examples=60)
@given(PIECES)
def test_taken_in_portions_it_is_the_same_tape(pieces):
    """What has settled is taken: before now, and before the end of our own sound."""

    async def main():
        whole, portioned = Tape(0), Tape(0)
        taken, caller_us = [], 0
        for count, what, us, takes in pieces:
            await clock.sleep(us)
            caller_us = max(caller_us, clock.now())
            for tape in (whole, portioned):
                if what == "caller":
                    tape.caller(sound(count), caller_us)
                else:
                    tape.agent(sound(count), fresh=what == "fresh")
            caller_us += audio.us(count) if what == "caller" else 0
            if takes:
                taken.append(portioned.take(min(clock.now(), whole.clock_at(whole._sent))))
        end = 2 * SECOND
        return whole.take(end), np.concatenate([*taken, portioned.take(end)])

    at_once, in_portions = clock.run(main(), "virtual")
    assert np.array_equal(at_once, in_portions)
