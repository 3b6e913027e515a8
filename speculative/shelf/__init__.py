"""The shelf: replies rendered to audio before they are asked for, in memory and on disk."""

import logging

# Whoever keeps a log has our faults in it; a command prints what a shelf tells it, and that once.
logging.getLogger(__name__).addHandler(logging.NullHandler())
