"""What a draft may do: save steps, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnbudget.voice.asr.moonshine import Moonshine
from turnbudget.voice.asr.moonshine_model import Leave, MoonshineModel
from turnbudget.voice.sound import audio

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
