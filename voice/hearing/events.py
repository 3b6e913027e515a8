"""What the Ear tells a call. The type is the message; every time is µs on the loop's clock.

``at_us`` is media time brought onto the clock: when the caller's sample sounded, never when we noticed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turnbudget.voice.asr.transcriber import Work


KEYS: Final = "[keys]"
"""What is written for keys that were pressed: they may be a card's number or a code."""


@dataclass(frozen=True, slots=True)
class SpeechStarted:
    """The caller began to speak."""

    at_us: int


@dataclass(frozen=True, slots=True)
class Partial:
    """The text so far; it may still change, unless the caller goes on no more.

    ``whole``: the caller has paused, and this is the text of all they said before.
    """

    text: str
    at_us: int
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Pause:
    """The caller fell silent; it may be the end of the turn. ``text`` is the partial text by then."""

    at_us: int
    text: str


@dataclass(frozen=True, slots=True)
class Resumed:
    """The caller spoke on before the silence was long enough to end the turn."""

    at_us: int


@dataclass(frozen=True, slots=True)
class Utterance:
    """What the caller said, final, with when its sound began and ended.

    ``ended_us`` is the last voiced sample: the zero of the turn. The endpoint was taken at ``decided_us``
    because of ``rule``, a setting's name; the text was there at ``text_us``. ``trust`` tells a final text
    from a partial one that had to do (the final came too late, or empty).
    """

    text: str
    began_us: int
    ended_us: int
    decided_us: int
    text_us: int
    rule: str
    voiced_us: int
    trust: Literal["final", "partial"] = "final"
    transcriber: str = ""
    because: str = ""
    work: tuple[Work, ...] = ()
    keys: tuple[str, ...] = ()
    """Inputs of keys that are part of the text: written nowhere."""
    masked: str = ""
    """The text without them, if there are any."""

    @property
    def written(self) -> str:
        """The text as it may be written."""
        return self.masked if self.keys else self.text


def joined(utterances: Sequence[Utterance]) -> Utterance:
    """Return the last of *utterances* with the words, the voice and the work of all."""
    first, last = utterances[0], utterances[-1]
    return replace(
        last,
        keys=tuple(keys for one in utterances for keys in one.keys),
        masked=" ".join(one.written for one in utterances if one.text),
        text=" ".join(one.text for one in utterances if one.text),
        began_us=first.began_us,
        voiced_us=sum(one.voiced_us for one in utterances),
        work=tuple(work for one in utterances for work in one.work),
    )


@dataclass(frozen=True, slots=True)
class Dtmf:
    """A key was pressed."""

    digit: str
    at_us: int


@dataclass(frozen=True, slots=True)
class Hangup:
    """The caller is gone."""

    at_us: int


Event: TypeAlias = SpeechStarted | Partial | Pause | Resumed | Utterance | Dtmf | Hangup
