"""``turnbudget seat`` loads what it is told to, says what is wrong with it, and leaves when it is told to."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from seated import needs_mosquitto, until

from turnbudget.agents.agent import Context
from turnbudget.commands.agents import load_agent, run_seat
from turnbudget.council.remote.agent import RemoteAgent, Requester
from turnbudget.testing.mosquitto import Mosquitto
from turnbudget.voice.errors import ComponentError, ConfigError
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Budget
from turnbudget.voice.time.clock import MS, SECOND


class Blocking:
    name = "blocking"

    def answer(self, utterance, context, budget):  # noqa: ARG002 - the seam's
        return None


class Nameless:
    name = ""

    async def answer(self, utterance, context, budget):  # noqa: ARG002 - the seam's
        return None


class Short:
    name = "short"

    async def answer(self, utterance):  # noqa: ARG002 - too few
        return None


def test_a_class_is_made_and_an_object_taken():
    assert load_agent("seated:Echo").name == "echo"


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("seated", "write module:name"),
        (":Echo", "write module:name"),
        ("nowhere:Echo", "No module named 'nowhere'"),
        ("seated:Nobody", "has no attribute 'Nobody'"),
        ("seated:Says", "missing 1 required positional argument"),
        ("seated:SECOND", "is no agent"),
        (f"{__name__}:Blocking", "is no agent"),
        (f"{__name__}:Nameless", "is no agent"),
        (f"{__name__}:Short", "is no agent"),
    ],
)
def test_what_is_no_agent_is_told_in_one_line(monkeypatch, name, fault):
    monkeypatch.setitem(sys.modules, __name__, sys.modules.get(__name__) or _this())
    with pytest.raises(ConfigError) as caught:
        load_agent(name)
    assert fault in str(caught.value)
    assert "\n" not in str(caught.value)


def _this():
    module = type(sys)(__name__)
    module.__dict__.update(globals())
    return module


def test_a_broker_that_is_not_there_is_an_error_unless_it_is_waited_for(monkeypatch, nowhere):
    monkeypatch.setattr("turnbudget.council.remote.serve.START_US", 100 * MS)
    with pytest.raises(ComponentError, match="the broker cannot be reached"):
        run_seat("seated:Echo", f"mqtt://{nowhere}")


@needs_mosquitto
@pytest.mark.clock("wall")
async def test_it_serves_from_another_process_until_it_is_told_to_stop():
    async with Mosquitto() as local, Requester(local.broker) as requester:
        serve = f"run_seat('seated:Echo', '{local.broker}', tell=print)"
        code = f"from turnbudget.commands.agents import run_seat; {serve}"
        command = [sys.executable, "-u", "-c", code]
        here = Path(sys.modules["seated"].__file__).parent
        process = await clock.offload(
            lambda: subprocess.Popen(command, cwd=here, stdout=subprocess.PIPE, text=True)  # noqa: S603
        )
        with process:
            try:
                await until(lambda: requester.serving("echo"), 20 * SECOND)
                agent = RemoteAgent("echo", requester)
                assert (await agent.answer("hi", Context(), Budget.of(SECOND))).opening == "You said hi."
                process.send_signal(signal.SIGTERM)
                said, _ = await clock.offload(process.communicate)
            finally:
                process.kill()  # it must not outlive the test, nor be found by a later one
        assert (said, process.returncode) == (f"serving echo at {local.broker}\n", 0)
        await until(lambda: not requester.serving("echo"))
