"""Who may come in: signatures, tokens, passes, limits."""
