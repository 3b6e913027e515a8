"""The caller's media on our clock, whatever clock the caller has."""

from __future__ import annotations

import numpy as np
import pytest

from turnbudget.voice.hearing.media import Media
from turnbudget.voice.lines.line import Frame
from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock

LOST = 3200

MS = 1_000
FRAME = audio.silence(audio.FRAME)


async def run(media, numbers, arrival):
    """Let frames with these *numbers* arrive, each at *arrival* of its number (µs)."""
    for number in numbers:
        await clock.sleep_until(max(clock.now(), arrival(number)))
        at = media.place(Frame(FRAME, number * audio.FRAME))
        if at is not None:
            media.next = at + audio.FRAME


async def test_the_media_begins_when_its_first_frame_had_been_spoken():
    media = Media()
    await run(media, range(50), lambda number: 5_000 * MS + (number + 1) * audio.FRAME_US)
    assert media.epoch_us == 5_000 * MS
    assert media.at_clock(audio.RATE) == 6_000 * MS


async def test_the_earliest_arrival_is_the_truest():
    """A first frame 100 ms late, and jitter after it: a few frames on time are enough."""
    jitter = np.random.default_rng(1)
    late = [100 * MS, *(int(jitter.integers(5, 100)) * MS for _ in range(98)), *[0] * 10]
    media = Media()
    await run(media, range(109), lambda number: (number + 1) * audio.FRAME_US + late[number])
    assert media.epoch_us == 0


@pytest.mark.parametrize("ppm", [-150, 150])
async def test_a_callers_clock_that_drifts_is_followed(ppm):
    """MET-01 after half an hour on a sound card that runs fast or slow: 270 ms would be lost or won."""
    media, pace = Media(), audio.FRAME_US * (1 + ppm / 1e6)
    await run(media, range(90_000), lambda number: round((number + 1) * pace))
    truth = round(90_000 * pace)
    assert abs(media.at_clock(90_000 * audio.FRAME) - truth) <= 2 * MS
    assert media.lost() == 0


async def test_being_late_ourselves_moves_no_zero():
    """Five seconds in which every frame is taken 40 ms late: that is our delay, not the caller's."""
    media = Media()
    await run(
        media, range(600), lambda number: (number + 1) * audio.FRAME_US + (40 * MS if number > 349 else 0)
    )
    assert 0 <= media.epoch_us <= 2 * MS


async def test_what_is_under_way_is_not_lost():
    media = Media()
    await run(media, range(10), lambda number: (number + 1) * audio.FRAME_US)
    await clock.sleep(audio.us(LOST))
    assert media.lost() == 0
    await clock.sleep(audio.FRAME_US)
    assert media.lost() == LOST


async def test_nothing_is_lost_before_the_first_frame():
    await clock.sleep(5_000 * MS)
    assert Media().lost() == 0


async def test_what_comes_late_behind_a_filled_silence_moves_nothing_that_was_heard():
    """MET-01: 40 frames held up and delivered at once; a page asks which of its samples ended a turn."""
    media = Media()
    await run(media, range(100), lambda number: (number + 1) * audio.FRAME_US)
    for _ in range(7):
        await clock.sleep(100 * MS)
        media.next += media.lost()
    await run(media, range(100, 200), lambda number: max(2_800 * MS, (number + 1) * audio.FRAME_US))
    for instant in (1_000 * MS, 1_900 * MS, 3_000 * MS, 3_900 * MS):
        assert media.counted(instant) == audio.samples(instant)
    assert media.at_clock(audio.RATE) == 1_000 * MS
    assert media.at_clock(media.next) == 4_000 * MS
