"""Synthesizers: text in, speech out."""
