"""Whether the caller's words are whole, so that nobody has to wait long to hear whether they go on.

They are if they answer what was asked, or wish for something, and nothing in them may still grow. To take a
wish for whole that is none cuts a caller off; to wait for more than comes costs half a second. So whatever is
doubtful is not settled: "I lost my card" is a story, whose wish ("can you send me a new one") comes next.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from turnbudget.agents.filling import Filling
    from turnbudget.agents.values.heard import Heard

_DICTATED: Final = frozenset(("digits", "spelling"))
_HELP: Final = r"help(?: me)?(?: out)?(?: with (?:something|that|this))?"
_ONLY_OPENS: Final = re.compile(
    rf"\b(?:(?:can|could) you (?:please )?{_HELP}"
    rf"|i(?: would|'d)? (?:need|want|like) (?:some |your |a little )?{_HELP}"
    r"|i have a (?:question|problem)|(?:i'm|i am) calling because|(?:can|may|could) i ask(?: you)?"
    r"|how are you(?: doing)?(?: today)?)\b"
)
"""What opens a call and wishes for nothing yet."""
_WISH: Final = re.compile(
    r"\b(?:(?:i|we)(?:'d| would) (?:\w+ )?(?:like|love|want|need)|would (?:also )?like (?:to|a|an|my|some)"
    r"|(?:i|we) (?:also |just |really |actually |only )*(?:need|want|wanna|wish|have to|gotta|must)"
    r"|(?:i'm|i am|we're) (?:\w+ )?(?:calling|trying|looking|hoping) (?:to|for|about)"
    r"|(?:can|could|would|will|may) (?:you|i|we)|wondering (?:if|whether|what|when|how|about)"
    r"|how (?:much|many|do|can)|what(?:'s| is| are| were)|when (?:do|are|is)"
    r"|(?:let|help|give|tell|send|get|order|show) me|please)\b"
)
_COMMANDS: Final = re.compile(
    r"^(?:(?:yes|yeah|hi|hello|hey|okay|well|so|and|also|um|just) )*(?:transfer|move|pay|check|reset|order|"
    r"schedule|book|replace|cancel|change|make|show|tell|find|send|get|give|read|set up)\b"
)
_DENIES: Final = re.compile(r"\bnot\b|n't\b|\b(?:neither|instead of|rather than)\b")
"""What makes an answer one half of a correction: "not my checking account"."""
_ASKS: Final = re.compile(
    r"\b(?:what|what's|when|where|where's|who|which|why|how|do you|does|did|can i|can you|could you|is there"
    r"|are there|is it|are you|is the|are the|may i)\b"
)


def wishes(words: str) -> bool:
    """Say whether *words* ask for something, and do not only tell of it."""
    told = _ONLY_OPENS.sub(" ", words)
    return bool(_WISH.search(told) or _COMMANDS.match(told.strip()))


def asks(utterance: str, words: str) -> bool:
    """Say whether *utterance*, plainly *words*, is a question."""
    return utterance.rstrip("\"'”’ ").endswith("?") or bool(_ASKS.search(words))


def settles(heard: Heard, filling: Filling, *, answers: bool, wish: bool) -> bool:
    """Say whether *heard* needs no more words, given the *filling* it made.

    It *answers* what was asked, or it was taken for a *wish*, which it may yet only tell the story of.
    """
    if not (answers and not _DENIES.search(heard.words)) and not (wish and wishes(heard.words)):
        return False
    if filling.growing or filling.partial or heard.taking_back:
        return False
    if heard.ends is None:
        return True
    return filling.closing and heard.ends.kind in _DICTATED
