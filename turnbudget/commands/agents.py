"""Commands about agents: held to written dialogues, or served to councils elsewhere."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import signal
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from turnbudget.commands.shell import Taught, one_line, say
from turnbudget.council.remote.broker import broker_at
from turnbudget.council.remote.serve import SLOTS, serve
from turnbudget.recorded import dialogues as written
from turnbudget.settings import engines
from turnbudget.settings.answering import councils
from turnbudget.voice.errors import ConfigError
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from collections.abc import Callable

    from turnbudget.agents.agent import Agent
    from turnbudget.council.remote.broker import Broker


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


def run_seat(  # noqa: PLR0913 - the command's options, each by its name
    agent: str,
    broker: str,
    *,
    seat: str = "",
    slots: int = SLOTS,
    wait: bool = False,
    tell: Callable[[str], None] = lambda _: None,
) -> None:
    """Serve the *agent* ``module:Class`` at the *broker* ``mqtt://...`` until Ctrl-C or SIGTERM.

    With *wait* a broker that is not there is waited for, else it is an error; raises TurnbudgetError.
    """
    place = broker_at(broker)
    found = load_agent(agent)
    clock.run(_serve(found, place, seat=seat, slots=slots, required=not wait, tell=tell), "wall")


async def _serve(  # noqa: PLR0913 - as above
    agent: Agent,
    broker: Broker,
    *,
    seat: str,
    slots: int,
    required: bool,
    tell: Callable[[str], None],
) -> None:
    this = cast("asyncio.Task[None]", asyncio.current_task())
    told: list[int] = []

    def stop() -> None:
        told.append(signal.SIGTERM)
        this.cancel()

    # Windows' loops take no signals; there a worker that is killed leaves its last will.
    with contextlib.suppress(NotImplementedError):
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop)
    try:
        await serve(agent, broker, seat=seat, slots=slots, required=required, tell=tell)
    except asyncio.CancelledError:
        if not told:
            raise


def load_agent(name: str) -> Agent:
    """Return the agent that ``module:Class`` (or ``module:object``) names; raises ConfigError."""
    return _checked(engines.make(name, {}, where="--agent"), name)


def _checked(agent: object, name: str) -> Agent:
    called = getattr(agent, "name", None)
    if not isinstance(called, str) or not called or not _answers(agent):
        raise ConfigError(
            f"{name} is no agent",
            where="--agent",
            remedy="give it a name, and async def answer(self, utterance, context, budget)",
        )
    return cast("Agent", agent)


def _answers(agent: object) -> bool:
    method = getattr(agent, "answer", None)
    if not inspect.iscoroutinefunction(method):
        return False
    try:
        inspect.signature(method).bind("", None, None)
    except TypeError:
        return False
    return True
