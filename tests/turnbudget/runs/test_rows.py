"""A row counts from the true end of speech, wherever the detector put it, and still sums."""

from __future__ import annotations

import pytest
from laws import each

from turnbudget.runs.folder import unsound
from turnbudget.runs.rows import row, unheard
from turnbudget.voice.asr.reference import Reference
from turnbudget.voice.asr.transcriber import Word
from turnbudget.voice.call.ledger import Decision, Guess, Ledger, Owner
from turnbudget.voice.call.parts import CallRow
from turnbudget.voice.hearing.events import Utterance

MS = 1_000
CALL, MEDIA = 7_000 * MS, 7_020 * MS
"""When the call began on the clock, and when the caller's first sample sounded."""


def reference(*words, turns=()):
    found = Reference()
    found.announce(
        [Word(text, began * MS, ended * MS) for text, began, ended in words],
        [(began * MS, ended * MS) for began, ended in turns],
    )
    return found


async def entry(ended=2_000, sounded=600, *, kind="turn", decided=550):
    """A turn whose last voiced sample, by the detector, stands at *ended* ms of the caller's media."""
    zero = MEDIA + ended * MS
    ledger = Ledger(zero)
    ledger.charge("endpoint", Owner("endpoint.silence_ms", "setting"), zero + decided * MS)
    ledger.charge("choose", Owner("scripted", "agent"), zero + sounded * MS)
    ledger.lane("asr:x", zero - 40 * MS).end("used", zero + 10 * MS, saved_us=50 * MS)
    ledger.decisions.append(Decision(zero + 560 * MS, "reply of scripted", "no rule matches"))
    ledger.witness_us = zero + sounded * MS
    ledger.sounded(zero + sounded * MS, answer=True)
    utterance = None
    if kind == "turn":
        times = (zero - 900 * MS, zero, zero + decided * MS, zero + decided * MS)
        utterance = Utterance("hello", *times, "endpoint.silence_ms", 900 * MS)
    return CallRow(
        kind=kind,
        number=3,
        account=ledger.account("answered"),
        utterance=utterance,
        asked="hello",
        said="Hi.",
    )


def made(of, spoken, *, has_words=True):
    return row(
        "one",
        of,
        call_epoch_us=CALL,
        media_epoch_us=MEDIA,
        reference=spoken,
        has_words=has_words,
        budget_us=800 * MS,
    )


@each("true_end", [1_900, 1_960, 2_000, 2_070, 2_390])
async def test_the_zero_is_the_references_end_of_speech(true_end):
    """MET-01: wherever the detector put the end, the caller waited from the true one."""
    written = made(await entry(), reference(("hello", 1_100, true_end)))
    assert written.speech_ended_by == "reference"
    assert written.speech_ended_call_us == (true_end + 20) * MS
    assert written.vad_ended_call_us == 2_020 * MS
    assert written.first_sound_us == written.witness_us == written.closed_us == (2_600 - true_end) * MS
    assert unsound(written) == ""
    assert written.entries[0].us == (2_550 - true_end) * MS
    assert written.decisions[0].at_us == (2_560 - true_end) * MS
    assert (written.lanes[0].began_us, written.lanes[0].ended_us) == (
        (1_960 - true_end) * MS,
        (2_010 - true_end) * MS,
    )


@pytest.mark.parametrize("true_end", [1_500, 2_460])
async def test_a_reference_that_is_far_off_is_not_believed(true_end):
    written = made(await entry(), reference(("hello", 1_100, true_end)))
    assert (written.speech_ended_by, written.closed_us) == ("vad", 600 * MS)


async def test_without_word_times_the_detector_has_the_last_word():
    written = made(await entry(), reference(turns=[(1_100, 1_950)]), has_words=False)
    assert (written.speech_ended_by, written.reference) == ("vad", None)


async def test_what_we_say_unasked_has_no_reference_and_keeps_its_zero():
    written = made(await entry(kind="greeting"), reference(("hello", 1_100, 1_990)))
    assert (written.kind, written.reference, written.speech_ended_by) == ("greeting", None, "vad")
    assert written.speech_began_call_us == written.speech_ended_call_us == 2_020 * MS


async def test_a_sound_inside_the_callers_turn_is_a_false_cut():
    spoken = [("hello", 1_100, 2_000), ("there", 2_700, 3_000)]
    assert made(await entry(), reference(*spoken, turns=[(1_100, 2_601)])).false_cut
    assert not made(await entry(), reference(*spoken, turns=[(1_100, 2_000), (2_700, 3_000)])).false_cut
    late = await entry(sounded=1_200)
    assert not made(late, reference(*spoken, turns=[(1_100, 3_000)])).false_cut, "the caller had gone on"


async def test_a_guess_is_told_with_its_work_and_its_cpu_that_were_not_used():
    ledger = Ledger(MEDIA + 2_000 * MS)
    ledger.guesses.append(Guess("", "Hi.", 0.5, ready=True, because="", wasted_us=9, cpu_us=7))
    told = made(
        CallRow(
            kind="turn",
            number=3,
            account=ledger.account("answered"),
            utterance=None,
            asked="hello",
            said="Hi.",
        ),
        reference(),
    ).guesses[0]
    assert (told.wasted_us, told.cpu_us) == (9, 7)


async def test_the_critical_entry_is_the_longest():
    written = made(await entry(), reference())
    assert (written.critical.stage, written.critical.us) == ("endpoint", 550 * MS)


def lost(text):
    return unheard("one", 4, began_us=1, ended_us=2, text=text, waited_us=3_000 * MS, budget_us=800 * MS)


def test_a_turn_that_nobody_heard_is_silent_and_sums():
    written = lost("hello")
    assert (written.outcome, written.reference, written.speech_ended_by) == ("silent", "hello", "reference")
    assert unsound(written) == ""
    assert not written.in_time


def test_a_turn_that_only_a_detector_found_has_no_words_it_could_have_had():
    written = lost(None)
    assert (written.reference, written.speech_ended_by) == (None, "vad")
