"""A run that never took place, shaped like those that did: every outcome, and every oddity of a row."""

from __future__ import annotations

from random import Random

from turnbudget.runs.records import (
    CallRecord,
    CriticalRow,
    DecisionRow,
    Engine,
    EntryRow,
    GuessRow,
    LaneRow,
    Row,
    WordErrors,
)
from turnbudget.runs.summary import Header

OWNERS = {
    "endpoint": ("endpoint.complete_ms", "setting"),
    "transcribe": ("moonshine", "service"),
    "match": ("shelf", "own code"),
    "council": ("seat:transfer", "agent"),
    "choose": ("choose", "own code"),
    "synthesize": ("piper", "service"),
    "deliver": ("line", "own code"),
    "stall": ("blocking call", "own code"),
    "unaccounted": ("turnbudget", "own code"),
}
SHELVED = {"endpoint": 160_000, "transcribe": 4_200, "match": 1_200, "deliver": 6_000}
ANSWERED = {
    "endpoint": 200_000,
    "transcribe": 48_000,
    "match": 1_400,
    "council": 265_000,
    "choose": 900,
    "synthesize": 87_000,
    "deliver": 7_000,
    "unaccounted": 60,
}
SLOW = {
    "endpoint": 320_000,
    "transcribe": 61_000,
    "council": 1_540_000,
    "choose": 1_000,
    "synthesize": 110_000,
    "deliver": 8_000,
}
STALLED = {
    "endpoint": 200_000,
    "transcribe": 52_000,
    "stall": 304_000,
    "council": 212_000,
    "synthesize": 140_000,
}

TALK = (
    ("savings", "And what is the destination account?"),
    ("uh I'd like to transfer some money please", "Of course. From which account?"),
    ("to my checking account", "How much shall I move?"),
    (
        "a hundred and seventy-five dollars",
        "One hundred and seventy-five dollars, to checking. Is that right?",
    ),
    ("yes that's right thank you", "Done. Anything else I can do for you today?"),
    (
        "what time does the Franklin branch open on Saturdays",
        "Franklin Street opens at nine thirty on Saturdays.",
    ),
    ("no that'll be all", "Thank you for calling. Goodbye."),
)


def entries(costs):
    """Return entries in the order of *costs*, each with its usual owner."""
    return tuple(
        EntryRow(stage=stage, us=us, owner=OWNERS[stage][0], owner_kind=OWNERS[stage][1])
        for stage, us in costs.items()
    )


def turn(costs=SHELVED, *, answered=True, sounded=None, **named):
    """Return a row that sums, answered at its end unless told otherwise; any field can be named."""
    closed = sum(costs.values())
    sound = sounded if sounded is not None else closed if answered else None
    fields = {
        "kind": "turn",
        "call": "00d676d7058c49bb",
        "turn": 1,
        "outcome": "shelved",
        "heard": "savings",
        "said": "And what is the destination account?",
        "reference": None,
        "speech_began_call_us": 24_900_000,
        "speech_ended_call_us": 26_190_000,
        "speech_ended_by": "reference",
        "vad_ended_call_us": 26_210_000,
        "budget_us": 800_000,
        "first_sound_us": sound,
        "first_answer_us": closed if answered else None,
        "closed_us": closed,
        "witness_us": sound,
        "entries": entries(costs),
    }
    row = {**fields, **named}
    if row["entries"] and "critical" not in row:
        worst = max(row["entries"], key=lambda entry: entry.us)
        row["critical"] = CriticalRow(stage=worst.stage, owner=worst.owner, us=worst.us)
    return Row(**row)


def lane(name, ran_ms, outcome, *, saved_ms=0, wasted_ms=0):
    began_ms, ended_ms = ran_ms
    return LaneRow(
        name=name,
        began_us=began_ms * 1_000,
        ended_us=ended_ms * 1_000,
        outcome=outcome,
        saved_us=saved_ms * 1_000,
        wasted_us=wasted_ms * 1_000,
    )


def took(at_ms, what, because):
    return DecisionRow(at_us=at_ms * 1_000, took=what, because=because)


SEATS = (
    lane("headstart", (-310, 12), "used", saved_ms=172),
    lane("seat:transfer", (249, 514), "chosen"),
    lane("seat:faq", (249, 331), "outranked", wasted_ms=82),
)
BRIDGE = (
    took(560, "bridge", "no opinion; keep p95 of synthesize 140 ms, deliver 20 ms"),
    took(2_032, "seat:llm", "first sentence after 1,540 ms"),
)


def guess(said, text, outcome, odds=None, because="", **more):
    """Return a guess; a head start's outcome is kept or dropped, of what was foreseen said or not said."""
    fields = {"said": said, "text": text, "outcome": outcome, "odds": odds, "because": because, "ready": True}
    return GuessRow(**{**fields, **more})


SHELF = (lane("shelf", (160, 160), "hit", saved_ms=14),)
WANTED = "And what is the destination account?"
STARTS = (
    guess("sav", "", "dropped", None, "550 ms: it may go on", ready=False, wasted_us=16_000),
    guess("savings", WANTED, "kept", 0.93, "100 ms: it is settled, and the reply is ready", saved_us=1_000),
)
FORESEEN = (
    guess("", WANTED, "said", 0.62, "foreseen, rank 1", saved_us=14_000),
    guess(
        "",
        "What is the transfer amount?",
        "not said",
        0.2,
        "foreseen, rank 2",
        wasted_us=41_000,
        cpu_us=33_000,
    ),
)
PREPARED = (
    lane("head start", (-310, -294), "dropped", wasted_ms=16),
    lane("head start", (40, 41), "kept", saved_ms=1),
    *SHELF,
)
EXACT = (took(160, "shelf", "exact text, odds 0.93, guard passed"),)

KINDS = (
    {"costs": SHELVED, "lanes": PREPARED, "decisions": EXACT, "guesses": (*STARTS, *FORESEEN)},
    {"costs": ANSWERED, "outcome": "answered", "lanes": SEATS},
    {"costs": SLOW, "outcome": "bridged", "sounded": 621_000, "lanes": SEATS[:1], "decisions": BRIDGE},
    {"costs": {"endpoint": 160_000, "council": 90_000}, "outcome": "superseded", "answered": False},
    {"costs": STALLED, "outcome": "answered", "false_cut": True, "guesses": FORESEEN[1:]},
    {"costs": ANSWERED, "outcome": "cut", "speech_ended_by": "vad", "lanes": SEATS[1:]},
    {"costs": {**SLOW, "council": 5_520_000}, "outcome": "bridged", "sounded": 640_000, "decisions": BRIDGE},
)
DEFECTS = (
    {"costs": {"endpoint": 200_000, "council": 5_800_000}, "outcome": "silent", "answered": False},
    {"costs": {"endpoint": 200_000, "synthesize": 310_000}, "outcome": "failed", "answered": False},
    {
        "costs": {"endpoint": 200_000, "council": 20_000},
        "outcome": "shed",
        "answered": False,
        "sounded": 215_000,
    },
    {"costs": {**ANSWERED, "council": 460_000}, "outcome": "answered"},
)


def unasked(call, kind, number, ended_us, said):
    """Return a row for what we say unasked."""
    costs = {"synthesize": 2_000, "deliver": 5_000}
    return turn(
        costs,
        kind=kind,
        call=call,
        turn=number,
        outcome="answered",
        heard="",
        said=said,
        speech_began_call_us=ended_us,
        speech_ended_call_us=ended_us,
        vad_ended_call_us=ended_us,
    )


def one_call(call, count, random, *, defects=True):
    """Return the rows of a call: a greeting, *count* turns, a re-prompt."""
    rows = [unasked(call, "greeting", 0, 0, "Harper Valley National Bank, how can I help?")]
    at = 3_200_000
    for number in range(1, count + 1):
        pick = random.random()
        many = DEFECTS if defects and pick > 0.93 else KINDS[2:] if pick > 0.72 else KINDS[:2]
        shape = dict(random.choice(many))
        costs = {
            stage: max(1, round(us * random.uniform(0.8, 1.12))) for stage, us in shape.pop("costs").items()
        }
        sounded = shape.pop("sounded", None)
        heard, said = random.choice(TALK)
        began, at = at, at + random.randrange(700_000, 4_200_000)
        row = turn(
            costs,
            call=call,
            turn=number,
            heard=heard,
            asked=heard,
            said="" if shape.get("outcome") in {"silent", "failed", "superseded"} else said,
            reference=heard.replace("uh ", "um "),
            speech_began_call_us=began,
            speech_ended_call_us=at,
            vad_ended_call_us=at + 18_000,
            sounded=round(sounded * random.uniform(0.9, 1.1)) if sounded else None,
            **{"speech_ended_by": "reference", **shape},
        )
        rows.append(row)
        at += row.closed_us + random.randrange(2_000_000, 5_000_000)
    rows.append(unasked(call, "reprompt", count + 1, at, "Are you still there?"))
    return rows


def sample_rows(calls=3, count=12, seed=7):
    """Return the rows of a run; the same arguments give the same rows."""
    random = Random(seed)  # noqa: S311 - shapes, no secrets
    return [row for call in range(calls) for row in one_call(f"{call:02d}d676d7058c49", count, random)]


def header(rows=(), **named):
    """Return what such a run knows about itself."""
    calls = dict.fromkeys(row.call for row in rows)
    fields = {
        "name": "harper-valley",
        "clock": "skip",
        "pacing": "gated",
        "began": "2025-01-31T09:30:00+00:00",
        "seed": 7,
        "versions": {"turnbudget": "0.1.0", "python": "3.11.2", "numpy": "2.2.0"},
        "engines": (
            Engine(job="asr", name="moonshine tiny int8", why="auto: vosk has no model here"),
            Engine(job="tts", name="piper joe", why="set in the config"),
            Engine(job="vad", name="silero", why="auto: best measured of those present"),
        ),
        "budget_us": 800_000,
        "speculation": True,
        "calls": tuple(
            CallRecord(
                call=call,
                source=f"audio/caller/{call}.wav",
                length_us=154_000_000,
                turns=sum(row.call == call and row.kind == "turn" for row in rows),
                audio=f"{call}.wav",
                ended="hang-up",
            )
            for call in calls
        ),
        "wer": WordErrors(rate=0.248, words=512, substituted=71, deleted=38, inserted=18),
        "faults": ("broken.wav: not a WAV file; give a recording",),
    }
    return Header(**{**fields, **named})
