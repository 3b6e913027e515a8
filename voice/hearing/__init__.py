"""Hearing: the caller's frames in, events out: levels, voice activity, endpointing, keys."""
