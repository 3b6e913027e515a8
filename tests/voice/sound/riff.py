"""WAV files as their writers leave them, and tones to put in them: what the audio tests are made of."""

from __future__ import annotations

import struct

import numpy as np


def fmt(codec=1, channels=1, rate=16_000, bits=16, **odd):
    block = odd.get("block", channels * bits // 8)
    pace = odd.get("pace", rate * block)
    return struct.pack("<HHIIHH", codec, channels, rate, pace, block, bits) + odd.get("more", b"")


def chunk(name, body, size=None, *, pad=True):
    size = len(body) if size is None else size
    return name + struct.pack("<I", size) + body + b"\0" * (len(body) % 2 if pad else 0)


def riff(*chunks, size=None, magic=b"RIFF"):
    body = b"WAVE" + b"".join(chunks)
    return magic + struct.pack("<I", len(body) if size is None else size) + body


def wav_bytes(data, size=None, **form):
    """A plain file around *data*; *size* is what it declares of it."""
    return riff(chunk(b"fmt ", fmt(**form)), chunk(b"data", data, size, pad=False))


def tone(hz, seconds, rate=16_000, level=8_192):
    """A sine at a quarter of full scale, −12 dBFS, unless told otherwise."""
    return np.rint(level * np.sin(2 * np.pi * hz * np.arange(round(seconds * rate)) / rate)).astype(np.int16)
