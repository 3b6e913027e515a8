"""When a call is over its vCon lies beside its recording, and its tenant's server hears of it."""

from __future__ import annotations

import json
from dataclasses import replace

import msgspec
from surroundings import ROWS, SECRET, TOKEN, Scripted, began, ended, wav

from turnbudget.recorded.tracks import Reading
from turnbudget.recorded.vcon import open_vcon
from turnbudget.runs.recording import Pause
from turnbudget.runs.records import DecisionRow
from turnbudget.serving.after import aftercall
from turnbudget.serving.after.aftercall import AfterCall
from turnbudget.serving.after.webhooks import Webhooks
from turnbudget.serving.config import WebhookTable
from turnbudget.serving.ending import DispositionRule
from turnbudget.voice.hearing.vad import Energy
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import SECOND
from turnbudget.voice.time.crew import Crew

HOOK = WebhookTable(url="https://crm.example.com/", secret=SECRET)


async def closed(folder, *calls, **how):
    """What is told of *calls* that begin and end, and the watcher."""
    post = Scripted(200)
    async with Crew() as crew:
        webhooks = Webhooks(folder.parent / "hooks", {"bank": HOOK}.get, post)
        crew.create_task(webhooks.run(), name="webhooks")
        after = AfterCall(folder, crew, webhooks, **how)
        for call in calls:
            after(began())
            after(call)
        await clock.sleep(5 * SECOND)
    return [json.loads(body) for _, _, body in post.sent], after


async def test_a_recorded_call_can_be_read_back(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    wav(folder / "c1.wav")
    told, _ = await closed(folder, ended(sound="c1.wav", pauses=(Pause(1, 2, "card"),)))
    assert len(open_vcon(folder / "c1.vcon", Reading(vad=Energy)).caller_speech) == 2
    written = json.loads((folder / "c1.vcon").read_bytes())
    [event] = told
    assert event["data"]["vcon"] == written
    assert written["dialog"][0]["content_hash"].startswith("sha512-")
    report = json.loads(written["analysis"][-1]["body"])
    assert report["recording"] == {
        "consent": True,
        "pauses": [{"began_us": 1, "ended_us": 2, "because": "card"}],
    }


async def test_the_tenants_server_hears_how_it_ended(tmp_path):
    """TEL-18: the reason is recorded."""
    told, _ = await closed(
        tmp_path, ended(ended="we said goodbye"), rules=lambda _: (DispositionRule("sold"),)
    )
    [event] = told
    assert event["type"] == "call.ended"
    data = event["data"]
    assert (data["call"], data["reason"], data["disposition"]) == ("c1", "agent-ended", "sold")
    assert (data["from"], data["turns"], data["length_us"]) == ("+15550100199", 2, 16 * SECOND)


async def test_a_transfer_is_told_of_its_own_with_a_summary(tmp_path):
    told, _ = await closed(tmp_path, ended(transfer="+15550100777"))
    assert [event["type"] for event in told] == ["call.transferred", "call.ended"]
    given = told[0]["data"]["handover"]
    assert (given["target"], given["slots"]) == ("+15550100777", {"account": "savings"})
    assert told[1]["data"]["reason"] == "transferred"


def named(call):
    """The end of *call*."""
    end = ended()
    return replace(end, record=msgspec.structs.replace(end.record, call=call))


async def test_a_vcon_that_the_disk_refused_is_there_once_there_is_room(tmp_path):
    """The webhook goes at once; the vCon is tried again behind the next call, and at the end."""
    folder = tmp_path / "run"
    told, after = await closed(folder, named("c1"))
    assert len(told) == 1
    folder.mkdir()
    await after.finished(clock.now() + SECOND)
    assert json.loads((folder / "c1.vcon").read_bytes()) == told[0]["data"]["vcon"]
    folder.rename(tmp_path / "away")
    told, after = await closed(folder, named("c2"), named("c3"))
    folder.mkdir()
    await after.finish(after._closed(named("c4")))
    assert sorted(place.name for place in folder.iterdir()) == ["c2.vcon", "c3.vcon", "c4.vcon"]


async def test_a_disk_that_stays_full_costs_the_oldest_vcons(tmp_path, monkeypatch):
    monkeypatch.setattr(aftercall, "WAITING", 2)
    folder = tmp_path / "run"
    _, after = await closed(folder, *(named(f"c{number}") for number in range(4)))
    folder.mkdir()
    await after.finished(clock.now() + SECOND)
    assert (sorted(place.name for place in folder.iterdir()), after.lost) == (["c2.vcon", "c3.vcon"], 2)


async def test_a_call_of_hours_is_told_without_its_rows_and_is_told(tmp_path):
    """Its message was larger than one that is read, and was never sent."""
    texts = tuple(DecisionRow(at_us=0, took="council", because='"seat" said so. ' * 4) for _ in range(20))
    rows = [msgspec.structs.replace(ROWS[0], turn=number, decisions=texts) for number in range(2_000)]
    told, _ = await closed(tmp_path, ended(rows))
    [event] = told
    assert event["data"]["shortened"]
    *others, report = event["data"]["vcon"]["analysis"]
    assert "rows" not in json.loads(report["body"])
    assert len(json.loads(others[0]["body"])["lines"]) == 2 * len(rows)
    kept = json.loads((tmp_path / "c1.vcon").read_bytes())
    assert len(json.loads(kept["analysis"][-1]["body"])["rows"]) == len(rows)


async def test_a_recording_that_is_gone_costs_only_itself(tmp_path):
    told, _ = await closed(tmp_path, ended(sound="c1.wav"))
    [event] = told
    assert {one["type"] for one in event["data"]["vcon"]["dialog"]} == {"text"}


async def test_no_token_of_the_line_is_written(tmp_path):
    told, _ = await closed(tmp_path, ended())
    assert TOKEN not in json.dumps(told) + (tmp_path / "c1.vcon").read_text()
