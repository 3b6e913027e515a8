"""What a council adds to a turn: ``python bench/seats.py``.

Local agents that answer at once, so that whatever time passes is the council's own: tasks, lanes, the
choice, the dialogue. Compared with asking one of them directly. The clock is the wall; the figures are
microseconds from the question to the reply.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click
from facts import facts

from turnbudget.agents.agent import Context, Opinion
from turnbudget.council.choose import POLICIES
from turnbudget.council.convene import Seat
from turnbudget.council.council import Council
from turnbudget.voice.call.ledger import Ledger
from turnbudget.voice.call.responder import Question, Said
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Budget, nearest_rank
from turnbudget.voice.time.clock import SECOND
from turnbudget.voice.time.crew import Crew

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

TURNS: Final = 1_000
HISTORY: Final = tuple(Said("caller" if n % 2 == 0 else "agent", f"sentence number {n}") for n in range(20))


class Local:
    """An agent that answers at once; every third has nothing to say."""

    def __init__(self, number: int) -> None:
        self.name = f"agent{number}"
        self._sure = 0.5 + number % 40 / 100
        self._silent = number % 3 == 1

    async def answer(self, utterance: str, context: Context, budget: Budget) -> Opinion | None:
        """Return an opinion of its own."""
        del context, budget
        if self._silent:
            return None
        return Opinion(f"{self.name} would answer {utterance!r} like this.", self._sure, slots={"a": "1"})


async def turns(ask: Callable[[int], Awaitable[object]]) -> list[int]:
    """Ask turn after turn and return what each took, ascending."""
    took = []
    for turn in range(TURNS):
        began = clock.now()
        await ask(turn)
        took.append(clock.now() - began)
    return sorted(took)


async def alone() -> list[int]:
    """Ask one agent directly."""
    agent = Local(0)
    return await turns(
        lambda _: agent.answer("what is my balance", Context(history=HISTORY), Budget.of(SECOND))
    )


async def together(seats: int, policy: str) -> list[int]:
    """Ask a council of *seats*, each turn as a call would."""
    async with Crew() as crew:
        council = Council([Seat(Local(n)) for n in range(seats)], call="bench", policy=policy)

        async def ask(turn: int) -> None:
            history = HISTORY[: 2 * (turn % 10)]
            within = Budget.of(SECOND)
            ledger = Ledger(clock.now())
            await council.answer(
                Question(
                    said="what is my balance",
                    history=history,
                    budget=within,
                    notes=ledger,
                    crew=crew,
                    sound_by=within,
                )
            )

        return await turns(ask)


@click.command()
def main() -> None:
    """Print p50 and p99 for each policy and number of seats."""
    print(facts())
    base = nearest_rank(clock.run(alone()), 50)
    print(f"{TURNS} turns each; one agent asked directly: p50 {base} µs")
    print(f"{'policy':18}{'seats':>6}{'p50':>10}{'p99':>10}")
    for policy in POLICIES:
        each = {}
        for seats in (1, 10, 100):
            took = clock.run(together(seats, policy))
            p50, p99 = nearest_rank(took, 50), nearest_rank(took, 99)
            each[seats] = p50
            print(f"{policy:18}{seats:6}{p50:7} µs{p99:7} µs")
        few, many = (each[10] - each[1]) / 9, (each[100] - each[10]) / 90
        print(f"{'':18}a further seat: {few:.1f} µs up to 10, {many:.1f} µs up to 100: {many / few:.2f}")


if __name__ == "__main__":
    main()
