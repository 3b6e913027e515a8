"""What a turn works with: who answers, who speaks, what it likely takes, what may always be said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from turnbudget.voice.call.responder import granted
from turnbudget.voice.sound import audio

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from turnbudget.voice.call.ahead import Ahead
    from turnbudget.voice.call.responder import Responder
    from turnbudget.voice.speaking.mouth import Mouth
    from turnbudget.voice.time.budget import Budget
    from turnbudget.voice.time.crew import Crew
    from turnbudget.voice.time.forecast import Forecast
    from turnbudget.voice.tts.synthesizer import Speech, Synthesizer


@dataclass(frozen=True, slots=True)
class Phrases:
    """The sentences that must never be waited for, rendered before the call."""

    bridge: Speech
    """Said when no answer can be in time."""
    pardon: Speech
    """The answer to speech without words."""
    apology: Speech
    """Said when no answer comes at all."""


@dataclass(frozen=True, slots=True)
class Desk:
    """What a turn works with; one a call."""

    crew: Crew
    responder: Responder
    voice: Synthesizer
    mouth: Mouth
    forecast: Forecast
    phrases: Phrases
    act_us: int = 0
    """From the last voiced sample to when an effect may begin: until then the caller may go on."""
    ahead: Ahead | None = None
    quiet: Callable[[], Awaitable[object]] = granted
    """Waits until the caller does not speak."""

    def needs(self, phrase: Speech) -> int:
        """Return how long it likely takes until *phrase* sounds, in µs."""
        return self.forecast.of("deliver").p95_us + audio.us(phrase.onset)

    def last_moment(self, budget: Budget, phrase: Speech) -> int:
        """Return the last instant at which *phrase* can begin and still sound inside *budget*."""
        return budget.keep(self.needs(phrase)).ends_us
