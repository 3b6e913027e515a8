"""Server-sent events, cut anywhere."""

from __future__ import annotations

import random

import pytest
from laws import each

from turnbudget.agents.backends.backend import BackendError
from turnbudget.agents.backends.openai import ChatReader
from turnbudget.agents.backends.sse import EventStream, ServerSentEvent

EVENTS = [ServerSentEvent('{"a": "Zoë 👍"}'), ServerSentEvent("{}", "ping"), ServerSentEvent("[DONE]")]
PLAIN = 'data: {"a": "Zoë 👍"}\n\n: keepalive\n\nevent: ping\ndata: {}\n\ndata: [DONE]\n\n'.encode()


def parsed(*pieces, **options):
    stream = EventStream(**options)
    return [event for piece in pieces for event in stream.feed(piece)] + stream.close()


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
def test_every_line_end_at_every_split(end):
    """LLM-01, LLM-03: also inside a character, and between CR and LF; no phantom event."""
    blob = PLAIN.replace(b"\n", end.encode())
    for cut in range(len(blob) + 1):
        assert parsed(blob[:cut], blob[cut:]) == EVENTS
    assert parsed(*(bytes([byte]) for byte in blob)) == EVENTS


def test_line_ends_may_be_mixed():
    """LLM-03."""
    assert parsed(b"data: 1\r\n\ndata: 2\r\rdata: 3\n\r\n") == [
        ServerSentEvent("1"),
        ServerSentEvent("2"),
        ServerSentEvent("3"),
    ]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_an_event_is_released_as_soon_as_it_ends(end):
    """LLM-03: not when the next byte comes, nor when the stream closes."""
    stream = EventStream()
    assert stream.feed(b"data: x" + end) == []
    assert stream.feed(end[:1]) == [ServerSentEvent("x")]
    assert stream.feed(end[1:] + b"data: y" + end + end) == [ServerSentEvent("y")]


@each(
    ("blob", "data"),
    [
        (b'data:{"content":" Hi"}\n\n', '{"content":" Hi"}'),
        (b"data:  two spaces\n\n", " two spaces"),
        (b"data: a\ndata: b\n\n", "a\nb"),
        (b"data\n\n", ""),
        (b"\xef\xbb\xbfdata: marked\n\n", "marked"),
        (b"id: 7\nretry: 10\ndata: x\n\n", "x"),
    ],
    ids=["no space", "one space only", "two lines", "no colon", "byte order mark", "other fields"],
)
def test_fields_are_read_as_the_standard_says(blob, data):
    """LLM-04."""
    assert parsed(blob) == [ServerSentEvent(data)]


def test_comments_and_blank_lines_are_no_events():
    """LLM-05."""
    assert parsed(b":\n\n: keepalive\n\n\n\nevent: alone\n\n") == []


@pytest.mark.parametrize("blob", [b"data: [DONE]", b"data: [DONE]\n", b"data: [DONE]\n\n", b"data: [DONE]\r"])
def test_the_end_of_the_stream_ends_the_last_event(blob):
    """LLM-06."""
    assert parsed(blob) == [ServerSentEvent("[DONE]")]


def test_a_line_of_300_000_bytes_is_read():
    """LLM-14."""
    long = "x" * 300_000
    blob = f"data: 1\n\ndata: {long}\n\ndata: 2\n\n".encode()
    pieces = [blob[at : at + 65_536] for at in range(0, len(blob), 65_536)]
    assert parsed(*pieces) == [ServerSentEvent("1"), ServerSentEvent(long), ServerSentEvent("2")]


@pytest.mark.parametrize("size", [1, 7, 100, 5_000])
def test_an_event_above_the_limit_is_skipped_and_counted_and_the_others_survive(size):
    """LLM-14: a stated limit."""
    for body in (b"data: " + b"x" * 2_000, b"data: y\n" * 300, b"data: z\n" + b"q" * 2_000):
        stream = EventStream(limit=1_000)
        blob = b"data: 1\n\n" + body + b"\n\ndata: 2\n\n"
        pieces = [blob[at : at + size] for at in range(0, len(blob), size)]
        events = [event for piece in pieces for event in stream.feed(piece)] + stream.close()
        assert events == [ServerSentEvent("1"), ServerSentEvent("2")]
        assert stream.skipped == 1
        assert len(stream._tail) <= 1_000


def test_what_is_no_event_stream_is_kept():
    """LLM-15: a JSON error, labelled as one."""
    stream = EventStream()
    assert stream.feed(b'{\n "error": "model not loaded"\n}') + stream.close() == []
    assert stream.stray == '{\n "error": "model not loaded"\n}'


def test_bytes_that_are_no_utf_8_become_replacement_characters():
    assert parsed(b"data: \xff\xc3\n\n") == [ServerSentEvent("��")]


PARTS = [
    b'data: {"choices":[{"index":0,"delta":{"content":"Zo\xc3\xab \xf0\x9f\x91\x8d"}}]}\n\n',
    b'data: {"choices":[{"index":0,"delta":{"content":"<think>no</think>"},"finish_reason":null}]}\r\n\r\n',
    b'data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f"}}]}}]}\r\r',
    b'data: {"choices":[],"usage":{"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":1}}}\n\n',
    b'data: {"choices":[{"delta":{},"finish_reason":"stop"}],"timings":{"prompt_ms":1e3,"prompt_n":-1}}\n\n',
    b': ping\n\nevent: x\ndata: {"error":{"message":"no"}}\n\n',
    b'data: {"choices":[{"delta":{"content":"\\ud83d"}}]}\n\ndata: [DONE]\n\n',
    b'data: {"choices":{"0":1},"usage":[1],"x_groq":3,"time_info":{"queue_time":1e999}}\n\n',
    b'data: {"choices":[{"index":null,"delta":[{"content":1}],"finish_reason":5}],"detail":null}\n\n',
    b"data: " + b"[" * 3_000 + b"\n\n",
]


def damaged(blob, luck):
    """*blob* with a byte changed, some cut out, signs put in, or a piece of it sent twice."""
    at = luck.randrange(len(blob))
    before, after = blob[:at], blob[at:]
    ways = (
        before + luck.randbytes(1) + after[1:],
        before + after[luck.randrange(1, 5) :],
        before + bytes(luck.choices(b'\r\n:{}[]"\\', k=3)) + after,
        before + before[-30:] + after,
    )
    return luck.choice(ways) or b"\n"


def read(pieces):
    stream, reader, text = EventStream(limit=2_000), ChatReader(), []
    try:
        for piece in pieces:
            for event in stream.feed(piece):
                text += [delta.text for delta in reader.read(event)]
        for event in stream.close():
            text += [delta.text for delta in reader.read(event)]
        text += [delta.text for delta in reader.close(stream.stray)]
    except BackendError as error:
        return "".join(text), error.what
    return "".join(text), ""


def test_a_hundred_thousand_random_splits_and_corruptions_raise_nothing_that_is_not_ours():
    """LLM-01, and every other: what bytes mean does not depend on how they are cut."""
    luck = random.Random(7)  # noqa: S311 - the same on every run
    for _ in range(25_000):
        blob = b"".join(luck.choices(PARTS, weights=[9] * 9 + [1], k=luck.randrange(1, 5)))
        for _ in range(luck.choice((0, 0, 1, 3, 8))):
            blob = damaged(blob, luck)
        whole = read([blob])
        for _ in range(4):
            cuts = sorted(luck.randrange(len(blob) + 1) for _ in range(luck.randrange(1, 6)))
            pieces = [blob[a:b] for a, b in zip([0, *cuts], [*cuts, len(blob)], strict=True)]
            assert read(pieces) == whole, (blob, cuts)
