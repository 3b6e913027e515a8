"""A telephone to call a running server with: ``python demos/telephone.py twilio``.

The carrier is simulated, the sockets are real: it opens what the carrier would open, says each sentence when
it is its turn, and prints what it heard and how long it waited. What it hears no carrier has confirmed.
"""

from __future__ import annotations

import os
import secrets
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit
from xml.etree.ElementTree import ParseError, fromstring

import aiohttp
import click
import numpy as np

from turnbudget.commands.shell import one_line
from turnbudget.settings.compose import render_phrase
from turnbudget.settings.config import Config
from turnbudget.settings.engines import choose_transcriber, open_voice
from turnbudget.testing.caller import AUDIBLE, QUIET_US, Caller, over_tcp, over_websocket
from turnbudget.voice.errors import ConfigError, LineError
from turnbudget.voice.lines.far.audiosocket import FarAudioSocket
from turnbudget.voice.lines.far.chan_websocket import FarChanWebsocket
from turnbudget.voice.lines.far.side import FarPlayout
from turnbudget.voice.lines.far.twilio import FarCall, FarTwilio
from turnbudget.voice.lines.twilio_webhook import sign
from turnbudget.voice.sound import audio
from turnbudget.voice.sound.recording import read
from turnbudget.voice.sound.resampler import resample
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from xml.etree.ElementTree import Element

    from turnbudget.voice.lines.far.side import FarSide
    from turnbudget.voice.sound.audio import Int16
    from turnbudget.voice.sound.recording import Recording

SAYS: Final = ("I would like to check my balance.", "My savings account please.", "No, that was it. Goodbye.")
"""What the caller says unless they are told otherwise; a sentence each turn."""
PATIENCE_US: Final = 3 * clock.SECOND
"""How long the caller stays behind the last answer, for the agent may send them on (µs; 3 s)."""
NEAR_US: Final = 60 * clock.MS
"""How far apart a wait's end and the sound that ended it may be (µs; three frames)."""


@dataclass(frozen=True, slots=True)
class CallPlan:
    """Whom to call, as whom, and what to say."""

    server: str
    """The address of the server's HTTP."""
    socket: str
    """Host and port of its AudioSocket."""
    origin: str
    """Its public address, which signatures are made for; '' if there are none."""
    rate: int
    """Sample rate of the line (Hz)."""
    who: Mapping[str, str]
    """``caller``, ``called`` and ``tenant``, as far as they were given."""
    says: Sequence[str]
    """Sentences or sound files, one each turn."""
    words: bool
    """What is heard is written down."""
    token: str = field(default="", repr=False)
    """Twilio's to sign with, or the tenant's to show."""
    patience_us: int = PATIENCE_US
    """How long the caller stays behind the last answer (µs)."""


class KeptPlayout(FarPlayout):
    """What is heard, kept."""

    def __init__(self, frame: int) -> None:
        super().__init__(frame)
        self.frames: list[Int16] = []

    def heard(self) -> Int16:
        """Return what was heard since this was last asked, and keep it."""
        sound = super().heard()
        self.frames.append(sound)
        return sound


class Telephone(Caller):
    """A caller who keeps what they hear, and notes when they spoke and how long they waited."""

    def __init__(self, far: FarSide, sounds: Mapping[str, Int16], patience_us: int) -> None:
        super().__init__(far, [resample(sound, audio.RATE, far.rate) for sound in sounds.values()])
        self.tape = far.playout = KeptPlayout(far.frame)
        self.said: list[tuple[int, str]] = []
        self.waited: list[tuple[int, int]] = []
        self._texts = list(sounds)
        self._patience_us = patience_us

    def _listen(self, now: int) -> None:
        super()._listen(now)
        if len(self.heard.waits_us) > len(self.waited):
            self.waited.append((now - self._began_us, self.heard.waits_us[-1]))

    def _act(self, now: int) -> None:
        before = len(self._sentences)
        if not before and self._said_us is None and now - self._loud_us < self._patience_us:
            return
        super()._act(now)
        if len(self._sentences) < before:
            self.said.append((now - self._began_us, self._texts[len(self.said)]))


async def ring(carrier: str, plan: CallPlan) -> None:
    """Hold one call and print it; raises TurnbudgetError."""
    sounds = await speak(plan.says)
    try:
        async with aiohttp.ClientSession() as session:
            telephone, then = await CARRIERS[carrier](session, plan, sounds)
    except aiohttp.ClientError as error:
        raise LineError(f"the server did not take part ({error})", where=plan.server) from None
    except OSError as error:
        raise LineError(f"no answer ({error.strerror})", where=plan.socket) from None
    heard = telephone.heard
    for at_us, line in sorted(await story(telephone, words=plan.words)):
        click.echo(f"{at_us / clock.SECOND:6.1f} s  {line}")
    click.echo(f"{len(heard.waits_us)} of {len(telephone.said)} answered; ended: {heard.closed}")
    click.echo(f"then: {then}")


async def speak(says: Sequence[str]) -> dict[str, Int16]:
    """Return what to say as sound: a file's, or a sentence in the voice that is here."""
    sounds = {text: recording.samples for text, recording in (await clock.offload(_files, says)).items()}
    if len(sounds) < len(says):
        voice, _ = open_voice(Config(), "wall")
        try:
            await voice.warm()
            sounds |= {
                text: (await render_phrase(voice, text)).samples for text in says if text not in sounds
            }
        finally:
            await voice.aclose()
    return {text: sounds[text] for text in says}


def _files(says: Sequence[str]) -> dict[str, Recording]:
    """Return those of *says* that are files."""
    return {text: read(text) for text in says if Path(text).is_file()}


async def twilio(
    session: aiohttp.ClientSession, plan: CallPlan, sounds: Mapping[str, Int16]
) -> tuple[Telephone, str]:
    """Call as Twilio does: ask the webhook, open the socket that it names, ask what follows it."""
    call = f"CA{secrets.token_hex(16)}"
    who = plan.who
    form = {"CallSid": call, "From": who.get("caller", "+15550100"), "To": who.get("called", "+15550199")}
    answer = await _ask_webhook(session, plan, "/twilio/voice", form)
    stream = answer.find("Connect/Stream")
    if stream is None:
        raise LineError(f"the call is not taken: {_next(answer)}", where=plan.server)
    parameters = {each.get("name", ""): each.get("value", "") for each in stream.iter("Parameter")}
    path = urlsplit(stream.get("url", "")).path
    headers = _signature(plan, plan.origin.replace("http", "ws", 1) + path, {})
    far = FarTwilio(call=FarCall(call, parameters=parameters), began_us=clock.now())
    async with session.ws_connect(plan.server + path, headers=headers) as socket:
        telephone = Telephone(far, sounds, plan.patience_us)
        await over_websocket(telephone, socket)
    after = await _ask_webhook(session, plan, "/twilio/after", form)
    return telephone, _next(after)


async def audiosocket(
    session: aiohttp.ClientSession, plan: CallPlan, sounds: Mapping[str, Int16]
) -> tuple[Telephone, str]:
    """Call as Asterisk's dialplan does: say who calls, connect, ask where the caller goes."""
    call = uuid.uuid4()
    place = f"{plan.server}/audiosocket/{call}"
    headers = {"Authorization": f"Bearer {plan.token}"} if plan.token else {}
    async with session.put(place, data=plan.who, headers=headers) as response:
        if response.status != 201:  # noqa: PLR2004 - created
            raise LineError(f"the call is not taken: {response.status}", where=plan.server)
    host, _, port = plan.socket.rpartition(":")
    telephone = Telephone(FarAudioSocket(call.bytes, plan.rate, clock.now()), sounds, plan.patience_us)
    await over_tcp(telephone, host, int(port))
    async with session.get(f"{place}/after", headers=headers) as response:
        target = await response.text()
    return telephone, f"the dialplan dials {target}" if target else "the dialplan goes on"


async def chan_websocket(
    session: aiohttp.ClientSession, plan: CallPlan, sounds: Mapping[str, Int16]
) -> tuple[Telephone, str]:
    """Call as Asterisk's ``Dial(WebSocket/agent1/…)`` does."""
    query = {**plan.who, **({"token": plan.token} if plan.token else {})}
    form = {8_000: "ulaw", 16_000: "slin16"}[plan.rate]
    async with session.ws_connect(f"{plan.server}/asterisk/ws", params=query, protocols=("media",)) as socket:
        far = FarChanWebsocket(form, clock.now(), transmits_silence=True)
        telephone = Telephone(far, sounds, plan.patience_us)
        await over_websocket(telephone, socket)
    return telephone, "the dialplan goes on behind Dial, if it has the option g"


CARRIERS: Final = {"twilio": twilio, "audiosocket": audiosocket, "chan_websocket": chan_websocket}
"""How to call, by the carrier's name."""


async def _ask_webhook(
    session: aiohttp.ClientSession, plan: CallPlan, path: str, form: Mapping[str, str]
) -> Element:
    """Return what the server answers to *form*, signed for its public address if that is known."""
    headers = _signature(plan, plan.origin + path, form)
    async with session.post(plan.server + path, data=form, headers=headers) as response:
        response.raise_for_status()
        try:
            return fromstring(await response.text())  # noqa: S314 - from the server that is being tried
        except ParseError:
            raise LineError("the answer is no TwiML", where=plan.server) from None


def _signature(plan: CallPlan, url: str, form: Mapping[str, str]) -> dict[str, str]:
    return {"X-Twilio-Signature": sign(plan.token, url, form.items())} if plan.origin else {}


def _next(document: Element) -> str:
    """Return what Twilio does first, in a word."""
    first = document[0]
    target = "".join(first.itertext())
    return f"Twilio obeys <{first.tag}>" + (f" {target}" if target else "")


async def story(telephone: Telephone, *, words: bool) -> list[tuple[int, str]]:
    """Return what was said and heard, each with its place in the call."""
    rate = telephone.far.rate
    sound = audio.join(telephone.tape.frames)
    parts = stretches(sound, telephone.far.frame)
    texts = await understood([resample(sound[a:b], rate, audio.RATE) for a, b in parts] if words else [])
    lines = [(at_us, f"said   {text}") for at_us, text in telephone.said]
    for number, (start, end) in enumerate(parts):
        began_us, ended_us = start * clock.SECOND // rate, end * clock.SECOND // rate
        text = texts[number] if words else f"{(ended_us - began_us) / clock.SECOND:.1f} s of sound"
        waits = [wait for at, wait in telephone.waited if began_us - NEAR_US < at < ended_us + NEAR_US]
        lines.append((began_us, f"heard  {text}" + (f"  ({waits[0] // clock.MS} ms later)" if waits else "")))
    return lines


def stretches(sound: Int16, frame: int) -> list[tuple[int, int]]:
    """Return where *sound* is heard, from sample to sample; what is less than half a second apart is one."""
    frames = np.abs(sound[: sound.size - sound.size % frame].astype(np.int32)).reshape(-1, frame)
    found: list[tuple[int, int]] = []
    for number in np.flatnonzero(frames.max(axis=1) >= AUDIBLE).tolist():
        apart_us = (number - found[-1][1]) * audio.FRAME_US if found else QUIET_US
        start = number if apart_us >= QUIET_US else found.pop()[0]
        found.append((start, number + 1))
    return [(start * frame, end * frame) for start, end in found]


async def understood(sounds: Sequence[Int16]) -> list[str]:
    """Return the words of each sound, by the recogniser that is here."""
    if not sounds:
        return []
    transcriber, _, _ = choose_transcriber(Config(), "wall", lambda _: None)
    if transcriber is None:
        raise ConfigError("no recogniser is here", remedy="call with --no-words")
    try:
        await transcriber.warm()
        texts = []
        for sound in sounds:
            dictation = transcriber.begin(0, lambda: None)
            dictation.feed(sound)
            texts.append((await dictation.final()).text)
        return texts
    finally:
        await transcriber.aclose()


@click.command()
@click.argument("carrier", type=click.Choice(list(CARRIERS)))
@click.option("--server", default="http://127.0.0.1:8080", show_default=True, help="The server's HTTP.")
@click.option("--socket", default="127.0.0.1:9092", show_default=True, help="Its AudioSocket.")
@click.option("--origin", default="", help="Its public address: sign for it with TWILIO_AUTH_TOKEN.")
@click.option("--rate", type=click.Choice(["8000", "16000"]), default="8000", help="Asterisk's, in Hz.")
@click.option("--caller", default="", help="The number that calls.")
@click.option("--called", default="", help="The number that is called.")
@click.option(
    "--tenant", default="", help="Whose call it is; its token is in TURNBUDGET_TOKEN, if it has one."
)
@click.option("--say", "says", multiple=True, default=SAYS, help="A sentence, or a sound file; once a turn.")
@click.option("--words/--no-words", default=True, help="Whether to write down what was heard.")
@one_line
def main(carrier: str, **given: str | bool | tuple[str, ...]) -> None:
    """Call a running server through a simulated CARRIER, and print what came of it."""
    origin = str(given["origin"]).rstrip("/")
    name = "TWILIO_AUTH_TOKEN" if carrier == "twilio" else "TURNBUDGET_TOKEN"
    if origin and not os.environ.get(name):
        raise ConfigError(f"the environment holds no {name}", where="--origin")
    says = given["says"]
    plan = CallPlan(
        server=str(given["server"]).rstrip("/"),
        socket=str(given["socket"]),
        origin=origin,
        rate=int(str(given["rate"])),
        who={each: str(given[each]) for each in ("caller", "called", "tenant") if given[each]},
        says=says if isinstance(says, tuple) else SAYS,
        words=bool(given["words"]),
        token=os.environ.get(name, ""),
    )
    clock.run(ring(carrier, plan), "wall")


if __name__ == "__main__":
    main()
