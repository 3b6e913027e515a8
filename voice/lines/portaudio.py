"""A real sound card, by PortAudio: the package sounddevice, an extra (``mic``).

Everything that can be missing (the package, its library, a device, the device's leave) is one line that says
what to do. Microphone and speaker are streams of their own, so they may be two devices.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import numpy as np

from turnbudget.voice.errors import LineError, MissingEngine, UsageError
from turnbudget.voice.sound.audio import RATE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turnbudget.voice.lines.card import CardUser

Way: TypeAlias = Literal["input", "output"]
Latency: TypeAlias = Literal["low", "high"]
LATENCIES: Final[dict[Latency, str | float]] = {"low": "low", "high": 0.1}
"""Latencies asked of PortAudio, in this order (s): its own "high" is 35 ms, less than a busy machine
needs."""

REMEDY: Final = "pip install 'turnbudget[mic]'"
"""What to type where the package is missing."""
RATES: Final = (RATE, 48_000, 44_100, 32_000)
"""Sample rates in the order in which they are tried (Hz): first what needs no resampling."""
BLOCKS: Final = 100
"""Blocks a second."""
CALLED: Final[dict[Way, str]] = {"input": "microphone", "output": "speaker"}
"""What a direction's device is called."""
MILLION: Final = 1_000_000
"""Microseconds in a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A device that hears or plays."""

    index: int
    name: str
    system: str
    """The sound system it belongs to, as PortAudio calls it."""
    inputs: int
    outputs: int
    default: tuple[Way, ...]


def library() -> Any:
    """Return the package; raises MissingEngine that says which part is missing."""
    try:
        import sounddevice  # noqa: PLC0415 - an extra, imported when used
    except ModuleNotFoundError:
        raise MissingEngine("the package sounddevice is not installed", remedy=REMEDY) from None
    except OSError:
        raise MissingEngine(
            "the library PortAudio is not installed",
            remedy="on Debian and Ubuntu: apt install libportaudio2; on macOS: brew install portaudio",
        ) from None
    return sounddevice


def devices() -> list[Device]:
    """Return the devices there are; raises MissingEngine."""
    sound = library()
    chosen = dict(zip(("input", "output"), sound.default.device, strict=True))
    systems = sound.query_hostapis()
    return [
        Device(
            index=index,
            name=told["name"],
            system=systems[told["hostapi"]]["name"],
            inputs=told["max_input_channels"],
            outputs=told["max_output_channels"],
            default=tuple(way for way in CALLED if _default(sound, chosen[way], way) == index),
        )
        for index, told in enumerate(sound.query_devices())
    ]


def _default(sound: Any, chosen: int | str | None, way: Way) -> int:
    """Return the index of the default device for a *way*; −1 if there is none."""
    try:
        return int(sound.query_devices(chosen if chosen != -1 else None, way)["index"])
    except (ValueError, sound.PortAudioError):
        return -1


class PortAudio:
    """The card of a *microphone* and a *speaker*, by name, part of it, or number; default the system's.

    *latency* is what PortAudio asks the devices for: low answers 0.1 s sooner, high bears a busy machine.
    Raises MissingEngine, LineError where there is no such kind of device, UsageError for a wrong name.
    """

    def __init__(self, microphone: str = "", speaker: str = "", latency: Latency = "low") -> None:
        self._sound = library()
        self._latency = latency
        self._devices: dict[Way, dict[str, Any]] = {
            "input": self._find(microphone, "input"),
            "output": self._find(speaker, "output"),
        }
        self.rate, self._channels = self._agree()
        self._streams: list[Any] = []
        self._owner: CardUser | None = None
        self._heard_until = 0.0
        self._most_us = 0

    @property
    def names(self) -> tuple[str, str]:
        """Names of the microphone and the speaker."""
        return self._devices["input"]["name"], self._devices["output"]["name"]

    def start(self, owner: CardUser) -> None:
        """Hear and play for *owner*, which PortAudio's threads call; raises LineError."""
        self._owner = owner
        kinds = {"input": self._sound.RawInputStream, "output": self._sound.RawOutputStream}
        callbacks = {"input": self._hear, "output": self._play}
        try:
            for way in CALLED:
                stream = kinds[way](
                    callback=callbacks[way], finished_callback=self._over(way), **self._form(way)
                )
                self._streams.append(stream)
                self._most_us = round(self._streams[0].latency * MILLION)
                stream.start()
        except self._sound.PortAudioError as error:
            self.stop()
            raise LineError(
                f"the {CALLED[way]} cannot be opened ({_said(error)})",
                where=self._devices[way]["name"],
                remedy=f"close what else uses it, or choose another with --{way}",
            ) from None

    def stop(self) -> None:
        """Stop hearing and playing; a second call does nothing."""
        self._owner = None
        streams, self._streams = self._streams, []
        for stream in streams:
            stream.close(ignore_errors=True)

    def now(self) -> int:
        """Return PortAudio's own clock (µs)."""
        return round(self._streams[-1].time * MILLION) if self._streams else 0

    # --- choosing ----------------------------------------------------------------------------------

    def _find(self, wanted: str, way: Way) -> dict[str, Any]:
        """Return the device *wanted* for a *way*."""
        named: int | str | None = int(wanted) if wanted.isdecimal() else wanted or None
        try:
            found: dict[str, Any] = self._sound.query_devices(named, way)
        except self._sound.PortAudioError:
            found = {}
        except ValueError as error:
            raise UsageError(
                " ".join(str(error).split()), remedy=f"give --{way} a name or number of --list-devices"
            ) from None
        if not found:
            raise LineError(
                f"there is no {CALLED[way]}" if named is None else f"there is no device {wanted}",
                remedy="plug one in, or start the sound server; --list-devices shows what there is",
            )
        return found

    def _agree(self) -> tuple[int, dict[Way, int]]:
        """Return a rate that both devices have, and the number of channels each is opened with."""
        for rate in RATES:
            channels = {way: self._channels_at(rate, way) for way in CALLED}
            if all(channels.values()):
                return rate, channels
        microphone, speaker = self.names
        raise LineError(
            f"{microphone} and {speaker} share no sample rate",
            remedy="choose others with --input and --output",
        )

    def _channels_at(self, rate: int, way: Way) -> int:
        """Return the fewest channels that a *way*'s device has at *rate*; 0 if it lacks that rate."""
        check = {"input": self._sound.check_input_settings, "output": self._sound.check_output_settings}[way]
        for channels in (1, 2):
            try:
                check(device=self._devices[way]["index"], channels=channels, dtype="int16", samplerate=rate)
            except (self._sound.PortAudioError, ValueError):
                continue
            return channels
        return 0

    def _form(self, way: Way) -> dict[str, Any]:
        return {
            "device": self._devices[way]["index"],
            "channels": self._channels[way],
            "samplerate": self.rate,
            "blocksize": self.rate // BLOCKS,
            "dtype": "int16",
            "latency": LATENCIES[self._latency],
        }

    # --- PortAudio's threads -----------------------------------------------------------------------

    def _hear(self, block: Any, frames: int, times: Any, status: Any) -> None:
        """Pass on the first channel of what was heard."""
        sound = np.frombuffer(block, np.int16)[:: self._channels["input"]]
        until = times.inputBufferAdcTime + frames / self.rate
        gap = times.inputBufferAdcTime - self._heard_until if status.input_overflow else 0.0
        self._heard_until = until
        if self._owner:
            # PulseAudio tells half a second too much at first; no card holds more than its stream's latency.
            lag_us = min(round((times.currentTime - until) * MILLION), self._most_us)
            self._owner.heard(sound.tobytes(), max(0, lag_us), max(0, round(gap * self.rate)))

    def _play(self, block: Any, frames: int, times: Any, status: Any) -> None:
        """Play what is wanted, on every channel."""
        del status  # what PortAudio itself had to fill is in the latency it tells
        lead_us = round((times.outputBufferDacTime - times.currentTime) * MILLION)
        sound = bytes(2 * frames)
        if self._owner:
            sound = self._owner.wanted(frames, max(0, lead_us))
        if self._channels["output"] > 1:
            sound = np.repeat(np.frombuffer(sound, np.int16), self._channels["output"]).tobytes()
        block[:] = sound

    def _over(self, way: Way) -> Any:
        """Return a callback for the end of a *way*'s stream, by us or by itself."""

        def over() -> None:
            if self._owner:
                self._owner.gone(f"the {CALLED[way]} is gone")

        return over


def _said(error: Exception) -> str:
    """Return PortAudio's message without the name of the call it is about."""
    text = str(error.args[0] if error.args else error)
    return " ".join(text.rpartition(": ")[2].split())


def listing(found: list[Device]) -> Iterator[str]:
    """Yield the devices, a line each, the default ones marked."""
    for device in found:
        ways = [f"{way} (default)" if way in device.default else way for way in CALLED if _has(device, way)]
        yield f"{device.index:>3}  {device.name}, {device.system}: {', '.join(ways) or 'of no use'}"


def _has(device: Device, way: Way) -> bool:
    return bool(device.inputs if way == "input" else device.outputs)
