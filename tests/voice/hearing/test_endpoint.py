"""Endpointing: the audio is its clock, so a test is a string of windows, ``V`` for voiced, ``.`` for not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import each

from turnbudget.voice.hearing.endpoint import Began, Ended, Endpoint, Endpointing, Paused, WentOn
from turnbudget.voice.sound import audio

MS = 1_000
WINDOW = audio.FRAME


def signals(windows, settings=None, *, edges=lambda now: now, window=WINDOW):
    """Return ``(end of the window, signal)`` for each signal; *edges* moves the last voiced sample."""
    endpoint = Endpoint(settings or Endpointing())
    found = []
    for number, kind in enumerate(windows):
        now, voiced = (number + 1) * window, kind == "V"
        heard = now if voiced else now - window
        signal = endpoint.process(now - window, window, voiced=voiced, edge=lambda heard=heard: edges(heard))
        if signal:
            found.append((now, signal))
    return found


def kinds(windows, settings=None):
    return [type(signal) for _, signal in signals(windows, settings)]


def last(windows, settings=None, **how):
    """The end of the only turn, and when it was decided (ms)."""
    ((now, ended),) = [
        (now, signal) for now, signal in signals(windows, settings, **how) if isinstance(signal, Ended)
    ]
    return audio.us(ended.at) // MS, audio.us(now) // MS


def test_a_turn_begins_pauses_and_ends():
    assert kinds("." * 10 + "V" * 50 + "." * 40) == [Began, Paused, Ended]


def test_speech_begins_with_its_first_voiced_sample():
    """Noticed after 100 ms of voice, begun at the first of it."""
    assert signals("." * 10 + "V" * 5) == [(15 * WINDOW, Began(10 * WINDOW))]


@pytest.mark.parametrize("silence_ms", [200, 550, 800, 1_200])
def test_the_silence_is_counted_from_the_last_voiced_sample(silence_ms):
    settings = Endpointing(silence_ms * MS)
    assert last("V" * 50 + "." * 80, settings) == (1_000, 1_000 + silence_ms + -silence_ms % 20)


def test_a_detector_that_falls_late_moves_neither_the_end_nor_the_decision():
    """The sound's level says that the voice ended 80 ms before the detector noticed."""
    assert last("V" * 54 + "." * 60, edges=lambda now: now - 80 * 16) == (1_000, 1_560)


def test_a_silence_that_is_over_before_it_is_noticed_ends_the_turn_at_once():
    settings = Endpointing(100 * MS)
    found = [type(signal) for _, signal in signals("V" * 50 + "...", settings, edges=lambda now: now - 2_400)]
    assert found == [Began, Ended]


def test_a_click_opens_no_turn():
    assert kinds("....VVVV........VV...V..V...") == []


def test_words_far_apart_in_time_do_not_add_up_to_a_start():
    """Blips for five seconds, more of them than not, then a word: the turn begins within 300 ms of it."""
    ((_, began),) = signals("VV" + ".V" * 250 + "V" * 6)
    assert began.at >= (502 - 15) * WINDOW


@pytest.mark.parametrize(("blips", "began"), [(4, 0), (5, 14)])
def test_voice_has_come_together_within_three_times_what_opens_a_turn(blips, began):
    """Blips belong to the turn that they lead up to for 270 ms; what is older is left to itself."""
    assert signals("VV" + ".V" * blips + "VVV")[0][1] == Began(began * WINDOW)


def test_a_voice_stirs_until_it_opens_a_turn():
    """Some voice is heard but no turn is open: from the first voiced window to the one that opens it."""
    endpoint, stirring = Endpoint(Endpointing()), []
    for number, kind in enumerate("..VV...VVVVV."):
        endpoint.process(number * WINDOW, WINDOW, voiced=kind == "V", edge=lambda: 0)
        stirring.append(endpoint.stirring)
    assert "".join("s" if stirs else "." for stirs in stirring) == "..sss..ssss.."


def test_before_anybody_has_spoken_nothing_has_begun():
    endpoint = Endpoint(Endpointing())
    assert (endpoint.began, endpoint.speaking, endpoint.paused, endpoint.stirring) == (0, False, False, False)
    assert endpoint.so_far() == (0, 0)


def test_what_nobody_has_set_is_what_the_page_of_settings_says():
    """The silences of ``docs/endpointing.md`` (µs)."""
    assert Endpointing() == Endpointing(
        silence_us=550_000,
        start_us=90_000,
        longest_us=10_000_000,
        whole_us=30_000_000,
        patient_us=700_000,
        settled_us=150_000,
        least_us=100_000,
        most_us=1_500_000,
        part_us=3_000_000,
    )


def paused(settings=None):
    """An endpoint 20 ms into a pause."""
    endpoint = Endpoint(settings or Endpointing())
    for number, kind in enumerate("V" * 50 + "."):
        at = number * WINDOW
        endpoint.process(at, WINDOW, voiced=kind == "V", edge=lambda at=at: at)
    return endpoint


@each(("asked_ms", "ends_ms"), [(0, 100), (99, 100), (100, 100), (400, 400), (3_000, 3_000), (9_000, 3_000)])
def test_a_pause_is_never_ended_sooner_nor_later_than_the_bounds_allow(asked_ms, ends_ms):
    """Whoever knows the words may ask for less than 100 ms, or more than 3 s: neither is given."""
    endpoint = paused()
    ended = endpoint.wait(asked_ms * MS, "a rule")
    place = 51 * WINDOW
    while not ended:
        place += 16
        ended = endpoint.heard(place)
    assert (ended.rule, ended.at) == ("a rule", 50 * WINDOW)
    assert audio.us(place - ended.at) == ends_ms * MS


def test_a_pause_that_is_too_short_is_taken_up_again():
    """VAD-02: "can you change the" [450 ms] "uh" [500 ms] "delivery address" is one turn."""
    windows = "V" * 60 + "." * 22 + "V" * 10 + "." * 25 + "V" * 45 + "." * 30
    assert kinds(windows) == [Began, Paused, WentOn, Paused, WentOn, Paused, Ended]
    assert signals(windows)[2][1] == WentOn(82 * WINDOW)


def test_blips_hold_no_turn_open():
    """VAD-13: silence for 12 frames, a blip for one, for 20 s: the turn ends as if there were no blips."""
    ended, decided = last("V" * 75 + ("." * 12 + "V") * 80)
    assert ended == 1_500
    assert decided <= 1_500 + 550 + 40


def test_blips_close_together_hold_no_turn_open_either():
    """VAD-13: one frame of four for 20 s."""
    ended, decided = last("V" * 75 + "...V" * 250)
    assert ended == 1_500
    assert decided <= 1_500 + 550 + 40


def test_speech_taken_up_again_is_never_undone_by_a_soft_end():
    """An edge that finds only the loud words before the pause must not end the turn before its last word."""
    ended, _ = last("V" * 50 + "." * 20 + "V" * 20 + "." * 60, edges=lambda now: min(now, 50 * WINDOW))
    assert ended >= 70 * 20


def test_whoever_keeps_sounding_is_cut_off():
    """VAD-07: a voice that never stops ends by the cap, and what goes on is a turn of its own."""
    found = signals("V" * 900, Endpointing(longest_us=10_000 * MS))
    assert [type(signal) for _, signal in found] == [Began, Ended, Began]
    assert found[1][1].rule == "endpoint.longest_ms"
    assert found[1][0] == 500 * WINDOW
    assert found[2][1].at >= found[1][1].at


def test_the_cap_is_kept_in_the_very_window_that_takes_speech_up_again():
    windows = "V" * 26 + "." + "V" * 8
    endpointing = Endpointing(50 * MS, 129 * MS, whole_us=1_000 * MS)
    found = signals(windows, endpointing, window=512)
    assert [type(signal) for _, signal in found] == [Began, Paused, Ended]
    assert found[-1][0] == 32 * 512
    assert found[-1][1].rule == "endpoint.whole_ms"


def test_who_pauses_may_go_on_beyond_the_cap_for_sound_without_a_pause():
    """An address is dictated for a quarter of a minute, with pauses; noise has none."""
    found = signals(("V" * 100 + "." * 20) * 6 + "." * 20, Endpointing(longest_us=3_000 * MS))
    assert [type(signal) for _, signal in found].count(Ended) == 1
    assert found[-1][1].rule == "endpoint.silence_ms"


def test_voice_is_counted_without_the_pauses():
    (*_, (_, ended)) = signals("V" * 20 + "." * 10 + "V" * 20 + "." * 40)
    assert ended.voiced == 40 * WINDOW


def test_after_a_turn_everything_begins_anew():
    one = "V" * 20 + "." * 40
    assert kinds(one + one) == kinds(one) * 2


runs = st.lists(st.tuples(st.sampled_from("V."), st.integers(1, 60)), max_size=40)
windows = st.one_of(
    st.text("V.", max_size=400), runs.map(lambda parts: "".join(kind * length for kind, length in parts))
)
settings = st.builds(
    Endpointing,
    silence_us=st.integers(50, 1_500).map(lambda ms: ms * MS),
    start_us=st.integers(0, 300).map(lambda ms: ms * MS),
    longest_us=st.integers(1_000, 4_000).map(lambda ms: ms * MS),
    whole_us=st.integers(4_000, 6_000).map(lambda ms: ms * MS),
)
sizes = st.sampled_from([160, 320, 512])


@given(windows, settings, sizes, st.integers(-6_000, 600))
def test_signals_come_in_their_order(string, endpointing, size, off):
    """Began, then Paused and WentOn in turn, then Ended, however wrong the edge is."""
    may_follow = {
        None: {Began},
        Began: {Paused, Ended},
        Paused: {WentOn, Ended},
        WentOn: {Paused, Ended},
        Ended: {Began},
    }
    state = None
    for _, signal in signals(string, endpointing, edges=lambda now: now + off, window=size):
        assert type(signal) in may_follow[state]
        state = type(signal)


@given(windows, settings, sizes, st.integers(-6_000, 600))
def test_every_place_lies_inside_the_turn(string, endpointing, size, off):
    """Nothing is placed before the turn began, after it was heard, or before the turn before it ended."""
    began = before = 0
    for now, signal in signals(string, endpointing, edges=lambda now: now + off, window=size):
        if isinstance(signal, Began):
            assert before <= signal.at < now
            began = signal.at
        elif isinstance(signal, Ended):
            assert began == signal.began <= signal.at <= now
            assert 0 < signal.voiced <= now - signal.began
            before = signal.at
        else:
            assert began <= signal.at <= now


@given(windows, settings, sizes, st.integers(-6_000, 600))
def test_a_rule_means_what_it_says(string, endpointing, size, off):
    """A silence that ends a turn is at least as long as set, and no turn outlasts the caps by a window."""
    for now, signal in signals(string, endpointing, edges=lambda now: now + off, window=size):
        if isinstance(signal, Ended):
            assert audio.us(now - signal.began) < endpointing.whole_us + audio.us(size + 1)
            if signal.rule == "endpoint.silence_ms":
                assert audio.us(now - signal.at) >= endpointing.silence_us - 63
            else:
                cap = {
                    "endpoint.longest_ms": endpointing.longest_us,
                    "endpoint.whole_ms": endpointing.whole_us,
                }
                assert audio.us(now - signal.began) >= cap[signal.rule] - 63


@given(windows, settings, sizes)
def test_no_turn_stays_open_over_a_silence(string, endpointing, size):
    """After silence enough, a string of any kind has ended every turn it began."""
    silence = "." * (audio.samples(endpointing.silence_us) // size + 2)
    found = [type(signal) for _, signal in signals(string + silence, endpointing, window=size)]
    assert found.count(Began) == found.count(Ended)
