"""A live call leaves what a replay leaves: rows that sum, a stereo recording, a record of how it ended."""

from __future__ import annotations

import numpy as np
import pytest
import soundfile
from live_calls import CONFIG, SAYINGS, TEXTS, studio

from turnbudget.live.call import LiveCall, live_header
from turnbudget.recorded.sources import find, open_conversation
from turnbudget.recorded.tracks import Reading
from turnbudget.runs.folder import RunWriter, load
from turnbudget.settings.compose import open_studio
from turnbudget.voice.errors import ConfigError, RunError
from turnbudget.voice.hearing.vad import Energy
from turnbudget.voice.lines.card import Person, SimulatedCard
from turnbudget.voice.lines.microphone import Microphone
from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import MS, SECOND
from turnbudget.voice.time.crew import Crew


class Talk:
    """A live call with a scripted person in a room."""

    def __init__(self, made, writer=None, sayings=SAYINGS, **how):
        self.rows, self.texts = [], []
        self.person = Person(sayings, over=lambda: self.line.hang_up("the caller hung up"))
        self.card = SimulatedCard(self.person, lag_us=20 * MS, **how)
        self.line = Microphone(self.card)
        self.call = LiveCall(
            self.line, made, writer, name="talk", told=self.rows.append, partial=self.texts.append
        )

    @property
    def turns(self):
        return [row for row in self.rows if row.kind == "turn"]


async def test_a_person_is_answered_turn_after_turn_and_every_turn_is_told():
    talk = Talk(await studio())
    record = await talk.call.run()
    assert [row.heard for row in talk.turns] == list(TEXTS)
    assert {row.outcome for row in talk.turns} == {"answered"}
    assert all(row.in_time and abs(row.witness_us - row.first_sound_us) < MS for row in talk.turns)
    assert all(row.speech_ended_by == "vad" and row.reference is None for row in talk.turns)
    assert (record.turns, record.ended, record.audio) == (3, "the caller hung up", "")


async def test_what_the_caller_says_is_told_while_they_say_it():
    talk = Talk(await studio())
    await talk.call.run()
    assert talk.texts[:3] == ["what", TEXTS[0], ""]


async def test_the_way_through_the_card_is_in_the_turn_and_shown_beside_it():
    talk = Talk(await studio())
    record = await talk.call.run()
    greeting, first = talk.rows[:2]
    lanes = {lane.name: lane for lane in first.lanes}
    assert lanes["device in"].began_us == 0
    assert lanes["device in"].ended_us == pytest.approx(20 * MS, rel=0.01)
    assert lanes["device out"].ended_us == first.first_sound_us
    assert 40 * MS <= lanes["device out"].ended_us - lanes["device out"].began_us <= 60 * MS
    assert sum(entry.us for entry in first.entries) == first.closed_us
    assert "device in" not in {lane.name for lane in greeting.lanes}
    assert any(note.startswith("device latency: microphone 20 ms") for note in record.notes)


async def test_recorded_it_is_a_run_like_any_other(tmp_path):
    made = await studio()
    with RunWriter(tmp_path / "run") as writer:
        talk = Talk(made, writer)
        record = await talk.call.run()
        run = writer.finish(live_header(made, [record], name="run", began=None))
    assert run.rows == tuple(talk.rows) == load(tmp_path / "run").rows
    assert (run.summary.pacing, run.summary.in_time.count, run.summary.in_time.of) == ("live", 3, 3)
    sound, rate = soundfile.read(tmp_path / "run" / "talk.wav", dtype="int16")
    assert rate == audio.RATE
    assert abs(audio.us(len(sound)) - record.length_us) < MS
    for row in talk.turns:
        [out] = [lane for lane in row.lanes if lane.name == "device out"]
        sounds = audio.samples(row.speech_ended_call_us + out.began_us)  # the tape holds what was handed over
        assert np.abs(sound[sounds : sounds + 160, 1]).max() > 1_000
        assert np.abs(sound[sounds - 160 : sounds - 16, 1]).max() < audio.AUDIBLE


async def test_its_recording_can_be_replayed_the_caller_on_the_left(tmp_path):
    made = await studio()
    with RunWriter(tmp_path / "run") as writer:
        talk = Talk(made, writer)
        record = await talk.call.run()
        writer.finish(live_header(made, [record], name="run", began=None))
    [path] = find(tmp_path / "run")
    conversation = open_conversation(path, Reading(vad=Energy))
    assert len(conversation.turns()) == 3
    for segment, row in zip(conversation.caller_speech, talk.turns, strict=True):
        assert abs(segment.ended_us - row.speech_ended_call_us) < 50 * MS


async def test_without_a_writer_nothing_is_kept():
    talk = Talk(await studio())
    await talk.call.run()
    assert not talk.call._call.tape.take(clock.now()).any()
    assert talk.call._written._due == []


async def test_a_card_that_is_unplugged_in_mid_call_ends_it_with_the_reason_and_what_was_said(tmp_path):
    """The turn in flight has its row, and the recording goes to the end."""
    made = await studio()
    with RunWriter(tmp_path / "run") as writer:
        talk = Talk(made, writer)
        clock.call_at(clock.now() + 4 * SECOND, talk.card.unplug)
        record = await talk.call.run()
        assert record.ended == "the card was unplugged"
        run = writer.finish(live_header(made, [record], name="run", began=None))
    assert run.summary.turns >= 1
    assert 4 * SECOND <= record.length_us < 5 * SECOND


async def test_broken_off_it_is_written_as_far_as_it_came(tmp_path):
    made = await studio()
    with RunWriter(tmp_path / "run") as writer:
        talk = Talk(made, writer)
        async with Crew() as crew:
            crew.create_task(talk.call.run(), name="call")
            await clock.sleep(5 * SECOND)
        record = talk.call.record()
        run = writer.finish(live_header(made, [record], name="run", began=None, truncated=True))
    assert record.ended == "broken off"
    assert len(run.rows) == len(talk.rows) >= 2
    assert run.summary.truncated


async def test_a_disk_that_refuses_ends_the_call_with_its_line(tmp_path):
    made = await studio()
    with RunWriter(tmp_path / "run") as writer:
        talk = Talk(made, writer)
        (tmp_path / "run" / "talk.wav").mkdir()
        with pytest.raises(RunError, match="cannot be written"):
            await talk.call.run()


async def test_a_scripted_recogniser_is_refused_before_the_call_begins():
    made = await open_studio(CONFIG)
    with pytest.raises(ConfigError, match="needs a transcript"):
        Talk(made)
