"""turnbudget: voice agents that answer in time. The public names; heavy engines load when used."""

from __future__ import annotations

from turnbudget.config import Config, load
from voice.asr.check import check_transcriber
from voice.asr.transcriber import Dictation, Transcriber, Transcript, Word
from voice.budget import Budget
from voice.call import Call
from voice.desk import Phrases
from voice.endpoint import Endpointing
from voice.errors import ComponentError, Defect, TurnbudgetError, UsageError
from voice.forecast import Cost, Forecast
from voice.ledger import Ledger, Owner
from voice.line import Frame, Line
from voice.lines.check import check_line
from voice.parts import Manners, Parts
from voice.responder import Question, Reply, Responder, Said
from voice.tts.check import check_synthesizer
from voice.tts.synthesizer import Speech, Synthesizer
from voice.vad import Vad

__all__ = (
    "Budget",
    "Call",
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
    "Manners",
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
