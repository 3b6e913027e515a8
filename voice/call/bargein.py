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

from turnbudget.voice.words.phrases_heard import ENGLISH, plain_words, sense_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turnbudget.voice.words.phrases_heard import Sense, WordClasses

Move: TypeAlias = Literal["go on", "pause", "resume", "cut"]
"""``go on``: nothing changes. ``pause``: be silent and keep the reply; said as long as that holds.
``resume``: go on from where it paused; said once. ``cut``: give the reply up; said from then on."""

Meaning: TypeAlias = Literal["noise", "backchannel", "presence", "stop", "speech"]

_MEANS: Final[Mapping[Sense, Meaning]] = {
    "nothing": "noise",
    "backchannel": "backchannel",
    "presence": "presence",
    "stop": "stop",
    "speech": "speech",
}

SURE: Final = 2
"""So many words are no cough that a recogniser took for one: "cancel it" cuts, however quickly it is said."""


@dataclass(frozen=True, slots=True)
class Rules:
    """When a stretch of sound pauses or cuts a reply. All in microseconds."""

    words: WordClasses = ENGLISH
    """The phrases that mean something of their own."""
    pause_us: int = 150_000
    """Voice of unknown meaning that pauses the reply."""
    cut_us: int = 300_000
    """Voice that makes a single word of content sure enough to cut."""
    wordless_us: int = 1_200_000
    """Voice that cuts though no word is known: nobody coughs so long, and a recogniser may be slow."""
    quiet_us: int = 150_000
    """Silence that settles a stretch whose text is whole."""
    resume_us: int = 700_000
    """Silence that settles any stretch."""
    hold_us: int = 2_500_000
    """The longest pause: sound without end and without meaning is not waited for."""
    together_us: int = 150_000
    """Who begins this soon after our first sound has not heard it yet."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a stretch was."""

    meaning: Meaning
    text: str
    kept: bool
    """Whether the words belong to the conversation."""
    answered: bool
    """Whether an answer is due; with no words, the caller is asked to say it again."""


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
        """How much of the voice the words, or a resumed reply, have accounted for."""
        self._paused_us: int | None = None
        self._resumed = False
        self._ran_on = False
        self.cut_us: int | None = None
        """When the reply was given up; ``None`` if it was not."""
        self.why = ""
        """What the last change of the reply was for."""
        self.calls_for_bridge = False
        """Whether the caller asked if we are there, and nothing of ours has sounded: the bridge may go."""

    @property
    def paused(self) -> bool:
        """Whether the reply is being held."""
        return self._paused_us is not None

    @property
    def verdict(self) -> Verdict:
        """What the stretch was, by all that is known of it; asked when it is over.

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
        """Know that our first audible sample left at *at_us*, after the stretch had begun."""
        if self._sounding_since_us is None:
            self._sounding_since_us = at_us
            self.calls_for_bridge = False

    def voice(self, at_us: int, voiced_us: int) -> Move:
        """Know that the caller's voice lasts: *voiced_us* of it so far, pauses not counted."""
        self._voiced_us = max(self._voiced_us, voiced_us)
        return self._decide(at_us, settled=False)

    def words(self, at_us: int, text: str, *, whole: bool) -> Move:
        """Know the *text* so far; *whole* if it is final and no more comes, so that this decides."""
        self._note(text)
        return self._decide(at_us, settled=whole)

    def silent(self, at_us: int, silence_us: int, text: str, *, whole: bool) -> Move:
        """Know of *silence_us* without voice; *whole* if *text* is that of all the sound before it."""
        self._note(text)
        long = silence_us >= self._rules.resume_us
        return self._decide(at_us, settled=long or (whole and silence_us >= self._rules.quiet_us))

    def _note(self, text: str) -> None:
        """Take a new *text*; one without a word takes none back."""
        if text == self._text or not plain_words(text):
            return
        self._text = text
        if self._sense(whole=False) in {"backchannel", "presence"}:
            self._explained_us = self._voiced_us

    def _sense(self, *, whole: bool) -> Sense:
        """Return what the words mean at this place in the conversation."""
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
        """Return what is to become of the reply."""
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
        """Give the reply up if there is reason to; say whether there is."""
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
        """How much voice neither words nor a resumed reply have accounted for."""
        return self._voiced_us - self._explained_us

    @property
    def _patience_us(self) -> int:
        """How much voice of unknown meaning the reply bears."""
        first = self._sounding_since_us is None or (self._unheard and not self._resumed)
        return 1 if first else self._rules.pause_us

    def _pause(self, at_us: int, why: str) -> Move:
        if self._paused_us is None:
            self._paused_us, self.why = at_us, why
        return "pause"

    def _settle(self, sense: Sense) -> Move:
        """Have the reply go on: the stretch was harmless so far, and what follows is counted anew."""
        self._explained_us = self._voiced_us
        self.calls_for_bridge = sense == "presence" and self._sounding_since_us is None
        if self._paused_us is None:
            return "go on"
        self._paused_us, self._resumed = None, True
        self.why = "noise" if sense == "nothing" else f"a {sense}"
        return "resume"
