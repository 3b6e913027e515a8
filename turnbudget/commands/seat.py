"""``turnbudget seat``: serve one agent to councils elsewhere, until it is told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import signal
from typing import TYPE_CHECKING, cast

from turnbudget.council.remote.broker import broker_at
from turnbudget.council.remote.serve import SLOTS, serve
from turnbudget.settings import engines
from turnbudget.voice.errors import ConfigError
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from collections.abc import Callable

    from turnbudget.agents.agent import Agent
    from turnbudget.council.remote.broker import Broker


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
