"""A sounddevice that is none: devices, streams and faults as the test says."""

from __future__ import annotations

from types import SimpleNamespace


class PortAudioError(Exception):
    """What PortAudio says."""


def device(name, inputs=0, outputs=0, rates=(16_000, 48_000), channels=1):
    """A device, with the *rates* it has and the fewest *channels* it opens with."""
    told = {"name": name, "hostapi": 0, "max_input_channels": inputs, "max_output_channels": outputs}
    return told | {"rates": rates, "least": channels}


HEADSET = device("Headset", 1, 2)


class Sounddevice:
    """The package, with *devices*; opening one whose name is in *busy* fails."""

    PortAudioError = PortAudioError

    def __init__(self, *devices, busy=()):
        self.devices = [{**told, "index": index} for index, told in enumerate(devices)]
        self.busy = busy
        self.default = SimpleNamespace(device=(-1, -1))
        self.opened = []

    def query_hostapis(self):
        return [{"name": "ALSA"}]

    def query_devices(self, wanted=None, kind=None):
        if kind is None and wanted is None:
            return self.devices
        able = [told for told in self.devices if told[f"max_{kind}_channels"]]
        if isinstance(wanted, str):
            able = [told for told in able if wanted.lower() in told["name"].lower()]
            if len(able) > 1:
                raise ValueError(f"Multiple {kind} devices found for {wanted!r}:\n[0] One\n[1] Two")
        elif wanted is not None:
            able = [told for told in able if told["index"] == wanted]
        if not able:
            if isinstance(wanted, str):
                raise ValueError(f"No {kind} device matching {wanted!r}")
            raise PortAudioError("Error querying device -1")
        return able[0]

    def _check(self, device, channels, dtype, samplerate):
        told = self.devices[device]
        assert dtype == "int16"
        if samplerate not in told["rates"] or channels < told["least"]:
            raise PortAudioError("Invalid sample rate [PaErrorCode -9997]")

    check_input_settings = check_output_settings = _check

    def RawInputStream(self, **how):  # noqa: N802 - as the package names it
        return self._stream("input", how)

    def RawOutputStream(self, **how):  # noqa: N802 - likewise
        return self._stream("output", how)

    def _stream(self, way, how):
        if self.devices[how["device"]]["name"] in self.busy:
            raise PortAudioError(
                f"Error opening Raw{way.title()}Stream: Device unavailable [PaErrorCode -9985]", -9985
            )
        self.opened.append(
            SimpleNamespace(**{**how, "way": way, "latency": 0.02, "time": 1.5, "closed": False})
        )
        stream = self.opened[-1]
        stream.start = lambda: None
        stream.close = lambda ignore_errors: setattr(stream, "closed", ignore_errors)
        return stream
