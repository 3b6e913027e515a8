"""Who serves which seat, by what workers say of themselves and by how long ago they said it.

A broker's word is not enough: the last will of a dead connection can arrive long after its worker is back,
or never. So a status says from which start and session it is, and of one worker only the latest counts; and
a worker that has been silent for three of its own heartbeats is taken for dead.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from turnbudget.council.remote.wire import Status

BEATS: Final = 3
LONG_AGO: Final = -(10**18)
WORKERS: Final = 10_000
"""More are not remembered: anybody the broker lets in can make them up."""


@dataclass(frozen=True, slots=True)
class _Sign:
    status: Status
    at_us: int

    def age(self) -> tuple[str, int]:
        return self.status.started, self.status.session


class Roll:
    """The last sign of life of each worker of each seat."""

    def __init__(self) -> None:
        self._signs: dict[str, dict[str, _Sign]] = {}
        self._known = 0

    def note(self, seat: str, worker: str, status: Status, now_us: int) -> bool:
        """Take down *status*; say whether it counts, which one of an earlier session does not."""
        sign, before = _Sign(status, now_us), self._signs.get(seat, {}).get(worker)
        if before and sign.age() < before.age():
            return False
        if not before:
            if self._known >= WORKERS:
                self.forget_gone(now_us)
            if self._known >= WORKERS:
                return False
            self._known += 1
        self._signs.setdefault(seat, {})[worker] = sign
        return True

    def serving(self, seat: str, now_us: int) -> int:
        """Return how many workers serve *seat*."""
        return sum(_lives(sign, now_us) for sign in self._signs.get(seat, {}).values())

    def vacant(self, seat: str, now_us: int) -> bool:
        """Say whether *seat* had workers and now has none; of a seat never heard of nothing is known."""
        return bool(self._signs.get(seat)) and not self.serving(seat, now_us)

    def doubt(self) -> None:
        """Believe nobody until the next sign of life: our own connection was gone, and perhaps theirs."""
        for workers in self._signs.values():
            workers.update({name: replace(sign, at_us=LONG_AGO) for name, sign in workers.items()})

    def forget_gone(self, now_us: int) -> None:
        """Forget all workers that serve no more."""
        for seat, workers in self._signs.items():
            self._signs[seat] = {name: sign for name, sign in workers.items() if _lives(sign, now_us)}
        self._known = sum(map(len, self._signs.values()))


def _lives(sign: _Sign, now_us: int) -> bool:
    beat = sign.status.beat_us
    return sign.status.online and (not beat or now_us - sign.at_us <= BEATS * beat)
