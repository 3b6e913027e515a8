"""The pages, as text, and the policy of a page that is one file: its own style and script, and nothing else.

What pages share is in files of its own; a page that is one file has those put in.
"""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib.resources import files
from typing import Final

_SHARED: Final = re.compile(r"\{\{([a-z]+\.(?:css|js))\}\}")
SELF: Final = "'self'"
NONE: Final = "'none'"
_INSIDE: Final = re.compile(r"<(style|script)(?: type=\"module\")?>(.*?)</\1>", re.DOTALL)


@cache
def read(name: str) -> str:
    """Return the text of the file *name*, with each ``{{other.css}}`` and ``{{other.js}}`` in its place."""
    text = files(__name__).joinpath(name).read_text("utf-8")
    return _SHARED.sub(lambda shared: read(shared[1]), text)


@cache
def policy(page: str, *, connects: bool = False, forms: bool = False) -> str:
    """Return the Content-Security-Policy of *page*, which *connects* to its server or sends *forms* to it."""
    sources: dict[str, list[str]] = {"style": [], "script": []}
    for kind, text in _INSIDE.findall(page):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        sources[kind].append(f"'sha256-{digest}'")
    rules = [f"{kind}-src {' '.join(digests)}" for kind, digests in sources.items() if digests]
    return "; ".join(
        (
            f"default-src {NONE}",
            *rules,
            *([f"connect-src {SELF}"] if connects else []),
            f"base-uri {NONE}",
            f"form-action {SELF if forms else NONE}",
            f"frame-ancestors {NONE}",
        )
    )


def headers(csp: str) -> dict[str, str]:
    """Return the headers of a page under the policy *csp*, which nobody frames or keeps."""
    return {
        "Content-Security-Policy": csp,
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": "no-store",
    }
