from __future__ import annotations

from dataclasses import replace

import pytest
from listeners import ignore, watched

from turnbudget.voice.asr.check import check_transcriber
from turnbudget.voice.asr.scripted import ScriptedTranscriber, Take
from turnbudget.voice.asr.transcriber import Transcript, Word, Work
from turnbudget.voice.errors import AsrError
from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock

MOVE = (
    Word("move", 0, 300_000),
    Word("my", 300_000, 450_000),
    Word("visit", 500_000, 900_000),
    Word("[noise]", 1_000_000, 1_100_000),
    Word("to", 2_100_000, 2_200_000),
    Word("friday", 2_250_000, 2_700_000),
)


def sound(ms):
    return audio.silence(audio.samples(ms * 1_000))


async def test_a_scripted_transcriber_keeps_every_promise():
    await check_transcriber(
        lambda: ScriptedTranscriber(MOVE), sound(3_000), ["move", "friday"], knows_silence=False
    )


async def test_words_around_an_internal_silence_are_one_text():
    """ASR-01."""
    dictation = ScriptedTranscriber(MOVE).begin(0, ignore)
    dictation.feed(sound(1_000))
    dictation.pause()
    dictation.resume()
    dictation.feed(sound(2_000))
    assert (await dictation.final()).text == "move my visit to friday"


async def test_a_word_shows_its_lag_after_it_ended():
    dictation = ScriptedTranscriber(MOVE, lag_us=200_000).begin(0, ignore)
    shown = []
    for _ in range(12):
        dictation.feed(sound(100))
        shown.append(dictation.partial)
    assert shown[3:7] == ["", "move", "move", "move my"]
    assert shown[-1] == "move my visit"


async def test_only_words_in_the_sound_are_heard_and_each_once():
    transcriber = ScriptedTranscriber(MOVE)
    heard = []
    for at in (0, 1_500):
        dictation = transcriber.begin(audio.samples(at * 1_000), ignore)
        dictation.feed(sound(1_500))
        heard.append((await dictation.final()).text)
    assert heard == ["move my visit", "to friday"]


async def test_a_reference_may_grow_while_the_call_plays():
    reference = []
    dictation = ScriptedTranscriber(reference).begin(0, ignore)
    dictation.feed(sound(500))
    reference.append(Word("hello", 100_000, 400_000))
    assert (await dictation.final()).text == "hello"


async def test_the_final_text_is_ready_its_delay_after_the_pause():
    dictation = ScriptedTranscriber(MOVE, final_us=80_000).begin(0, ignore)
    dictation.feed(sound(1_000))
    dictation.pause()
    await clock.sleep(50_000)
    transcript = await dictation.final()
    assert clock.now() == 80_000
    assert transcript.work == (Work(0, 80_000, used=True),)


async def test_the_pause_s_text_is_whole_its_delay_after_the_pause_and_that_is_told():
    dictation, watching = watched(ScriptedTranscriber(MOVE, final_us=80_000))
    dictation.feed(sound(1_000))
    dictation.pause()
    assert (dictation.partial, dictation.whole) == ("move my", False)
    await clock.sleep(100_000)
    assert watching.seen == [(80_000, "move my visit", True)]
    assert (await dictation.final()).text == dictation.partial


async def test_a_pause_that_was_not_the_end_is_never_whole():
    dictation, watching = watched(ScriptedTranscriber(MOVE, final_us=80_000))
    dictation.feed(sound(1_000))
    dictation.pause()
    await clock.sleep(79_000)
    dictation.resume()
    await clock.sleep(100_000)
    assert not watching.seen
    dictation.pause()
    await clock.sleep(100_000)
    dictation.resume()
    assert (dictation.partial, dictation.whole) == ("move my", False)


@pytest.mark.parametrize("take", [Take(never=True), Take(error="the model broke"), Take(text="")])
async def test_a_text_that_does_not_come_is_not_whole_and_erases_nothing(take):
    """ASR-02, ASR-14."""
    dictation, watching = watched(ScriptedTranscriber(MOVE, takes=[replace(take, partials=((0, "check"),))]))
    dictation.feed(sound(1_000))
    dictation.pause()
    await clock.sleep(clock.SECOND)
    assert (dictation.partial, dictation.whole) == ("check", False)
    assert not any(whole for *_, whole in watching.seen)


async def test_a_dropped_utterance_tells_nothing():
    dictation, watching = watched(ScriptedTranscriber(MOVE))
    dictation.pause()
    dictation.drop()
    await clock.sleep(clock.SECOND)
    assert not watching.seen


async def test_work_for_a_pause_that_was_not_the_end_is_not_used():
    dictation = ScriptedTranscriber(MOVE, final_us=80_000).begin(0, ignore)
    dictation.pause()
    await clock.sleep(30_000)
    dictation.resume()
    await clock.sleep(10_000)
    dictation.pause()
    transcript = await dictation.final()
    assert transcript.work == (Work(0, 30_000, used=False), Work(40_000, 120_000, used=True))


async def test_good_partials_may_end_in_an_empty_final():
    """ASR-02."""
    take = Take(text="", partials=((200_000, "check"), (500_000, "check my balance")), final_us=200_000)
    dictation = ScriptedTranscriber(takes=[take]).begin(0, ignore)
    dictation.feed(sound(600))
    assert dictation.partial == "check my balance"
    assert await dictation.final() == Transcript("")


async def test_a_final_that_never_comes_leaves_the_partial():
    """ASR-14."""
    take = Take(partials=((0, "book a table"),), never=True)
    dictation = ScriptedTranscriber(takes=[take]).begin(0, ignore)
    dictation.pause()
    async with clock.move_on_at(500_000) as scope:
        await dictation.final()
    assert scope.expired()
    assert dictation.partial == "book a table"


async def test_partials_may_flap():
    """ASR-09."""
    take = Take(text="can you sell my ticket", partials=((0, "cancel"), (40_000, "can you sell my")))
    dictation = ScriptedTranscriber(takes=[take]).begin(0, ignore)
    assert dictation.partial == "cancel"
    dictation.feed(sound(40))
    assert dictation.partial == "can you sell my"
    assert (await dictation.final()).text == "can you sell my ticket"


async def test_a_failure_is_the_component_s():
    dictation = ScriptedTranscriber(takes=[Take(error="the model broke")]).begin(0, ignore)
    with pytest.raises(AsrError, match="scripted: the model broke"):
        await dictation.final()


async def test_takes_are_used_in_turn_and_then_the_reference():
    transcriber = ScriptedTranscriber(MOVE[:1], takes=[Take(text="first")])
    texts = []
    for _ in range(2):
        dictation = transcriber.begin(0, ignore)
        dictation.feed(sound(400))
        texts.append((await dictation.final()).text)
    assert texts == ["first", "move"]


async def test_a_dropped_utterance_has_no_text():
    dictation = ScriptedTranscriber(MOVE).begin(0, ignore)
    dictation.drop()
    with pytest.raises(AsrError, match="dropped"):
        await dictation.final()
