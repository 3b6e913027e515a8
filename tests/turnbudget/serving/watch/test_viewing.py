"""The board in a real browser: what happens is on it within a moment, and nobody else sees it."""

from __future__ import annotations

import asyncio
import json
import re

import aiohttp
import msgspec
import pytest
from chromium import browser, needs_chromium
from watched import LINES, PRIVATE, TOKEN, client, watched, whole_call

from turnbudget.serving.events import CallEnded, CallShed, TurnEnded
from turnbudget.serving.watch import board
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import SECOND

pytestmark = pytest.mark.clock("wall")
EVIL = "<img src=x onerror=\"document.title='broken'\">"
SIZES = ((1280, 900), (360, 740))


def twenty(now):
    """Return all that happens in twenty calls, one after another within each, turn by turn across them."""
    calls = [
        whole_call(
            f"{number:02d}d676d7058c49",
            4 + number % 9,
            number,
            tenant=("bank", "shop")[number % 2],
            line=LINES[number % 4],
            at_us=now,
        )
        for number in range(20)
    ]
    longest = max(map(len, calls))
    happenings = [call[step] for step in range(longest) for call in calls if step < len(call)]
    return [one for one in happenings if not isinstance(one, CallEnded) or one.call < "05"]


async def news(session, url, count=1, **how):
    """Return the first *count* of what a page is told."""
    found = []
    async with session.get(f"{url}/board/events", **how) as response:
        assert response.status == 200, response.status
        async for line in response.content:
            if line.startswith(b"data: "):
                found.append(json.loads(line[6:]))
                if len(found) == count:
                    return found
    return found


async def log_in(session, url, token=TOKEN, **headers):
    async with session.post(
        f"{url}/login", data={"token": token}, headers=headers, allow_redirects=False
    ) as response:
        return response.status


@pytest.mark.quiet
@needs_chromium
async def test_twenty_calls_are_on_the_board_in_a_browser(tmp_path):
    """Logged in through the form, with the keyboard; drawn at both sizes and in both lights."""
    async with (
        watched(tmp_path, serve={"operator_token": TOKEN}, site="harbour") as (server, url),
        browser() as page,
    ):
        await page.size(1280, 900)
        await page.open(f"{url}/board")
        assert await page.run("location.pathname") == "/login"
        await page.shoot("login")
        await page.ask("Input.insertText", text=TOKEN)
        await page.press("Enter")
        await page.until("location.pathname === '/board' && document.getElementById('where')?.textContent")
        await page.shoot("board-empty")
        happenings = twenty(clock.now())
        for event in happenings:
            server.floor.tell(event)
        server.floor.tell(CallShed("bank", "twilio", "concurrency", "40 calls, 40 are the most"))
        server.floor.tell(CallShed("bank", "twilio", "draining", "draining, 3 calls left"))
        await page.until("document.querySelectorAll('#running details').length === 15")
        await page.until("document.querySelectorAll('#ended details').length === 5")
        turns = [one.row for one in happenings if isinstance(one, TurnEnded) and one.row.kind == "turn"]
        share = int(sum(row.in_time for row in turns) * 1000 / len(turns)) / 10
        assert await page.run("document.querySelector('.big').textContent") == f"{share:.1f}%"
        assert await page.run("document.querySelectorAll('#late table').length") == 2
        for width, height in SIZES:
            for dark in (False, True):
                await page.size(width, height, dark=dark)
                await page.run("document.querySelectorAll('#running details')[1].open = true")
                assert await page.run("document.documentElement.scrollWidth") <= width
                await page.shoot(f"board-{width}-{'dark' if dark else 'light'}")
        await page.size(1280, 900, still=True)
        assert await page.run("getComputedStyle(document.querySelector('.link i')).animationName") == "none"
        await uses_the_keyboard(page, server, happenings)
        assert page.complaints == []


async def uses_the_keyboard(page, server, happenings):
    """A call is opened, the page held still and let go on, without a mouse."""
    await page.run("document.getElementById('pause').focus()")
    await page.press("Enter")
    assert await page.run("document.querySelector('#link span').textContent") == "held still"
    last = next(one for one in happenings if isinstance(one, TurnEnded) and one.call.startswith("07"))
    before = await page.run("document.querySelector('.of.soft, .of').textContent")
    for call in ("05", "07"):
        await page.run(f"document.querySelector('[id^=c-{call}]').open = true")
    server.floor.tell(another_turn(last, 99))
    await page.until("document.querySelector('#link span').textContent.endsWith('1\u00a0call changed')")
    assert await page.run("document.querySelector('.of.soft, .of').textContent") == before
    await page.press("Enter")
    await page.until("document.querySelector('[id^=c-07] caption').textContent.startsWith('Turn 99')")
    await page.run("document.querySelector('#running details:not([open]) > summary').focus()")
    await page.press("Enter")
    assert await page.run("document.activeElement.parentElement.open")
    focus = "document.activeElement.tagName"
    server.floor.tell(another_turn(next(one for one in happenings if one.call.startswith("05")), 100))
    await page.until("document.querySelector('[id^=c-05] caption').textContent.startsWith('Turn 100')")
    assert await page.run(focus) == "SUMMARY"


def another_turn(event, number):
    row = whole_call(event.call, 2)[2].row
    return TurnEnded(event.call, "bank", msgspec.structs.replace(row, turn=number))


@needs_chromium
async def test_a_browser_runs_nothing_that_a_caller_said(tmp_path):
    async with watched(tmp_path, texts=True) as (server, url), browser() as page:
        await page.open(f"{url}/board")
        for event in whole_call("evil", 2)[:3]:
            if isinstance(event, TurnEnded):
                row = msgspec.structs.replace(event.row, heard=EVIL, said=EVIL)
                server.floor.tell(TurnEnded("evil", "bank", row))
            else:
                server.floor.tell(event)
        await page.until("document.querySelectorAll('#running details').length === 1")
        await page.run("document.querySelector('#running details').open = true")
        await page.until("document.querySelector('.inside q')?.textContent.includes('onerror')")
        assert await page.run("document.querySelectorAll('img').length") == 0
        assert await page.run("document.title") == "1 · The floor · turnbudget"


async def test_the_board_lets_nobody_in_without_the_token(tmp_path):
    async with watched(tmp_path, serve={"operator_token": TOKEN}) as (_, url):
        jar = aiohttp.CookieJar(unsafe=True)
        async with client(cookie_jar=jar) as session:
            async with session.get(f"{url}/board", allow_redirects=False) as response:
                assert (response.status, response.headers["Location"]) == (303, "/login")
            async with session.get(f"{url}/board/events") as response:
                assert response.status == 401
            assert await log_in(session, url, "a token that is not it") == 401
            assert await log_in(session, url, Origin="http://elsewhere.example") == 403
            assert await log_in(session, url) == 303
            (cookie,) = jar
            assert (cookie["httponly"], cookie["samesite"]) == (True, "Strict")
            assert TOKEN not in cookie.value
            assert (await news(session, url))[0]["calls"] == []
            cookie_of_later = re.sub(r"^\d+", lambda found: str(int(found[0]) + 1), cookie.value)
            forged = {"Cookie": f"{cookie.key}={cookie_of_later}"}
        async with client() as other, other.get(f"{url}/board/events", headers=forged) as response:
            assert response.status == 401


async def test_this_machine_alone_needs_no_token_and_lends_itself_to_no_other_name(tmp_path):
    """A name that somebody made to point here shows another ``Host``; another site's page an ``Origin``."""
    async with watched(tmp_path) as (_, url), client() as session:
        assert await news(session, url)
        for headers in ({"Host": "rebound.example"}, {"Origin": "http://elsewhere.example"}):
            async with session.get(f"{url}/board/events", headers=headers) as response:
                assert response.status == 401


async def test_another_token_in_the_settings_ends_what_was_shown_to_the_old(tmp_path):
    jar = aiohttp.CookieJar(unsafe=True)
    async with (
        watched(tmp_path, serve={"operator_token": TOKEN}) as (server, url),
        client(cookie_jar=jar) as session,
    ):
        assert await log_in(session, url) == 303
        async with session.get(f"{url}/board") as response:
            assert response.status == 200
        door = server.floor.door
        door.serve = msgspec.structs.replace(door.serve, operator_token=TOKEN[::-1])
        async with session.get(f"{url}/board/events") as response:
            assert response.status == 401


async def test_the_page_may_do_no_more_than_it_has_to(tmp_path):
    async with watched(tmp_path) as (_, url), client() as session, session.get(f"{url}/board") as response:
        policy = response.headers["Content-Security-Policy"]
        text = await response.text()
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert not re.search(r'\sstyle="|\son\w+="|https?://', text)


async def test_nothing_of_a_caller_is_told_unless_texts_are_asked_for(tmp_path):
    async with watched(tmp_path) as (server, url), client() as session:
        for event in whole_call("c"):
            server.floor.tell(event)
        told = json.dumps(await news(session, url))
    for private in PRIVATE:
        assert private not in told


async def test_who_looks_is_told_only_what_is_new(tmp_path):
    async with watched(tmp_path) as (server, url), client() as session:
        for event in (*whole_call("a")[:3], *whole_call("b")[:2]):
            server.floor.tell(event)
        looking = asyncio.ensure_future(news(session, url, 2))
        await clock.sleep(SECOND // 10)
        server.floor.tell(whole_call("b")[2])
        first, second = await looking
        assert [card["call"] for card in first["cards"]] == ["a", "b"]
        assert [card["call"] for card in second["cards"]] == ["b"]
        assert second["calls"] == ["a", "b"]


async def test_more_than_a_few_who_look_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(board, "MOST", 1)
    async with (
        watched(tmp_path) as (_, url),
        client() as session,
        session.get(f"{url}/board/events") as first,
    ):
        await first.content.readline()
        async with session.get(f"{url}/board/events") as second:
            assert second.status == 503
