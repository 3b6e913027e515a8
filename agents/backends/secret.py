"""A key, from the environment and nowhere else; it is shown to its provider only."""

from __future__ import annotations

import os

from turnbudget.voice.errors import ConfigError


class Secret:
    """Holds a key so that no log, error or repr shows it."""

    __slots__ = ("_value",)

    def __init__(self, value: str = "") -> None:
        self._value = value

    def __bool__(self) -> bool:
        return bool(self._value)

    def __repr__(self) -> str:
        return "Secret(***)"

    def reveal(self) -> str:
        """Return the key, for the request's header."""
        return self._value

    def hide(self, text: str) -> str:
        """Return *text* without the key: providers repeat it in their errors."""
        return text.replace(self._value, "***") if self._value else text


def from_environment(variable: str, *, where: str, needed: bool = True) -> Secret:
    """Return the key in the environment's *variable*; raises ConfigError if it is *needed* and not there."""
    value = os.environ.get(variable, "").strip() if variable else ""
    if needed and not value:
        raise ConfigError("no key", where=where, remedy=f"set {variable}")
    if not value.isprintable() or not value.isascii():
        raise ConfigError(f"the key in {variable} is not printable ASCII", where=where, remedy="set it anew")
    return Secret(value)
