"""A tenant's server is told what happened, signed, once or more but under one id, until it has it."""

from __future__ import annotations

import contextlib
import itertools
import json
import logging
import shutil

import msgspec
import pytest
from surroundings import SECRET, Scripted, listening

from turnbudget.serving.after.messages import MessageStore
from turnbudget.serving.after.webhooks import GIVE_UP_S, HttpPost, Webhooks, is_signed, now_s, sign
from turnbudget.serving.config import CrmTable, WebhookTable
from turnbudget.voice.errors import RunError
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import SECOND
from turnbudget.voice.time.crew import Crew

URL = "https://crm.example.com/hook?key=hidden"
HOOK = WebhookTable(url=URL, secret=SECRET)


def hooks(folder, post, hook=HOOK):
    """Webhooks of one tenant, the bank."""
    return Webhooks(folder, {"bank": hook}.get, post)


def waiting(folder):
    """The messages in *folder* that are to be sent."""
    with contextlib.closing(MessageStore(folder)) as store:
        return store.look()


async def run(webhooks, until, patience_us=30 * SECOND):
    """Let *webhooks* run until *until* holds."""
    async with Crew() as crew:
        crew.create_task(webhooks.run(), name="webhooks")
        by = clock.now() + patience_us
        while not until() and clock.now() < by:
            await clock.sleep(patience_us // 1_000)
    assert until()


# --- signature -------------------------------------------------------------------------------------


def test_the_signature_is_that_of_standard_webhooks():
    """The example of the specification's own libraries."""
    body = b'{"test": 2432232314}'
    told = sign(SECRET, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body)
    assert told == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_what_was_changed_is_old_or_unsigned_is_no_message_of_ours():
    body, now = b"{}", 1_000_000
    headers = {
        "webhook-id": "m",
        "webhook-timestamp": str(now),
        "webhook-signature": sign(SECRET, "m", now, body),
    }
    assert is_signed(SECRET, headers, body, now)
    assert is_signed(
        SECRET, {**headers, "webhook-signature": f"v1,x {headers['webhook-signature']}"}, body, now
    )
    assert not is_signed(SECRET, headers, b"{ }", now)
    assert not is_signed(SECRET, {**headers, "webhook-id": "n"}, body, now)
    assert not is_signed(SECRET, {**headers, "webhook-timestamp": str(now + 1)}, body, now)
    assert not is_signed(SECRET, headers, body, now + 301), "replayed later"
    assert not is_signed("another secret of 24 signs", headers, body, now)
    for broken in ({}, {**headers, "webhook-timestamp": "١"}, {**headers, "webhook-signature": "v1,\udcff"}):
        assert not is_signed(SECRET, broken, body, now)


@pytest.mark.parametrize(
    ("url", "fault"),
    [
        ("http://crm.example.com/", "begins with https"),
        ("ftp://crm.example.com/", "begins with https"),
        ("https://me:pass@crm.example.com/", "no user"),
        ("http://[x", "begins with https"),
    ],
)
def test_an_address_without_tls_or_with_a_password_is_refused(url, fault):
    with pytest.raises(ValueError, match=fault):
        WebhookTable(url=url, secret=SECRET)
    with pytest.raises(ValueError, match=fault):
        CrmTable(url=url)


def test_a_short_secret_and_an_unknown_event_are_refused():
    with pytest.raises(ValueError, match="24 signs"):
        WebhookTable(url=URL, secret=SECRET[:20])
    with pytest.raises(ValueError, match=r"no event 'call\.lost'"):
        WebhookTable(url=URL, secret=SECRET, events=("call.lost",))
    assert WebhookTable(url="http://127.0.0.1:8/x", secret=SECRET).url


# --- delivery, in virtual time ---------------------------------------------------------------------


async def test_a_message_arrives_once_and_signed(tmp_path):
    post = Scripted(200)
    webhooks = hooks(tmp_path / "hooks", post)
    webhooks.tell("bank", "call.ended", {"call": "c1"})
    await run(webhooks, lambda: webhooks.sent)
    [(url, headers, body)] = post.sent
    assert url == URL
    assert is_signed(SECRET, headers, body, now_s())
    assert json.loads(body)["type"] == "call.ended"
    assert json.loads(body)["data"] == {"call": "c1"}
    assert waiting(tmp_path / "hooks") == []


async def test_a_server_that_fails_is_tried_again_later_and_later_with_the_same_id(tmp_path):
    post = Scripted(500, OSError(111, "refused"), 302, None, 200)
    webhooks = hooks(tmp_path, post)
    times = []
    webhooks._post = timed(post, times)
    webhooks.tell("bank", "call.ended", {"call": "c1"})
    await run(webhooks, lambda: webhooks.sent, 3_600 * SECOND)
    assert len({headers["webhook-id"] for _, headers, _ in post.sent}) == 1
    assert len({body for _, _, body in post.sent}) == 1
    assert all(
        is_signed(SECRET, headers, body, int(headers["webhook-timestamp"])) for _, headers, body in post.sent
    )
    waits = [after - before for before, after in itertools.pairwise(times)]
    assert len(waits) == 4
    assert waits == sorted(waits)
    assert waits[0] >= 5 * SECOND


def timed(post, times):
    async def send(*request):
        times.append(clock.now())
        return await post(*request)

    return send


async def test_after_a_day_it_is_given_up(tmp_path, caplog):
    post = Scripted(503)
    webhooks = hooks(tmp_path, post)
    webhooks.tell("bank", "call.ended", {"call": "c1"})
    with caplog.at_level(logging.INFO):
        await run(webhooks, lambda: webhooks.given_up, 2 * GIVE_UP_S * SECOND)
    assert 20 <= len(post.sent) <= 40
    assert int(post.sent[-1][1]["webhook-timestamp"]) <= GIVE_UP_S
    assert waiting(tmp_path) == []
    assert "given up, 503" in caplog.text


async def test_a_server_that_says_the_hook_is_gone_is_asked_no_more(tmp_path):
    post = Scripted(410)
    webhooks = hooks(tmp_path, post)
    webhooks.tell("bank", "call.ended", {})
    await run(webhooks, lambda: webhooks.given_up)
    assert len(post.sent) == 1


async def test_a_tenant_whose_server_hangs_holds_up_no_other(tmp_path):
    class Post(Scripted):
        async def __call__(self, url, *rest):
            return await (Scripted(None)(url, *rest) if "slow" in url else super().__call__(url, *rest))

    post = Post(200)
    slow = WebhookTable(url="https://slow.example.com/", secret=SECRET)
    webhooks = Webhooks(tmp_path, {"bank": HOOK, "slow": slow}.get, post)
    for _ in range(3):
        webhooks.tell("slow", "call.ended", {})
        webhooks.tell("bank", "call.ended", {})
    await run(webhooks, lambda: webhooks.sent == 3, 5 * SECOND)


async def test_who_wants_to_know_nothing_is_told_nothing(tmp_path):
    post = Scripted(200)
    webhooks = hooks(tmp_path, post, msgspec.structs.replace(HOOK, events=("call.transferred",)))
    webhooks.tell("bank", "call.ended", {})
    webhooks.tell("shop", "call.ended", {})
    webhooks.tell("bank", "call.transferred", {})
    await run(webhooks, lambda: webhooks.sent)
    await clock.sleep(10 * SECOND)
    assert len(post.sent) == 1


async def test_no_secret_and_no_address_is_in_the_log_or_in_the_folder(tmp_path, caplog):
    webhooks = hooks(tmp_path, Scripted(500, OSError(111, "refused"), 410))
    webhooks.tell("bank", "call.ended", {})
    with caplog.at_level(logging.DEBUG):
        await run(webhooks, lambda: webhooks.given_up, 600 * SECOND)
    kept = b"".join(place.read_bytes() for place in tmp_path.iterdir())
    assert "refused" in caplog.text
    for hidden in (SECRET, "hidden", "example.com"):
        assert hidden not in caplog.text
        assert hidden.encode() not in kept


async def test_the_receiver_who_keeps_ids_takes_a_message_once_whose_answer_was_lost(tmp_path):
    """The server had it, its answer never came: it comes again, under the id that was seen."""
    post = Scripted(None, 200)
    webhooks = hooks(tmp_path, post)
    webhooks.tell("bank", "call.ended", {}, "msg_c1_ended")
    await run(webhooks, lambda: webhooks.sent, 60 * SECOND)
    assert [headers["webhook-id"] for _, headers, _ in post.sent] == ["msg_c1_ended"] * 2


# --- restarts --------------------------------------------------------------------------------------


async def test_what_a_killed_worker_left_is_sent_by_the_next_with_its_tries_counted(tmp_path):
    first = hooks(tmp_path, Scripted(500))
    for number in range(5):
        first.tell("bank", "call.ended", {"n": number}, f"msg_{number}")
    await run(first, lambda: len(first._post.sent) >= 5)
    post = Scripted(200)
    second = hooks(tmp_path, post)
    await run(second, lambda: second.sent == 5, 60 * SECOND)
    assert {headers["webhook-id"] for _, headers, _ in post.sent} == {f"msg_{number}" for number in range(5)}


async def test_of_two_workers_who_share_a_folder_one_delivers_and_the_other_takes_over(tmp_path):
    one, two = (hooks(tmp_path, Scripted(200)) for _ in range(2))
    async with Crew() as crew:
        task = crew.create_task(one.run(), name="one")
        await clock.sleep(SECOND)
        crew.create_task(two.run(), name="two")
        two.tell("bank", "call.ended", {})
        await clock.sleep(10 * SECOND)
        assert (one.sent, two.sent) == (1, 0)
        task.cancel()
        await clock.sleep(SECOND)
        two.tell("bank", "call.ended", {})
        await clock.sleep(10 * SECOND)
        assert (one.sent, two.sent) == (1, 1)


async def test_a_disk_that_refuses_costs_nothing_but_time(tmp_path, monkeypatch):
    post = Scripted(200)
    webhooks = hooks(tmp_path, post)
    put, refusals = MessageStore.put, [OSError(28, "No space left on device")] * 2

    def full(store, message):
        if refusals:
            raise refusals.pop()
        put(store, message)

    monkeypatch.setattr(MessageStore, "put", full)
    webhooks.tell("bank", "call.ended", {})
    await run(webhooks, lambda: webhooks.sent)


async def test_a_try_that_the_disk_cannot_note_is_a_try_all_the_same(tmp_path):
    """A full disk does not have the tenant's server asked again and again without a pause."""
    post = Scripted(500)
    webhooks = hooks(tmp_path, paused(post))
    webhooks.tell("bank", "call.ended", {})
    async with Crew() as crew:
        crew.create_task(webhooks.run(), name="webhooks")
        await clock.sleep(SECOND)
        refuse(webhooks)
        await clock.sleep(300 * SECOND)
    assert 3 <= len(post.sent) <= 6


async def test_a_message_that_the_disk_cannot_forget_is_sent_once(tmp_path):
    post = Scripted(200)
    webhooks = hooks(tmp_path, paused(post, lambda: refuse(webhooks)))
    webhooks.tell("bank", "call.ended", {})
    async with Crew() as crew:
        crew.create_task(webhooks.run(), name="webhooks")
        await clock.sleep(60 * SECOND)
    assert len(post.sent) == 1


def paused(post, first=lambda: None):
    """*post*, which fails if it is asked without a pause (virtual time would not go on), behind *first*."""

    async def send(*request):
        first()
        assert len(post.sent) < 20, "asked without a pause"
        return await post(*request)

    return send


def refuse(webhooks):
    """Let the disk take no change any more."""
    webhooks._store._database._connection.execute("PRAGMA query_only=ON")


# --- a real server ---------------------------------------------------------------------------------


@pytest.mark.clock("skip")
async def test_a_real_server_that_fails_then_hangs_then_takes_it(tmp_path):
    async with listening(500, None, 204) as (url, came):
        post = HttpPost()
        hook = WebhookTable(url=url, secret=SECRET)
        webhooks = hooks(tmp_path, impatient(post), hook)
        webhooks.tell("bank", "call.ended", {"call": "c1"})
        await run(webhooks, lambda: webhooks.sent, 120 * SECOND)
        await post.aclose()
    assert [request.headers["webhook-id"] for request, _ in came] == [came[0][0].headers["webhook-id"]] * 3
    for request, body in came:
        assert is_signed(SECRET, request.headers, body, int(request.headers["webhook-timestamp"]))


def impatient(post):
    """*post*, which waits 200 ms for an answer."""

    async def send(url, headers, body, until_us):
        return await post(url, headers, body, min(until_us, clock.now() + SECOND // 5))

    return send


@pytest.mark.clock("skip")
async def test_a_server_that_is_not_there_is_an_error_without_its_address(nowhere):
    post = HttpPost()
    with pytest.raises(OSError, match="Client") as caught:
        await post(f"http://{nowhere}/hidden", {}, b"", clock.now() + SECOND)
    assert "hidden" not in str(caught.value)
    await post.aclose()


async def test_a_folder_that_cannot_be_is_one_line_and_one_that_is_lost_ends_nothing(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="cannot be made"):
        await hooks(tmp_path / "file" / "hooks", Scripted(200)).run()
    webhooks = hooks(tmp_path / "hooks", Scripted(200))
    async with Crew() as crew:
        task = crew.create_task(webhooks.run(), name="webhooks")
        await clock.sleep(SECOND)
        shutil.rmtree(tmp_path / "hooks")
        webhooks.tell("bank", "call.ended", {})
        await clock.sleep(20 * SECOND)
        assert not task.done()
        (tmp_path / "hooks").mkdir()
        await clock.sleep(20 * SECOND)
    assert webhooks.sent == 1
