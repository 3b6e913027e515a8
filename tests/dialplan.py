"""SIMULATED: as much of Asterisk's dialplan as the pages use, parsed strictly and run on real sockets."""

from __future__ import annotations

import configparser
import re
import uuid
from dataclasses import dataclass, field
from urllib.parse import quote

import aiohttp
from floors import SAYS, caller

from turnbudget.testing.caller import over_tcp, over_websocket
from turnbudget.voice.lines.far.audiosocket import FarAudioSocket
from turnbudget.voice.lines.far.chan_websocket import FarChanWebsocket
from turnbudget.voice.time import clock

FIRST = re.compile(r"exten => (\d+),1,(.+)")
NEXT = re.compile(r"\s*same => n(?:\((\w+)\))?,(.+)")
APP = re.compile(r"(\w+)\((.*)\)")
APPS = {"Answer", "AudioSocket", "Busy", "Dial", "GotoIf", "Hangup", "Set"}
FUNCTIONS = {"CALLERID", "CURL", "FILTER", "URIENCODE", "UUID"}
PAIRS = {")": "(", "]": "[", "}": "{"}


@dataclass(frozen=True)
class Step:
    """One priority of an extension."""

    label: str
    app: str
    args: str


def parse(text):
    """Return the steps of each extension in *text*; raises ValueError for what Asterisk would not take."""
    found = {}
    steps = None
    for line in text.splitlines():
        if not line.strip() or line.startswith((";", "[")):
            continue
        if first := FIRST.fullmatch(line):
            steps = found[first[1]] = [_step("", first[2])]
        elif (following := NEXT.fullmatch(line)) and steps is not None:
            steps.append(_step(following[1] or "", following[2]))
        else:
            raise ValueError(line)
    for steps in found.values():
        labels = {step.label for step in steps}
        for step in steps:
            if step.app == "GotoIf" and not set(_branches(step.args)) <= labels:
                raise ValueError(f"no such label: {step.args}")
    return found


def _step(label, text):
    app = APP.fullmatch(text)
    if not app or app[1] not in APPS:
        raise ValueError(text)
    waiting = []
    for sign in text:
        if sign in PAIRS.values():
            waiting.append(sign)
        elif sign in PAIRS and (not waiting or waiting.pop() != PAIRS[sign]):
            raise ValueError(f"{sign} closes nothing: {text}")
    unknown = set(re.findall(r"\$\{([A-Z]+)\(", text)) - FUNCTIONS
    if waiting or text.count('"') % 2 or unknown:
        raise ValueError(f"not closed, or not known: {text} {unknown or ''}")
    return Step(label, app[1], app[2])


def _branches(args):
    """Return the labels that a GotoIf names: for yes and for no, '' for the next line."""
    yes, _, no = args.rpartition("?")[2].partition(":")
    return yes, no


@dataclass
class Asterisk:
    """One channel on its way through *steps*; what it did stands in ``trace``."""

    steps: list
    extension: str
    number: str = "15550100"
    sockets: str = ""
    """The text of its websocket_client.conf."""
    says: tuple = SAYS[:1]
    trace: list = field(default_factory=list)
    heard: list = field(default_factory=list)
    """What the caller made of each call."""
    hangs_up: bool = True

    async def run(self):
        """Go through the steps until the channel is hung up."""
        self.variables = {"EXTEN": self.extension}
        at = 0
        while at < len(self.steps):
            step = self.steps[at]
            at = await self._do(step.app, await self._expanded(step.args), at + 1)

    async def _do(self, app, args, then):
        """Run one application; return the next step's place."""
        self.trace.append(app)
        match app:
            case "Set":
                name, _, value = args.partition("=")
                self.variables[name] = value
            case "GotoIf":
                one, other = re.match(r'\$\["(.*)" = "(.*)"\]', args).groups()
                label = _branches(args)[one != other]
                return [step.label for step in self.steps].index(label) if label else then
            case "AudioSocket":
                call, place = args.split(",")
                return await self._audiosocket(call, place, 8_000, then)
            case "Dial":
                return await self._dial(args, then)
            case "Busy" | "Hangup":
                return len(self.steps)
        return then

    async def _dial(self, args, then):
        """Dial; a caller is still there behind it only if the option g says so."""
        target, options = re.split(r",(?![^(]*\))", f"{args},,")[::2][:2]
        if audio := re.fullmatch(r"AudioSocket/([\d.:]+)/([\w-]+)/c\(slin16\)", target):
            there = await self._audiosocket(audio[2], audio[1], 16_000, then)
            return there if options == "g" else len(self.steps)
        if media := re.fullmatch(r"WebSocket/(\w+)/c\(ulaw\)f\(json\)v\((.*)\)", target):
            return await self._websocket(media[1], media[2].replace(",", "&"), then)
        self.trace.append(target)
        return then

    async def _audiosocket(self, call, place, rate, then):
        host, port = place.split(":")
        far = FarAudioSocket(uuid.UUID(call).bytes, rate, clock.now())
        self.heard.append(await over_tcp(caller(far, self.says, hangs_up=self.hangs_up), host, int(port)))
        return then if far.closed.startswith("we hung up") else len(self.steps)

    async def _websocket(self, name, query, then):
        config = configparser.ConfigParser()
        config.read_string(self.sockets)
        assert dict(config[name])["type"] == "websocket_client"
        far = FarChanWebsocket("ulaw", clock.now(), transmits_silence=True)
        async with (
            aiohttp.ClientSession() as session,
            session.ws_connect(
                f"{config[name]['uri']}?{query}", protocols=[config[name]["protocols"]]
            ) as socket,
        ):
            self.heard.append(await over_websocket(caller(far, self.says), socket))
        return then

    async def _expanded(self, text):
        """Return *text* with its variables and functions replaced, the innermost first."""
        while found := re.search(r"\$\{([^${}]*)\}", text):
            text = text[: found.start()] + await self._value(found[1]) + text[found.end() :]
        return text

    async def _value(self, name):
        function, _, args = name.removesuffix(")").partition("(")
        match function:
            case "UUID":
                return str(uuid.uuid4())
            case "CALLERID":
                return self.number
            case "URIENCODE":
                return quote(args, safe="")
            case "FILTER":
                allowed, _, text = args.partition(",")
                return "".join(re.findall(f"[{allowed}]", text))
            case "CURL":
                address, _, form = args.partition(",")
                return await self._curl(address, form)
        return self.variables.get(name, "")

    async def _curl(self, address, form):
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        async with aiohttp.ClientSession() as session:
            asked = session.post(address, data=form, headers=kind) if form else session.get(address)
            async with asked as response:
                return (await response.text()).rstrip()
