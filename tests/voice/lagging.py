"""Detector and recogniser as late as real ones are, for calls in virtual time."""

from __future__ import annotations

from turnbudget.voice.asr.scripted import Scripted
from turnbudget.voice.hearing.vad import Scripted as ScriptedVad
from turnbudget.voice.sound import audio
from turnbudget.voice.time.clock import MS

RISES_US, FALLS_US = 40 * MS, 80 * MS
"""Silero on telephone speech, in its 32 ms windows."""


class Late(ScriptedVad):
    """A detector that rises 40 ms after a word begins and falls 80 ms after it ends."""

    name = "late"

    def probability(self, window, at):
        began, ended = audio.us(at), audio.us(at + window.size)
        return float(
            any(
                word.began_us + RISES_US < ended and began < word.ended_us + FALLS_US
                for word in self._words[-12:]
            )
        )


def late(**how):
    """Parts of a call that hear late: a word is known 350 ms after its end, the final text after 150."""
    return {"vad": Late, "asr": Scripted(lag_us=350 * MS, final_us=150 * MS, **how)}
