"""From sockets to lines: carriers over WebSockets, AudioSocket over TCP."""
