"""A language: its words as data, its numbers, and what is made of text before anybody answers."""
