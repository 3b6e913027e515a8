"""One request on a simulated instance, from its arrival to its last token."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turnbudget.agents.backends.backend import BackendError, Message

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turnbudget.agents.backends.backend import Stopwatch

CUT: Final = "cut at max_tokens"
"""The flag of an answer that would have gone on."""


class Ride:
    """What the scheduler knows of a request, and what its consumer has been given of it."""

    __slots__ = (
        "admitted_us",
        "arrived_us",
        "cached",
        "cut",
        "ends_us",
        "first_us",
        "given",
        "gone",
        "last_us",
        "late",
        "made",
        "messages",
        "pieces",
        "reserved",
        "size",
        "taken",
        "to_prefill",
    )

    def __init__(
        self, messages: Sequence[Message], size: int, pieces: Sequence[str], arrived_us: int, ends_us: int
    ) -> None:
        """*size* is the prompt's tokens, *pieces* the answer's; an empty answer still takes one token."""
        self.messages = messages
        self.size = size
        self.pieces = pieces or ("",)
        self.arrived_us = arrived_us
        self.ends_us = ends_us
        self.reserved = 0
        self.cached = 0
        self.to_prefill = 0
        self.made = 0
        """Tokens computed."""
        self.given = 0
        """Tokens that have left the server."""
        self.taken = 0
        """Tokens that the consumer has read."""
        self.admitted_us: int | None = None
        self.first_us: int | None = None
        self.last_us: int | None = None
        self.gone = False
        """Its consumer left, or its time is over."""
        self.late = False
        self.cut = False
        """The answer is longer than was asked for."""

    @property
    def tokens(self) -> int:
        """How many tokens the answer has."""
        return len(self.pieces)

    @property
    def conversation(self) -> Sequence[Message]:
        """The prompt and its answer, as the next prompt will begin."""
        text = "".join(self.pieces)
        return (*self.messages, Message("assistant", text)) if text else self.messages

    @property
    def news(self) -> bool:
        """Whether there is something to tell the consumer."""
        return self.given > self.taken or self.late

    def take(self) -> str:
        """Return the text that has arrived since the last time; raises BackendError when time is up."""
        if self.given > self.taken:
            text = "".join(self.pieces[self.taken : self.given])
            self.taken = self.given
            return text
        if self.taken:
            raise BackendError("the answer did not end in time")
        raise BackendError("no first token in time")

    def describe(self, watch: Stopwatch) -> None:
        """Say where the server's time went, as a server does."""
        watch.know(tokens_in=self.size, tokens_out=self.taken)
        if self.cut and self.taken == self.tokens:
            watch.flag(CUT)
        if self.admitted_us is None:
            return
        watch.know(server_queue_us=self.admitted_us - self.arrived_us, tokens_cached=self.cached)
        if self.first_us is not None and self.last_us is not None:
            watch.know(
                server_prefill_us=self.first_us - self.admitted_us,
                server_decode_us=self.last_us - self.first_us,
            )
