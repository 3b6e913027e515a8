"""What the caller's words mean to somebody who is speaking: tables, by language."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from laws import each

from turnbudget.voice.language.phrases_heard import ENGLISH, WordClasses, plain_words, sense_of, word_classes

TABLE = {
    "nothing": ["", " ", ".", "…", "[BLANK_AUDIO]", "(wind blowing)", "um", "uh, er"],
    "backchannel": ["mhm", "Mm-hmm.", "uh huh", "oh okay", "all right", "i see, thank you", "go on please"],
    "presence": ["hello?", "Hello? Are you there?", "can you hear me", "oh hello please"],
    "stop": ["stop", "no, stop it!", "wait a second", "okay enough", "would you just stop talking please"],
    "speech": [
        "no",
        "you",
        "please",
        "the bus stop",
        "wait, Friday",
        "okay but",
        "don't",
        "seven",
        "i want to",
    ],
}


@each(("sense", "text"), [(sense, text) for sense, texts in TABLE.items() for text in texts])
def test_what_a_whole_text_means(sense, text):
    assert sense_of(text, ENGLISH, whole=True) == sense


@each("text", ["don't", "makes", "okay i", "mm hmm that makes", "no", "are you", "hold"])
def test_words_that_may_yet_become_harmless_are_open(text):
    """VAD-03, VAD-04: a recogniser shows "makes" before "makes sense", and "don't" before "don't stop"."""
    assert sense_of(text, ENGLISH, whole=False) == "open"


@each("text", ["what", "i want", "makes me", "seven", "wait i", "don't know"])
def test_content_is_speech_though_more_may_come(text):
    assert sense_of(text, ENGLISH, whole=False) == "speech"


@each("negation", ["don't", "Don’t", "do not", "never", "please don't"])
@each("stop", ["stop", "stop talking", "wait"])
def test_a_stop_that_is_negated_asks_us_to_go_on(negation, stop):
    """VAD-04."""
    assert sense_of(f"{negation} {stop}", ENGLISH, whole=True) == "backchannel"


def test_a_language_has_its_own_lists_or_none():
    """Without lists every word is content, and noise is noise all the same."""
    assert word_classes("en") is word_classes("en-GB") is word_classes("EN_us") is ENGLISH
    assert word_classes("ko") == WordClasses()
    assert [sense_of(text, word_classes("ko"), whole=True) for text in ("", "네")] == ["nothing", "speech"]


def test_no_phrase_stands_in_two_classes():
    phrases = [plain_words(phrase) for name in WordClasses.__slots__ for phrase in getattr(ENGLISH, name)]
    assert all(phrases)
    assert len(phrases) == len(set(phrases))


harmless = st.lists(st.sampled_from(ENGLISH.backchannels + ENGLISH.fillers), max_size=4).map(" ".join)


@given(harmless, st.sampled_from(ENGLISH.stop), harmless, st.booleans())
def test_a_stop_phrase_among_harmless_words_stops(before, stop, after, whole):
    """VAD-04: it is never hidden by what stands around it."""
    assert sense_of(f"{before} {stop} {after}", ENGLISH, whole=whole) == "stop"


@given(st.text(max_size=60), st.booleans())
def test_any_text_means_something(text, whole):
    sense = sense_of(text, ENGLISH, whole=whole)
    assert sense in {"nothing", "open", "backchannel", "presence", "stop", "speech"}
    assert not (whole and sense == "open")
