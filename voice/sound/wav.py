"""A WAV file as its writer should have left it: sizes mended, samples untouched.

This file knows chunks and sizes, and nothing of codecs: it says where the samples stand and how they are
written, and libsndfile reads them. It trusts no size: what is used is the lesser of declared and present, in
whole frames. Streaming writers leave sizes at 0 or all ones, and placeholders of every kind are about
(NAudio #688, pocket-tts #229), so no one magic value is looked for.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from turnbudget.voice.errors import AudioError
from turnbudget.voice.sound.resampler import check_rate

if TYPE_CHECKING:
    from collections.abc import Mapping

PCM: Final = 1
"""Codec number of linear integers."""
FLOAT: Final = 3
"""Codec number of floats."""
ALAW: Final = 6
"""Codec number of A-law."""
MULAW: Final = 7
"""Codec number of mu-law."""
EXTENSIBLE: Final = 0xFFFE
"""Codec number that says that the codec stands in the extension."""

_CHUNK: Final = struct.Struct("<4sI")
_FORMAT: Final = struct.Struct("<HHIIHH")
_WIDTHS: Final[Mapping[int, tuple[int, ...]]] = {PCM: (1, 2, 3, 4), FLOAT: (4, 8), ALAW: (1,), MULAW: (1,)}
_BY_DS64: Final = 0xFFFF_FFFF
"""Size of a chunk whose size stands in the ds64 chunk (EBU Tech 3306)."""
_SUBFORMAT: Final = 24
"""Offset of the codec in an extensible fmt chunk (bytes)."""
_TEXT: Final = bytes(range(0x20, 0x7F))
_COMMON: Final = (b"fmt ", b"data", b"LIST", b"fact")
_LEFTOVER: Final = 64
"""Bytes at the start of the samples that may be left over from a header."""
_RUN: Final = 16
"""Bytes of text in a row that are no sound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """How the samples are written."""

    codec: int
    """Codec number."""
    channels: int
    rate: int
    """Sample rate (Hz)."""
    width: int
    """Bytes a sample."""
    block: int
    """Bytes a frame."""


@dataclass(frozen=True, slots=True)
class Header:
    """What stands before the samples: their format, offset, and declared size in bytes."""

    format: Format
    start: int
    """Where the samples start (bytes)."""
    size: int
    notes: tuple[str, ...] = ()
    """Faults that were mended."""


@dataclass(frozen=True, slots=True)
class Wav:
    """A mended file: whole frames of samples, and the faults that were mended."""

    format: Format
    data: memoryview
    """The samples' bytes."""
    notes: tuple[str, ...]
    """Faults that were mended."""


def begins(blob: bytes) -> bool:
    """Return whether *blob* begins as a little-endian WAV file does."""
    return blob[:4] in (b"RIFF", b"RF64") and blob[8:12] == b"WAVE"


def parse(blob: bytes, where: str = "") -> Wav:
    """Return the samples in *blob*, a whole file; raises AudioError that names the field at fault."""
    header = read_header(blob, where, whole=True)
    if header is None:
        raise AudioError(
            f"no data chunk: the file ends after {len(blob)} bytes", where=where, remedy="record it again"
        )
    notes = list(header.notes)
    end = header.start + _extent(header, blob, notes)
    head = blob[header.start : min(end, header.start + _LEFTOVER)]
    start = min(end, header.start + _leftover(header, head, notes))
    stray = (end - start) % header.format.block
    if stray:
        notes.append(f"{stray} stray bytes at the end, not a whole frame, dropped")
    return Wav(header.format, memoryview(blob)[start : end - stray], tuple(notes))


def read_header(blob: bytes, where: str = "", *, whole: bool = False) -> Header | None:
    """Return what stands before the samples; ``None`` if *blob* ends before they start.

    In a *whole* file a chunk that would run past the end is lying, and the samples are looked for behind it.
    """
    notes: list[str] = []
    form: Format | None = None
    wide = 0
    at = 12
    while at + _CHUNK.size <= len(blob):
        name, size = _CHUNK.unpack_from(blob, at)
        at += _CHUNK.size
        if name == b"data":
            if form is None:
                raise AudioError("samples before any fmt chunk", where=where, remedy="record it again")
            return Header(form, at, wide if wide and size == _BY_DS64 else size, tuple(notes))
        if name == b"fmt " and at + size <= len(blob):
            form = _format(blob[at : at + size], where, notes)
        elif name == b"ds64" and at + 16 <= len(blob):
            (wide,) = struct.unpack_from("<Q", blob, at + 8)
        if whole and at + size > len(blob):
            notes.append(f"chunk {_word(name)} declares {size} bytes, {len(blob) - at} are there")
            at = blob.find(b"data", at)
            if at < 0:
                break
        elif size % 2 and blob[at + size : at + size + 4] in _COMMON:
            notes.append(f"chunk {_word(name)} lacks its pad byte")
            at += size
        else:
            at += size + size % 2
    if whole and form is None:
        raise AudioError("no fmt chunk that could be read", where=where, remedy="record it again")
    return None


def is_chunks(blob: bytes, at: int) -> bool:
    """Return whether *blob* holds only chunks, or nothing, from *at* on, rather than sound."""
    while at < len(blob):
        end = chunk_end(blob, at)
        if end is None:
            return False
        at = end
    return True


def chunk_end(blob: bytes, at: int) -> int | None:
    """Return where the chunk at *at* ends, pad byte included; ``None`` if no whole chunk stands there."""
    if at + _CHUNK.size > len(blob):
        return None
    name, size = _CHUNK.unpack_from(blob, at)
    end = at + _CHUNK.size + size
    return None if name.strip(_TEXT) or end > len(blob) else end + size % 2


def _format(chunk: bytes, where: str, notes: list[str]) -> Format:
    if len(chunk) < _FORMAT.size:
        raise AudioError(f"a fmt chunk of {len(chunk)} bytes", where=where, remedy="record it again")
    codec, channels, rate, pace, block, bits = _FORMAT.unpack_from(chunk)
    if codec == EXTENSIBLE and len(chunk) >= _SUBFORMAT + 2:
        (codec,) = struct.unpack_from("<H", chunk, _SUBFORMAT)
    if not channels:
        raise AudioError("the header declares 0 channels", where=where, remedy="record it again")
    check_rate(rate, where)
    widths = _WIDTHS.get(codec)
    if widths is None:
        return Format(codec=codec, channels=channels, rate=rate, width=0, block=max(1, block))
    # Samples may stand in wider containers, aligned to the left, so that full scale stays full scale.
    width = block // channels if block % channels == 0 and block // channels * 8 >= bits else 0
    if width not in widths:
        width = widths[0] if len(widths) == 1 else -(-bits // 8)
        notes.append(f"block size {block} is not that of {channels} × {bits} bits")
    if width not in widths:
        raise AudioError(
            f"samples of {bits} bits cannot be read", where=where, remedy="convert it to 16-bit PCM"
        )
    block = channels * width
    if pace and pace != rate * block:
        notes.append(f"byte rate {pace} is not {rate} Hz × {block} bytes; took the {rate} Hz")
    return Format(codec=codec, channels=channels, rate=rate, width=width, block=block)


def _extent(header: Header, blob: bytes, notes: list[str]) -> int:
    """Return how many bytes of samples there really are."""
    there = len(blob) - header.start
    if header.size == 0 and not is_chunks(blob, header.start):
        notes.append(f"data size 0, {there} bytes are there: read to the end")
        return there
    if header.size > there:
        notes.append(f"data size {header.size}, {there} bytes are there: read to the end")
        return there
    behind = header.start + header.size
    if not any(is_chunks(blob, at) for at in (behind + header.size % 2, behind)):
        notes.append(f"{there - header.size} bytes behind the declared samples are neither sound nor chunk")
    return header.size


def _leftover(header: Header, head: bytes, notes: list[str]) -> int:
    """Return how many bytes of *head*, the start of the samples, are left over from a header (record #617).

    A chunk name says so, or a run of text as long as no sound makes one; bytes of 8-bit sound can be text.
    """
    inner = head.rfind(b"data", 0, _LEFTOVER - _CHUNK.size + 4)
    run = len(head) - len(head.lstrip(_TEXT))
    if inner >= 0:
        cut = inner + _CHUNK.size
    elif run >= _RUN and header.format.width > 1:
        cut = -(-run // header.format.block) * header.format.block
    else:
        return 0
    notes.append(f"{cut} bytes of a header among the samples cut off")
    return cut


def _word(name: bytes) -> str:
    return repr(name.decode("latin-1").strip())
