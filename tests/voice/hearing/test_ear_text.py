"""The Ear and its transcriber: one utterance, one text, and a wait that always ends."""

from __future__ import annotations

import numpy as np
from laws import each
from sounds import MS, SECOND, Pattern, Recorder, frames, listen, noise, scene, speak, voice

from turnbudget.voice.asr.scripted import ScriptedTranscriber, Take
from turnbudget.voice.hearing.endpoint import Endpointing
from turnbudget.voice.hearing.events import Partial, Pause, SpeechStarted, Utterance
from turnbudget.voice.sound import audio

ASKED = (("check my balance", 0.5, 1.5),)


async def heard_as(*takes, phrases=ASKED, **how):
    """Let an Ear hear *phrases* with a transcriber that takes them so."""
    sound, words = speak(*phrases)
    return await listen(
        frames(sound), words=words, transcriber=ScriptedTranscriber(words, takes=takes), **how
    )


async def test_words_before_a_long_pause_are_not_lost():
    """ASR-01: "move my visit" [1.2 s] "to Friday", in one utterance."""
    phrases = (("move my visit", 0.5, 1.3), ("to Friday", 2.5, 3.1))
    heard = await heard_as(phrases=phrases, endpointing=Endpointing(1_400 * MS))
    assert heard.texts == ["move my visit to Friday"]


async def test_an_empty_last_result_erases_nothing():
    """ASR-01: the text so far stands, and is known for what it is."""
    phrases = (("move my visit", 0.5, 1.3), ("to Friday", 2.5, 3.1))
    heard = await heard_as(Take(text=""), phrases=phrases, endpointing=Endpointing(1_400 * MS))
    assert heard.texts == ["move my visit to Friday"]
    assert heard.utterances[0].trust == "partial"


async def test_an_empty_final_leaves_the_last_partial():
    """ASR-02: partials "check", "check my balance", final "" 200 ms after the end."""
    partials = ((700 * MS, "check"), (1_200 * MS, "check my balance"))
    heard = await heard_as(Take(text="", partials=partials, final_us=200 * MS))
    (told,) = heard.utterances
    assert (told.text, told.trust) == ("check my balance", "partial")
    assert told.because == "the final text was empty"
    assert [event.text for event in heard.of(Partial)] == ["check", "check my balance"]


async def test_the_order_of_end_and_text_does_not_matter():
    """ASR-06: the text 150 ms before the end, at it, 50, 400 and 1,500 ms after: only its arrival differs."""
    same = set()
    for after in (-150 * MS, 0, 50 * MS, 400 * MS, 1_500 * MS):
        heard = await heard_as(Take(final_us=after - 20 * MS), text_us=2 * SECOND)
        (told,) = heard.utterances
        same.add((told.text, *heard.turns[0], told.decided_us - heard.began_us))
        silence_began_us = heard.began_us + 1_500 * MS
        assert told.text_us == max(told.decided_us, silence_began_us + after)
    assert len(same) == 1


async def test_a_final_text_that_comes_late_is_done_without():
    """ASR-06 with the usual bound: 500 ms after the endpoint the partial text has to do."""
    heard = await heard_as(Take(final_us=1_500 * MS))
    (told,) = heard.utterances
    assert (told.text, told.trust) == ("check my balance", "partial")
    assert told.text_us == told.decided_us + 500 * MS


async def test_utterances_are_told_in_the_order_they_were_spoken():
    """ASR-07: the text of A comes after B has begun, then even after B has ended: A is told first."""
    phrases = (("the first answer", 0.5, 1.3), ("the second", 2.0, 2.6), ("what", 6.0, 6.4))
    short = Endpointing(200 * MS)
    for delay in (800 * MS, 3 * SECOND):
        heard = await heard_as(Take(final_us=delay), phrases=phrases, endpointing=short, text_us=5 * SECOND)
        assert heard.texts == ["the first answer", "the second", "what"]
        kinds = [type(event) for event in heard.events if isinstance(event, SpeechStarted | Utterance)]
        assert kinds[:3] == [SpeechStarted, SpeechStarted, Utterance]


async def test_while_a_later_text_is_awaited_the_ear_says_so():
    """ASR-07: when A is told, B is on its way; whoever answers A alone answers the wrong question."""
    waiting = []
    phrases = (("the first answer", 0.5, 1.3), ("the second", 2.0, 2.6))
    sound, words = speak(*phrases)
    transcriber = ScriptedTranscriber(words, takes=(Take(final_us=1_500 * MS), Take(final_us=900 * MS)))
    heard = await listen(
        frames(sound),
        words=words,
        transcriber=transcriber,
        endpointing=Endpointing(200 * MS),
        text_us=5 * SECOND,
        told=lambda ear, event: isinstance(event, Utterance) and waiting.append(ear.waiting),
    )
    assert len(heard.utterances) == 2
    assert waiting == [1, 0]


async def test_a_text_that_is_restated_is_told_once():
    """ASR-08: each result restates the turn with other punctuation."""
    partials = ((500 * MS, "I need a"), (900 * MS, "I need a taxi."))
    heard = await heard_as(Take(text="I need a taxi, at nine.", partials=partials))
    assert heard.texts == ["I need a taxi, at nine."]
    assert [(event.text, event.whole) for event in heard.of(Partial)] == [
        ("I need a", False),
        ("I need a taxi.", False),
        ("I need a taxi, at nine.", True),
    ]


@each("text", [".", " ", "…", "[BLANK_AUDIO]", "(wind blowing)", ""])
async def test_a_text_without_words_is_no_text(text):
    """ASR-11: a lone "." is counted and handed on as nothing, be it final or partial."""
    heard = await heard_as(Take(text=text, partials=((0, text),)))
    assert heard.texts == [""]
    assert heard.ear.wordless == 1


@each("text", ["you", "yes", "thank you", "no no no", "7"])
async def test_a_short_answer_is_an_answer(text):
    """ASR-12: what recognisers make up of noise is also what people say."""
    assert (await heard_as(Take(text=text))).texts == [text]


async def test_a_final_text_that_never_comes_is_awaited_no_longer_than_it_is_worth():
    """ASR-14: partials "book a table", then nothing: its turn goes on 500 ms after the endpoint."""
    heard = await heard_as(Take(never=True, partials=((600 * MS, "book a table"),)), rest_us=20 * SECOND)
    (told,) = heard.utterances
    assert told.text == "book a table"
    assert (told.trust, told.because) == ("partial", "the final text came too late")
    assert told.text_us - told.decided_us == 500 * MS
    assert heard.ear.waiting == 0


async def test_a_text_that_is_not_worth_a_wait_is_taken_if_it_is_there():
    """No time is left at the endpoint, but the text was made in the silence."""
    heard = await heard_as(text_us=0)
    (told,) = heard.utterances
    assert told.trust == "final"
    assert told.text_us == told.decided_us


async def test_a_transcriber_that_fails_leaves_the_partial_and_says_why():
    heard = await heard_as(Take(error="the model is gone"))
    (told,) = heard.utterances
    assert (told.text, told.trust) == ("check my balance", "partial")
    assert "the model is gone" in told.because


async def test_recognition_and_the_silence_pass_together():
    """MET-13: 120 ms of recognition inside 500 ms of silence, 20 turns: not once is it waited for."""
    phrases = [("check my balance", 0.5 + 2 * k, 1.3 + 2 * k) for k in range(20)]
    sound, words = speak(*phrases)
    transcriber = ScriptedTranscriber(words, final_us=120 * MS)
    heard = await listen(
        frames(sound), words=words, transcriber=transcriber, endpointing=Endpointing(500 * MS)
    )
    assert len(heard.utterances) == 20
    for told in heard.utterances:
        assert told.text_us == told.decided_us
        assert told.decided_us - told.ended_us <= 540 * MS
        assert told.work[-1].ended_us < told.decided_us


async def test_a_long_recognition_costs_only_what_the_silence_does_not_hide():
    """MET-13: 700 ms of recognition and 500 ms of silence make 700 and a window, not 1,200."""
    heard = await heard_as(Take(final_us=700 * MS), endpointing=Endpointing(500 * MS))
    (told,) = heard.utterances
    assert 700 * MS <= told.text_us - told.ended_us <= 740 * MS


async def test_silence_after_the_end_is_not_fed_for_ever():
    """ASR-04: the transcriber hears the utterance and its silence, not the half minute after it."""
    sound, words = speak(*ASKED, seconds=30)
    transcriber = Recorder(words)
    await listen(frames(sound), words=words, transcriber=transcriber)
    assert len(transcriber.sounds) == 1
    assert transcriber.sounds[0].size <= (0.3 + 1.0 + 0.6) * 16_000


async def test_the_text_is_made_from_thirty_milliseconds_of_quiet_on():
    """A voice dies away in a room for 200 ms, for a detector still a voice: the text does not wait for it."""
    words = speak(*ASKED)[1]
    sound = scene(4, (0.5, voice(1.0, db=-6)), (1.5, noise(0.2, db=-62)))
    heard = await listen(
        frames(sound),
        vad=Pattern((25, [0.0]), (60, [1.0])),
        transcriber=ScriptedTranscriber(words, final_us=100 * MS),
    )
    (told,) = heard.utterances
    assert told.text == "check my balance"
    began_us = [work.began_us - heard.began_us for work in told.work]
    assert 1_530 * MS <= began_us[-1] <= 1_560 * MS
    (fell,) = [at for name, at in heard.marks if name == "Pause"]
    (whole,) = [event.at_us - heard.began_us for event in heard.of(Partial) if event.whole]
    assert 1_490 * MS <= fell <= 1_510 * MS
    assert whole <= 1_740 * MS


async def test_a_gap_between_syllables_is_made_ready_for_and_gone_on_from():
    """Quiet of 60 ms that the detector does not see: the text begun in it is dropped, not told."""
    sound = scene(4, (0.5, voice(0.5)), (1.06, voice(0.5)))
    words = speak(("one", 0.5, 1.0), ("two", 1.06, 1.56))[1]
    heard = await listen(
        frames(sound), vad=Pattern((25, [0.0]), (53, [1.0])), transcriber=ScriptedTranscriber(words)
    )
    (told,) = heard.utterances
    assert told.text == "one two"
    assert [work.used for work in told.work] == [False, True]


async def test_a_caller_who_speaks_as_the_call_begins_is_heard_from_the_first_sample():
    """A voice 100 ms into the call: less came before it than is kept, and all of that is taken."""
    sound, words = speak(("check my balance", 0.1, 1.1))
    transcriber = Recorder(words)
    heard = await listen(frames(sound), words=words, transcriber=transcriber)
    assert heard.texts == ["check my balance"]
    assert transcriber.began == [0]
    assert np.array_equal(transcriber.sounds[0], sound[: transcriber.sounds[0].size])


async def test_before_anybody_has_spoken_the_sound_is_what_came_so_far():
    sound = noise(0.5, db=-40)
    heard = await listen(frames(sound), rest_us=0)
    assert np.array_equal(heard.ear.sound(), sound)


@each(("asked_ms", "size"), [(200, 320), (200, 160), (210, 160), (300, 1_600), (2_000, 320)])
async def test_a_pause_lasts_as_long_as_whoever_knows_the_words_asked(asked_ms, size):
    """The utterance is told with the frame in which the asked silence is over, by the rule that asked."""
    sound, words = speak(*ASKED, seconds=4)

    def ask(ear, event):
        if isinstance(event, Pause):
            ear.wait(asked_ms * MS, "whoever asked")

    heard = await listen(frames(sound, size), words=words, told=ask)
    (told,) = heard.utterances
    assert (told.text, told.rule) == ("check my balance", "whoever asked")
    frame_us = audio.us(size)
    assert asked_ms * MS <= told.decided_us - told.ended_us <= asked_ms * MS + frame_us + 20 * MS
