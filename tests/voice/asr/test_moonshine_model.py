"""What a draft may do: save steps, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnbudget.voice.asr.moonshine import Moonshine
from turnbudget.voice.asr.moonshine_model import Leave, MoonshineModel, cuts, parts, quietest
from turnbudget.voice.sound import audio
from turnbudget.voice.sound.audio import FRAME, RATE, join

END = 2
WAVE = np.zeros(5 * audio.RATE, np.float32)


class Rule(MoonshineModel):
    """A model whose next token is a rule of all before it, and which keeps those as the real one does."""

    def __init__(self, words=12, kinds=997):
        self.words, self.kinds, self.steps = words, kinds, 0
        self._encoder = self

    def run(self, *_):
        return (np.zeros((1, 1, 1), np.float32),)

    def _step(self, tokens, heard, past, leave):  # noqa: ARG002 - the model's signature
        self.steps += 1
        kept = past["x.decoder.key"][0, 0, :, 0].tolist() if past else []
        chosen = [self._next(kept + tokens[: place + 1]) for place in range(len(tokens))]
        return chosen, {
            "x.decoder.key": np.array(kept + tokens)[None, None, :, None],
            "x.encoder.key": np.zeros((1, 1, 7, 1)),
        }

    def _next(self, before):
        return END if len(before) > self.words else 3 + (7 * sum(before) + len(before)) % self.kinds


def decoded(draft, *rule):
    model = Rule(*rule)
    return model._tokens(WAVE, Leave(), draft), model.steps


PLAIN, STEPS = decoded([])


@given(st.lists(st.integers(0, 8), max_size=60), st.integers(0, 40))
def test_no_draft_changes_a_token(draft, words):
    assert decoded(draft, words, 5)[0] == decoded([], words, 5)[0]


def test_a_draft_that_is_right_takes_one_step():
    assert len(set(PLAIN)) == 12
    assert STEPS == 13
    assert decoded(PLAIN) == (PLAIN, 1)


def test_a_draft_of_less_sound_saves_the_steps_it_has_right():
    assert decoded(PLAIN[:9]) == (PLAIN, 4)


@pytest.mark.parametrize(
    "draft",
    [
        [*PLAIN[:4], 99, *PLAIN[5:]],
        [*PLAIN[:4], *PLAIN[5:]],
        [*PLAIN[:4], 98, 99, *PLAIN[4:]],
    ],
    ids=["another token", "a token less", "two tokens more"],
)
def test_a_draft_that_erred_is_taken_up_again_behind_the_error(draft):
    tokens, steps = decoded(draft)
    assert tokens == PLAIN
    assert steps <= 4


def test_no_draft_makes_the_text_longer_than_the_bound():
    endless = Rule(words=10_000)
    plain = endless._tokens(WAVE, Leave(), [])
    assert len(plain) == int(5 * 6.5) + 3
    assert endless._tokens(WAVE, Leave(), [*plain, *plain]) == plain


@pytest.mark.usefixtures("needs_moonshine")
def test_the_real_model_finds_the_same_text_with_a_draft(speech):
    model = Moonshine()._loaded()
    whole, part = [], []
    text = model.read(speech, Leave(), whole)
    model.read(speech[: 6 * audio.RATE], Leave(), part)
    assert 0 < len(part) < len(whole)
    for draft in (part, list(whole), [5] * 30):
        assert model.read(speech, Leave(), draft) == text
        assert draft == whole


LONGEST = 192_000

RANDOM = np.random.default_rng(1)


def noise(seconds, loud):
    return (RANDOM.standard_normal(int(seconds * RATE)) * loud).astype(np.int16)


def test_a_long_pause_is_left_out_but_for_its_edges():
    sound = join([noise(1, 3_000), noise(2, 20), noise(1, 3_000)])
    found = parts(sound)
    assert len(found) == 2
    assert sum(part.size for part in found) == pytest.approx(2.4 * RATE, abs=2 * FRAME)


def test_a_short_pause_stays():
    sound = join([noise(1, 3_000), noise(0.3, 20), noise(1, 3_000)])
    assert [part.size for part in parts(sound)] == [sound.size]


def test_noise_without_pauses_loses_nothing():
    sound = noise(3, 500)
    assert np.array_equal(join(parts(sound)), sound)


@given(st.integers(0, 3 * RATE))
def test_any_length_of_silence_has_parts(size):
    assert join(parts(np.zeros(size, np.int16))).size == size


def test_a_cut_falls_into_the_pause():
    sound = join([noise(8, 3_000), noise(0.5, 10), noise(8, 3_000)])
    (cut,) = cuts(sound)
    assert 8 * RATE < cut < 8.5 * RATE


def test_cuts_stay_where_they_are_as_sound_comes():
    sound = noise(60, 1_000)
    for size in range(LONGEST, sound.size, 7 * RATE):
        assert cuts(sound[:size]) == cuts(sound)[: len(cuts(sound[:size]))]
    edges = [0, *cuts(sound), sound.size]
    assert max(np.diff(edges)) <= LONGEST


def test_too_little_sound_is_cut_in_the_middle():
    assert quietest(np.zeros(100, np.int16)) == 50
