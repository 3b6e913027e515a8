"""A bank's call centre: eight tasks over a SQLite file, greeting, closing and handoff."""

from turnbudget.demos.bank.bank import open_bank as council

__all__ = ["council"]
