"""Every error we raise, by blame, so that a handler can tell whose fault it is.

::

    TurnbudgetError
    ├── UsageError         theirs: a file, option or setting that cannot be used (exit code 2)
    │   ├── AudioError         not the audio it says it is, or none
    │   ├── ConfigError        a setting that means nothing
    │   └── RunError           a run folder that cannot be written or read
    ├── ComponentError     a component's: an engine, service or device failed
    │   ├── MissingEngine      it is not installed; the message says what to type
    │   ├── AsrError           a transcriber gave nothing usable
    │   ├── TtsError           a synthesizer gave no sound, or too late
    │   └── LineError          the line broke
    └── Defect             ours: please report it
        ├── Deadlock           in virtual time nothing can ever happen any more
        └── LedgerError        an account that would not sum

A person sees one line: where, what, and what to do about it. :class:`BrokenPromise` stands beside the tree:
it fails a component's own test, and no call raises it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class TurnbudgetError(Exception):
    """Anything turnbudget raises; ``str()`` of it is one line that a person can act on."""

    def __init__(self, what: str, *, where: str = "", remedy: str = "") -> None:
        self.what = what
        self.where = where
        self.remedy = remedy
        super().__init__(what)

    def __str__(self) -> str:
        line = f"{self.where}: {self.what}" if self.where else self.what
        return f"{line}; {self.remedy}" if self.remedy else line


class UsageError(TurnbudgetError):
    """A file, option or setting that was given cannot be used."""


class AudioError(UsageError):
    """A file or stream is not the audio it says it is, or holds none."""


class ConfigError(UsageError):
    """A setting that means nothing, or contradicts another."""


class RunError(UsageError):
    """A run folder that cannot be written or read."""


class ComponentError(TurnbudgetError):
    """An engine, a service or a device failed."""


class MissingEngine(ComponentError):  # noqa: N818 - reads as what it is
    """An optional engine is not installed."""


class AsrError(ComponentError):
    """A transcriber gave nothing usable."""


class TtsError(ComponentError):
    """A synthesizer gave no sound, or gave it too late."""


class LineError(ComponentError):
    """The line broke."""


class Defect(TurnbudgetError):  # noqa: N818 - reads as what it is
    """A fault of turnbudget itself: please report it."""


class Deadlock(Defect):
    """In virtual time every task waits and no timer is set."""


class LedgerError(Defect):
    """An account that would not sum."""


class BrokenPromise(AssertionError):  # noqa: N818 - reads as what it is
    """A component does not keep what its seam promises; raised by the five ``check_*`` functions alone.

    ``whose`` names the component, and ``promises`` lists everything that it broke, in the order it was tried.
    """

    def __init__(self, whose: str, promises: Iterable[str]) -> None:
        self.whose = whose
        self.promises = tuple(dict.fromkeys(promises))
        super().__init__(whose, self.promises)

    def __str__(self) -> str:
        count = "a promise" if len(self.promises) == 1 else f"{len(self.promises)} promises"
        return "\n  - ".join((f"{self.whose} breaks {count}:", *self.promises))

    @classmethod
    def unless_kept(cls, whose: str, broken: Iterable[str]) -> None:
        """Raise the exception if *broken* names anything."""
        promises = tuple(broken)
        if promises:
            raise cls(whose, promises)
