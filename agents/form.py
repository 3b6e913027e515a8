"""A form asks for what it needs to know, one question at a time, and proposes an action once it knows it.

It takes what the caller gives, in any order and several at once ("transfer 135 dollars from savings to
checking"), lets itself be corrected ("no, savings"), and keeps nothing: all it knows is in the state of its
last chosen opinion. All that it says, but for callers' data, can be known before anybody has called.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from turnbudget.agents.agent import Action, Opinion
from turnbudget.agents.filling import Filling, FormProgress, fill, repeats, settles
from turnbudget.agents.phrases import found, patterns
from turnbudget.agents.slot import HOLE, filled, prepared
from turnbudget.agents.values.heard import plain
from turnbudget.agents.values.kinds import MISSING
from turnbudget.agents.values.words import yes_no
from turnbudget.voice.errors import ConfigError
from turnbudget.voice.language.language import ENGLISH, Language

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from turnbudget.agents.agent import Context
    from turnbudget.agents.slot import Ready, Slot
    from turnbudget.agents.values.heard import Heard
    from turnbudget.voice.time.budget import Budget


CONFIRM: Final = "confirm"
"""What an opinion expects that asks whether all is right."""
CHANGE: Final = "change"
"""What an opinion expects that asks what is not right."""
SURE: Final = 0.95
"""The confidence in an answer to our own question that was understood."""
STARTED: Final = 0.9
"""The confidence in a trigger that fits."""
TAKEN_BACK: Final = 0.5
"""The confidence in a trigger in words that the caller took back."""
RESUMED: Final = 0.6
"""The confidence in an answer to a question of ours that was not the last one asked."""
PUZZLED: Final = 0.35
"""The confidence in asking again after an answer to our own question that was not understood."""
LOST: Final = 0.2
"""The confidence in asking again once too often: somebody else should have a try."""
PATIENCE: Final = 2
"""How many answers in a row may not be understood before somebody else should have a try."""
ZIP: Final = 5
"""So many digits of a value, said again, are a whole part of it: a zip code; of fewer there may come more."""
MOST: Final = 24
"""A text that could be filled with its choices in more ways than these is not foreseen."""


class Form:
    """An agent that asks for its slots until all are filled, and then proposes an action."""

    def __init__(  # noqa: PLR0913 - each is a line of the user's file
        self,
        name: str,
        slots: Sequence[Slot] = (),
        *,
        trigger: Sequence[str],
        begin: str = "",
        confirm: str = "",
        meanwhile: str = "",
        done: str | None = None,
        settled: str | None = None,
        change: str | None = None,
        action: str = "",
        otherwise: str = "",
        confidence: float = STARTED,
        language: Language = ENGLISH,
    ) -> None:
        """Make a form called *name*.

        *trigger* phrases (regular expressions on lower-case words without punctuation) start it with
        *confidence*. *begin* stands before its first question. *confirm*, if any, is asked before it acts.
        *action* names what it proposes when it knows everything ('' if nothing), with the slots as
        arguments; *meanwhile* is said before that begins (an echo of what was understood), *done* behind
        it, ``{result}`` in it is what the action returns, *otherwise* what is said if it fails. ``{slot}``
        in any of them is that slot as it is spoken. *settled* answers a caller who repeats what has been
        done. What is not given is said as the *language* says it. Raises ConfigError, one line.
        """
        self.name = name
        self._where = f"agent {name}"
        self._language = language
        self._slots = prepared(slots, self._where, language)
        self._trigger = patterns(trigger, self._where)
        if not self._trigger:
            raise ConfigError("a form has no trigger", where=self._where, remedy='say trigger = ["..."]')
        if not 0 < confidence <= 1:
            raise ConfigError(f"confidence {confidence} is not between 0 and 1", where=self._where)
        self._says = FormTexts(
            begin=begin,
            confirm=confirm,
            meanwhile=meanwhile,
            done=language.says("done") if done is None else done,
            settled=language.says("settled") if settled is None else settled,
            change=language.says("change") if change is None else change,
            action=action,
            otherwise=otherwise,
            language=language,
        )
        self._says.check(self._where)
        self._confidence = confidence

    async def answer(self, utterance: str, context: Context, budget: Budget) -> Opinion | None:  # noqa: ARG002 - it never waits
        """Return the next question, or the action; ``None`` if the caller means something else."""
        return self.consider(plain(utterance, self._language), context)

    def consider(self, heard: Heard, context: Context) -> Opinion | None:
        """Return the opinion on what was *heard*; a subclass that must wait for something awaits it first."""
        state = context.states.get(self.name)
        started = self.starts(heard)
        if not heard.words or not (started or state):
            return None
        before = FormProgress.of(state)
        if before.done:
            before = FormProgress() if started else before
        mine = before.open and self._asked(before, context)
        if mine and heard.language.pattern("form.leave").search(heard.words):
            return self._left()
        if before.done:
            return self._again(heard, before)
        if not (started or before.open):
            return None
        return (
            self._confirmed(heard, before)
            if mine and before.asking == CONFIRM
            else self._filled(heard, before, context, started, mine=mine)
        )

    def _filled(
        self, heard: Heard, before: FormProgress, context: Context, started: float, *, mine: bool
    ) -> Opinion | None:
        """Return what follows from what *heard* says of the slots."""
        known = before if before.open else FormProgress(values=self._shared(context))
        asked = before.asking if mine or (before.open and not context.expects) else ""
        filling = fill(self._slots, heard, known, asked, mine=mine, triggered=bool(started))
        wish = started >= self._confidence and not before.open
        if not filling.touched:
            # The wish said again, instead of an answer, is as whole as it was.
            whole = settles(heard, filling, answers=False, wish=started >= self._confidence)
            return self._without_news(heard, known, started, mine=mine, whole=whole)
        sure = SURE if mine else max(started, RESUMED if asked in filling.touched else 0.0)
        answers = mine and (asked in filling.new or (asked == CHANGE and bool(filling.changed)))
        whole = settles(heard, filling, answers=answers, wish=wish)
        return self._next(filling, sure, whole=whole) if sure else None

    def starts(self, heard: Heard) -> float:
        """Return how sure the words alone make it that this form is meant; 0 if they do not."""
        if found(self._trigger, heard.words):
            if found(self._trigger, heard.last_words):
                return self._confidence
            # "check my account, I'm sorry, I need a checkbook" takes the account back; "move 50 from
            # checking, sorry, savings" does not take back the move.
            taken_back = heard.language.pattern("form.another_wish").search(heard.last_words)
            return min(TAKEN_BACK, self._confidence) if taken_back else self._confidence
        return 0.0

    def objection(self, values: Mapping[str, str]) -> tuple[str, str] | None:
        """Return a slot and what is wrong with it, said before it is asked for again; for subclasses."""
        del values
        return None

    def fixed(self) -> tuple[str, ...]:
        """Return what it may say that holds no caller's data, the likeliest first."""
        return self._says.fixed(self._slots)

    def next_openings(self, context: Context) -> tuple[str, ...]:
        """Return what it would say next, the likeliest first, if the caller answers plainly.

        If one slot is all that is missing, that is what it says once it is known, by each choice there is.
        """
        state = FormProgress.of(context.states.get(self.name))
        known = state if state.open else FormProgress(values=self._shared(context))
        missing = [slot for slot in self._slots if slot.required and slot.name not in known.values]
        asks = [slot.ask for slot in missing if slot.name != known.asking]
        if asks and not known.asking:
            asks[0] = f"{self._says.begin} {asks[0]}".strip()
        said = [filled(text, self._slots, known.values) for text in asks]
        if not asks or (len(missing) == 1 and not known.asking):
            confirmed, pending = known.asking == CONFIRM, missing[0] if missing else None
            for text, values in self._says.endings(self._slots, known.values, pending, confirmed=confirmed):
                wrong = self.objection(values)
                said.append(f"{wrong[1]} {self._ask(wrong[0])}" if wrong else text)
            said += [self._says.change] if confirmed else []
        return tuple(dict.fromkeys(text for text in said if not HOLE.search(text)))

    def _shared(self, context: Context) -> dict[str, str]:
        """Return what the call knows already of the slots that are not this form's alone."""
        return {s.name: context.slots[s.name] for s in self._slots if s.shared and context.slots.get(s.name)}

    def _asked(self, before: FormProgress, context: Context) -> bool:
        """Say whether the caller answers our question: asked by us, or said again for us by small talk."""
        if context.expects != before.asking:
            return False
        return context.asked_by == self.name or (
            FormProgress.of(context.states.get(context.asked_by)).asking != context.expects
        )

    def _next(self, filling: Filling, sure: float, *, whole: bool = False) -> Opinion:
        """Return what to say now that there is progress: go on, ask, confirm or act."""
        progress, values = filling.progress, filling.progress.values
        if filling.partial:
            part = filling.partial
            state = progress.asks(part.slot, partial=part.value)
            opinion = self._opinion(part.missing, state, sure, f"a part of {part.slot}")
            return replace(opinion, completeness="part")
        if wrong := self.objection(values):
            slot, sentence = wrong
            kept = progress.without(slot).asks(slot)
            return self._opinion(f"{sentence} {self._ask(slot)}", kept, sure, f"{slot} is refused")
        because = f"got {', '.join(filling.new)}" if filling.new else "the trigger"
        missing = next((slot.name for slot in self._slots if slot.required and slot.name not in values), "")
        if missing:
            begin = "" if progress.asking else self._says.begin
            mended = (
                self._language.says("corrected").replace("{value}", f"{{{filling.corrected}}}")
                if filling.corrected
                else ""
            )
            said = " ".join(filter(None, (begin, mended, self._ask(missing))))
            because = f"{because}; {missing} is missing"
            return self._opinion(said, progress.asks(missing), sure, because, whole=whole)
        if confirm := self._says.confirm:
            because = f"{because}; all is known"
            return self._opinion(confirm, progress.asks(CONFIRM), sure, because, whole=whole)
        return self._act(progress, sure, because, whole=whole)

    def _act(self, progress: FormProgress, sure: float, because: str, *, whole: bool) -> Opinion:
        action = self._says.proposal(self._slots, progress.values)
        because = f"{because}; it can be done"
        return self._opinion(self._says.done, progress.finished(), sure, because, action, whole=whole)

    def _confirmed(self, heard: Heard, before: FormProgress) -> Opinion:
        """Return what follows an answer to "is that right?": act, change, or ask again."""
        filling = fill(self._slots, heard, before, CONFIRM, mine=True, triggered=False)
        whole = settles(heard, filling, answers=True, wish=False)
        if filling.changed:
            return self._next(filling, SURE, whole=whole)
        said = yes_no(heard.words, language=heard.language)
        if said and said.value == "no":
            return self._opinion(
                self._says.change, before.asks(CHANGE), SURE, "not confirmed", whole=heard.over
            )
        if said or filling.new:
            return self._act(before, SURE, "confirmed", whole=heard.over if said else whole)
        return self._puzzled(before, self._says.confirm)

    def _without_news(
        self, heard: Heard, known: FormProgress, started: float, *, mine: bool, whole: bool
    ) -> Opinion | None:
        """Return what to say to words that fill no slot."""
        if (
            mine
            and known.asking == CHANGE
            and (said := yes_no(heard.words, language=heard.language))
            and said.value == "no"
        ):
            return self._left()
        if started:
            return self._next(Filling(known), started, whole=whole)
        if not mine:
            return None
        return self._puzzled(known, self._says.change if known.asking == CHANGE else self._ask(known.asking))

    def _puzzled(self, before: FormProgress, ask: str) -> Opinion:
        state = before.missed()
        slot = next((slot for slot in self._slots if slot.name == before.asking), None)
        again = slot.again if slot and slot.again else puzzled(ask, self._language)
        sure = PUZZLED if state.misses <= PATIENCE else LOST
        return self._opinion(again, state, sure, f"nothing for {before.asking}, {state.misses} times")

    def _again(self, heard: Heard, before: FormProgress) -> Opinion | None:
        """Return an answer to a caller who says again what has been done, or wants it of something else.

        "And my savings account?" does, if it says all there is to know; half a wish is left to a trigger.
        """
        filling = fill(self._slots, heard, FormProgress(), before.asking, mine=False, triggered=False)
        values = filling.progress.values
        same = all(before.values.get(slot) == values[slot] for slot in filling.new)
        if (filling.new and same) or repeats(heard.text, before.values):
            whole = sum(letter.isdigit() for letter in heard.text) >= ZIP
            return self._opinion(self._says.settled, before, RESUMED, "said again", whole=whole)
        whole = all(slot.name in values for slot in self._slots if slot.required)
        if filling.new and whole and (heard.mends or heard.language.pattern("form.also").search(heard.words)):
            return self._next(filling, RESUMED)
        return None

    def _left(self) -> Opinion:
        return self._opinion(self._language.says("left"), FormProgress(), SURE, "the caller wants it no more")

    def _ask(self, slot: str) -> str:
        return next(each.ask for each in self._slots if each.name == slot)

    def _opinion(  # noqa: PLR0913 - what an opinion is made of
        self,
        opening: str,
        state: FormProgress,
        sure: float,
        because: str,
        action: Action | None = None,
        *,
        whole: bool = False,
    ) -> Opinion:
        return Opinion(
            filled(opening, self._slots, state.values),
            sure,
            because,
            action=action,
            state=state.told(),
            slots=dict(state.values),
            expects=state.asking if state.open else "",
            completeness="whole" if whole else "unknown",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FormTexts:
    """The texts of a form; see :class:`turnbudget.agents.form.Form` for what each is for."""

    begin: str
    confirm: str
    meanwhile: str
    done: str
    settled: str
    change: str
    action: str
    otherwise: str
    language: Language

    def check(self, where: str) -> None:
        """Raise ConfigError for texts that need an action where there is none, or a result before it."""
        if "{result}" in self.done and not self.action:
            raise ConfigError("done has {result} but there is no action", where=where, remedy="name one")
        if self.meanwhile and not self.action:
            raise ConfigError("there is a meanwhile but no action", where=where, remedy="name one")
        if "{result}" in self.meanwhile:
            raise ConfigError(
                "meanwhile has {result}", where=where, remedy="it is said before there is one: say it in done"
            )

    def proposal(self, slots: Sequence[Ready], values: Mapping[str, str]) -> Action | None:
        """Return the action, with what is said meanwhile; ``None`` if there is none."""
        if not self.action:
            return None
        known = {slot.name: values[slot.name] for slot in slots if slot.name in values}
        echo = filled(self.meanwhile, slots, known)
        said = "" if HOLE.search(echo) else echo
        action = Action(self.action, known, meanwhile=said)
        return replace(action, otherwise=self.otherwise) if self.otherwise else action

    def endings(
        self, slots: Sequence[Ready], values: Mapping[str, str], pending: Ready | None, *, confirmed: bool
    ) -> Iterator[tuple[str, Mapping[str, str]]]:
        """Yield what is said first once all is known, with the values it is said of.

        If one slot is *pending*, that is by each choice it has.
        """
        text = self.confirm if self.confirm and not confirmed else self.meanwhile or self.done
        choices = tuple(pending.slot.choices) if pending and pending.slot.type == "choice" else ()
        ways = [{**values, pending.name: choice} for choice in choices] if pending and choices else [values]
        for way in ways:
            yield filled(text, slots, way), way

    def asks(self, ask: str, again: str) -> tuple[str, ...]:
        """Return the ways a question is put: at first, later, and once more to whom we did not understand."""
        return tuple(
            filter(
                None, (f"{self.begin} {ask}" if self.begin else "", ask, again or puzzled(ask, self.language))
            )
        )

    def fixed(self, slots: Sequence[Ready]) -> tuple[str, ...]:
        """Return the texts that hold no caller's data; a choice is none, for all of them are foreseen."""
        otherwise = self.otherwise or Action("").otherwise
        texts = [
            *(text for slot in slots if slot.ask for text in self.asks(slot.ask, slot.again)),
            *(
                self.meanwhile,
                self.done,
                self.confirm,
                puzzled(self.confirm, self.language) if self.confirm else "",
            ),
            *(self.language.says(name) for slot in slots for name in MISSING.get(slot.slot.type, ())),
            *((self.change, puzzled(self.change, self.language)) if self.confirm else ()),
            *(self.settled, otherwise if self.action else "", self.language.says("left")),
        ]
        return tuple(dict.fromkeys(each for text in texts if text for each in _chosen(text, slots)))


def puzzled(ask: str, language: Language = ENGLISH) -> str:
    """Return *ask*, put to a caller whose answer was not understood."""
    return language.says("puzzled").replace("{ask}", ask)


def _chosen(text: str, slots: Sequence[Ready]) -> Iterator[str]:
    """Yield *text* with its holes filled in every way that choices allow; nothing if others are in it."""
    choices = {slot.name: tuple(slot.slot.choices) for slot in slots if slot.slot.type == "choice"}
    holes = tuple(dict.fromkeys(HOLE.findall(text)))
    if not all(hole in choices for hole in holes) or math.prod(len(choices[hole]) for hole in holes) > MOST:
        return
    for values in itertools.product(*(choices[hole] for hole in holes)):
        yield filled(text, slots, dict(zip(holes, values, strict=True)))
