"""A broker's address says everything, shows no password, and what users type stays in its place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import each

from turnbudget.council.remote.broker import Broker, answer_topic, ask_topic, broker_at, level, shared
from turnbudget.voice.errors import ConfigError


def test_a_url_says_it_all(monkeypatch):
    monkeypatch.delenv("TURNBUDGET_MQTT_PASSWORD", raising=False)
    found = broker_at("mqtts://ann:s%40cret@broker.example:8884/bank/north?ca=/etc/ca.pem")
    assert found == Broker(
        "broker.example", 8884, tls=True, user="ann", ca_file="/etc/ca.pem", prefix="bank/north"
    )
    assert found.password.reveal() == "s@cret"


def test_what_a_url_leaves_out_is_usual():
    assert broker_at("mqtt://host") == Broker("host", 1883)
    assert broker_at("mqtts://host").port == 8883
    assert str(broker_at("mqtt://[::1]")) == "mqtt://[::1]:1883"


def test_the_environment_s_password_is_preferred_and_none_is_ever_shown(monkeypatch):
    monkeypatch.setenv("TURNBUDGET_MQTT_PASSWORD", "from the environment")
    found = broker_at("mqtt://ann:typed@host")
    assert found.password.reveal() == "from the environment"
    assert "typed" not in repr(found) + str(found)
    assert "environment" not in repr(found) + str(found)


@each("url", ["", "host", "http://:secret@host", "mqtt://", "mqtt://u:secret@host:port", "mqtt://h?x=secret"])
def test_a_url_that_is_none_is_refused_without_repeating_its_password(url):
    with pytest.raises(ConfigError) as caught:
        broker_at(url)
    assert "secret" not in str(caught.value)


@given(st.text(min_size=1, max_size=200))
def test_a_name_stays_one_level_whatever_is_typed(name):
    assert not set(level(name)) & set("/+#$\0")
    assert ask_topic("t", name).count("/") == 3


@each("name", ["+", "#", "a/b", "$SYS", "\ud800", "naïve seat"])
def test_a_wildcard_in_a_name_matches_nothing_else(name):
    assert shared("t", name) == f"$share/{level(name)}/{ask_topic('t', name)}"
    assert answer_topic("t", name).isascii()


@pytest.mark.parametrize("name", ["", "x" * 201])
def test_no_name_and_an_endless_one_are_refused(name):
    with pytest.raises(ConfigError, match="1 to 200 characters"):
        level(name)
