"""Tables of phrases: the first pattern that is found in what was said decides."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from turnbudget.voice.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence


def patterns(sources: Sequence[str], where: str) -> tuple[re.Pattern[str], ...]:
    """Return regular expressions compiled; raises ConfigError for one that is none."""
    if isinstance(sources, str):
        raise ConfigError(f"{sources!r} is one text", where=where, remedy="write a list of texts")
    compiled: list[re.Pattern[str]] = []
    for source in sources:
        try:
            compiled.append(re.compile(source, re.IGNORECASE))
        except re.error as error:
            raise ConfigError(
                f"{source!r} is no regular expression ({error})", where=where, remedy="mend it"
            ) from None
    return tuple(compiled)


def found(table: Sequence[re.Pattern[str]], text: str) -> re.Match[str] | None:
    """Return where the first of *table* is found in *text*."""
    return next((match for pattern in table if (match := pattern.search(text))), None)
