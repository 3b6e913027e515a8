"""Does a reply fit where a person replied something? A mechanical judge, stricter than a reader.

A reply is *wrong* if a human reader would say that it does not fit there. The judge says

- ``same``: the person did the same thing: the same question, the same announcement, a farewell;
- ``misfit``: the person told of something first ("it has been sent"), and the reply passes over it;
- ``other``: the person did something else, but this reply, too, was given to such words in that state (twice
  or more, and in a fifth of the cases), and it asks for nothing that the caller has told already;
- ``misfit``: anything else, too; for a person to judge.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from turnbudget.speculative.bank.acts import ALIKE
from turnbudget.speculative.bank.moves import moves, same_move, told_something

if TYPE_CHECKING:
    from collections.abc import Container

    from turnbudget.speculative.bank.bank import Reply
    from turnbudget.speculative.bank.words import Classes

ReplyVerdict = Literal["same", "other", "misfit"]

OFTEN: Final = 2
SHARE: Final = 0.2


def judge(reply: Reply, replied: str, known: Container[str], choices: Classes) -> ReplyVerdict:
    """Return whether *reply* fits where a person *replied* that, the slots *known* having been told."""
    does, did = moves(reply.says, choices)[:1], moves(replied, choices)
    if not reply.announces and not reply.asks and any(told_something(move) for move in did):
        return "misfit"
    if any(same_move(one, other) > ALIKE for one in does for other in did):
        return "same"
    usual = reply.count >= OFTEN and reply.count >= SHARE * reply.of
    return "other" if usual and (reply.confirms or reply.asks not in known) else "misfit"
