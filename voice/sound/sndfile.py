"""libsndfile as a decoder, behind types and errors of ours.

It is asked only about what begins like a format it knows, for on anything else it guesses, and what it says
of lengths is not believed: sound is read piece by piece until there is no more.
"""

from __future__ import annotations

import contextlib
import io
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
import soundfile

from turnbudget.voice.errors import AudioError, ComponentError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy.typing as npt

    from turnbudget.voice.sound.audio import Float32, Int16

PIECE: Final = 65_536
"""Frames decoded at a time."""
KNOWN: Final = (b"RIFF", b"RIFX", b"RF64", b"riff.", b"fLaC", b"FORM", b"OggS", b".snd", b"caff", b"ID3")
"""How the files begin that it is asked about: WAV of three kinds, W64, FLAC, AIFF, Ogg, AU, CAF, MP3."""
CONVERT: Final = "convert it to WAV or FLAC"
"""What to do with a file that cannot be read."""

_NAMES: Final[Mapping[str, str]] = {
    "PCM_S8": "8-bit PCM",
    "PCM_U8": "8-bit PCM",
    "PCM_16": "16-bit PCM",
    "PCM_24": "24-bit PCM",
    "PCM_32": "32-bit PCM",
    "FLOAT": "32-bit float",
    "DOUBLE": "64-bit float",
    "ULAW": "mu-law",
    "ALAW": "A-law",
}
_QUIETEST: Final = 8
"""Sample that A-law, which has no zero, writes silence as."""


class Decoder:
    """A file in memory, open for decoding."""

    def __init__(self, blob: bytes | memoryview, where: str, **raw: Any) -> None:
        """Open *blob*, which says what it is, or of which *raw* does (subtype, channels, samplerate).

        Raises AudioError that names *where* the file lies.
        """
        self._where = where
        layout = {"format": "RAW", "endian": "LITTLE", **raw} if raw else {}
        try:
            self._file = soundfile.SoundFile(_Bytes(blob), **layout)
        except soundfile.LibsndfileError as error:
            raise self._refusal(error) from None
        self.rate: int = self._file.samplerate
        self.channels: int = self._file.channels
        self.encoding = _NAMES.get(self._file.subtype, self._file.subtype_info)
        self.floats = self._file.subtype in {"FLOAT", "DOUBLE"}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def blocks(self, notes: list[str]) -> Iterator[Float32]:
        """Yield frames by channels; where the file breaks off a note says so, and what came before stands."""
        frames = 0
        while True:
            try:
                block = self._file.read(PIECE, dtype="float32", always_2d=True)
            except soundfile.LibsndfileError as error:
                if not frames:
                    raise self._refusal(error) from None
                notes.append(f"breaks off after {frames} frames ({_fault(error)})")
                return
            if not len(block):
                return
            frames += len(block)
            yield block

    def _refusal(self, error: soundfile.LibsndfileError) -> AudioError:
        return AudioError(f"cannot be read ({_fault(error)})", where=self._where, remedy=CONVERT)


def g711_tables(law: str) -> tuple[Int16, npt.NDArray[np.uint8]]:
    """Return the sample of each of 256 codes, and the code of each of 65,536 samples (by unsigned index).

    Raises ComponentError if silence does not come out as silence.
    """
    form = {"format": "RAW", "subtype": law}
    every_code = io.BytesIO(bytes(range(256)))
    decode, _ = soundfile.read(every_code, dtype="int16", channels=1, samplerate=8_000, **form)
    every_sample = np.arange(65_536, dtype=np.uint16).view(np.int16)
    written = io.BytesIO()
    soundfile.write(written, every_sample, 8_000, **form)
    encode = np.frombuffer(written.getvalue(), np.uint8)
    quiet = int(decode[0xFF if law == "ULAW" else 0xD5])
    if abs(quiet) > _QUIETEST or encode.size != every_sample.size:
        raise ComponentError(
            f"libsndfile reads {_NAMES[law]} silence as {quiet}", remedy="reinstall soundfile"
        )
    return decode, encode


class _Bytes(io.BytesIO):
    """A file in memory for libsndfile, which asks for places before the start if a header is damaged."""

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go there if there is such a place, else stay; libsndfile sees from the answer which."""
        with contextlib.suppress(ValueError, OverflowError):
            return super().seek(offset, whence)
        return self.tell()


def _fault(error: soundfile.LibsndfileError) -> str:
    return str(error.error_string).rstrip(".").replace("\n", " ")
