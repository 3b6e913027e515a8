"""Barge-in: a stretch of sound is played to the machine frame by frame; it says what becomes of the reply.

A caller begins at 0 and is heard every 20 ms; a reply that sounds began 3 s before, unless a test says more.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from laws import each

from turnbudget.voice.call.bargein import Interruption, Rules
from turnbudget.voice.language.phrases_heard import ENGLISH

MS = 1_000
FRAME = 20
SOUNDING = -3_000 * MS
IN_FLIGHT = None
LAG = 250
"""A recogniser knows a word so many ms after it ended."""


def stretch(sounding=SOUNDING, rules=None, **how):
    return Interruption(rules or Rules(), began_us=0, sounding_since_us=sounding, **how)


def play(one, voice_ms, words=(), *, whole_ms=120, until=None):
    """Play a stretch of *voice_ms*, its text known as *words* ``(ms, text)`` say; return the changes.

    The text is whole so many ms after the voice ended; ``None``: never.
    """
    changes, text, due = [], "", list(words)
    until = until or voice_ms + 1_000
    for now in range(FRAME, until + FRAME, FRAME):
        moves = []
        while due and due[0][0] <= now:
            text = due.pop(0)[1]
            moves.append(one.words(now * MS, text, whole=False))
        if now <= voice_ms:
            moves.append(one.voice(now * MS, now * MS))
        else:
            whole = whole_ms is not None and now >= voice_ms + whole_ms and not due
            moves.append(one.silent(now * MS, (now - voice_ms) * MS, text, whole=whole))
        for move in moves:
            if move != (changes[-1][1] if changes else "go on"):
                changes.append((now, move))
    return changes


def kinds(changes):
    return [move for _, move in changes if move != "go on"]


@each(
    ("voice_ms", "words"),
    [
        (300, "mhm"),
        (350, "okay"),
        (300, "Right."),
        (620, "makes sense"),
        (400, "Uh-huh."),
        (500, "ok, thanks"),
    ],
)
def test_a_listeners_noise_lets_the_reply_go_on(voice_ms, words):
    """VAD-03: it dips while nobody can know what it is, goes on within 1 s, and is answered by nobody."""
    one = stretch()
    changes = play(one, voice_ms, [(voice_ms + 60, words)])
    assert kinds(changes) == ["pause", "resume"]
    assert changes[1][0] <= voice_ms + 200
    assert (one.verdict.meaning, one.verdict.kept, one.verdict.answered) == ("backchannel", False, False)


def test_a_listeners_noise_that_is_known_at_once_does_not_even_dip():
    """VAD-03."""
    one = stretch()
    assert play(one, 260, [(140, "mhm")]) == []
    assert one.verdict.meaning == "backchannel"


def test_okay_and_then_something_is_speech():
    one = stretch()
    changes = play(one, 1_500, [(500, "okay"), (800, "okay but"), (1_000, "okay but what about friday")])
    assert kinds(changes) == ["pause", "cut"]
    assert changes[0][0] <= 160
    assert changes[-1][0] == 1_000
    assert one.verdict.answered


@each(
    "words",
    ["okay", "yes", "mhm", "right", "no", "thank you", "you", "no no no", "seven seven", "Ann Miller"],
)
def test_after_our_question_every_word_is_an_answer(words):
    """VAD-03, ASR-12: the same "okay" after the question is an answer, and "no no no" is no loop."""
    one = stretch(answering=True)
    changes = play(one, 350, [(350 + LAG, words)])
    assert kinds(changes) == ["pause", "cut"]
    assert (one.verdict.text, one.verdict.kept, one.verdict.answered) == (words, True, True)


@each("words", ["you", "no no no", "yes please", "fifteen", "no"])
def test_a_short_word_that_is_no_listeners_noise_reaches_the_dialogue(words):
    """ASR-12: while we speak as well."""
    one = stretch()
    assert kinds(play(one, 350, [(350 + LAG, words)]))[-1] == "cut"
    assert one.verdict.kept


STOPS = [
    *("stop", "Stop!", "wait", "stop stop", "no no wait wait", "okay stop", "hold on a second"),
    *("can you stop please", "uh, hang on", "that's enough", "please stop talking"),
]


@each("words", STOPS)
@each("answering", [False, True])
@each("sounding", [SOUNDING, IN_FLIGHT])
def test_a_stop_word_silences_the_moment_it_is_known(words, answering, sounding):
    """VAD-04: one word is enough, however short, and wants no answer."""
    one = stretch(sounding, answering=answering)
    assert one.words(120 * MS, words, whole=False) == "cut"
    assert (one.verdict.meaning, one.verdict.kept, one.verdict.answered) == ("stop", True, False)
    assert one.why == "a stop word"


@pytest.mark.parametrize("words", ["don't stop", "Please don't stop.", "no, do not stop talking", "go on"])
def test_dont_stop_is_no_stop_word(words):
    """VAD-04: neither when it is whole, nor on the way there."""
    one = stretch()
    first, _, _ = words.partition(" ")
    changes = play(one, 700, [(300, first), (700 + LAG, words)], whole_ms=300)
    assert kinds(changes) == ["pause", "resume"]
    assert one.verdict.meaning == "backchannel"


def test_a_stop_that_becomes_a_command_lets_the_sentence_win():
    """VAD-04."""
    one = stretch()
    command = "stop the report for room four"
    changes = play(one, 1_800, [(600, "stop"), (900, "stop the"), (1_800 + LAG, command)])
    assert changes[-1] == (600, "cut")
    assert (one.verdict.meaning, one.verdict.text, one.verdict.answered) == ("speech", command, True)


def test_dont_stop_before_a_thing_is_a_command():
    """VAD-04."""
    one = stretch()
    play(one, 1_200, [(900, "don't stop"), (1_200 + LAG, "don't stop the payment")])
    assert one.verdict.answered


@pytest.mark.parametrize("lag", [100, 250, 600])
def test_real_speech_silences_within_300_ms_and_cuts_once_a_word_is_known(lag):
    """VAD-04, TURN-01: however slow the recogniser is."""
    changes = play(stretch(), 2_000, [(300 + lag, "what"), (500 + lag, "what about")])
    assert kinds(changes) == ["pause", "cut"]
    assert changes[0][0] <= 160
    assert changes[1][0] < 300 + lag + FRAME


def test_two_quick_words_cut():
    """A quick "cancel it", known after 200 ms; one word so short may be a cough that was misheard."""
    assert stretch().words(200 * MS, "cancel it", whole=False) == "cut"
    assert stretch().words(200 * MS, "cancel", whole=False) == "pause"
    assert stretch().words(100 * MS, "makes", whole=False) == "pause"
    assert kinds(play(stretch(), 200, [(200, "cancel")])) == ["pause", "cut"]


def test_without_any_text_the_length_of_the_voice_decides():
    """A recogniser without partial texts."""
    one = stretch()
    assert play(one, 3_000) == [(160, "pause"), (1_200, "cut")]
    assert one.verdict.answered


@each("whole_ms", [120, 400, None])
@each("text", ["", ".", "[noise]", "(coughs)", "um"])
def test_noise_pauses_at_most_and_the_reply_goes_on(whole_ms, text):
    """TURN-10: within 1 s, even if the recogniser never says that there was no word."""
    one = stretch()
    changes = play(one, 400, [(500, text)], whole_ms=whole_ms)
    assert kinds(changes) == ["pause", "resume"]
    assert changes[1][0] - 400 <= 700
    assert (one.verdict.meaning, one.verdict.kept, one.verdict.answered) == ("noise", False, False)


def test_a_click_does_not_even_pause():
    assert play(stretch(), 120) == []


def test_noise_before_the_first_frame_does_not_lose_the_reply():
    """TURN-10: 100 ms before the first sound; the frame is held back and the reply sounds whole."""
    one = stretch(IN_FLIGHT)
    changes = play(one, 300)
    assert changes[0] == (20, "pause")
    assert kinds(changes) == ["pause", "resume"]
    assert one.cut_us is None


def test_sound_on_and_off_for_ever_does_not_hold_the_reply_for_ever():
    """TURN-10: 40 ms of voice each 300 ms, and a recogniser that never says what it was."""
    one = stretch()
    moves = [one.voice(step * 300 * MS, step * 40 * MS) for step in range(1, 14)]
    assert moves.index("resume") - moves.index("pause") == 9, "2.5 s are over in the ninth step of 300 ms"


def test_a_dip_inside_a_word_does_not_settle_it():
    """The text "okay" is whole at the dip before "but"; only a silence makes it all there was."""
    one = stretch()
    one.voice(400 * MS, 400 * MS)
    assert one.silent(500 * MS, 100 * MS, "okay", whole=True) == "pause"
    assert one.silent(560 * MS, 160 * MS, "okay", whole=True) == "resume"


def test_what_follows_noise_is_judged_anew():
    """Noise, then words in the same stretch."""
    one = stretch()
    play(one, 1_000)
    assert not one.paused
    assert one.voice(2_000 * MS, 1_100 * MS) == "go on"
    assert one.voice(2_060 * MS, 1_160 * MS) == "pause"
    assert one.words(2_200 * MS, "my name is", whole=False) == "cut"


@pytest.mark.parametrize(
    ("words", "meaning"), [("", "noise"), ("okay", "backchannel"), ("thanks", "backchannel")]
)
def test_a_cough_while_the_answer_is_in_flight_does_not_cancel_it(words, meaning):
    one = stretch(IN_FLIGHT)
    assert kinds(play(one, 300, [(350, words)])) == ["pause", "resume"]
    assert one.verdict.meaning == meaning
    assert not one.calls_for_bridge


@pytest.mark.parametrize("words", ["hello?", "Hello? Hello?", "are you there", "hello, can you hear me?"])
def test_hello_while_the_answer_is_in_flight_releases_the_bridge(words):
    one = stretch(IN_FLIGHT)
    changes = play(one, 600, [(400, words.split()[0]), (600 + 100, words)])
    assert kinds(changes) == ["pause", "resume"]
    assert one.calls_for_bridge
    assert (one.verdict.meaning, one.verdict.kept, one.verdict.answered) == ("presence", False, False)
    one.sounded(1_500 * MS)
    assert not one.calls_for_bridge
    assert one.words(1_600 * MS, words, whole=True) == "go on"
    assert not one.calls_for_bridge


def test_hello_over_our_voice_is_speech():
    """They may not hear us."""
    one = stretch()
    assert kinds(play(one, 400, [(500, "hello")]))[-1] == "cut"
    assert one.verdict.answered


def test_more_than_hello_cancels_the_answer_in_flight():
    one = stretch(IN_FLIGHT)
    assert kinds(play(one, 900, [(400, "hello"), (700, "hello i meant friday")])) == ["pause", "cut"]
    assert not one.calls_for_bridge


@pytest.mark.parametrize("first_ms", [50, -50, -150, None])
def test_both_start_together_and_the_agent_yields(first_ms):
    """TURN-16: the caller goes on 50 ms before, 50 or 150 ms after our first sound; we hold at once."""
    one = stretch(None if first_ms is None else first_ms * MS)
    changes = play(one, 1_500, [(600, "on"), (800, "on friday")])
    assert kinds(changes) == ["pause", "cut"]
    assert changes[0][0] == FRAME
    assert one.verdict.text == "on friday"


def test_who_coughed_as_we_began_is_borne_like_anybody_afterwards():
    """TURN-16: once the held reply sounds, a click of the same caller does not hold it again."""
    one = stretch(50 * MS)
    assert kinds(play(one, 200)) == ["pause", "resume"]
    assert one.voice(1_300 * MS, 300 * MS) == "go on"


def test_who_begins_later_has_heard_us():
    """TURN-16: 151 ms after our first sound it is a barge-in like any other."""
    one = stretch(-151 * MS)
    assert one.voice(100 * MS, 100 * MS) == "go on"


@pytest.mark.parametrize(
    ("words", "meaning", "answered"),
    [("what does that mean", "speech", True), ("mhm", "backchannel", False), ("stop", "stop", False)],
)
def test_a_protected_reply_goes_on_and_its_words_are_kept(words, meaning, answered):
    """TURN-12: a legal notice; the words are answered afterwards."""
    one = stretch(protected=True)
    assert play(one, 1_000, [(900, words)]) == []
    verdict = one.verdict
    assert (verdict.meaning, verdict.text, verdict.answered) == (meaning, words, answered)


def test_who_was_not_understood_over_a_protected_reply_is_asked_to_say_it_again():
    """TURN-12."""
    one = stretch(protected=True)
    assert play(one, 1_500) == []
    assert (one.verdict.meaning, one.verdict.kept, one.verdict.answered) == ("speech", False, True)


def test_coughs_over_a_protected_reply_do_not_add_up():
    """TURN-12: 700 ms, a silence, 700 ms."""
    one = stretch(protected=True)
    assert play(one, 700) == []
    one.voice(2_700 * MS, 1_400 * MS)
    assert one.verdict.meaning == "noise"


def test_a_mistaken_cut_is_answered():
    """The reply is gone; were the long "mhm" that cut it a listener's noise, nobody would speak."""
    one = stretch()
    assert kinds(play(one, 1_300, [(1_500, "mhm")])) == ["pause", "cut"]
    assert one.verdict.answered


def test_a_text_without_words_takes_none_back():
    one = stretch()
    one.words(200 * MS, "stop", whole=False)
    one.words(900 * MS, "", whole=True)
    assert one.verdict.text == "stop"


def test_rules_are_data():
    rules = Rules(words=replace(ENGLISH, stop=("basta",)), pause_us=400 * MS)
    assert stretch(rules=rules).voice(300 * MS, 300 * MS) == "go on"
    assert stretch(rules=rules).words(100 * MS, "basta", whole=False) == "cut"
    assert stretch(rules=rules).words(100 * MS, "stop", whole=False) == "pause"


def silent_after(voice_ms, silence_ms, *, whole):
    """What becomes of a held reply so long after a sound without a word."""
    one = stretch()
    assert one.voice(voice_ms * MS, voice_ms * MS) == "pause"
    return one.silent((voice_ms + silence_ms) * MS, silence_ms * MS, "", whole=whole)


@each(
    ("move", "expected"),
    [
        (lambda: stretch().voice(149 * MS, 149 * MS), "go on"),
        (lambda: stretch().voice(150 * MS, 150 * MS), "pause"),
        (lambda: stretch().voice(1_199 * MS, 1_199 * MS), "pause"),
        (lambda: stretch().voice(1_200 * MS, 1_200 * MS), "cut"),
        (lambda: silent_after(200, 149, whole=True), "pause"),
        (lambda: silent_after(200, 150, whole=True), "resume"),
        (lambda: silent_after(200, 699, whole=False), "pause"),
        (lambda: silent_after(200, 700, whole=False), "resume"),
    ],
)
def test_a_rule_holds_from_its_own_number_on(move, expected):
    assert move() == expected


@pytest.mark.parametrize(("voiced_ms", "move"), [(299, "pause"), (300, "cut")])
def test_one_word_cuts_from_300_ms_of_voice_on(voiced_ms, move):
    one = stretch()
    one.voice(voiced_ms * MS, voiced_ms * MS)
    assert one.words(voiced_ms * MS, "cancel", whole=False) == move


@pytest.mark.parametrize(("held_ms", "move"), [(2_499, "pause"), (2_500, "resume")])
def test_a_reply_is_held_for_two_and_a_half_seconds_at_most(held_ms, move):
    one = stretch()
    one.voice(200 * MS, 200 * MS)
    assert one.voice((200 + held_ms) * MS, 210 * MS) == move


@pytest.mark.parametrize(("first_ms", "move"), [(-150, "pause"), (-151, "go on")])
def test_who_begins_within_150_ms_of_our_first_sound_has_not_heard_it(first_ms, move):
    """TURN-16."""
    assert stretch(first_ms * MS).voice(20 * MS, 20 * MS) == move


@pytest.mark.parametrize(("voiced_ms", "meaning"), [(1_199, "noise"), (1_200, "speech")])
def test_a_voice_of_1200_ms_over_a_protected_reply_was_no_cough(voiced_ms, meaning):
    """TURN-12."""
    one = stretch(protected=True)
    one.voice(voiced_ms * MS, voiced_ms * MS)
    assert one.verdict.meaning == meaning
