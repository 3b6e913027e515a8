"""Commands about agents: held to written dialogues, or served to councils elsewhere."""

from __future__ import annotations

from pathlib import Path

import click

from turnbudget.commands.seat import run_seat
from turnbudget.commands.shell import Taught, one_line, say
from turnbudget.recorded import dialogues as written
from turnbudget.settings.answering import councils
from turnbudget.voice.time import clock


@click.command(
    cls=Taught,
    epilog="turnbudget dialogues dialogues.jsonl --council bank",
)
@click.argument("path", type=click.Path(path_type=Path))
@click.option(
    "--council",
    required=True,
    metavar="NAME",
    help="bank, which is shipped, or MODULE:NAME: a function that returns what makes a dialogue's council.",
)
@one_line
def dialogues(path: Path, *, council: str) -> None:
    """Hold written dialogues with a council: only the caller's words are fed, in virtual time.

    PATH is a .jsonl file of dialogues or a HarperValley folder. Printed are the tasks identified and the
    slots right, by group, with n; the last third of a file counts as held back.
    """
    make = councils(council, where="--council")
    outcomes = clock.run(written.hold_all(written.read(path), make), "virtual")
    for line in written.lines(outcomes):
        click.echo(line)


@click.command(
    cls=Taught,
    epilog="turnbudget seat --agent turnbudget.demos.smallest:table --broker mqtt://127.0.0.1\n"
    "TURNBUDGET_MQTT_PASSWORD=... turnbudget seat --agent my.agents:Faq --broker mqtts://user@broker.example",
)
@click.option("--agent", required=True, metavar="MODULE:NAME", help="The agent, or a class that makes it.")
@click.option("--broker", required=True, metavar="URL", help="mqtt://HOST[:PORT] or mqtts://…")
@click.option("--seat", default="", help="The seat's name; by default the agent's.")
@click.option("--wait", is_flag=True, help="Wait for a broker that is not there, instead of giving up.")
@one_line
def seat(agent: str, *, broker: str, seat: str, wait: bool) -> None:
    """Serve one agent over MQTT to councils in other processes or on other machines, until Ctrl-C.

    Several workers of one seat share its questions.
    """
    run_seat(agent, broker, seat=seat, wait=wait, tell=say)
