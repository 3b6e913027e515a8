"""Barge-in: what a stretch of the caller's sound means while our reply sounds, or is about to. Pure.

One :class:`Interruption` is one stretch: from the caller's first voiced sample to the final text. It is told
what the ear knows (voice, words, silence), at any rate and in any order, and says each time what is to become
of the reply. It knows no clock, no engine, and of the reply no more than since when it sounds.

============================  ==================================  ========================================
what is known of the words    while the voice lasts               once the caller is silent (*settled*)
============================  ==================================  ========================================
nothing (noise, cough, "um")  pause from ``pause_us``,            resume: it was noise
                              cut from ``wordless_us``
open ("makes", "don't", "no") pause; cut from ``wordless_us``     as the words mean that came: resume or cut
backchannel ("mhm", "go on")  go on; voice that runs on beyond    resume: the words are no part of the
                              the words counts as nothing known   conversation
presence ("hello?")           before our first sound: like a      resume; the bridge may go, if nothing has
                              backchannel; over it: speech        sounded yet
stop ("stop", "no no wait")   cut, at once                        cut; no answer is due
speech                        cut: two words, or ``cut_us`` of    cut; the words are the next turn
                              voice; until then pause
============================  ==================================  ========================================

*answering*: our question has been heard, so that "okay" is an answer: backchannels are speech. *protected*:
the reply goes on whatever is said, and the verdict says what to do about the words afterwards.

A caller who began before they could have heard us (in flight, or within ``together_us`` of our first sound)
is not talking over anything yet: the reply is held back at the first voice.

A pause is silence to the caller and costs us nothing: it stops us within 300 ms of any speech, long before a
recogniser knows a word. So the cut, which nothing takes back, can wait until there is a word. A reply is
never left paused: not past ``resume_us`` of silence, nor past ``hold_us`` in all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from turnbudget.voice.language.phrases_heard import ENGLISH, plain_words, sense_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turnbudget.voice.language.phrases_heard import Sense, WordClasses

Move: TypeAlias = Literal["go on", "pause", "resume", "cut"]
"""What the reply has to do. ``go on``: nothing changes. ``pause``: be silent and keep the reply (told as long
as that holds). ``resume``: go on from where it paused (told once). ``cut``: give the reply up (told from then
on)."""

Meaning: TypeAlias = Literal["noise", "backchannel", "presence", "stop", "speech"]
"""What a stretch of the caller's sound turned out to be."""

_MEANS: Final[Mapping[Sense, Meaning]] = {
    "nothing": "noise",
    "backchannel": "backchannel",
    "presence": "presence",
    "stop": "stop",
    "speech": "speech",
}

SURE: Final = 2
"""Words that cut however little voice they took: a recogniser takes a cough for one word, not for two."""


@dataclass(frozen=True, slots=True)
class Rules:
    """When a stretch of the caller's sound pauses or cuts a reply; all times in microseconds."""

    words: WordClasses = ENGLISH
    """Phrases with a meaning of their own (stop words, backchannels, presence)."""
    pause_us: int = 150_000
    """Voice of unknown meaning after which the reply pauses (µs; 150 ms)."""
    cut_us: int = 300_000
    """Voice with which a single word of content cuts the reply (µs; 300 ms)."""
    wordless_us: int = 1_200_000
    """Voice without a known word that cuts the reply (µs; 1.2 s): longer than a cough, and recognisers are
    slow."""
    quiet_us: int = 150_000
    """Silence after which a stretch whose text is whole is settled (µs; 150 ms)."""
    resume_us: int = 700_000
    """Silence after which any stretch is settled (µs; 700 ms)."""
    hold_us: int = 2_500_000
    """Longest time a reply stays paused (µs; 2.5 s)."""
    together_us: int = 150_000
    """Time after our first sound within which a caller who begins has not heard it (µs; 150 ms)."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a stretch was, and what is due to it."""

    meaning: Meaning
    """What it was taken for."""
    text: str
    """Its words, empty if there were none."""
    kept: bool
    """Whether the words belong to the conversation."""
    answered: bool
    """Whether an answer is due; if there are no words, the caller is asked to repeat."""


class Interruption:
    """One stretch of the caller's sound over one reply.

    *began_us* is its first voiced sample; *sounding_since_us* our first audible one, ``None`` while the
    answer is in flight. Every ``at_us`` is µs on the call's clock, *voiced_us* and *silence_us* are media.
    """

    def __init__(
        self,
        rules: Rules,
        *,
        began_us: int,
        sounding_since_us: int | None,
        answering: bool = False,
        protected: bool = False,
    ) -> None:
        self._rules = rules
        self._began_us = began_us
        self._sounding_since_us = sounding_since_us
        self._answering = answering
        self._protected = protected
        self._text = ""
        self._voiced_us = 0
        self._explained_us = 0
        """Voice that words, or a reply that resumed, have accounted for (µs)."""
        self._paused_us: int | None = None
        self._resumed = False
        self._ran_on = False
        self.cut_us: int | None = None
        """When the reply was cut (µs on the clock); ``None`` if it was not."""
        self.why = ""
        """Reason for the reply's last change, as it is written in the decisions."""
        self.calls_for_bridge = False
        """Whether the caller asked if we are there and nothing of ours has sounded, so that the bridge may
        go."""

    @property
    def paused(self) -> bool:
        """Whether the reply is paused."""
        return self._paused_us is not None

    @property
    def verdict(self) -> Verdict:
        """What the stretch was, by all that is known of it when it is over.

        After a cut it is never noise: then nobody would speak.
        """
        meaning = _MEANS[self._sense(whole=True)]
        lost = self.cut_us is not None and meaning != "stop"
        if lost or (meaning == "noise" and self._ran_on):
            meaning = "speech"
        return Verdict(
            meaning,
            self._text,
            kept=meaning in {"stop", "speech"} and bool(plain_words(self._text)),
            answered=meaning == "speech",
        )

    def sounded(self, at_us: int) -> None:
        """Note that our first audible sample left at *at_us*, after the stretch had begun."""
        if self._sounding_since_us is None:
            self._sounding_since_us = at_us
            self.calls_for_bridge = False

    def voice(self, at_us: int, voiced_us: int) -> Move:
        """Update with *voiced_us* of the caller's voice so far, pauses not counted; return the move."""
        self._voiced_us = max(self._voiced_us, voiced_us)
        return self._decide(at_us, settled=False)

    def words(self, at_us: int, text: str, *, whole: bool) -> Move:
        """Update with the *text* so far, *whole* if it is final; return the move."""
        self._note(text)
        return self._decide(at_us, settled=whole)

    def silent(self, at_us: int, silence_us: int, text: str, *, whole: bool) -> Move:
        """Update with *silence_us* without voice, *whole* if *text* covers all before it; return the move."""
        self._note(text)
        long = silence_us >= self._rules.resume_us
        return self._decide(at_us, settled=long or (whole and silence_us >= self._rules.quiet_us))

    def _note(self, text: str) -> None:
        """Take a new *text*; one without words does not replace an earlier one."""
        if text == self._text or not plain_words(text):
            return
        self._text = text
        if self._sense(whole=False) in {"backchannel", "presence"}:
            self._explained_us = self._voiced_us

    def _sense(self, *, whole: bool) -> Sense:
        """Return what the words mean at this point of the conversation."""
        sense = sense_of(self._text, self._rules.words, whole=whole)
        if self._answering and sense in {"backchannel", "open"}:
            return "speech"
        if sense == "presence" and not self._unheard:
            return "speech"
        return sense

    @property
    def _unheard(self) -> bool:
        """Whether the caller began before they can have heard us."""
        since = self._sounding_since_us
        return since is None or self._began_us <= since + self._rules.together_us

    def _decide(self, at_us: int, *, settled: bool) -> Move:
        """Return the reply's next move."""
        self._ran_on |= self._unexplained_us >= self._rules.wordless_us
        if self._protected:
            self._explained_us = self._voiced_us if settled else self._explained_us
            return "go on"
        if self._paused_us is not None and at_us - self._paused_us >= self._rules.hold_us:
            settled = True
        sense = self._sense(whole=settled)
        if self.cut_us is not None or self._cuts(at_us, sense, settled=settled):
            return "cut"
        if settled:
            return self._settle(sense)
        word = sense in {"speech", "open"}
        if self.paused or word or self._unexplained_us >= self._patience_us:
            return self._pause(at_us, "a word" if word else "a voice")
        return "go on"

    def _cuts(self, at_us: int, sense: Sense, *, settled: bool) -> bool:
        """Cut the reply if there is reason to; return whether it is cut."""
        words, rules = len(plain_words(self._text)), self._rules
        why = ""
        if sense == "stop":
            why = "a stop word"
        elif sense == "speech" and (settled or words >= SURE or self._voiced_us >= rules.cut_us):
            why = "the caller spoke"
        elif self._unexplained_us >= rules.wordless_us:
            why = "a voice that goes on"
        if why:
            self.cut_us, self._paused_us, self.why = at_us, None, why
        return bool(why)

    @property
    def _unexplained_us(self) -> int:
        """Voice that neither words nor a resumed reply have accounted for (µs)."""
        return self._voiced_us - self._explained_us

    @property
    def _patience_us(self) -> int:
        """Voice of unknown meaning after which the reply pauses (µs)."""
        first = self._sounding_since_us is None or (self._unheard and not self._resumed)
        return 1 if first else self._rules.pause_us

    def _pause(self, at_us: int, why: str) -> Move:
        if self._paused_us is None:
            self._paused_us, self.why = at_us, why
        return "pause"

    def _settle(self, sense: Sense) -> Move:
        """Let the reply go on, since the stretch was harmless so far, and count what follows anew."""
        self._explained_us = self._voiced_us
        self.calls_for_bridge = sense == "presence" and self._sounding_since_us is None
        if self._paused_us is None:
            return "go on"
        self._paused_us, self._resumed = None, True
        self.why = "noise" if sense == "nothing" else f"a {sense}"
        return "resume"
