"""What must not be written: digits that are somebody's secret, hidden in texts and in records."""
