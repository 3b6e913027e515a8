"""The command that replays recorded calls: what a person can ask of it, and what it does then."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args

import click
import msgspec
from rich.console import Console

from turnbudget.commands.shell import INTERRUPTED, MISSED, USAGE, Taught, engine_option, one_line, say, stop
from turnbudget.recorded import compare, script
from turnbudget.recorded.compare import answered_by, look_ahead, side_by_side
from turnbudget.recorded.conversation import Pacing
from turnbudget.recorded.replay import ReplayPlan
from turnbudget.recorded.replay import replay as run_replay
from turnbudget.runs import folder, readings
from turnbudget.runs.folder import REPORT
from turnbudget.runs.names import fresh_folder, named_folder, run_name
from turnbudget.runs.terminal import Bar, headline, show
from turnbudget.settings.config import DETECTORS, RECOGNISERS, VOICES, Config, load
from turnbudget.voice.errors import UsageError
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from turnbudget.runs.folder import Run

SHARE: Final = 0.01
"""Share of turns that may miss the mark of ``--fail-over``."""


@click.command(
    cls=Taught,
    epilog="""\
turnbudget replay call.wav                        a stereo recording, the caller on the left
turnbudget replay calls/ --name monday            every recording of a folder, into runs/monday
turnbudget replay call.wav --caller-channel 1     the caller on the right
turnbudget replay a-caller.ul --rate 8000         a raw mu-law pair, with a-agent.ul beside it
turnbudget replay calls/ --fail-over 800          exit 1 if over 1 % of the turns sound later than 800 ms
turnbudget replay calls/ --compare-speculation    without and with it, in one table and on both pages
turnbudget replay calls/ --council bank           answered by the bank that is shipped
turnbudget replay call.wav --asr my.ears:Ears     heard by a recogniser of your own; see docs/engines.md
turnbudget replay corpus/ --clock virtual         in no time, engines scripted from the transcripts
turnbudget replay corpus/ --clock virtual --backend simulated:gpu-low-batch --backend simulated:lpu""",
)
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--clock",
    "clock_kind",
    type=click.Choice(get_args(clock.Kind)),
    default="skip",
    show_default=True,
    help="skip: real engines at their real cost, idle time left out. wall: in real time. virtual: scripted "
    "engines only, the same on every run.",
)
@click.option(
    "--pacing",
    type=click.Choice(get_args(Pacing)),
    help="gated (the default): the caller waits for our answer, then for the pause the person made. "
    "timeline: everything when it was recorded, so that talk-over shows. script: gated, with the events of "
    "--script.",
)
@click.option(
    "--script",
    "script_file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="What happens beside the recording, in TOML: [[event]] with after_turn, do (barge-in, silence or "
    "hang-up), after_ms, and for a barge-in audio and text.",
)
@click.option(
    "--config", metavar="FILE", type=click.Path(path_type=Path), help="Settings; see `turnbudget config`."
)
@engine_option("--asr", RECOGNISERS, "Who transcribes.")
@engine_option("--tts", VOICES, "Who speaks.")
@engine_option("--vad", DETECTORS, "Who detects speech.")
@click.option(
    "--backend",
    "backends",
    multiple=True,
    metavar="LLM",
    help="Who answers: simulated:PRESET, a probed FILE.toml, openai:URL, anthropic:MODEL, responses:MODEL, "
    "MODULE:NAME. Given more than once, each is replayed and all are compared.",
)
@engine_option("--responder", (), "A responder of your own answers; see docs/engines.md.")
@click.option(
    "--council",
    metavar="NAME",
    help="A council answers: bank, which is shipped, or MODULE:NAME, a function that returns what makes one "
    "for each call.",
)
@click.option(
    "--bank",
    metavar="FILE",
    help="A reply bank of `turnbudget mine`: what callers say next, where they end, and which reply follows. "
    "Sets [speculation] bank.",
)
@click.option(
    "--speculation/--no-speculation",
    default=None,
    help="Work ahead of the caller's last word, or do not, whatever the settings say.",
)
@click.option(
    "--compare-speculation",
    is_flag=True,
    help="Replay without and with speculation, all else the same, into NAME-off and NAME-on, and compare.",
)
@click.option(
    "--caller-channel",
    type=click.IntRange(0),
    help="Which channel of a recording is the caller's; 0, the left, unless a vCon's roles say another.",
)
@click.option("--rate", type=click.IntRange(1), help="Sample rate (Hz) of raw G.711, which does not say it.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("runs"),
    show_default=True,
    help="Where runs are kept.",
)
@click.option("--name", help="Name of the run's folder; by default after the first path, and a new one.")
@click.option("--force", is_flag=True, help="Replace the run of that name.")
@click.option(
    "--fail-over",
    metavar="MS",
    type=click.IntRange(1),
    help="Exit 1 if too many turns have their first sound later than this, or none.",
)
@click.option(
    "--fail-share",
    type=click.FloatRange(0, 1),
    help="How many are too many for --fail-over: a larger share of all caller turns, by default 0.01.",
)
@click.option(
    "--allow-dropped",
    is_flag=True,
    help="Let --fail-over pass though a call ended before its recording did, and turns were left unplayed.",
)
@click.option(
    "--turn-silence",
    metavar="MS",
    type=click.IntRange(100),
    default=1_500,
    show_default=True,
    help="Silence of the caller that ends a turn, where a recording does not hold the agent's side.",
)
@click.option("--quiet", is_flag=True, help="No waterfalls: only the headline.")
@one_line
def replay(**given: Any) -> None:
    """Replay recorded calls against the agent and measure every turn.

    PATHS are stereo recordings (caller left), pairs ...caller.wav and ...agent.wav, .vcon files, folders of
    them, or a folder in HarperValley layout (audio/caller, audio/agent, transcript). WAV, FLAC, AIFF,
    Ogg, MP3 and raw G.711 are read, and M4A and WebM with the extra av.

    The run goes to runs/NAME: turns.jsonl (a row a turn), summary.json, each call as stereo WAV (our voice
    right), report.html to read, trace.json for Perfetto. A file that cannot be used is named, the others are
    replayed, and the exit code is 2.
    """
    allowed = given["fail_share"]
    if allowed is not None and not given["fail_over"]:
        raise UsageError("--fail-share alone fails no run", remedy="name --fail-over MS as well")
    plan = plan_of(given)
    plans = plans_of(plan, given)
    if len(plans) > 1:
        clock.run(look_ahead(plans), given["clock_kind"])
    made: list[Run] = []
    for one in plans:
        made.append(perform(one, given["clock_kind"], quiet=given["quiet"] or len(plans) > 1))
        click.echo(f"report: {one.folder / REPORT}")
        if made[-1].summary.truncated:
            break
    if len(made) > 1 and len(made) == len(plans):
        print_sides(plans, made, given)
    for run in made[-1:] if given["compare_speculation"] else made:
        leave(run, given["fail_over"], SHARE if allowed is None else allowed, dropped=given["allow_dropped"])


def plans_of(plan: ReplayPlan, given: Mapping[str, Any]) -> list[ReplayPlan]:
    """Return the runs of *plan* that the options ask for; raises UsageError."""
    backends = given["backends"]
    if not given["compare_speculation"]:
        return [answered_by(plan, spec, number) for number, spec in enumerate(backends)] or [plan]
    if len(backends) > 1:
        raise UsageError("--compare-speculation goes with one --backend at most")
    if given["speculation"] is not None:
        raise UsageError("--compare-speculation is both --speculation and --no-speculation")
    return compare.both(answered_by(plan, backends[0], 0) if backends else plan)


def print_sides(plans: Sequence[ReplayPlan], made: Sequence[Run], given: Mapping[str, Any]) -> None:
    """Print the runs *made* of *plans* side by side."""
    if not given["compare_speculation"]:
        Console().print(side_by_side(zip(given["backends"], made, strict=True)))
        return
    both = compare.compared(plans, made)
    folder.compare([plan.folder for plan in plans], made, both)
    Console().print(readings.table(both))


def plan_of(given: Mapping[str, Any]) -> ReplayPlan:
    """Return what the options of ``replay`` ask for; raises UsageError."""
    config = with_options(load(given["config"]), given)
    events = script.load(given["script_file"]) if given["script_file"] else ()
    pacing: Pacing = given["pacing"] or ("script" if events else "gated")
    if (pacing == "script") != bool(events):
        raise UsageError("--pacing script and --script FILE go together")
    name, parent = given["name"], given["out"]
    endings = compare.ENDINGS if given["compare_speculation"] else ("",)
    into = (
        named_folder(parent, name)
        if name is not None
        else fresh_folder(parent, run_name(given["paths"]), endings)
    )
    return ReplayPlan(
        given["paths"],
        into,
        config,
        pacing=pacing,
        caller_channel=given["caller_channel"],
        rate=given["rate"],
        turn_silence_us=given["turn_silence"] * clock.MS,
        events=events,
        force=given["force"],
    )


def with_options(config: Config, given: Mapping[str, Any]) -> Config:
    """Return *config* with what is named on the command line."""
    named = {
        job: msgspec.structs.replace(getattr(config, job), engine=given[job])
        for job in ("asr", "tts", "vad")
        if given[job]
    }
    if given["council"]:
        named["council"] = msgspec.structs.replace(config.council, open=given["council"])
    if given["responder"]:
        named["responder"] = msgspec.structs.replace(config.responder, engine=given["responder"])
    if given["bank"]:
        named["speculation"] = msgspec.structs.replace(config.speculation, bank=given["bank"])
    config = msgspec.structs.replace(config, **named)
    on = given["speculation"]
    return config if on is None else compare.speculating(config, on=on)


def perform(plan: ReplayPlan, kind: clock.Kind, *, quiet: bool = False) -> Run:
    """Replay *plan* with a progress bar, and show the run."""
    console = Console(stderr=True)
    with Bar(console) as bar:
        run = clock.run(run_replay(plan, bar.progress()), kind)
    if quiet:
        Console().print(headline(run.summary))
    else:
        show(run)
    return run


def leave(run: Run, fail_over: int | None, share: float, *, dropped: bool = False) -> None:
    """Say what went wrong, and leave with the code for it if anything did."""
    for fault in run.summary.faults:
        say(fault)
    if run.summary.truncated:
        sys.exit(INTERRUPTED)
    if run.summary.faults:
        sys.exit(USAGE)
    turns = [row for row in run.rows if row.kind == "turn"]
    if fail_over and not turns:
        stop(f"no caller turn was measured, so none is known to sound within {fail_over} ms", MISSED)
    if fail_over and run.summary.not_replayed and not dropped:
        stop(
            f"{run.summary.not_replayed} recorded turns were not replayed, so the run says nothing of them;"
            " --allow-dropped lets it pass",
            MISSED,
        )
    over_us = (fail_over or 0) * clock.MS
    late = [row for row in turns if row.first_sound_us is None or row.first_sound_us > over_us]
    if fail_over and len(late) > share * len(turns):
        stop(
            f"{len(late)} of {len(turns)} turns sounded later than {fail_over} ms or never,"
            f" and {share:.1%} may",
            MISSED,
        )
