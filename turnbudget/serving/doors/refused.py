"""A refusal: who is not let in, and why, in words that hold no credential."""

from __future__ import annotations

from typing import Final

BUSY: Final = 503
"""Who may come, but not now."""


class Refused(Exception):  # noqa: N818 - reads as what it is
    """Somebody is not let in; ``status`` is what HTTP says to it."""

    def __init__(self, why: str, status: int = 403) -> None:
        super().__init__(why)
        self.status = status
