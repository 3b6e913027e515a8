"""The command line: what a person can type, and what it calls."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Final

import click
from rich.console import Console

from turnbudget.commands import agents, llm, replaying, speculation
from turnbudget.commands.doctor import examine, make_model, table
from turnbudget.commands.shell import Teaching, one_line, print_anywhere
from turnbudget.recorded.demo import render_call
from turnbudget.recorded.replay import ReplayPlan
from turnbudget.recorded.replay import replay as run_replay
from turnbudget.runs import folder, readings
from turnbudget.runs.folder import REPORT
from turnbudget.runs.names import fresh_folder
from turnbudget.runs.terminal import Bar, show
from turnbudget.settings.config import Config, dump, load
from turnbudget.voice.time import clock


@click.group(cls=Teaching, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="turnbudget")
def main() -> None:
    """Voice agents that answer in time, and a log that says where each millisecond went.

    A turn begins when the caller falls silent; our answer must sound within 800 ms. Start with `turnbudget
    demo`, which needs no recordings; then give `turnbudget replay` a recorded call of your own. `turnbudget
    doctor` says which speech engines are installed here, and what to type for those that are not.
    """
    print_anywhere()


@main.command(epilog="turnbudget report runs/demo")
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--redraw", is_flag=True, help="Write report.html and trace.json anew.")
@one_line
def report(run: Path, *, redraw: bool) -> None:
    """Print a run again: its waterfalls, stages and headline.

    RUN is a folder that `turnbudget replay` or `turnbudget demo` has written. The run of a comparison is
    followed by its table.
    """
    loaded, compared = folder.load(run), folder.comparison(run)
    if redraw:
        folder.draw(run, loaded)
    show(loaded)
    if compared:
        Console().print(readings.table(compared))
    click.echo(f"report: {run / REPORT}")


TABLE: Final = Path(__file__).parent / "demos" / "bank" / "table.toml"
"""Settings of the demo: a table that answers its caller."""


@main.command()
@click.option(
    "--config",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Settings; see `turnbudget config`. By default those of a bank that answers by a table.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("runs"),
    show_default=True,
    help="Where runs are kept.",
)
@one_line
def demo(config: Path | None, out: Path) -> None:
    """Have a first run, without any recording.

    Renders a short call of two parties with the voice installed here, and replays it with real engines. The
    first time, the recogniser's model is converted, which takes some ten seconds.
    """
    settings = load(config or TABLE)
    into = fresh_folder(out, "demo")
    console = Console(stderr=True)
    with Bar(console) as bar, tempfile.TemporaryDirectory() as place:
        recording = clock.run(render_call(settings, Path(place), bar.doing), "wall")
        run = clock.run(run_replay(ReplayPlan((recording,), into, settings), bar.progress()), "skip")
    show(run)
    click.echo(f"report: {into / REPORT}")


@main.command()
@one_line
def doctor() -> None:
    """Say which engines are installed, what is missing, and what to type."""
    findings = examine()
    Console().print(table(findings))
    if any(finding.state == "missing" for finding in findings):
        click.echo("Missing engines are optional; `turnbudget replay --help` says which are used for what.")


@main.command()
@click.argument("engine", type=click.Choice(["moonshine", "vosk"]), default="moonshine")
@one_line
def models(engine: str) -> None:
    """Make a recogniser's model ready.

    Moonshine's comes in a package and is converted once, Vosk's is fetched; either is kept in the cache
    (TURNBUDGET_CACHE, by default ~/.cache/turnbudget).
    """
    with Bar(Console(stderr=True)) as bar:
        place = make_model(engine, bar.steps)
    click.echo(f"{engine}: {place}")


@main.command(epilog="turnbudget config > agent.toml\nturnbudget replay call.wav --config agent.toml")
@one_line
def config() -> None:
    """Print the default settings as TOML, to begin a file of your own with."""
    click.echo(dump(Config()), nl=False)


for command in (
    replaying.replay,
    speculation.mine,
    speculation.shelf,
    llm.presets,
    llm.simulate,
    llm.probe,
    agents.dialogues,
    agents.seat,
):
    main.add_command(command)
main.later("talk", "turnbudget.commands.talking:talk", "Talk to the agent by microphone.")
main.later(
    "serve", "turnbudget.commands.serve:serve_command", "Answer calls from telephone lines and browsers."
)
