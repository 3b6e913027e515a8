"""Calls that come as Twilio's: webhooks and upgrades, signed."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from floors import ask

from turnbudget.voice.lines.far.twilio import FarCall, FarTwilio
from turnbudget.voice.lines.twilio_webhook import sign
from turnbudget.voice.time import clock

ORIGIN = "https://calls.example.com"
TWILIO = "0123456789abcdef0123456789abcdef"
CALL = "CA00000000000000000000000000000001"


def form(**fields):
    """What Twilio posts."""
    return {"CallSid": CALL, "From": "+15550100", "To": "+15550199", **fields}


async def webhook(server, fields, token=TWILIO, path="/twilio/voice"):
    """Call a webhook, signed with *token*; '' for no signature at all."""
    signature = {"X-Twilio-Signature": sign(token, ORIGIN + path, fields.items())} if token else {}
    return await ask(server, "POST", path, data=fields, headers=signature)


async def let_in(server, **fields):
    """The path that a webhook's answer lets the carrier open, and the carrier."""
    status, document = await webhook(server, form(**fields))
    assert status == 200
    parameters = dict(re.findall(r'<Parameter name="(\w+)" value="([^"]+)"', document))
    far = FarTwilio(began_us=clock.now(), call=FarCall(parameters=parameters))
    return urlsplit(re.search(r'url="([^"]+)"', document)[1]).path, far


def upgrade(path, token=TWILIO):
    """The headers of a socket's upgrade at *path*, signed."""
    return {"X-Twilio-Signature": sign(token, f"wss://calls.example.com{path}")}
