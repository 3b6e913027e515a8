"""Whole calls that LLMs answer: every fault of a provider, and in every turn something sounds in time.

In virtual time with scripted and simulated backends, and on the skip clock over real sockets, last of all to
a real llama.cpp server with a real small model.
"""

from __future__ import annotations

import contextlib

import msgspec
import pytest
from calls import QUICK, Line, harper, replay
from laws import each
from llama import ALIAS, llama  # noqa: F401 - a fixture is used by its name
from provider import CLOSE, HOLD, RESET, answer, chunk, chunked, event, head, provider, whole
from talking import BROKEN, BUDGET, FAULTS, OTHER, WHOLE, alone, first, healthy, talk

from turnbudget.agents.backends import modes
from turnbudget.agents.backends.scripted import says, silent
from turnbudget.agents.simulated.endpoint import Endpoint
from turnbudget.agents.simulated.make import find
from turnbudget.agents.simulated.words import Script
from turnbudget.settings.answering import open_llm
from turnbudget.settings.config import AsrTable, LlmTable, ResponderTable, TtsTable, VadTable
from turnbudget.testing.stage import ASK, over
from turnbudget.testing.stage import says as caller
from turnbudget.voice.time.clock import MS, SECOND

APOLOGY = "Sorry, I can not help with that."
BRIDGE = "One moment please."
AIM = BUDGET - 80 * MS
"""What a call on a real machine aims at, as its settings do: a margin early."""

WITH_A_SECOND = {
    "fast": modes.fast,
    "hedge": modes.hedge,
    "race": modes.race,
    "race, the other way": lambda faulty, other: modes.race(other, faulty),
    "accurate": lambda faulty, other: modes.accurate(other, faulty),
}


@each("mode", WITH_A_SECOND.values(), ids=WITH_A_SECOND)
@each("fault", FAULTS)
async def test_a_faulty_provider_with_a_healthy_second_one_is_answered(fault, mode):
    """LLM-10, LLM-11, LLM-20, LLM-21: three turns, a bridge at worst, and never an apology."""
    script, _ = FAULTS[fault]
    talked = await talk(mode(first(script), healthy()), ASK, ASK, ASK)
    assert set(talked.outcomes) <= {"answered", "bridged"}
    assert [said.removeprefix(BRIDGE).strip() for said in talked.said] == [OTHER] * 3
    assert not talked.played.call.dangling


@each("fault", FAULTS)
async def test_the_row_names_the_fault(fault):
    """LLM-10: reason in the log, and whose it was."""
    script, words = FAULTS[fault]
    talked = await talk(modes.fast(first(script), healthy()), ASK)
    named = [one for one in talked.rows[0].account.decisions if words in one.because]
    assert [one.took for one in named] == ["llm:first"]
    assert "llm:second attempt 2: done" in talked.told()


@each("fault", FAULTS)
async def test_a_faulty_provider_alone_is_apologised_for_and_the_next_turn_works(fault):
    """LLM-10, LLM-11, LLM-20: nobody waits for 30 s, and for a silent one no longer than five."""
    script, words = FAULTS[fault]
    twice = (script, script) if fault in {"503", "nothing at all", "white space"} else (script,)
    talked = await talk(alone(first(*twice, says("Yes."))), ASK, ASK)
    assert talked.outcomes[0] == "failed"
    assert talked.said[0].removeprefix(BRIDGE).strip() == APOLOGY
    assert talked.said[1].removeprefix(BRIDGE).strip() == "Yes."
    if fault != "a byte a second":  # it speaks, only never a sentence
        assert words in talked.told(0)


async def test_503_once_is_not_noticed():
    """LLM-10."""
    script, _ = FAULTS["503"]
    talked = await talk(alone(first(script, says("It is ten."))), ASK)
    assert (talked.outcomes, talked.said) == (["answered"], ["It is ten."])
    assert [timing.retry_of for timing in talked.timings] == [None, 0]


@pytest.mark.parametrize("mode", [alone, lambda faulty: modes.fast(faulty, healthy())], ids=["alone", "fast"])
async def test_a_reset_after_speech_began_adds_only_the_missing_words(mode):
    """LLM-12: each word is heard once, and is once in what the model is told next."""
    backend = first(BROKEN, says(WHOLE), says("Yes."))
    talked = await talk(mode(backend), ASK, ASK)
    assert talked.said[0].removeprefix(BRIDGE).strip() == WHOLE
    assert talked.played.history[1] == ("agent", WHOLE, False)
    assert backend.asked[2].messages[2].text == WHOLE
    assert "the connection was lost" in talked.told(0)


@pytest.mark.parametrize("again", [says("I am sorry, what was that?"), silent()], ids=["else", "nothing"])
async def test_a_second_try_that_says_something_else_is_not_heard(again):
    """LLM-12: never two answers in one."""
    talked = await talk(alone(first(BROKEN, again, says("Yes."))), ASK, ASK)
    assert talked.said[0].removeprefix(BRIDGE).strip() == "Your balance is ten dollars."
    assert talked.outcomes[0] in {"answered", "bridged"}
    assert talked.said[1].removeprefix(BRIDGE).strip() == "Yes."
    assert "reply given up" in talked.told(0)


@pytest.mark.parametrize(
    ("fault", "value", "answered"),
    [("silent", 1, True), ("error", 1, True), ("requests_a_minute", 1, True), ("dribble", 1, False)],
)
async def test_a_simulated_api_that_fails_costs_no_turn_its_sound(fault, value, answered):
    """LLM-21: one that dribbles has begun to speak, so it is followed to the end; only a race escapes it."""
    api = msgspec.structs.replace(find("api-groq-oss"), **{fault: value})
    other = Endpoint(find("api-qwen-local"), Script([OTHER]))
    build = modes.fast if answered else lambda faulty, other: modes.race(other, faulty)
    talked = await talk(build(Endpoint(api, Script([WHOLE])), other), ASK, ASK, ASK)
    assert set(talked.outcomes) <= {"answered", "bridged"}
    assert talked.said[-1].removeprefix(BRIDGE).strip() == OTHER


async def test_a_simulated_reset_in_mid_answer_leaves_what_was_heard():
    api = msgspec.structs.replace(find("api-groq-oss"), reset=1)
    talked = await talk(alone(Endpoint(api, Script([WHOLE]))), ASK, ASK, ASK)
    for said in talked.said:
        words = said.removeprefix(BRIDGE).removesuffix(APOLOGY).strip()
        assert WHOLE.startswith(words)


HEALTHY = [head(), 20 * MS, answer(OTHER[:9], OTHER[9:]), CLOSE]
PREWARM = [whole(200, b'{"choices": []}'), CLOSE]
DRIBBLE = [head(), *(step for byte in event(chunk("Hi."))[:6] for step in (bytes([byte]), SECOND)), HOLD]
SOCKETS = {
    "silent": ([HOLD], "no first token after 4"),
    "headers, then silence": ([head(), HOLD], "no first token after 4"),
    "a byte a second": (DRIBBLE, "no first token after 4"),
    "an error inside a 200": ([head(), event({"error": {"message": "overloaded"}}), CLOSE], "overloaded"),
    "429": ([whole(429, b"{}", Retry_After="30"), CLOSE], "HTTP 429"),
    "503": ([whole(503, b"down"), CLOSE], "HTTP 503"),
    "a reset before a word": ([head(), RESET], "the connection was lost"),
    "no HTTP": ([b"what?\r\n\r\n", CLOSE], "does not speak HTTP as it should"),
}
GONE = {
    "refused": ("http://{}/v1", "no connection to {}"),
    "no such name": ("http://no-such-host.invalid/v1", "the name 'no-such-host.invalid' has no address"),
    "no TLS": ("https:", "no secure connection to 127.0.0.1"),
}


@contextlib.asynccontextmanager
async def providers(*plays, url=None, **table):
    """The backend of a setting that names a provider with *plays* (or at *url*), and a healthy second one."""
    async with provider(*plays, aside=PREWARM) as faulty, provider(HEALTHY, aside=PREWARM) as other:
        names = {"backend": f"openai:{url or faulty.url}", "model": "m"}
        if table.pop("two", True):
            names |= {"second": f"openai:{other.url}", "second_model": "m"}
        backend = open_llm(LlmTable(**names, **table), ResponderTable())
        try:
            yield backend, faulty
        finally:
            await backend.aclose()


@pytest.mark.clock("skip")
@pytest.mark.parametrize("fault", SOCKETS)
async def test_over_a_real_socket_a_second_provider_answers_in_its_place(fault):
    """LLM-10, LLM-11, LLM-21: the anchors are silent for 6 s; here something sounds within 0.8 s."""
    play, words = SOCKETS[fault]
    async with providers(play) as (backend, faulty):
        talked = await talk(backend, ASK, budget_us=AIM)
        assert faulty.listeners == 0
    assert talked.outcomes[0] in {"answered", "bridged"}
    assert talked.said[0].removeprefix(BRIDGE).strip() == OTHER
    assert words in talked.told()
    assert "llm:openai 2 attempt 2: done" in talked.told()


@pytest.mark.clock("skip")
@pytest.mark.parametrize("fault", GONE)
async def test_a_provider_that_cannot_be_reached_is_replaced(fault, nowhere):
    url, words = (text.format(nowhere) for text in GONE[fault])
    async with provider([b"no TLS here\r\n", CLOSE], eager=True) as plain:
        url = plain.url.replace("http:", "https:") if url == "https:" else url
        async with providers([], url=url) as (backend, _):
            talked = await talk(backend, ASK, budget_us=AIM)
    assert talked.said[0].removeprefix(BRIDGE).strip() == OTHER
    assert words in talked.told()


@pytest.mark.clock("skip")
async def test_over_a_real_socket_503_once_is_not_noticed():
    """LLM-10."""
    async with providers([whole(503, b"down")], chunked(answer("It is ten.")), two=False) as (backend, _):
        talked = await talk(backend, ASK, budget_us=AIM)
    assert talked.said[0].removeprefix(BRIDGE).strip() == "It is ten."


@pytest.mark.clock("skip")
async def test_over_a_real_socket_a_silent_provider_alone_is_apologised_for_in_two_seconds():
    """LLM-11: its socket is closed."""
    async with providers([HOLD], two=False) as (backend, faulty):
        talked = await talk(backend, ASK, budget_us=AIM)
        assert faulty.listeners == 0
    assert (talked.outcomes, talked.said) == (["failed"], [f"{BRIDGE} {APOLOGY}"])
    assert "openai: no first token" in talked.told()


@pytest.mark.clock("skip")
async def test_over_a_real_socket_a_reset_after_speech_began_adds_only_the_missing_words():
    """LLM-12."""
    begun = [event(chunk("Your balance is ten dollars.")), event(chunk(" Your savings"))]
    broken = [*chunked(*begun)[:-1], 300 * MS, RESET]
    async with providers(broken, chunked(answer(*(f"{word} " for word in WHOLE.split())))) as (backend, it):
        talked = await talk(backend, ASK, budget_us=AIM)
        assert len([body for _, body in it.requests if body and body["stream"]]) == 2
    assert talked.said[0].removeprefix(BRIDGE).strip() == WHOLE
    assert "the connection was lost" in talked.told() or "broke off in mid-answer" in talked.told()


@pytest.mark.clock("skip")
async def test_over_a_real_socket_a_caller_who_cuts_in_closes_the_stream_within_50_ms():
    """LLM-19."""
    slow = [head(), event(chunk("Your balance is ten dollars. Your")), HOLD]
    stop = over(caller("tell me more", pause_us=100 * MS))
    async with providers(slow, [head(), answer("Right."), CLOSE], two=False) as (backend, it):
        talked = await talk(backend, ASK, stop, budget_us=AIM)
    assert talked.outcomes[0] == "cut"
    (broken,) = [one for one in talked.rows[0].account.decisions if one.took == "broken off"]
    assert 0 <= it.left_us[0] - broken.at_us <= 50 * MS
    assert talked.timings[0].ending == "cancelled"
    assert talked.said[1].removeprefix(BRIDGE).strip() == "Right."


@pytest.mark.clock("skip")
async def test_over_a_real_socket_reasoning_is_never_spoken():
    """LLM-16: in a field of its own, and in tags that are cut anywhere."""
    fields = [event(chunk(reasoning_content="They want money.")), answer("It is", " ten.")]
    tags = [answer("<thi", "nk>They want", " money</th", "ink>It is ten.")]
    for play in (fields, tags):
        async with providers([head(), *play, CLOSE], two=False) as (backend, _):
            talked = await talk(backend, ASK, budget_us=AIM)
        assert talked.said[0].removeprefix(BRIDGE).strip() == "It is ten."


TALK = (
    Line("agent", "hello this is the bank", 500),
    Line("caller", "hello i have lost my card on the train and i think i need another", 2_600),
    Line("agent", "i can replace it", 7_000),
    Line("caller", "thank you bye", 9_000),
)
"""The caller's first turn is long enough for the prompt to be read meanwhile."""
PRETEND = msgspec.structs.replace(
    QUICK, asr=AsrTable(engine="scripted"), tts=TtsTable(engine="scripted"), vad=VadTable(engine="scripted")
)


@pytest.fixture(scope="module")
def llama_run(llama, tmp_path_factory):  # noqa: F811 - likewise
    """A replayed call that a real llama.cpp answers, its prompt cache cold at first."""
    folder = tmp_path_factory.mktemp("llama")
    table = LlmTable(
        backend=f"openai:{llama}", model=ALIAS, max_tokens=24, system="You answer for a bank. " * 20
    )
    config = msgspec.structs.replace(PRETEND, llm=table)
    return replay(harper(folder / "in", talk=TALK, seconds=11), folder / "run", config, "skip")


def lanes(row, name):
    return [one for one in row.lanes if one.name == name]


def test_a_real_llama_cpp_answers_a_replayed_call(llama_run):
    turns = [row for row in llama_run.rows if row.kind == "turn"]
    assert len(turns) == 2
    assert all(row.in_time for row in turns)
    assert {row.outcome for row in turns} <= {"answered", "bridged"}
    assert all(row.said.removeprefix("One moment.").strip() for row in turns)


@pytest.mark.parametrize("name", ["first token", "prefill", "first sentence", "prewarm"])
def test_its_times_fill_the_lanes(llama_run, name):
    for row in llama_run.rows:
        if row.kind == "turn":
            (found,) = lanes(row, f"llm:openai {name}")
            assert found.ended_us > found.began_us


def test_its_prompt_is_read_while_the_caller_speaks_and_the_row_shows_what_that_saved(llama_run):
    """The first turn's prefix was cold: some 120 tokens, a good part of a second on one thread."""
    row = next(row for row in llama_run.rows if row.kind == "turn")
    (prewarm,) = lanes(row, "llm:openai prewarm")
    (prefill,) = lanes(row, "llm:openai prefill")
    assert prewarm.outcome == "used"
    assert prewarm.saved_us > 0
    assert prefill.ended_us - prefill.began_us < prewarm.ended_us - prewarm.began_us


def test_what_a_real_server_costs_is_not_known(llama_run):
    assert llama_run.summary.usd is None
