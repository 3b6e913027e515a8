"""Moonshine base-en on ONNX Runtime: sound in, text out, on the thread that asks.

A decode can be given up from another thread at any moment: inside a graph by ONNX Runtime's own
terminate flag, between tokens by ours.

A token costs 3 ms, and a sound that went on has mostly the tokens it had before. So these are put to the
model as a draft, all in one step, and as many are kept as it would have chosen itself: the text is the one
it would have found without. (Leviathan, Kalman and Matias, *Fast Inference from Transformers via
Speculative Decoding*, 2023; here the draft is the decode before.)

A sound's pauses are left out of what the model hears, and long sound is cut there. Levels only, no voice
detection: in noise that hides the pauses nothing is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from turnbudget.voice.asr import moonshine_convert as made
from turnbudget.voice.errors import MissingEngine
from turnbudget.voice.sound import audio
from turnbudget.voice.sound.audio import FRAME, RATE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from turnbudget.voice.sound.audio import Int16

SHORTEST: Final = audio.RATE // 10
"""Shortest sound that the model takes (samples; 100 ms)."""
TAIL: Final = audio.RATE // 5
"""Silence added after the sound, without which last words are lost (samples; 200 ms). Without it the WER is
24 % instead of 17 %, with 100 ms of a recording's own silence after each utterance."""
TOKENS_A_SECOND: Final = 6.5
"""Most tokens a second of sound: the model's authors' bound against endless repetition."""
_NEAR: Final = 4
"""Tokens from an error within which a draft may be taken up again."""
_BEGIN: Final = 1
_END: Final = 2


_Values: TypeAlias = "dict[str, npt.NDArray[np.float32]]"


class Abandoned(Exception):  # noqa: N818 - an outcome, not a failure
    """The decode was given up."""


class Leave:
    """Permission to decode, which can be taken back from any thread."""

    def __init__(self) -> None:
        self.taken_back = False
        self._options: Any = None

    def take_back(self) -> None:
        """Have the decode end at the next operator, or before it begins."""
        self.taken_back = True
        if self._options is not None:
            self._options.terminate = True

    def options(self) -> Any:
        """Return the run options of the next graph; raises :class:`Abandoned`."""
        if self._options is None:
            import onnxruntime as ort  # noqa: PLC0415 - an extra, imported when used

            self._options = ort.RunOptions()
        if self.taken_back:
            raise Abandoned
        return self._options


class MoonshineModel:
    """The three graphs and the vocabulary; about 0.4 s to load."""

    def __init__(self, folder: Path, threads: int = 1) -> None:
        try:
            import onnxruntime as ort  # noqa: PLC0415 - an extra, imported when used
        except ImportError as error:
            raise MissingEngine(
                "onnxruntime is not installed", remedy="pip install 'turnbudget[moonshine]'"
            ) from error
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self._encoder, self._first, self._later = (
            ort.InferenceSession(str(folder / name), options, providers=["CPUExecutionProvider"])
            for name in (made.ENCODER, made.FIRST, made.LATER)
        )
        self._outputs = [output.name for output in self._first.get_outputs()]
        self._later_inputs = {given.name for given in self._later.get_inputs()}
        self._vocabulary = vocabulary((folder / made.TOKENS).read_bytes())

    def read(self, sound: Int16, leave: Leave, draft: list[int]) -> str:
        """Return what is said in *sound*, '' if nothing; raises :class:`Abandoned`.

        *draft* is the tokens that are likely, none at first; those found take their place.

        Inaudible sound, and less than 0.1 s, never reaches the model. Pauses are left out, for at a long
        one it gives up: of 100 overlapping stretches of 8 callers' recordings with pauses inside, 18 gave
        '' with the pauses and 6 without, and the WER fell from 28 % to 10.5 %. If even so it finds
        nothing, it hears each part alone (3 of the 6 remain).
        """
        if sound.size < SHORTEST or audio.first_audible(sound) is None:
            return ""
        spoken = parts(sound)
        text = self._read(audio.join(spoken), leave, draft)
        if text or len(spoken) == 1:
            return text
        return " ".join(filter(None, (self._read(part, leave, []) for part in spoken)))

    def _read(self, sound: Int16, leave: Leave, draft: list[int]) -> str:
        """Read *sound* with silence behind it, and without if that finds nothing, as short words need."""
        wave = sound.astype(np.float32)
        wave /= 32_768
        return self._decode(np.pad(wave, (0, TAIL)), leave, draft) or self._decode(wave, leave, draft)

    def _decode(self, wave: npt.NDArray[np.float32], leave: Leave, draft: list[int]) -> str:
        try:
            tokens = self._tokens(wave, leave, draft)
        except Exception:
            if leave.taken_back:
                raise Abandoned from None
            raise
        if tokens:
            draft[:] = tokens
        return self._text(tokens)

    def _tokens(self, wave: npt.NDArray[np.float32], leave: Leave, draft: Sequence[int] = ()) -> list[int]:
        """Decode greedily to the end token or the bound; what *draft* has right takes no step."""
        (heard,) = self._encoder.run(None, {"input_values": wave[None]}, leave.options())
        most = max(3, int(wave.size / audio.RATE * TOKENS_A_SECOND) + 3)
        tokens, at = [_BEGIN], 0
        past: _Values = {}
        while tokens[-1] != _END and len(tokens) <= most:
            guessed = draft[at : at + most - len(tokens)]
            chosen, past = self._step([tokens[-1], *guessed], heard, past, leave)
            right = _alike(guessed, chosen)
            tokens += chosen[: right + 1]
            past = _without(past, len(guessed) - right)
            at = _again(draft, at + right, tokens[-1])
        return [token for token in tokens if token > _END]

    def _step(
        self, tokens: list[int], heard: npt.NDArray[np.float32], past: _Values, leave: Leave
    ) -> tuple[list[int], _Values]:
        """Return the token chosen after each of *tokens*, and the state for the next step."""
        given = {"input_ids": np.array([tokens], np.int64), "encoder_hidden_states": heard, **past}
        graph = self._later if past else self._first
        if past:
            given = {name: value for name, value in given.items() if name in self._later_inputs}
        out = dict(zip(self._outputs, graph.run(None, given, leave.options()), strict=True))
        chosen: list[int] = out.pop("logits")[0].argmax(-1).tolist()
        # The encoder's keys never change after the first step; only the decoder's grow.
        news = {_past(name): value for name, value in out.items() if not past or _grows(name)}
        return chosen, past | news

    def _text(self, tokens: list[int]) -> str:
        pieces = b"".join(self._vocabulary[token] for token in tokens if token > _END)
        return pieces.decode(errors="ignore").replace("\u2581", " ").strip()


def vocabulary(data: bytes) -> list[bytes]:
    """Return the pieces in ``tokenizer.bin``: each a length (two bytes from 128 on) and that many bytes."""
    pieces, at = [], 0
    while at < len(data):
        size, at = data[at], at + 1
        if size >= 128:  # noqa: PLR2004 - the format's mark of a second byte
            size, at = data[at] * 128 + size - 128, at + 1
        pieces.append(data[at : at + size])
        at += size
    return pieces


def _alike(guessed: Sequence[int], chosen: Sequence[int]) -> int:
    """Return how many of *guessed* equal *chosen*, from the beginning."""
    pairs = enumerate(zip(guessed, chosen, strict=False))
    return next((place for place, (guess, choice) in pairs if guess != choice), len(guessed))


def _again(draft: Sequence[int], at: int, token: int) -> int:
    """Return where *draft* goes on after *token*, which may not be the one it has *at*."""
    near = range(max(0, at - _NEAR), min(len(draft), at + _NEAR + 1))
    found = (place for place in near if draft[place] == token)
    return min(found, key=lambda place: abs(place - at), default=at) + 1


def _without(past: _Values, last: int) -> _Values:
    """Return *past* without the *last* tokens."""
    if not last:
        return past
    return {name: value[:, :, :-last] if _grows(name) else value for name, value in past.items()}


def _grows(name: str) -> bool:
    return ".decoder." in name


def _past(name: str) -> str:
    return name.replace("present", "past_key_values")


LONGEST: Final = 12 * RATE
"""Length beyond which sound is cut (samples; 12 s)."""
DEPTH_DB: Final = 30
"""How far below the loud frames a frame is quiet (dB)."""
_LOUD: Final = 0.95
"""Quantile of the frames' powers that counts as loud."""
_AROUND: Final = 10
"""Frames kept before and after what is not quiet (200 ms)."""
_PLACE: Final = 5
"""Frames in a quiet place (100 ms)."""


def parts(sound: Int16) -> list[Int16]:
    """Return the parts of *sound* between its pauses, with up to 200 ms of each pause beside them.

    A pause between two parts is thus 0.4 s or longer; without one, there is one part.
    """
    power = _power(sound)
    if power.size <= 2 * _AROUND:
        return [sound]
    loud = power >= np.quantile(power, _LOUD) * 10 ** (-DEPTH_DB / 10)
    kept = np.convolve(loud, np.ones(2 * _AROUND + 1))[_AROUND : _AROUND + loud.size] > 0
    edges = np.flatnonzero(np.diff(kept, prepend=False, append=False)) * FRAME
    if edges.size and edges[-1] == kept.size * FRAME:
        edges[-1] = sound.size
    return [sound[began:ended] for began, ended in edges.reshape(-1, 2)]


def quietest(sound: Int16) -> int:
    """Return the middle of the quietest 100 ms of *sound*."""
    power = _power(sound)
    if power.size < _PLACE:
        return sound.size // 2
    places = np.convolve(power, np.ones(_PLACE), "valid")
    return int(places.argmin()) * FRAME + _PLACE * FRAME // 2


def cuts(sound: Int16) -> list[int]:
    """Return where to cut *sound* so that no piece is longer than 12 s, each at a pause if there is one.

    A cut depends only on the sound up to 12 s after the cut before it, so cuts stay where they are as
    more sound comes, and the text of a piece before the last cut is final.
    """
    found: list[int] = []
    began = 0
    while sound.size - began > LONGEST:
        half = began + LONGEST // 2
        began = half + quietest(sound[half : began + LONGEST])
        found.append(began)
    return found


def _power(sound: Int16) -> npt.NDArray[np.float32]:
    """Return the mean square of each whole frame."""
    count = sound.size // FRAME
    frames = sound[: count * FRAME].reshape(count, FRAME).astype(np.float32)
    power: npt.NDArray[np.float32] = np.square(frames).mean(axis=1, dtype=np.float32)
    return power
