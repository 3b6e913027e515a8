"""A live call: somebody on a real line, measured and written down like a replay.

Nobody wrote down beforehand what the caller will say, so a turn's zero is the detector's last voiced sample
and there are no word errors. What is recorded can be replayed: ``turnbudget replay RUN``. A responder takes
part as far as it can: one that *learns* is told facts that come while the call runs, of one that *knows* it
is seen what the caller is asked for and what they have said.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, runtime_checkable

import msgspec

from turnbudget.redaction.redacted import Redaction
from turnbudget.runs.names import legible
from turnbudget.runs.recording import Recording, Written
from turnbudget.runs.records import CallRecord, LaneRow, versions
from turnbudget.runs.rows import row
from turnbudget.runs.summary import Header
from turnbudget.voice.asr.reference import Reference
from turnbudget.voice.call.call import Call
from turnbudget.voice.lines.line import Reports
from turnbudget.voice.time import clock
from turnbudget.voice.time.crew import Crew

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
    from pathlib import Path

    from turnbudget.agents.agent import Context
    from turnbudget.runs.folder import RunWriter
    from turnbudget.runs.records import Row
    from turnbudget.settings.compose import Studio
    from turnbudget.voice.call.parts import CallRow
    from turnbudget.voice.call.responder import Responder
    from turnbudget.voice.lines.line import Line

LOOK_US: Final = 100 * clock.MS
"""How often a follower is told how the caller's words read now (µs; 100 ms)."""
Facts: TypeAlias = "Callable[[], Awaitable[Mapping[str, str]]]"
"""Asks somebody who the caller is; it ends by itself, and soon."""
log = logging.getLogger(__name__)


@runtime_checkable
class Learns(Protocol):
    """A responder that can be told facts of its call at any time."""

    def know(self, facts: Mapping[str, str]) -> None:
        """Add *facts* to what is known of the call; those it began with stay as they are."""
        ...


@runtime_checkable
class Knows(Protocol):
    """A responder that tells what it knows by now."""

    @property
    def known(self) -> Context:
        """The slots that are filled by now, and the one that the caller was asked for."""
        ...


@dataclass(frozen=True, slots=True)
class CallPolicy:
    """How one call is recorded and redacted, and who is asked about its caller."""

    recording: Recording = field(default_factory=Recording)
    """Whether the caller consents to be recorded, and where the recording pauses."""
    redaction: Redaction = field(default_factory=Redaction)
    """What is taken out of everything that is written of the call."""
    facts: Facts | None = None
    """Asks who the caller is; ``None``: nobody is asked."""
    sensitive: Collection[str] = ()
    """Slots that are not recorded while they are asked for."""


class LiveCall:
    """One call on *line*; without a *writer* or a place for its *sound* nothing goes to disk."""

    def __init__(  # noqa: PLR0913 - whose call, with what, and who is told of it
        self,
        line: Line,
        studio: Studio,
        writer: RunWriter | None,
        *,
        name: str,
        told: Callable[[Row], None],
        partial: Callable[[str], None] | None = None,
        source: str = "live",
        half_duplex: bool = False,
        policy: CallPolicy | None = None,
        sound: Path | None = None,
        transfers: bool = False,
        parting_us: int = 0,
    ) -> None:
        """Prepare the call *name*; each row is *told*, and the caller's words so far are told *partial*.

        *half_duplex* is for a line that brings our own voice back, *transfers* for one that can send the
        caller on; *policy* says what is recorded, redacted and known beforehand. In the folder *sound* the
        recording alone is kept, as far as the disk goes along: who is told the rows writes them. Silence of
        *parting_us* behind our goodbye ends the call. Raises ConfigError where the studio's recogniser is a
        scripted one: it needs a transcript.
        """
        self._line = line
        self._budget_us = studio.budget_us
        self._name = name
        self._partial = partial
        self._source = source
        self._reference = Reference()
        self._policy = policy or CallPolicy()
        parts = studio.parts(line, self._reference, words=False)
        settings = replace(
            studio.call_settings, half_duplex=half_duplex, transfers=transfers, parting_us=parting_us
        )
        self._call = Call(parts, settings, self._entry, taped=writer is not None or sound is not None)
        self._responder = parts.responder
        self.recording = self._policy.recording
        """Whether there is consent; it can be paused while something is said that may not be kept."""
        self.recording.begin(self._call.epoch_us)
        self._written = Written(
            self._call, writer, name=name, told=told, recording=self.recording, sound=sound
        )

    @property
    def call(self) -> Call:
        """The call itself, to look at."""
        return self._call

    @property
    def slots(self) -> dict[str, str]:
        """What is known by now of what the caller wants, redacted; empty if the responder does not tell."""
        return self._policy.redaction.slots(slots(self._responder), self._policy.sensitive)

    async def run(self) -> CallRecord:
        """Take the call to its end and return its record; one that is cancelled is written as it came."""
        async with Crew() as crew:
            if self._partial:
                crew.create_task(self._follow(self._partial), name="partial text")
            if self._policy.facts:
                crew.create_task(learn(self._responder, self._policy.facts), name="facts")
            if self._policy.sensitive:
                minding = self.recording.mind(lambda: expected(self._responder), self._policy.sensitive)
                crew.create_task(minding, name="recording")
            await self._written.run()
        return self.record()

    def record(self) -> CallRecord:
        """Return what there is to say of the call, ended or broken off."""
        line = self._line if isinstance(self._line, Reports) else None
        notes = (*(line.notes() if line else ()), *self.recording.notes(), *self._written.notes)
        record = CallRecord(
            call=self._name,
            source=legible(self._source),
            length_us=self._written.length_us,
            turns=self._written.turns,
            audio=self._written.audio,
            ended=legible((line and line.ended) or self._call.ended or "broken off"),
            notes=tuple(map(legible, notes)),
        )
        return self._policy.redaction.record(record)

    async def _follow(self, partial: Callable[[str], None]) -> None:
        """Tell *partial* how the utterance reads that the caller is in, '' when it is over."""
        last = ""
        while True:
            await clock.sleep(LOOK_US)
            stretch = self._call.ear.stretch
            text = stretch.text if stretch else ""
            if text != last:
                partial(text)
                last = text

    def _entry(self, entry: CallRow) -> None:
        """Take a turn's account as it ends."""
        new = row(
            self._name,
            entry,
            call_epoch_us=self._call.epoch_us,
            media_epoch_us=self._call.ear.epoch_us,
            reference=self._reference,
            has_words=False,
            budget_us=self._budget_us,
        )
        said = entry.utterance
        clean = self._policy.redaction.row(
            new,
            keys=said.keys if said else (),
            hidden=self.recording.over(new.speech_began_call_us, new.speech_ended_call_us),
        )
        self._written.add(msgspec.structs.replace(clean, lanes=(*new.lanes, *self._under_way(new))))

    def _under_way(self, turn: Row) -> Sequence[LaneRow]:
        """Return where in *turn* its sound was under way outside us, if the line knows."""
        lag = self._line.lag if isinstance(self._line, Reports) else None
        if lag is None:
            return ()
        spans = [("in", 0, lag.into_us)] if turn.kind == "turn" else []
        if turn.first_sound_us is not None:
            spans.append(("out", turn.first_sound_us - lag.out_us, turn.first_sound_us))
        return [
            LaneRow(name=f"{lag.carrier} {way}", began_us=began, ended_us=ended, outcome="measured")
            for way, began, ended in spans
        ]


def live_header(  # noqa: PLR0913 - what a run knows of itself
    studio: Studio,
    calls: Sequence[CallRecord],
    *,
    name: str,
    began: str | None,
    faults: Sequence[str] = (),
    truncated: bool = False,
) -> Header:
    """Return the header of a run of live *calls* with the engines of *studio*; on the running clock."""
    return Header(
        name=legible(name),
        clock=clock.kind(),
        pacing="live",
        began=began,
        seed=0,
        versions=versions("sounddevice", "pywebrtc-audio"),
        engines=studio.engines,
        budget_us=studio.budget_us,
        speculation=studio.config.speculates,
        calls=tuple(calls),
        usd=studio.answering.usd(),
        faults=tuple(map(legible, faults)),
        truncated=truncated,
    )


def expected(responder: Responder) -> str:
    """Return which slot *responder* has asked the caller for; '' if none, or if it does not tell."""
    return responder.known.expects if isinstance(responder, Knows) else ""


def slots(responder: Responder) -> dict[str, str]:
    """Return what *responder* knows of what the caller wants; nothing if it does not tell."""
    return dict(responder.known.slots) if isinstance(responder, Knows) else {}


async def learn(responder: Responder, facts: Facts) -> None:
    """Let *responder* know *facts*, as soon as they are there; if they fail it knows nothing more."""
    if not isinstance(responder, Learns):
        return
    try:
        found = await facts()
    except Exception:
        log.exception("the facts of a call failed")
    else:
        responder.know(found)
