"""Commands about speculation: the bank that replies come from, and the shelf on which they are sound."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.console import Console

from turnbudget.commands import shelf as kept
from turnbudget.commands.shell import USAGE, Taught, Teaching, one_line, say, stop
from turnbudget.recorded import mining
from turnbudget.runs.terminal import Bar
from turnbudget.settings.config import load
from turnbudget.speculative.bank.match import THRESHOLD
from turnbudget.voice.time import clock


@click.command(
    cls=Taught,
    epilog="""\
turnbudget mine calls/                            into bank.toml, a third of the dialogues held out
turnbudget mine dialogues.jsonl --threshold 0.9   how often a reply would be given, and how often wrongly
turnbudget mine runs/monday/turns.jsonl dialogues.jsonl --everything --out bank.toml
turnbudget mine dialogues.jsonl --misfits         each hit that a person should judge""",
)
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("bank.toml"),
    show_default=True,
    help="Where the bank is written; it is TOML, to be read and edited.",
)
@click.option(
    "--hold-out",
    type=click.FloatRange(0, 1, max_open=True),
    default=mining.HOLD_OUT,
    show_default=True,
    help="The share of the dialogues, the last ones, that the bank is tried on and not made from.",
)
@click.option(
    "--threshold",
    type=click.FloatRange(0, 1),
    default=THRESHOLD,
    show_default=True,
    help="The odds to mark in the curve, and to show wrong hits at; set it as speculation.threshold.",
)
@click.option(
    "--everything",
    is_flag=True,
    help="Write a bank made from all dialogues; what is printed is of one made without those held out.",
)
@click.option("--force", is_flag=True, help="Replace another bank, or one that was edited, in --out.")
@click.option("--misfits", is_flag=True, help="Show every hit that differs from what the person said.")
@one_line
def mine(paths: tuple[Path, ...], out: Path, *, misfits: bool, **how: Any) -> None:
    """Make a reply bank from recorded calls or dialogues, and say what it is worth.

    PATHS are HarperValley folders, .vcon files, turns.jsonl of a run, or dialogues.jsonl. What agents said
    becomes reply templates with slots, each with the state and the caller's words it follows, counts and
    odds. For each threshold the dialogues held out say how often the bank would have replied and how often
    wrongly, so that you can choose. Use the bank with speculation.bank in your settings.
    """
    with Bar(Console(stderr=True)) as bar:
        lines = list(mining.run(paths, out, show_misfits=misfits, doing=bar.steps, **how))
    for line in lines:
        click.echo(line)


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
