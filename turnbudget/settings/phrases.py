"""The sentences that must never be waited for, rendered before there is a call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from turnbudget.voice.call.parts import Phrases
from turnbudget.voice.errors import ConfigError
from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock
from turnbudget.voice.tts.synthesizer import Speech
from turnbudget.voice.words.sentences import split
from turnbudget.voice.words.text import speakable

if TYPE_CHECKING:
    from collections.abc import Callable

    from turnbudget.settings.config import PhraseTable
    from turnbudget.voice.tts.synthesizer import Synthesizer

BREATH = audio.samples(120 * clock.MS)
"""Between two sentences of one phrase."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """What every call may have to say, rendered before there is one."""

    phrases: Phrases
    notice: Speech | None
    greeting: Speech | None
    reprompt: Speech | None


async def render_phrases(told: PhraseTable, voice: Synthesizer, progress: Callable[[str], None]) -> Spoken:
    """Return the phrases *told* in *voice*; raises ConfigError for one that cannot be spoken."""
    progress("rendering phrases")
    bridge, pardon, apology = [
        await render_phrase(voice, text) for text in (told.bridge, told.pardon, told.apology)
    ]
    notice, greeting, reprompt = [
        await render_phrase(voice, text) if text else None
        for text in (told.notice, told.greeting, told.reprompt)
    ]
    return Spoken(Phrases(bridge, pardon, apology), notice, greeting, reprompt)


async def render_phrase(voice: Synthesizer, text: str) -> Speech:
    """Return a whole phrase as one sound, a breath between its sentences."""
    pieces = [await voice.render(piece) for piece in split(speakable(text))]
    if not pieces:
        raise ConfigError(f"{text!r} has no words to speak", where="phrases")
    sounds = [pieces[0].samples]
    for piece in pieces[1:]:
        sounds += [audio.silence(BREATH), piece.samples]
    return Speech(text=text, samples=audio.join(sounds), onset=pieces[0].onset, voice=voice.voice)
