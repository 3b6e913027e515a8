"""The crew: every task of one call, none of which outlives it unseen.

It is :class:`asyncio.TaskGroup` but for the end. A task group waits for ever for a task that swallows its
cancellation, and the call with it. The crew waits two seconds, then goes, and names who stayed.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from types import TracebackType

T = TypeVar("T")

PATIENCE_US: Final = 2 * clock.SECOND
"""Longest wait for cancelled tasks at the end (µs; 2 s)."""


class Crew:
    """Tasks that end with the block; a task that fails ends the block with its error."""

    def __init__(self) -> None:
        self._tasks: dict[asyncio.Task[Any], None] = {}  # in the order of their birth
        self._failures: list[BaseException] = []
        self._parent: asyncio.Task[Any] | None = None
        self._leaving = False
        self._interrupted = False
        self.dangling: tuple[str, ...] = ()
        """Names of tasks that did not end when they were cancelled, and were left behind."""

    def create_task(self, work: Coroutine[Any, Any, T], *, name: str) -> asyncio.Task[T]:
        """Start *work* as a task of the crew."""
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks[task] = None
        task.add_done_callback(self._done)
        return task

    def __len__(self) -> int:
        return len(self._tasks)

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.pop(task, None)
        if task.cancelled() or not (error := task.exception()):
            return
        self._failures.append(error)
        if self._parent and not self._leaving and not self._interrupted:
            self._interrupted = True
            self._parent.cancel()

    async def __aenter__(self) -> Self:
        self._parent = asyncio.current_task()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self._leaving = True
        interrupted = self._interrupted and isinstance(error, asyncio.CancelledError)
        if interrupted and self._parent:
            interrupted = self._parent.uncancel() == 0  # else somebody cancels us as well
        for task in self._tasks:
            task.cancel()
        await clock.wait_until(list(self._tasks), clock.now() + PATIENCE_US)
        self.dangling = tuple(task.get_name() for task in self._tasks)
        if self._failures and (error is None or interrupted):
            raise self._failures[0]
        return False
