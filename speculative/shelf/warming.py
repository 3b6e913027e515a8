"""How far a warm-up has come: what it has kept, and whether there is room for more."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from turnbudget.speculative.shelf.held import Key
    from turnbudget.speculative.shelf.store import Store, Stored


@dataclass(slots=True)
class WarmUp:
    """The likeliest come first, so nothing that it has kept makes room for what comes later."""

    keys: dict[Key, None] = field(default_factory=dict)
    overflowed: bool = False
    """Memory is full of it: more can only be on disk."""
    disk_bytes: int = 0

    def note(self, key: Key, stored: Stored | None, store: Store | None, *, held: bool) -> bool:
        """Note that *key* was kept, *held* in memory or *stored* on disk; say whether it is either."""
        self.overflowed = self.overflowed or not held
        if key not in self.keys:
            self.keys[key] = None
            self.disk_bytes += stored.size if stored else 0
        if held:
            return True
        room = (
            store is not None and self.disk_bytes <= store.most_bytes and len(self.keys) <= store.most_entries
        )
        return stored is not None and room

    def full(self, store: Store, size: int) -> bool:
        """Say whether *size* bytes more on the disk would push out what it has kept there."""
        return self.disk_bytes + size > store.most_bytes or len(self.keys) >= store.most_entries
