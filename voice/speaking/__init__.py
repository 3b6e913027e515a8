"""Speaking: speech in, paced frames out, what was heard of it, and the tape of both sides."""
