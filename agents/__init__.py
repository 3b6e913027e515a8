"""Agents: who knows what to say. Above ``voice``, below the council that hears them."""
