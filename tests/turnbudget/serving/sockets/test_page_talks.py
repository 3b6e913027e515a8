"""The page in a real browser: a recorded caller talks to it for three turns, and what goes wrong is said.

With ``TURNBUDGET_SHOTS`` naming a folder pictures are left there, at 360 and 1280 pixels, light and dark.
"""

from __future__ import annotations

import contextlib
import json

import chromium
import pytest
import soundfile
from chromium import needs_chromium
from floors import until
from paged import serving_page

from turnbudget.serving.sockets.browser import PageConnections
from turnbudget.settings.compose import open_studio, render_phrase
from turnbudget.settings.config import (
    Config,
    OtherwiseTable,
    PhraseTable,
    ResponderTable,
    RuleTable,
    SpeculationTable,
)
from turnbudget.voice.asr import moonshine
from turnbudget.voice.hearing.vad import Silero
from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import SECOND
from turnbudget.voice.tts import pyttsx3

pytestmark = [pytest.mark.clock("wall"), needs_chromium]

AGREE_US = 40_000
SAYS = ("I would like to check my balance.", "My savings account please.", "No, that was all. Goodbye.")
RULES = (RuleTable("balance", "Which account?"), RuleTable("saving", "Done. Is that all?"))
REAL = Config(
    phrases=PhraseTable(greeting="", reprompt=""),
    responder=ResponderTable(RULES, OtherwiseTable("Have a great day.")),
    speculation=SpeculationTable(disk_mb=0),
)
PAUSE_US = 2_800_000
MEDIA = ("--use-fake-device-for-media-stream", "--mute-audio")
ALLOWED = "--use-fake-ui-for-media-stream"


@contextlib.asynccontextmanager
async def opened(monkeypatch, url, *flags):
    """The page at *url*, in a browser with *flags* beside the usual."""
    monkeypatch.setattr(chromium, "FLAGS", (*chromium.FLAGS, *MEDIA, *flags))
    async with chromium.browser() as page:
        await page.size(1280, 900)
        await page.open(url)
        await page.until("document.body.dataset.state === 'idle'")
        yield page


@pytest.fixture
def engines():
    """Skips where there is no real recogniser, voice or detector."""
    if lacks := moonshine.missing():
        pytest.skip(f"no real recogniser: {lacks}")
    if not pyttsx3.reachable():
        pytest.skip(f"no real voice: {pyttsx3.REMEDY}")
    try:
        Silero()
    except Exception as error:  # noqa: BLE001 - whatever keeps it away is the reason
        pytest.skip(f"no real detector: {error}")


def speaks_into(file):
    """Who opens a studio, and writes with its voice what the caller says."""

    async def opener(config):
        studio = await open_studio(config)
        sounds = [audio.silence(audio.RATE)]
        for sentence in SAYS:
            said = await render_phrase(studio.voice, sentence)
            sounds += [said.samples, audio.silence(audio.samples(PAUSE_US))]
        await clock.offload(lambda: soundfile.write(str(file), audio.join(sounds), audio.RATE, "PCM_16"))
        return studio

    return opener


async def shoot(page, name):
    """Leave pictures of the whole page."""
    for width in (1280, 360):
        for dark in (False, True):
            await page.size(width, 900, dark=dark)
            assert await page.run("document.documentElement.scrollWidth") == width
            height = await page.run("document.documentElement.scrollHeight")
            await page.size(width, height, dark=dark)
            await page.shoot(f"talk-{name}-{width}-{'dark' if dark else 'light'}")
    await page.size(1280, 900)


async def turns_of(page):
    """What the page shows of its turns, and when it heard the first sound of each."""
    script = """JSON.stringify([...document.querySelectorAll(".row:not(.aside)")].map((row) => ({
        number: row.querySelector(".top b").textContent, outcome: row.querySelector(".outcome").textContent,
        heard: row.querySelector("q").textContent, said: row.querySelector(".said").textContent,
        here: Number(row.dataset.here)})))"""
    return json.loads(await page.run(script))


@pytest.mark.quiet
@pytest.mark.usefixtures("engines")
async def test_three_turns_with_a_recorded_caller_and_page_and_ledger_agree(tmp_path, monkeypatch):
    """The first sound is told twice, by the server's ledger and by the page's own clock."""
    caller = tmp_path / "caller.wav"
    flags = (ALLOWED, f"--use-file-for-fake-audio-capture={caller}%noloop")
    async with serving_page(tmp_path, config=REAL, opener=speaks_into(caller)) as (server, url):
        happened = []
        server.floor.watch(happened.append)
        async with opened(monkeypatch, url, *flags) as page:
            await shoot(page, "before")
            assert await page.run("document.activeElement.id") == "talk"
            await page.press("Enter")
            await page.until("document.getElementById('words').textContent.length > 8")
            await shoot(page, "hearing")
            await page.until("document.querySelectorAll('.row:not(.aside)').length >= 3", 40 * SECOND)
            shown = await turns_of(page)
            await page.run("document.querySelector('.more').open = true")
            await shoot(page, "after")
            assert await page.run("document.querySelectorAll('#said p').length") >= 6
            await page.press("Enter")
            await page.until("document.body.dataset.state === 'idle'")
            assert "over" in await page.run("document.getElementById('notice').textContent")
            assert not page.complaints
        rows = [one.row for one in happened if hasattr(one, "row") and one.row.kind == "turn"]
        assert not server.floor.calls
    assert happened[-1].record.ended == "the caller hung up"
    assert len(rows) == 3
    for row, turn in zip(rows, shown, strict=True):
        assert (turn["number"], turn["outcome"]) == (str(row.turn), row.outcome)
        assert (turn["heard"], turn["said"]) == (row.asked or row.heard, row.said)
        assert row.in_time
        [sounded] = [lane.ended_us for lane in row.lanes if lane.name == "line: sent to sounded"]
        assert row.first_sound_us <= sounded
        assert abs(turn["here"] - sounded) <= AGREE_US


async def test_without_permission_one_line_says_what_to_do(tmp_path, monkeypatch):
    async with (
        serving_page(tmp_path) as (server, url),
        opened(monkeypatch, url, "--use-fake-ui-for-media-stream=deny") as page,
    ):
        await page.press("Enter")
        await page.until("!document.getElementById('notice').hidden")
        told = await page.run("document.getElementById('notice').textContent")
        assert (
            told == "The microphone is not allowed here. Allow it beside the address, then press Talk again."
        )
        assert await page.run(
            "document.body.dataset.state + document.getElementById('talk').textContent"
        ) == ("idleTalk")
        await shoot(page, "refused")
        assert not server.floor.calls


async def test_a_socket_that_drops_is_made_anew_and_the_call_goes_on(tmp_path, monkeypatch):
    async with serving_page(tmp_path) as (server, url), opened(monkeypatch, url, ALLOWED) as page:
        await page.press("Enter")
        await page.until("document.getElementById('status').textContent === 'Speaking'")
        [(name, running)] = server.floor.calls.items()
        running._connection.wire._outbox._break("a test")
        await page.until("document.getElementById('status').textContent.includes('trying again')")
        await page.until("!document.getElementById('status').textContent.includes('trying again')")
        assert list(server.floor.calls) == [name]
        assert await page.run("document.getElementById('talk').textContent") == "Hang up"
        await page.press("Enter")
        await page.until("document.body.dataset.state === 'idle'")
        assert not server.floor.calls


async def test_a_page_tries_until_it_reaches_the_worker_that_has_its_call(tmp_path, monkeypatch):
    """Eight times in a row it does not, which is bad luck among eight workers, and takes less than 5 s."""
    others = list(range(8))
    admit = PageConnections._admit

    async def somewhere(talks, request, socket, sockets):
        if others and server.floor.calls:
            others.pop()
            await socket.receive()
            await socket.send_str('{"event":"elsewhere"}')
        else:
            await admit(talks, request, socket, sockets)

    monkeypatch.setattr(PageConnections, "_admit", somewhere)
    async with serving_page(tmp_path) as (server, url), opened(monkeypatch, url, ALLOWED) as page:
        await page.press("Enter")
        await page.until("document.getElementById('status').textContent === 'Speaking'")
        [running] = server.floor.calls.values()
        running._connection.wire._outbox._break("a test")
        await page.until("document.getElementById('status').textContent.includes('trying again')")
        await page.until("!document.getElementById('status').textContent.includes('trying again')")
        assert list(server.floor.calls.values()) == [running]
        assert not others


@pytest.mark.parametrize(
    ("late", "skips"),
    [
        ("0.0001 * 20 * n", []),  # 180 ms in half an hour, which the server follows
        ("-0.0001 * 20 * n", []),
        ("n % 7 === 0 ? 400 : 3", []),
        ("n > 1000 ? 45 : 0", [720]),
        ("n < 200 ? 100 : n > 1000 ? 45 : 0", [720]),
    ],
)
async def test_a_sound_device_that_stood_still_is_told_of_and_one_that_is_slow_is_not(
    tmp_path, monkeypatch, late, skips
):
    """Else the ledger counts from an end of speech that is earlier than the caller's: MET-01."""
    async with serving_page(tmp_path) as (_, url), opened(monkeypatch, url) as page:
        told = await page.run(
            f"""(async () => {{
                const {{ Line }} = await import("./page/talk-line.js");
                const line = new Line("", ""), skips = [];
                line.node = {{ port: {{ postMessage: ({{ skip }}) => skips.push(skip) }} }};
                let now = 0;
                performance.now = () => now;
                for (let n = 0; n < 90000; n++) {{
                    now = 20 * (n + 1) + ({late});
                    line.capture(320 * n, 20 * n);
                }}
                return JSON.stringify(skips);
            }})()"""
        )
        assert json.loads(told) == pytest.approx(skips, rel=0.02)


async def test_who_hangs_up_while_the_socket_is_away_has_hung_up(tmp_path, monkeypatch):
    async with serving_page(tmp_path) as (server, url), opened(monkeypatch, url, ALLOWED) as page:
        await page.press("Enter")
        await page.until("document.getElementById('status').textContent === 'Speaking'")
        await page.run(
            """window.Real = WebSocket;
            window.WebSocket = function () {
                const none = { close() {} };
                setTimeout(() => none.onclose?.(), 50);
                return none;
            };
            window.WebSocket.OPEN = 1; null"""
        )
        [running] = server.floor.calls.values()
        running._connection.wire._outbox._break("a test")
        await page.until("document.getElementById('status').textContent.includes('trying again')")
        await page.press("Enter")
        await page.run("window.WebSocket = window.Real; null")
        assert await page.run("document.body.dataset.state") == "idle"
        assert await page.run("document.getElementById('notice').textContent") == (
            "The call is over: you hung up."
        )


async def test_a_page_that_sleeps_while_its_socket_is_made_anew_stays_on_hold_until_it_wakes(
    tmp_path, monkeypatch
):
    async with serving_page(tmp_path) as (server, url), opened(monkeypatch, url, ALLOWED) as page:
        await page.run(
            """window.AudioContext = class extends AudioContext {
                constructor(how) { super(how); window.sound = this; }
                resume() { return window.asleep ? Promise.resolve() : super.resume(); }
            }; null"""
        )
        await page.press("Enter")
        await page.until("document.getElementById('status').textContent === 'Speaking'")
        [running] = server.floor.calls.values()
        await page.run("window.asleep = true; window.sound.suspend()")
        await page.until("document.getElementById('status').textContent.includes('slept')")
        running._connection.wire._outbox._break("a test")
        await page.until("document.getElementById('status').textContent.includes('trying again')")
        await page.until("document.getElementById('status').textContent.includes('slept')")
        await until(lambda: running.call.mouth.held)
        await page.run("window.asleep = false; window.sound.resume()")
        await until(lambda: not running.call.mouth.held)
        await page.until("document.getElementById('status').textContent === 'Listening'")
        assert not page.complaints


async def test_a_second_call_takes_a_fresh_pass(tmp_path, monkeypatch):
    async with serving_page(tmp_path) as (server, url), opened(monkeypatch, url, ALLOWED) as page:
        for _ in range(2):
            await page.press("Enter")
            await page.until("document.getElementById('status').textContent === 'Speaking'")
            assert len(server.floor.calls) == 1
            await page.press("Enter")
            await page.until("document.body.dataset.state === 'idle'")
        assert not page.complaints


async def test_a_server_that_is_full_is_named_as_one(tmp_path, monkeypatch):
    async with serving_page(tmp_path) as (server, url), opened(monkeypatch, url, ALLOWED) as page:
        server.floor.draining = True
        await page.press("Enter")
        await page.until("!document.getElementById('notice').hidden")
        told = await page.run("document.getElementById('notice').textContent")
        assert told == "No call: draining, 0 calls left."
