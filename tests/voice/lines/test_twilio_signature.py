"""TEL-07: nobody gets in without the account's token, however a proxy has rewritten the address."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import each

from turnbudget.voice.errors import ConfigError
from turnbudget.voice.lines.twilio_webhook import same, sign, signed_request, signed_upgrade

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
