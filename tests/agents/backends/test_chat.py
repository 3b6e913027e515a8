"""A chat completion over a real socket: every way in which servers are known to send one."""

from __future__ import annotations

import contextlib

import pytest
from provider import (
    GAP,
    HOLD,
    PROMPT,
    RESET,
    WAIT,
    answer,
    asking,
    chunk,
    chunked,
    event,
    head,
    heard,
    said,
    whole,
)

from turnbudget.agents.backends.backend import BackendError, ToolCall
from turnbudget.agents.backends.openai import Dialect
from turnbudget.voice.language.speakable import speakable
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Budget
from turnbudget.voice.time.clock import MS, SECOND

pytestmark = pytest.mark.clock("skip")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
async def test_a_reply_is_the_same_at_every_split_of_its_bytes(end):
    """LLM-01, LLM-03: through a real socket, every byte a border once."""
    body = event(chunk("Zoë"), end) + event(chunk(" 👍", "stop"), end) + event("[DONE]", end)
    plays = [chunked(body[:cut], body[cut:]) for cut in range(1, len(body))]
    for play in plays:
        play.insert(2, GAP)
    async with asking(*plays) as (it, backend):
        for _ in plays:
            assert await heard(backend, PROMPT, Budget.of(WAIT)) == ("Zoë 👍", [])
    assert it.connections == 1


async def test_a_reply_may_come_byte_by_byte():
    """LLM-01."""
    body = answer("Zoë", " 👍")
    steps = [step for byte in body for step in (bytes([byte]), GAP // 4)]
    assert (await said(head(), *steps, wait_us=20 * SECOND))[0] == "Zoë 👍"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
async def test_the_first_delta_is_heard_while_the_stream_goes_on(end):
    """LLM-03: not only when the socket closes."""
    async with (
        asking([head(), event(chunk("Yes."), end), HOLD]) as (_, backend),
        contextlib.aclosing(backend.stream(PROMPT, Budget.of(WAIT))) as deltas,
    ):
        assert (await anext(deltas)).text == "Yes."


async def test_a_data_field_without_a_space_and_one_of_two_lines_are_read():
    """LLM-04."""
    tight = b'data:{"choices":[{"index":0,"delta":{"content":" Hi"}}]}\n\n'
    lines = b'data: {"choices":[{"index":0,\ndata: "delta":{"content":" you"}}]}\n\n'
    assert (await said(head(), tight, lines))[0] == " Hi you"


async def test_keep_alives_are_no_token():
    """LLM-05: the first token is the first word, whatever came before it."""
    alive = [b":\n\n", 10 * MS, b": keepalive\n\n", 10 * MS, b"event: ping\ndata: {}\n\n", 20 * MS]
    text, _, timing = await said(head(), *alive, answer("Yes."))
    assert text == "Yes."
    assert timing.first_byte_us - timing.began_us < 30 * MS
    assert timing.first_token_us - timing.first_byte_us >= 38 * MS


@pytest.mark.parametrize(
    "tail", [b"", b"data: [DONE]", b"data: [DONE]\n", b"\n"], ids=["none", "bare", "half", "blank"]
)
async def test_a_reply_without_its_marker_is_whole(tail):
    """LLM-06."""
    text, _, timing = await said(head(), answer("All", " set", done=False), tail)
    assert (text, timing.ending) == ("All set", "done")


async def test_a_last_delta_without_a_line_end_is_heard():
    """LLM-06."""
    assert (await said(head(), answer("All", finish=None, done=False), event(chunk(" set")).rstrip()))[
        0
    ] == "All set"


async def test_nobody_waits_for_a_marker_behind_a_finish():
    """LLM-06: the stream stays open, the turn does not."""
    async with asking([head(), answer("All set", done=False), HOLD]) as (_, backend):
        began = clock.now()
        assert (await heard(backend, PROMPT, Budget.of(WAIT)))[0] == "All set"
        assert clock.now() - began < 150 * MS


@pytest.mark.parametrize(
    "rest", [[event('{"cut": ')], [b"9\r\nda"], [RESET]], ids=["garbage", "half a chunk", "reset"]
)
async def test_what_breaks_behind_a_finish_is_no_error(rest):
    """LLM-06."""
    body = answer("All set", done=False)
    start = [head(), body] if rest[0] != b"9\r\nda" else chunked(body)[:2]
    text, _, timing = await said(*start, 5 * MS, *rest)
    assert (text, timing.ending) == ("All set", "done")


async def test_a_first_delta_of_null_and_single_spaces_are_taken_as_they_are():
    """LLM-07: and a missing finish is flagged."""
    deltas = [chunk(role="assistant", content=None), chunk("Yes"), chunk(" "), chunk("sir"), chunk()]
    text, _, timing = await said(head(), *map(event, deltas))
    assert text == "Yes sir"
    assert "no finish reason" in timing.flags


async def test_usage_behind_the_finish_is_kept():
    """LLM-08: with empty choices, and with none at all."""
    usage = {
        "prompt_tokens": 30,
        "completion_tokens": 7,
        "prompt_tokens_details": {"cached_tokens": 16},
        "completion_tokens_details": {"reasoning_tokens": 2},
    }
    rest = [
        event({"choices": []}),
        event({"id": 1}),
        event({"choices": None, "usage": usage}),
        event("[DONE]"),
    ]
    text, _, timing = await said(head(), answer("Yes.", done=False), 5 * MS, *rest)
    assert text == "Yes."
    assert (timing.tokens_in, timing.tokens_out) == (30, 7)
    assert (timing.tokens_cached, timing.tokens_reasoning) == (16, 2)


async def test_server_timings_are_taken_from_wherever_they_are_told():
    groq = {"queue_time": 0.001, "prompt_time": 0.002, "completion_time": 0.003, "completion_tokens": 5}
    info = {"queue_time": 0.001, "prompt_time": 0.002, "completion_time": 0.003, "total_time": 0.02}
    llama = {"prompt_n": 4, "cache_n": 6, "prompt_ms": 2.0, "predicted_n": 5, "predicted_ms": 3.0}
    for told in ({"x_groq": {"usage": groq}}, {"time_info": info}, {"timings": llama}):
        *_, timing = await said(head(), answer("Yes.", done=False), event({"choices": []} | told))
        assert (timing.server_prefill_us, timing.server_decode_us) == (2 * MS, 3 * MS)
        assert timing.server_queue_us == (None if "timings" in told else MS)
        assert timing.tokens_out == (None if "time_info" in told else 5)
    assert (timing.tokens_in, timing.tokens_cached) == (10, 6)


async def test_the_tier_served_is_told_beside_the_one_asked_for():
    tier = chunk("Yes.") | {"service_tier": "default"}
    *_, timing = await said(head(), event(tier), answer(), service_tier="priority")
    assert (timing.tier_asked, timing.tier_served) == ("priority", "default")


def piece(arguments, index=None, **call):
    told = {"function": {"arguments": arguments} | ({"name": call.pop("name")} if "name" in call else {})}
    return chunk(tool_calls=[told | call | ({} if index is None else {"index": index})])


@pytest.mark.parametrize("index", [0, None], ids=["the same index", "no index"])
async def test_tool_calls_are_told_apart_by_their_ids(index):
    """LLM-13."""
    pieces = [
        piece('{"d":', index, id="c1", name="slots"),
        piece('"fri"}', index),
        piece("{}", index, id="c2", name="price"),
        chunk(finish="tool_calls"),
    ]
    text, calls, timing = await said(head(), *map(event, pieces))
    assert text == ""
    assert calls == [ToolCall("c1", "slots", '{"d":"fri"}'), ToolCall("c2", "price", "{}")]
    assert timing.first_token_us is not None


async def test_a_tool_call_that_is_not_whole_is_an_error():
    """LLM-13."""
    with pytest.raises(BackendError, match="'slots' with arguments that are no JSON"):
        await said(head(), event(piece('{"d":', 0, id="c1", name="slots")), answer(finish="length"))


async def test_a_line_of_300_000_bytes_between_two_deltas_does_no_harm():
    """LLM-14: parsed; beyond 1 MiB skipped, and the record says so."""
    for size, flag in ((300_000, False), (1_200_000, True)):
        long = event({"choices": [], "padding": "x" * size})
        play = [event(chunk("One ")), long, answer("two.")]
        text, _, timing = await said(head(), *play)
        assert text == "One two."
        assert ("1 events too long to read" in timing.flags) == flag


async def test_a_reply_in_one_blob_is_timed_when_it_came():
    """LLM-15."""
    text, _, timing = await said(head(), 60 * MS, answer("Yes.", " No."))
    assert text == "Yes. No."
    assert timing.ttft_us >= 60 * MS


@pytest.mark.parametrize(
    "body",
    [
        b'{"error":"model not loaded"}',
        b'{"error": {\n "message": "model not loaded"}}\n',
        b'data: {"error":{"message":"model not loaded","code":500}}\n\n',
        b'data: {"object":"error","message":"model not loaded"}\n\n',
        b'event: error\ndata: {"detail":"model not loaded"}\n\n',
    ],
)
async def test_an_error_inside_a_good_status_is_an_error(body):
    """LLM-15."""
    with pytest.raises(BackendError, match="openai: model not loaded"):
        await said(head(), body)


async def test_an_answer_from_a_server_that_does_not_stream_is_heard():
    body = (
        b'{"choices":[{"message":{"content":"Yes."},"finish_reason":"stop"}],"usage":{"completion_tokens":2}}'
    )
    text, _, timing = await said(whole(200, body))
    assert (text, timing.tokens_out) == ("Yes.", 2)
    assert "not streamed" in timing.flags


async def test_thoughts_are_never_spoken_however_they_are_cut():
    """LLM-16: at every split into two deltas, as tags and as fields."""
    whole_text = "<think>user wants a refund</think>Sure, 2 < 3, one <b>moment</b>."
    plays = [chunked(answer(whole_text[:cut], whole_text[cut:])) for cut in range(len(whole_text) + 1)]
    fields = [chunk(reasoning_content="hm"), chunk(reasoning="hm"), chunk(content=None, reasoning="so")]
    plays.append(chunked(b"".join(map(event, fields)) + answer("Sure, 2 < 3, one <b>moment</b>.")))
    async with asking(*plays) as (_, backend):
        for _ in plays:
            text, _ = await heard(backend, PROMPT, Budget.of(WAIT))
            assert text == "Sure, 2 < 3, one <b>moment</b>."


async def test_a_thought_that_is_never_closed_is_no_answer():
    """LLM-16: never the thoughts."""
    for play in (answer("<think>", "user wants"), event(chunk(reasoning="user wants")) + answer()):
        with pytest.raises(BackendError, match="nothing but reasoning"):
            await said(head(), play)


async def test_a_template_that_opens_the_thought_itself_is_known_by_its_dialect():
    """LLM-16."""
    text, *_ = await said(head(), answer("user wants</think>", "Sure."), dialect=Dialect(thinking=True))
    assert text == "Sure."


async def test_the_first_token_is_the_first_of_the_answer():
    play = [event(chunk(reasoning="hm")), event(chunk("\n\n")), 30 * MS, answer("Yes.")]
    *_, timing = await said(head(), *play)
    assert timing.first_token_us - timing.first_byte_us >= 29 * MS


@pytest.mark.parametrize("texts", [(), (" ", "\n")], ids=["nothing", "white space"])
@pytest.mark.parametrize("finish", ["stop", "length"])
async def test_an_answer_without_a_word_is_a_failure(texts, finish):
    """LLM-20."""
    with pytest.raises(BackendError, match=f"the answer is empty: {finish}") as raised:
        await said(head(), event(chunk(role="assistant", content="")), answer(*texts, finish=finish))
    assert raised.value.again


async def test_half_of_a_character_at_the_end_of_a_delta_is_joined_with_the_next():
    """LLM-01: a surrogate pair cut between two JSON strings."""
    halves = [event('{"choices":[{"delta":{"content":"' + half + '"}}]}') for half in (r"\ud83d", r"\udc4d")]
    assert (await said(head(), *halves))[0] == "👍"


INVOICE = (
    "✅ Done! See [your invoice](https://shop.example/i?id=9&x=1) 🎉\n\n| a | b |\n|---|---|\n| c | d |\n"
)


@pytest.mark.parametrize(
    ("deltas", "spoken"),
    [
        (
            ("*plea", "se* call **to", "day** about order_id_7", "\n- tea\n- milk"),
            "please call today about order id 7 tea. milk.",
        ),
        ((INVOICE[:20], INVOICE[20:45], INVOICE[45:]), "Done! See your invoice a, b. c, d."),
    ],
)
async def test_markup_that_is_cut_across_deltas_reaches_the_voice_whole(deltas, spoken):
    """LLM-17, LLM-18: a backend passes markup on as it is; what is spoken of it is decided on whole text."""
    text, *_ = await said(head(), answer(*deltas))
    assert text == "".join(deltas)
    assert speakable(text) == spoken
