"""What watches a floor of calls: metrics, traces, events, the board."""
