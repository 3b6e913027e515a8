"""Barge-in: whatever the ear tells in whatever order, the machine keeps its promises."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from turnbudget.voice.call.bargein import Interruption, Rules

MS = 1_000
SOUNDING = -3_000 * MS


def stretch(sounding, **how):
    return Interruption(Rules(), began_us=0, sounding_since_us=sounding, **how)


STOPS = ["stop", "no wait", "hold on", "okay stop please"]
TEXTS = ["", ".", "um", "mhm", "okay", "makes", "don't", "don't stop", "no", "hello", "cancel", "cancel it"]
events = st.tuples(
    st.sampled_from(["voice", "words", "silent", "sounded"]),
    st.integers(1, 400),
    st.sampled_from(TEXTS + STOPS),
    st.booleans(),
)
places = st.sampled_from([None, 100 * MS, 0, -100 * MS, SOUNDING])


def run(one, story):
    """Yield ``(kind, now, text, move)`` of a *story*; voice, silence and time only grow while they last."""
    now = voiced = silence = 0
    for kind, ms, text, whole in story:
        now += ms * MS
        if kind == "voice":
            voiced, silence = voiced + ms * MS, 0
            yield kind, now, text, one.voice(now, voiced)
        elif kind == "words":
            yield kind, now, text, one.words(now, text, whole=whole)
        elif kind == "silent":
            silence += ms * MS
            yield kind, silence, text, one.silent(now, silence, text, whole=whole)
        else:
            one.sounded(now)


@given(st.lists(events, max_size=40), places, st.booleans())
def test_a_protected_reply_is_never_paused_nor_cut(story, sounding, answering):
    """TURN-12: whatever comes in whatever order."""
    one = stretch(sounding, answering=answering, protected=True)
    assert {move for *_, move in run(one, story)} <= {"go on"}
    assert one.cut_us is None


@given(st.lists(events, max_size=40), places, st.booleans())
def test_a_cut_is_final_and_answered_and_without_one_nothing_is(story, sounding, answering):
    one = stretch(sounding, answering=answering)
    moves = [move for *_, move in run(one, story)]
    if "cut" in moves:
        assert set(moves[moves.index("cut") :]) == {"cut"}
        assert one.verdict.answered or one.verdict.meaning == "stop"
    else:
        assert not one.verdict.answered or moves[-1] == "pause"


@given(st.lists(events, max_size=40), places, st.booleans())
def test_a_pause_ends_in_resume_or_cut(story, sounding, answering):
    """Each resume follows a pause; none outlasts the silence, the longest pause, or a whole text."""
    one, rules, since, before = stretch(sounding, answering=answering), Rules(), None, ""
    now = 0
    heard = [event for event in story if event[0] != "sounded"]
    for (kind, ms, _, whole), (_, at, _, move) in zip(heard, run(one, heard), strict=True):
        now += ms * MS
        if move == "pause":
            since = since if before == "pause" else now
            assert now - since < rules.hold_us
            assert not (kind == "silent" and at >= rules.resume_us)
            assert not (kind == "words" and whole)
        if move == "resume":
            assert before == "pause"
        assert not (before == "pause" and move == "go on")
        before = move


@given(st.lists(events, max_size=20), places, st.booleans(), st.sampled_from(STOPS), st.booleans())
def test_a_stop_word_always_cuts(story, sounding, answering, words, whole):
    """VAD-04: whatever came before."""
    one = stretch(sounding, answering=answering)
    list(run(one, story))
    assert one.words(10**9, words, whole=whole) == "cut"
