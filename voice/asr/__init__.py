"""Transcribers: speech in, text out."""
