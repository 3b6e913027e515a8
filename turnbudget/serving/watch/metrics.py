"""What is counted of a floor of calls, for Prometheus: in a registry of our own, its labels bounded.

No label holds what a caller or a carrier said: tenants are those of the settings, lines and reasons those
that are known here, and whatever else comes is ``other``. The share of turns in time is
``rate(turnbudget_turns_in_time_total[5m]) / rate(turnbudget_turns_total{kind="turn"}[5m])``, summed alike.
"""

from __future__ import annotations

from collections import Counter as PyCounter
from typing import TYPE_CHECKING, Final, get_args

from aiohttp import web
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.exposition import choose_encoder

from turnbudget.runs.records import verdicts
from turnbudget.runs.summary import STAGES, superseded_early
from turnbudget.serving.ending import reason
from turnbudget.serving.events import CallBegan, CallEnded, CallShed, TurnEnded
from turnbudget.voice.call.ledger import OwnerKind
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from turnbudget.runs.records import CriticalRow, EntryRow, Row
    from turnbudget.serving.events import FloorEvent

OTHER: Final = "other"
"""The label of what has none of its own."""
KINDS: Final = get_args(OwnerKind)
"""Kinds of owner that have a label of their own."""
MOST_LINES: Final = 16
"""Kinds of line that have a label of their own."""
STAGE_S: Final = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8, 1.2, 2, 5, 10)
"""Edges of the histogram of stages (seconds)."""
SOUND_S: Final = (0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.5, 2, 3, 5, 10)
"""Edges of the histogram of first sounds (seconds): one where people answer, one at the usual budget."""
CALL_S: Final = (5, 15, 30, 60, 120, 180, 300, 600, 1_200, 3_600)
"""Edges of the histogram of calls' lengths (seconds)."""
LATE_TEXT: Final = "partial text"
"""The decision by which a turn went on with part of its text."""
NO_FAULT: Final = "the call ended first"
"""The reason of that decision which is no fault of a recogniser."""


class Metrics:
    """A watcher, and where Prometheus reads what it has counted."""

    def __init__(self, known: Callable[[str], bool], lag_us: Callable[[], int] = lambda: 0) -> None:
        """Count for tenants that are *known* from the settings; *lag_us* tells how late the loop is."""
        self._known = known
        self.registry = CollectorRegistry()
        self._lag_us = lag_us
        self._lines: set[str] = set()
        self._running: dict[str, tuple[str, str]] = {}
        self._make_turns()
        self._make_calls()
        ProcessCollector(registry=self.registry)

    def _make_turns(self) -> None:
        here = self.registry
        self._turns = Counter(
            "turnbudget_turns",
            "Turns by what became of them; kind 'turn' is a caller's.",
            ("tenant", "kind", "outcome"),
            registry=here,
        )
        self._in_time = Counter(
            "turnbudget_turns_in_time", "Caller turns with a sound in the budget.", ("tenant",), registry=here
        )
        self._answered = Counter(
            "turnbudget_turns_answered_in_time", "Those with an answer in it.", ("tenant",), registry=here
        )
        self._over = Counter(
            "turnbudget_turns_over_budget",
            "Caller turns without a sound in time that were owed one, by their costliest stage.",
            ("tenant", "stage", "owner_kind"),
            registry=here,
        )
        self._hits = Counter(
            "turnbudget_hits", "Answers from the shelf, counted as their call ends.", registry=here
        )
        self._wrong = Counter("turnbudget_wrong_hits", "Of these, those that were wrong.", registry=here)
        self._failures = Counter(
            "turnbudget_component_failures",
            "Turns in which asr gave no final text, or tts or an attempt of an llm failed.",
            ("component",),
            registry=here,
        )
        self._stage = Histogram(
            "turnbudget_stage_seconds",
            "What a stage cost a caller turn.",
            ("stage",),
            registry=here,
            buckets=STAGE_S,
        )
        self._sound = Histogram(
            "turnbudget_first_sound_seconds",
            "From the caller's last voiced sample to our sound, of turns that had one.",
            registry=here,
            buckets=SOUND_S,
        )
        self._answer = Histogram(
            "turnbudget_first_answer_seconds",
            "From the caller's last voiced sample to the sound of our answer, of turns that had one.",
            registry=here,
            buckets=SOUND_S,
        )

    def _make_calls(self) -> None:
        here = self.registry
        self._now = Gauge("turnbudget_calls_running", "Calls under way.", ("line", "tenant"), registry=here)
        self._calls = Counter("turnbudget_calls", "Calls that were taken.", ("line", "tenant"), registry=here)
        self._ended = Counter(
            "turnbudget_calls_ended", "Calls that are over, by why.", ("tenant", "reason"), registry=here
        )
        self._length = Histogram(
            "turnbudget_call_seconds", "How long calls last.", registry=here, buckets=CALL_S
        )
        self._shed = Counter(
            "turnbudget_shed",
            "Calls refused before they were answered, or degraded.",
            ("line", "tenant", "reason", "degraded"),
            registry=here,
        )
        self._lag = Gauge(
            "turnbudget_loop_lag_seconds", "How late the event loop is, p95 of ten seconds.", registry=here
        )

    def __call__(self, event: FloorEvent) -> None:
        """Count *event*."""
        match event:
            case TurnEnded(_, tenant, row):
                self._turn(self._tenant(tenant), row)
            case CallBegan(call, tenant, line):
                labels = self._line(line), self._tenant(tenant)
                self._running[call] = labels
                self._now.labels(*labels).inc()
                self._calls.labels(*labels).inc()
            case CallEnded():
                self._call_ended(event)
            case CallShed(tenant, line, rule, _, degraded):
                said = "yes" if degraded else "no"
                self._shed.labels(self._line(line), self._tenant(tenant), rule, said).inc()

    def exposition(self, accept: str = "") -> tuple[bytes, str]:
        """Return what was counted in the format that *accept* prefers, and what that is called; may block."""
        encode, content_type = choose_encoder(accept)
        return encode(self.registry), content_type

    def routes(self, check: Callable[[web.Request], None]) -> list[web.RouteDef]:
        """Return where Prometheus asks; *check* refuses whoever may not."""

        async def scrape(request: web.Request) -> web.Response:
            check(request)
            self._lag.set(self._lag_us() / clock.SECOND)
            accept = request.headers.get("Accept", "")
            body, content_type = await clock.offload(self.exposition, accept)
            return web.Response(
                body=body, headers={"Content-Type": content_type, "Cache-Control": "no-store"}
            )

        return [web.get("/metrics", scrape)]

    def _turn(self, tenant: str, row: Row) -> None:
        self._turns.labels(tenant, row.kind, row.outcome).inc()
        for component in failures(row):
            self._failures.labels(component).inc()
        if row.kind != "turn":
            return
        if row.in_time:
            self._in_time.labels(tenant).inc()
        elif not superseded_early(row):
            stage, kind = (row.critical.stage, _owner_kind(row)) if row.critical else (OTHER, OTHER)
            self._over.labels(tenant, _stage(stage), kind).inc()
        if row.answered_in_time:
            self._answered.labels(tenant).inc()
        costs: PyCounter[str] = PyCounter()
        for entry in row.entries:
            costs[_stage(entry.stage)] += entry.us
        for stage, us in costs.items():
            self._stage.labels(stage).observe(us / clock.SECOND)
        for histogram, us_or_none in ((self._sound, row.first_sound_us), (self._answer, row.first_answer_us)):
            if us_or_none is not None:
                histogram.observe(us_or_none / clock.SECOND)

    def _call_ended(self, ended: CallEnded) -> None:
        labels = self._running.pop(ended.call, None)
        if labels:
            self._now.labels(*labels).dec()
        self._ended.labels(self._tenant(ended.tenant), reason(ended.record.ended, ended.transfer)).inc()
        self._length.observe(ended.record.length_us / clock.SECOND)
        found = [verdict for verdict in verdicts(ended.rows) if verdict is not None]
        self._hits.inc(len(found))
        self._wrong.inc(sum(map(bool, found)))

    def _tenant(self, name: str) -> str:
        return name if self._known(name) else OTHER

    def _line(self, name: str) -> str:
        if name not in self._lines and len(self._lines) < MOST_LINES:
            self._lines.add(name)
        return name if name in self._lines else OTHER


def _stage(name: str) -> str:
    return name if name in STAGES else OTHER


def _owner_kind(row: Row) -> str:
    """Return whose the costliest stage of *row* was, of the kinds there are."""
    told = ((entry.owner_kind, entry) for entry in row.entries)
    kinds = [kind for kind, entry in told if row.critical and _is(entry, row.critical)]
    return kinds[0] if kinds and kinds[0] in KINDS else OTHER


def _is(entry: EntryRow, critical: CriticalRow) -> bool:
    return (entry.stage, entry.owner, entry.us) == (critical.stage, critical.owner, critical.us)


def failures(row: Row) -> Iterator[str]:
    """Yield which components failed in *row*, each once: its text, its sound, an attempt of its LLM."""
    if any(told.took == LATE_TEXT and told.because != NO_FAULT for told in row.decisions):
        yield "asr"
    if any(entry.stage == "synthesize" and entry.outcome == "failed" for entry in row.entries):
        yield "tts"
    if any(lane.name.startswith("llm:") and lane.outcome == "failed" for lane in row.lanes):
        yield "llm"
