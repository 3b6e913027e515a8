"""What libsndfile does not read, decoded by FFmpeg through PyAV: AAC, M4A, MP4, 3GP, Matroska and WebM."""

from __future__ import annotations

import io
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from turnbudget.voice.errors import AudioError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turnbudget.voice.sound.audio import Float32

BOX: Final = b"ftyp"
"""What stands at the fifth byte of an M4A, MP4 or 3GP file."""
STARTS: Final = (b"\x1aE\xdf\xa3", b"\xff\xf1", b"\xff\xf9", b"ADIF")
"""How Matroska and WebM, and AAC without a container, begin."""
REMEDY: Final = "pip install 'turnbudget[av]', or convert it to WAV or FLAC"


def begins(blob: bytes) -> bool:
    """Say whether *blob* begins like a file that PyAV is asked about."""
    return blob[4:8] == BOX or blob.startswith(STARTS)


class Compressed:
    """A file in memory, open for decoding; the first of its audio streams is read."""

    floats = True

    def __init__(self, blob: bytes, where: str) -> None:
        """Open *blob*; raises AudioError that names *where* the file lies, also where PyAV is missing."""
        if find_spec("av") is None:
            raise AudioError("needs PyAV to be read", where=where, remedy=REMEDY)
        import av  # noqa: PLC0415 - an extra, imported when used

        self._where = where
        self._failure = av.error.FFmpegError
        try:
            self._file: Any = av.open(io.BytesIO(blob))
            self._stream = self._file.streams.audio[0]
            self.rate = int(self._stream.codec_context.sample_rate)
            self.channels = int(self._stream.codec_context.channels)
            self.encoding = str(self._stream.codec_context.name)
            self._resampler = av.AudioResampler(format="fltp", rate=self.rate)
        except (av.error.FFmpegError, IndexError, ValueError) as error:
            raise AudioError(
                f"holds no sound that can be read ({error})", where=where, remedy=REMEDY
            ) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def blocks(self, notes: list[str]) -> Iterator[Float32]:
        """Yield frames by channels; where the file breaks off a note says so, and what came before stands."""
        frames = 0
        try:
            for decoded in self._file.decode(self._stream):
                for piece in self._resampler.resample(decoded):
                    block: Float32 = np.ascontiguousarray(piece.to_ndarray().T)
                    frames += len(block)
                    yield block
        except self._failure as error:
            if not frames:
                raise AudioError(f"cannot be decoded ({error})", where=self._where, remedy=REMEDY) from None
            notes.append(f"breaks off after {frames} frames ({error})")
