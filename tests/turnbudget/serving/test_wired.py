"""What surrounds a call, on a real server: who calls is known, it is recorded, closed, told of, sent on."""

from __future__ import annotations

import json
import logging
from uuid import UUID

import aiohttp
import pytest
import soundfile
from floors import QUICK, SAYS, ask, call, serving, until
from hall import Table, opener
from signed import CALL, let_in, upgrade, webhook
from surroundings import SECRET, TOKEN, listening
from test_workers import free_port

from turnbudget.serving.after.webhooks import is_signed, now_s
from turnbudget.serving.config import load
from turnbudget.serving.events import CallEnded, TurnEnded
from turnbudget.serving.watch.watching import Watching
from turnbudget.settings.config import dump
from turnbudget.voice.call.responder import Reply
from turnbudget.voice.errors import ConfigError
from turnbudget.voice.lines.far.audiosocket import FarAudioSocket
from turnbudget.voice.time import clock

pytestmark = pytest.mark.clock("wall")
KNOWN = "6f9619ff-8b86-d011-b42d-00cf4fc964ff"
TWILIO = "0123456789abcdef0123456789abcdef"
OPERATOR = "operator-token-1234"
NAME = "Rumpelstilz"
NUMBER = "+15550100"


def floor_of(hook, crm, more=""):
    return f"""
[serve]
public = "https://calls.example.com"
twilio_token = "{TWILIO}"
operator_token = "{OPERATOR}"
[tenants.acme]
called = ["+1 555 0199"]
config = "agent.toml"
records = true
webhook = {{ url = "{hook}", secret = "env:HOOK_SECRET" }}
crm = {{ url = "{crm}?of={{caller}}", token = "env:CRM_TOKEN" }}
dispositions = [{{ name = "asked for money", heard = "balance" }}]
{more}
"""


@pytest.fixture(autouse=True)
def secrets(monkeypatch):
    monkeypatch.setenv("HOOK_SECRET", SECRET)
    monkeypatch.setenv("CRM_TOKEN", TOKEN)


async def test_a_call_is_recorded_closed_and_told_of_and_who_calls_is_known(tmp_path, caplog):
    """Nothing of its caller and no credential is in the log, whatever its level, nor in the metrics."""
    caplog.set_level(logging.DEBUG)
    table = Table({SAYS[0]: f"Yes, {NAME}."})

    def mounts(server, _):
        return [Watching(server.stop).mount]

    async with (
        listening(200) as (hook, told),
        listening(f'{{"name": "{NAME}"}}', path="/crm") as (crm, asked),
        serving(tmp_path, floor=floor_of(hook, crm), opener=opener(table), mounts=mounts) as (
            server,
            happenings,
        ),
    ):
        path, far = await let_in(server)
        await call(server, path, far, SAYS[:1], headers=upgrade(path))
        await until(lambda: told)
        bearer = {"Authorization": f"Bearer {OPERATOR}"}
        assert (await ask(server, "GET", "/metrics"))[0] == 401
        status, metrics = await ask(server, "GET", "/metrics", headers=bearer)
        assert status == 200
        folder = server.floor.journal.folder
    assert table.facts == {"name": NAME}
    assert asked[0][0].headers["authorization"] == f"Bearer {TOKEN}"
    [end] = [one for one in happenings if isinstance(one, CallEnded)]
    sound, _ = soundfile.read(folder / f"{end.call}.wav")
    assert sound.shape[1] == 2
    written = json.loads((folder / f"{end.call}.vcon").read_bytes())
    [(request, body)] = told
    assert is_signed(SECRET, request.headers, body, now_s())
    event = json.loads(body)
    assert (event["type"], event["data"]["disposition"]) == ("call.ended", "asked for money")
    assert event["data"]["vcon"] == written
    assert (tmp_path / "runs" / "webhooks").is_dir()
    token = path.rpartition("/")[2]
    ours = "\n".join(one.getMessage() for one in caplog.records if not one.name.startswith("asyncio"))
    assert 'turnbudget_calls_ended_total{reason="caller-ended",tenant="acme"} 1.0' in metrics
    for private in (SECRET, TOKEN, TWILIO, OPERATOR, token, NAME, NUMBER, "5550199", SAYS[0], CALL):
        assert private not in ours, private
        assert private not in metrics, private
    assert end.call not in metrics


async def test_a_caller_who_is_sent_on_over_twilio_and_over_the_audiosocket(tmp_path):
    table = Table({SAYS[0]: Reply("To a person.", "table", transfer="+15550123")})
    async with (
        listening(200) as (hook, told),
        listening("{}", path="/crm") as (crm, _),
        serving(
            tmp_path,
            floor=floor_of(hook, crm, 'tokens = ["acme-token-12345678"]'),
            opener=opener(table),
        ) as (server, happenings),
    ):
        path, far = await let_in(server)
        heard = await call(server, path, far, SAYS[:1], headers=upgrade(path), hangs_up=False)
        assert heard.closed.startswith("we closed")
        _, document = await webhook(server, {"CallSid": CALL}, path="/twilio/after")
        assert "<Dial><Number>+15550123</Number></Dial>" in document
        _, document = await webhook(server, {"CallSid": "CA0"}, path="/twilio/after")
        assert "Dial" not in document
        assert "<Hangup" in document
        bearer = {"Authorization": "Bearer acme-token-12345678"}
        where = f"/audiosocket/{KNOWN}"
        taken = await ask(server, "PUT", where, json={"caller": "100", "called": "15550199"}, headers=bearer)
        assert taken[0] == 201
        far = FarAudioSocket(UUID(KNOWN).bytes, began_us=clock.now(), transmits_silence=True)
        await call(server, "audiosocket", far, SAYS[:1], hangs_up=False)
        assert (await ask(server, "GET", f"{where}/after"))[0] == 401
        assert await ask(server, "GET", f"{where}/after", headers=bearer) == (200, "+15550123")
        await until(lambda: len(told) >= 4, 10)
    kinds = [json.loads(body)["type"] for _, body in told]
    assert sorted(kinds) == ["call.ended"] * 2 + ["call.transferred"] * 2
    [handed, _] = [json.loads(body) for _, body in told if b"call.transferred" in body]
    assert handed["data"]["handover"]["target"] == "+15550123"
    assert [one.transfer for one in happenings if isinstance(one, CallEnded)] == ["+15550123"] * 2


async def test_a_disk_that_refuses_costs_the_recording_and_no_turn(tmp_path):
    floor = '[tenants.default]\nrecords = true\nconfig = "agent.toml"\n'
    async with serving(tmp_path, floor=floor) as (server, happenings):
        folder = server.floor.journal.folder
        server.floor.watch(lambda one: _block(folder, one))
        heard = await call(server, "/twilio/ws", says=SAYS[:1])
        await until(lambda: any(isinstance(one, CallEnded) for one in happenings))
    assert heard.unanswered == 0
    assert [one.row.outcome for one in happenings if isinstance(one, TurnEnded)][-1] == "answered"
    [end] = [one for one in happenings if isinstance(one, CallEnded)]
    assert end.record.audio == ""
    assert any(note.startswith("recording broken off: cannot be written") for note in end.record.notes)


def _block(folder, event):
    """Put a folder where the call's recording would be."""
    if type(event).__name__ == "CallBegan":
        (folder / f"{event.call}.wav").mkdir()


async def test_each_worker_answers_on_a_port_of_its_own(tmp_path):
    """Of several workers Prometheus asks each, not any."""
    port = free_port()
    async with serving(tmp_path, ops_port=port - 1) as (server, _):
        assert server.listening.ops_port == port
        async with aiohttp.ClientSession() as session:
            for path in ("/healthz", "/readyz"):
                async with session.get(f"http://127.0.0.1:{port}{path}") as response:
                    assert response.status == 200


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('webhook = { url = "http://crm.example.com", secret = "x" }', "https"),
        ('webhook = { url = "https://crm.example.com", secret = "short" }', "24 signs"),
        ('webhook = { url = "https://crm.example.com", secret = "env:SHORT" }', "24 signs"),
        ('webhook = { url = "https://crm.example.com", secret = "env:NOBODY" }', "NOBODY"),
        ('crm = { url = "https://x.example/{caller}", token = "env:NOBODY" }', "NOBODY"),
        ('dispositions = [{ name = "x", said = "(" }]', "pattern"),
        ('dispositions = [{ name = "x", reasons = ["bored"] }]', "bored"),
    ],
)
async def test_a_tenants_servers_and_rules_are_checked_before_anything_opens(
    tmp_path, monkeypatch, text, fault
):
    monkeypatch.setenv("SHORT", "short")
    (tmp_path / "floor.toml").write_text(f"[tenants.a]\n{text}\n")
    with pytest.raises(ConfigError) as told:
        load(tmp_path / "floor.toml")
    assert fault in str(told.value)
    assert "\n" not in str(told.value)


def test_the_secrets_of_a_tenants_servers_stand_in_the_environment(tmp_path):
    (tmp_path / "agent.toml").write_text(dump(QUICK))
    (tmp_path / "floor.toml").write_text(floor_of("https://a.example/", "https://b.example/"))
    table = load(tmp_path / "floor.toml")[0].tenants["acme"]
    assert (table.webhook.secret, table.crm.token) == (SECRET, TOKEN)
    assert table.dispositions[0].name == "asked for money"
