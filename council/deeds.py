"""What a chosen opinion promises is done here: once, when the caller can no longer be going on, and told."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from turnbudget.council.dialogue import Deed
from turnbudget.council.opinions import dismiss
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from turnbudget.agents.agent import Action
    from turnbudget.council.actions import Actions, Done
    from turnbudget.council.convene import HeardOpinion
    from turnbudget.council.dialogue import Dialogue, Opened
    from turnbudget.voice.call.responder import Question


class Deeds:
    """The deeds of one call; *still* is said of one that outlasts the caller's patience."""

    def __init__(self, actions: Actions, dialogue: Dialogue, still: str) -> None:
        self._actions = actions
        self._dialogue = dialogue
        self._still = still

    def key(self, action: Action, opened: Opened) -> str:
        """Return what makes *action* the same action, asked again in the exchange that is *opened*."""
        return self._actions.key(action, opened.exchange)

    def begun(self, action: Action, opened: Opened) -> bool:
        """Say whether *action* has been begun in this exchange."""
        return self._actions.begun(self.key(action, opened))

    async def act(
        self, action: Action, chosen: HeardOpinion, owed: list[str], opened: Opened, question: Question
    ) -> AsyncGenerator[str, None]:
        """Do the *action* of the *chosen* opinion; yield what is *owed* with how it ended, and the rest.

        Nothing begins before the caller can no longer be going on, nor while they speak.
        """
        await clock.sleep_until(question.act_at_us)
        await question.quiet()
        opinion = chosen.opinion
        deed = self._do(action, chosen, opened, question)
        await clock.wait_until([deed.task], question.budget.ends_us)
        told = deed.tell()
        if told is None:
            question.notes.decide("action under way", f"{action.name} has outlasted the patience")
            told = self._still
        yield " ".join((*owed, told))
        if deed.succeeded:
            async with contextlib.aclosing(opinion.rest) as rest:
                async for text in rest:
                    yield text
        else:
            await dismiss(opinion)

    def _do(self, action: Action, chosen: HeardOpinion, opened: Opened, question: Question) -> Deed:
        """Begin the *action* of the *chosen* opinion, which takes effect when that has succeeded."""
        name, opinion = chosen.seat.name, chosen.opinion
        key = self.key(action, opened)
        number = 0 if self._actions.begun(key) else self._dialogue.reserve()

        def then(done: Done) -> None:
            self._dialogue.did(number, name, opinion, failed=bool(done.failure))

        task = self._actions.run(action, key, question.crew, question.notes, then)
        deed = Deed(key, action, opinion.opening, question.said, opened.exchange, len(question.history), task)
        self._dialogue.owe(deed)
        return deed
