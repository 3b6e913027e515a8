"""Recorded conversations: read, replayed against our agents, compared, and mined for what comes next."""
