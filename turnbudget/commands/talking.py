"""The command that talks: what a person can ask of it, and what it does then."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, get_args

import click
import msgspec
from rich.console import Console

from turnbudget.commands.replaying import with_options
from turnbudget.commands.shell import BROKEN, Taught, engine_option, one_line, say
from turnbudget.live.screen import Screen
from turnbudget.live.talk import Echo, TalkSettings
from turnbudget.live.talk import talk as have_call
from turnbudget.runs.folder import REPORT
from turnbudget.runs.readings import ms
from turnbudget.runs.terminal import headline
from turnbudget.settings.config import DETECTORS, RECOGNISERS, VOICES, load
from turnbudget.voice.lines.portaudio import Latency, PortAudio, devices, listing
from turnbudget.voice.time import clock


@click.command(
    cls=Taught,
    epilog="""\
turnbudget talk                                   with the microphone and the speaker there are
turnbudget talk --list-devices                    their names and numbers
turnbudget talk --input Headset --output Headset  others than the default ones
turnbudget talk --push-to-talk                    the space bar opens and closes the microphone
turnbudget talk --record runs/me                  keep it, as a replay is kept; then:
turnbudget replay runs/me                         the same caller again""",
)
@click.option("--list-devices", is_flag=True, help="Name the microphones and speakers, and leave.")
@click.option("--input", "microphone", default="", metavar="DEVICE", help="Microphone: a name or a number.")
@click.option("--output", "speaker", default="", metavar="DEVICE", help="Speaker: a name or a number.")
@click.option(
    "--latency",
    type=click.Choice(get_args(Latency)),
    default="low",
    show_default=True,
    help="How much the sound card holds; high if our voice has gaps.",
)
@click.option("--push-to-talk", is_flag=True, help="Be heard only while the space bar has you heard.")
@click.option(
    "--echo",
    type=click.Choice(get_args(Echo)),
    default="auto",
    show_default=True,
    help="Our own voice in the microphone. cancel: take it out. guard: hear only who is louder than it "
    "meanwhile. none: with a headset. auto: cancel where a canceller is installed, else guard.",
)
@click.option(
    "--record",
    "folder",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Write the run to a folder DIR.",
)
@click.option("--force", is_flag=True, help="Replace the run in that folder.")
@click.option(
    "--config", metavar="FILE", type=click.Path(path_type=Path), help="Settings; see `turnbudget config`."
)
@engine_option("--asr", RECOGNISERS, "Who transcribes.")
@engine_option("--tts", VOICES, "Who speaks.")
@engine_option("--vad", DETECTORS, "Who detects speech.")
@click.option("--backend", metavar="LLM", help="An LLM answers; see `turnbudget replay --help`.")
@engine_option("--responder", (), "A responder of your own answers; see docs/engines.md.")
@click.option("--council", metavar="NAME", help="A council answers: bank, or MODULE:NAME of your own.")
@click.option("--bank", metavar="FILE", help="A reply bank of `turnbudget mine`.")
@click.option(
    "--speculation/--no-speculation",
    default=None,
    help="Work ahead of the caller's last word, or do not, whatever the settings say.",
)
@one_line
def talk(**given: Any) -> None:
    """Talk to the agent by microphone, and see where each millisecond goes.

    Every turn is shown as it ends: what was heard, what was said, and how long each stage took from your last
    voiced sample to our first audible one, the way through the sound card included. Ctrl-C hangs up and sums
    up. Needs the extra mic: pip install 'turnbudget[mic]'.
    """
    if given["list_devices"]:
        found = devices()
        click.echo("\n".join(listing(found)) or "there is no sound device")
        return
    config = with_options(load(given["config"]), given)
    if given["backend"]:
        config = msgspec.structs.replace(
            config, llm=msgspec.structs.replace(config.llm, backend=given["backend"])
        )
    card = PortAudio(given["microphone"], given["speaker"], given["latency"])
    microphone, speaker = card.names
    console = Console()
    settings = TalkSettings(
        config,
        given["folder"],
        given["echo"],
        push_to_talk=given["push_to_talk"],
        source=f"microphone {microphone}, speaker {speaker}",
        force=given["force"],
    )
    with Screen(console, config.budget_ms * clock.MS) as screen:
        screen.doing(settings.source)
        talked = clock.run(have_call(settings, card, screen), "wall")
    console.print()
    console.print(headline(talked.run.summary))
    click.echo(f"the call: {ms(talked.record.length_us)}, {talked.record.ended}")
    for note in talked.record.notes:
        click.echo(f"note: {note}")
    if settings.folder:
        click.echo(f"report: {settings.folder / REPORT}\nagain: turnbudget replay {settings.folder}")
    if talked.broken:
        say(talked.record.ended)
        sys.exit(BROKEN)
