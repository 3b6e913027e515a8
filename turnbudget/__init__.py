"""turnbudget: voice agents that answer in time. The public names; each loads its module when it is used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from turnbudget.settings.config import Config, load
    from turnbudget.voice.asr.check import check_transcriber
    from turnbudget.voice.asr.transcriber import Dictation, Transcriber, Transcript, Word
    from turnbudget.voice.call.call import Call
    from turnbudget.voice.call.ledger import Ledger, Owner
    from turnbudget.voice.call.parts import CallSettings, Parts, Phrases
    from turnbudget.voice.call.responder import Question, Reply, Responder, Said
    from turnbudget.voice.errors import ComponentError, Defect, TurnbudgetError, UsageError
    from turnbudget.voice.hearing.endpoint import Endpointing
    from turnbudget.voice.hearing.vad import Vad
    from turnbudget.voice.lines.check import check_line
    from turnbudget.voice.lines.line import Frame, Line
    from turnbudget.voice.time.budget import Budget, Cost, Forecast
    from turnbudget.voice.tts.check import check_synthesizer
    from turnbudget.voice.tts.synthesizer import Speech, Synthesizer

_HOMES: Final = {
    "Budget": "turnbudget.voice.time.budget",
    "Call": "turnbudget.voice.call.call",
    "ComponentError": "turnbudget.voice.errors",
    "Config": "turnbudget.settings.config",
    "Cost": "turnbudget.voice.time.budget",
    "Defect": "turnbudget.voice.errors",
    "Dictation": "turnbudget.voice.asr.transcriber",
    "Endpointing": "turnbudget.voice.hearing.endpoint",
    "Forecast": "turnbudget.voice.time.budget",
    "Frame": "turnbudget.voice.lines.line",
    "Ledger": "turnbudget.voice.call.ledger",
    "Line": "turnbudget.voice.lines.line",
    "CallSettings": "turnbudget.voice.call.parts",
    "Owner": "turnbudget.voice.call.ledger",
    "Parts": "turnbudget.voice.call.parts",
    "Phrases": "turnbudget.voice.call.parts",
    "Question": "turnbudget.voice.call.responder",
    "Reply": "turnbudget.voice.call.responder",
    "Responder": "turnbudget.voice.call.responder",
    "Said": "turnbudget.voice.call.responder",
    "Speech": "turnbudget.voice.tts.synthesizer",
    "Synthesizer": "turnbudget.voice.tts.synthesizer",
    "Transcriber": "turnbudget.voice.asr.transcriber",
    "Transcript": "turnbudget.voice.asr.transcriber",
    "TurnbudgetError": "turnbudget.voice.errors",
    "UsageError": "turnbudget.voice.errors",
    "Vad": "turnbudget.voice.hearing.vad",
    "Word": "turnbudget.voice.asr.transcriber",
    "check_line": "turnbudget.voice.lines.check",
    "check_synthesizer": "turnbudget.voice.tts.check",
    "check_transcriber": "turnbudget.voice.asr.check",
    "load": "turnbudget.settings.config",
}
"""Public name: the module it is defined in."""

__all__ = (
    "Budget",
    "Call",
    "CallSettings",
    "ComponentError",
    "Config",
    "Cost",
    "Defect",
    "Dictation",
    "Endpointing",
    "Forecast",
    "Frame",
    "Ledger",
    "Line",
    "Owner",
    "Parts",
    "Phrases",
    "Question",
    "Reply",
    "Responder",
    "Said",
    "Speech",
    "Synthesizer",
    "Transcriber",
    "Transcript",
    "TurnbudgetError",
    "UsageError",
    "Vad",
    "Word",
    "check_line",
    "check_synthesizer",
    "check_transcriber",
    "load",
)


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
