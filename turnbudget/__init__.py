"""Voice agents that answer in time.

A turn has 800 ms, from the caller's last voiced sample to our first audible one, and its ledger says where
each of them went. Every public name is imported from here and loads what it needs when it is first used;
``turnbudget.testing`` has the stages, scripted parts and simulated far ends for tests.

A call, its turns and their ledger
    Call               One caller on one line, turn after turn, until somebody hangs up.
    Parts              What a call is made of: line, detector, transcriber, responder, voice, phrases.
    CallSettings       How a call behaves: budget, patience, re-prompts, barge-in.
    Phrases            The three sentences that are ready before a call: bridge, pardon, apology.
    CallRow            What a call tells of each turn as it ends, with its account.
    Responder          Whoever chooses the reply (Protocol).
    Question           What a responder is asked, and by when it must answer.
    Reply              What to say, who chose it, and why.
    Said               One side's words in the history, as they were heard.
    Budget             An absolute end on the clock: left, keep, share.
    Forecast           What each stage has lately cost.
    Cost               A stage's cost, p50 and p95.
    Ledger             A turn's account while it runs: exactly one stage is charged at any time.
    Owner              Who or what a stage waits for.
    Row                One turn as it stands in turns.jsonl.
    account_row        Turn an account into a row.
    waterfall          Draw a row: where its milliseconds went.

Agents and the council
    Agent              A domain expert that is asked beside others (Protocol).
    Context            What an agent is told of the dialogue.
    Opinion            What one agent would say, and how sure it is.
    Action             What an agent would do; it is done once, if its opinion is chosen.
    Form               An agent that asks for slots until it has them all.
    Slot               One value that a form asks for.
    Faq                An agent that answers from passages.
    Lookup             An agent that answers from a database or a web service.
    Smalltalk          An agent for greetings, thanks and goodbyes.
    Handoff            An agent that sends the caller to a person.
    Llm                An agent that asks a backend with a domain prompt.
    LlmResponder       A responder that lets one backend answer a whole call.
    Council            Seats, heard together; a responder for one call.
    Seat               An agent in a council, with its rank.
    chat               Talk to an agent in a terminal.

LLM backends
    Backend            An LLM behind one method, stream (Protocol).
    Prompt             Messages and tools for a backend.
    Message            One message of a prompt.
    Delta              A piece of an answer: text, or a complete tool call.
    BackendError       An LLM failed, refused, or was silent.
    OpenAIBackend      Any server that speaks OpenAI's chat completions.
    AnthropicBackend   Anthropic's Messages.
    fast               A mode: the quick backend, with a careful one to fall back upon.
    accurate           A mode: the careful backend, with a quick one to fall back upon.
    race               A mode: both at once, the careful one if it is in time.
    hedge              A mode: a second attempt beside a first one that is late.
    simulated_backend  A backend of a preset, on the loop's clock, without a server.

Speech engines
    Transcriber        Speech to text (Protocol).
    Transcript         The final text of an utterance.
    Word               A word and when it was spoken.
    Moonshine          The recogniser for English.
    Vosk               The recogniser for other languages.
    Synthesizer        Text to speech (Protocol).
    Speech             A rendered text.
    choose_voice       Open pyttsx3, Piper, or the best voice here, and say why.
    Vad                A detector of speech (Protocol).
    Silero             The detector to use where it is installed.
    Energy             A detector by loudness, which needs nothing.
    Endpointing        How long a silence ends a turn.

Lines
    Line               Where call audio comes from and goes to (Protocol).
    Frame              Some of the caller's audio, and its place in it.
    RecordedLine       A line whose caller is a recording.
    Clip               A piece of a recorded caller, and what sets it off.
    Reference          What a recorded caller says, as it is said.

Running
    run                Run a coroutine on the wall, skip or virtual clock.
    now                The running loop's time in microseconds.
    Config             Every setting, with its default.
    load_config        Read a configuration from TOML.
    replay             Have recorded callers call us; returns and writes a run.
    ReplayPlan         What to replay, how, and where to.
    TurnbudgetError    Anything raised here; one line that a person can act on.
    UsageError         What was given cannot be used.
    ComponentError     An engine, a service or a device failed.
    Defect             Our own fault.
    __version__        The installed version.

Conformance kits, one contract: they raise BrokenPromise, or return nothing
    BrokenPromise      Lists every promise that a component breaks.
    check_agent        Try an agent.
    check_backend      Try a backend.
    check_line         Try a line.
    check_synthesizer  Try a synthesizer.
    check_transcriber  Try a transcriber.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from turnbudget.agents.agent import Action, Agent, Context, Opinion
    from turnbudget.agents.backends.anthropic import AnthropicBackend
    from turnbudget.agents.backends.backend import Backend, BackendError, Delta, Message, Prompt
    from turnbudget.agents.backends.check import check_backend
    from turnbudget.agents.backends.modes import accurate, fast, hedge, race
    from turnbudget.agents.backends.openai import OpenAIBackend
    from turnbudget.agents.chat import chat
    from turnbudget.agents.check import check_agent
    from turnbudget.agents.faq import Faq
    from turnbudget.agents.form import Form
    from turnbudget.agents.handoff import Handoff
    from turnbudget.agents.llm import Llm, LlmResponder
    from turnbudget.agents.lookup import Lookup
    from turnbudget.agents.simulated.make import make as simulated_backend
    from turnbudget.agents.slot import Slot
    from turnbudget.agents.smalltalk import Smalltalk
    from turnbudget.council.convene import Seat
    from turnbudget.council.council import Council
    from turnbudget.recorded.replay import ReplayPlan, replay
    from turnbudget.runs.records import Row, __version__
    from turnbudget.runs.rows import account_row
    from turnbudget.runs.terminal import waterfall
    from turnbudget.settings.config import Config
    from turnbudget.settings.config import load as load_config
    from turnbudget.voice.asr.check import check_transcriber
    from turnbudget.voice.asr.moonshine import Moonshine
    from turnbudget.voice.asr.reference import Reference
    from turnbudget.voice.asr.transcriber import Transcriber, Transcript, Word
    from turnbudget.voice.asr.vosk import Vosk
    from turnbudget.voice.call.call import Call
    from turnbudget.voice.call.ledger import Ledger, Owner
    from turnbudget.voice.call.parts import CallRow, CallSettings, Parts, Phrases
    from turnbudget.voice.call.responder import Question, Reply, Responder, Said
    from turnbudget.voice.errors import BrokenPromise, ComponentError, Defect, TurnbudgetError, UsageError
    from turnbudget.voice.hearing.endpoint import Endpointing
    from turnbudget.voice.hearing.vad import Energy, Silero, Vad
    from turnbudget.voice.lines.check import check_line
    from turnbudget.voice.lines.line import Frame, Line
    from turnbudget.voice.lines.recording import Clip, RecordedLine
    from turnbudget.voice.time.budget import Budget, Cost, Forecast
    from turnbudget.voice.time.clock import now, run
    from turnbudget.voice.tts.check import check_synthesizer
    from turnbudget.voice.tts.choose import choose as choose_voice
    from turnbudget.voice.tts.synthesizer import Speech, Synthesizer

if Path(__file__).parent.is_dir() and not Path(__file__).with_name("voice").is_dir():
    # What unpacks or checks out without links leaves small files in their places.
    raise ImportError(
        f"{Path(__file__).parent} has lost its links to the folders beside it; "
        "git config core.symlinks true && git checkout -- turnbudget, or install a wheel"
    )

_HOMES: Final = {
    "__version__": "turnbudget.runs.records",
    "Action": "turnbudget.agents.agent",
    "Agent": "turnbudget.agents.agent",
    "AnthropicBackend": "turnbudget.agents.backends.anthropic",
    "Backend": "turnbudget.agents.backends.backend",
    "BackendError": "turnbudget.agents.backends.backend",
    "BrokenPromise": "turnbudget.voice.errors",
    "Budget": "turnbudget.voice.time.budget",
    "Call": "turnbudget.voice.call.call",
    "CallRow": "turnbudget.voice.call.parts",
    "CallSettings": "turnbudget.voice.call.parts",
    "Clip": "turnbudget.voice.lines.recording",
    "ComponentError": "turnbudget.voice.errors",
    "Config": "turnbudget.settings.config",
    "Context": "turnbudget.agents.agent",
    "Cost": "turnbudget.voice.time.budget",
    "Council": "turnbudget.council.council",
    "Defect": "turnbudget.voice.errors",
    "Delta": "turnbudget.agents.backends.backend",
    "Endpointing": "turnbudget.voice.hearing.endpoint",
    "Energy": "turnbudget.voice.hearing.vad",
    "Faq": "turnbudget.agents.faq",
    "Forecast": "turnbudget.voice.time.budget",
    "Form": "turnbudget.agents.form",
    "Frame": "turnbudget.voice.lines.line",
    "Handoff": "turnbudget.agents.handoff",
    "Ledger": "turnbudget.voice.call.ledger",
    "Line": "turnbudget.voice.lines.line",
    "Llm": "turnbudget.agents.llm",
    "LlmResponder": "turnbudget.agents.llm",
    "Lookup": "turnbudget.agents.lookup",
    "Message": "turnbudget.agents.backends.backend",
    "Moonshine": "turnbudget.voice.asr.moonshine",
    "OpenAIBackend": "turnbudget.agents.backends.openai",
    "Opinion": "turnbudget.agents.agent",
    "Owner": "turnbudget.voice.call.ledger",
    "Parts": "turnbudget.voice.call.parts",
    "Phrases": "turnbudget.voice.call.parts",
    "Prompt": "turnbudget.agents.backends.backend",
    "Question": "turnbudget.voice.call.responder",
    "RecordedLine": "turnbudget.voice.lines.recording",
    "Reference": "turnbudget.voice.asr.reference",
    "ReplayPlan": "turnbudget.recorded.replay",
    "Reply": "turnbudget.voice.call.responder",
    "Responder": "turnbudget.voice.call.responder",
    "Row": "turnbudget.runs.records",
    "Said": "turnbudget.voice.call.responder",
    "Seat": "turnbudget.council.convene",
    "Silero": "turnbudget.voice.hearing.vad",
    "Slot": "turnbudget.agents.slot",
    "Smalltalk": "turnbudget.agents.smalltalk",
    "Speech": "turnbudget.voice.tts.synthesizer",
    "Synthesizer": "turnbudget.voice.tts.synthesizer",
    "Transcriber": "turnbudget.voice.asr.transcriber",
    "Transcript": "turnbudget.voice.asr.transcriber",
    "TurnbudgetError": "turnbudget.voice.errors",
    "UsageError": "turnbudget.voice.errors",
    "Vad": "turnbudget.voice.hearing.vad",
    "Vosk": "turnbudget.voice.asr.vosk",
    "Word": "turnbudget.voice.asr.transcriber",
    "account_row": "turnbudget.runs.rows",
    "accurate": "turnbudget.agents.backends.modes",
    "chat": "turnbudget.agents.chat",
    "check_agent": "turnbudget.agents.check",
    "check_backend": "turnbudget.agents.backends.check",
    "check_line": "turnbudget.voice.lines.check",
    "check_synthesizer": "turnbudget.voice.tts.check",
    "check_transcriber": "turnbudget.voice.asr.check",
    "choose_voice": "turnbudget.voice.tts.choose:choose",
    "fast": "turnbudget.agents.backends.modes",
    "hedge": "turnbudget.agents.backends.modes",
    "load_config": "turnbudget.settings.config:load",
    "now": "turnbudget.voice.time.clock",
    "race": "turnbudget.agents.backends.modes",
    "replay": "turnbudget.recorded.replay",
    "run": "turnbudget.voice.time.clock",
    "simulated_backend": "turnbudget.agents.simulated.make:make",
    "waterfall": "turnbudget.runs.terminal",
}
"""Public name: the module that defines it, and the name it has there where that is another."""

__all__ = (
    "Action",
    "Agent",
    "AnthropicBackend",
    "Backend",
    "BackendError",
    "BrokenPromise",
    "Budget",
    "Call",
    "CallRow",
    "CallSettings",
    "Clip",
    "ComponentError",
    "Config",
    "Context",
    "Cost",
    "Council",
    "Defect",
    "Delta",
    "Endpointing",
    "Energy",
    "Faq",
    "Forecast",
    "Form",
    "Frame",
    "Handoff",
    "Ledger",
    "Line",
    "Llm",
    "LlmResponder",
    "Lookup",
    "Message",
    "Moonshine",
    "OpenAIBackend",
    "Opinion",
    "Owner",
    "Parts",
    "Phrases",
    "Prompt",
    "Question",
    "RecordedLine",
    "Reference",
    "ReplayPlan",
    "Reply",
    "Responder",
    "Row",
    "Said",
    "Seat",
    "Silero",
    "Slot",
    "Smalltalk",
    "Speech",
    "Synthesizer",
    "Transcriber",
    "Transcript",
    "TurnbudgetError",
    "UsageError",
    "Vad",
    "Vosk",
    "Word",
    "__version__",
    "account_row",
    "accurate",
    "chat",
    "check_agent",
    "check_backend",
    "check_line",
    "check_synthesizer",
    "check_transcriber",
    "choose_voice",
    "fast",
    "hedge",
    "load_config",
    "now",
    "race",
    "replay",
    "run",
    "simulated_backend",
    "waterfall",
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
