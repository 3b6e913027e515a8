"""Whatever a sound card lacks is one line that says what to do; whatever it has is used."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from soundcards import HEADSET, Sounddevice, device

from turnbudget.voice.errors import LineError, MissingEngine, UsageError
from turnbudget.voice.lines.portaudio import PortAudio, devices, listing

LOUDSPEAKER = device("Loudspeaker", outputs=2, rates=(44_100, 48_000), channels=2)
CAMERA = device("Camera", inputs=1)


@pytest.fixture
def package(monkeypatch):
    """Put a package with the devices given in the place of the real one."""

    def put(*found, **how):
        made = Sounddevice(*found, **how)
        monkeypatch.setitem(sys.modules, "sounddevice", made)
        return made

    return put


class Owner:
    """Who is on the card: remembers what it was told."""

    def __init__(self):
        self.blocks, self.leads, self.why = [], [], []

    def heard(self, data, lag_us, lost):
        self.blocks.append((len(data) // 2, lag_us, lost))

    def wanted(self, count, lead_us):
        self.leads.append(lead_us)
        return np.arange(count, dtype=np.int16).tobytes()

    def gone(self, why):
        self.why.append(why)


def started(*names):
    card, owner = PortAudio(*names), Owner()
    card.start(owner)
    return card, owner


def test_without_the_package_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sounddevice", None)
    with pytest.raises(MissingEngine) as caught:
        PortAudio()
    assert str(caught.value) == "the package sounddevice is not installed; pip install 'turnbudget[mic]'"


def test_without_the_library_it_says_what_to_install(monkeypatch):
    class Finder:
        @staticmethod
        def find_spec(name, *_):
            if name == "sounddevice":
                raise OSError("PortAudio library not found")

    monkeypatch.delitem(sys.modules, "sounddevice", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Finder, *sys.meta_path])
    with pytest.raises(MissingEngine, match="PortAudio is not installed; on Debian and Ubuntu: apt install"):
        PortAudio()


def test_without_a_microphone_it_says_so(package):
    package(LOUDSPEAKER)
    with pytest.raises(LineError, match=r"^there is no microphone; plug one in"):
        PortAudio()


def test_without_a_speaker_it_says_so(package):
    package(CAMERA)
    with pytest.raises(LineError, match=r"^there is no speaker; plug one in"):
        PortAudio()


@pytest.mark.parametrize("name", ["Trumpet", "e"])
def test_a_name_that_fits_none_or_several_is_one_line(package, name):
    package(HEADSET, CAMERA, LOUDSPEAKER)
    with pytest.raises(UsageError, match="give --input a name or number of --list-devices") as caught:
        PortAudio(name)
    assert "\n" not in str(caught.value)


def test_a_number_that_is_none_is_one_line(package):
    package(HEADSET)
    with pytest.raises(LineError, match="there is no device 7"):
        PortAudio("7")


def test_a_busy_device_is_one_line_and_leaves_nothing_open(package):
    made = package(CAMERA, LOUDSPEAKER, busy=("Loudspeaker",))
    with pytest.raises(LineError) as caught:
        started()
    assert str(caught.value) == (
        "Loudspeaker: the speaker cannot be opened (Device unavailable [PaErrorCode -9985]); "
        "close what else uses it, or choose another with --output"
    )
    assert all(stream.closed for stream in made.opened)


def test_devices_are_listed_with_what_they_are_good_for(package):
    package(HEADSET, CAMERA)
    assert list(listing(devices())) == [
        "  0  Headset, ALSA: input (default), output (default)",
        "  1  Camera, ALSA: input",
    ]


def test_our_own_rate_is_taken_where_both_have_it(package):
    package(HEADSET)
    assert PortAudio().rate == 16_000


def test_two_devices_meet_at_a_rate_they_share(package):
    package(CAMERA, LOUDSPEAKER)
    assert PortAudio("Camera", "Loud").rate == 48_000


def test_two_devices_that_share_no_rate_are_one_line(package):
    package(device("Old", inputs=1, rates=(8_000,)), LOUDSPEAKER)
    with pytest.raises(LineError, match="Old and Loudspeaker share no sample rate"):
        PortAudio()


def test_a_speaker_of_two_channels_plays_the_same_on_both(package):
    made = package(CAMERA, LOUDSPEAKER)
    _, owner = started()
    _, speaker = made.opened
    block = bytearray(4 * 480)
    speaker.callback(block, 480, SimpleNamespace(currentTime=1.0, outputBufferDacTime=1.03), None)
    assert (np.frombuffer(block, np.int16)[::2] == np.arange(480)).all()
    assert (np.frombuffer(block, np.int16)[1::2] == np.arange(480)).all()
    assert owner.leads == [30_000]


def listen(stream, adc, now, *, overflow=False, frames=160):
    times = SimpleNamespace(inputBufferAdcTime=adc, currentTime=now)
    stream.callback(bytes(2 * frames), frames, times, SimpleNamespace(input_overflow=overflow))


def test_how_long_ago_a_block_was_spoken_is_told_and_never_more_than_the_stream_holds(package):
    made = package(HEADSET)
    _, owner = started()
    microphone = made.opened[0]
    listen(microphone, 1.0, 1.025)
    listen(microphone, 1.01, 1.6)
    assert owner.blocks == [(160, 15_000, 0), (160, 20_000, 0)]


def test_what_the_card_lost_is_counted_by_its_clock(package):
    made = package(HEADSET)
    _, owner = started()
    listen(made.opened[0], 1.0, 1.01)
    listen(made.opened[0], 1.11, 1.12, overflow=True)
    assert owner.blocks[1] == (160, 0, 1_600)


def test_a_stream_that_ends_by_itself_is_told_and_one_that_is_stopped_is_not(package):
    made = package(HEADSET)
    card, owner = started()
    made.opened[0].finished_callback()
    assert owner.why == ["the microphone is gone"]
    card.stop()
    card.stop()
    made.opened[1].finished_callback()
    assert owner.why == ["the microphone is gone"]
    assert all(stream.closed for stream in made.opened)


def test_its_clock_is_portaudios_own(package):
    package(HEADSET)
    card, _ = started()
    assert card.now() == 1_500_000
