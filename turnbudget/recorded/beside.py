"""Side files: what a person or a program wrote down of a recording, in a file beside it.

``call.wav`` may have ``call.json``, ``call.vtt``, ``call.srt``, ``call.rttm`` or ``call.ctm`` beside it. In
JSON, times are in ms from the recording's first sample:

    {"turns": [{"who": "caller", "begin_ms": 1200, "end_ms": 2950, "text": "a large latte"},
               {"who": "agent", "begin_ms": 3600, "end_ms": 5100}],
     "intent": "orderDrink", "slots": {"size": "large"}}

``turns`` may also be called ``speech``, and be one turn alone; ``who`` is the caller where it is missing;
``text``, ``intent`` and ``slots`` are optional. A ``.jsonl`` file holds one such object a line, each with the
``audio`` it is about, a path from its own folder. Each turn of the caller's is one, whatever the agent's say.
"""

from __future__ import annotations

import codecs
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from turnbudget.recorded.conversation import Segment
from turnbudget.recorded.wanted import Wanted
from turnbudget.voice import reading
from turnbudget.voice.asr.transcriber import Word
from turnbudget.voice.errors import UsageError
from turnbudget.voice.time.clock import MS, SECOND

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

KINDS: Final = (".json", ".vtt", ".srt", ".rttm", ".ctm")
"""What a side file may be called; the first that is there is read."""
CALLER: Final = re.compile(r"caller|customer|client|user|patient|\b(a|1|left)\b", re.IGNORECASE)
"""Names of speakers that mean the caller."""
AGENT: Final = re.compile(r"agent|assistant|bot|operator|system|\b(b|2|right)\b", re.IGNORECASE)
"""Names of speakers that mean who answered."""
TIME: Final = re.compile(r"(?:(\d+):)?(\d{1,2}):(\d{2})[.,](\d{3})")
"""A time of day as subtitles write it, hours left out or not."""
CUE: Final = re.compile(rf"\s*({TIME.pattern})\s+-->\s+({TIME.pattern})")
"""The line with which a subtitle begins: from when to when."""
VOICE: Final = re.compile(r"<v(?:\.[^\s>]*)*\s+([^>]+)>|^([\w .-]{1,40}):\s")
"""A speaker's name before a subtitle's text."""
TAG: Final = re.compile(r"<[^>]*>")
"""Mark-up within a subtitle."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """What one side says between two places of the recording (µs); "" where its text is not known."""

    who: str
    began_us: int
    ended_us: int
    text: str = ""

    @property
    def segment(self) -> Segment:
        """Return it as a segment, its words spread evenly over it, for nobody wrote down their times."""
        texts, length = self.text.split(), self.ended_us - self.began_us
        words = tuple(
            Word(
                text,
                self.began_us + length * place // len(texts),
                self.began_us + length * (place + 1) // len(texts),
            )
            for place, text in enumerate(texts)
        )
        return Segment(self.began_us, self.ended_us, words)


@dataclass(frozen=True, slots=True)
class Notes:
    """What a side file says of one recording."""

    spoken: tuple[Spoken, ...]
    wanted: Wanted | None = None

    def side(self, who: str) -> tuple[Segment, ...]:
        """Return what the caller or the agent says, in its order."""
        found = (one.segment for one in self.spoken if one.who == who)
        return tuple(sorted(found, key=lambda segment: segment.began_us))

    @property
    def has_words(self) -> bool:
        """Whether the text of each of the caller's turns is known."""
        return all(one.text.strip() for one in self.spoken if one.who == "caller")


@dataclass(frozen=True, slots=True)
class Noted:
    """A recording that a line of a ``.jsonl`` file is about."""

    audio: Path
    name: str
    notes: Notes
    where: str
    """The file and the line, for a person who has to mend it."""

    def __str__(self) -> str:
        """Return what a person finds it by."""
        return f"{self.where} ({self.audio.name})"


def side_file(recording: Path) -> Path | None:
    """Return the side file of *recording*, if there is one."""
    return next((path for kind in KINDS if (path := recording.with_suffix(kind)).is_file()), None)


def read_notes(path: Path) -> Notes:
    """Return what the side file at *path* says; raises UsageError, one line that says what to mend."""
    try:
        text = reading.read(path).decode("utf-8")
        if path.suffix.lower() == ".json":
            return _notes(json.loads(text))
        spoken = tuple(READERS[path.suffix.lower()](text))
        if not any(one.who == "caller" for one in spoken):
            raise ValueError("nobody in it is the caller: name a speaker caller or customer")  # noqa: TRY301
        return Notes(spoken)
    except (OSError, ValueError, TypeError, LookupError, RecursionError) as error:
        raise UsageError(f"is no side file that can be read ({error})", where=str(path)) from None


def manifest(path: Path) -> list[Noted | UsageError]:
    """Return the recordings that the lines of the ``.jsonl`` file at *path* are about, or their faults."""
    found: list[Noted | UsageError] = []
    try:
        lines = reading.read(path).decode("utf-8").splitlines()
    except (OSError, ValueError) as error:
        return [UsageError(f"cannot be read ({error})", where=str(path))]
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        try:
            one = json.loads(line)
            audio = path.parent / str(one["audio"])
            name = str(one.get("sid") or audio.stem)
            found.append(Noted(audio, name, _notes(one), where))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            what = f"no {error}" if isinstance(error, KeyError) else error
            found.append(UsageError(f"says of no recording who speaks when ({what})", where=where))
    return found


def is_manifest(path: Path) -> bool:
    """Say whether the file at *path* is of lines about recordings; dialogues that are only text are not."""
    if path.suffix.lower() != ".jsonl":
        return False
    try:
        with path.open("rb") as file:
            first = json.loads(file.readline().removeprefix(codecs.BOM_UTF8))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(first, dict) and "audio" in first


def _notes(one: Mapping[str, Any]) -> Notes:
    turns = one["turns"] if "turns" in one else one["speech"]
    spoken = tuple(_turn(turn) for turn in (turns if isinstance(turns, list) else [turns]))
    if not any(turn.who == "caller" for turn in spoken):
        raise ValueError("the caller has no turn in it")
    intent, slots = one.get("intent"), one.get("slots") or {}
    told = Wanted(str(intent), {str(name): str(value) for name, value in slots.items()}) if intent else None
    return Notes(spoken, told)


def _turn(turn: Mapping[str, Any]) -> Spoken:
    who = str(turn.get("who", "caller"))
    if who not in {"caller", "agent"}:
        raise ValueError(f"who is caller or agent, not {who!r}")
    began, ended = (round(float(turn[name]) * MS) for name in ("begin_ms", "end_ms"))
    return _spoken(who, began, ended, str(turn.get("text") or ""))


def _spoken(who: str, began_us: int, ended_us: int, text: str = "") -> Spoken:
    if not 0 <= began_us < ended_us:
        raise ValueError(f"a turn from {began_us // MS} to {ended_us // MS} ms")
    return Spoken(who, began_us, ended_us, " ".join(text.split()))


def _role(name: str) -> str:
    caller, agent = CALLER.search(name), AGENT.search(name)
    if bool(caller) == bool(agent):
        raise ValueError(f"speaker {name!r} is neither caller nor agent by name")
    return "caller" if caller else "agent"


def _us(cue: re.Match[str], first: int) -> int:
    hours, minutes, seconds, ms = (int(cue.group(first + place) or 0) for place in range(4))
    return ((hours * 60 + minutes) * 60 + seconds) * SECOND + ms * MS


def _cues(text: str) -> Iterator[Spoken]:
    """Read WebVTT and SubRip: a time line, then text of one voice."""
    for block in re.split(r"\n[ \t]*\n", text.replace("\r\n", "\n")):
        lines = block.split("\n")
        at, cue = next(((at, cue) for at, line in enumerate(lines) if (cue := CUE.match(line))), (0, None))
        if cue is None:
            continue
        said = " ".join(lines[at + 1 :])
        voice = VOICE.search(said)
        if voice is None:
            raise ValueError(f"the cue at {cue.group(1)} names no speaker: <v Caller>, or Caller: first")
        words = TAG.sub("", VOICE.sub("", said, count=1))
        yield _spoken(_role(voice.group(1) or voice.group(2)), _us(cue, 2), _us(cue, 7), words)


def _rttm(text: str) -> Iterator[Spoken]:
    """Read RTTM: ``SPEAKER file channel begin length <NA> <NA> name …``, times in s."""
    for line in text.splitlines():
        fields = line.split()
        if fields[:1] == ["SPEAKER"]:
            began = float(fields[3])
            yield _spoken(_role(fields[7]), round(began * SECOND), round((began + float(fields[4])) * SECOND))


def _ctm(text: str) -> Iterator[Spoken]:
    """Read CTM: ``file channel begin length word …``, times in s; words under a second apart are one turn."""
    said: dict[str, list[Spoken]] = {"caller": [], "agent": []}
    for line in text.splitlines():
        fields = line.split()
        if not fields or line.startswith(";;"):
            continue
        began = float(fields[2])
        who = _role(fields[1])
        new = _spoken(who, round(began * SECOND), round((began + float(fields[3])) * SECOND), fields[4])
        last = said[who][-1] if said[who] else None
        if last and new.began_us - last.ended_us < SECOND:
            said[who][-1] = Spoken(who, last.began_us, new.ended_us, f"{last.text} {new.text}")
        else:
            said[who].append(new)
    return iter([*said["caller"], *said["agent"]])


READERS: Final[Mapping[str, Callable[[str], Iterable[Spoken]]]] = {
    ".vtt": _cues,
    ".srt": _cues,
    ".rttm": _rttm,
    ".ctm": _ctm,
}
"""What reads a side file, by its suffix."""
