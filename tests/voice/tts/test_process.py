"""Whatever an engine does in its worker, a turn only loses time."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from turnbudget.voice.errors import MissingEngine, TtsError
from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Budget
from turnbudget.voice.time.clock import MS, SECOND
from turnbudget.voice.tts import engine
from turnbudget.voice.tts.check import check_synthesizer
from turnbudget.voice.tts.process import QUEUE, ProcessSynthesizer, WorkerPatience

FAULTY = str(Path(__file__).parent / "faulty.py")
PLAIN = "Thank you for calling, how can I help you today?"
pytestmark = pytest.mark.clock("skip")


@contextlib.asynccontextmanager
async def speaking(engine="Faulty", hung_us=900 * MS, **options):
    synthesizer = ProcessSynthesizer(
        f"{FAULTY}:{engine}", options, patience=WorkerPatience(hung_us, 100 * MS)
    )
    try:
        await synthesizer.warm()
        yield synthesizer
    finally:
        await synthesizer.aclose()


def frequency(sound):
    crossings = ((sound[:-1] < 0) & (sound[1:] >= 0)).sum()
    return crossings * audio.RATE / sound.size


def open_files():
    return len(list(Path("/proc/self/fd").iterdir()))


def exists(path):
    return Path(path).exists()


async def test_a_worker_keeps_the_promises_of_a_synthesizer():
    await check_synthesizer(ProcessSynthesizer(f"{FAULTY}:Faulty"))


async def test_a_render_tells_what_it_took_of_its_workers_cpu():
    """Of both pieces, where a text is too long for one render."""
    async with speaking() as synthesizer:
        assert (await synthesizer.render(PLAIN)).cpu_us > 0
        sounds = iter([7, 5])
        ask = synthesizer._attempt

        async def counted(*given):
            return (await ask(*given))._replace(cpu_us=next(sounds))

        synthesizer._attempt = counted
        assert (await synthesizer.render(" ".join([PLAIN] * 6))).cpu_us == 7 + 5


async def test_a_hung_engine_costs_its_turn_half_of_what_is_left_and_no_other_turn_anything(tmp_path):
    """TTS-01: the second call never returns; each turn still sounds by 800 ms and the loop runs on."""
    ticks = []

    async def tick():
        while True:
            ticks.append(clock.now())
            await clock.sleep(10 * MS)

    async with speaking(marks=str(tmp_path)) as synthesizer, asyncio.TaskGroup() as crew:
        ticker = crew.create_task(tick())
        for text in ("The first turn is fine.", "Now please hang.", "The third turn is fine."):
            speech = await synthesizer.render(text, Budget.of(800 * MS))
            assert speech.cost_us < 800 * MS
            assert speech.text == text
        ticker.cancel()
        assert synthesizer.replaced == 1
    assert max(b - a for a, b in itertools.pairwise(ticks)) < 300 * MS


@pytest.mark.quiet
async def test_an_engine_that_always_hangs_is_given_up_within_two_seconds():
    """TTS-01: no render lasts longer than 2 s."""
    async with speaking() as synthesizer:
        began = clock.now()
        with pytest.raises(TtsError, match="in time"):
            await synthesizer.render("This will hang.")
        assert clock.now() - began <= 2 * SECOND + 50 * MS
        assert (await synthesizer.render(PLAIN, Budget.of(10 * SECOND))).samples.size


async def test_a_budget_ends_the_wait_and_spares_a_worker_that_was_given_no_time():
    async with speaking() as synthesizer:
        with pytest.raises(TtsError, match="in time"):
            await synthesizer.render("This will hang.", Budget.of(40 * MS))
        assert synthesizer.replaced == 0


async def test_calls_that_overlap_are_served_one_after_another():
    """TTS-02: A and 50 ms later B, B given up midway, then C: A and C sound, nothing else is raised."""
    async with speaking() as synthesizer, asyncio.TaskGroup() as crew:
        first = crew.create_task(synthesizer.render("This is the text A, the first of them."))
        await clock.sleep(50 * MS)
        second = crew.create_task(synthesizer.render("This is the text B, hang on to it.", Budget.of(SECOND)))
        await clock.sleep(20 * MS)
        second.cancel()
        third = await synthesizer.render("And C.", Budget.of(700 * MS))
    assert (await first).text.startswith("This is the text A")
    assert third.text == "And C."


async def test_a_cancelled_render_never_answers_for_the_next():
    async with speaking() as synthesizer:
        for _ in range(5):
            task = asyncio.ensure_future(synthesizer.render(PLAIN * 3))
            await clock.sleep(1 * MS)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            speech = await synthesizer.render("Yes.")
            assert audio.us(speech.samples.size) < 600 * MS
        assert synthesizer.replaced == 0


async def test_files_that_are_empty_late_or_only_a_header_are_never_taken_for_speech(tmp_path):
    """TTS-04: of 20 lines one file has no bytes, one only a header, one comes 300 ms late."""
    odd = {7: "has zero bytes", 11: "is a header alone", 15: "comes late"}
    async with speaking("Careless", marks=str(tmp_path)) as synthesizer:
        for line in range(1, 21):
            speech = await synthesizer.render(f"This line {odd.get(line, 'is as it should be')}.", None)
            assert audio.us(speech.samples.size) > 500 * MS
        assert synthesizer.replaced == 2


@pytest.mark.parametrize("fault", ["exit", "raise", "empty", "silent", "short", "noise"])
async def test_a_fault_is_made_good_by_the_spare(fault, tmp_path):
    """TTS-04: what cannot be the text is rendered again."""
    async with speaking(marks=str(tmp_path)) as synthesizer:
        speech = await synthesizer.render(f"Here comes {fault} as a fault.")
        assert abs(frequency(speech.samples) - 440) < 20
        assert synthesizer.replaced == 1


@pytest.mark.parametrize("fault", ["exit", "raise", "empty", "silent", "short", "noise"])
async def test_a_fault_that_comes_twice_is_an_error_and_the_voice_lives_on(fault):
    """TTS-04: no empty audio is accepted."""
    async with speaking() as synthesizer:
        with pytest.raises(TtsError):
            await synthesizer.render(f"Here comes {fault} as a fault.", Budget.of(10 * SECOND))
        assert (await synthesizer.render(PLAIN, Budget.of(10 * SECOND))).samples.size


@pytest.mark.parametrize("text", ["", "  \n", ".", "…", "—"])
async def test_text_without_a_word_never_reaches_the_engine(text):
    """TTS-05: it would crash the engine; here it is refused before."""
    synthesizer = ProcessSynthesizer(f"{FAULTY}:Faulty")
    with pytest.raises(TtsError, match="nothing to speak"):
        await synthesizer.render(text)
    assert synthesizer._live is None
    await synthesizer.aclose()


async def test_a_missing_engine_says_what_to_type():
    """TTS-06: at the start, in one line."""
    synthesizer = ProcessSynthesizer(f"{FAULTY}:Absent")
    with pytest.raises(MissingEngine, match="it is not here; pip install it"):
        await synthesizer.warm()
    await synthesizer.aclose()


async def test_an_engine_that_cannot_start_says_why():
    """TTS-06: the reason reaches the user, not a broken pipe."""
    synthesizer = ProcessSynthesizer(f"{FAULTY}:Unready")
    with pytest.raises(TtsError, match="ValueError: the model is broken"):
        await synthesizer.warm()
    with pytest.raises(TtsError):
        await synthesizer.render(PLAIN)
    await synthesizer.aclose()


async def test_a_sound_made_at_another_rate_than_it_says_is_doubted(caplog):
    """TTS-12: 24,000 samples a second that say 16,000, and the reverse; a true rate is not doubted."""
    for rate, says, doubtful in ((24_000, 16_000, True), (16_000, 24_000, True), (24_000, 24_000, False)):
        caplog.clear()
        async with speaking(rate=rate, says=says) as synthesizer:
            speech = [await synthesizer.render(PLAIN) for _ in range(3)][-1]
        assert ("is its rate what it says?" in speech.doubt) is doubtful
        assert ("is its rate what it says?" in caplog.text) is doubtful
        if not doubtful:
            assert abs(frequency(speech.samples) - 440) < 4.4


async def test_a_doubt_now_and_then_is_no_warning(caplog):
    """Three in a row are: then it is the rate, and not the text."""
    odd = "This is said with a drawl, as some of us do."
    async with speaking() as synthesizer:
        for text in (odd, odd, PLAIN, odd):
            speech = await synthesizer.render(text)
            assert bool(speech.doubt) is (text == odd)
    assert not caplog.records


async def test_a_worker_killed_while_it_renders_is_replaced_within_the_turn(tmp_path):
    async with speaking(marks=str(tmp_path)) as synthesizer, asyncio.TaskGroup() as crew:
        render = crew.create_task(synthesizer.render("Do hang here.", Budget.of(2 * SECOND)))
        while not (tmp_path / "hang").exists():
            await clock.sleep(5 * MS)
        os.kill(synthesizer._live.child.pid, signal.SIGKILL)
        killed = clock.now()
        assert (await render).samples.size
        assert clock.now() - killed < 800 * MS


async def test_a_worker_killed_while_idle_costs_no_turn():
    async with speaking() as synthesizer:
        os.kill(synthesizer._live.child.pid, signal.SIGKILL)
        assert (await synthesizer.render(PLAIN)).samples.size
        assert synthesizer.replaced == 1


async def test_a_queue_has_an_end():
    async with speaking() as synthesizer:
        renders = [synthesizer.render(PLAIN, Budget.of(20 * SECOND)) for _ in range(QUEUE + 2)]
        results = await asyncio.gather(*renders, return_exceptions=True)
        assert (await synthesizer.render("There is room again.")).samples.size
    assert [type(result) for result in results[QUEUE:]] == [TtsError, TtsError]
    assert not any(isinstance(result, Exception) for result in results[:QUEUE])


@pytest.mark.skipif(sys.platform != "linux", reason="counts open files in /proc")
async def test_nothing_is_left_after_closing(tmp_path):
    """No process, no zombie, no thread, no open file, no scratch folder, after faults of every kind."""
    await clock.offload(lambda: None)  # the loop's own thread pool is not ours to count
    threads, files = threading.active_count(), open_files()
    async with speaking(marks=str(tmp_path), hung_us=300 * MS) as synthesizer:
        pids = [seat.child.pid for seat in (synthesizer._live, synthesizer._spare)]
        scratch = synthesizer._live.child._scratch.name
        for fault in ("exit", "hang", "empty"):
            await synthesizer.render(f"One {fault} more.", Budget.of(5 * SECOND))
            pids.append(synthesizer._live.child.pid)
        pending = asyncio.ensure_future(synthesizer.render("One last noise."))
        await clock.sleep(0)
    with pytest.raises(TtsError):
        await pending
    assert not any(exists(f"/proc/{pid}") for pid in pids)
    assert (threading.active_count(), open_files()) == (threads, files)
    assert not exists(scratch)
    with pytest.raises(TtsError, match="closed"):
        await synthesizer.render(PLAIN)


def test_a_worker_dies_with_its_parent_even_while_its_engine_hangs():
    worker = subprocess.Popen(  # noqa: S603 - our own interpreter and module
        [sys.executable, "-m", "turnbudget.voice.tts.worker", f"{FAULTY}:Faulty"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert engine.read_message(worker.stdout)[0] == {"kind": "ready"}
    engine.write_message(worker.stdin, {"id": 1, "text": "hang"})
    worker.stdin.close()
    assert worker.wait(10) == 0
    worker.stdout.close()


@pytest.mark.clock("virtual")
async def test_virtual_time_has_no_processes():
    synthesizer = ProcessSynthesizer(f"{FAULTY}:Faulty")
    with pytest.raises(Exception, match="virtual time has none"):
        await synthesizer.warm()
    await synthesizer.aclose()
