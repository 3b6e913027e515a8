"""What a supervisor may ask of a worker over the broker, each command obeyed once, by its id.

``{"id": "…", "command": "hang_up", "call": "…"}`` or ``{"id": "…", "command": "drain", "worker": "…"}``;
without a worker ``drain`` is for all. A retained command is old by definition, and is not obeyed. Who may
publish them is for the broker's own rights to say.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeAlias

import msgspec

if TYPE_CHECKING:
    from aiomqtt.types import PayloadType

REMEMBERED: Final = 1_024
"""Commands whose ids are remembered, so that each is obeyed once."""
LARGEST: Final = 4_096
"""Bytes of a command; a larger one is not read."""
LONGEST_ID: Final = 64
"""Characters of a command's id."""
Outcome: TypeAlias = Literal["done", "failed"]
"""What came of a command."""


class Supervised(Protocol):
    """A floor that can be told what to do; nothing here waits."""

    @property
    def draining(self) -> bool:
        """Whether no calls are taken any more."""
        ...

    def calls(self) -> int:
        """Return how many calls run."""
        ...

    def hang_up(self, call: str) -> bool:
        """End *call*; say whether it is one of this floor's."""
        ...

    def drain(self) -> None:
        """Take no more calls, and end behind the last."""
        ...


class Command(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is asked, and of whom."""

    id: str
    """Tells it from all others."""
    command: Literal["hang_up", "drain"]
    """End a call, or take no more of them."""
    call: str = ""
    """Which call to end."""
    worker: str = ""
    """Which worker is asked; '' is every one."""


class CommandResult(msgspec.Struct, frozen=True):
    """What came of a command."""

    id: str
    """The id of the command."""
    worker: str
    """Which worker obeyed."""
    command: str
    """What was asked."""
    outcome: Outcome
    """What came of it."""
    again: bool = False
    """It had been obeyed before, and was not obeyed again."""


class Commands:
    """Obeys on behalf of *worker*; what it does is counted in ``noted``."""

    def __init__(self, supervised: Supervised, worker: str) -> None:
        self.noted: Counter[str] = Counter()
        self._supervised = supervised
        self._worker = worker
        self._obeyed: OrderedDict[str, CommandResult] = OrderedDict()

    def take(self, payload: PayloadType, *, retained: bool = False) -> CommandResult | None:
        """Obey the command in *payload*; return what to tell of it, ``None`` if it is not for us."""
        if retained:
            self.noted["retained"] += 1
            return None
        command = _read(payload)
        if command is None:
            self.noted["malformed"] += 1
            return None
        if command.worker not in {"", self._worker}:
            return None
        if earlier := self._obeyed.get(command.id):
            self.noted["again"] += 1
            return msgspec.structs.replace(earlier, again=True)
        outcome = self._obey(command)
        if outcome is None:
            return None
        told = CommandResult(command.id, self._worker, command.command, outcome)
        self._obeyed[command.id] = told
        if len(self._obeyed) > REMEMBERED:
            self._obeyed.popitem(last=False)
        self.noted[outcome] += 1
        return told

    def _obey(self, command: Command) -> Outcome | None:
        """Do what is asked; ``None`` if the call is another worker's."""
        try:
            if command.command == "hang_up":
                return "done" if self._supervised.hang_up(command.call) else None
            self._supervised.drain()
        except Exception:  # noqa: BLE001 - whatever a floor raises costs this command only
            return "failed"
        return "done"


def _read(payload: PayloadType) -> Command | None:
    if not isinstance(payload, bytes | bytearray) or len(payload) > LARGEST:
        return None
    try:
        command = msgspec.json.decode(payload, type=Command)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return command if 0 < len(command.id) <= LONGEST_ID else None
