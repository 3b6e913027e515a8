"""Small recorded calls made of tones: every word is 220 ms of tone, 30 ms apart, in a little noise."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass

import numpy as np
import soundfile

from turnbudget.recorded.replay import ReplayPlan
from turnbudget.recorded.replay import replay as run_replay
from turnbudget.settings.config import (
    Config,
    OtherwiseTable,
    PhraseTable,
    ResponderTable,
    RuleTable,
    SpeculationTable,
)
from turnbudget.voice.time import clock

RATE = 8_000
WORD_MS, STEP_MS = 220, 250
PITCH = {"caller": 300, "agent": 500}


@dataclass(frozen=True)
class Line:
    """What one side says, from when on (ms of the call)."""

    who: str
    text: str
    at_ms: int

    @property
    def words(self):
        return self.text.split()

    @property
    def ended_ms(self):
        return self.at_ms + STEP_MS * (len(self.words) - 1) + WORD_MS


TALK = (
    Line("agent", "hello this is the bank", 500),
    Line("caller", "i lost my card", 2_600),
    Line("agent", "i can replace it", 5_000),
    Line("caller", "thank you bye", 6_400),
)
"""The caller pauses 880 ms, then 430 ms, before speaking."""

QUICK = Config(
    phrases=PhraseTable(greeting="Hi.", reprompt=""),
    responder=ResponderTable(
        rules=(RuleTable("look", "Here it is.", 1_500),), otherwise=OtherwiseTable(say="Sure.")
    ),
    speculation=SpeculationTable(on=False),
)
"""Short phrases, so that a call is short; "look" is answered behind a bridge; nothing is done ahead."""


def track(who, talk=TALK, seconds=8.0, rate=RATE, level=6_000):
    """One side's sound."""
    count = round(seconds * rate)
    noise = np.random.default_rng(len(who)).normal(0, 8, count)
    for line in talk:
        for place in range(len(line.words) if line.who == who else 0):
            start = round((line.at_ms + place * STEP_MS) * rate / 1000)
            end = min(start + round(WORD_MS * rate / 1000), count)
            noise[start:end] += level * np.sin(2 * np.pi * PITCH[who] * np.arange(end - start) / rate)
    return np.rint(noise).astype(np.int16)


def stereo(path, talk=TALK, *, swapped=False, rate=RATE, **how):
    """A stereo recording, the caller left unless *swapped*."""
    sides = [track(who, talk, rate=rate, **how) for who in ("caller", "agent")]
    soundfile.write(path, np.column_stack(sides[::-1] if swapped else sides), rate)
    return path


def pair(folder, name="x", suffix=".wav", talk=TALK, seconds=(8.0, 8.0), **how):
    """A caller/agent pair; return the caller's file."""
    for who, length in zip(("agent", "caller"), seconds, strict=True):
        path = folder / f"{name}-{who}{suffix}"
        soundfile.write(path, track(who, talk, length), RATE, **how)
    return path


def raw(folder, name="x"):
    """A pair in raw mu-law, which says nothing of itself."""
    return pair(folder, name, ".ul", format="RAW", subtype="ULAW")


def transcript(talk=TALK, late_ms=0):
    """A transcript in the corpus's form; the caller's file begins *late_ms* into the call."""
    return [
        {
            "speaker_role": line.who,
            "human_transcript": line.text,
            "offset_ms": line.at_ms,
            "start_ms": line.at_ms - late_ms,
            "duration_ms": line.ended_ms - line.at_ms,
            "word_offsets_ms": [STEP_MS * place for place in range(len(line.words))],
            "word_durations_ms": [WORD_MS] * len(line.words),
        }
        for line in talk
    ]


def harper(  # noqa: PLR0913 - each is one oddity of a folder
    folder, names=("one",), talk=TALK, *, seconds=8.0, late_ms=0, rate=RATE
):
    """A folder in HarperValley layout, every call of the same words; return it."""
    for part in ("audio/caller", "audio/agent", "transcript"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    caller = track("caller", talk, seconds)[late_ms * RATE // 1000 :]
    for name in names:
        soundfile.write(folder / "audio" / "caller" / f"{name}.wav", caller, rate)
        soundfile.write(folder / "audio" / "agent" / f"{name}.wav", track("agent", talk, seconds), rate)
        (folder / "transcript" / f"{name}.json").write_text(json.dumps(transcript(talk, late_ms)))
    return folder


def vcon(path, sound=None, **dialog):
    """A vCon with the recording *sound* inside, or whatever its *dialog* says."""
    inside = {"body": base64.urlsafe_b64encode(sound.read_bytes()).decode().rstrip("=")} if sound else {}
    dialogs = [{"type": "text", "body": "hello"}, {"type": "recording", **inside, **dialog}]
    path.write_text(json.dumps({"vcon": "0.0.1", "dialog": dialogs}))
    return path


def plan(paths, folder, config=QUICK, **how):
    """What to replay; *paths* is one or several."""
    paths = tuple(paths) if isinstance(paths, tuple | list) else (paths,)
    return ReplayPlan(paths, folder, config, **how)


def replay(paths, folder, config=QUICK, kind="virtual", **how):
    """Replay *paths* into *folder* and return the run."""
    return clock.run(run_replay(plan(paths, folder, config, **how)), kind)
