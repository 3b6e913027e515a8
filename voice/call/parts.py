"""What a call is made of: its parts and settings, what a turn works with, and the row each turn leaves."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from turnbudget.voice.call.bargein import Rules
from turnbudget.voice.call.responder import granted
from turnbudget.voice.hearing.keypad import Gathering
from turnbudget.voice.sound import audio

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from turnbudget.voice.asr.transcriber import Transcriber
    from turnbudget.voice.call.ahead import Ahead
    from turnbudget.voice.call.ledger import Account
    from turnbudget.voice.call.responder import Responder
    from turnbudget.voice.hearing.endpoint import Endpointing
    from turnbudget.voice.hearing.events import Utterance
    from turnbudget.voice.hearing.vad import Vad
    from turnbudget.voice.lines.line import Line
    from turnbudget.voice.speaking.mouth import Mouth
    from turnbudget.voice.time.budget import Budget, Forecast
    from turnbudget.voice.time.crew import Crew
    from turnbudget.voice.tts.synthesizer import Speech, Synthesizer

Kind: TypeAlias = Literal["turn", "notice", "greeting", "reprompt"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRow:
    """One row of a call: a turn, or something we said unasked (then there is no utterance)."""

    kind: Kind
    number: int
    account: Account
    utterance: Utterance | None
    asked: str
    """The words that were answered, as they may be written."""
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallSettings:
    """How a call behaves. Times in microseconds."""

    budget_us: int = 800_000
    """From the caller's last voiced sample to our first audible one."""
    patience_us: int = 5_000_000
    """To the answer, when a bridge has gone before it."""
    text_us: int = 500_000
    """Longest wait for a final text after the endpoint; then the partial text has to do."""
    murmur_us: int = 200_000
    """Voice without a word that is asked about; shorter is a breath or a click."""
    idle_us: int = 8_000_000
    """Silence after which we ask whether the caller is still there."""
    parting_us: int = 0
    """Silence behind our goodbye after which we hang up; 0: as long as any other."""
    reprompts: int = 2
    """How often we ask before we hang up."""
    longest_us: int = 4 * 3_600_000_000
    """A call ends after so long."""
    keypad: Gathering = field(default_factory=Gathering)
    """How keys are gathered."""
    transfers: bool = False
    """Whether the line can send the caller elsewhere: then a reply that does so ends the call."""
    half_duplex: bool = False
    """While we sound, only a caller who is louder than our echo is heard: for lines without a canceller."""
    barge_in: Rules = field(default_factory=Rules)
    """What the caller's sound over ours means."""


@dataclass(frozen=True, slots=True)
class Phrases:
    """The sentences that must never be waited for, rendered before the call."""

    bridge: Speech
    """Said when no answer can be in time."""
    pardon: Speech
    """The answer to speech without words."""
    apology: Speech
    """Said when no answer comes at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a call is made of; vad, line, responder and ahead belong to it alone, the others may be shared."""

    line: Line
    vad: Vad
    transcriber: Transcriber
    endpointing: Endpointing
    responder: Responder
    voice: Synthesizer
    forecast: Forecast
    phrases: Phrases
    notice: Speech | None = None
    """Said first, and heard to its end whatever the caller says: a legal notice."""
    greeting: Speech | None = None
    """Said then, unless the caller has spoken over the notice."""
    reprompt: Speech | None = None
    ahead: Ahead | None = None
    """Who works ahead of the caller's last word; ``None``: nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnParts:
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
