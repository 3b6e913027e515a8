"""The reply bank: what recorded dialogues teach about replies, and about where callers end."""
