"""Testing: simulated callers and brokers, for tests and for measuring."""
