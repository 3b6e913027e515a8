"""What the control messages of several far sides share: JSON, a call's parameters, the ids of marks."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import msgspec

from turnbudget.voice.lines.dialect import CallInfo

if TYPE_CHECKING:
    from collections.abc import Mapping

PARAMETERS: Final = 64
PARAMETER: Final = 512
"""How many parameters of a call are kept, and the characters of one: carriers allow fewer."""
PENDING: Final = 64
"""Marks that may be waited for; older ones are forgotten."""


def table(text: str) -> dict[str, Any]:
    """Return the JSON object *text* is; raises msgspec.DecodeError or ValueError if it is none."""
    return msgspec.json.decode(text, type=dict[str, Any])


def compact(**fields: object) -> str:
    """Return *fields* as a JSON object without spaces."""
    return msgspec.json.encode(fields).decode()


def call_info(call: str, parameters: Mapping[str, object], *, stream: str = "") -> CallInfo:
    """Return what is known of a call; of its *parameters* some names say who calls whom, and for whom."""
    known = {
        name: value
        for name, value in islice(parameters.items(), PARAMETERS)
        if isinstance(value, str) and len(value) <= PARAMETER
    }
    token = known.pop("token", "")
    return CallInfo(
        call,
        stream,
        caller=known.get("caller") or known.get("from", ""),
        called=known.get("called") or known.get("to", ""),
        tenant=known.get("tenant", ""),
        token=token,
        parameters=known,
    )


class Marks:
    """Short ids for the names of marks: a far side may limit an id, or spoil one with a quote in it."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._count = 0

    def put(self, name: str) -> str:
        """Return a new id for the mark *name*."""
        self._count += 1
        while len(self._names) >= PENDING:
            del self._names[next(iter(self._names))]
        self._names[str(self._count)] = name
        return str(self._count)

    def take(self, key: str) -> str:
        """Return the name of the mark *key*, which came back; raises ValueError if it is not waited for."""
        if key not in self._names:
            raise ValueError("a mark that nobody waits for")
        return self._names.pop(key)

    @property
    def pending(self) -> tuple[str, ...]:
        """The ids of the marks that have not come back, oldest first."""
        return tuple(self._names)
