"""The pages, as text. What they share is in files of its own; a page that is one file has those put in."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Final

_SHARED: Final = re.compile(r"\{\{([a-z]+\.(?:css|js))\}\}")


@cache
def read(name: str) -> str:
    """Return the text of the file *name*, with each ``{{other.css}}`` and ``{{other.js}}`` in its place."""
    text = files(__name__).joinpath(name).read_text("utf-8")
    return _SHARED.sub(lambda shared: read(shared[1]), text)
