"""A simulated backend by name or file: ``gpu-small``, ``simulated:api-gpt-4.1``, ``mine.toml``.

A file names the preset it starts from and what is different::

    base = "gpu-batched"       # or kind = "endpoint", for an API without a preset
    name = "ours"
    mark = "measured"          # and source, as_of: where its numbers come from; else they are yours
    [machine]
    chips = 8
"""

from __future__ import annotations

import tomllib
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar, get_args

import msgspec

from turnbudget.agents.simulated.endpoint import Endpoint, Remote
from turnbudget.agents.simulated.engine import Engine
from turnbudget.agents.simulated.hardware import AS_OF, Constant, Instance, Mark
from turnbudget.agents.simulated.presets import PRESETS
from turnbudget.voice.errors import ConfigError

if TYPE_CHECKING:
    from turnbudget.agents.simulated.presets import Preset
    from turnbudget.agents.simulated.words import Words

S = TypeVar("S", bound=msgspec.Struct)
PREFIX: Final = "simulated:"
"""What the name of a backend begins with that is simulated."""
_NOT_OURS: Final = ("base", "kind", "mark", "source", "as_of", "probe")
"""Keys of a file that say where it comes from; ``[probe]`` is for whoever measured."""


def make(name_or_toml: str, *, seed: int = 0, text: Words | None = None) -> Engine | Endpoint:
    """Return a simulated backend by preset or TOML file; it says *text*, or an echo. Raises ConfigError."""
    preset = find(name_or_toml)
    return (
        Engine(preset, text, seed=seed) if isinstance(preset, Instance) else Endpoint(preset, text, seed=seed)
    )


def find(name_or_toml: str) -> Preset:
    """Return the preset of that name, or what the file of that name says."""
    name = name_or_toml.removeprefix(PREFIX)
    if name.endswith(".toml"):
        return load(Path(name))
    return named(name)


def named(name: str) -> Preset:
    """Return the preset called *name*."""
    if name not in PRESETS:
        near = get_close_matches(name, PRESETS, n=1)
        remedy = f"did you mean {near[0]}?" if near else f"there are {', '.join(PRESETS)}, or a .toml file"
        raise ConfigError(f"no preset is called {name!r}", where="simulated", remedy=remedy)
    return PRESETS[name]


def load(path: Path) -> Preset:
    """Return the preset that the file at *path* describes."""
    try:
        table = tomllib.loads(path.read_text("utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"cannot be read ({error.strerror})", where=str(path)) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"is not TOML ({error})", where=str(path)) from None
    try:
        return read(table, path.stem)
    except ConfigError as error:
        where = f"{path}: {error.where}" if error.where else str(path)
        raise ConfigError(error.what, where=where, remedy=error.remedy) from None


def read(table: dict[str, Any], name: str) -> Preset:
    """Return the preset that *table* describes, called *name* unless it says otherwise."""
    stamp = _stamp(table)
    own = {"name": name} | {key: value for key, value in table.items() if key not in _NOT_OURS}
    if "base" in table:
        return _overlaid(named(str(table["base"])), own, "", stamp)
    if table.get("kind") == "endpoint":
        if "ttft_median_us" not in own:
            raise ConfigError("is missing", where="ttft_median_us", remedy="the least an endpoint needs")
        return _overlaid(Remote(name=name, ttft_median_us=1), own, "", stamp)
    raise ConfigError("says neither base nor kind", remedy='add base = "gpu-batched", or kind = "endpoint"')


def dump(remote: Remote, *, source: str, as_of: str, probe: dict[str, str | float] | None = None) -> str:
    """Return a file for *remote*, measured at *source* on the day *as_of*, that :func:`load` reads."""
    plain = {field: getattr(remote, field) for field in remote.__struct_fields__}
    usual = Remote(name="", ttft_median_us=1)
    lines = [
        'kind = "endpoint"',
        'mark = "measured"',
        f"source = {_literal(source)}",
        f"as_of = {_literal(as_of)}",
    ]
    lines += [
        f"{key} = {_literal(value)}"
        for key, value in plain.items()
        if isinstance(value, str | int | float) and value != getattr(usual, key)
    ]
    price = {key: getattr(remote.price, key) for key in remote.price.__struct_fields__}
    for name, rows in (
        ("price", {key: v for key, v in price.items() if v is not None}),
        ("probe", probe or {}),
    ):
        if rows and (name == "probe" or remote.price != usual.price):
            lines += ["", f"[{name}]", *(f"{key} = {_literal(value)}" for key, value in rows.items())]
    return "\n".join(lines) + "\n"


def _literal(value: str | float) -> str:
    return msgspec.json.encode(value).decode().replace("\x7f", "\\u007f")


def _stamp(table: dict[str, Any]) -> tuple[Mark, str, str] | None:
    if "mark" not in table:
        return None
    if table["mark"] not in get_args(Mark):
        raise ConfigError(f"{table['mark']!r} is none", where="mark", remedy=", ".join(get_args(Mark)))
    return table["mark"], str(table.get("source", "")), str(table.get("as_of", AS_OF))


def _overlaid(record: S, table: dict[str, Any], path: str, stamp: tuple[Mark, str, str] | None) -> S:
    """Return *record* with what *table* says otherwise."""
    types = {field.name: field.type for field in msgspec.structs.fields(type(record))}
    changed: dict[str, Any] = {}
    for key, value in table.items():
        where = f"{path}{key}"
        if key not in types:
            near = get_close_matches(key, types, n=1)
            remedy = f"did you mean {near[0]}?" if near else f"there are {', '.join(types)}"
            raise ConfigError("is no field", where=where, remedy=remedy)
        present = getattr(record, key)
        if isinstance(present, msgspec.Struct) and isinstance(value, dict):
            changed[key] = _overlaid(present, value, f"{where}.", stamp)
        else:
            changed[key] = _converted(value, types[key], where, stamp)
    return msgspec.structs.replace(record, **changed)


def _converted(value: Any, kind: Any, where: str, stamp: tuple[Mark, str, str] | None) -> Any:
    if isinstance(value, bool):
        raise ConfigError(f"{value} is no number", where=where)
    try:
        made = msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise ConfigError(str(error), where=where) from None
    return Constant(made, *stamp) if stamp and isinstance(made, int | float) else made
