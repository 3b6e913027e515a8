"""How far a form has got: plain values in, plain values out, so that it can travel and be compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Progress:
    """What a form knows: ``asking`` is the slot it asked for last, ``partial`` what was said of that so far.

    ``order`` names the slots as they were filled, the latest last; ``misses`` counts answers in a row that
    it did not understand.
    """

    values: Mapping[str, str] = field(default_factory=dict)
    order: tuple[str, ...] = ()
    asking: str = ""
    partial: str = ""
    misses: int = 0
    done: bool = False

    @classmethod
    def of(cls, told: Any) -> Progress:
        """Return the progress that :meth:`told` told; none from anything else."""
        if not isinstance(told, Mapping):
            return cls()
        known = {key: told[key] for key in cls.__slots__ if key in told}
        progress = cls(**known)
        return replace(progress, values=dict(progress.values), order=tuple(progress.order))

    def told(self) -> dict[str, Any]:
        """Return it as plain values: text, numbers, tables."""
        told: dict[str, Any] = {key: getattr(self, key) for key in self.__slots__}
        return told | {"values": dict(self.values), "order": list(self.order)}

    @property
    def open(self) -> bool:
        """Whether it has asked for something and is not done."""
        return bool(self.asking) and not self.done

    def asks(self, slot: str, *, partial: str = "") -> Progress:
        """Return it having asked for *slot*."""
        return replace(self, asking=slot, partial=partial, misses=0)

    def missed(self) -> Progress:
        """Return it having not understood."""
        return replace(self, misses=self.misses + 1)

    def knows(self, slot: str, value: str) -> Progress:
        """Return it with *slot* filled."""
        order = (*(name for name in self.order if name != slot), slot)
        return replace(self, values={**self.values, slot: value}, order=order, partial="", misses=0)

    def without(self, slot: str) -> Progress:
        """Return it with *slot* empty."""
        values = {name: value for name, value in self.values.items() if name != slot}
        return replace(self, values=values, order=tuple(name for name in self.order if name != slot))

    def finished(self) -> Progress:
        """Return it done."""
        return replace(self, done=True, partial="", misses=0)
