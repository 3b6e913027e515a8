"""The recording of a call: whether its caller consents, and when it is paused.

Without consent no sound goes to disk. While it is paused both sides are written as silence, and the record
says from when to when, and why. It knows no file: :mod:`turnbudget.runs.written` asks it what may be written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from turnbudget.voice.sound.audio import Int16

LOOK_US: Final = 100 * clock.MS
"""How often it is looked whether the caller is asked for something that may not be recorded."""
NO_CONSENT: Final = "no consent yet"
MOST: Final = 1_000
"""Pauses of one call; a call with more stays paused."""


@dataclass(frozen=True, slots=True)
class Pause:
    """A stretch without a recording, in µs of the call; ``ended_us`` is ``None`` while it lasts."""

    began_us: int
    ended_us: int | None
    because: str


class Recording:
    """One call's recording, on the running clock."""

    def __init__(self, *, consent: bool = True) -> None:
        self._consent: bool | None = consent or None
        self._epoch_us = clock.now()
        self._pauses: list[Pause] = []

    @property
    def consent(self) -> bool:
        """Whether sound may be written."""
        return bool(self._consent)

    @property
    def refused(self) -> bool:
        """Whether the caller has refused, for good."""
        return self._consent is False

    @property
    def paused(self) -> bool:
        """Whether it is paused."""
        return bool(self._pauses) and self._pauses[-1].ended_us is None

    @property
    def pauses(self) -> tuple[Pause, ...]:
        """Every stretch that was left out, in order."""
        return tuple(self._pauses)

    def begin(self, epoch_us: int) -> None:
        """Know that the call's clock begins at *epoch_us*: everything here counts from it."""
        self._epoch_us = epoch_us

    def allow(self) -> None:
        """Record from now on, unless the caller has refused; what was before stays silent."""
        if self._consent is None:
            if now := self._now():
                self._pauses.insert(0, Pause(0, now, NO_CONSENT))
            self._consent = True

    def refuse(self) -> None:
        """Keep no sound of this call, for good; what was written is removed."""
        self._consent = False

    def pause(self, because: str = "asked for") -> None:
        """Write silence from now on."""
        if not self.paused:
            self._pauses.append(Pause(self._now(), None, because))

    def resume(self) -> None:
        """Write sound again, from now on."""
        if self.paused and len(self._pauses) < MOST:
            last = self._pauses[-1]
            self._pauses[-1] = Pause(last.began_us, self._now(), last.because)

    def muted(self, block: Int16, place: int) -> Int16:
        """Return *block*, whose first sample is the call's sample *place*, silent where it was paused."""
        begins, ends = audio.us(place), audio.us(place + len(block))
        for pause in self._pauses:
            until = ends if pause.ended_us is None else pause.ended_us
            if pause.began_us < ends and until > begins:
                block[
                    max(0, audio.samples(pause.began_us) - place) : max(0, audio.samples(until) - place)
                ] = 0
        return block

    def over(self, began_us: int, ended_us: int) -> bool:
        """Say whether it was paused at any time from *began_us* to *ended_us* of the call."""
        return any(
            pause.began_us < ended_us and (pause.ended_us is None or pause.ended_us > began_us)
            for pause in self._pauses
            if pause.because != NO_CONSENT
        )

    def notes(self) -> tuple[str, ...]:
        """Return what the record says of it."""
        return tuple(
            f"recording paused {_s(pause.began_us)} to {_s(pause.ended_us) if pause.ended_us else 'the end'}:"
            f" {pause.because}"
            for pause in self._pauses
        )

    async def mind(self, expects: Callable[[], str], sensitive: Collection[str]) -> None:
        """Pause, for ever, whenever what the caller is asked for (*expects*) is *sensitive*."""
        asked = ""
        while True:
            now = expects()
            if now != asked and now in sensitive:
                self.pause(f"asked for {now}")
            elif now != asked and asked in sensitive:
                self.resume()
            asked = now
            await clock.sleep(LOOK_US)

    def _now(self) -> int:
        return clock.now() - self._epoch_us


def _s(us: int) -> str:
    return f"{us / clock.SECOND:.1f} s"
