"""Backends: LLMs behind one method, remote over real sockets, and modes over any two of them."""
