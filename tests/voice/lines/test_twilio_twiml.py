"""What a carrier is told: whatever it does last, the line is released."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import each

from turnbudget.voice.errors import ConfigError
from turnbudget.voice.lines.twilio_messages import TELNYX
from turnbudget.voice.lines.twilio_webhook import connect_stream, dial, hang_up, plivo_stream, reject

HEAD = '<?xml version="1.0" encoding="UTF-8"?>'
URL = "wss://calls.example.com/twilio/ws/t0k"


def read(document):
    return ET.fromstring(document)  # noqa: S314 - our own document


def test_a_call_is_connected_with_our_socket_and_hung_up_behind_it():
    """TEL-18: the document ends in hang-up."""
    document = connect_stream(
        URL,
        parameters={"tenant": "acme"},
        action="https://calls.example.com/twilio/after",
        status="https://calls.example.com/twilio/stream-status",
    )
    assert document == (
        f'{HEAD}<Response><Connect action="https://calls.example.com/twilio/after">'
        f'<Stream url="{URL}" statusCallback="https://calls.example.com/twilio/stream-status">'
        '<Parameter name="tenant" value="acme" /></Stream></Connect><Hangup /></Response>'
    )
    assert connect_stream(URL) == (
        f'{HEAD}<Response><Connect><Stream url="{URL}" /></Connect><Hangup /></Response>'
    )


def test_telnyx_plays_our_audio_only_if_it_is_told_to():
    """Without the mode it drops what we send, and says nothing of it."""
    (stream,) = read(connect_stream(URL, attributes=TELNYX.stream_attributes)).iter("Stream")
    assert stream.attrib == {"url": URL, "bidirectionalMode": "rtp", "bidirectionalCodec": "PCMU"}


def test_a_call_is_refused_before_it_is_answered():
    assert reject() == f'{HEAD}<Response><Reject reason="busy" /></Response>'
    assert reject("rejected") == f'{HEAD}<Response><Reject reason="rejected" /></Response>'


def test_a_call_is_sent_to_people():
    """TEL-18: overflow and cold transfer; the line is released behind them."""
    assert dial("+15550123", caller_id="+15550199", timeout_s=20) == (
        f'{HEAD}<Response><Dial callerId="+15550199" timeout="20"><Number>+15550123</Number></Dial>'
        "<Hangup /></Response>"
    )
    assert dial("sip:desk@example.com") == (
        f"{HEAD}<Response><Dial><Sip>sip:desk@example.com</Sip></Dial><Hangup /></Response>"
    )


def test_a_call_is_ended():
    """TEL-18"""
    assert hang_up() == f"{HEAD}<Response><Hangup /></Response>"


def test_plivo_is_told_the_same_in_its_own_words():
    """TEL-18"""
    assert plivo_stream(URL, headers="tenant=acme") == (
        f'{HEAD}<Response><Stream bidirectional="true" keepCallAlive="true"'
        f' contentType="audio/x-mulaw;rate=8000" extraHeaders="tenant=acme">{URL}</Stream>'
        "<Hangup /></Response>"
    )
    with pytest.raises(ConfigError, match="512 bytes"):
        plivo_stream(URL, headers="a" * 513)


@each("url", [f"{URL}?token=t0k", f"{URL}#t0k", "https://calls.example.com/t0k", "/t0k", ""])
def test_an_address_the_carrier_would_not_take_is_refused(url):
    """TEL-06: a query never arrives; and no message shows what may be a token."""
    with pytest.raises(ConfigError) as told:
        connect_stream(url)
    assert "t0k" not in str(told.value)


def test_a_parameter_may_not_be_too_long():
    connect_stream(URL, parameters={"name": "v" * 495})
    with pytest.raises(ConfigError, match="'name' is longer"):
        connect_stream(URL, parameters={"name": "v" * 496})


@given(st.text(max_size=60), st.text(min_size=1, max_size=60))
def test_whatever_a_caller_is_called_the_document_stays_what_it_is(value, target):
    document = read(connect_stream(URL, parameters={"caller": value}))
    tags = [element.tag for element in document.iter()]
    assert tags == ["Response", "Connect", "Stream", "Parameter", "Hangup"]
    assert [element.tag for element in read(dial(target))] == ["Dial", "Hangup"]
