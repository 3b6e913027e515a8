"""Probing: a real endpoint measured, and a preset fitted to it."""
