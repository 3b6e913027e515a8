"""What a file says of a call is how the call behaves."""

from __future__ import annotations

import msgspec

from turnbudget.settings.compose import call_settings, endpointing
from turnbudget.settings.config import Config
from turnbudget.voice.call.bargein import Rules
from turnbudget.voice.call.parts import CallSettings
from turnbudget.voice.hearing.endpoint import Endpointing
from turnbudget.voice.hearing.keypad import Gathering
from turnbudget.voice.language.phrases_heard import sense_of
from turnbudget.voice.time.clock import MS, SECOND


def told(text):
    return msgspec.toml.decode(text, type=Config)


def test_the_defaults_are_those_of_the_parts():
    by_file = call_settings(Config())
    assert by_file.barge_in == Rules()
    assert by_file.keypad == Gathering()
    assert (by_file.idle_us, by_file.reprompts, by_file.longest_us) == (
        CallSettings().idle_us,
        CallSettings().reprompts,
        CallSettings().longest_us,
    )
    assert endpointing(Config()) == Endpointing()


def test_it_aims_to_be_a_margin_early():
    assert call_settings(told("budget_ms = 900\nmargin_ms = 50")).budget_us == 850 * MS


def test_stop_words_of_the_file_are_added_to_those_of_the_language():
    words = call_settings(told('[barge_in]\nstop = ["basta"]\nbackchannels = ["va bene"]')).barge_in.words
    assert sense_of("basta", words, whole=True) == sense_of("stop", words, whole=True) == "stop"
    assert sense_of("va bene", words, whole=True) == "backchannel"


def test_every_time_of_the_file_arrives():
    rules = call_settings(
        told("[barge_in]\npause_ms = 1\ncut_ms = 2\nwordless_ms = 3\nresume_ms = 4\nhold_ms = 5")
    )
    rules = rules.barge_in
    times = (rules.pause_us, rules.cut_us, rules.wordless_us, rules.resume_us, rules.hold_us)
    assert times == tuple(number * MS for number in (1, 2, 3, 4, 5))
    keys = call_settings(told('[keypad]\nterminator = "*"\ngap_ms = 7\nmost = 1')).keypad
    assert keys == Gathering("*", 7 * MS, 1)
    assert call_settings(told("longest_call_s = 9")).longest_us == 9 * SECOND


def test_every_silence_of_the_file_arrives():
    text = (
        "[endpoint]\nsilence_ms = 540\nsettled_ms = 140\nleast_ms = 90\nmost_ms = 1400\npart_ms = 2900\n"
        "start_ms = 80\nlongest_ms = 9000\nwhole_ms = 29000"
    )
    by_file = endpointing(told(text))
    assert by_file == Endpointing(
        silence_us=540 * MS,
        settled_us=140 * MS,
        least_us=90 * MS,
        most_us=1_400 * MS,
        part_us=2_900 * MS,
        start_us=80 * MS,
        longest_us=9_000 * MS,
        whole_us=29_000 * MS,
        patient_us=700 * MS,
    )
