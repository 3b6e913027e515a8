"""From a turn's account to the row that is written: the zero set right, every time counted from it.

Where the recording has word times the true end of speech is the reference's, and the account is moved onto
it; where it has none the detector's last voiced sample stays the zero, and the row says which.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from turnbudget.runs.records import CriticalRow, DecisionRow, EntryRow, GuessRow, LaneRow, Row

if TYPE_CHECKING:
    from turnbudget.runs.records import Kind
    from turnbudget.voice.asr.reference import Reference
    from turnbudget.voice.call.ledger import Account
    from turnbudget.voice.call.parts import CallRow


def row(  # noqa: PLR0913 - whose row it is, and what its times refer to
    call: str,
    entry: CallRow,
    *,
    call_epoch_us: int,
    media_epoch_us: int,
    reference: Reference,
    has_words: bool,
    has_agent: bool = True,
    budget_us: int,
) -> Row:
    """Return *entry* as a row of *call*, whose clock began at *call_epoch_us*.

    *reference* counts in the caller's media, whose first sample sounded at *media_epoch_us*; it knows where
    turns end, and, if it *has_words*, what was said. If it does not hold the agent (*has_agent*), nobody
    knows where the caller had ended, so whether a reply cut them off is left open.
    """
    account = entry.account
    detected = account.zero_us
    true_end = None
    utterance = entry.utterance
    if utterance:
        true_end = reference.last_end(detected - media_epoch_us, utterance.decided_us - media_epoch_us)
        if true_end is not None:
            account = account.since(true_end + media_epoch_us)
    zero, sound = account.zero_us, account.first_sound_us
    return replace(
        account_row(
            account,
            call=call,
            turn=entry.number,
            kind=entry.kind,
            heard=utterance.written if utterance else "",
            asked=entry.asked,
            said=entry.said,
            budget_us=budget_us,
            call_epoch_us=call_epoch_us,
            speech_began_us=utterance.began_us if utterance else zero,
        ),
        heard_whole=utterance.trust == "final" if utterance else None,
        reference=reference.take(zero - media_epoch_us) if has_words and utterance else None,
        speech_ended_by="vad" if true_end is None else "reference",
        vad_ended_call_us=detected - call_epoch_us,
        false_cut=(
            bool(utterance and sound and reference.goes_on_after(sound - media_epoch_us))
            if has_agent
            else None
        ),
    )


def account_row(  # noqa: PLR0913 - what a row says beside the account
    account: Account,
    *,
    call: str,
    turn: int,
    kind: Kind = "turn",
    heard: str = "",
    asked: str = "",
    said: str = "",
    budget_us: int = 800_000,
    call_epoch_us: int | None = None,
    speech_began_us: int | None = None,
) -> Row:
    """Return a closed *account* as the row that stands in ``turns.jsonl``: turn number *turn* of *call*.

    *budget_us* is the turn's promise (µs). *call_epoch_us* is the instant at which the call began and
    *speech_began_us* that at which the caller began to speak, on the account's clock (µs); where they are not
    given, both are the account's zero. Whether a reply cut the caller off is left open.
    """
    zero = account.zero_us
    epoch = zero if call_epoch_us is None else call_epoch_us
    return Row(
        kind=kind,
        call=call,
        turn=turn,
        outcome=account.outcome,
        heard=heard,
        asked=asked,
        said=said,
        reference=None,
        speech_began_call_us=(zero if speech_began_us is None else speech_began_us) - epoch,
        speech_ended_call_us=zero - epoch,
        speech_ended_by="vad",
        vad_ended_call_us=zero - epoch,
        budget_us=budget_us,
        first_sound_us=_after(zero, account.first_sound_us),
        first_answer_us=_after(zero, account.first_answer_us),
        closed_us=account.closed_us - zero,
        witness_us=_after(zero, account.witness_us),
        false_cut=None,
        entries=_entries(account),
        lanes=_lanes(account),
        decisions=tuple(
            DecisionRow(at_us=decision.at_us - zero, took=decision.took, because=decision.because)
            for decision in account.decisions
        ),
        guesses=_guesses(account),
        critical=_critical(account),
    )


def unheard(  # noqa: PLR0913 - whose turn, when, and what it waited for
    call: str,
    number: int,
    *,
    began_us: int,
    ended_us: int,
    text: str | None,
    waited_us: int,
    budget_us: int,
) -> Row:
    """Return the row of a turn that the recording has and that nobody heard: it was owed an answer.

    *text* is what the reference says was said; ``None`` if it was a detector that found the turn.
    """
    return Row(
        kind="turn",
        call=call,
        turn=number,
        outcome="silent",
        heard="",
        said="",
        reference=text,
        speech_began_call_us=began_us,
        speech_ended_call_us=ended_us,
        speech_ended_by="vad" if text is None else "reference",
        vad_ended_call_us=ended_us,
        budget_us=budget_us,
        first_sound_us=None,
        first_answer_us=None,
        closed_us=waited_us,
        witness_us=None,
        entries=(EntryRow(stage="endpoint", us=waited_us, owner="vad heard nothing", owner_kind="service"),),
    )


def _after(zero: int, instant: int | None) -> int | None:
    return None if instant is None else instant - zero


def _entries(account: Account) -> tuple[EntryRow, ...]:
    return tuple(
        EntryRow(
            stage=entry.stage,
            us=entry.us,
            owner=entry.owner.name,
            owner_kind=entry.owner.kind,
            outcome=entry.outcome,
        )
        for entry in account.entries
    )


def _lanes(account: Account) -> tuple[LaneRow, ...]:
    zero = account.zero_us
    return tuple(
        LaneRow(
            name=lane.name,
            began_us=lane.began_us - zero,
            ended_us=(lane.began_us if lane.ended_us is None else lane.ended_us) - zero,
            outcome=lane.outcome,
            saved_us=lane.saved_us,
            wasted_us=lane.wasted_us,
        )
        for lane in account.lanes
    )


def _guesses(account: Account) -> tuple[GuessRow, ...]:
    return tuple(
        GuessRow(
            said=guess.said,
            text=guess.text,
            odds=None if guess.odds is None else round(guess.odds, 3),
            ready=guess.ready,
            because=guess.because,
            outcome=guess.outcome,
            saved_us=guess.saved_us,
            wasted_us=guess.wasted_us,
            cpu_us=guess.cpu_us,
        )
        for guess in account.guesses
    )


def _critical(account: Account) -> CriticalRow | None:
    longest = account.critical
    if longest is None:
        return None
    return CriticalRow(stage=longest.stage, owner=longest.owner.name, us=longest.us)
