"""Who serves is told by each worker's latest word, and by how long ago that was."""

from __future__ import annotations

from turnbudget.council.remote.agent import WORKERS, Presence
from turnbudget.council.remote.wire import Status
from turnbudget.voice.time.clock import SECOND

BEAT = 2 * SECOND


def status(session=1, *, online=True, started="2026-01-01T00:00:00+00:00"):
    return Status(v=2, online=online, started=started, session=session, beat_us=BEAT)


def test_a_worker_that_says_so_serves():
    presence = Presence()
    assert presence.note("bank", "w1", status(), 0)
    assert presence.note("bank", "w2", status(), 0)
    assert (presence.serving("bank", 0), presence.serving("shop", 0)) == (2, 0)


def test_a_will_of_an_earlier_session_buries_nobody():
    """MQ-11: it arrives when its worker is long back."""
    presence = Presence()
    presence.note("bank", "w1", status(2), 0)
    assert not presence.note("bank", "w1", status(1, online=False), 90)
    assert presence.serving("bank", 90) == 1
    presence.note("bank", "w2", status(1, started="2026-01-01T00:00:02+00:00"), 0)
    assert not presence.note("bank", "w2", status(9, online=False), 90)
    assert presence.serving("bank", 90) == 2


def test_a_will_of_this_session_does():
    presence = Presence()
    presence.note("bank", "w1", status(), 0)
    assert presence.note("bank", "w1", status(online=False), 1)
    assert presence.vacant("bank", 1)


def test_a_worker_whose_heart_stopped_is_dead_whatever_the_broker_says():
    """MQ-11: no will came."""
    presence = Presence()
    presence.note("bank", "w1", status(), 0)
    assert presence.serving("bank", 3 * BEAT) == 1
    assert presence.vacant("bank", 3 * BEAT + 1)
    presence.note("bank", "w1", status(), 4 * BEAT)
    assert not presence.vacant("bank", 4 * BEAT)


def test_of_a_seat_never_heard_of_nothing_is_known():
    assert not Presence().vacant("bank", 0)


def test_a_flood_of_made_up_workers_is_forgotten_when_they_are_gone():
    presence = Presence()
    for worker in range(WORKERS):
        presence.note("bank", str(worker), status(), 0)
    presence.note("bank", "real", status(), 4 * BEAT)
    assert len(presence._signs["bank"]) == 1


def test_of_ten_thousand_workers_that_live_none_makes_room_for_another():
    """Anybody the broker lets in can make them up, so memory is bounded; who is known is still heard."""
    presence = Presence()
    for worker in range(10_000):
        assert presence.note("bank", str(worker), status(), 0)
    assert not presence.note("bank", "one more", status(), 1)
    assert presence.serving("bank", 1) == 10_000
    assert presence.note("bank", "7", status(online=False), 2)
    assert presence.serving("bank", 2) == 9_999


def test_after_a_lost_connection_only_who_speaks_again_is_believed():
    """MQ-01: a broker that comes back may have none of its subscribers yet."""
    presence = Presence()
    for worker in ("w1", "w2"):
        presence.note("bank", worker, status(), 0)
    presence.doubt()
    assert presence.vacant("bank", 1)
    assert presence.note("bank", "w2", status(2), 2)
    assert presence.serving("bank", 2) == 1
