"""Any recording, as the internal form: 16 kHz, mono, int16, one channel of it at a time.

What a file says of itself is checked and, where that is safe, mended; each mended fault is a note. A channel
is chosen, never mixed: mixed down, the agent's words would start the caller's turns. Everything here blocks
on disk and arithmetic, so call it in a thread (:func:`turnbudget.voice.time.clock.offload`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from turnbudget.voice.errors import AudioError
from turnbudget.voice.sound import audio, compressed, wav
from turnbudget.voice.sound.encoding import constant_level
from turnbudget.voice.sound.resampler import Resampler, check_rate
from turnbudget.voice.sound.sndfile import CONVERT, KNOWN, Decoder

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from turnbudget.voice.sound.audio import Float32, Int16

CALLER: Final = 0
"""Channel that a caller is on by default: the left."""
LONGEST_S: Final = 14_400
"""Longest recording that is read (s; 4 hours), whatever a header claims or a compressed file unpacks to."""
GROWS_BY: Final = audio.samples(60_000_000)
"""Samples by which the memory of a sound that is being read grows at a time: a minute."""
_RAW: Final[Mapping[str, str]] = {
    ".ul": "ULAW",
    ".ulaw": "ULAW",
    ".raw": "ULAW",
    ".pcmu": "ULAW",
    ".al": "ALAW",
    ".alaw": "ALAW",
    ".pcma": "ALAW",
}
"""Encoding of headerless files, by suffix."""
_SUBTYPES: Final[Mapping[tuple[int, int], str]] = {
    (wav.PCM, 1): "PCM_U8",
    (wav.PCM, 2): "PCM_16",
    (wav.PCM, 3): "PCM_24",
    (wav.PCM, 4): "PCM_32",
    (wav.FLOAT, 4): "FLOAT",
    (wav.FLOAT, 8): "DOUBLE",
    (wav.ALAW, 1): "ALAW",
    (wav.MULAW, 1): "ULAW",
}
Opened: TypeAlias = Decoder | compressed.Compressed
"""A file that is being decoded, by whichever library reads its kind."""
_AGAIN: Final = "record it again"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Recording:
    """One channel of a recording: ``samples`` in the internal form, and what the file was.

    ``encoding`` names how the file's samples are written; ``notes`` are the faults that were mended and the
    choices that were made, each a phrase for a person.
    """

    samples: Int16
    source_rate: int
    source_channels: int
    channel: int
    encoding: str
    notes: tuple[str, ...] = ()

    @property
    def us(self) -> int:
        """Length (µs)."""
        return audio.us(self.samples.size)


def read(path: str | os.PathLike[str], *, channel: int | None = None, rate: int | None = None) -> Recording:
    """Return one channel of the recording at *path*: the caller's, the left, unless *channel* says which.

    *rate* is for files that do not say theirs (raw G.711). Blocks; raises AudioError, one line naming the
    file, its fault and the remedy.
    """
    wanted = CALLER if channel is None else channel
    (taken,) = _read(path, rate, wanted=wanted)
    if channel is None and taken.source_channels > 1:
        return replace(taken, notes=(*taken.notes, f"{taken.source_channels} channels, took {wanted}"))
    return taken


def read_channels(
    path: str | os.PathLike[str], *, least: int = 1, rate: int | None = None
) -> tuple[Recording, ...]:
    """Return every channel of the recording at *path*, in its order, all of one length.

    Raises AudioError as :func:`read` does, and if there are fewer than *least* channels.
    """
    return _read(path, rate, least=least)


def misdeclared_rate(recording: Recording, lasts_us: int) -> int | None:
    """Return the rate that *recording* would need to last *lasts_us*, if it is a usual one and not its own.

    The length must be known from elsewhere (a transcript, the other side of the call): sound alone does not
    say at what rate it was taken.
    """
    if lasts_us <= 0:
        return None
    implied = recording.source_rate * recording.us / lasts_us
    usual = min(
        (8_000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000),
        key=lambda r: abs(r - implied),
    )
    near = abs(usual - implied) <= usual * 0.02
    return usual if near and usual != recording.source_rate else None


def _read(
    path: str | os.PathLike[str], rate: int | None, *, wanted: int | None = None, least: int = 1
) -> tuple[Recording, ...]:
    where = str(path)
    notes: list[str] = []
    with _open(_bytes(Path(path), where), where, rate, notes) as file:
        check_rate(file.rate, where)
        _check_channels(file.channels, where, wanted=wanted, least=least)
        return _take(file, where, notes, range(file.channels) if wanted is None else (wanted,))


def _bytes(path: Path, where: str) -> bytes:
    try:
        if path.is_dir():
            raise AudioError("is a folder, not a recording", where=where, remedy="name a file in it")
        if path.exists() and not path.is_file():
            raise AudioError("is no regular file", where=where, remedy="name a recording")
        blob = path.read_bytes()
    except (OSError, ValueError) as error:
        fault = getattr(error, "strerror", None) or str(error)
        raise AudioError(
            f"cannot be opened ({fault})", where=where, remedy="check the name and its rights"
        ) from None
    if not blob:
        raise AudioError("is empty (0 bytes)", where=where, remedy=_AGAIN)
    return blob


def _open(blob: bytes, where: str, rate: int | None, notes: list[str]) -> Opened:
    """Return *blob* opened for decoding; of a WAV, what follows its mended header."""
    file: Opened
    if wav.begins(blob):
        mended = wav.parse(blob, where)
        notes.extend(mended.notes)
        if not mended.data:
            raise AudioError("no audio: its data chunk holds no samples", where=where, remedy=_AGAIN)
        form = mended.format
        subtype = _SUBTYPES.get((form.codec, form.width))
        file = Decoder(blob, where) if subtype is None else _raw(mended.data, where, subtype, form)
    elif blob.startswith(KNOWN) or _is_mp3(blob, where):
        file = Decoder(blob, where)
    elif compressed.begins(blob):
        file = compressed.Compressed(blob, where)
    else:
        return _headerless(blob, where, rate)
    if rate is not None and rate != file.rate:
        notes.append(f"its header says {file.rate} Hz, which was taken, not the {rate} Hz given")
    return file


def _is_mp3(blob: bytes, where: str) -> bool:
    """Say whether *blob* is MP3 without a tag: by its name, and the eleven bits that begin an MPEG frame."""
    return where.lower().endswith(".mp3") and blob[:2] >= b"\xff\xe0"


def _raw(data: memoryview, where: str, subtype: str, form: wav.Format) -> Decoder:
    return Decoder(data, where, subtype=subtype, channels=form.channels, samplerate=form.rate)


def _headerless(blob: bytes, where: str, rate: int | None) -> Decoder:
    subtype = _RAW.get(Path(where).suffix.lower())
    if subtype is None:
        raise AudioError(
            f"is no audio that is read here: it begins with {blob[:12]!r}", where=where, remedy=CONVERT
        )
    if rate is None:
        raise AudioError("raw G.711 does not say its sample rate", where=where, remedy="give it: --rate 8000")
    return Decoder(blob, where, subtype=subtype, channels=1, samplerate=check_rate(rate, where))


def _check_channels(count: int, where: str, *, wanted: int | None, least: int) -> None:
    has = "has 1 channel" if count == 1 else f"has {count} channels"
    if count < least:
        remedy = "give a stereo recording, or one file a side"
        raise AudioError(f"{has} where {least} are needed", where=where, remedy=remedy)
    if wanted is not None and not 0 <= wanted < count:
        remedy = "ask for channel 0" if count == 1 else f"ask for 0 to {count - 1}"
        raise AudioError(f"{has}, and channel {wanted} was asked for", where=where, remedy=remedy)


def _take(file: Opened, where: str, notes: list[str], chosen: Sequence[int]) -> tuple[Recording, ...]:
    """Return the *chosen* channels of an open *file*."""
    resamplers = [Resampler(file.rate, audio.RATE, live=False) for _ in chosen]
    sounds = [_Growing() for _ in chosen]
    blocks = _bounded(file.blocks(notes), file.rate, where)
    for block in _mended(blocks, where, notes) if file.floats else blocks:
        for column, resampler, sound in zip(chosen, resamplers, sounds, strict=True):
            sound.add(resampler.feed(np.ascontiguousarray(block[:, column])))
    taken = []
    for column, resampler, sound in zip(chosen, resamplers, sounds, strict=True):
        sound.add(resampler.flush())
        samples = sound.whole()
        if not samples.size:
            raise AudioError("no audio: it holds no samples", where=where, remedy=_AGAIN)
        level = constant_level(samples)
        heard = () if level is None else (f"stands still at {level:+d}: a DC offset, or the wrong G.711 law",)
        taken.append(
            Recording(
                samples=samples,
                source_rate=file.rate,
                source_channels=file.channels,
                channel=column,
                encoding=file.encoding,
                notes=(*notes, *heard),
            )
        )
    return tuple(taken)


class _Growing:
    """A sound that is added to piece by piece, and never held twice: an hour of a channel is 115 MB."""

    def __init__(self) -> None:
        self._samples: Int16 = np.empty(GROWS_BY, np.int16)
        self._size = 0

    def add(self, piece: Int16) -> None:
        """Put *piece* behind what is there."""
        end = self._size + piece.size
        if end > self._samples.size:
            self._samples.resize(max(end, self._samples.size + GROWS_BY), refcheck=False)
        self._samples[self._size : end] = piece
        self._size = end

    def whole(self) -> Int16:
        """Return all of it; nothing can be added any more."""
        self._samples.resize(self._size, refcheck=False)
        return self._samples


def _bounded(blocks: Iterable[Float32], rate: int, where: str) -> Iterator[Float32]:
    """Yield *blocks* (at *rate* Hz) as long as they come to no more than a call may last."""
    frames = 0
    for block in blocks:
        frames += len(block)
        if frames > LONGEST_S * rate:
            raise AudioError(
                f"lasts more than {LONGEST_S // 60} minutes", where=where, remedy="cut it into its calls"
            )
        yield block


def _mended(blocks: Iterable[Float32], where: str, notes: list[str]) -> Iterator[Float32]:
    """Yield *blocks* of float samples within full scale, what is no number as 0; note what was mended.

    Raises AudioError if most samples lie beyond full scale: clipped, they would be noise.
    """
    beyond = no_number = sounding = 0
    for block in blocks:
        finite = np.isfinite(block)
        sound = np.where(finite, block, np.float32(0))
        size = np.abs(sound)
        no_number += int(block.size - np.count_nonzero(finite))
        beyond += int(np.count_nonzero(size > 1))
        sounding += int(np.count_nonzero(size))
        yield np.clip(sound, -1, 1)
    if beyond * 2 > sounding:
        fault, remedy = "most of its floats lie beyond full scale, ±1", "divide by 32768 when writing"
        raise AudioError(fault, where=where, remedy=remedy)
    if beyond:
        notes.append(f"samples beyond full scale, clipped: {beyond}")
    if no_number:
        notes.append(f"samples that are no number, set to 0: {no_number}")
