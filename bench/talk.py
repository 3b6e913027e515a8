"""Conversations by chance, whole calls in virtual time: ``python bench/talk.py --n 10000``.

A caller asks, pauses, coughs, says "mhm", "stop" and "hello?", breaks in, mumbles, keeps silent and hangs up,
at any instant. After each call the promises are checked: no dead air, no double talk, no reply heard twice,
an answer to all that was due, ledgers that sum, a history that equals the frames that left. The same seed is
the same conversation: ``--first 4711 --n 1``.
"""

from __future__ import annotations

import sys
from collections import Counter

import click
from facts import facts

from turnbudget.testing.conversation import by_chance, check, converse
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import SECOND


def play(seed: int, seen: Counter[str]) -> str:
    """Play conversation *seed*, count what happened in it, and return which promise it broke, '' if none."""
    acts, setting = by_chance(seed)
    try:
        played, voice, due, noted = clock.run(converse(acts, setting), "virtual")
        seen["calls"] += 1
        seen["s of call"] += played.us // SECOND
        seen["frames that left"] += len(played.line.sent)
        seen["utterances due an answer"] += len(due)
        seen.update(f"turns {outcome}" for outcome in played.outcomes)
        for row in played.rows:
            seen.update(
                one.took for one in row.account.decisions if one.took in {"reply held", "reply goes on"}
            )
        check(played, voice, due, noted)
    except Exception as error:  # noqa: BLE001 - a call that breaks is a finding, the next is played all the same
        return " ".join(f"{type(error).__name__}: {error}".split())
    return ""


@click.command()
@click.option("--n", "count", default=1_000, show_default=True, help="Conversations.")
@click.option("--first", default=0, show_default=True, help="The first one's seed.")
def main(count: int, first: int) -> None:
    """Play the conversations, and print what happened in them and which broke a promise."""
    print(facts())
    seen: Counter[str] = Counter()
    broken = {}
    for seed in range(first, first + count):
        if why := play(seed, seen):
            broken[seed] = why
            print(f"seed {seed}: {why}", flush=True)
    for name, number in sorted(seen.items()):
        print(f"{name:28}{number:12,}")
    print(f"{len(broken)} of {count} conversations broke a promise")
    sys.exit(bool(broken))


if __name__ == "__main__":
    main()
