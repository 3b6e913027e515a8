"""A connection: one carrier's socket, from its opening until it is closed, and the call that it carries.

It knows neither TCP nor WebSockets; a :class:`Wire` writes and closes. It knows no call either: a
:class:`Host` begins one and says what to tell of it. Until the far side has said who calls nothing is spent
on it, and who may not come in is closed before a call begins.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Protocol

from turnbudget.serving.doors.door import BUSY, Refused
from turnbudget.voice.lines.dialect import Dtmf, Hangup, Hold, Odd, Started
from turnbudget.voice.lines.telephone import KINDS, TelephoneLine

if TYPE_CHECKING:
    from turnbudget.serving.doors.door import Guest, PendingSockets
    from turnbudget.voice.lines.dialect import CallInfo, Dialect, Inbound, Message

log = logging.getLogger(__name__)


class Wire(Protocol):
    """The socket under a connection. Nothing here blocks."""

    def write(self, message: Message) -> None:
        """Write one message, in order and whole."""
        ...

    def close(self, refused: str = "") -> None:
        """Close behind what waits to be written; *refused* says why no call was taken, to who can show it."""
        ...

    def abort(self, why: str) -> None:
        """Close at once, whatever waits."""
        ...


class CarriedCall(Protocol):
    """The call that a connection carries, as far as the connection tells it anything."""

    def press(self, key: str) -> None:
        """Handle a key that the caller pressed."""
        ...

    def hold(self, *, on: bool) -> None:
        """Handle hold and unhold."""
        ...


class Host(Protocol):
    """Whoever takes the calls that connections carry: in the server the floor."""

    pending: PendingSockets
    """Where a connection waits until its call begins."""

    def begin(self, connection: Connection, info: CallInfo) -> CarriedCall:
        """Begin the call that *connection* carries, of which *info* is said; raises Refused."""
        ...

    def forget(self, guest: Guest) -> None:
        """Give up the place that is kept for *guest*: its call has begun or never will."""
        ...


class Connection:
    """One socket of one carrier; what it may do says its *guest*."""

    def __init__(self, dialect: Dialect, wire: Wire, host: Host, guest: Guest) -> None:
        self.dialect = dialect
        self.wire = wire
        self.guest = guest
        self.line = TelephoneLine(dialect, wire.write, self.told)
        self._host = host
        self._call: CarriedCall | None = None
        """The call, once it has been let in."""
        self._over = False
        self._odd: set[str] = set()
        host.pending.enter(self, self._drop)

    @property
    def kind(self) -> str:
        """The name of the carrier's protocol, as the dialect gives it."""
        return self.dialect.name

    def receive(self, message: Message) -> None:
        """Take one message, or one piece of the stream."""
        if not self._over:
            self.line.receive(message)

    def lost(self, why: str = "") -> None:
        """Handle the end of the socket; *why* says what made us close it, if we did."""
        if not self._over:
            self._over = True
            self.line.lost(why)
            self._leave()

    def finish(self, refused: str = "") -> None:
        """End the call at the far side, and close: we are done, or it was *refused*."""
        if not self._over:
            self._over = True
            self.line.hang_up()
            self.wire.close(refused)
            self._leave()

    def replace(self) -> None:
        """Close because another connection has taken the call over."""
        self._over = True
        self.wire.close()
        self._leave()

    def told(self, event: Inbound) -> None:
        """Take what the far side says beside audio."""
        match event:
            case Started():
                self._begin(event)
            case Odd(why, fatal):
                self._note(why, fatal=fatal)
            case Hangup(reason):
                log.debug("%s: hung up (%s)", self.kind, reason)
            case Dtmf(digit) if self._call:
                log.debug("%s: a key was pressed", self.kind)  # which one is the caller's secret
                self._call.press(digit)
            case Hold(on) if self._call:
                log.info("%s: %s", self.kind, "on hold" if on else "off hold")
                self._call.hold(on=on)
            case _:
                pass

    def _begin(self, started: Started) -> None:
        """Let the call in; give it back to a far side that may come, but not now, or close."""
        self._host.pending.leave(self)
        try:
            self._call = self._host.begin(self, started.info)
        except Refused as refused:
            if refused.status != BUSY:
                self._drop(str(refused))
                return
            log.warning("%s: given back, %s", self.kind, refused)
            self.finish(str(refused))

    def _drop(self, why: str) -> None:
        log.warning("%s: closed, %s", self.kind, why)
        self._over = True
        self.wire.abort(why)
        self.line.lost(why)
        self._leave()

    def _note(self, why: str, *, fatal: bool) -> None:
        """Log each kind of odd message once, and some of them only; close a stream that cannot be read."""
        if fatal:
            self._drop(why)
        elif why not in self._odd and len(self._odd) < KINDS:
            self._odd.add(why)
            log.info("%s: odd, %s", self.kind, why)

    def _leave(self) -> None:
        self._host.pending.leave(self)
        self._host.forget(self.guest)
