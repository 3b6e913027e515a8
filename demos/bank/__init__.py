"""A bank's call centre: eight tasks over a SQLite file, greeting, closing and handoff."""
