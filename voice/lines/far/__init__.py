"""Simulated far sides of telephone lines: what carriers do, as pure machines on a time that is passed in."""
