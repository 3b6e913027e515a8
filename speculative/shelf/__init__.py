"""The shelf: replies rendered to audio before they are asked for, in memory and on disk."""
