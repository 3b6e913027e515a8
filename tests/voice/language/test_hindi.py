"""A second language proves the seam: a call in Hindi, with nothing of it outside its data."""

from __future__ import annotations

import re

import pytest

from turnbudget.agents.config import read
from turnbudget.agents.values.heard import plain
from turnbudget.council.convene import Seat
from turnbudget.council.council import Council
from turnbudget.settings import config
from turnbudget.settings.compose import call_settings, render_phrases, spoken_phrases
from turnbudget.testing.stage import play, says
from turnbudget.voice.errors import ConfigError
from turnbudget.voice.language.language import LANGUAGES, language
from turnbudget.voice.language.openend import open_end
from turnbudget.voice.language.phrases_heard import sense_of, word_classes
from turnbudget.voice.tts import pyttsx3
from turnbudget.voice.tts.choose import choose
from turnbudget.voice.tts.scripted import ScriptedSynthesizer

HINDI = language("hi")
AGENTS = """
language = "hi"

[[agent]]
kind = "form"
name = "deposit"
trigger = ['जमा']
confirm = "{amount} जमा करूँ?"

  [[agent.slots]]
  name = "amount"
  type = "amount"
  ask = "कितने रुपये?"

[[agent]]
kind = "smalltalk"
name = "smalltalk"
"""
CALL = ("मुझे पैसे जमा करने हैं", "एक लाख पच्चीस हज़ार रुपये", "हाँ जी", "नहीं धन्यवाद अलविदा")


@pytest.fixture
def council(tmp_path):
    path = tmp_path / "agents.toml"
    path.write_text(AGENTS, "utf-8")
    return Council(tuple(Seat(each.agent) for each in read(path)), call="1")


def held(played):
    return [(row.asked, row.said) for row in played.turns]


REPLIES = [
    "कितने रुपये?",
    "125000 रुपये जमा करूँ?",
    "हो गया। और कुछ?",
    "फ़ोन करने के लिए धन्यवाद। नमस्ते।",
]


async def test_a_form_takes_a_number_and_a_yes_and_the_call_closes(council):
    played = await play(
        *map(says, CALL),
        responder=council,
        language=HINDI,
        voice=ScriptedSynthesizer(),
    )
    assert held(played) == list(zip(CALL, REPLIES, strict=True))


@pytest.mark.clock("skip")
async def test_espeak_speaks_it(council):
    if not pyttsx3.reachable():
        pytest.skip(f"no voice here: {pyttsx3.REMEDY}")
    told = config.Config(language="hi")
    try:
        voice, _ = choose("pyttsx3", voice="hi")
    except ConfigError as missing:
        pytest.skip(f"no Hindi voice: {missing}")
    try:
        await voice.warm()
        spoken = await render_phrases(spoken_phrases(told), voice, lambda _: None, HINDI)
        played = await play(
            *map(says, CALL), responder=council, language=HINDI, voice=voice, phrases=spoken.phrases
        )
    finally:
        await voice.aclose()
    assert spoken.phrases.bridge.text == "एक क्षण।"
    assert held(played) == list(zip(CALL, REPLIES, strict=True))
    assert set(played.outcomes) == {"answered"}


@pytest.mark.parametrize(
    ("said", "means"),
    [
        ("एक लाख पच्चीस हज़ार तीन सौ", "125300"),
        ("नौ आठ सात शून्य टू", "98702"),
        ("टू थ्री फोर", "234"),
        ("सौ रुपये", "100 रुपये"),
        ("दो दशमलव पाँच लाख", "250000"),
        ("निन्यानवे", "99"),
        ("हाँ जी", "हाँ जी"),
    ],
)
def test_its_numbers_and_english_ones_are_read(said, means):
    assert plain(said, HINDI).text == means


def test_its_hesitations_and_listeners_noises_are_told():
    assert open_end("मेरा खाता उम", HINDI).kind == "hesitation"
    assert open_end("मेरे खाते से", HINDI).kind == "unfinished"
    assert open_end("मुझे पैसे जमा करने हैं", HINDI) is None
    classes = word_classes("hi")
    assert sense_of("जी हाँ", classes, whole=True) == "backchannel"
    assert sense_of("रुकिए", classes, whole=True) == "stop"
    assert sense_of("मेरा खाता बंद करो", classes, whole=True) == "speech"


def test_a_configuration_names_it(tmp_path):
    settings = call_settings(config.Config(language="hi"))
    assert settings.language is HINDI
    assert "रुकिए" in settings.barge_in.words.stop
    path = tmp_path / "agents.toml"
    path.write_text(AGENTS.replace('"hi"', '"tlh"', 1), "utf-8")
    with pytest.raises(ConfigError, match=re.escape(f"there are {', '.join(LANGUAGES)}")):
        read(path)
