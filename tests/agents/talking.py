"""Whole calls that an LLM answers: who is asked, what they do, and what must hold of every turn."""

from __future__ import annotations

from dataclasses import dataclass, field

from turnbudget.agents.backends.contest import Plan
from turnbudget.agents.backends.modes import Mode
from turnbudget.agents.backends.scripted import ScriptedBackend, Step, fails, says, silent
from turnbudget.agents.llm import LlmResponder
from turnbudget.testing.stage import Played, after, check_account, play
from turnbudget.voice.time.clock import MS, SECOND

BUDGET = 800 * MS
WHOLE = "Your balance is ten dollars. Your savings are forty two dollars."
OTHER = "I am the other one. How can I help you?"
BROKEN = (*says(WHOLE)[:7], *fails("the connection was lost", after_us=900 * MS, again=True))
"""Breaks off behind "Your savings", when the first sentence is being heard."""
FAULTS = {
    "silent": (silent(), "no first token"),
    "a byte a second": (tuple(Step(SECOND, sign) for sign in WHOLE), "no first token"),
    "an error inside a 200": (fails("overloaded", after_us=60 * MS), "overloaded"),
    "429": (fails("HTTP 429", status=429, retry_after_us=30 * SECOND, again=True), "HTTP 429"),
    "503": (fails("HTTP 503", status=503, again=True), "HTTP 503"),
    "refused": (fails("no connection to 127.0.0.1:1"), "no connection to 127.0.0.1:1"),
    "no TLS": (fails("no secure connection to a:1"), "no secure connection to a:1"),
    "no such name": (fails("the name 'a' has no address"), "the name 'a' has no address"),
    "nothing at all": ((), "the answer is empty"),
    "white space": ((Step(50 * MS, " \n "),), "the answer is empty"),
}
"""What one provider does whatever it is asked, and the words by which a row names it."""


@dataclass
class Talked:
    """A call that has been played, and the records of its LLM attempts."""

    played: Played
    timings: list = field(default_factory=list)

    @property
    def rows(self):
        return self.played.turns

    @property
    def outcomes(self):
        return self.played.outcomes

    @property
    def said(self):
        return [row.said for row in self.rows]

    def first_sounds(self):
        return [after(row.account, row.account.first_sound_us) for row in self.rows]

    def told(self, turn=0):
        """What the row of *turn* says in words: its lanes and its decisions."""
        account = self.rows[turn].account
        lanes = [f"{lane.name}: {lane.outcome}" for lane in account.lanes]
        return "\n".join([*lanes, *(f"{one.took}: {one.because}" for one in account.decisions)])


async def talk(backend, *clips, system="Be brief.", budget_us=BUDGET, kind=LlmResponder, **more):
    """Play a call that *backend* answers; in every turn something sounds inside the budget."""
    timings = []
    responder = kind(backend, system=system, told=timings.append)
    talked = Talked(await play(*clips, responder=responder, budget_us=budget_us, **more), timings)
    for number, row in enumerate(talked.rows):
        check_account(row)
        if row.account.outcome != "superseded":
            assert row.account.first_sound_us is not None, talked.told(number)
            assert after(row.account, row.account.first_sound_us) <= BUDGET, talked.told(number)
    return talked


def alone(backend):
    """*backend* as a setting that names no second has it."""
    return Mode(backend.name, (backend,), Plan())


def first(*scripts):
    return ScriptedBackend(*scripts, name="first")


def healthy():
    return ScriptedBackend(says(OTHER), name="second")
