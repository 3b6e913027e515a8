"""The board: the calls that run, each with its last turn, how the latest turns went, and the page for it.

It is a watcher and holds no more than fits a screen. Everything that changes bears the number of its change,
so whoever looks is sent, four times a second as Server-Sent Events, what is new since they were last sent
something. Nobody who looks costs a call anything: they are few, and who does not read is left.
"""

from __future__ import annotations

import contextlib
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import msgspec
from aiohttp import web

from turnbudget.pages import headers, policy, read
from turnbudget.runs.summary import spread, superseded_early
from turnbudget.serving.doors.door import Refused
from turnbudget.serving.ending import reason
from turnbudget.serving.events import CallBegan, CallEnded, CallShed, TurnEnded, shown
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from collections.abc import Callable

    from turnbudget.runs.records import Row
    from turnbudget.serving.events import FloorEvent

WINDOW: Final = 500
"""Latest caller turns that percentiles and shares are reckoned of."""
TRACK: Final = 24
"""Turns of a call that are drawn as a line of dots."""
MOST_CALLS: Final = 400
"""Calls on the board at a time; more are counted and not shown."""
KEPT: Final = 12
"""Calls that stay on the board when they are over: the last ones."""
LATEST: Final = 8
"""Late turns, and reasons for them, that are listed."""
Facts = dict[str, Any]
"""What goes to the page as JSON."""
PAGE: Final = "board.html"
"""The board's page."""
MOST: Final = 16
"""Pages that may look at a time."""
TICK_US: Final = 250 * clock.MS
"""How often a page is sent what is new (µs; 250 ms)."""
BEAT_US: Final = 5 * clock.SECOND
"""How often something is sent though nothing has happened, so that the page knows we are there (µs; 5 s)."""
STALL_US: Final = 10 * clock.SECOND
"""How long a page may not read before it is left (µs; 10 s)."""
AGAIN_MS: Final = 1_000
"""How long a page that has lost us waits before it asks again (ms)."""


@dataclass(slots=True, eq=False, kw_only=True)
class _Call:
    """A call on the board."""

    name: str
    tenant: str
    line: str
    began_us: int
    changed: int
    turns: int = 0
    in_time: int = 0
    ended: str = ""
    ended_us: int = 0
    last: Facts | None = None
    track: deque[tuple[int | None, bool]] = field(default_factory=lambda: deque(maxlen=TRACK))
    """First sounds of the latest turns, and whether they were in time."""

    def card(self) -> Facts:
        return {
            "call": self.name,
            "tenant": self.tenant,
            "line": self.line,
            "age_us": (self.ended_us or clock.now()) - self.began_us,
            "turns": self.turns,
            "in_time": self.in_time,
            "ended": self.ended,
            "last": self.last,
            "track": list(self.track),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Turn:
    """A caller turn of the latest."""

    call: str
    number: int
    outcome: str
    first_sound_us: int | None
    took_us: int
    in_time: bool
    late: bool
    stage: str
    owner: str
    cost_us: int


class Board:
    """A watcher; ``changes`` grows with everything that happens."""

    def __init__(self, *, texts: bool = False) -> None:
        """Show *texts*, redacted, or none."""
        self.changes = 0
        self._texts = texts
        self._calls: dict[str, _Call] = {}
        self._over: deque[str] = deque()
        self._turns: deque[_Turn] = deque(maxlen=WINDOW)
        self._counts: Counter[str] = Counter()
        self._floor: tuple[int, Facts] = -1, {}

    def __call__(self, event: FloorEvent) -> None:
        """Take *event* up."""
        self.changes += 1
        match event:
            case CallBegan(call, tenant, line, _, at_us):
                self._counts["taken"] += 1
                if len(self._calls) < MOST_CALLS:
                    self._calls[call] = _Call(
                        name=call, tenant=tenant, line=line, began_us=at_us, changed=self.changes
                    )
            case TurnEnded(call, _, row) if row.kind == "turn":
                self._turn(call, row)
            case CallEnded(call, _, record, transfer=transfer):
                self._counts["ended"] += 1
                if call in self._calls:
                    self._end(self._calls[call], reason(record.ended, transfer))
            case CallShed(degraded=degraded):
                self._counts["degraded" if degraded else "refused"] += 1
            case _:
                """What we say unasked is in no number."""

    def news(self, seen: int = -1) -> Facts:
        """Return what has changed since the change *seen*."""
        calls = self._calls.values()
        return {
            "changes": self.changes,
            "floor": self._numbers(),
            "calls": [call.name for call in calls],
            "cards": [call.card() for call in calls if call.changed > seen],
        }

    def _turn(self, name: str, row: Row) -> None:
        late = not row.in_time and not superseded_early(row)
        critical = row.critical
        self._counts["turns"] += 1
        self._counts["in_time"] += row.in_time
        took = row.closed_us if row.first_sound_us is None else row.first_sound_us
        stage, owner, cost = (critical.stage, critical.owner, critical.us) if critical else ("", "", 0)
        self._turns.append(
            _Turn(
                call=name,
                number=row.turn,
                outcome=row.outcome,
                first_sound_us=row.first_sound_us,
                took_us=took,
                in_time=row.in_time,
                late=late,
                stage=stage,
                owner=owner,
                cost_us=cost,
            )
        )
        if call := self._calls.get(name):
            call.changed = self.changes
            call.turns += 1
            call.in_time += row.in_time
            call.track.append((row.first_sound_us, late))
            call.last = _waterfall(shown(row, texts=self._texts)) | {"late": late}

    def _end(self, call: _Call, why: str) -> None:
        call.ended, call.ended_us, call.changed = why, clock.now(), self.changes
        self._over.append(call.name)
        if len(self._over) > KEPT:
            del self._calls[self._over.popleft()]

    def _numbers(self) -> Facts:
        """Return the floor in numbers; reckoned once a change, whoever looks."""
        if self._floor[0] != self.changes:
            self._floor = self.changes, self._reckon()
        return self._floor[1]

    def _reckon(self) -> Facts:
        turns = list(self._turns)
        late = [turn for turn in turns if turn.late]
        sounds = spread(turn.first_sound_us for turn in turns)
        return {
            **{name: self._counts[name] for name in ("taken", "turns", "in_time", "refused", "degraded")},
            "running": self._counts["taken"] - self._counts["ended"],
            "window": len(turns),
            "window_in_time": sum(turn.in_time for turn in turns),
            "p50_us": sounds.p50_us,
            "p95_us": sounds.p95_us,
            "sounds": sounds.n,
            "why": _why(late),
            "late": [
                {
                    "call": turn.call,
                    "turn": turn.number,
                    "outcome": turn.outcome,
                    "sound_us": turn.first_sound_us,
                    "took_us": turn.took_us,
                    "stage": turn.stage,
                    "owner": turn.owner,
                    "cost_us": turn.cost_us,
                }
                for turn in late[: -LATEST - 1 : -1]
            ],
        }


class BoardServer:
    """Shows a *board*; *check* refuses whoever may not look, *state* adds how the worker is."""

    def __init__(
        self, board: Board, check: Callable[[web.Request], None], state: Callable[[], dict[str, Any]]
    ) -> None:
        self._board = board
        self._check = check
        self._state = state
        self._viewers = 0
        self._closing = False

    def routes(self) -> list[web.RouteDef]:
        """Return the routes of the board's page and of its news."""
        return [web.get("/board", self._page), web.get("/board/events", self._events)]

    def close(self) -> None:
        """Send nobody away, but end what they are sent: the server is closing."""
        self._closing = True

    async def _page(self, request: web.Request) -> web.Response:
        try:
            self._check(request)
        except Refused:
            return web.Response(status=303, headers={"Location": "/login", "Cache-Control": "no-store"})
        text = read(PAGE)
        policed = headers(policy(text, connects=True, forms=True))
        return web.Response(text=text, content_type="text/html", headers=policed)

    async def _events(self, request: web.Request) -> web.StreamResponse:
        self._check(request)
        if self._viewers >= MOST:
            raise Refused(f"{MOST} pages look at the board already", 503)
        response = web.StreamResponse(
            headers={
                "Content-Type": "text/event-stream",
                "Cache-Control": "no-store",
                "X-Accel-Buffering": "no",
                "X-Content-Type-Options": "nosniff",
            }
        )
        self._viewers += 1
        try:
            with contextlib.suppress(ConnectionError):
                await response.prepare(request)
                await self._show(response, request)
        finally:
            self._viewers -= 1
        return response

    async def _show(self, response: web.StreamResponse, request: web.Request) -> None:
        """Send what is new until the page has gone, does not read, or may look no longer."""
        seen, told_us = -1, 0
        await response.write(f"retry: {AGAIN_MS}\n\n".encode())
        while not self._closing:
            now = clock.now()
            if self._board.changes != seen or now - told_us >= BEAT_US:
                changes, news = self._board.changes, self._board.news(seen) | {"state": self._state()}
                seen, told_us = changes, now
                async with clock.move_on_at(now + STALL_US) as scope:
                    await response.write(b"data: " + msgspec.json.encode(news) + b"\n\n")
                if scope.expired():
                    return
                self._check(request)
            await clock.sleep(TICK_US)


def _why(late: list[_Turn]) -> list[Facts]:
    """Return what late turns waited for most, the commonest first."""
    costs: dict[tuple[str, str], list[int]] = {}
    for turn in late:
        costs.setdefault((turn.stage, turn.owner), []).append(turn.cost_us)
    ranked = sorted(costs.items(), key=lambda item: (-len(item[1]), item[0]))
    return [
        {"stage": stage, "owner": owner, "turns": len(us), "most_us": max(us)}
        for (stage, owner), us in ranked[:LATEST]
    ]


def _waterfall(row: Row) -> Facts:
    return {
        "turn": row.turn,
        "outcome": row.outcome,
        "budget_us": row.budget_us,
        "sound_us": row.first_sound_us,
        "answer_us": row.first_answer_us,
        "closed_us": row.closed_us,
        "entries": [[entry.stage, entry.us, entry.owner, entry.owner_kind] for entry in row.entries],
        "critical": [row.critical.stage, row.critical.owner, row.critical.us] if row.critical else None,
        "decisions": [[decision.at_us, decision.took, decision.because] for decision in row.decisions],
        "heard": row.heard,
        "said": row.said,
    }
