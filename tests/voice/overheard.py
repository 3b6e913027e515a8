"""What the tests of barge-in measure of a whole call: when we fell silent, and that the account holds."""

from __future__ import annotations

from stage import check_account

from turnbudget.voice.sound import audio
from turnbudget.voice.time.clock import MS
from turnbudget.voice.tts.scripted import ScriptedSynthesizer

EIGHT = "one two three four five six seven eight nine ten " * 2 + "and so on."
"""Some 8 s of talk."""


def quiet_by(played, instant, *, within):
    """The sound that went on at *instant* ended within so long; return its end."""
    [ended] = [end for began, end in played.sounds if began < instant + 60 * MS and end > instant]
    assert ended - instant <= within, f"{(ended - instant) / MS} ms"
    return ended


async def spoken_us(text):
    """How long our voice takes for *text*."""
    return audio.us((await ScriptedSynthesizer().render(text)).samples.size)


def began(played, word):
    return next(at for text, at, _ in played.words if text == word)


def checked(played, late_us=0):
    """Every account holds, and no frame leaves before the one before it has sounded.

    But the frame that fades a reply out, and those that make up for one that was *late_us* itself.
    """
    for row in played.rows:
        check_account(row)
    due = 0
    for at, _ in played.line.sent:
        if at not in played.line.cleared:
            assert at >= due - late_us
            due = max(due, at) + audio.FRAME_US
    return played
