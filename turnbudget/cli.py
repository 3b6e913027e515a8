"""The command line: what a person types, and one clear line when it cannot be done.

Exit codes: 0 done; 1 the run missed the mark that ``--fail-over`` sets; 2 something given cannot be used;
3 a component or we ourselves failed; 130 Ctrl-C.
"""

from __future__ import annotations

import sys
import tempfile
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn, ParamSpec, Self, TypeVar

import click
import msgspec
from rich import progress
from rich.console import Console

from turnbudget import runs, script
from turnbudget.config import Config, load
from turnbudget.demo import render_call
from turnbudget.doctor import examine, table
from turnbudget.models import make_model
from turnbudget.replay import Plan, Progress, default_name, fresh_folder
from turnbudget.replay import replay as run_replay
from turnbudget.runs import REPORT
from turnbudget.terminal import headline, show
from voice import clock
from voice.errors import ConfigError, TurnbudgetError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from turnbudget.conversation import Pacing
    from turnbudget.runs import Run

P = ParamSpec("P")
R = TypeVar("R")

MISSED: Final = 1
USAGE: Final = 2
BROKEN: Final = 3
INTERRUPTED: Final = 130


def one_line(command: Callable[P, R]) -> Callable[P, R]:
    """Turn our errors into one line on stderr and an exit code."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except TurnbudgetError as error:
            stop(error)

    return run


def stop(error: TurnbudgetError) -> NoReturn:
    """Say *error* and leave."""
    click.echo(f"turnbudget: {error}", err=True)
    sys.exit(USAGE if isinstance(error, UsageError) else BROKEN)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="turnbudget")
def main() -> None:
    """Voice agents that answer in time, and a log that says where each millisecond went.

    Start with `turnbudget demo`, then `turnbudget replay` a recorded call of your own.
    """


@main.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--config", type=click.Path(path_type=Path), help="A TOML file; see `turnbudget config`.")
@click.option(
    "--clock",
    "clock_kind",
    type=click.Choice(["skip", "wall", "virtual"]),
    default="skip",
    show_default=True,
    help="skip: real engines, idle time skipped. wall: real time. virtual: scripted engines, deterministic.",
)
@click.option(
    "--pacing",
    type=click.Choice(["gated", "timeline", "script"]),
    default=None,
    help="gated: the caller waits for our answer, then for the recorded pause (default). timeline: as "
    "recorded. script: gated, with the events of --script.",
)
@click.option(
    "--script",
    "script_file",
    type=click.Path(path_type=Path),
    help="Events in TOML: [[event]] after_turn, do (barge-in, silence, hang-up), after_ms, audio.",
)
@click.option("--asr", help="Recogniser: auto, moonshine, vosk, scripted.")
@click.option("--tts", help="Voice: auto, pyttsx3, piper, scripted.")
@click.option("--vad", help="Detector: auto, silero, energy, scripted.")
@click.option("--caller-channel", type=click.IntRange(0), default=0, show_default=True, help="0 is the left.")
@click.option("--rate", type=click.IntRange(1), help="Sample rate of raw G.711 files, which do not say it.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("runs"), show_default=True)
@click.option("--name", help="Name of the run's folder; by default after the first path.")
@click.option("--force", is_flag=True, help="Replace a run of the same name.")
@click.option("--fail-over", type=click.IntRange(1), help="A turn whose first sound is later (ms) is late.")
@click.option(
    "--fail-share",
    type=click.FloatRange(0, 1),
    default=0.01,
    show_default=True,
    help="With --fail-over: exit 1 if a larger share of turns is late.",
)
@click.option("--quiet", is_flag=True, help="No waterfalls: only the headline.")
@one_line
def replay(**given: Any) -> None:
    """Replay recorded calls against the agent and measure every turn.

    PATHS are stereo recordings (caller left), pairs ...caller.wav/...agent.wav, folders of them, a folder
    in HarperValley layout, or .vcon files. The run goes to runs/NAME: turns.jsonl, summary.json, the
    calls as stereo WAV, report.html, and trace.json for Perfetto.
    """
    plan = plan_of(given)
    run = perform(plan, given["clock_kind"], quiet=given["quiet"])
    click.echo(f"report: {plan.folder / REPORT}")
    if run.summary.truncated:
        sys.exit(INTERRUPTED)
    if given["fail_over"]:
        judge(run, given["fail_over"] * clock.MS, given["fail_share"])


def plan_of(given: Mapping[str, Any]) -> Plan:
    """Return what the options of ``replay`` ask for; raises UsageError."""
    config = with_engines(load(given["config"]), given)
    events = script.load(given["script_file"]) if given["script_file"] else ()
    pacing: Pacing = given["pacing"] or ("script" if events else "gated")
    if (pacing == "script") != bool(events):
        raise UsageError("--pacing script and --script FILE go together")
    name, parent = given["name"], given["out"]
    folder = parent / name if name else fresh_folder(parent, default_name(given["paths"]))
    return Plan(
        given["paths"],
        folder,
        config,
        pacing,
        given["caller_channel"],
        given["rate"],
        events,
        given["force"],
    )


def with_engines(config: Config, given: Mapping[str, Any]) -> Config:
    """Return *config* with the engines named on the command line."""
    raw = msgspec.to_builtins(config)
    for job in ("asr", "tts", "vad"):
        if given[job]:
            raw[job]["engine"] = given[job]
    try:
        return msgspec.convert(raw, Config)
    except msgspec.ValidationError as error:
        raise ConfigError(str(error), remedy="see `turnbudget replay --help`") from None


def perform(plan: Plan, kind: clock.Kind, *, quiet: bool = False) -> Run:
    """Replay *plan* with a progress bar, and show the run."""
    console = Console(stderr=True)
    with Bar(console) as bar:
        run = clock.run(run_replay(plan, bar.progress()), kind)
    if quiet:
        Console().print(headline(run.summary))
    else:
        show(run)
    return run


def judge(run: Run, over_us: int, share: float) -> None:
    """Leave with exit code 1 if more than *share* of all caller turns sounded later than *over_us*."""
    turns = [row for row in run.rows if row.kind == "turn"]
    late = [row for row in turns if row.first_sound_us is None or row.first_sound_us > over_us]
    if len(late) > share * len(turns):
        click.echo(
            f"{len(late)} of {len(turns)} turns sounded later than {over_us // clock.MS} ms,"
            f" more than the {share:.1%} allowed",
            err=True,
        )
        sys.exit(MISSED)


@main.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--redraw", is_flag=True, help="Write report.html and trace.json anew.")
@one_line
def report(run: Path, *, redraw: bool) -> None:
    """Print a run again: its waterfalls, stages and headline."""
    loaded = runs.load(run)
    if redraw:
        runs.draw(run, loaded)
    show(loaded)
    click.echo(f"report: {run / REPORT}")


@main.command()
@click.option("--config", type=click.Path(path_type=Path), help="A TOML file; see `turnbudget config`.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("runs"), show_default=True)
@one_line
def demo(config: Path | None, out: Path) -> None:
    """Render a short two-party call with the voice installed here, and replay it with real engines."""
    settings = load(config)
    folder = fresh_folder(out, "demo")
    console = Console(stderr=True)
    with Bar(console) as bar, tempfile.TemporaryDirectory() as place:
        recording = clock.run(render_call(settings, Path(place), bar.progress().doing), "wall")
        run = clock.run(run_replay(Plan((recording,), folder, settings), bar.progress()), "skip")
    show(run)
    click.echo(f"report: {folder / REPORT}")


@main.command()
@one_line
def doctor() -> None:
    """Say what is installed, what is missing, and what to type."""
    findings = examine()
    Console().print(table(findings))
    if any(finding.state == "missing" for finding in findings):
        click.echo("Missing engines are optional; `turnbudget replay --help` says which are used for what.")


@main.command()
@click.argument("engine", type=click.Choice(["moonshine", "vosk"]), default="moonshine")
@one_line
def models(engine: str) -> None:
    """Make a recogniser's model ready: convert Moonshine's, or fetch Vosk's."""
    with Bar(Console(stderr=True)) as bar:
        place = make_model(engine, bar.steps)
    click.echo(f"{engine}: {place}")


@main.command()
def config() -> None:
    """Print the default configuration as TOML, to begin a file of your own with."""
    click.echo(msgspec.toml.encode(Config()).decode())


class Bar:
    """A progress bar on a terminal; plain lines of what is being done elsewhere."""

    def __init__(self, console: Console) -> None:
        self._bar = progress.Progress(
            progress.SpinnerColumn(),
            progress.TextColumn("{task.description}"),
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TimeElapsedColumn(),
            console=console,
            transient=True,
        )
        self._task = self._bar.add_task("starting", total=None)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def steps(self, done: int, total: int, what: str) -> None:
        """Show that *done* of *total* steps are done, the running one being *what*."""
        self._bar.update(self._task, completed=done, total=total, description=what)

    def progress(self) -> Progress:
        """Return what a replay tells its progress to."""
        bar, task = self._bar, self._task
        return Progress(
            doing=lambda what: bar.update(task, description=what),
            calls=lambda total: bar.update(task, total=total, completed=0),
            row=lambda row: bar.update(task, description=f"{row.call}, turn {row.turn}: {row.outcome}"),
            call_done=lambda: bar.advance(task),
        )
