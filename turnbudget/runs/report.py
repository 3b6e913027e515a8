"""A run drawn: as a page to read, and as a trace. The same run gives the same bytes.

The page is one file that needs no network, and that no caller's words can break out of: the template
``report.html`` with the run embedded as JSON, which draws itself with text nodes only.

The trace is what Perfetto and chrome://tracing draw, on the clock of each call. One process a call. Its
threads are ``caller``, ``agent``, ``turns``, ``stages``, ``decisions``, ``foreseen`` (the replies held likely
while the caller spoke) and the lanes, head starts among them. Events of one thread may nest but never overlap
half-way, so work that does overlap gets a second thread of its name. Source: "Trace Event Format", the
Chromium project.
"""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any, Final

import msgspec

from turnbudget.pages import read
from turnbudget.runs.readings import columns
from turnbudget.runs.records import told, verdicts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from turnbudget.runs.records import Comparison, Row, Summary


TEMPLATE: Final = "report.html"
"""Name of the template of the page."""
TITLE: Final = "{{title}}"
"""Where the run's name stands in the template."""
RUN: Final = "{{run}}"
"""Where the run stands in the template (JSON)."""

_ESCAPES: Final = str.maketrans(
    {
        "<": "\\u003c",
        ">": "\\u003e",
        "&": "\\u0026",
        "\u2028": "\\u2028",
        "\u2029": "\\u2029",
    }
)
"""Characters that could end a script element, or a line of script, inside a JSON string."""


def page(summary: Summary, rows: Sequence[Row], comparison: Comparison | None = None) -> bytes:
    """Return the report of a run as a complete HTML page, with a *comparison* that it is one side of."""
    head, _, tail = read(TEMPLATE).partition(RUN)
    run = embed(
        {
            "summary": summary,
            "rows": rows,
            "verdicts": [
                {"told": told(row, verdict), "wrong": bool(verdict)}
                for row, verdict in zip(rows, verdicts(rows), strict=True)
            ],
            "comparison": comparison and columns(comparison),
        }
    )
    return "".join((head.replace(TITLE, html.escape(summary.name)), run, tail)).encode()


def embed(value: object) -> str:
    """Return *value* as JSON that is safe inside an HTML script element."""
    return msgspec.json.encode(value).decode().translate(_ESCAPES)


Event = dict[str, Any]
LONGEST: Final = 60
"""Characters of a text in an event's name; the whole of it is in its arguments."""
ORDER: Final = ("caller", "agent", "turns", "stages", "decisions", "foreseen")
"""The threads in the order they are drawn; lanes come after them."""
ELSEWHERE: Final = frozenset(("entries", "lanes", "decisions", "guesses"))
"""What of a row is drawn for itself, and so no fact of its turn."""
START: Final = "head start"
"""The lane of a head start; its guess is the one at the same place among the row's."""


def trace(summary: Summary, rows: Sequence[Row]) -> bytes:
    """Return the run as trace-event JSON; the same rows give the same bytes."""
    events = [
        event
        for number, (call, of_call) in enumerate(_calls(rows), 1)
        for event in _process(number, call, of_call)
    ]
    document = {
        "traceEvents": events,
        "displayTimeUnit": "ms",
        "otherData": {"name": summary.name, "clock": summary.clock, "schema": summary.schema},
    }
    return msgspec.json.encode(document) + b"\n"


def _calls(rows: Iterable[Row]) -> list[tuple[str, list[Row]]]:
    calls: dict[str, list[Row]] = {}
    for row in rows:
        calls.setdefault(row.call, []).append(row)
    return list(calls.items())


def _process(pid: int, call: str, rows: Sequence[Row]) -> Iterator[Event]:
    """Yield one call: its name, then its threads one after another, each in the order of time."""
    yield _named("process_name", pid, 0, call)
    threads: dict[str, list[Event]] = {name: [] for name in ORDER}
    for row in rows:
        for name, event in _events(row):
            threads.setdefault(name, []).append(event)
    tid = 0
    for name, events in threads.items():
        for track, of_track in enumerate(_tracks(events), 1):
            tid += 1
            yield _named("thread_name", pid, tid, name if track == 1 else f"{name} ({track})")
            yield {
                "ph": "M",
                "name": "thread_sort_index",
                "pid": pid,
                "tid": tid,
                "args": {"sort_index": tid},
            }
            for event in of_track:
                yield {**event, "pid": pid, "tid": tid}


def _events(row: Row) -> Iterator[tuple[str, Event]]:
    """Yield what happened in one turn: the name of a thread, and an event on it."""
    zero = row.speech_ended_call_us
    label = f"{row.kind} {row.turn}: {row.outcome}"
    if row.kind == "turn":
        said = {"heard": row.heard, "reference": row.reference, "speech_ended_by": row.speech_ended_by}
        yield "caller", _span(_short(row.heard) or "(no words)", row.speech_began_call_us, zero, said)
    yield "turns", _span(label, zero, zero + row.closed_us, _facts(row))
    at = zero
    for entry in row.entries:
        yield "stages", _span(entry.stage, at, at + entry.us, msgspec.to_builtins(entry))
        at += entry.us
    for decision in row.decisions:
        yield (
            "decisions",
            _instant(f"took {decision.took}", zero + decision.at_us, msgspec.to_builtins(decision)),
        )
    if row.first_sound_us is not None:
        yield (
            "agent",
            _instant(f"first sound: {_short(row.said)}", zero + row.first_sound_us, {"said": row.said}),
        )
    if row.first_answer_us is not None and row.first_answer_us != row.first_sound_us:
        yield "agent", _instant("first answer", zero + row.first_answer_us, {"said": row.said})
    yield from _foreseen(row)
    starts = iter([guess for guess in row.guesses if guess.outcome in {"kept", "dropped"}])
    for lane in row.lanes:
        facts = {"turn": row.turn, **msgspec.to_builtins(lane)}
        if lane.name == START and (guess := next(starts, None)):
            facts["guess"] = msgspec.to_builtins(guess)
        yield (
            f"lane {lane.name}",
            _span(f"{lane.name}: {lane.outcome}", zero + lane.began_us, zero + lane.ended_us, facts),
        )


def _foreseen(row: Row) -> Iterator[tuple[str, Event]]:
    """Yield the replies that were held likely before the caller's last word, as one event."""
    guesses = [guess for guess in row.guesses if guess.outcome in {"said", "not said"}]
    if guesses:
        said = next(
            (f"said: {_short(guess.text)}" for guess in guesses if guess.outcome == "said"), "none said"
        )
        facts = {"turn": row.turn, "guesses": msgspec.to_builtins(guesses)}
        event = _span(
            f"{len(guesses)} foreseen, {said}", row.speech_began_call_us, row.speech_ended_call_us, facts
        )
        yield "foreseen", event


def _facts(row: Row) -> Event:
    facts: Event = msgspec.to_builtins(row)
    return {name: value for name, value in facts.items() if name not in ELSEWHERE}


def _span(name: str, began: int, ended: int, args: Event) -> Event:
    """Return a complete event; a trace has no time before 0, where work ahead of a call is clipped."""
    began, ended = max(0, began), max(0, ended)
    return {"ph": "X", "name": name, "ts": began, "dur": max(0, ended - began), "args": args}


def _instant(name: str, at: int, args: Event) -> Event:
    return {"ph": "i", "s": "t", "name": name, "ts": max(0, at), "args": args}


def _named(what: str, pid: int, tid: int, name: str) -> Event:
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": {"name": name}}


def _tracks(events: Iterable[Event]) -> list[list[Event]]:
    """Spread events over as few tracks as keep any two on one from overlapping."""
    tracks: list[list[Event]] = []
    ends: list[int] = []
    for event in sorted(events, key=lambda event: (event["ts"], event.get("dur", 0))):
        free = next((i for i, end in enumerate(ends) if end <= event["ts"]), len(tracks))
        if free == len(tracks):
            tracks.append([])
            ends.append(0)
        tracks[free].append(event)
        ends[free] = event["ts"] + event.get("dur", 0)
    return tracks


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
