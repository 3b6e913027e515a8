"""A call can be built, run and read with public names alone; every import here is of one of the two doors."""

from __future__ import annotations

import ast
from pathlib import Path

import turnbudget
from turnbudget import (
    Budget,
    Call,
    CallRow,
    CallSettings,
    Clip,
    Cost,
    Council,
    Endpointing,
    Forecast,
    Form,
    LlmResponder,
    Parts,
    Phrases,
    RecordedLine,
    Reference,
    Reply,
    Seat,
    Slot,
    Smalltalk,
    account_row,
    waterfall,
)
from turnbudget.testing import (
    Rule,
    ScriptedBackend,
    ScriptedResponder,
    ScriptedSynthesizer,
    ScriptedTranscriber,
    ScriptedVad,
    Step,
    check_account,
    play,
    says,
)

MS = 1_000
PRIORS = {"choose": Cost(0, 20 * MS), "synthesize": Cost(20 * MS, 60 * MS), "deliver": Cost(10 * MS, 20 * MS)}


async def called(responder, *clips: Clip) -> tuple[Call, list[CallRow]]:
    """Build a call part by part, run it to its end, and return it with its rows."""
    voice = ScriptedSynthesizer()
    one_moment, pardon, apology = [
        await voice.render(text, Budget.of(2_000 * MS))
        for text in ("One moment, please.", "Sorry, what was that?", "Sorry, I can not help with that.")
    ]
    reference = Reference()
    line = RecordedLine(clips, reference, clips[0].samples[:0])
    rows: list[CallRow] = []
    parts = Parts(
        line=line,
        vad=ScriptedVad(reference.words),
        transcriber=ScriptedTranscriber(reference.words),
        endpointing=Endpointing(),
        responder=responder,
        voice=voice,
        forecast=Forecast(PRIORS),
        phrases=Phrases(one_moment, pardon, apology),
    )
    call = Call(parts, CallSettings(), rows.append)
    line.follow(call)
    await call.run()
    return call, rows


async def test_a_call_is_built_run_and_read():
    responder = ScriptedResponder([Rule("balance", "Your balance is ten dollars.")], Rule("", "Pardon?"))
    call, rows = await called(responder, says("what is my balance please"), says("thank you"))
    assert [row.said for row in rows] == ["Your balance is ten dollars.", "Pardon?"]
    assert call.ended == "caller hung up"
    for row in rows:
        check_account(row)
        written = account_row(row.account, call="one", turn=row.number, said=row.said)
        assert written.in_time
        assert sum(entry.us for entry in written.entries) == written.closed_us
        assert "answered" in str(waterfall(written))


async def test_a_council_answers_a_call():
    slots = [Slot(name="guests", type="number", cues=("for",), ask="How many people?")]
    table = Form("table", slots, trigger=["table"], done="A table for {guests}.", action="")
    council = Council([Seat(table, rank=1), Seat(Smalltalk())], "one")
    _, rows = await called(council, says("I would like a table"), says("four"))
    assert rows[0].said == "How many people?"


async def test_an_llm_answers_a_call():
    backend = ScriptedBackend([Step(50 * MS, "Hello, "), Step(20 * MS, "how can I help?")])
    _, rows = await called(LlmResponder(backend, system="Be brief."), says("good morning"))
    assert [row.said for row in rows] == ["Hello, how can I help?"]


async def test_a_responder_of_somebody_elses_is_tried_on_the_stage():
    class Mine:
        name = "mine"

        async def make_ready(self, history):
            """Have nothing to make ready."""

        async def answer(self, question):
            return Reply(f"You said {question.said}.", self.name)

    played = await play(says("hello there"), responder=Mine())
    assert [row.said for row in played.turns] == ["You said hello there."]


def test_this_file_comes_in_by_the_two_doors_alone():
    tree = ast.parse(Path(__file__).read_text("utf-8"))
    came = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    came |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert {name for name in came if "turnbudget" in name} == {turnbudget.__name__, "turnbudget.testing"}
