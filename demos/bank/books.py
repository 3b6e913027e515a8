"""The books behind the agents: a SQLite file, and one function for each thing it does for a caller.

Whose money it is comes from the call (its verified caller), never from what is said: no function here takes
a name, an account number or anything else that a caller could say to reach another caller's data.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

SCHEMA: Final = Path(__file__).with_name("books.sql")


def make(database: Path) -> None:
    """Make the demo's bank at *database*, unless it is there."""
    if not database.exists():
        with closing(sqlite3.connect(database)) as connection:
            connection.executescript(SCHEMA.read_text("utf-8"))


class Books:
    """The books as far as one verified *customer* may see them."""

    def __init__(self, database: Path, customer: str) -> None:
        self.customer = customer
        self._database = database

    def do(self, what: str, details: Mapping[str, str], key: str) -> str:
        """Do *what* once for *key* and return what to say of it; blocks. Raises ValueError if it cannot."""
        with closing(sqlite3.connect(self._database)) as connection, connection:
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("BEGIN IMMEDIATE")
            before = connection.execute("SELECT said FROM done WHERE key = ?", (key,)).fetchone()
            if before:
                return str(before[0])
            said = DOES[what](connection, self.customer, details)
            row = (key, self.customer, what, json.dumps(dict(details)), said)
            connection.execute("INSERT INTO done VALUES (?, ?, ?, ?, ?)", row)
            return said


def balance(bank: sqlite3.Connection, customer: str, details: Mapping[str, str]) -> str:
    """Return the balance of the caller's own account."""
    sql = "SELECT cents FROM account WHERE customer = ? AND kind = ?"
    row = bank.execute(sql, (customer, details["account"])).fetchone()
    if row is None:
        raise ValueError("no such account")
    return f"${row[0] / 100:,.2f}".removesuffix(".00")


def transfer(bank: sqlite3.Connection, customer: str, details: Mapping[str, str]) -> str:
    """Move money between the caller's own accounts."""
    if details["source"] == details["destination"]:
        raise ValueError("source and destination are the same account")
    _take(bank, customer, details["source"], details["amount"])
    sql = "UPDATE account SET cents = cents + ? WHERE customer = ? AND kind = ?"
    bank.execute(sql, (_cents(details["amount"]), customer, details["destination"]))
    return ""


def pay(bank: sqlite3.Connection, customer: str, details: Mapping[str, str]) -> str:
    """Pay a bill from the caller's checking account."""
    _take(bank, customer, "checking", details["amount"])
    return ""


def note(bank: sqlite3.Connection, customer: str, details: Mapping[str, str]) -> str:  # noqa: ARG001 - one shape
    """Leave a note for the back office: the row in ``done`` is all there is to it."""
    return ""


DOES: Final[Mapping[str, Callable[[sqlite3.Connection, str, Mapping[str, str]], str]]] = {
    "balance": balance,
    "transfer": transfer,
    "pay_bill": pay,
    "replace_card": note,
    "appointment": note,
    "reset_password": note,
    "order_checks": note,
}


def _take(bank: sqlite3.Connection, customer: str, account: str, amount: str) -> None:
    """Take *amount* from the caller's *account*; raises ValueError if there is less in it."""
    cents = _cents(amount)
    sql = "UPDATE account SET cents = cents - ? WHERE customer = ? AND kind = ? AND cents >= ?"
    if cents <= 0 or bank.execute(sql, (cents, customer, account, cents)).rowcount != 1:
        raise ValueError("not enough money")


def _cents(amount: str) -> int:
    return int(Decimal(amount.replace(",", "").lstrip("$")) * 100)
