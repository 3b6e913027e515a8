"""A budget is one absolute end on the clock, and the arithmetic on it.

Deadlines, not timeouts: a child budget is made from its parent's and can never end later, and it is
passed as an argument, so nobody waits longer than whoever asked.
"""

from __future__ import annotations

from dataclasses import dataclass

from turnbudget.voice.time import clock


@dataclass(frozen=True, slots=True, order=True)
class Budget:
    """Time until an absolute end, in microseconds on the loop's clock."""

    ends_us: int

    @classmethod
    def of(cls, us: int) -> Budget:
        """Return a budget of *us* from now."""
        return cls(clock.now() + us)

    def left(self) -> int:
        """Return the microseconds left; negative once it has passed."""
        return self.ends_us - clock.now()

    def keep(self, us: int) -> Budget:
        """Return a budget that leaves *us* after it for what still has to come."""
        return Budget(self.ends_us - max(0, us))

    def share(self, us: int) -> Budget:
        """Return a budget of no more than *us* from now, and never longer than this one."""
        return Budget(min(self.ends_us, clock.now() + us))
