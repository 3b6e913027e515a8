"""Work ahead of a caller's last word, for whole calls: a guess on every text, and some that will not end."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from turnbudget.voice.call.responder import Reply
from turnbudget.voice.language.text import same
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import MS, SECOND


class Guesses:
    """Begins a reply on each text it hears of; number *stubborn* swallows its cancellation for 5 s.

    Without *on_pauses* it knows no text that is whole.
    """

    listens_us = 0

    def __init__(self, reply, *, cost_us=100 * MS, stubborn=None, on_pauses=True):
        self._reply, self._cost_us, self._stubborn = reply, cost_us, stubborn
        self._on_pauses = on_pauses
        self.texts, self.made = [], {}
        self._task = None

    def begin(self, crew):
        self._crew = crew

    def listening(self, history):
        """Have nothing to do yet."""

    def heard(self, said):
        if said:
            self._guess(said)

    def paused(self, question, draft, wait, sound):
        del draft, wait, sound
        if self._on_pauses:
            self._guess(question.said)

    def _guess(self, said):
        if self._task:
            self._task.cancel()
        self.texts.append(said)
        self._task = self._crew.create_task(self._make(len(self.texts), said), name=f"guess {said}")

    async def _make(self, number, said):
        try:
            await clock.sleep(self._cost_us)
        except asyncio.CancelledError:
            if number != self._stubborn:
                raise
            with suppress(asyncio.CancelledError):
                await clock.sleep(5 * SECOND)
        self.made[said] = self._reply

    def went_on(self):
        """Keep what there is."""

    def settle(self, said, ledger):
        """Tell nothing."""

    def match(self, question):
        for said, text in self.made.items():
            if same(said, question.said):
                return Reply(text, "guess", f"made on {said!r}")
        return None

    def opening(self, _):
        return None

    async def joined(self, *_):
        return None

    def hang_up(self):
        self.made.clear()
