"""A live call: at this machine by microphone, or on any line that the server answers."""
