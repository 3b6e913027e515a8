"""A number that knows where it comes from: a simulation is worth what its constants are worth.

Formulas use it as the float it is; what :mod:`turnbudget.agents.simulated.explain` prints beside a term is
its mark. A number without a mark was given by the user.
"""

from __future__ import annotations

from typing import Final, Literal, Self, TypeAlias, TypeVar

import msgspec

Mark: TypeAlias = Literal["measured", "derived", "assumed", "source", "memory", "yours"]
"""``measured``: re-analysed from measured data. ``derived``: follows from other numbers here. ``assumed``: a
guess. ``source``: read in the source named. ``memory``: believed, not looked up. ``yours``: the user's."""
AS_OF: Final = "2026-08"
"""When the figures were gathered, where a constant does not say otherwise."""

T = TypeVar("T", bound=msgspec.Struct)


class Constant(float):
    """A float with its mark, its source in a few words, and its date."""

    __slots__ = ("as_of", "mark", "source")
    mark: Mark
    source: str
    as_of: str

    def __new__(cls, value: float, mark: Mark, source: str, as_of: str = AS_OF) -> Self:
        """Make *value* a constant."""
        made = super().__new__(cls, value)
        made.mark, made.source, made.as_of = mark, source, as_of
        return made

    def __repr__(self) -> str:
        return f"{float(self):g} [{self.mark}: {self.source}, {self.as_of}]"


def origin(value: float) -> tuple[Mark, str, str]:
    """Return mark, source and date of *value*."""
    if isinstance(value, Constant):
        return value.mark, value.source, value.as_of
    return "yours", "", ""


def weakest(*values: float) -> tuple[Mark, str, str]:
    """Return the origin of the least certain of *values*: what is made of them is worth no more."""
    order: tuple[Mark, ...] = ("assumed", "memory", "derived", "yours", "source", "measured")
    return min((origin(value) for value in values), key=lambda found: order.index(found[0]))


def marked(record: T, mark: Mark, source: str, as_of: str = AS_OF) -> T:
    """Return *record* with every plain number of it, also in the records in it, made a constant."""
    changed: dict[str, object] = {}
    for field in record.__struct_fields__:
        value = getattr(record, field)
        if isinstance(value, msgspec.Struct):
            changed[field] = marked(value, mark, source, as_of)
        elif isinstance(value, int | float) and not isinstance(value, Constant | bool):
            changed[field] = Constant(value, mark, source, as_of)
    return msgspec.structs.replace(record, **changed)
