r"""Agents from a TOML file: each ``[[agent]]`` has a ``kind``, a name, and what that kind asks for.

::

    [[agent]]
    kind = "form"
    name = "appointment"
    trigger = ['\bappointment\b']
    action = "book"
    done = "You are booked for {day}."

      [[agent.slots]]
      name = "day"
      type = "date"
      ask = "What day would you like?"

Unknown keys are refused with their line, wrong types with the place they stand at.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import msgspec

from turnbudget.agents.backends.backend import Tool
from turnbudget.agents.check import proven
from turnbudget.agents.faq import LEAST, Faq, load
from turnbudget.agents.form import STARTED, Form
from turnbudget.agents.handoff import TIMES, Handoff
from turnbudget.agents.llm import CONFIDENCE, SYSTEM, Llm
from turnbudget.agents.lookup import CONFIDENCE as FOUND
from turnbudget.agents.lookup import Http, Lookup, Sql
from turnbudget.agents.slot import Slot  # noqa: TC001 - msgspec reads the types of the tables
from turnbudget.agents.smalltalk import Smalltalk
from turnbudget.voice.errors import ConfigError
from turnbudget.voice.language.language import ENGLISH, Language, language
from turnbudget.voice.reading import toml
from turnbudget.voice.time.clock import MS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from turnbudget.agents.agent import Agent
    from turnbudget.agents.backends.backend import Backend
    from turnbudget.agents.lookup import Source

Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Words: TypeAlias = tuple[str, ...]


class AgentTable(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="kind", tag="agent"
):
    """What every agent has: its name, and its standing in a council."""

    name: Annotated[str, msgspec.Meta(min_length=1)]
    """What the agent is called, once in a file."""
    about: str = ""
    """What a caller would call its matter ("your balance")."""
    rank: int = 0
    """Its seat's rank: of good opinions the one of the highest is taken."""
    settle: Share = 0.8
    """The confidence (0 to 1) from which its opinion ends a hearing."""
    subclass: str = msgspec.field(default="", name="class")
    """The subclass of its kind, of those that whoever loads the file has given."""


class FormTable(AgentTable, frozen=True, kw_only=True, tag="form"):
    """A form; see :class:`turnbudget.agents.form.Form`."""

    trigger: Words
    slots: tuple[Slot, ...] = ()
    begin: str = ""
    confirm: str = ""
    meanwhile: str = ""
    done: str | None = None
    settled: str | None = None
    change: str | None = None
    action: str = ""
    otherwise: str = ""
    confidence: Share = STARTED


class FaqTable(AgentTable, frozen=True, kw_only=True, tag="faq"):
    """Answers from ``file``, found beside this one; see :class:`turnbudget.agents.faq.Faq`."""

    file: str
    least: Share = LEAST


class LookupTable(AgentTable, frozen=True, kw_only=True, tag="lookup"):
    """A ``query`` in a SQLite ``database``, or a ``url``; see :class:`turnbudget.agents.lookup.Lookup`."""

    trigger: Words
    say: str
    database: str = ""
    query: str = ""
    url: str = ""
    headers: dict[str, str] = {}
    nothing: str = "I could not find anything on that."
    otherwise: str = "I'm sorry, I can't look that up right now."
    needs: Words = ()
    deadline_ms: Annotated[int, msgspec.Meta(ge=1, le=3_600_000)] = 300
    confidence: Share = FOUND


class SmalltalkTable(AgentTable, frozen=True, kw_only=True, tag="smalltalk"):
    """Small talk, in other words where ``says`` has them; see ``Smalltalk``."""

    says: dict[str, str] = {}


class HandoffTable(AgentTable, frozen=True, kw_only=True, tag="handoff"):
    """A transfer to a person; see :class:`turnbudget.agents.handoff.Handoff`."""

    to: str = "operator"
    say: str = ""
    sorry: str = ""
    asks: Words = ()
    angry: Words = ()
    times: Annotated[int, msgspec.Meta(ge=1, le=20)] = TIMES
    action: str = ""


class ToolTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """``[[agent.tools]]``: a tool a model may ask for; ``say`` is said with its ``{result}``."""

    name: str
    description: str = ""
    parameters: dict[str, Any] = {}
    say: str = ""


class LlmTable(AgentTable, frozen=True, kw_only=True, tag="llm"):
    """A backend with a domain prompt; see :class:`turnbudget.agents.llm.Llm`."""

    backend: str = ""
    """Which of several, for whoever makes backends; '' is the only one."""
    system: str = SYSTEM
    tools: tuple[ToolTable, ...] = ()
    trigger: Words = ()
    confidence: Share = CONFIDENCE
    max_tokens: Annotated[int, msgspec.Meta(ge=1, le=4_096)] = 80


AnyTable: TypeAlias = FormTable | FaqTable | LookupTable | SmalltalkTable | HandoffTable | LlmTable


class File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file: its agents, and the ``language`` they speak."""

    language: str = "en"
    agent: tuple[AnyTable, ...] = ()


@dataclass(frozen=True, slots=True)
class Configured:
    """An agent as it was configured, with its standing in a council."""

    agent: Agent
    """The agent."""
    about: str = ""
    """What a caller would call its matter."""
    rank: int = 0
    """Its seat's rank."""
    settle: float = 0.8
    """The confidence (0 to 1) from which its opinion ends a hearing."""


@dataclass(frozen=True, slots=True)
class Makings:
    """What a file of agents needs from whoever loads it."""

    folder: Path
    """Where the agents' files are looked for."""
    database: Path | None = None
    """Where look-ups ask that name no database."""
    backend: Callable[[str], Backend] | None = None
    """Makes a backend of its name; ``None`` where none can be made."""
    classes: Mapping[str, type[Any]] = field(default_factory=dict)
    """The subclasses that the file may name."""
    language: Language = ENGLISH
    """What its agents speak."""


def read(
    path: Path,
    *,
    database: Path | None = None,
    backend: Callable[[str], Backend] | None = None,
    classes: Mapping[str, type[Any]] | None = None,
) -> tuple[Configured, ...]:
    """Return the agents of the file at *path*, in its order; raises ConfigError, one line with the place.

    Without a *backend* its ``llm`` agents are left out.
    """
    told = toml(path, File, remedy="see agents/config.py for the keys")
    try:
        spoken = language(told.language)
    except ConfigError as error:
        raise ConfigError(error.what, where=f"{path}: {error.where}", remedy=error.remedy) from None
    makings = Makings(path.parent, database, backend, classes or {}, spoken)
    asked = [table for table in told.agent if backend or not isinstance(table, LlmTable)]
    try:
        made = tuple(configured(table, makings) for table in asked)
    except ConfigError as error:
        where = f"{path}: {error.where}" if error.where else str(path)
        raise ConfigError(error.what, where=where, remedy=error.remedy) from None
    if not made:
        raise ConfigError("there is no agent", where=str(path), remedy="write [[agent]]")
    return made


def configured(table: AnyTable, makings: Makings) -> Configured:
    """Return the agent that *table* describes; raises ConfigError."""
    agent = _MAKERS[type(table)](table, makings)
    if fault := proven(agent):
        raise ConfigError(fault, where=f"agent {table.name}", remedy="see agents/agent.py")
    return Configured(agent, table.about, table.rank, table.settle)


def _class(table: AnyTable, makings: Makings, kind: type[Any]) -> type[Any]:
    if not table.subclass:
        return kind
    if table.subclass not in makings.classes:
        known = ", ".join(sorted(makings.classes)) or "none"
        raise ConfigError(
            f"no class is called {table.subclass!r}", where=f"agent {table.name}", remedy=f"there are {known}"
        )
    return makings.classes[table.subclass]


def _settings(table: AnyTable, *but: str) -> dict[str, Any]:
    """Return the settings of *table* but those of its standing and those in *but*."""
    left_out = {"about", "rank", "settle", "subclass", *but}
    fields = msgspec.structs.fields(table)
    return {each.name: getattr(table, each.name) for each in fields if each.name not in left_out}


def _form(table: FormTable, makings: Makings) -> Any:
    return _class(table, makings, Form)(**_settings(table), language=makings.language)


def _faq(table: FaqTable, makings: Makings) -> Any:
    passages = load(makings.folder / table.file)
    return _class(table, makings, Faq)(table.name, passages, least=table.least)


def _lookup(table: LookupTable, makings: Makings) -> Any:
    where = f"agent {table.name}"
    database = makings.folder / table.database if table.database else makings.database
    source: Source
    if table.url and not table.query:
        source = Http(table.url, table.headers)
    elif table.query and database and not table.url:
        source = Sql(database, table.query)
    else:
        raise ConfigError("it needs a url, or a database and a query", where=where, remedy="say one of them")
    settings = _settings(table, "url", "headers", "database", "query", "deadline_ms", "name")
    return _class(table, makings, Lookup)(table.name, source, deadline_us=table.deadline_ms * MS, **settings)


def _smalltalk(table: SmalltalkTable, makings: Makings) -> Any:
    return _class(table, makings, Smalltalk)(table.name, table.says, language=makings.language)


def _handoff(table: HandoffTable, makings: Makings) -> Any:
    return _class(table, makings, Handoff)(**_settings(table), language=makings.language)


def _llm(table: LlmTable, makings: Makings) -> Any:
    if makings.backend is None:
        raise ConfigError(f"no backend {table.backend!r} can be made here", where=f"agent {table.name}")
    tools = tuple(Tool(tool.name, tool.description, tool.parameters) for tool in table.tools)
    says = {tool.name: tool.say for tool in table.tools if tool.say}
    settings = _settings(table, "backend", "tools", "name")
    return _class(table, makings, Llm)(
        table.name, makings.backend(table.backend), tools=tools, says=says, **settings
    )


_MAKERS: Final[Mapping[type[Any], Callable[[Any, Makings], Any]]] = {
    FormTable: _form,
    FaqTable: _faq,
    LookupTable: _lookup,
    SmalltalkTable: _smalltalk,
    HandoffTable: _handoff,
    LlmTable: _llm,
}
