"""Test a voice agent: a stage for whole calls, scripted parts, simulated callers, conformance kits.

In virtual time a call of minutes takes milliseconds and is the same on every run. Every name is imported
from here and loads what it needs when it is first used.

The stage: whole calls in virtual time
    play                 Play a call to its end: what the caller does, and parts of your own.
    one                  Play a call of one turn, check its account, and return its row.
    prepared             A call ready to run, its line, and the list that its rows go to.
    Played               A call that has been played: its rows, its sound, what was said.
    says                 Have the caller say a text.
    murmurs              Have the caller make a sound with no word in it.
    stays                Have the caller say nothing for a while.
    over                 Have the caller begin while our reply sounds: a barge-in.
    hangs_up             Have the caller hang up.
    answering            A responder that says one text to everything.
    Answers              A responder that gives one thing after another, each as late as it says.
    StageLine            A recorded line that remembers when it was handed what.
    Late                 A detector as late as a real one.
    late                 Parts that hear as late as real ones.
    speech               A text as a tone.
    PHRASES              The three phrases of a call, as tones.
    PRIORS               What each stage is taken to cost before it has been measured.

What must hold of a call
    checked              Every account holds, and no frame left too early.
    check_account        An account is contiguous, sums, is witnessed, and explains itself.
    quiet_by             A sound of ours ended within so long.
    began                When the caller first said a word.
    spent                What a stage cost.
    after                An instant counted from the caller's last voiced sample.
    lane                 The one lane of a name.

Scripted parts: each does what it is told, at the cost it is told
    ScriptedTranscriber  Hears the words of a reference.
    Take                 What one utterance is to be heard as.
    ScriptedSynthesizer  Speaks a tone, with faults on order.
    ScriptedVad          Detects speech where a reference has a word.
    ScriptedResponder    Answers by a table of patterns.
    Rule                 One line of that table.
    ScriptedBackend      Streams what a script says.
    Step                 One step of that script: a piece of text and the wait before it.

Simulated far ends
    FarTwilio            Twilio's side of a media stream, and its caller.
    FarAudioSocket       Asterisk's side of AudioSocket.
    FarChanWebsocket     Asterisk's side of chan_websocket.
    FarJambonz           Jambonz's side.
    FarVonage            Vonage's side.
    FarSide              A carrier and its caller; to simulate another.
    Caller               A caller behind a far end, on a real socket, in real time.
    over_websocket       Let a caller call over a WebSocket.
    over_tcp             Let a caller call over TCP.
    Tones                A transcriber that knows each sentence by its pitch.
    tone_of              A sentence as a tone of its own pitch.
    SimulatedCard        A sound card in a simulated room.
    simulated_backend    A backend of a preset, on the loop's clock, without a server.
    Mosquitto            A broker of one's own, where mosquitto is installed.

Conformance kits, one contract: they raise BrokenPromise, or return nothing
    BrokenPromise        Lists every promise that a component breaks.
    check_agent          Try an agent.
    check_backend        Try a backend.
    check_line           Try a line.
    check_synthesizer    Try a synthesizer.
    check_transcriber    Try a transcriber.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from turnbudget.agents.backends.check import check_backend
    from turnbudget.agents.backends.scripted import ScriptedBackend, Step
    from turnbudget.agents.check import check_agent
    from turnbudget.agents.scripted import Rule, ScriptedResponder
    from turnbudget.agents.simulated.make import make as simulated_backend
    from turnbudget.testing.caller import Caller, over_tcp, over_websocket
    from turnbudget.testing.mosquitto import Mosquitto
    from turnbudget.testing.stage import (
        PHRASES,
        PRIORS,
        Answers,
        Late,
        Played,
        StageLine,
        after,
        answering,
        began,
        check_account,
        checked,
        hangs_up,
        lane,
        late,
        murmurs,
        one,
        over,
        play,
        prepared,
        quiet_by,
        says,
        speech,
        spent,
        stays,
    )
    from turnbudget.testing.tones import Tones, tone_of
    from turnbudget.voice.asr.check import check_transcriber
    from turnbudget.voice.asr.scripted import ScriptedTranscriber, Take
    from turnbudget.voice.errors import BrokenPromise
    from turnbudget.voice.hearing.vad import ScriptedVad
    from turnbudget.voice.lines.card import SimulatedCard
    from turnbudget.voice.lines.check import check_line
    from turnbudget.voice.lines.far.audiosocket import FarAudioSocket
    from turnbudget.voice.lines.far.chan_websocket import FarChanWebsocket
    from turnbudget.voice.lines.far.jambonz import FarJambonz
    from turnbudget.voice.lines.far.side import FarSide
    from turnbudget.voice.lines.far.twilio import FarTwilio
    from turnbudget.voice.lines.far.vonage import FarVonage
    from turnbudget.voice.tts.check import check_synthesizer
    from turnbudget.voice.tts.scripted import ScriptedSynthesizer

_HOMES: Final = {
    "Answers": "turnbudget.testing.stage",
    "BrokenPromise": "turnbudget.voice.errors",
    "Caller": "turnbudget.testing.caller",
    "FarAudioSocket": "turnbudget.voice.lines.far.audiosocket",
    "FarChanWebsocket": "turnbudget.voice.lines.far.chan_websocket",
    "FarJambonz": "turnbudget.voice.lines.far.jambonz",
    "FarSide": "turnbudget.voice.lines.far.side",
    "FarTwilio": "turnbudget.voice.lines.far.twilio",
    "FarVonage": "turnbudget.voice.lines.far.vonage",
    "Late": "turnbudget.testing.stage",
    "Mosquitto": "turnbudget.testing.mosquitto",
    "PHRASES": "turnbudget.testing.stage",
    "PRIORS": "turnbudget.testing.stage",
    "Played": "turnbudget.testing.stage",
    "Rule": "turnbudget.agents.scripted",
    "ScriptedBackend": "turnbudget.agents.backends.scripted",
    "ScriptedResponder": "turnbudget.agents.scripted",
    "ScriptedSynthesizer": "turnbudget.voice.tts.scripted",
    "ScriptedTranscriber": "turnbudget.voice.asr.scripted",
    "ScriptedVad": "turnbudget.voice.hearing.vad",
    "SimulatedCard": "turnbudget.voice.lines.card",
    "StageLine": "turnbudget.testing.stage",
    "Step": "turnbudget.agents.backends.scripted",
    "Take": "turnbudget.voice.asr.scripted",
    "Tones": "turnbudget.testing.tones",
    "after": "turnbudget.testing.stage",
    "answering": "turnbudget.testing.stage",
    "began": "turnbudget.testing.stage",
    "check_account": "turnbudget.testing.stage",
    "check_agent": "turnbudget.agents.check",
    "check_backend": "turnbudget.agents.backends.check",
    "check_line": "turnbudget.voice.lines.check",
    "check_synthesizer": "turnbudget.voice.tts.check",
    "check_transcriber": "turnbudget.voice.asr.check",
    "checked": "turnbudget.testing.stage",
    "hangs_up": "turnbudget.testing.stage",
    "lane": "turnbudget.testing.stage",
    "late": "turnbudget.testing.stage",
    "murmurs": "turnbudget.testing.stage",
    "one": "turnbudget.testing.stage",
    "over": "turnbudget.testing.stage",
    "over_tcp": "turnbudget.testing.caller",
    "over_websocket": "turnbudget.testing.caller",
    "play": "turnbudget.testing.stage",
    "prepared": "turnbudget.testing.stage",
    "quiet_by": "turnbudget.testing.stage",
    "says": "turnbudget.testing.stage",
    "simulated_backend": "turnbudget.agents.simulated.make:make",
    "speech": "turnbudget.testing.stage",
    "spent": "turnbudget.testing.stage",
    "stays": "turnbudget.testing.stage",
    "tone_of": "turnbudget.testing.tones",
}
"""Public name: the module that defines it, and the name it has there where that is another."""

__all__ = (
    "PHRASES",
    "PRIORS",
    "Answers",
    "BrokenPromise",
    "Caller",
    "FarAudioSocket",
    "FarChanWebsocket",
    "FarJambonz",
    "FarSide",
    "FarTwilio",
    "FarVonage",
    "Late",
    "Mosquitto",
    "Played",
    "Rule",
    "ScriptedBackend",
    "ScriptedResponder",
    "ScriptedSynthesizer",
    "ScriptedTranscriber",
    "ScriptedVad",
    "SimulatedCard",
    "StageLine",
    "Step",
    "Take",
    "Tones",
    "after",
    "answering",
    "began",
    "check_account",
    "check_agent",
    "check_backend",
    "check_line",
    "check_synthesizer",
    "check_transcriber",
    "checked",
    "hangs_up",
    "lane",
    "late",
    "murmurs",
    "one",
    "over",
    "over_tcp",
    "over_websocket",
    "play",
    "prepared",
    "quiet_by",
    "says",
    "simulated_backend",
    "speech",
    "spent",
    "stays",
    "tone_of",
)


def __getattr__(name: str) -> object:
    """Load the module that *name* stands in, the first time it is asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home, _, there = _HOMES[name].partition(":")
    value: object = getattr(import_module(home), there or name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return what can be asked for, loaded or not."""
    return sorted({*globals(), *__all__})
