"""A recorded conversation: who spoke when, and the caller's sound, cut into turns.

Knows nothing of files (:mod:`turnbudget.recorded.sources` reads them) nor of clocks: it turns segments of
speech into the clips that a :class:`~turnbudget.voice.lines.recording.RecordedLine` plays.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np

from turnbudget.voice.lines.recording import Clip
from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from turnbudget.recorded.wanted import Wanted
    from turnbudget.voice.asr.transcriber import Word
    from turnbudget.voice.sound.audio import Int16

LEAD_US: Final = 300 * clock.MS
"""Recorded background kept before a turn's first word and after its last, where there is so much."""
BACKGROUND_US: Final = 500 * clock.MS
"""Length of the line's own noise, taken where the caller's channel is quietest."""

APART_US: Final = 300 * clock.MS
"""Stretches of voice closer together than this are one."""
SHORTEST_US: Final = 200 * clock.MS
"""Voice shorter than this (µs) in which no recogniser finds a word is a breath or a click, and no turn."""
BACKCHANNEL_US: Final = 1_000 * clock.MS
"""Longest sound of the caller over the agent (µs) that may be a backchannel: "mhm", "okay, right"."""
TURN_SILENCE_US: Final = 1_500 * clock.MS
"""Silence of the caller (µs) that ends a turn where the recording does not hold the agent's side."""

Pacing: TypeAlias = Literal["gated", "timeline", "script"]


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of one side's speech, in µs on the call's clock; words are empty where none are known."""

    began_us: int
    ended_us: int
    words: tuple[Word, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """One recorded call: the caller's channel on the call's clock, and who spoke when."""

    name: str
    source: str
    caller: Int16
    caller_speech: tuple[Segment, ...]
    agent_speech: tuple[Segment, ...]
    has_words: bool
    """Whether the segments come from a reference with word times, rather than from a detector."""
    notes: tuple[str, ...] = ()
    told_turns: bool = False
    """Whether somebody wrote down each of the caller's turns: each segment is one."""
    turn_silence_us: int = TURN_SILENCE_US
    """Silence of the caller (µs) that ends a turn, where the agent is not in the recording."""
    wanted: Wanted | None = None
    """What the caller wanted, where somebody wrote it down."""

    @property
    def one_sided(self) -> bool:
        """Whether the agent's side is not in the recording: where a turn ended is then a guess."""
        return not (self.agent_speech or self.told_turns)

    @property
    def backchannels(self) -> tuple[Segment, ...]:
        """What the caller sounded over the agent, who spoke on: a short sign of listening, no turn."""
        return tuple(
            segment
            for segment in self.caller_speech
            if segment.ended_us - segment.began_us <= BACKCHANNEL_US
            and any(
                one.began_us < segment.began_us and segment.ended_us < one.ended_us
                for one in self.agent_speech
            )
        )

    def turns(self) -> list[tuple[Segment, ...]]:
        """Return the caller's segments by turn: one ends where the agent begins to speak.

        Where the agent is not in the recording, one ends in a silence of ``turn_silence_us``.
        """
        turns: list[list[Segment]] = []
        last: Segment | None = None
        aside = set(map(id, self.backchannels))
        spoken = (segment for segment in self.caller_speech if id(segment) not in aside)
        for segment in sorted(spoken, key=lambda segment: segment.began_us):
            if self.told_turns:
                goes_on = False
            elif self.one_sided:
                goes_on = last is not None and segment.began_us - last.ended_us < self.turn_silence_us
            else:
                goes_on = last is not None and not _speaks_between(
                    self.agent_speech, last.began_us, segment.began_us
                )
            if goes_on:
                turns[-1].append(segment)
            else:
                turns.append([segment])
            last = segment
        return [tuple(turn) for turn in turns]

    def clips(self, pacing: Pacing) -> list[Clip]:
        """Return what the caller's side plays."""
        turns = self.turns()
        spans = [_span(turn) for turn in turns]
        if pacing == "timeline":
            words = _words([segment for turn in turns for segment in turn])
            return [Clip(self.caller, words, tuple(spans), when="at once")]
        clips = []
        for index, (turn, (began, ended)) in enumerate(zip(turns, spans, strict=True)):
            before = spans[index - 1][1] if index else 0
            after = spans[index + 1][0] if index + 1 < len(spans) else audio.us(self.caller.size)
            start = min(began, max(began - LEAD_US, (before + began) // 2 if index else 0, 0))
            end = min(ended + LEAD_US, (ended + after) // 2 if index + 1 < len(spans) else after)
            clips.append(self._clip(turn, start, max(end, ended), began - start))
        return clips

    def _clip(self, turn: Sequence[Segment], start_us: int, end_us: int, lead_us: int) -> Clip:
        began, ended = _span(turn)
        moved = (
            replace(word, began_us=word.began_us - start_us, ended_us=word.ended_us - start_us)
            for word in _words(turn)
        )
        return Clip(
            self.caller[audio.samples(start_us) : audio.samples(end_us)],
            tuple(moved),
            ((began - start_us, ended - start_us),),
            pause_us=self._pause_before(began),
            lead_us=lead_us,
        )

    def _pause_before(self, began_us: int) -> int:
        """Return the person's own pause: from the end of the agent's speech to the caller's; 0 if none."""
        ended = [segment.ended_us for segment in self.agent_speech if segment.began_us < began_us]
        return max(0, began_us - max(ended, default=began_us))

    def background(self) -> Int16:
        """Return the half second in which the caller's channel is quietest."""
        size = audio.samples(BACKGROUND_US)
        windows = self.caller.size // size
        if not windows:
            return audio.silence(0)
        blocks = self.caller[: windows * size].reshape(windows, size)
        quietest = min(range(windows), key=lambda window: int(np.abs(blocks[window].astype(np.int32)).sum()))
        return self.caller[quietest * size : (quietest + 1) * size]


def _span(turn: Sequence[Segment]) -> tuple[int, int]:
    """Return where *turn* begins and ends; its segments may overlap."""
    return min(segment.began_us for segment in turn), max(segment.ended_us for segment in turn)


def _words(segments: Iterable[Segment]) -> tuple[Word, ...]:
    """Return the words of *segments* in the order of their times."""
    found = (word for segment in segments for word in segment.words)
    return tuple(sorted(found, key=lambda word: word.began_us))


def _speaks_between(segments: Iterable[Segment], began_us: int, ended_us: int) -> bool:
    return any(began_us <= segment.began_us < ended_us for segment in segments)


def segments_of(voiced: Iterable[tuple[int, int]]) -> tuple[Segment, ...]:
    """Return stretches of voice (µs) as segments: those close together are one."""
    joined: list[tuple[int, int]] = []
    for began, ended in voiced:
        if joined and began - joined[-1][1] < APART_US:
            joined[-1] = (joined[-1][0], ended)
        else:
            joined.append((began, ended))
    return tuple(Segment(began, ended) for began, ended in joined)
