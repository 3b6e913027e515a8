"""Speculation: replies made ready before they are asked for. Nothing is in it yet."""
