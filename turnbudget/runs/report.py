"""A run as a page: one file that needs no network, and that no caller's words can break out of.

The page is the template ``report.html`` with the run embedded as JSON; it draws itself with text
nodes only. The same run gives the same bytes.
"""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Final

import msgspec

from turnbudget.pages import read
from turnbudget.runs.comparison import columns
from turnbudget.runs.hits import told, verdicts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turnbudget.runs.records import Comparison, Row, Summary

TEMPLATE: Final = "report.html"
TITLE: Final = "{{title}}"
RUN: Final = "{{run}}"

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
