"""Looks something up, over HTTP or in a SQL database, within a deadline of its own, and speaks what it found.

It only reads: a database is opened read-only, a request is a GET. What identifies the caller comes from the
call's facts, which nobody can talk their way into: of a fact and a spoken value of one name the fact counts.
"""

from __future__ import annotations

import json
import re
import sqlite3
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import quote

import aiohttp

from turnbudget.agents.agent import Opinion
from turnbudget.agents.phrases import found, patterns
from turnbudget.agents.values.heard import plain
from turnbudget.voice.errors import ComponentError, ConfigError
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import MS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from turnbudget.agents.agent import Context
    from turnbudget.voice.call.responder import Completeness
    from turnbudget.voice.time.budget import Budget

DEADLINE_US: Final = 300 * MS
"""How long a look-up may take (µs; 300 ms)."""
CONFIDENCE: Final = 0.85
"""The confidence in what was found."""
UNREACHED: Final = 0.4
"""The confidence in saying that nothing could be found out."""
_HOLE: Final = re.compile(r"\{([\w.]+)\}")
_LARGEST: Final = 1 << 18


class Source(Protocol):
    """Where something is looked up."""

    async def find(self, values: Mapping[str, str]) -> Mapping[str, Any] | None:
        """Return the fields found for *values*, ``None`` if there is nothing; raises ComponentError."""
        ...


class Sql:
    """A query on a SQLite database, its parameters by name (``:order``)."""

    def __init__(self, database: Path, query: str) -> None:
        self._database = database
        self._query = query

    async def find(self, values: Mapping[str, str]) -> Mapping[str, Any] | None:
        """Return the first row."""
        opened: list[sqlite3.Connection] = []
        try:
            return await clock.offload(self._first, dict(values), opened)
        except sqlite3.Error as error:
            raise ComponentError(f"{error}", where=str(self._database)) from None
        finally:
            for connection in opened:
                connection.interrupt()  # a query that nobody awaits any more ends

    def _first(self, values: dict[str, str], opened: list[sqlite3.Connection]) -> Mapping[str, Any] | None:
        uri = f"file:{quote(str(self._database))}?mode=ro"
        connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
        opened.append(connection)
        try:
            connection.row_factory = sqlite3.Row
            row = connection.execute(self._query, values).fetchone()
            return None if row is None else {key: row[key] for key in row.keys()}  # noqa: SIM118 - a Row's iteration gives values
        finally:
            opened.clear()
            connection.close()


class Http:
    """A GET request; ``{name}`` in *url* is a value, quoted. The answer is a JSON object."""

    def __init__(self, url: str, headers: Mapping[str, str] | None = None) -> None:
        if not url.startswith(("http://", "https://")):
            raise ConfigError(f"{url!r} is no http URL", where="lookup", remedy="begin with https://")
        self._url = url
        self._headers = dict(headers or {})
        self._session: aiohttp.ClientSession | None = None

    async def find(self, values: Mapping[str, str]) -> Mapping[str, Any] | None:
        """Return the answer's fields; 404 is nothing found."""
        url = _HOLE.sub(lambda hole: quote(str(values.get(hole[1], "")), safe=""), self._url)
        if self._session is None or self._session.closed:
            self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None))
        try:
            with clock.beyond():
                async with self._session.get(url, headers=self._headers) as response:
                    if response.status == 404:  # noqa: PLR2004 - nothing is there
                        return None
                    if response.status != 200:  # noqa: PLR2004 - all others are no answer
                        raise ComponentError(f"answered {response.status}", where=response.url.host or "")
                    told = json.loads(await response.content.read(_LARGEST))
        except (aiohttp.ClientError, ValueError, OSError) as error:
            raise ComponentError(f"{type(error).__name__}: {error}", where="lookup") from None
        if not isinstance(told, dict):
            raise ComponentError("answered no JSON object", where="lookup")
        return told

    async def aclose(self) -> None:
        """Close connections."""
        if self._session:
            await self._session.close()


class Lookup:
    """An agent that answers with what it finds in a database or a web service."""

    def __init__(  # noqa: PLR0913 - each is a line of the user's file
        self,
        name: str,
        source: Source,
        *,
        trigger: Sequence[str],
        say: str,
        nothing: str = "I could not find anything on that.",
        otherwise: str = "I'm sorry, I can't look that up right now.",
        needs: Sequence[str] = (),
        deadline_us: int = DEADLINE_US,
        confidence: float = CONFIDENCE,
    ) -> None:
        """Look up where a *trigger* pattern is found; its named groups, slots and facts are the values.

        *say* has the fields found (``{field}``, ``{field.inner}``); *nothing* is said if there are none,
        *otherwise* if the source fails or is late. Without the values it *needs* it stays silent.
        """
        where = f"agent {name}"
        self.name = name
        self._source = source
        self._trigger = patterns(trigger, where)
        if not self._trigger:
            raise ConfigError("a look-up has no trigger", where=where, remedy='say trigger = ["..."]')
        if deadline_us <= 0:
            raise ConfigError(f"a deadline of {deadline_us} µs", where=where, remedy="give it some time")
        self._say = say
        self._nothing = nothing
        self._otherwise = otherwise
        self._needs = tuple(needs)
        self._deadline_us = deadline_us
        self._confidence = confidence

    async def answer(self, utterance: str, context: Context, budget: Budget) -> Opinion | None:
        """Return what was found, ``None`` if it is not its matter."""
        heard = plain(utterance)
        match = found(self._trigger, heard.text)
        if not match:
            return None
        spoken = {key: value for key, value in match.groupdict().items() if value}
        values = {**context.slots, **spoken, **context.facts}
        if any(not values.get(need) for need in self._needs):
            return None
        fields: Mapping[str, Any] | None = None
        problem = "it took longer than its deadline"
        async with clock.move_on_at(budget.share(self._deadline_us).ends_us):
            try:
                fields, problem = await self._source.find(values), ""
            except ComponentError as error:
                problem = str(error)
        completeness: Completeness = "whole" if heard.over else "unknown"
        if problem:
            return Opinion(
                self._otherwise, min(UNREACHED, self._confidence), problem, completeness=completeness
            )
        if not fields:
            return Opinion(self._nothing, self._confidence, "nothing found", completeness=completeness)
        return self._told(fields, completeness=completeness)

    def fixed(self) -> tuple[str, ...]:
        """Return what it says whatever it finds."""
        return tuple(text for text in (self._say, self._nothing, self._otherwise) if not _HOLE.search(text))

    def next_openings(self, context: Context) -> tuple[str, ...]:
        """Return nothing: what it finds is not known before it is asked."""
        del context
        return ()

    def _told(self, fields: Mapping[str, Any], *, completeness: Completeness) -> Opinion:
        missing: list[str] = []

        def field(hole: re.Match[str]) -> str:
            value: Any = fields
            for step in hole[1].split("."):
                value = value.get(step) if hasattr(value, "get") else None
            if value is None or isinstance(value, dict | list):
                missing.append(hole[1])
            return str(value)

        said = _HOLE.sub(field, self._say)
        if missing:
            because, sure = f"no field {missing[0]!r} was found", min(UNREACHED, self._confidence)
            return Opinion(self._otherwise, sure, because, completeness=completeness)
        return Opinion(said, self._confidence, "found", completeness=completeness)
