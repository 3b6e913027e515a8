"""Local agreement: of texts that change until late, what two decodes in a row agree on can be believed.

Macháček, Dabre and Bojar, *Turning Whisper into Real-Time Transcription System* (2023): LocalAgreement-2.
"""

from __future__ import annotations


class Agreement:
    """What can be believed of a text that is decoded again and again.

    It grows, and gives way only when two decodes in a row agree on something else.
    """

    def __init__(self) -> None:
        self.text = ""
        self._latest: list[str] = []

    def hear(self, text: str) -> None:
        """Take the newest decode of a sound that goes on."""
        words = text.split()
        agreed = words[: _alike(self._latest, words)]
        believed = self.text.split()
        self._latest = words
        if len(agreed) >= len(believed) or _alike(agreed, believed) < len(agreed):
            self.text = " ".join(agreed)

    def settle(self, text: str) -> None:
        """Take a decode of a sound that has paused: no word in it is cut short, all of it is believed."""
        self._latest = text.split()
        self.text = text


def _alike(one: list[str], other: list[str]) -> int:
    """Return how many words the two have in common from the beginning, case and punctuation apart."""
    count = 0
    for mine, theirs in zip(one, other, strict=False):
        if _bare(mine) != _bare(theirs):
            break
        count += 1
    return count


def _bare(word: str) -> str:
    return "".join(letter for letter in word.casefold() if letter.isalnum())
