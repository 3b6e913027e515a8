"""Without consent no sound is kept; what is said in a pause is silence on disk, and the record says so."""

from __future__ import annotations

import json

import numpy as np
import pytest
import soundfile
from live_calls import SAYINGS, TEXTS, studio
from sounds import voice

from turnbudget.agents.agent import Context
from turnbudget.demos.bank.bank import open_bank
from turnbudget.live.call import CallPolicy, LiveCall
from turnbudget.redaction.redacted import Redaction
from turnbudget.runs.folder import RunWriter
from turnbudget.runs.recording import Pause, Recording
from turnbudget.voice.asr.scripted import ScriptedTranscriber, Take
from turnbudget.voice.call.responder import Reply
from turnbudget.voice.hearing.events import KEYS
from turnbudget.voice.lines.card import Person, SimulatedCard
from turnbudget.voice.lines.microphone import Microphone
from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import MS, SECOND


class Teller:
    """A responder that learns facts, and asks for a card's number in its second answer."""

    name = "teller"

    def __init__(self):
        self.known = Context(facts={"tenant": "bank"})
        self.heard = []

    def know(self, facts):
        self.facts = {**facts, **self.known.facts}

    async def make_ready(self, history):
        pass

    async def answer(self, question):
        self.heard.append(question.said)
        asks = {1: "", 2: "card"}.get(len(self.heard), "")
        self.known = Context(expects=asks, slots={"account": "savings", "card": "4111"})
        return Reply("Your card number?" if asks else "All right.", self.name)


async def live(writer=None, *, texts=TEXTS, sayings=SAYINGS, responder=None, act=lambda _: None, **policy):
    """Hold a call with a person who says *texts*; return it, its record, and its rows."""
    made = await studio()
    made.transcriber = ScriptedTranscriber(takes=[Take(text) for text in texts])
    if responder:
        made.answering.make = lambda: responder
    rows = []
    person = Person(sayings, over=lambda: line.hang_up("the caller hung up"))
    line = Microphone(SimulatedCard(person, lag_us=20 * MS))
    call = LiveCall(line, made, writer, name="talk", told=rows.append, policy=CallPolicy(**policy))
    act(call)
    return call, await call.run(), rows


def loud(folder, began_us, ended_us):
    """Whether anything sounds on either side between two places of the recording."""
    sound, _ = soundfile.read(folder / "talk.wav", dtype="int16")
    return bool(
        np.abs(sound[audio.samples(began_us) : audio.samples(ended_us)]).max(initial=0) > audio.AUDIBLE
    )


@pytest.fixture
def writer(tmp_path):
    with RunWriter(tmp_path / "run") as writer:
        yield writer


async def test_without_consent_rows_are_written_and_no_sound(writer):
    _, record, rows = await live(writer, recording=Recording(consent=False))
    assert record.audio == ""
    assert [place.name for place in writer.folder.iterdir()] == ["turns.jsonl"]
    assert len((writer.folder / "turns.jsonl").read_bytes().splitlines()) == len(rows) >= 4


async def test_consent_that_comes_later_records_from_then_on_each_sound_in_its_place(writer):
    def act(call):
        clock.call_at(clock.now() + 5 * SECOND, call.recording.allow)

    _, record, rows = await live(writer, recording=Recording(consent=False), act=act)
    assert record.audio == "talk.wav"
    assert not loud(writer.folder, 0, 5 * SECOND)
    last = rows[-1]
    assert last.speech_ended_call_us > 5 * SECOND
    assert loud(writer.folder, last.speech_began_call_us, last.speech_ended_call_us)
    sound = soundfile.info(writer.folder / "talk.wav")
    assert abs(audio.us(sound.frames) - record.length_us) < MS
    assert "no consent yet" in record.notes[-1]


async def test_consent_that_is_taken_back_leaves_no_sound_and_cannot_be_given_again(writer):
    def act(call):
        clock.call_at(clock.now() + 5 * SECOND, call.recording.refuse)
        clock.call_at(clock.now() + 6 * SECOND, call.recording.allow)

    _, record, _ = await live(writer, act=act)
    assert record.audio == ""
    assert not (writer.folder / "talk.wav").exists()


async def test_what_is_said_in_a_pause_is_silence_and_the_record_says_from_when_to_when(writer):
    def act(call):
        clock.call_at(clock.now() + 2 * SECOND, call.recording.pause)
        clock.call_at(clock.now() + 5 * SECOND, call.recording.resume)

    call, record, _ = await live(writer, act=act)
    assert call.recording.pauses == (Pause(2 * SECOND, 5 * SECOND, "asked for"),)
    assert not loud(writer.folder, 2 * SECOND, 5 * SECOND)
    assert loud(writer.folder, SECOND, 2 * SECOND)
    assert loud(writer.folder, 5 * SECOND, record.length_us)
    assert "recording paused 2.0 s to 5.0 s: asked for" in record.notes


async def test_while_something_sensitive_is_asked_for_it_pauses_by_itself(writer):
    """The number is in no row, no sound and no slot that is told, though it is said in pieces."""
    texts = ("what is my balance", "my card please", "four one one one", "thank you bye")
    sayings = tuple(voice(seconds) for seconds in (1.2, 0.9, 1.4, 1.0))
    call, record, rows = await live(
        writer, texts=texts, sayings=sayings, responder=Teller(), sensitive={"card"}
    )
    turns = [row for row in rows if row.kind == "turn"]
    assert [row.heard for row in turns] == [*texts[:2], "[digits]", texts[3]]
    secret = turns[2]
    assert not loud(writer.folder, secret.speech_began_call_us, secret.speech_ended_call_us)
    after = turns[3]
    assert loud(writer.folder, after.speech_began_call_us, after.speech_ended_call_us)
    assert any("asked for card" in note for note in record.notes)
    assert call.slots == {"account": "savings"}
    assert "four" not in (writer.folder / "turns.jsonl").read_text()


async def test_rows_are_redacted_before_anybody_is_told(writer):
    texts = ("my number is 5550100199", "and 4111 1111 1111 1111", "thank you bye")
    _, _, rows = await live(writer, texts=texts)
    told = [json.loads(line) for line in (writer.folder / "turns.jsonl").read_bytes().splitlines()]
    for seen in ([row.heard for row in rows], [row["heard"] for row in told]):
        assert [text for text in seen if text] == ["my number is [phone]", "and [card]", "thank you bye"]


async def test_where_it_is_switched_off_words_stay_but_keys_do_not(writer):
    """TEL-12: pressed keys are masked whatever the settings."""

    def act(call):
        for number, key in enumerate("4111#"):
            at = clock.now() + 3 * SECOND + number * 120 * MS
            clock.call_at(at, lambda key=key: call._call.press(key))

    _, _, rows = await live(
        writer, act=act, texts=("call 5550100199", *TEXTS[1:]), redaction=Redaction(on=False)
    )
    assert "call 5550100199" in [row.heard for row in rows]
    assert KEYS in [row.heard for row in rows]
    assert "4 1 1 1" not in (writer.folder / "turns.jsonl").read_text()


async def test_facts_come_while_the_greeting_sounds_and_hold_up_nothing():
    teller, began = Teller(), []

    async def facts():
        began.append(clock.now())
        await clock.sleep(SECOND)
        return {"name": "Ann", "tenant": "another"}

    _, _, rows = await live(responder=teller, facts=facts)
    plain = (await live(responder=Teller()))[2]
    assert teller.facts == {"name": "Ann", "tenant": "bank"}
    assert rows[0].kind == "greeting"
    assert rows[0].first_sound_us == plain[0].first_sound_us
    assert rows[0].speech_ended_call_us == plain[0].speech_ended_call_us


@pytest.mark.parametrize("fault", [OSError("no"), RuntimeError("no")])
async def test_facts_that_fail_cost_nothing(fault):
    async def facts():
        raise fault

    _, record, rows = await live(facts=facts, responder=Teller())
    assert record.turns == len(TEXTS) == len([row for row in rows if row.outcome == "answered"]) - 1


async def test_a_council_learns_facts_but_not_against_those_it_began_with():
    council = open_bank()()
    council.know({"name": "Ann", "customer": "9999"})
    assert council.known.facts == {"name": "Ann", "customer": "1001"}


async def test_a_block_is_silent_exactly_where_it_was_paused():
    recording = Recording()
    await clock.sleep(SECOND)
    recording.pause("card")
    recording.pause("again")
    await clock.sleep(SECOND)
    recording.resume()
    recording.resume()
    block = np.ones((3 * audio.RATE, 2), np.int16)
    shown = recording.muted(block.copy(), 0)
    assert not shown[audio.RATE : 2 * audio.RATE].any()
    assert shown[: audio.RATE].all()
    assert shown[2 * audio.RATE :].all()
    parts = np.concatenate(
        [recording.muted(block[at : at + 1_000].copy(), at) for at in range(0, len(block), 1_000)]
    )
    assert (parts == shown).all()
    assert recording.over(SECOND // 2, 3 * SECOND // 2)
    assert not recording.over(2 * SECOND, 3 * SECOND)
