"""Messages that must arrive, in a database: whoever is killed loses none that was written.

Workers may share one: each puts, and the one who holds the lock delivers. Everything here blocks.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec

from turnbudget.runs.records import Record
from turnbudget.voice.database import DURABLE, Database, Hold

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

MOST: Final = 10_000
"""Messages that wait at a time; the oldest are given up first."""
LARGEST: Final = 4 << 20
"""Bytes of the body of a message that is sent; a larger one is given up."""
TABLES: Final = """
CREATE TABLE IF NOT EXISTS messages (
    created_s INTEGER, number INTEGER, id TEXT, tenant TEXT, due_s INTEGER, attempts INTEGER, body BLOB,
    PRIMARY KEY (created_s, number, id)
);
"""
"""The table of messages, as SQLite is told to make it."""
Key: TypeAlias = tuple[int, int, str]
"""What tells a message from all others: when it was made, its number, its id."""
log = logging.getLogger(__name__)


class Message(Record, frozen=True, kw_only=True):
    """A message to the server of a *tenant*."""

    created_s: int
    """When it was made (seconds of the calendar)."""
    number: int = 0
    """Its place among those of one second."""
    id: str
    """What its receiver knows it by, however often it comes."""
    tenant: str
    """Whose server it is for."""
    due_s: int
    """When it is to be sent next (seconds of the calendar)."""
    attempts: int = 0
    """How often it was sent in vain."""
    body: str = ""
    """What is sent, as JSON text."""

    @property
    def key(self) -> Key:
        """What tells this message from all others."""
        return self.created_s, self.number, self.id


class MessageStore:
    """The messages in a folder."""

    def __init__(self, folder: Path) -> None:
        """Keep messages in *folder*; raises OSError."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._database = Database(folder / "messages.sqlite", TABLES, DURABLE)
        self._delivering = Hold(folder / ".deliverer")
        self._unwritten: dict[Key, Message | None] = {}
        """Messages, without bodies, as they were left by changes that the disk refused; ``None``: taken.

        A try that it cannot note is a try all the same.
        """
        self.lost = 0
        """Messages that were given up for newer ones, or were too large."""

    def put(self, message: Message) -> None:
        """Keep *message*, also one that was tried before; raises OSError where the disk refuses."""
        row = (*message.key, message.tenant, message.due_s, message.attempts, message.body.encode())
        self._change(
            message.key,
            msgspec.structs.replace(message, body=""),
            "INSERT OR REPLACE INTO messages VALUES (?, ?, ?, ?, ?, ?, ?)",
            row,
        )

    def take(self, message: Message) -> None:
        """Forget *message*; raises OSError where the disk keeps it."""
        key = message.key
        self._change(key, None, "DELETE FROM messages WHERE (created_s, number, id) = (?, ?, ?)", key)

    def look(self) -> list[Message]:
        """Return what waits, without bodies, the oldest first; raises OSError.

        Of too many the oldest go, and what is too large goes.
        """
        rows = self._database.transact(
            lambda connection: connection.execute(
                "SELECT length(body), created_s, number, id, tenant, due_s, attempts FROM messages"
                " ORDER BY created_s, number, id"
            ).fetchall(),
            "BEGIN",
        )
        kept = {}
        for place, (length, *columns) in enumerate(rows):
            message = _message(columns)
            if length > LARGEST or place < len(rows) - MOST:
                self._give_up(message)
            else:
                kept[message.key] = message
        for key in list(self._unwritten):
            if key not in kept:
                self._unwritten.pop(key, None)
        return [left for key, message in kept.items() if (left := self._unwritten.get(key, message))]

    def whole(self, message: Message) -> Message | None:
        """Return *message* as it stands now, with its body; ``None`` if it is gone. Raises OSError."""
        row = self._database.transact(
            lambda connection: connection.execute(
                "SELECT created_s, number, id, tenant, due_s, attempts, body FROM messages"
                " WHERE (created_s, number, id) = (?, ?, ?)",
                message.key,
            ).fetchone(),
            "BEGIN",
        )
        left = self._unwritten.get(message.key, _message(row)) if row else None
        return msgspec.structs.replace(left, body=row[-1].decode()) if left else None

    def hold(self) -> bool:
        """Be the one who delivers, if nobody else is; say whether we are."""
        return self._delivering.take()

    def close(self) -> None:
        """Let another one deliver, for good."""
        self._delivering.close()
        self._database.close()

    def _change(self, key: Key, left: Message | None, statement: str, values: tuple[object, ...]) -> None:
        """Do what *statement* says of the message *key*, which leaves it as *left* even so."""
        self._unwritten[key] = left
        self._database.transact(lambda connection: connection.execute(statement, values))
        self._unwritten.pop(key, None)

    def _give_up(self, message: Message) -> None:
        self.take(message)
        self.lost += 1
        log.error("webhooks: %s is given up, for there are over %d or it is too large", message.id, MOST)


def _message(row: Sequence[Any]) -> Message:
    """Return the message of a *row*, without its body."""
    created_s, number, name, tenant, due_s, attempts, *_ = row
    return Message(created_s=created_s, number=number, id=name, tenant=tenant, due_s=due_s, attempts=attempts)
