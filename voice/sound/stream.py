"""A leg of live audio, in pieces cut anywhere: bytes in, internal samples out, and the way back.

A piece may end inside a sample, and may be a whole WAV file where bare samples were promised: the spare byte
is carried, the header never sounds. The resampler's state is carried too, so that however a stream is cut,
what comes out is the same. All of it is short enough for the event loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turnbudget.voice.errors import AudioError
from turnbudget.voice.sound import audio, wav
from turnbudget.voice.sound.encoding import called, to_float
from turnbudget.voice.sound.resampler import Resampler

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from turnbudget.voice.sound.audio import Int16

LONGEST_HEADER: Final = 65_536
"""Bytes waited for before a header without samples is a fault."""
_MAGIC: Final = 12
"""Length of what tells a WAV file: RIFF, its size, WAVE (bytes)."""

_ENCODINGS: Final[Mapping[tuple[int, int], str]] = {
    (wav.PCM, 1): "pcm8",
    (wav.PCM, 2): "pcm16",
    (wav.FLOAT, 4): "float32",
    (wav.ALAW, 1): "alaw",
    (wav.MULAW, 1): "mulaw",
}


class Stream:
    """Turns a leg's bytes into samples in the internal form."""

    def __init__(self, rate: int, encoding: str = "pcm16") -> None:
        """Take bytes at *rate* Hz in an *encoding* of ``encoding``; raises AudioError."""
        self._promised = (rate, encoding)
        self.reset()

    @property
    def pending_us(self) -> int:
        """Sound held back (µs): what this leg adds to every wait."""
        return self._resampler.pending_us

    def feed(self, data: bytes) -> Int16:
        """Take the next bytes; return the samples that are ready.

        A WAV header that *data* begins with is taken off, and its rate and encoding go; raises AudioError if
        they are not those of a mono stream.
        """
        return audio.join([self._take(part) for part in self._unwrap.feed(data)])

    def flush(self) -> Int16:
        """Return what is still held back, and be ready for another utterance."""
        rest = audio.join([self._take(self._unwrap.end()), self._resampler.flush()])
        self.reset()
        return rest

    def reset(self) -> None:
        """Forget all that was fed."""
        self._unwrap = _Unwrap()
        self._tune(*self._promised)

    def _tune(self, rate: int, name: str) -> None:
        self._spare = b""
        self._encoding = called(name)
        self._rate = rate
        self._resampler = Resampler(rate, audio.RATE, live=True)

    def _take(self, part: wav.Header | bytes) -> Int16:
        if isinstance(part, wav.Header):
            return self._follow(part.format)
        data = self._spare + part
        whole = len(data) - len(data) % self._encoding.width
        self._spare = data[whole:]
        return self._resampler.feed(to_float(self._encoding.decode(data[:whole])))

    def _follow(self, form: wav.Format) -> Int16:
        """Adopt what a header says; return what was held back of the sound before it."""
        name = _ENCODINGS.get((form.codec, form.width))
        if name is None or form.channels != 1:
            self.reset()
            raise AudioError(
                f"a WAV of {form.channels} × {8 * form.width} bits, codec {form.codec}, in a mono stream",
                remedy="send mono 16-bit PCM",
            )
        self._spare = b""
        if (form.rate, name) == (self._rate, self._encoding.name):
            return audio.silence(0)
        before = self._resampler.flush()
        self._tune(form.rate, name)
        return before


class Downstream:
    """Turns samples in the internal form into a leg's bytes."""

    def __init__(self, rate: int, encoding: str = "pcm16") -> None:
        """Give bytes at *rate* Hz in an *encoding* of ``encoding``; raises AudioError."""
        self._encoding = called(encoding)
        self._resampler = Resampler(audio.RATE, rate, live=True)

    @property
    def pending_us(self) -> int:
        """Sound held back (µs): what this leg adds to every wait."""
        return self._resampler.pending_us

    def feed(self, samples: Int16) -> bytes:
        """Take the next samples; return the bytes that are ready."""
        return self._encoding.encode(self._resampler.feed(to_float(samples)))

    def flush(self) -> bytes:
        """Return what is still held back, and be ready for another sound."""
        return self._encoding.encode(self._resampler.flush())

    def reset(self) -> None:
        """Drop what is held back, since it was cut before it was heard."""
        self._resampler.reset()


class _Unwrap:
    """Takes bytes of bare sound and WAV files apart into headers and sound."""

    def __init__(self) -> None:
        self._held = b""
        self._fresh = True
        self._left: int | None = None
        """Declared bytes of sound left in the current WAV; ``None`` outside one, or if none are declared."""
        self._pad = 0

    def feed(self, data: bytes) -> Iterator[wav.Header | bytes]:
        """Yield the headers and the sound in *data*, in their order."""
        data, self._held = self._held + data, b""
        while data:
            if wav.begins(data):
                header = wav.read_header(data)
                if header is None:
                    self._hold(data)
                    return
                yield header
                data = data[header.start :]
                self._fresh, self._left, self._pad = False, header.size or None, header.size % 2
            elif self._fresh and _may_begin(data):
                self._held = data
                return
            elif self._left == 0 and (end := self._behind(data)):
                data, self._pad = data[end:], 0
            else:
                sound = data[: self._left or len(data)]
                yield sound
                data = data[len(sound) :]
                self._fresh = False
                self._left = self._left - len(sound) if self._left else None

    def end(self) -> bytes:
        """Return what was held back in case it began a header, and did not."""
        held, self._held = self._held, b""
        return b"" if wav.begins(held) else held

    def _behind(self, data: bytes) -> int:
        """Return how many bytes at the start of *data*, behind a WAV's samples, are no sound."""
        pad = self._pad if data.startswith(b"\0") else 0
        return wav.chunk_end(data, pad) or pad

    def _hold(self, data: bytes) -> None:
        if len(data) > LONGEST_HEADER:
            raise AudioError(f"a WAV header of over {LONGEST_HEADER} bytes", remedy="send bare samples")
        self._held = data


def _may_begin(data: bytes) -> bool:
    start, kind = data[:4], data[8:12]
    return (
        len(data) < _MAGIC
        and (b"RIFF".startswith(start) or b"RF64".startswith(start))
        and b"WAVE".startswith(kind)
    )
