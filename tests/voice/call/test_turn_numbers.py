"""The numbers of a turn are true: each from its own zero, on every clock, and of nothing unheard."""

from __future__ import annotations

import time
from collections import Counter

import pytest

from turnbudget.testing.stage import (
    ASK,
    ONSET,
    PRIORS,
    Answers,
    StageLine,
    after,
    answering,
    check_account,
    lane,
    one,
    play,
    says,
    spent,
    stays,
)
from turnbudget.voice.asr.scripted import ScriptedTranscriber
from turnbudget.voice.hearing.endpoint import Endpointing
from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Cost, Forecast
from turnbudget.voice.time.clock import MS, SECOND
from turnbudget.voice.tts.scripted import ScriptedSynthesizer

SHORT = Endpointing(silence_us=200 * MS)


@pytest.mark.parametrize("silence_ms", [200, 550, 800])
async def test_the_silence_waited_for_is_in_the_number(silence_ms):
    """MET-01: the zero is the last voiced sample, wherever the detector decided."""
    row = await one(ASK, endpointing=Endpointing(silence_ms * MS))
    ended = 3 * SECOND + 5 * 250 * MS + 4 * 50 * MS
    assert abs(row.account.zero_us - ended) <= 30 * MS
    assert abs(spent(row.account, "endpoint") - silence_ms * MS) <= 30 * MS
    assert (after(row.account, row.account.first_sound_us) <= 800 * MS) == (silence_ms < 800)


async def test_turns_cut_before_their_first_sound_have_no_number():
    """MET-03: ten turns, four broken off before the reply; six values, each the true one."""
    clips = []
    for number in range(10):
        clips.append(says("what is my balance", after_us=0))
        if number % 3 == 1:
            clips += [stays(700 * MS), says("my limit", when="at once", pause_us=0)]
    played = await play(*clips, responder=answering(delay_us=600 * MS), budget_us=2 * SECOND)
    for row in played.turns:
        check_account(row)
    counted = Counter(played.outcomes)
    assert counted == {"answered": 10, "superseded": 3}
    sounds = [
        after(row.account, row.account.first_sound_us) for row in played.turns if row.account.first_sound_us
    ]
    assert len(sounds) == 10
    assert all(abs(sound - 1_180 * MS) <= 30 * MS for sound in sounds)


async def test_a_turn_after_three_minutes_has_its_own_zero():
    """MET-04."""
    played = await play(ASK, stays(180 * SECOND), says("and my limit", when="at once", pause_us=0))
    first, second = played.turns
    for row in played.turns:
        check_account(row)
    assert second.account.zero_us - first.account.zero_us > 180 * SECOND
    assert abs(after(second.account, second.account.first_sound_us) - 580 * MS) <= 30 * MS


@pytest.mark.clock("skip")
async def test_a_stepped_wall_clock_changes_nothing(monkeypatch):
    """MET-05: two seconds back, then an hour ahead, while the reply is being chosen."""
    steps = iter([-2.0, 3_600.0])
    real = time.time

    async def step():
        by = next(steps)
        monkeypatch.setattr(time, "time", lambda: real() + by)
        return "Your balance is ten dollars."

    played = await play(ASK, says("and my limit"), responder=Answers((100 * MS, step)))
    for row in played.turns:
        check_account(row)
        assert row.account.outcome == "answered"
        assert min(entry.us for entry in row.account.entries) >= 0
        assert 650 * MS <= after(row.account, row.account.first_sound_us) <= 800 * MS


class Padded(ScriptedSynthesizer):
    """A voice whose sound begins after 300 ms of silence, untrimmed or trimmed."""

    def __init__(self, *, trims):
        super().__init__(cost_us=150 * MS)
        self._trims = trims

    async def render(self, text, budget=None):
        spoken = await super().render(text, budget)
        lead = audio.samples(20 * MS if self._trims else 300 * MS)
        samples = audio.join([audio.silence(lead), spoken.samples])
        padding = 280 * MS if self._trims else 0
        return type(spoken)(
            text=text,
            samples=samples,
            onset=audio.first_audible(samples),
            voice="tone",
            padding_us=padding,
            cost_us=spoken.cost_us,
        )


async def test_silence_before_a_voice_is_not_its_first_sound():
    """MET-06: the first audible sample counts; what was trimmed is a number of its own."""
    padded = await one(ASK, voice=Padded(trims=False), budget_us=2 * SECOND)
    trimmed = await one(ASK, voice=Padded(trims=True), budget_us=2 * SECOND)
    plain = 550 * MS + 150 * MS + ONSET
    assert abs(after(padded.account, padded.account.first_sound_us) - plain - 300 * MS) <= 1 * MS
    assert abs(after(trimmed.account, trimmed.account.first_sound_us) - plain - 20 * MS) <= 1 * MS
    assert lane(trimmed.account, "tts:leading silence").saved_us == 280 * MS


async def test_a_reply_of_many_pieces_has_one_value_a_stage():
    """MET-07."""
    row = await one(ASK, responder=answering("One two three. Four five six. Seven. Eight nine. Ten eleven."))
    counted = Counter(entry.stage for entry in row.account.entries)
    assert set(counted.values()) == {1}
    row = await one(ASK, responder=Answers((0, ValueError("no"))))
    assert (row.account.outcome, row.account.first_answer_us) == ("failed", None)


@pytest.mark.parametrize("kind", ["skip", "wall"])
def test_a_call_that_skips_time_measures_what_real_time_measures(kind):
    """MET-08: recognition 100 ms, choice 200 ms, voice 150 ms, on every clock."""

    def measured(kind):
        async def call():
            return await one(
                says("what is my balance", word_us=150 * MS, when="at once", pause_us=0),
                asr=ScriptedTranscriber(final_us=300 * MS),
                endpointing=SHORT,
                responder=answering("Ten.", delay_us=200 * MS),
                voice=ScriptedSynthesizer(cost_us=150 * MS),
            )

        account = clock.run(call(), kind).account
        assert all(entry.us >= 0 for entry in account.entries)
        return [spent(account, stage) for stage in ("endpoint", "transcribe", "choose", "synthesize")]

    virtual = measured("virtual")
    assert virtual[2:] == [200 * MS, 150 * MS]

    def apart():
        return max(abs(here - stage) for stage, here in zip(virtual, measured(kind), strict=True))

    assert any(apart() <= 40 * MS for _ in range(5)), "the best of five: a busy machine wakes anybody late"


class Cold(ScriptedSynthesizer):
    """A voice that loads its model for two seconds, at the first render if nobody has warmed it."""

    warmed = False

    async def warm(self):
        if not self.warmed:
            self.warmed = True
            await clock.sleep(2 * SECOND)

    async def render(self, text, budget=None):
        await self.warm()
        return await super().render(text, budget)


@pytest.mark.clock("skip")
async def test_the_first_turn_costs_what_the_second_does():
    """MET-12: what is loaded is loaded before the call, and is in no turn's numbers."""
    voice = Cold()
    await voice.warm()
    played = await play(ASK, says("and my limit"), voice=voice)
    first, second = (after(row.account, row.account.first_sound_us) for row in played.turns)
    assert first <= second + 100 * MS
    assert all(entry.us < SECOND for row in played.turns for entry in row.account.entries)


async def test_the_forecast_learns_from_each_turn():
    """What a stage cost above its prior counts at once."""
    forecast = Forecast(PRIORS)
    voice = ScriptedSynthesizer(cost_us=150 * MS)
    await play(
        ASK, responder=answering(delay_us=300 * MS), voice=voice, forecast=forecast, budget_us=2 * SECOND
    )
    assert forecast.of("choose").p95_us == 300 * MS
    assert forecast.of("synthesize").p95_us == 150 * MS
    assert forecast._latest["deliver"][0] == ONSET


async def test_the_bridge_leaves_earlier_where_delivery_is_slow():
    forecast = Forecast({**PRIORS, "deliver": Cost(100 * MS, 200 * MS)})
    row = await one(ASK, responder=answering(delay_us=2 * SECOND), forecast=forecast)
    assert after(row.account, row.account.first_sound_us) == 600 * MS
    [bridge] = [decision for decision in row.account.decisions if decision.took == "bridge"]
    assert bridge.because == "no answer yet, 200 ms left, and the bridge needs 200 ms"


class Tells(StageLine):
    """A line whose far side says once that it sounded our first frame, 120 ms after that was sent."""

    @property
    def heard_us(self):
        return self.sent[0][0] + 120 * MS if self.sent else None


async def test_what_the_far_side_tells_of_one_reply_is_told_of_no_other():
    """Beside the path, for it is not ours to shorten; what it last told of may be a reply long over."""
    played = await play(ASK, says("and my limit"), line=Tells)
    first, second = (
        [one for one in row.account.lanes if one.name == "line: sent to sounded"] for row in played.turns
    )
    assert [one.ended_us - one.began_us for one in first] == [120 * MS]
    assert second == []
