"""What a question, an opinion and a status look like on the wire: versioned JSON, and nothing else.

Pure: bytes in, values out. Sizes are checked before sending, because a broker that finds a packet too big
closes the whole connection, every other question's with it. Unknown fields are ignored, so that a newer
peer can say more; an unknown version is refused.

Of a context only the seat's *own* state travels: the other agents' is none of its business, and need not be
JSON. An opinion's ``rest`` is a generator and does not travel: a served agent's whole text is its opening.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeVar

import msgspec

from turnbudget.agents.agent import Action, Context, Opinion
from turnbudget.voice.call.responder import Completeness, Said
from turnbudget.voice.errors import ComponentError

VERSION: Final = 2
"""The version of these rules; a peer of another is refused."""
LIMIT_BYTES: Final = 64 * 1024
"""The largest message (bytes): half of what large public brokers allow a packet (128 KiB)."""

Kind = Literal["opinion", "none", "busy", "late", "failed"]
S = TypeVar("S", bound="Versioned")


class WireError(ComponentError):
    """Bytes that are no message of ours, or a value that cannot be one."""


class HistoryLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """One side's words in the history."""

    who: str
    text: str
    cut: bool = False


class Versioned(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A message, and the version of these rules that it follows."""

    v: int


class Ask(Versioned, frozen=True, omit_defaults=True, kw_only=True):
    """A question: *left_us* is the time left for it when it was *sent_us* on the clock of *asker*."""

    seat: str
    asker: str
    sent_us: int
    left_us: int
    utterance: str
    history: tuple[HistoryLine, ...] = ()
    slots: dict[str, str] = {}
    state: Any = None
    asked_by: str = ""
    expects: str = ""
    facts: dict[str, str] = {}

    def context(self, name: str) -> Context:
        """Return the context as an agent called *name* knows it."""
        return Context(
            history=tuple(Said(said.who, said.text, said.cut) for said in self.history),
            slots=self.slots,
            states={} if self.state is None else {name: self.state},
            asked_by=name if self.asked_by == self.seat else self.asked_by,
            expects=self.expects,
            facts=self.facts,
        )


class Proposed(msgspec.Struct, frozen=True, omit_defaults=True):
    """An action proposed."""

    name: str
    arguments: dict[str, str] = {}
    otherwise: str = Action("").otherwise
    meanwhile: str = ""

    def action(self) -> Action:
        """Return it as an action."""
        return Action(self.name, self.arguments, self.otherwise, self.meanwhile)


class Answer(Versioned, frozen=True, omit_defaults=True, kw_only=True):
    """What came of a question: an opinion, or why there is none."""

    kind: Kind
    opening: str = ""
    confidence: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.0
    because: str = ""
    action: Proposed | None = None
    state: Any = None
    slots: dict[str, str] = {}
    expects: str = ""
    completeness: Completeness = "unknown"
    ends_call: bool = False
    transfer: str = ""

    def opinion(self) -> Opinion:
        """Return it as an opinion."""
        return Opinion(
            self.opening,
            self.confidence,
            self.because,
            action=self.action.action() if self.action else None,
            state=self.state,
            slots=self.slots,
            expects=self.expects,
            completeness=self.completeness,
            ends_call=self.ends_call,
            transfer=self.transfer,
        )


class Status(Versioned, frozen=True, omit_defaults=True, kw_only=True):
    """Whether a worker serves; of two statuses the one of the later (*started*, *session*) counts."""

    online: bool
    started: str = ""
    session: int = 0
    beat_us: int = 0


_DECODERS: Final[dict[type[Versioned], msgspec.json.Decoder[Any]]] = {
    kind: msgspec.json.Decoder(kind) for kind in (Ask, Answer, Status)
}


def ask(  # noqa: PLR0913 - a message's fields, each by its name
    seat: str, utterance: str, context: Context, *, asker: str, sent_us: int, left_us: int
) -> bytes:
    """Return a question to *seat*; raises WireError if it is too big or cannot be JSON."""
    return _encode(
        Ask(
            v=VERSION,
            seat=seat,
            asker=asker,
            sent_us=sent_us,
            left_us=left_us,
            utterance=utterance,
            history=tuple(HistoryLine(said.who, said.text, said.cut) for said in context.history),
            slots=dict(context.slots),
            state=context.states.get(seat),
            asked_by=context.asked_by,
            expects=context.expects,
            facts=dict(context.facts),
        )
    )


def _proposed(action: Action) -> Proposed:
    return Proposed(action.name, dict(action.arguments), action.otherwise, action.meanwhile)


def answer(opinion: Opinion | None, rest: str = "") -> bytes:
    """Return *opinion* with its whole *rest*; raises WireError if it is too big or cannot be JSON."""
    if opinion is None:
        return refusal("none")
    if not isinstance(opinion, Opinion):
        raise WireError(f"{type(opinion).__name__} is no opinion")
    return _encode(
        Answer(
            v=VERSION,
            kind="opinion",
            opening=f"{opinion.opening} {rest.strip()}" if rest.strip() else opinion.opening,
            confidence=opinion.confidence,
            because=opinion.because,
            action=_proposed(opinion.action) if opinion.action else None,
            state=opinion.state,
            slots=dict(opinion.slots),
            expects=opinion.expects,
            completeness=opinion.completeness,
            ends_call=opinion.ends_call,
            transfer=opinion.transfer,
        )
    )


def refusal(kind: Kind, because: str = "") -> bytes:
    """Return an answer that holds no opinion."""
    return _encode(Answer(v=VERSION, kind=kind, because=because))


def status(*, online: bool, started: str, session: int, beat_us: int) -> bytes:
    """Return a worker's status."""
    return _encode(Status(v=VERSION, online=online, started=started, session=session, beat_us=beat_us))


def read_ask(payload: bytes) -> Ask:
    """Return the question in *payload*; raises WireError."""
    return _decode(payload, Ask)


def read_answer(payload: bytes) -> Answer:
    """Return the answer in *payload*; raises WireError."""
    return _decode(payload, Answer)


def read_status(payload: bytes) -> Status:
    """Return the status in *payload*; raises WireError."""
    return _decode(payload, Status)


def _encode(value: Versioned) -> bytes:
    try:
        payload = msgspec.json.encode(value)
        # What the other side would refuse is found on this one: a slot that is no text, a number for a name.
        _DECODERS[type(value)].decode(payload)
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError) as error:
        raise WireError(
            f"it cannot be sent as JSON ({error})", remedy="keep states and slots plain"
        ) from None
    if len(payload) > LIMIT_BYTES:
        raise WireError(f"{len(payload)} bytes are more than the {LIMIT_BYTES} that may be sent")
    return payload


def _decode(payload: bytes, kind: type[S]) -> S:
    if len(payload) > LIMIT_BYTES:
        raise WireError(f"{len(payload)} bytes are more than {LIMIT_BYTES}")
    try:
        found: S = _DECODERS[kind].decode(payload)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise WireError(f"no {kind.__name__.lower()}: {error}") from None
    if found.v != VERSION:
        raise WireError(f"version {found.v}, and this is version {VERSION}")
    return found
