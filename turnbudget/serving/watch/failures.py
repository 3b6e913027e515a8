"""Which components failed in a turn, told from its row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turnbudget.runs.records import Row

LATE_TEXT: Final = "partial text"
NO_FAULT: Final = "the call ended first"


def failures(row: Row) -> Iterator[str]:
    """Yield which components failed in *row*, each once: its text, its sound, an attempt of its LLM."""
    if any(told.took == LATE_TEXT and told.because != NO_FAULT for told in row.decisions):
        yield "asr"
    if any(entry.stage == "synthesize" and entry.outcome == "failed" for entry in row.entries):
        yield "tts"
    if any(lane.name.startswith("llm:") and lane.outcome == "failed" for lane in row.lanes):
        yield "llm"
