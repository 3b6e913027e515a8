"""What is on a shelf, as a person may read it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turnbudget.speculative.shelf.held import Held, Key, Origin
    from turnbudget.speculative.shelf.store import Stored


@dataclass(frozen=True, slots=True)
class Entry:
    """One kept speech."""

    text: str
    bytes: int
    """What it takes in memory, or on disk if it is only there."""
    hits: int
    """How often it was asked for since it came to memory."""
    origin: Origin
    """Whether this process rendered it or had it from the disk."""
    in_memory: bool
    on_disk: bool
    made: str
    """When it was rendered (UTC); '' in virtual time."""


def listing(memory: Held[Key], disk: Mapping[Key, Stored], voice: Key) -> list[Entry]:
    """Return every entry of the *voice* of that key, in the order of texts."""
    held = {key: kept for key, kept in memory.items() if key[1:] == voice[1:]}
    entries = [
        Entry(
            key.text, kept.bytes, kept.hits, kept.origin, in_memory=True, on_disk=key in disk, made=kept.made
        )
        for key, kept in held.items()
    ]
    entries += [
        Entry(key.text, stored.size, 0, "disk", in_memory=False, on_disk=True, made=stored.made)
        for key, stored in disk.items()
        if key not in held and key[1:] == voice[1:]
    ]
    return sorted(entries, key=lambda entry: entry.text)
