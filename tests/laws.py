"""A law over many cases is one test: it holds for each of them, or fails once and names all that break it."""

from __future__ import annotations

import functools
import inspect

import pytest

from turnbudget.voice.time import clock


def each(names, cases, *, ids=None):
    """Hold a test for each of *cases*, its arguments *names*: both as pytest's parametrize has them.

    Cases share the test's fixtures; of an ``async`` test each has a virtual loop of its own.
    """
    names = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    told = [_told(case, len(names)) for case in cases]
    if callable(ids):
        told = [(", ".join(str(ids(value)) for value in values), values) for _, values in told]
    elif ids is not None:
        told = [(name, values) for name, (_, values) in zip(ids, told, strict=True)]

    def law(test):
        @functools.wraps(test)
        def holds(**fixtures):
            found = []
            for name, values in told:
                try:
                    given = test(**fixtures, **dict(zip(names, values, strict=True)))
                    if inspect.iscoroutine(given):
                        clock.run(given, "virtual")
                except OffendersError as error:
                    found += [(f"{name}, {inner}", each) for inner, each in error.found]
                except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - each is told
                    found.append((name, error))
            if found:
                raise OffendersError(found, len(told)) from found[0][1]

        signature = inspect.signature(test)
        left = [part for name, part in signature.parameters.items() if name not in names]
        holds.__signature__ = signature.replace(parameters=left)
        del holds.__wrapped__  # or pytest would look through to the test's own parameters
        return holds

    return law


class OffendersError(AssertionError):
    """The cases that break a law, each with its error."""

    def __init__(self, found, count):
        self.found = found
        listed = "\n".join(f"- {name}: {_line(error)}" for name, error in found)
        super().__init__(f"{len(found)} offenders in {count} cases:\n{listed}")


def _told(case, count):
    """Return what *case* is called, and its values."""
    if isinstance(case, type(pytest.param())):
        return case.id or _shown(case.values), case.values
    values = (case,) if count == 1 else tuple(case)
    return _shown(values), values


def _shown(values):
    text = ", ".join(map(repr, values))
    return text if len(text) <= 120 else f"{text[:117]}..."


def _line(error):
    """Return in one line what was wrong."""
    text = str(error) if isinstance(error, AssertionError) else f"{type(error).__name__}: {error}"
    return text.strip().partition("\n")[0] or type(error).__name__
