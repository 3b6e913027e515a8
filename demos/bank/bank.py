"""The bank's council: what ``bank.toml`` says, a seat an agent, and tools on the caller's own books.

Who the caller is comes with the call, as the telephone network or a login would tell it; no agent asks for it
and no tool takes it, so nothing that is said can reach another caller's data.
"""

from __future__ import annotations

import atexit
import itertools
import shutil
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from turnbudget.agents.config import read
from turnbudget.agents.form import Form
from turnbudget.council.convene import Seat
from turnbudget.council.council import Council
from turnbudget.demos.bank.books import DOES, Books, make
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from turnbudget.agents.backends.backend import Backend
    from turnbudget.council.actions import Tool

CONFIG: Final = Path(__file__).with_name("bank.toml")
CALLER: Final = "1001"
"""The customer who calls, unless told otherwise."""


class Transfer(Form):
    """A form that moves money from one account to another one."""

    def objection(self, values: Mapping[str, str]) -> tuple[str, str] | None:
        """Refuse a transfer from an account to itself."""
        same = values.get("source") and values.get("source") == values.get("destination")
        return ("destination", "That is the account it comes from.") if same else None


def open_bank(
    path: Path = CONFIG,
    *,
    database: Path | None = None,
    customer: str = CALLER,
    backend: Backend | None = None,
) -> Callable[[], Council]:
    """Return what makes a council for each call of *customer*, as the file at *path* says; blocks.

    The books are at *database*, made if they are not there; without one they are new and last as long
    as the program. With a *backend* the file's ``llm`` agents have a seat as well. Raises ConfigError.
    """
    books = database or _passing()
    make(books)
    seats = tuple(
        Seat(found.agent, rank=found.rank, settle=found.settle, about=found.about)
        for found in read(
            path,
            database=books,
            backend=(lambda _: backend) if backend else None,
            classes={"transfer": Transfer},
        )
    )
    return partial(_council, itertools.count(1), seats, Books(books, customer))


def _passing() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="bank-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder / "books.db"


def _council(numbers: Iterator[int], seats: tuple[Seat, ...], books: Books) -> Council:
    """Return the council of the next call; its agents keep nothing, so that calls may share them."""
    return Council(
        seats,
        call=f"{books.customer}-{next(numbers)}",
        tools={what: _tool(books, what) for what in DOES},
        facts={"customer": books.customer},
    )


def _tool(books: Books, what: str) -> Tool:
    async def run(details: Mapping[str, str], key: str) -> str:
        return await clock.offload(books.do, what, details, key)

    return run
