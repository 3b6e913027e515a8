"""Simulated callers, for tests and for measuring."""
