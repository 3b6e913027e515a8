"""A run: what is written of it, read back from its folder, and shown in a terminal and on a page."""
