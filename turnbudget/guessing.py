"""Commands about speculation: the replies that are rendered before anybody asks for them."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console

from turnbudget import shelf as kept
from turnbudget.config import load
from turnbudget.progress import Bar
from turnbudget.shell import USAGE, Teaching, one_line, say, stop
from voice import clock


@click.group(cls=Teaching)
def shelf() -> None:
    """Manage the shelf: replies rendered to sound before they are asked for.

    A reply on it leaves at once; any other keeps its caller waiting while it is rendered. The shelf lives in
    the cache (TURNBUDGET_CACHE, by default ~/.cache/turnbudget), one sound for each text and voice, and never
    holds there what a caller told.
    """


@shelf.command(name="list", epilog="turnbudget shelf list\nturnbudget shelf list account")
@click.argument("word", default="")
@one_line
def show(word: str) -> None:
    """List the replies on the shelf: size, voice, and when they were rendered.

    WORD: only those that contain it.
    """
    replies, faults = kept.stored()
    found = [each for each in replies if word.casefold() in each.key.text.casefold()]
    if found:
        Console().print(kept.table(found))
    size = -(-sum(each.size for each in found) // 1_000)
    click.echo(f"{len(found):,} of {len(replies):,} replies, {size:,} KB")
    tell(faults)


@shelf.command(epilog="turnbudget shelf warm\nturnbudget shelf warm replies.txt --config agent.toml")
@click.argument("path", metavar="[FILE]", required=False, type=click.Path(path_type=Path))
@click.option(
    "--config", metavar="FILE", type=click.Path(path_type=Path), help="Settings; see `turnbudget config`."
)
@one_line
def warm(path: Path | None, config: Path | None) -> None:
    """Render replies with the voice of the settings, and keep them.

    FILE holds a reply a line, the likeliest first; without it the fixed phrases and replies of the settings
    are rendered. What is there already is not rendered again.
    """
    settings = load(config)
    texts = kept.read_texts(path) if path else kept.standing(settings)
    with Bar(Console(stderr=True)) as bar:
        faults = clock.run(kept.warm(settings, texts, bar.steps), "wall")
    click.echo(f"{len(texts):,} replies asked for, {len(faults):,} faults")
    tell(faults)
    if faults:
        raise SystemExit(USAGE)


@shelf.command(epilog='turnbudget shelf remove "Which account would you like to check?"')
@click.argument("text")
@one_line
def remove(text: str) -> None:
    """Remove the reply TEXT, in every voice, from the shelf."""
    removed = kept.remove(text)
    if not removed:
        stop(
            f"no reply on the shelf reads {text!r}; `turnbudget shelf list` shows those that are there", USAGE
        )
    click.echo(f"{removed:,} removed")


@shelf.command()
@click.confirmation_option(prompt="Remove every reply, of every voice?")
@one_line
def clear() -> None:
    """Remove every reply, of every voice; they are rendered again when they are needed."""
    click.echo(f"{kept.clear():,} removed")


def tell(faults: tuple[str, ...]) -> None:
    """Say what is wrong with the shelf, a line each."""
    for fault in faults:
        say(fault)
