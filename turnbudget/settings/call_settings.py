"""How a call behaves, from the configuration: milliseconds for people become microseconds."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from turnbudget.voice.call.bargein import Rules
from turnbudget.voice.call.parts import CallSettings
from turnbudget.voice.hearing.endpoint import Endpointing
from turnbudget.voice.hearing.keypad import Gathering
from turnbudget.voice.time import clock
from turnbudget.voice.words.phrases_heard import word_classes

if TYPE_CHECKING:
    from turnbudget.settings.config import BargeInTable, Config

MS: Final = clock.MS


def call_settings(config: Config) -> CallSettings:
    """Return how a call behaves: it aims to be a margin early."""
    return CallSettings(
        budget_us=config.budget_ms * MS - config.margin_ms * MS,
        patience_us=config.patience_ms * MS,
        text_us=config.asr.text_ms * MS,
        murmur_us=config.murmur_ms * MS,
        idle_us=config.idle_ms * MS,
        reprompts=config.reprompts,
        longest_us=config.longest_call_s * clock.SECOND,
        barge_in=barge_in(config.barge_in),
        keypad=Gathering(config.keypad.terminator, config.keypad.gap_ms * MS, config.keypad.most),
    )


def endpointing(config: Config) -> Endpointing:
    """Return how long silences end a turn."""
    told = config.endpoint
    return Endpointing(
        silence_us=told.silence_ms * MS,
        start_us=told.start_ms * MS,
        longest_us=told.longest_ms * MS,
        whole_us=told.whole_ms * MS,
        patient_us=max(told.silence_ms, config.budget_ms - config.margin_ms - 20) * MS,
        settled_us=told.settled_ms * MS,
        least_us=told.least_ms * MS,
        most_us=told.most_ms * MS,
        part_us=told.part_ms * MS,
    )


def barge_in(told: BargeInTable) -> Rules:
    """Return what the caller's sound over ours means, by the configuration."""
    words = word_classes(told.language)
    return Rules(
        words=replace(
            words, stop=(*words.stop, *told.stop), backchannels=(*words.backchannels, *told.backchannels)
        ),
        pause_us=told.pause_ms * MS,
        cut_us=told.cut_ms * MS,
        wordless_us=told.wordless_ms * MS,
        resume_us=told.resume_ms * MS,
        hold_us=told.hold_ms * MS,
    )
