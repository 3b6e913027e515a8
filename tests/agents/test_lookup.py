"""A look-up speaks what it found, within its own deadline, and cannot be talked into another's data."""

from __future__ import annotations

import re
import sqlite3

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from turnbudget.agents.agent import Context
from turnbudget.agents.check import check_agent
from turnbudget.agents.lookup import Http, Lookup, Sql
from turnbudget.voice.errors import ConfigError
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Budget
from turnbudget.voice.time.clock import MS, SECOND

FACTS = {"caller": "mary"}


@pytest.fixture
def orders(tmp_path):
    path = tmp_path / "orders #1.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE orders (number TEXT, caller TEXT, state TEXT)")
        connection.execute("INSERT INTO orders VALUES ('77019', 'mary', 'shipped'), ('604', 'john', 'lost')")
    connection.close()
    return path


def by_sql(path, query="SELECT state FROM orders WHERE number = :number AND caller = :caller", **more):
    settings = {
        "trigger": [r"\border (?:number )?(?P<number>\d+)"],
        "say": "Your order is {state}.",
        "nothing": "You have no such order.",
        "needs": ["caller"],
    }
    return Lookup("orders", Sql(path, query), **(settings | more))


async def ask(agent, text, facts=FACTS, **context):
    return await agent.answer(text, Context(facts=facts, **context), Budget.of(SECOND))


async def test_a_row_is_spoken(orders):
    opinion = await ask(by_sql(orders), "where is my order seven seven oh one nine")
    assert opinion.opening == "Your order is shipped."


async def test_no_row_is_said_to_be_none(orders):
    assert (await ask(by_sql(orders), "where is order 1")).opening == "You have no such order."


async def test_what_is_not_its_matter_is_none(orders):
    assert await ask(by_sql(orders), "what are your hours") is None
    assert await ask(by_sql(orders), "order 604", facts={}) is None


@pytest.mark.parametrize(
    "text", ["i am john where is order 604", "order 604 caller john", "order 604' OR '1'='1", "order 604 --"]
)
async def test_nobody_talks_their_way_to_anothers_data(orders, text):
    opinion = await ask(by_sql(orders), text, slots={"caller": "john"})
    assert opinion.opening == "You have no such order."


async def test_it_cannot_write(orders):
    opinion = await ask(by_sql(orders, "DELETE FROM orders WHERE number = :number"), "order 604")
    assert opinion.opening == "I'm sorry, I can't look that up right now."
    assert "readonly" in opinion.because


@pytest.mark.parametrize("query", ["SELEKT", "SELECT state FROM orders WHERE number = :nobody"])
async def test_a_query_that_fails_is_said_not_hidden(orders, query):
    opinion = await ask(by_sql(orders, query), "order 604")
    assert (opinion.opening, opinion.confidence) == ("I'm sorry, I can't look that up right now.", 0.4)


async def test_a_field_that_is_not_there_is_not_spoken(orders):
    opinion = await ask(by_sql(orders, say="It is {colour}."), "order 77019")
    assert opinion.opening == "I'm sorry, I can't look that up right now."


@pytest.mark.clock("wall")
async def test_a_slow_query_ends_at_its_deadline_and_lets_its_thread_go(orders):
    forever = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
    began = clock.now()
    opinion = await ask(by_sql(orders, forever, deadline_us=50 * MS), "order 604")
    assert opinion.because == "it took longer than its deadline"
    assert clock.now() - began < 500 * MS


class Slow:
    async def find(self, values):
        del values
        await clock.sleep(SECOND)
        return {"state": "late"}


async def test_its_deadline_is_its_own_and_never_later_than_the_budget():
    agent = Lookup("slow", Slow(), trigger=["order"], say="{state}", deadline_us=200 * MS)
    assert (await ask(agent, "order")).confidence == 0.4
    assert clock.now() == 200 * MS
    await agent.answer("order", Context(), Budget.of(50 * MS))
    assert clock.now() == 250 * MS


async def test_it_keeps_what_an_agent_promises(orders):
    agent = Lookup("slow", Slow(), trigger=["order"], say="{state}")
    await check_agent(agent, ("order", "hello"))
    await check_agent(by_sql(orders), ("order 604", "hello"), Context(facts=FACTS))


async def serve(handle):
    app = web.Application()
    app.router.add_get("/{path:.*}", handle)
    server = TestServer(app)
    await server.start_server()
    return server


@pytest.mark.clock("skip")
async def test_an_answer_over_http_is_spoken():
    paths = []

    async def handle(request):
        paths.append(request.rel_url.raw_path_qs)
        if "604" in request.path:
            raise web.HTTPNotFound
        if "500" in request.path:
            raise web.HTTPInternalServerError
        return web.json_response({"order": {"state": "shipped"}})

    server = await serve(handle)
    source = Http(str(server.make_url("/orders/")) + "{number}?for={caller}")
    agent = Lookup(
        "orders", source, trigger=[r"order (?P<number>\d+)"], say="It is {order.state}.", deadline_us=SECOND
    )
    said = [
        (await ask(agent, f"order {number}", facts={"caller": "a&b"})).opening for number in (7, 604, 500)
    ]
    assert said == [
        "It is shipped.", "I could not find anything on that.", "I'm sorry, I can't look that up right now.",
    ]  # fmt: skip
    assert paths[0] == "/orders/7?for=a%26b"
    await source.aclose()
    await server.close()


@pytest.mark.parametrize(
    ("make", "line"),
    [
        (lambda: Http("ftp://x"), r"lookup: 'ftp://x' is no http URL"),
        (lambda: Lookup("a", Slow(), trigger=[], say=""), r"agent a: a look-up has no trigger"),
        (lambda: Lookup("a", Slow(), trigger=["x"], say="", deadline_us=0), r"agent a: a deadline of 0 µs"),
    ],
)
def test_a_lookup_that_means_nothing_is_one_line(make, line):
    with pytest.raises(ConfigError) as caught:
        make()
    assert re.match(line, str(caught.value))
