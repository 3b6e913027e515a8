"""The call: its turns, their ledgers and replies, barge-in, and the seams to whoever answers."""
