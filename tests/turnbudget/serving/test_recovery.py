"""What a worker that died left behind gets its records, once, from whoever comes first."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import struct

import msgspec
import numpy as np
import pytest
import soundfile
from faults import records
from floors import SAYS, call, serving, until
from surroundings import INFO, ROWS, SECRET, TOKEN, Scripted, began, record, wav

from turnbudget.serving.after.aftercall import AfterCall
from turnbudget.serving.after.webhooks import Webhooks
from turnbudget.serving.config import WebhookTable
from turnbudget.serving.ending import EndReason, reason
from turnbudget.serving.events import CallBegan
from turnbudget.serving.journal import BEGUN, CALLS, HOLDER, Journal
from turnbudget.serving.recovery import DIED, DeadFolder, Recovery, mend
from turnbudget.voice.database import Hold
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import SECOND
from turnbudget.voice.time.crew import Crew

HOOK = WebhookTable(url="https://crm.example.com/", secret=SECRET)
SOUND = [[1, -1]] * 16_000


async def dead(folder, *, rows=ROWS, ended=(), calls=("c1",)):
    """A folder whose worker died when *rows* had come to disk, and the records of those that had *ended*."""
    journal = Journal(folder)
    for name in calls:
        journal(CallBegan(name, "bank", "twilio", INFO, 0))
    for one in rows:
        journal.row(one)
    for one in ended:
        journal.record(one)
    await journal.flush()
    journal.close()
    journal.writer.close()
    return folder


async def recovered(out):
    """What tenants are told when a worker comes that keeps its runs in *out*; how many calls it closed."""
    post = Scripted(200)
    async with Crew() as crew:
        webhooks = Webhooks(out / "webhooks", {"bank": HOOK}.get, post)
        crew.create_task(webhooks.run(), name="webhooks")
        recovery = Recovery(out, lambda folder: AfterCall(folder, crew, webhooks))
        await recovery.run()
        await clock.sleep(5 * SECOND)
    return [json.loads(body) for _, _, body in post.sent], recovery.closed


def unclosed(path):
    """Make the WAV at *path* what a killed writer leaves: no sizes, and half a frame at its end."""
    content = bytearray(path.read_bytes())
    content[4:8], content[40:44] = struct.pack("<I", 8), bytes(4)
    path.write_bytes(content + b"\x01\x02\x03")


async def test_a_call_that_its_worker_took_with_it_gets_its_record_its_vcon_and_its_webhook(tmp_path):
    folder = await dead(tmp_path / "serve")
    told, closed = await recovered(tmp_path)
    [left] = records(folder)
    assert (left.call, left.source, left.ended, left.turns) == ("c1", "twilio", DIED, len(ROWS))
    assert (left.audio, left.length_us) == ("", ROWS[-1].speech_ended_call_us + ROWS[-1].closed_us)
    [event] = told
    data = event["data"]
    assert (event["type"], data["reason"], data["disposition"]) == ("call.ended", "broken-off", "failed")
    assert (data["from"], data["to"]) == (INFO.caller, INFO.called)
    assert json.loads((folder / "c1.vcon").read_bytes()) == data["vcon"]
    assert closed == 1
    assert not (folder / BEGUN).exists()


def test_a_worker_that_died_broke_the_call_off():
    assert reason(DIED) is EndReason.BROKEN_OFF


async def test_only_calls_without_a_record_get_one(tmp_path):
    folder = await dead(tmp_path / "serve", ended=[record()], calls=("c1", "c2"))
    await recovered(tmp_path)
    assert [(one.call, one.ended, one.turns) for one in records(folder)] == [
        ("c1", "the caller hung up", 2),
        ("c2", DIED, 0),
    ]


async def test_sound_without_sizes_is_mended_and_named(tmp_path):
    folder = await dead(tmp_path / "serve")
    before = wav(folder / "c1.wav", seconds=20).read_bytes()
    unclosed(folder / "c1.wav")
    await recovered(tmp_path)
    [left] = records(folder)
    assert (left.audio, left.length_us) == ("c1.wav", 20 * SECOND)
    assert (folder / "c1.wav").read_bytes() == before


def test_sound_that_never_came_to_disk_is_none(tmp_path):
    assert mend(tmp_path / "nowhere.wav") == 0
    for content in (b"", b"RIFF"):
        (tmp_path / "c1.wav").write_bytes(content)
        assert mend(tmp_path / "c1.wav") == 0


def test_a_writer_that_is_killed_leaves_what_is_mended_here(tmp_path):
    """As libsndfile leaves it: the header says that there is no sound."""
    place = tmp_path / "c1.wav"
    with soundfile.SoundFile(place, "w", samplerate=16_000, channels=2, subtype="PCM_16") as file:
        file.write(np.array(SOUND, np.int16))
        killed = place.read_bytes()
    assert struct.unpack_from("<I", killed, 40) == (0,)
    place.write_bytes(killed)
    assert mend(place) == SECOND
    assert soundfile.read(place, dtype="int16")[0].tolist() == SOUND


async def test_lines_cut_in_mid_writing_cost_themselves(tmp_path):
    folder = await dead(tmp_path / "serve", ended=[record()], calls=("c1", "c2"))
    line = msgspec.json.encode(msgspec.structs.replace(ROWS[0], call="c2"))
    with (folder / "turns.jsonl").open("ab") as file:
        file.write(line + b"\n" + line[:50])
    for name in (CALLS, BEGUN):
        with (folder / name).open("ab") as file:
            file.write(b'{"call":"c2","te')
    await recovered(tmp_path)
    assert [(one.call, one.turns) for one in records(folder)] == [("c1", 2), ("c2", 1)]


async def test_of_two_that_come_at_once_one_closes(tmp_path):
    folder = await dead(tmp_path / "serve")
    first = DeadFolder(folder, lambda _: ())
    assert first.take()
    assert await recovered(tmp_path) == ([], 0)
    assert len(first.calls()) == 1
    first.close()
    assert (await recovered(tmp_path))[1] == len(records(folder)) == 1


@pytest.mark.clock("wall")
async def test_a_hundred_calls_are_closed_once_by_many_who_come_at_once(tmp_path):
    calls = [f"c{number}" for number in range(100)]
    folder = await dead(tmp_path / "serve", calls=calls)
    async with Crew() as crew:
        comers = [Recovery(tmp_path, lambda folder: AfterCall(folder, crew)) for _ in range(8)]
        await asyncio.gather(*[comer.run() for comer in comers])
    assert sum(comer.closed for comer in comers) == len(calls)
    assert [one.call for one in records(folder)] == calls


async def test_the_calls_of_a_worker_that_lives_are_its_own(tmp_path):
    journal = Journal(tmp_path / "serve")
    journal(began())
    await journal.flush()
    told, closed = await recovered(tmp_path)
    assert (told, closed, records(journal.folder)) == ([], 0, [])
    journal.close()
    journal.writer.close()


async def test_a_folder_that_is_closed_is_not_closed_again(tmp_path):
    folder = await dead(tmp_path / "serve")
    await recovered(tmp_path)
    assert await recovered(tmp_path) == ([], 0)
    assert len(records(folder)) == 1


async def test_what_cannot_be_written_is_left_to_the_next_who_comes(tmp_path):
    folder = await dead(tmp_path / "serve")
    (folder / CALLS).symlink_to("/dev/full")
    assert (await recovered(tmp_path))[1] == 0
    (folder / CALLS).unlink()
    assert (await recovered(tmp_path))[1] == 1
    assert len(records(folder)) == 1


async def test_what_one_folder_raises_costs_no_other(tmp_path, monkeypatch):
    folders = [await dead(tmp_path / name) for name in ("serve", "serve-2")]
    settle = DeadFolder.settle

    def fails(self):
        if self._folder == folders[0]:
            raise OSError(5, "no such luck")
        settle(self)

    monkeypatch.setattr(DeadFolder, "settle", fails)
    await recovered(tmp_path)
    assert [(folder / BEGUN).exists() for folder in folders] == [True, False]


async def test_no_token_of_the_line_is_written(tmp_path):
    folder = await dead(tmp_path / "serve")
    assert TOKEN not in (folder / BEGUN).read_text()


async def test_half_a_character_from_a_carrier_costs_no_call(tmp_path):
    journal = Journal(tmp_path / "serve")
    journal(CallBegan("c1", "bank", "twilio", dataclasses.replace(INFO, caller="\ud800"), 0))
    await journal.flush()
    journal.close()
    journal.writer.close()
    assert "\ufffd" in (journal.folder / BEGUN).read_text()


@pytest.mark.clock("wall")
async def test_a_server_closes_what_is_left_and_leaves_nothing_itself(tmp_path):
    folder = await dead(tmp_path / "runs" / "serve-9", calls=("c1", "c2"))
    async with serving(tmp_path) as (server, _):
        own = server.floor.journal.folder
        await call(server, "/twilio/ws", says=SAYS[:1])
        assert (own / BEGUN).exists()
        await until(lambda: not (folder / BEGUN).exists())
    assert [one.call for one in records(folder)] == ["c1", "c2"]
    assert not (own / BEGUN).exists()
    with contextlib.closing(Hold(own / HOLDER)) as hold:
        assert hold.take()
