"""The page over HTTP and its socket: what a browser is given, who may talk, what outlives a socket."""

from __future__ import annotations

import contextlib
import re

import aiohttp
import msgspec
import pytest
from floors import QUICK, SAYS, until
from paged import FRAME, HELLO, dialled, page_of, serving_page

from turnbudget.serving.server import Worker
from turnbudget.serving.sockets import page_connection
from turnbudget.serving.sockets.browser import ASSETS, page
from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import MS, SECOND
from turnbudget.voice.tts.finish import expected_us

pytestmark = pytest.mark.clock("wall")

GREETING = "One two three four five six seven eight nine ten."
LONG = msgspec.structs.replace(QUICK, phrases=msgspec.structs.replace(QUICK.phrases, greeting=GREETING))


async def refusal(session, url, **hello):
    """Why a page that says *hello* gets no call."""
    async with dialled(session, url, **hello) as end:
        return (await end.until("refused") or {}).get("because", "")


@pytest.mark.clock("virtual")
async def test_the_page_may_speak_to_its_own_server_and_to_nothing_else():
    answer = page("abc.def", "127.0.0.1:8080")
    rules = dict(rule.split(" ", 1) for rule in answer.headers["Content-Security-Policy"].split("; "))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == rules["style-src"] == "'self'"
    assert rules["connect-src"] == "'self' ws://127.0.0.1:8080 wss://127.0.0.1:8080"
    assert rules["frame-ancestors"] == rules["form-action"] == rules["base-uri"] == "'none'"
    assert answer.headers["Cache-Control"] == "no-store"
    assert 'content="abc.def"' in answer.text


@pytest.mark.clock("virtual")
@pytest.mark.parametrize("host", ["a b", "x; script-src *", "x'", "x\r\nSet-Cookie: a=b", ""])
async def test_a_host_that_would_change_the_policy_is_not_written_into_it(host):
    policy = page("t", host).headers["Content-Security-Policy"]
    assert "connect-src 'self' ws:// wss://;" in policy
    assert policy.count("script-src") == 1


@pytest.mark.clock("virtual")
async def test_a_pass_stays_a_text():
    assert '"><b>' not in page('"><b>', "localhost").text


async def test_the_page_and_all_it_asks_for_are_served_and_nothing_beside(tmp_path):
    async with serving_page(tmp_path) as (_, url), aiohttp.ClientSession() as session:
        text, _ = await page_of(session, url)
        named = set(re.findall(r'(?:src|href)="page/([^"]+)"', text))
        for name in sorted(ASSETS):
            async with session.get(f"{url}/page/{name}") as answer:
                assert answer.status == 200
                kind = "text/css" if name.endswith(".css") else "text/javascript"
                assert answer.content_type in {kind, "application/javascript"}
                named |= set(re.findall(r'from "\./([^"]+)"|"page/([^"]+\.js)"', await answer.text()))
        flat = {name for one in named for name in ([one] if isinstance(one, str) else one) if name}
        assert flat == ASSETS
        for name in ("report.html", "talk.html", "..%2fcli.py", "%2e%2e/cli.py"):
            async with session.get(f"{url}/page/{name}") as answer:
                assert answer.status == 404


async def test_a_page_of_another_site_gets_no_socket(tmp_path):
    async with serving_page(tmp_path) as (_, url), aiohttp.ClientSession() as session:
        _, token = await page_of(session, url)
        for origin in ("https://elsewhere.example", "null", "http://127.0.0.1:1"):
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                await session.ws_connect(f"{url}/talk", headers={"Origin": origin})
            assert refused.value.status == 403
        with pytest.raises(aiohttp.WSServerHandshakeError):
            await session.ws_connect(f"{url}/talk")
        async with dialled(session, url, token=token) as end:
            assert await end.until("welcome")


async def test_a_name_that_was_made_to_point_here_gets_no_page(tmp_path):
    rebound = {"Host": "rebound.example"}
    async with serving_page(tmp_path) as (_, url), aiohttp.ClientSession(headers=rebound) as session:
        answer = await session.get(url)
        assert answer.status == 403


async def test_outside_this_machine_a_tenant_has_a_page_only_if_it_says_so(tmp_path):
    floor = '[tenants.shut]\n[tenants.open]\nlines = ["browser"]\n'
    public = {"public": "https://calls.example.com"}
    async with serving_page(tmp_path, floor=floor, **public) as (_, url), aiohttp.ClientSession() as session:
        for name, status in (("shut", 403), ("open", 200), ("nobody", 404)):
            async with session.get(f"{url}/?tenant={name}") as answer:
                assert answer.status == status


async def test_a_pass_is_good_for_one_call(tmp_path):
    async with serving_page(tmp_path) as (_, url), aiohttp.ClientSession() as session:
        _, token = await page_of(session, url)
        async with dialled(session, url, token=token) as end:
            assert await end.until("welcome")
            assert await refusal(session, url, token=token) == "a token that is false or was used"
        forged = f"{token[:-4]}AAAA"
        assert await refusal(session, url, token=forged) == "a token that is false or was used"
        assert await refusal(session, url) == "no token"


@pytest.mark.parametrize(
    ("hello", "why"),
    [
        ({"rate": 48_000}, "frames of 320 samples at 48000 Hz, not of 320 at 16000 Hz"),
        ({"frame": 160}, "frames of 160 samples at 16000 Hz, not of 320 at 16000 Hz"),
        ({"version": 9}, "the page speaks version 9, not 1: reload it"),
        ({"resume": "guessed"}, "the call had ended before the connection was back"),
    ],
)
async def test_a_hello_that_cannot_be_taken_is_told_why(tmp_path, hello, why):
    async with serving_page(tmp_path) as (server, url), aiohttp.ClientSession() as session:
        assert await refusal(session, url, **hello) == why
        assert not server.floor.calls


async def test_who_opens_a_socket_and_says_nothing_is_dropped(tmp_path):
    async with serving_page(tmp_path, start_ms=100) as (server, url), aiohttp.ClientSession() as session:
        async with session.ws_connect(f"{url}/talk", headers={"Origin": url}) as socket:
            assert len(server.floor.pending) == 1
            assert (await socket.receive()).type is not aiohttp.WSMsgType.TEXT
        assert len(server.floor.pending) == 0


async def test_of_a_hundred_sockets_of_one_address_eight_talk_and_the_rest_are_told_why(tmp_path):
    async with serving_page(tmp_path, most_calls=200) as (server, url), aiohttp.ClientSession() as session:
        async with contextlib.AsyncExitStack() as ends:
            told = []
            for _ in range(100):
                _, token = await page_of(session, url)
                end = await ends.enter_async_context(dialled(session, url, token=token))
                told.append(await end.next())
            assert len(server.floor.calls) == 8
        refused = [one["because"] for one in told if one["event"] == "refused"]
        assert refused == ["8 connections from one address are the most at a time"] * 92


async def test_all_pages_of_one_address_may_be_back_before_we_know_that_they_were_gone(tmp_path):
    """An office whose network stood still: eight sockets that are dead and do not know it, and eight more."""
    async with (
        serving_page(tmp_path) as (server, url),
        aiohttp.ClientSession() as session,
        contextlib.AsyncExitStack() as ends,
    ):
        keys = []
        for _ in range(8):
            _, token = await page_of(session, url)
            end = await ends.enter_async_context(dialled(session, url, token=token))
            keys.append((await end.until("welcome"))["key"])
        before = list(server.floor.calls)
        for key in keys:
            again = await ends.enter_async_context(dialled(session, url, resume=key))
            assert (await again.until("welcome"))["key"] == key
        assert list(server.floor.calls) == before


async def test_behind_a_proxy_those_it_names_are_counted_apart_and_our_page_is_the_public_ones(tmp_path):
    """It may ask by a name of its own, so that neither ``Host`` nor the address tells who is there."""
    floor = '[tenants.open]\nlines = ["browser"]\n'
    public = "https://calls.example.com"
    async with (
        serving_page(tmp_path, floor=floor, public=public, most_calls=200) as (server, url),
        aiohttp.ClientSession() as session,
        contextlib.AsyncExitStack() as ends,
    ):
        async with session.get(f"{url}/?tenant=open") as answer:
            assert "wss://calls.example.com;" in answer.headers["Content-Security-Policy"]
        for name, most in (("198.51.100.7", 8), ("forged, 198.51.100.8", 8)):
            told = []
            for _ in range(10):
                _, token = await page_of(session, f"{url}/?tenant=open")
                headers = {"Origin": public, "X-Forwarded-For": name}
                socket = await ends.enter_async_context(session.ws_connect(f"{url}/talk", headers=headers))
                await socket.send_json(HELLO | {"token": token})
                told.append((await socket.receive_json())["event"])
            assert told == ["welcome"] * most + ["refused"] * 2
        assert len(server.floor.calls) == 16


@pytest.mark.quiet
async def test_a_turn_is_shown_with_its_zero_as_a_place_in_the_pages_own_sound(tmp_path):
    async with serving_page(tmp_path) as (_, url), aiohttp.ClientSession() as session:
        _, token = await page_of(session, url)
        async with dialled(session, url, token=token) as end:
            await end.until("end")  # of the greeting
            began = end.at
            await end.speak(SAYS[0])
            row = await end.until("row")
            while row and row["row"]["kind"] != "turn":
                row = await end.until("row")
            assert row["row"]["heard"] == SAYS[0]
            assert began < row["zero_at"] <= end.at - 16_000 + 320
            states = [one["state"] for one in end.told if one["event"] == "state"]
            assert {"hearing", "speaking"} <= set(states)


@pytest.mark.parametrize("early_us", [-300 * MS, 35 * MS, 9 * SECOND])
async def test_a_mark_counts_from_when_its_sound_was_heard_not_from_when_it_came(tmp_path, early_us):
    """A page knows our time from pings; its acknowledgement may overtake the sound; nonsense is not taken."""
    async with serving_page(tmp_path) as (server, url), aiohttp.ClientSession() as session:
        _, token = await page_of(session, url)
        async with dialled(session, url, token=token) as end:
            await end.say(event="ping", id=1)
            server_us = (await end.until("pong"))["us"]
            assert abs(server_us - clock.now()) < SECOND
            mark = await end.until("mark")
            at_us = clock.now() + early_us
            await end.say(event="mark", name=mark["name"], at_us=at_us)
            await end.say(event="ping", id=2)
            await end.until("pong")
            [call] = server.floor.calls.values()
            believed = at_us if abs(early_us) <= SECOND else clock.now()
            assert abs(call.line.heard_us - (believed - 20 * MS)) < 10 * MS


async def test_a_call_goes_on_on_a_new_socket_and_what_was_to_be_told_is(tmp_path):
    async with serving_page(tmp_path) as (server, url), aiohttp.ClientSession() as session:
        _, token = await page_of(session, url)
        async with dialled(session, url, token=token) as end:
            key = (await end.until("welcome"))["key"]
            [name] = server.floor.calls
            end.socket._response.connection.transport.abort()
        async with dialled(session, url, resume=key) as end:
            assert (await end.until("welcome"))["key"] == key
            assert list(server.floor.calls) == [name]
            end.at = 32_000  # the page went on to hear while it was away
            await end.speak(SAYS[0])
            row = await end.until("row")
            while row and row["row"]["kind"] != "turn":
                row = await end.until("row")
            assert (row["row"]["call"], row["row"]["heard"]) == (name, SAYS[0])
            await end.say(event="hangup")
            assert await end.until("over")
        assert not server.floor.calls


async def test_while_a_page_is_away_nothing_is_said_and_the_reply_goes_on_when_it_is_back(tmp_path):
    async with serving_page(tmp_path, config=LONG) as (server, url), aiohttp.ClientSession() as session:
        _, token = await page_of(session, url)
        async with dialled(session, url, token=token) as before:
            key = (await before.until("welcome"))["key"]
            await before.until("mark")
            [running] = server.floor.calls.values()
            before.socket._response.connection.transport.abort()
        await clock.sleep(SECOND)
        assert running.call.mouth.held
        async with dialled(session, url, resume=key) as end:
            assert await end.until("row")
            lost = audio.samples(expected_us(GREETING)) / FRAME - len(before.heard) - len(end.heard)
            assert lost < 10  # on their way when the socket dropped
            assert [one.text for one in running.call.history] == [GREETING]


async def test_a_page_that_slept_when_its_socket_dropped_is_not_on_hold_when_it_is_back(tmp_path):
    """It cannot tell that it woke while it was away; if it sleeps still, it says so."""
    async with serving_page(tmp_path, config=LONG) as (server, url), aiohttp.ClientSession() as session:
        _, token = await page_of(session, url)
        async with dialled(session, url, token=token) as end:
            key = (await end.until("welcome"))["key"]
            await end.until("mark")
            await end.say(event="hold", on=True)
            [running] = server.floor.calls.values()
            await until(lambda: running.call.mouth.held)
            end.socket._response.connection.transport.abort()
        async with dialled(session, url, resume=key) as end:
            assert await end.until("row")  # of the greeting
            end.at = 32_000
            await end.speak(SAYS[0])
            row = await end.until("row")
            assert row["row"]["heard"] == SAYS[0]


async def test_a_page_that_comes_back_before_we_know_it_was_gone_takes_its_call_over(tmp_path):
    async with serving_page(tmp_path) as (server, url), aiohttp.ClientSession() as session:
        _, token = await page_of(session, url)
        async with dialled(session, url, token=token) as first:
            key = (await first.until("welcome"))["key"]
            async with dialled(session, url, resume=key) as second:
                assert await second.until("welcome")
                assert await first.until("never") is None
                assert len(server.floor.calls) == 1


async def test_a_page_that_comes_back_to_another_worker_is_told_to_try_again(tmp_path):
    """The kernel deals sockets out among workers, and does not know whose call one goes on with."""
    secret, notes = b"s" * 32, tmp_path / "notes"
    notes.mkdir()
    async with (
        serving_page(tmp_path, worker=Worker(1, 2, secret, notes)) as (first, url),
        serving_page(tmp_path, worker=Worker(2, 2, secret, notes)) as (second, other),
        aiohttp.ClientSession() as session,
    ):
        _, token = await page_of(session, url)
        async with dialled(session, url, token=token) as end:
            key = (await end.until("welcome"))["key"]
            end.socket._response.connection.transport.abort()
        async with dialled(session, other, resume=key) as end:
            assert (await end.next())["event"] == "elsewhere"
        async with dialled(session, url, resume=key) as end:
            assert await end.until("welcome")
        assert (len(first.floor.calls), len(second.floor.calls)) == (1, 0)


async def test_a_page_that_does_not_come_back_ends_its_call(tmp_path, monkeypatch):
    monkeypatch.setattr(page_connection, "RESUME_US", 100 * MS)
    async with serving_page(tmp_path) as (server, url), aiohttp.ClientSession() as session:
        ended = []
        server.floor.watch(ended.append)
        _, token = await page_of(session, url)
        async with dialled(session, url, token=token) as end:
            key = (await end.until("welcome"))["key"]
        ends = clock.now() + 5 * SECOND
        while server.floor.calls and clock.now() < ends:
            await clock.sleep(20 * MS)
        assert ended[-1].record.ended == "caller hung up (the page is gone)"
        assert await refusal(session, url, resume=key) == "the call had ended before the connection was back"
