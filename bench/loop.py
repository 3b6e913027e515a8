"""What the loop itself costs a 20 ms frame: ``python bench/loop.py``.

Every session does nothing but wait for its next frame's instant, as a Mouth does. On the wall clock the cost
is how late it wakes, and the CPU used; in virtual time, where nothing waits, it is CPU alone.
"""

from __future__ import annotations

import asyncio

import click
from facts import facts

from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import nearest_rank
from turnbudget.voice.time.clock import MS, SECOND

FRAME_US = 20 * MS
CALL_US = 10 * SECOND
SESSIONS = (1, 50)


async def paced(late: list[int], began: int) -> None:
    """Wait for one frame after another, and note how late each wait ended."""
    for frame in range(1, CALL_US // FRAME_US + 1):
        due = began + frame * FRAME_US
        await clock.sleep_until(due)
        late.append(clock.now() - due)


async def measure(sessions: int) -> tuple[list[int], int]:
    """Run *sessions* side by side; return every frame's lateness, ascending, and the CPU used (µs)."""
    late: list[int] = []
    began, cpu = clock.now(), clock.cpu()
    async with asyncio.TaskGroup() as crew:
        for session in range(sessions):
            # Calls do not begin together: their frames fall evenly into the 20 ms.
            crew.create_task(paced(late, began + session * FRAME_US // sessions))
    return sorted(late), clock.cpu() - cpu


@click.command()
def main() -> None:
    """Print the cost of a frame for each clock and number of sessions."""
    print(facts())
    print(f"{CALL_US // SECOND} s of 20 ms frames a session; late = woken after the frame's instant")
    columns = ("sessions", "late p50", "p99", "worst", "CPU a frame", "of a core")
    print(f"{'clock':8}" + "".join(f"{column:>12}" for column in columns))
    for kind in ("wall", "virtual"):
        for sessions in SESSIONS:
            late, cpu = clock.run(measure(sessions), kind)
            p50, p99 = nearest_rank(late, 50), nearest_rank(late, 99)
            times = "".join(f"{us:9} µs" for us in (p50, p99, late[-1]))
            print(f"{kind:8}{sessions:12}{times}{cpu / len(late):9.1f} µs{cpu / CALL_US:12.2%}")


if __name__ == "__main__":
    main()
