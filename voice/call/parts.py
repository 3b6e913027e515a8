"""What a call is made of: its parts and settings, what a turn works with, and the row each turn leaves."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from turnbudget.voice.call.bargein import Rules
from turnbudget.voice.call.responder import granted
from turnbudget.voice.hearing.keypad import Gathering
from turnbudget.voice.language.language import ENGLISH, Language
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
"""What a row is of: a turn, or one of three announcements."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRow:
    """One row of a call: a turn, or an announcement (then there is no utterance)."""

    kind: Kind
    """What the row is of."""
    number: int
    """Number of the row in the call, from 1."""
    account: Account
    """The closed ledger."""
    utterance: Utterance | None
    """What the caller said; ``None`` for an announcement."""
    asked: str
    """The words that were answered, without keyed-in digits."""
    said: str
    """What the caller heard of ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallSettings:
    """How a call behaves; times in microseconds."""

    budget_us: int = 800_000
    """Longest time from the caller's last voiced sample to our first audible one (µs; 800 ms)."""
    patience_us: int = 5_000_000
    """Longest time to the answer when a bridge has gone before it (µs; 5 s)."""
    text_us: int = 500_000
    """Longest wait for a final text after the endpoint; then the partial text is used (µs; 500 ms)."""
    murmur_us: int = 200_000
    """Shortest voice without words that the caller is asked about (µs; 200 ms)."""
    idle_us: int = 8_000_000
    """Silence after which we ask whether the caller is still there (µs; 8 s)."""
    parting_us: int = 0
    """Silence after our goodbye at which we hang up (µs; 0: ``idle_us``)."""
    reprompts: int = 2
    """How many times we ask before we hang up."""
    longest_us: int = 4 * 3_600_000_000
    """Time after which a call is ended (µs; 4 h)."""
    keypad: Gathering = field(default_factory=Gathering)
    """How keys are gathered."""
    transfers: bool = False
    """Whether the line can transfer the caller; then a reply with a transfer ends the call."""
    half_duplex: bool = False
    """Whether only a caller louder than our echo is heard while we sound (for lines without an echo
    canceller)."""
    barge_in: Rules = field(default_factory=Rules)
    """When the caller's sound pauses or cuts our reply."""
    language: Language = ENGLISH
    """The language we speak."""


@dataclass(frozen=True, slots=True)
class Phrases:
    """Sentences that are rendered before the call, since they must never be waited for."""

    bridge: Speech
    """Said when no answer can be in time."""
    pardon: Speech
    """Said in answer to speech without words."""
    apology: Speech
    """Said when no answer comes at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a call is made of; vad, line, responder and ahead belong to it alone, the others may be shared."""

    line: Line
    """Where the caller is heard and we are; it ends when the caller hangs up."""
    vad: Vad
    """The detector of speech, which keeps state and so serves one call."""
    transcriber: Transcriber
    """The speech recogniser, warmed before the call."""
    endpointing: Endpointing
    """How long a silence ends a turn."""
    responder: Responder
    """Who chooses what is said to the caller."""
    voice: Synthesizer
    """The synthesizer, warmed before the call."""
    forecast: Forecast
    """What each stage has lately cost."""
    phrases: Phrases
    """The sentences that are never waited for."""
    notice: Speech | None = None
    """Legal notice, said first and to its end whatever the caller says; ``None`` for none."""
    greeting: Speech | None = None
    """Said after the notice, unless the caller has spoken by then; ``None`` for none."""
    reprompt: Speech | None = None
    """Said to a caller who is silent; ``None`` for never."""
    ahead: Ahead | None = None
    """Who works ahead of the caller's last word; ``None`` for nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnParts:
    """What a turn works with; one for each call."""

    crew: Crew
    """Task group of the call."""
    responder: Responder
    voice: Synthesizer
    """The synthesizer."""
    mouth: Mouth
    forecast: Forecast
    """What each stage has lately cost."""
    phrases: Phrases
    """The sentences that are never waited for."""
    act_us: int = 0
    """Time from the last voiced sample until an effect may begin, since the caller may go on (µs)."""
    ahead: Ahead | None = None
    """Who works ahead of the caller's last word; ``None`` for nobody."""
    quiet: Callable[[], Awaitable[object]] = granted
    """Waits until the caller does not speak."""
    language: Language = ENGLISH
    """The language we speak."""

    def needs(self, phrase: Speech) -> int:
        """Return how long it likely takes until *phrase* sounds (µs)."""
        return self.forecast.of("deliver").p95_us + audio.us(phrase.onset)

    def last_moment(self, budget: Budget, phrase: Speech) -> int:
        """Return when *phrase* must begin to sound inside *budget* (µs on the clock)."""
        return budget.keep(self.needs(phrase)).ends_us
