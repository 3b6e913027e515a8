"""What ``turnbudget shelf`` does: list, warm, remove and clear the replies that are rendered already.

All but warming is about the disk alone, for every voice, and needs no engine. A server that runs meanwhile
lets go of what was removed at its next call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from turnbudget.settings.engines import open_voice
from turnbudget.speculative.shelf.pieces import pieces, plain
from turnbudget.speculative.shelf.shelf import Shelf
from turnbudget.speculative.shelf.store import Store
from turnbudget.voice.errors import UsageError
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from turnbudget.settings.config import Config
    from turnbudget.speculative.shelf.store import Stored


def stored() -> tuple[list[Stored], tuple[str, ...]]:
    """Return every reply on disk, by voice and text, and what is wrong there, a line each."""
    store = Store()
    found = store.everything()
    return found, store.faults()


def table(replies: Iterable[Stored]) -> Table:
    """Return *replies* as a table to print."""
    shown = Table(box=None, pad_edge=False)
    shown.add_column("reply", overflow="fold")
    shown.add_column("KB", justify="right")
    shown.add_column("voice", overflow="fold")
    shown.add_column("rendered (UTC)", no_wrap=True)
    for each in replies:
        voice = f"{each.key.engine}, {each.key.voice}"
        cells = (each.key.text, f"{-(-each.size // 1_000):,}", voice, each.made.removesuffix("+00:00"))
        shown.add_row(*map(Text, cells))  # a reply may hold what would be markup
    return shown


async def warm(
    config: Config, texts: Iterable[str], progress: Callable[[int, int, str], None]
) -> tuple[str, ...]:
    """Render *texts* with the voice of *config* and keep them; return what went wrong, a line each.

    Raises MissingEngine, ConfigError or TtsError where the voice cannot speak at all.
    """
    voice, _ = open_voice(config, clock.kind())
    shelf = Shelf(voice, store=Store())
    try:
        await voice.warm()
        await shelf.open()
        await shelf.warm(texts, progress)
    finally:
        await shelf.aclose()
        await voice.aclose()
    return shelf.faults()


def remove(text: str) -> int:
    """Remove the reply *text*, or else the pieces it is spoken in, of every voice; return how many."""
    store = Store()
    there = store.everything()
    for wanted in ({plain(text)}, set(pieces(text))):
        if removed := sum(store.remove(each.key) for each in there if each.key.text in wanted):
            return removed
    return 0


def clear() -> int:
    """Remove every reply of every voice and return how many there were."""
    return Store().clear()


def standing(config: Config) -> list[str]:
    """Return the replies that stand in *config* word for word, without any caller's data."""
    phrases = config.phrases
    said = [phrases.greeting, phrases.bridge, phrases.pardon, phrases.apology, phrases.reprompt]
    said += [rule.say for rule in config.responder.rules]
    return list(dict.fromkeys(text for text in (*said, config.responder.otherwise.say) if text))


def read_texts(path: Path) -> Sequence[str]:
    """Return the replies in the file at *path*, one a line, the likeliest first; raises UsageError."""
    try:
        lines = path.read_text("utf-8-sig").splitlines()
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", where=str(path)) from error
    except UnicodeDecodeError as error:
        raise UsageError("is no text in UTF-8", where=str(path), remedy="one reply a line") from error
    return [line.strip() for line in lines if line.strip()]
