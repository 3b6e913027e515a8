"""Recorded conversations: read from disk, cut into turns, made into what a recorded caller plays."""
