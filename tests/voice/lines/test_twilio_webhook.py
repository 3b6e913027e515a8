"""What a carrier is told: whatever it does last, the line is released."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import each

from turnbudget.voice.errors import ConfigError
from turnbudget.voice.lines.twilio_messages import TELNYX
from turnbudget.voice.lines.twilio_webhook import (
    connect_stream,
    dial,
    hang_up,
    plivo_stream,
    reject,
    same,
    sign,
    signed_request,
    signed_upgrade,
)

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


KEY = "0123456789abcdef0123456789abcdef"
ORIGIN = "https://calls.example.com"
VECTOR = "DekNFzy4TH8Wc7ACBFbyqb1pOok="
"""Twilio's own library signs ``wss://calls.example.com/twilio/ws`` so."""
FORM = [("CallSid", "CA1"), ("From", "+15550100"), ("To", "+15550199"), ("AccountSid", "AC1")]


def test_the_known_signature_comes_out():
    """TEL-07"""
    assert sign(KEY, "wss://calls.example.com/twilio/ws") == VECTOR


def test_a_form_is_signed_as_twilio_documents_it():
    """TEL-07: the example of Twilio's security page."""
    form = {
        "CallSid": "CA1234567890ABCDE",
        "Caller": "+14158675309",
        "Digits": "1234",
        "From": "+14158675309",
        "To": "+18005551212",
    }
    signature = sign("12345", "https://mycompany.com/myapp.php?foo=1&bar=2", form.items())
    assert signature == "RSOYDt4T1cUTdK1PDd93/VVr8B8="
    assert signed_request("12345", signature, "https://mycompany.com", "/myapp.php?foo=1&bar=2", form.items())


@each("origin", [ORIGIN, f"{ORIGIN}/", f"{ORIGIN}:443", "wss://calls.example.com"])
@each("target", ["/twilio/ws", "/twilio/ws/"])
def test_an_upgrade_is_signed_for_wss_with_or_without_port_and_slash(origin, target):
    """TEL-07"""
    assert signed_upgrade(KEY, VECTOR, origin, target)
    with_port = sign(KEY, "wss://calls.example.com:443/twilio/ws/")
    assert signed_upgrade(KEY, with_port, origin, target)


@each(
    "url",
    [
        "https://calls.example.com/twilio/ws",
        "ws://calls.example.com/twilio/ws",
        "wss://evil.example.com/twilio/ws",
        "wss://calls.example.com/twilio/ws/other",
        "wss://calls.example.com:8443/twilio/ws",
        "wss://calls.example.com/twilio/ws?a=b",
    ],
)
def test_another_address_is_another_signature(url):
    """TEL-07: the https form must fail for a socket."""
    assert not signed_upgrade(KEY, sign(KEY, url), ORIGIN, "/twilio/ws")


def test_a_port_of_our_own_is_part_of_the_address():
    """TEL-07"""
    signature = sign(KEY, "wss://calls.example.com:8443/twilio/ws")
    assert signed_upgrade(KEY, signature, "https://calls.example.com:8443", "/twilio/ws")


def test_a_path_in_front_of_ours_is_part_of_the_address():
    """TEL-07: a proxy that serves us under a path of its own."""
    signature = sign(KEY, "https://calls.example.com/voice/twilio/call", FORM)
    assert signed_request(KEY, signature, f"{ORIGIN}/voice", "/twilio/call", FORM)


def test_a_request_is_signed_with_its_fields_in_any_order():
    """TEL-07"""
    signature = sign(KEY, "https://calls.example.com/twilio/call", FORM)
    assert signed_request(KEY, signature, ORIGIN, "/twilio/call", FORM[::-1])
    assert signed_request(KEY, signature, ORIGIN, "/twilio/call", iter(FORM))
    assert not signed_request(KEY, signature, ORIGIN, "/twilio/call", FORM[1:])
    assert not signed_request(KEY, signature, ORIGIN, "/twilio/call", [*FORM[1:], ("CallSid", "CA2")])
    assert not signed_upgrade(KEY, signature, ORIGIN, "/twilio/call")


@each("signature", ["", VECTOR[:-1], VECTOR + "=", VECTOR.lower(), "é", "\ud800"])
def test_no_signature_and_half_a_one_are_none(signature):
    """TEL-07"""
    assert not signed_upgrade(KEY, signature, ORIGIN, "/twilio/ws")


def test_without_a_token_nobody_is_let_in():
    """TEL-07: an empty token would sign for everybody."""
    assert not signed_upgrade("", sign("", "wss://calls.example.com/twilio/ws"), ORIGIN, "/twilio/ws")


@each("origin", ["", "calls.example.com", "ftp://calls.example.com", "https://", "https://a:b"])
def test_a_public_address_that_is_none_is_a_fault_of_the_configuration(origin):
    with pytest.raises(ConfigError, match="public address"):
        signed_upgrade(KEY, VECTOR, origin, "/twilio/ws")


@given(st.text(max_size=30), st.text(max_size=30), st.text(max_size=60))
def test_no_stranger_guesses_a_signature(token, signature, target):
    """TEL-07: and nothing that he sends raises."""
    assert not signed_upgrade(token, signature, ORIGIN, target)


def test_secrets_are_compared_whole():
    """TEL-06"""
    assert same("t0k", "t0k")
    assert not same("t0k", "t0K")
    assert not same("", "")
    assert not same("é", "e")
