"""Talk: a person calls by microphone; they see every turn, and Ctrl-C ends well."""

from __future__ import annotations

import asyncio
import io
import os
import pty
import sys

import pytest
from click.testing import CliRunner
from live_calls import CONFIG, SAYINGS, TEXTS, studio
from rich.console import Console
from soundcards import HEADSET, Sounddevice

from turnbudget.commands.shell import BROKEN, USAGE
from turnbudget.commands.talking import talk as command
from turnbudget.live import talk as keys_module
from turnbudget.live import talk as talk_module
from turnbudget.live.screen import ADVICE, Screen
from turnbudget.live.talk import TalkSettings, chosen, talk
from turnbudget.runs.folder import load
from turnbudget.voice.errors import ConfigError, LineError, UsageError
from turnbudget.voice.lines.canceller import installed
from turnbudget.voice.lines.card import Person, SimulatedCard
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import MS, SECOND


class Follower:
    """Remembers what it is told."""

    def __init__(self):
        self.line, self.how, self.rows, self.texts = None, (), [], []

    def doing(self, what):
        pass

    def ready(self, line, echo, *, push_to_talk):
        self.line, self.how = line, (echo, push_to_talk)

    def partial(self, text):
        self.texts.append(text)

    def row(self, row):
        self.rows.append(row)


@pytest.fixture
def scripted(monkeypatch):
    """Open a studio of scripted engines, whatever the configuration."""

    async def opened(_, doing):
        doing("scripting")
        return await studio()

    monkeypatch.setattr(talk_module, "open_studio", opened)


async def have(kind=SimulatedCard, card=None, **settings):
    """Have a call with a scripted person, who hangs up when they have been answered."""
    follower = Follower()
    person = Person(SAYINGS, over=lambda: follower.line.hang_up("the caller hung up"))
    settings = TalkSettings(CONFIG, **({"echo": "none"} | settings))
    return await talk(settings, card or kind(person), follower), follower


@pytest.mark.usefixtures("scripted")
class TestACall:
    async def test_is_summed_up_when_it_is_over(self):
        talked, follower = await have()
        assert [row.heard for row in talked.run.rows if row.kind == "turn"] == list(TEXTS)
        assert talked.run.rows == tuple(follower.rows)
        assert (talked.run.summary.in_time.count, talked.run.summary.in_time.of) == (3, 3)
        assert (talked.record.ended, talked.broken) == ("the caller hung up", False)

    async def test_is_written_down_where_that_is_asked_for(self, tmp_path):
        talked, _ = await have(folder=tmp_path / "run")
        assert load(tmp_path / "run") == talked.run
        assert (tmp_path / "run" / "talk.wav").stat().st_size > 100_000

    async def test_is_ended_by_ctrl_c_with_all_that_was_said(self):
        """A cancellation is what Ctrl-C is to a task; the call ends in order, and is no broken run."""
        calling = asyncio.get_running_loop().create_task(have())
        clock.call_at(clock.now() + 5 * SECOND, calling.cancel)
        talked, _ = await calling
        assert talked.record.ended == "you hung up"
        assert not talked.run.summary.truncated
        assert [row.kind for row in talked.run.rows] == ["greeting", "turn"]

    async def test_whose_card_is_unplugged_is_a_run_cut_short_with_the_reason(self):
        card = SimulatedCard(Person(SAYINGS))
        clock.call_at(clock.now() + 5 * SECOND, card.unplug)
        talked, _ = await have(card=card)
        assert talked.broken
        assert talked.run.summary.truncated
        assert talked.run.summary.faults == ("the card was unplugged",)

    async def test_on_a_card_that_never_begins_is_one_line_and_leaves_no_folder(self, tmp_path):
        class Dead(SimulatedCard):
            def start(self, owner):
                pass

        with pytest.raises(LineError, match="the sound card does not begin to hear and play"):
            await have(Dead, folder=tmp_path / "run")
        assert not (tmp_path / "run").exists()

    async def test_begins_when_the_card_has_begun_so_that_the_greeting_is_heard(self):
        """PulseAudio asks for a few blocks, and then stands still for 1.8 s."""

        class Slow(SimulatedCard):
            def start(self, owner):
                for _ in range(3):
                    owner.wanted(160, 0)
                clock.call_at(clock.now() + 1_800 * MS, lambda: SimulatedCard.start(self, owner))

        talked, _ = await have(Slow)
        assert talked.run.rows[0].outcome == "answered"
        assert not [note for note in talked.record.notes if "never played" in note or "before" in note]

    async def test_without_speech_from_the_microphone_is_silent_for_push_to_talk(self, monkeypatch):
        pressed = []

        class Keys:
            def __init__(self, tell):
                pressed.append(tell)

            def __enter__(self):
                clock.call_at(clock.now() + 6 * SECOND, lambda: pressed[0](" "))

            def __exit__(self, *_):
                pass

        monkeypatch.setattr(talk_module, "keys", Keys)
        talked, _ = await have(push_to_talk=True)
        first = next(row for row in talked.run.rows if row.kind == "turn")
        assert first.speech_ended_call_us > 6 * SECOND


async def test_a_fault_before_the_call_leaves_no_folder(tmp_path, monkeypatch):
    async def refuses(*_):
        raise ConfigError("nothing to speak with")

    monkeypatch.setattr(talk_module, "open_studio", refuses)
    with pytest.raises(ConfigError):
        await have(folder=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_an_echo_is_cancelled_where_a_canceller_is_installed_and_else_guarded_against():
    assert chosen("auto") == (("cancelled", True) if installed() else ("guarded against", False))
    assert chosen("guard") == ("guarded against", False)
    assert chosen("none") == ("nothing is done about it", False)


class Line:
    """As much of a microphone as the screen looks at."""

    level_db, open_mic, hears_itself = -20.0, True, False


def screen(rows, line=None, **how):
    """What the screen shows of *rows*."""
    file = io.StringIO()
    console = Console(file=file, width=80, **how)
    with Screen(console, 800 * MS) as shown:
        shown.doing("loading")
        shown.ready(line or Line(), "cancelled", push_to_talk=False)
        shown.partial("what is")
        for row in rows:
            shown.row(row)
    return file.getvalue()


@pytest.mark.usefixtures("scripted")
async def test_without_a_terminal_there_is_a_waterfall_and_a_line_of_numbers_for_each_turn():
    talked, _ = await have()
    shown = screen(talked.run.rows).splitlines()
    assert shown[0] == "loading"
    assert sum("answered" in line for line in shown) == 4
    assert [line for line in shown if "in time" in line][-1].startswith("    in time 100.0 % (3 of 3)  first")


@pytest.mark.usefixtures("scripted")
async def test_on_a_terminal_level_words_and_numbers_are_alive():
    talked, _ = await have()
    shown = screen(talked.run.rows, force_terminal=True, color_system=None)
    assert "█" * 16 + "·" * 8 in shown
    assert "what is" in shown


@pytest.mark.usefixtures("scripted")
async def test_who_is_heard_by_their_own_microphone_is_advised_once_to_take_a_headset():
    talked, _ = await have()
    line = Line()
    line.hears_itself = True
    assert screen(talked.run.rows, line).count(ADVICE[:40]) == 1


@pytest.mark.clock("wall")
async def test_keys_are_told_one_by_one_and_the_terminal_is_as_it_was(monkeypatch):
    ours, theirs = pty.openpty()
    told, arrived = [], asyncio.Event()

    def tell(key):
        told.append(key)
        if len(told) == 2:
            arrived.set()

    with os.fdopen(theirs, "r") as terminal:
        monkeypatch.setattr(keys_module.sys, "stdin", terminal)
        before = keys_module.termios.tcgetattr(theirs)
        with keys_module.keys(tell):
            os.write(ours, b" x")
            async with clock.move_on_at(clock.now() + 2 * SECOND):
                await arrived.wait()
        assert keys_module.termios.tcgetattr(theirs) == before
    os.close(ours)
    assert told == [" ", "x"]


@pytest.mark.clock("wall")
async def test_push_to_talk_needs_a_terminal(monkeypatch, tmp_path):
    with (tmp_path / "none").open("w+") as file:
        monkeypatch.setattr(keys_module.sys, "stdin", file)
        with pytest.raises(UsageError, match="leave --push-to-talk out"), keys_module.keys(print):
            pass


def test_the_command_lists_devices(monkeypatch):
    monkeypatch.setitem(sys.modules, "sounddevice", Sounddevice(HEADSET))
    result = CliRunner().invoke(command, ["--list-devices"])
    assert (result.exit_code, result.output) == (0, "  0  Headset, ALSA: input (default), output (default)\n")


@pytest.mark.parametrize(
    ("there", "code", "says"),
    [
        (None, USAGE, "pip install 'turnbudget[mic]'"),
        (Sounddevice(), BROKEN, "there is no microphone"),
        (Sounddevice(HEADSET), USAGE, "give --input a name or number"),
    ],
)
def test_what_is_missing_is_said_in_one_line(monkeypatch, there, code, says):
    monkeypatch.setitem(sys.modules, "sounddevice", there)
    result = CliRunner().invoke(command, ["--input", "Trumpet"] if there and there.devices else [])
    assert result.exit_code == code
    assert says in result.stderr
    assert result.stderr.count("\n") == 1
