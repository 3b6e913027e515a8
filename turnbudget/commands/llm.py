"""Commands about LLM backends: what is known of them, serving a simulated one, measuring a real one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.console import Console

from turnbudget.agents.simulated.explain import explain
from turnbudget.agents.simulated.make import find
from turnbudget.agents.simulated.make import make as make_simulated
from turnbudget.agents.simulated.presets import PRESETS
from turnbudget.commands.shell import Taught, one_line
from turnbudget.endpoints import presets as shown
from turnbudget.endpoints.presets import describe, write
from turnbudget.endpoints.probe import probe as run_probe
from turnbudget.endpoints.simulate import serve
from turnbudget.runs.terminal import Bar
from turnbudget.voice.errors import UsageError
from turnbudget.voice.time import clock


@click.command(
    cls=Taught, epilog="turnbudget presets\nturnbudget presets gpu-small --uncached 120 --cached 1400"
)
@click.argument("name", required=False)
@click.option("--uncached", type=click.IntRange(0), default=100, show_default=True, help="New prompt tokens.")
@click.option("--cached", type=click.IntRange(0), default=1_400, show_default=True, help="Cached ones.")
@click.option("--batch", type=click.IntRange(1), default=1, show_default=True, help="Calls served at once.")
@one_line
def presets(name: str | None, *, uncached: int, cached: int, batch: int) -> None:
    """Show the simulated backends, or every constant of one and what its TTFT is made of.

    Each constant carries its mark (measured, derived, assumed, from a source, from memory) and its date.
    """
    console = Console()
    if name is None:
        console.print(shown.overview(PRESETS.values()))
        return
    preset = find(name)
    console.print(shown.details(preset))
    console.print(shown.explanation(explain(preset, uncached=uncached, cached=cached, batch=batch)))


@click.command(cls=Taught, epilog="turnbudget simulate --preset gpu-low-batch --port 8100")
@click.option("--preset", "name", default="gpu-small", show_default=True, help="A preset, or a TOML file.")
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=8100, show_default=True, help="0 takes a free one."
)
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed, the same times.")
@one_line
def simulate(name: str, *, port: int, seed: int) -> None:
    """Serve a simulated LLM as an OpenAI-compatible server, on this machine, until Ctrl-C.

    What it says is an echo: only its times are simulated, and its quality is nobody's claim.
    """
    backend = make_simulated(name, seed=seed)

    def told(url: str) -> None:
        click.echo(f"{backend.name} at {url}; Ctrl-C ends it", err=True)

    clock.run(serve(backend, port, told=told), "wall")


@click.command(cls=Taught, epilog="turnbudget probe http://127.0.0.1:8080/v1 --n 60 --out mine.toml")
@click.argument("url")
@click.option("--model", default="", help="Which model; by default the server's only one.")
@click.option("--n", "samples", type=click.IntRange(40), default=120, show_default=True, help="Requests.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("probed.toml"),
    show_default=True,
    help="Where the preset is written.",
)
@click.option("--force", is_flag=True, help="Replace the file that is there.")
@one_line
def probe(url: str, **given: Any) -> None:
    """Measure a real OpenAI-compatible endpoint and write it as a preset that can be simulated.

    Cold and warm connections, cached and new prompts, several calls at once. The last third of the time is
    held out, and the preset's error on it is printed. A key comes from the environment.
    """
    if given["out"].exists() and not given["force"]:
        raise UsageError("exists", where=str(given["out"]), remedy="choose another --out, or --force")
    with Bar(Console(stderr=True)) as bar:
        made = clock.run(run_probe(url, given["model"], n=given["samples"], progress=bar.steps), "wall")
    Console().print(describe(made))
    write(made, given["out"])
    click.echo(f"preset: {given['out']}")
