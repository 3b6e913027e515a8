"""Who calls is asked as the call begins: what comes in a second is known, and nobody waits for it."""

from __future__ import annotations

import logging

import pytest
from surroundings import INFO, TOKEN, listening

from turnbudget.serving.after.crm import Crm, plain_facts
from turnbudget.serving.config import CrmTable
from turnbudget.voice.lines.dialect import CallInfo
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import SECOND

pytestmark = pytest.mark.clock("skip")


async def ask(*answers, info=INFO, query="?number={caller}&of={tenant}"):
    """What a server that gives *answers* tells, how long that took, and what it was asked."""
    async with listening(*answers) as (url, came):
        crm, began = Crm(), clock.now()
        found = await crm.facts(CrmTable(url=url + query, token=TOKEN), info, "bank")
        took = clock.now() - began
        await crm.aclose()
    return found, took, came, crm


async def test_what_is_known_of_the_caller_is_plain_text():
    answer = '{"name": "Ann", "since": 2019, "gold": true, "debt": null, "cards": [1], "x": {}}'
    found, _, [(request, _)], _ = await ask(answer)
    assert found == {"name": "Ann", "since": "2019", "gold": "yes"}
    assert request.query == {"number": "+15550100199", "of": "bank"}
    assert request.headers["authorization"] == f"Bearer {TOKEN}"


async def test_a_server_that_hangs_costs_a_second_and_tells_nothing():
    found, took, _, crm = await ask(None)
    assert found == {}
    assert SECOND <= took < 1.2 * SECOND
    assert (crm.asked, crm.late) == (1, 1)


@pytest.mark.parametrize("answer", [500, 404, 302, "no json", "[]", "3", '"' + "x" * 70_000 + '"'])
async def test_an_answer_that_tells_nothing_costs_nothing(answer):
    found, _, _, crm = await ask(answer)
    assert (found, crm.late) == ({}, 1)


async def test_nobody_is_asked_about_a_caller_without_a_number():
    found, _, came, _ = await ask("{}", info=CallInfo("CA1"))
    assert (found, came) == ({}, [])


async def test_what_a_line_tells_of_a_caller_cannot_reach_another_address():
    info = CallInfo("CA1", caller="1&of=shop#/../x")
    _, _, [(request, _)], _ = await ask("{}", info=info)
    assert request.query == {"number": "1&of=shop#/../x", "of": "bank"}


async def test_no_number_no_token_and_no_answer_is_in_the_log(caplog):
    with caplog.at_level(logging.DEBUG):
        await ask('{"name": "Ann"}')
        await ask(None)
        await ask("x")
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("turnbudget")]
    assert len(ours) == 3
    assert not any(hidden in line for line in ours for hidden in ("0100199", TOKEN, "Ann", "127.0.0.1"))


def test_facts_are_bounded():
    facts = plain_facts({f"k{number}": "x" * 500 for number in range(50)})
    assert len(facts) == 32
    assert max(map(len, facts.values())) == 200
