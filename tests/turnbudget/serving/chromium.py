"""A real browser for tests of pages: Chromium without a window, spoken to over its own debugging protocol."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import aiohttp
import pytest

from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import MS, SECOND

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--hide-scrollbars",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-port=0",
)
START_US = 20 * SECOND
SHOTS = "TURNBUDGET_SHOTS"
"""Names a folder that screenshots are left in."""


def found():
    return next(filter(None, map(shutil.which, NAMES)), None)


needs_chromium = pytest.mark.skipif(not found(), reason="no chromium to draw the page with")


class Page:
    """One page; ``complaints`` is what it said of itself that no good page says."""

    def __init__(self, socket):
        self._socket = socket
        self._asked = 0
        self.complaints = []

    async def ask(self, method, **parameters):
        self._asked += 1
        await self._socket.send_json({"id": self._asked, "method": method, "params": parameters})
        while True:
            told = await self._socket.receive_json(timeout=20)
            level = told.get("params", {}).get("entry", {}).get("level")
            if told.get("method") == "Runtime.exceptionThrown" or level in {"warning", "error"}:
                self.complaints.append(json.dumps(told["params"])[:600])
            if told.get("id") == self._asked:
                assert "error" not in told, told["error"]
                return told["result"]

    async def run(self, script):
        """Return what *script* comes to."""
        told = await self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in told, told["exceptionDetails"]
        return told["result"].get("value")

    async def open(self, url):
        await self.ask("Page.navigate", url=url)
        await self.until("document.readyState === 'complete'")

    async def until(self, script, within_us=10 * SECOND):
        """Wait until *script* holds."""
        ends = clock.now() + within_us
        while not await self.run(script):
            assert clock.now() < ends, f"it never came to hold: {script}"
            await clock.sleep(20 * MS)

    async def size(self, width, height, *, dark=False, still=False):
        await self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        features = [
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce" if still else "no-preference"},
        ]
        await self.ask("Emulation.setEmulatedMedia", features=features)

    async def press(self, key, code=None):
        for kind in ("keyDown", "keyUp"):
            text = {"text": "\r"} if key == "Enter" and kind == "keyDown" else {}
            number = {"Tab": 9, "Enter": 13}[key]
            await self.ask(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code=code or key,
                windowsVirtualKeyCode=number,
                **text,
            )

    async def shoot(self, name):
        """Leave a picture of the whole page, if somebody wants to look at it."""
        folder = os.environ.get(SHOTS)
        if folder:
            taken = await self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=True)
            await clock.offload(Path(folder, f"{name}.png").write_bytes, base64.b64decode(taken["data"]))


@contextlib.asynccontextmanager
async def browser():
    """A fresh browser; yields its page."""
    with tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True) as folder:
        command = [found(), *FLAGS, f"--user-data-dir={folder}", "about:blank"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: ASYNC220, S603 - the system's own
        try:
            port = await _port(Path(folder, "DevToolsActivePort"), process)
            async with aiohttp.ClientSession() as session:
                async with session.get(f"http://127.0.0.1:{port}/json") as response:
                    pages = [one for one in await response.json() if one["type"] == "page"]
                async with session.ws_connect(pages[0]["webSocketDebuggerUrl"], max_msg_size=0) as socket:
                    page = Page(socket)
                    for domain in ("Runtime", "Log", "Page"):
                        await page.ask(f"{domain}.enable")
                    yield page
        finally:
            process.terminate()
            await clock.offload(process.wait)


async def _port(file, process):
    ends = clock.now() + START_US
    while True:
        text = await clock.offload(lambda: file.read_text() if file.exists() else "")
        if "\n" in text:
            return int(text.splitlines()[0])
        assert process.poll() is None, "chromium does not start here"
        assert clock.now() < ends, "chromium does not start here"
        await clock.sleep(20 * MS)
