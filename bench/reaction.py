"""How quickly a call reacts to its caller: ``python bench/reaction.py --n 200``.

Virtual time, so the same figures on every machine: what the rules of barge-in cost, with a detector that
rises 40 ms late and falls 80 ms late, and a recogniser that knows a word 100 to 600 ms after its end. Silence
is the last audible sample that we handed over; what a line buffers comes on top.
"""

from __future__ import annotations

import click
from facts import facts

from turnbudget.testing.reactions import PROMISES, measure
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import nearest_rank
from turnbudget.voice.time.clock import MS


@click.command()
@click.option("--n", "count", default=200, show_default=True, help="Calls of each kind.")
@click.option("--seed", default=0, show_default=True)
def main(count: int, seed: int) -> None:
    """Print each reaction's p50, p95 and worst, against what it must not exceed."""
    print(facts())
    found = clock.run(measure(count, seed), "virtual")
    print(f"{'':44}{'n':>6}{'p50':>10}{'p95':>10}{'worst':>10}{'at most':>10}")
    for promise in PROMISES:
        us = sorted(found[promise])
        shown = "".join(
            f"{value / MS:7.0f} ms" for value in (nearest_rank(us, 50), nearest_rank(us, 95), us[-1])
        )
        print(f"{promise.name:44}{len(us):6}{shown}{promise.most_ms:7} ms")


if __name__ == "__main__":
    main()
