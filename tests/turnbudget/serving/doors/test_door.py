"""Who comes in from outside this machine: a signature, a pass used once, a token; and nobody else."""

from __future__ import annotations

import logging
import os
import signal
from uuid import UUID

import aiohttp
import msgspec
import pytest
from floors import FARS, QUICK, SAYS, ask, call, open_tones, serving, until, url
from signed import ORIGIN, TWILIO, form, let_in, upgrade, webhook

from turnbudget.serving.config import load
from turnbudget.serving.events import CallBegan
from turnbudget.settings.config import SpeculationTable, dump
from turnbudget.voice.errors import ConfigError
from turnbudget.voice.lines.far.audiosocket import FarAudioSocket
from turnbudget.voice.lines.far.twilio import FarCall, FarTwilio
from turnbudget.voice.lines.twilio_webhook import sign
from turnbudget.voice.time import clock
from turnbudget.voice.time.crew import Crew

LIFE_US = 60_000_000

pytestmark = pytest.mark.clock("wall")
ACME = "acme-token-12345678"
OTHER = "other-token-12345678"
OPERATOR = "operator-token-1234"
FLOOR = f"""
[serve]
public = "{ORIGIN}"
twilio_token = "{TWILIO}"
operator_token = "{OPERATOR}"

[tenants.acme]
called = ["+1 555 0199"]
tokens = ["{ACME}"]
config = "agent.toml"

[tenants.other]
called = ["+1 555 0177"]
tokens = ["{OTHER}"]
config = "agent.toml"
lines = ["vonage"]
overflow = "+15550111"
"""


async def refused(server, path, headers=None):
    """The status with which an upgrade is refused."""
    async with aiohttp.ClientSession() as session:
        with pytest.raises(aiohttp.WSServerHandshakeError) as told:
            await session.ws_connect(url(server, path), headers=headers)
    return told.value.status


def began(happenings):
    """The calls that began."""
    return [one for one in happenings if isinstance(one, CallBegan)]


async def test_a_signed_webhook_lets_its_call_in_once_and_no_token_reaches_the_log(tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    async with serving(tmp_path, floor=FLOOR) as (server, happenings):
        path, far = await let_in(server)
        heard = await call(server, path, far, says=(), headers=upgrade(path))
        assert heard.greeted
        assert [(one.tenant, one.info.caller) for one in began(happenings)] == [("acme", "+15550100")]
        assert await refused(server, path, upgrade(path)) == 403, "a pass that was used"
        await call(server, f"/vonage/ws/{OTHER}", FARS["/vonage/ws"](), says=())
        assert await refused(server, "/vonage/ws/not-a-token-at-all", None) == 403
        secrets = (path.rpartition("/")[2], TWILIO, ACME, OTHER, OPERATOR, "not-a-token-at-all")
    assert "refused" in caplog.text
    assert [secret for secret in secrets if secret in caplog.text] == []


async def test_an_unsigned_a_wrongly_signed_and_a_replayed_webhook_are_refused(tmp_path):
    async with serving(tmp_path, floor=FLOOR) as (server, _):
        assert (await webhook(server, form(), token=""))[0] == 403
        assert (await webhook(server, form(), token="f" * 32))[0] == 403
        path, far = await let_in(server)
        assert (await call(server, path, far, says=(), headers=upgrade(path))).greeted
        assert (await webhook(server, form()))[0] == 403, "the call has been"
        tampered = {"X-Twilio-Signature": sign(TWILIO, f"{ORIGIN}/twilio/voice", form().items())}
        fields = form(To="+15550177")
        assert (await ask(server, "POST", "/twilio/voice", data=fields, headers=tampered))[0] == 403


async def test_a_webhook_that_comes_again_is_answered_alike_until_its_call_begins(tmp_path, monkeypatch):
    """Twilio asks again where an answer did not reach it; the call then has one pass and one place."""
    async with serving(tmp_path, floor=FLOOR) as (server, happenings):
        first = await webhook(server, form())
        assert first[0] == 200
        assert await webhook(server, form()) == first
        assert len(server.floor._places) == 1
        path, far = await let_in(server)
        async with Crew() as crew:
            talking = crew.create_task(
                call(server, path, far, says=(), headers=upgrade(path), hangs_up=False), name="caller"
            )
            await until(lambda: began(happenings))
            assert (await webhook(server, form()))[0] == 403, "it is under way"
            far.hang_up()
            await talking
        await until(lambda: not server.floor.calls)
        assert (await webhook(server, form()))[0] == 403, "it is over"
        other = form(CallSid="CA2")
        assert (await webhook(server, other))[0] == 200
        later = clock.now() + LIFE_US + 1
        monkeypatch.setattr(clock, "now", lambda: later)
        assert (await webhook(server, other))[0] == 403, "nobody came in the life of its pass"
        monkeypatch.undo()


async def test_a_public_address_may_end_in_a_slash(tmp_path):
    """What it answers is made of the same address as what it checks."""
    async with serving(tmp_path, floor=FLOOR.replace(ORIGIN, f"{ORIGIN}/")) as (server, _):
        path, far = await let_in(server)
        assert (await call(server, path, far, says=(), headers=upgrade(path))).greeted


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('[serve]\npublic = "calls.example.com"', "https://calls.example.com"),
        ('[serve]\npublic = "HTTPS://calls.example.com"', "https://calls.example.com"),
        ('[serve]\npublic = "https://"', "https://calls.example.com"),
        (f'[serve]\ntwilio_token = "{TWILIO}"', "twilio_token needs serve.public"),
        (f'[tenants.a]\ntwilio_token = "{TWILIO}"', "twilio_token needs serve.public"),
        ('[tenants.a]\ncalled = ["+1 555 0199"]\n[tenants.b]\ncalled = ["15550199"]', "15550199"),
        ('[tenants.a]\ncalled = ["sip:sales@example.com"]', "no digits"),
    ],
)
async def test_what_no_call_could_come_through_is_refused_before_anything_opens(tmp_path, text, fault):
    """Two tenants with one number, however it is written; an address or a token that lets nobody in."""
    (tmp_path / "floor.toml").write_text(f"{text}\n")
    with pytest.raises(ConfigError) as told:
        load(tmp_path / "floor.toml")
    assert fault in str(told.value)
    assert "\n" not in str(told.value)


async def test_a_call_for_nobody_is_rejected_and_one_for_another_line_overflows(tmp_path):
    async with serving(tmp_path, floor=FLOOR) as (server, _):
        _, nobody = await webhook(server, form(To="+15559999"))
        assert '<Reject reason="rejected"' in nobody
        _, overflow = await webhook(server, form(To="+15550177"))
        assert "<Number>+15550111</Number>" in overflow


async def test_a_stranger_with_a_made_up_call_gets_no_socket(tmp_path):
    """TEL-07: no signature, a made-up call, a start that looks right."""
    async with serving(tmp_path, floor=FLOOR) as (server, happenings):
        assert await refused(server, "/twilio/ws") == 403
        path, _ = await let_in(server)
        assert await refused(server, path) == 403, "a pass, and no signature"
        made_up, far = await let_in(server, CallSid="CA0000")
        heard = await call(server, made_up, far, says=(), headers=upgrade(made_up))
        assert not heard.greeted
        assert began(happenings) == []


async def test_a_token_in_the_parameters_of_the_start_is_read(tmp_path):
    """TEL-06: carriers strip queries; a wrong or missing token closes before anything is spent."""
    async with serving(tmp_path, floor=FLOOR) as (server, happenings):
        for parameters in ({}, {"token": "wrong-token-12345678"}, {"token": OTHER, "tenant": "acme"}):
            far = FarTwilio(began_us=clock.now(), call=FarCall(parameters=parameters))
            assert not (await call(server, "/twilio/ws", far, says=(), headers=upgrade("/twilio/ws"))).greeted
        assert began(happenings) == []
        far = FarTwilio(began_us=clock.now(), call=FarCall(parameters={"token": ACME}))
        assert (await call(server, "/twilio/ws", far, says=(), headers=upgrade("/twilio/ws"))).greeted
        assert [one.tenant for one in began(happenings)] == ["acme"]


async def test_asterisk_may_send_its_token_in_the_query(tmp_path):
    async with serving(tmp_path, floor=FLOOR) as (server, happenings):
        assert not (await call(server, "/asterisk/ws", says=())).greeted
        far = FARS["/asterisk/ws"]()
        assert (await call(server, f"/asterisk/ws?token={ACME}", far, says=())).greeted
        assert len(began(happenings)) == 1


async def test_an_audiosocket_is_taken_where_it_was_told_of_beforehand(tmp_path):
    async with serving(tmp_path, floor=FLOOR) as (server, happenings):
        known = "6f9619ff-8b86-d011-b42d-00cf4fc964ff"
        told = {"caller": "100", "called": "+15550199"}
        assert (await ask(server, "PUT", f"/audiosocket/{known}", json=told))[0] == 401
        assert (await ask(server, "PUT", "/audiosocket/7", json=told, params={"token": ACME}))[0] == 400
        foreign = {**told, "tenant": "other"}
        path = f"/audiosocket/{known}"
        assert (await ask(server, "PUT", path, json=foreign, params={"token": ACME}))[0] == 404
        bearer = {"Authorization": f"Bearer {ACME}"}
        assert (await ask(server, "PUT", path, json=told, headers=bearer))[0] == 201
        assert (await ask(server, "PUT", path, json=told, headers=bearer))[0] == 409
        assert server.floor.keeps(f"uuid {known}"), "told twice, and its place was given up"
        far = FarAudioSocket(UUID(known).bytes, began_us=clock.now())
        assert (await call(server, "audiosocket", far, says=())).greeted
        (one,) = began(happenings)
        assert (one.tenant, one.info.caller, one.info.called) == ("acme", "100", "+15550199")


async def test_only_the_operator_reloads_and_a_broken_file_changes_nothing(tmp_path):
    async with serving(tmp_path, floor=FLOOR) as (server, _):
        bearer = {"Authorization": f"Bearer {OPERATOR}"}
        assert (await ask(server, "POST", "/reload"))[0] == 401
        assert (await ask(server, "POST", "/reload", headers={"Authorization": f"Bearer {ACME}"}))[0] == 401
        before = server.floor.door.tenants
        (tmp_path / "floor.toml").write_text("[tenants.acme]\ncolour = 'red'\n")
        status, text = await ask(server, "POST", "/reload", headers=bearer)
        assert status == 409
        assert "colour" in text
        assert server.floor.door.tenants is before
        (tmp_path / "floor.toml").write_text(FLOOR.replace("acme", "newer"))
        assert (await ask(server, "POST", "/reload", headers=bearer)) == (200, "2 tenants\n")
        assert server.floor.door.tenants.named("newer")


async def test_who_listens_to_the_world_asks_for_tokens_whatever_the_settings_say_later(tmp_path):
    """The address that is listened on is the one of the start, so a new one opens no door."""
    floor = '[serve]\nhost = "0.0.0.0"\naudiosocket_host = "0.0.0.0"\n'
    async with serving(tmp_path, floor=floor) as (server, _):
        assert (await ask(server, "POST", "/reload"))[0] == 401
        (tmp_path / "floor.toml").write_text("[serve]\nmost_calls = 7\n")
        told = await server.reload()
        assert (await ask(server, "POST", "/reload"))[0] == 401
        assert told == "1 tenants; for serve.host, serve.audiosocket_host start again"
        assert not server.floor.serve.local_audiosocket
        assert server.floor.serve.most_calls == 7


@pytest.mark.parametrize("fault", [ConfigError("no key"), RuntimeError("out of memory")], ids=repr)
async def test_settings_that_cannot_be_opened_end_no_call_whatever_is_raised(tmp_path, caplog, fault):
    """SIGHUP comes from outside, and nobody waits for what comes of it."""

    async def opener(config):
        if config != QUICK:
            raise fault
        return await open_tones(config)

    async with serving(tmp_path, opener=opener) as (server, _), Crew() as crew:
        crew.create_task(server.follow_signals(), name="signals")
        talking = crew.create_task(call(server, "/twilio/ws", says=SAYS[:1]), name="caller")
        await until(lambda: server.floor.calls)
        (tmp_path / "agent.toml").write_text(dump(QUICK).replace('"Hi."', '"Good day."'))
        os.kill(os.getpid(), signal.SIGHUP)
        await until(lambda: "settings not taken" in caplog.text)
        assert str(fault) in caplog.text
        heard = await talking
        assert (len(heard.waits_us), heard.unanswered) == (1, 0)


async def test_a_call_keeps_the_settings_it_began_with(tmp_path):
    async with serving(tmp_path) as (server, _):
        async with Crew() as crew:
            talking = crew.create_task(call(server, "/twilio/ws", says=(), hangs_up=False), name="caller")
            await until(lambda: server.floor.calls)
            (running,) = server.floor.calls.values()
            engines = running.tenant.engines
            (tmp_path / "agent.toml").write_text(dump(QUICK).replace('"Hi."', '"Good day."'))
            await server.reload()
            assert server.floor.door.tenants.usual.engines is not engines
            assert (engines.left, engines.calls, list(server.floor.calls)) == (True, 1, [running.name])
            running.end("enough")
            await talking
        await until(lambda: not engines.left)


async def test_a_reply_bank_that_was_mined_again_is_read_with_the_settings(tmp_path):
    bank = tmp_path / "bank.json"
    bank.write_text("{}")
    config = msgspec.structs.replace(QUICK, speculation=SpeculationTable(bank=str(bank)))

    async def opener(config):
        return await open_tones(msgspec.structs.replace(config, speculation=QUICK.speculation))

    async with serving(tmp_path, opener=opener, config=config) as (server, _):
        first = server.floor.door.tenants.usual.engines
        await server.reload()
        assert server.floor.door.tenants.usual.engines is first
        os.utime(bank, ns=(0, first.bank_ns + 1))
        await server.reload()
        assert server.floor.door.tenants.usual.engines is not first


async def test_a_tenant_that_is_not_known_is_refused_on_every_way_in(tmp_path):
    """Here nobody asks for a token, so the name is all that there is."""
    async with serving(tmp_path) as (server, happenings):
        assert not (await call(server, "/asterisk/ws?tenant=nobody", FARS["/asterisk/ws"](), says=())).greeted
        far = FarTwilio(began_us=clock.now(), call=FarCall(parameters={"tenant": "nobody"}))
        assert not (await call(server, "/twilio/ws", far, says=())).greeted
        path = "/audiosocket/6f9619ff-8b86-d011-b42d-00cf4fc964ff"
        assert (await ask(server, "PUT", path, json={"tenant": "nobody"}))[0] == 404
        assert began(happenings) == []


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Host": "9f3a.tunnel.example"},
        {"Host": "[calls"},
        {"X-Forwarded-For": "203.0.113.7"},
        {"Forwarded": "for=203.0.113.7"},
    ],
)
async def test_who_comes_through_a_page_or_a_tunnel_is_not_of_this_machine(tmp_path, headers):
    """TEL-07: a tunnel to a server without a public address opens it to nobody."""
    async with serving(tmp_path) as (server, happenings):
        heard = await call(server, "/asterisk/ws", says=(), headers=headers)
        assert not heard.greeted
        assert (await ask(server, "POST", "/twilio/voice", data=form(), headers=headers))[0] == 403
        assert (await ask(server, "POST", "/reload", headers=headers))[0] == 401
        assert began(happenings) == []
