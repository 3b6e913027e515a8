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
"""Text written in place of keys that were pressed, which may be a card number or a code."""


@dataclass(frozen=True, slots=True)
class SpeechStarted:
    """The caller began to speak at ``at_us``."""

    at_us: int


@dataclass(frozen=True, slots=True)
class Partial:
    """The text so far; it may still change if the caller goes on.

    ``whole``: the caller has paused, and this is the text of all they said before.
    """

    text: str
    at_us: int
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Pause:
    """The caller fell silent at ``at_us``, perhaps at the end of the turn; ``text`` is the partial text."""

    at_us: int
    text: str


@dataclass(frozen=True, slots=True)
class Resumed:
    """The caller spoke on at ``at_us``, before the silence was long enough to end the turn."""

    at_us: int


@dataclass(frozen=True, slots=True)
class Utterance:
    """What the caller said, final, and when its sound began and ended.

    ``ended_us`` is the last voiced sample: the zero of the turn. The endpoint was taken at ``decided_us``
    because of ``rule``, a setting's name; the text was there at ``text_us``. ``trust`` tells a final text
    from a partial one that had to do (the final came too late, or empty).
    """

    text: str
    began_us: int
    """First voiced sample (µs on the clock)."""
    ended_us: int
    """Last voiced sample: the zero of the turn (µs on the clock)."""
    decided_us: int
    """When the endpoint was decided (µs on the clock)."""
    text_us: int
    """When the text was there (µs on the clock)."""
    rule: str
    """Name of the setting that ended the turn."""
    voiced_us: int
    """Voice in it (µs of media)."""
    trust: Literal["final", "partial"] = "final"
    """Whether the text is final, or a partial one since the final came too late or empty."""
    transcriber: str = ""
    """Name of the recogniser, or of what else made the text."""
    because: str = ""
    """Why the text is only partial; '' if it is final."""
    work: tuple[Work, ...] = ()
    """Decodes that the text cost."""
    keys: tuple[str, ...] = ()
    """Inputs of keys that are part of the text; they are written nowhere."""
    masked: str = ""
    """The text without those inputs, if there are any."""

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


Event: TypeAlias = SpeechStarted | Partial | Pause | Resumed | Utterance
