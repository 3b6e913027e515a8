"""The bank's books: done once a turn, for the call's own customer, whatever the details say."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from turnbudget.demos.bank.books import Books, make


@pytest.fixture
def books(tmp_path):
    make(tmp_path / "bank.db")
    return tmp_path / "bank.db"


def cents(books, customer, kind):
    """Return what *customer* has on the account of that *kind*."""
    with closing(sqlite3.connect(books)) as connection:
        sql = "SELECT cents FROM account WHERE customer = ? AND kind = ?"
        return connection.execute(sql, (customer, kind)).fetchone()[0]


def test_each_caller_has_a_balance_of_their_own(books):
    assert Books(books, "1001").do("balance", {"account": "checking"}, "a/1") == "$25,000"
    assert Books(books, "1002").do("balance", {"account": "checking"}, "b/1") == "$134"


@pytest.mark.parametrize("words", ["1002", "Robert Johnson", "checking' OR customer = '1002", "' OR 1=1 --"])
def test_another_callers_balance_is_out_of_reach_whatever_is_said(books, words):
    bank = Books(books, "1001")
    details = {"account": "checking", "customer": "1002", "name": words}
    assert bank.do("balance", details, "a/1") == "$25,000"
    with pytest.raises(ValueError, match="no such account"):
        bank.do("balance", {"account": words}, "a/2")


def test_a_transfer_moves_the_money_once_for_one_turn(books):
    bank = Books(books, "1002")
    details = {"amount": "34.00", "source": "checking", "destination": "savings"}
    for _ in range(2):
        bank.do("transfer", details, "a/3")
    assert (cents(books, "1002", "checking"), cents(books, "1002", "savings")) == (100_00, 133_00)
    bank.do("transfer", details, "a/4")
    assert cents(books, "1002", "checking") == 66_00


@pytest.mark.parametrize("amount", ["1000", "0", "-5"])
def test_what_cannot_be_moved_moves_nothing(books, amount):
    with pytest.raises(ValueError, match="not enough money"):
        Books(books, "1002").do(
            "transfer", {"amount": amount, "source": "checking", "destination": "savings"}, "a/1"
        )
    assert (cents(books, "1002", "checking"), cents(books, "1002", "savings")) == (134_00, 99_00)
    with closing(sqlite3.connect(books)) as connection:
        assert connection.execute("SELECT count(*) FROM done").fetchone() == (0,)


def test_a_bill_is_paid_from_checking(books):
    Books(books, "1001").do("pay_bill", {"amount": "132", "company": "Smart Electric"}, "a/1")
    assert cents(books, "1001", "checking") == 24868_00


def test_the_books_are_made_once(books):
    Books(books, "1001").do("pay_bill", {"amount": "132", "company": "Smart Electric"}, "a/1")
    make(books)
    assert cents(books, "1001", "checking") == 24868_00
