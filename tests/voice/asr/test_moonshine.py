"""How decodes are begun, abandoned and used, in virtual time."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
from listeners import ignore, watched

from turnbudget.voice.asr.decodes import KnownText
from turnbudget.voice.asr.moonshine import Moonshine, read_in_pieces
from turnbudget.voice.errors import AsrError
from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock


class Timed(Moonshine):
    """Decodes one after another, each in 100 ms, to a text that says how much it heard."""

    def __init__(self):
        super().__init__()
        self.asked = []

    def start(self, decode):
        self.asked.append(decode.leave)
        return asyncio.ensure_future(self._decode(decode.sound, decode.leave))

    async def _decode(self, sound, leave):
        ends = clock.now() + 100_000
        while clock.now() < ends:
            await clock.sleep(1_000)
            if leave.taken_back:
                return None
        return " ".join(f"w{n}" for n in range(sound.size // audio.RATE * 2 + 1))


async def hear(dictation, ms):
    """Feed *ms* of sound as it comes."""
    for _ in range(ms // 20):
        await clock.sleep(20_000)
        dictation.feed(audio.silence(audio.FRAME))


async def test_a_partial_waits_for_enough_new_sound_and_for_its_cost():
    engine = Timed()
    dictation = engine.begin(0, ignore)
    await hear(dictation, 1_000)
    assert len(engine.asked) == 3
    assert dictation.partial == "w0"


async def test_a_pause_is_decoded_at_once_and_a_partial_gives_way():
    """MET-13."""
    engine = Timed()
    dictation = engine.begin(0, ignore)
    await hear(dictation, 340)
    dictation.pause()
    assert engine.asked[0].taken_back
    transcript = await dictation.final()
    assert clock.now() <= 340_000 + 1_000 + 100_000
    assert [work.used for work in transcript.work] == [False, True]


async def test_the_partial_of_another_call_gives_way_as_well():
    engine = Timed()
    one, other = engine.begin(0, ignore), engine.begin(0, ignore)
    await hear(other, 320)
    one.feed(audio.silence(audio.RATE // 4))
    one.pause()
    assert engine.asked[0].taken_back


async def test_a_dip_of_another_call_gives_way_to_a_final_text_and_is_whole_after_it():
    engine = Timed()
    other, watching = watched(engine)
    one = engine.begin(0, ignore)
    for dictation in (other, one):
        dictation.feed(audio.silence(audio.RATE // 4))
        dictation.pause()
    await clock.sleep(30_000)
    await one.final()
    assert clock.now() <= 30_000 + 1_000 + 100_000
    await clock.sleep(200_000)
    assert other.whole
    assert clock.now() > watching.whole_at > 130_000


async def test_the_pause_s_text_is_told_when_it_is_decoded():
    engine = Timed()
    dictation, watching = watched(engine)
    dictation.feed(audio.silence(audio.RATE // 4))
    dictation.pause()
    assert not dictation.whole
    await clock.sleep(150_000)
    assert watching.seen == [(100_000, "w0", True)]
    assert (await dictation.final()).text == "w0"
    assert len(engine.asked) == 1


async def test_a_dip_whose_voice_came_back_is_a_partial_like_others():
    engine = Timed()
    dictation, watching = watched(engine)
    dictation.feed(audio.silence(audio.RATE // 4))
    dictation.pause()
    await clock.sleep(40_000)
    dictation.resume()
    await clock.sleep(80_000)
    assert watching.seen == [(100_000, "", False)]
    dictation.feed(audio.silence(audio.FRAME))
    dictation.pause()
    await clock.sleep(120_000)
    assert dictation.whole
    dictation.resume()
    assert (dictation.partial, dictation.whole) == ("w0", False)


async def test_a_dip_whose_voice_came_back_gives_way_to_another_call_s():
    engine = Timed()
    one, other = engine.begin(0, ignore), engine.begin(0, ignore)
    for dictation in (one, other):
        dictation.feed(audio.silence(audio.RATE // 4))
        dictation.pause()
    one.resume()
    assert engine.asked[0].taken_back
    await clock.sleep(110_000)
    assert other.whole


async def test_a_newer_pause_takes_the_place_of_one_that_waits():
    engine = Timed()
    one, other = engine.begin(0, ignore), engine.begin(0, ignore)
    for _ in range(3):
        for dictation in (other, one):
            dictation.feed(audio.silence(audio.RATE // 4))
            dictation.pause()
        one.resume()
    one.pause()
    await clock.sleep(2 * 100_000 + 10_000)
    assert one.whole
    assert len(engine.asked) == 2


async def test_a_pause_in_which_nothing_is_found_erases_no_partial():
    """ASR-02."""

    class Fading(Timed):
        async def _decode(self, sound, leave):
            text = await super()._decode(sound, leave)
            return "" if sound.size == audio.RATE else text

    engine = Fading()
    dictation, watching = watched(engine)
    await hear(dictation, 980)
    assert dictation.partial == "w0"
    dictation.feed(audio.silence(audio.FRAME))
    dictation.pause()
    assert (await dictation.final()).text == ""
    assert (dictation.partial, dictation.whole) == ("w0", False)
    assert watching.whole_at is None


async def test_a_final_text_never_gives_way():
    engine = Timed()
    one, other = engine.begin(0, ignore), engine.begin(0, ignore)
    for dictation in (one, other):
        dictation.feed(audio.silence(audio.RATE // 4))
        dictation.pause()
    assert not any(leave.taken_back for leave in engine.asked)


async def test_silence_after_a_pause_is_not_decoded_again():
    engine = Timed()
    dictation = engine.begin(0, ignore)
    await hear(dictation, 200)
    dictation.pause()
    await hear(dictation, 800)
    asked = clock.now()
    transcript = await dictation.final()
    assert clock.now() == asked
    assert len(engine.asked) == 1
    assert len(transcript.work) == 1


async def test_a_pause_that_was_not_the_end_is_work_not_used():
    engine = Timed()
    dictation = engine.begin(0, ignore)
    await hear(dictation, 200)
    dictation.pause()
    await clock.sleep(50_000)
    dictation.resume()
    await hear(dictation, 40)
    dictation.pause()
    transcript = await dictation.final()
    assert [work.used for work in transcript.work] == [False, True]
    assert engine.asked[0].taken_back


async def test_after_a_pause_the_partial_is_all_of_the_text():
    dictation = Timed().begin(0, ignore)
    dictation.feed(audio.silence(audio.RATE))
    dictation.pause()
    await clock.sleep(120_000)
    assert dictation.partial == "w0 w1 w2"


async def test_a_partial_that_heard_all_of_it_is_the_text_of_the_pause():
    engine = Timed()
    dictation = engine.begin(0, ignore)
    dictation.feed(audio.silence(audio.RATE))
    await clock.sleep(150_000)
    assert dictation.partial == ""
    dictation.pause()
    assert dictation.partial == "w0 w1 w2"
    assert (await dictation.final()).work[0].used
    assert len(engine.asked) == 1


async def test_a_dropped_utterance_abandons_its_work_and_has_no_text():
    engine = Timed()
    dictation = engine.begin(0, ignore)
    await hear(dictation, 400)
    dictation.drop()
    await hear(dictation, 400)
    assert all(leave.taken_back for leave in engine.asked)
    with pytest.raises(AsrError, match="dropped"):
        await dictation.final()


async def test_a_decode_that_fails_is_the_component_s_fault():
    class Broken(Timed):
        async def _decode(self, *_):
            raise RuntimeError("bad graph")

    dictation = Broken().begin(0, ignore)
    await hear(dictation, 400)
    with pytest.raises(AsrError, match="moonshine: decoding failed: bad graph"):
        await dictation.final()


def test_long_sound_is_read_in_pieces_and_each_piece_once():
    lengths, known = [], KnownText()

    def read(piece):
        lengths.append(piece.size / audio.RATE)
        return "word"

    sound = np.zeros(30 * audio.RATE, np.int16)
    assert read_in_pieces(sound, known, read) == "word word word word"
    assert max(lengths) <= 12
    known.draft.append(3)
    first = len(lengths)
    read_in_pieces(np.zeros(30 * audio.RATE + 1_600, np.int16), known, read)
    assert len(lengths) == first + 1
    assert known.draft == [3]
    read_in_pieces(np.zeros(40 * audio.RATE, np.int16), known, read)
    assert known.draft == []
