"""The ground floor: one call, from the caller's audio in to ours out, and the account of its time."""
