"""What a turn works with: who answers, who speaks, what it likely takes, what may always be said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from voice import audio
from voice.responder import granted

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from voice.ahead import Ahead
    from voice.budget import Budget
    from voice.crew import Crew
    from voice.forecast import Forecast
    from voice.responder import Responder
    from voice.speak import Mouth
    from voice.tts.synthesizer import Speech, Synthesizer


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
