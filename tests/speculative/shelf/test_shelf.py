"""What is on the shelf is found by its text alone, within its bound, until it is removed."""

from __future__ import annotations

import dataclasses

import pytest
from laws import each
from voices import DONE, NAME, THANKS, Voice, shelved, speech

from turnbudget.speculative.shelf.memory import OVERHEAD, checked
from turnbudget.voice.errors import TtsError
from turnbudget.voice.sound import audio

LONG = f"{THANKS} {NAME}"
ALIKE = [
    NAME.replace("first", word)
    for word in ("third", "sixth", "ninth", "tenth", "fifth", "other", "inner", "outer", "maybe")
]
"""Texts that take as much room as another."""
ROOM = speech(NAME).samples.nbytes + OVERHEAD


async def test_what_was_kept_is_found_and_what_was_not_is_not():
    async with shelved() as shelf:
        assert shelf.find(NAME) is None
        kept = await shelf.keep(NAME)
        assert shelf.find(NAME) is kept
        assert kept.text == NAME


async def test_only_white_space_may_differ():
    """CA-01: at this level a text that differs in a letter, a case or a mark is another text."""
    async with shelved() as shelf:
        await shelf.keep(NAME)
        assert shelf.find(f"  {NAME.replace(' ', chr(10))} ") is not None
        for other in (
            NAME.lower(),
            NAME[:-1],
            NAME.replace("first", "1st"),
            f"{NAME}?",
            NAME.replace("'", "’") + "!",
        ):
            assert shelf.find(other) is None


async def test_a_longer_text_is_kept_in_the_pieces_that_a_turn_renders():
    async with shelved() as shelf:
        sound = await shelf.keep(LONG)
        assert [shelf.find(piece).text for piece in (THANKS, NAME)] == [THANKS, NAME]
        assert shelf.find(LONG) is None
        assert shelf.has(LONG)
        assert sound.samples.size > shelf.find(THANKS).samples.size + shelf.find(NAME).samples.size
        assert audio.first_audible(sound.samples) == sound.onset


async def test_a_text_is_there_only_if_all_of_it_is():
    async with shelved() as shelf:
        await shelf.keep(THANKS)
        assert shelf.has(THANKS)
        assert not shelf.has(LONG)
        assert not shelf.has("")
        assert shelf.entries()[0].hits == 0


async def test_nothing_is_kept_that_nobody_asked_to_keep():
    """CA-10: an apology, and whatever else is rendered past the shelf, is never on it."""
    voice = Voice()
    async with shelved(voice) as shelf:
        await voice.render("I'm sorry, I can't answer that just now.")
        shelf.find("I'm sorry, I can't answer that just now.")
        shelf.opening("I'm sorry, I can't answer that just now.")
        await shelf.fetch("I'm sorry, I can't answer that just now.")
        assert shelf.entries() == []


@each(
    ("text", "found", "rest"),
    [
        (LONG, THANKS, NAME),
        (THANKS, THANKS, ""),
        ("Okay, that is 412 dollars.", "Okay,", "that is 412 dollars."),
        ("Okay, then, that is it.", "Okay, then,", "that is it."),
        ("Thank you, Maria, that is it.", None, None),
        ("Okay then, that is it.", None, None),
        (f"Well. {THANKS}", None, None),
    ],
)
async def test_an_opening_is_the_longest_beginning_that_ends_where_a_clause_does(text, found, rest):
    async with shelved() as shelf:
        for piece in (THANKS, "Okay,", "Okay, then,"):
            shelf._memory.put(shelf.key(piece), await shelf.render(shelf.key(piece)))
        opening = shelf.opening(text)
        assert (opening[0].text, opening[1]) == (found, rest) if found else opening is None


async def test_the_bound_is_kept_and_what_was_not_asked_for_longest_goes():
    texts = ALIKE[:4]
    async with shelved(most_bytes=3 * ROOM) as shelf:
        for text in texts[:3]:
            await shelf.keep(text)
        shelf.find(texts[0])
        await shelf.keep(texts[3])
        assert [shelf.holds(text) for text in texts] == [True, False, True, True]
        assert shelf.statistics()[1] <= 3 * ROOM


async def test_a_sound_larger_than_the_shelf_is_played_but_not_held():
    async with shelved(most_bytes=ROOM // 2) as shelf:
        assert (await shelf.keep(NAME)).text == NAME
        assert shelf.statistics() == (0, 0)


async def test_an_entry_can_be_listed_and_removed_and_is_rendered_anew():
    """CA-09: without a restart."""
    voice = Voice()
    async with shelved(voice) as shelf:
        await shelf.keep(LONG)
        shelf.find(NAME)
        listed = {
            entry.text: (entry.hits, entry.origin, entry.in_memory, entry.on_disk)
            for entry in shelf.entries()
        }
        assert listed == {NAME: (1, "rendered", True, False), THANKS: (0, "rendered", True, False)}
        assert await shelf.remove(NAME)
        assert not await shelf.remove(NAME)
        assert shelf.find(NAME) is None
        await shelf.keep(NAME)
        assert voice.rendered == [THANKS, NAME, NAME]


async def test_a_reply_is_removed_by_what_was_said():
    """CA-09: a row of the log names the whole reply; its pieces go."""
    async with shelved() as shelf:
        await shelf.keep(LONG)
        assert await shelf.remove(LONG)
        assert shelf.entries() == []


@each(
    "spoiled",
    [
        {"samples": audio.silence(0), "onset": 0},
        {"samples": audio.silence(16_000)},
        {"samples": speech(NAME).samples[:2_000]},
        {"samples": audio.join([speech(NAME).samples] * 60)},
        {"samples": speech(NAME).samples.astype("float32")},
        {"onset": 9},
    ],
    ids=["empty", "silent", "too short", "too long", "no int16", "wrong onset"],
)
async def test_only_checked_audio_is_kept(spoiled):
    """CA-08: an empty, silent or implausible render is raised to who asked, and not kept."""

    class Spoiling(Voice):
        async def render(self, text, budget=None):
            return dataclasses.replace(await super().render(text, budget), **spoiled)

    async with shelved(Spoiling()) as shelf:
        with pytest.raises(TtsError, match="no speech to keep"):
            await shelf.keep(NAME)
        with pytest.raises(TtsError, match="no speech to keep"):
            await shelf.for_call().keep(NAME)
        assert shelf.entries() == []


async def test_what_is_shared_cannot_be_written_to():
    mine = speech(NAME)
    mine = dataclasses.replace(mine, samples=mine.samples.copy())
    kept = checked(mine)
    mine.samples[:] = 0
    assert kept.samples.any()
    with pytest.raises(ValueError, match="read-only"):
        kept.samples[0] = 1


async def test_nothing_to_speak_is_an_error():
    async with shelved() as shelf:
        for nothing in ("", " \n", "…", "```code```"):
            with pytest.raises(TtsError, match="nothing to speak"):
                await shelf.keep(nothing)


async def test_a_voice_that_changes_finds_nothing_it_did_not_say_and_going_back_is_a_hit():
    """CA-05: voice, rate and version stand in the voice's name."""
    voice = Voice(voice="joe@180, 1.0")
    async with shelved(voice) as shelf:
        first = await shelf.keep(NAME)
        for other in ("amy@180, 1.0", "joe@200, 1.0", "joe@180, 1.1"):
            voice.voice = other
            assert shelf.find(NAME) is None
            assert shelf.opening(NAME) is None
            assert shelf.entries() == []
            assert (await shelf.keep(NAME)).voice == other
        voice.voice = "joe@180, 1.0"
        assert shelf.find(NAME) is first
        voice.name = "another engine"
        assert shelf.find(NAME) is None


async def test_a_voice_that_changes_during_a_render_keeps_nothing():
    """CA-05: nobody knows which of the two was heard."""
    voice = Voice()

    class Turncoat(Voice):
        async def render(self, text, budget=None):
            self.voice = "another"
            return await super().render(text, budget)

    voice = Turncoat()
    async with shelved(voice) as shelf:
        with pytest.raises(TtsError, match="changed"):
            await shelf.keep(DONE)
        assert shelf.statistics() == (0, 0)


async def test_a_warm_up_tells_how_far_it_is():
    told = []
    async with shelved() as shelf:
        await shelf.warm([LONG, DONE], lambda *step: told.append(step))
        assert told == [(0, 2, LONG), (1, 2, DONE), (2, 2, "warm")]
        assert shelf.has(LONG)
        assert shelf.has(DONE)


async def test_a_warm_up_passes_over_a_text_that_cannot_be_rendered_and_names_it():
    async with shelved(Voice(faults={"name": 1})) as shelf:
        await shelf.warm([NAME, DONE, "", THANKS])
        assert [entry.text for entry in shelf.entries()] == [DONE, THANKS]
        assert len(shelf.faults()) == 1
        assert NAME in shelf.faults()[0]


async def test_a_warm_up_ends_when_the_voice_itself_has_failed():
    voice = Voice(faults={"": 99})
    async with shelved(voice) as shelf:
        with pytest.raises(TtsError):
            await shelf.warm([f"This is sentence {number}." for number in range(50)])
        assert len(voice.rendered) == 3


async def test_a_warm_up_never_pushes_out_what_is_likelier():
    voice = Voice()
    async with shelved(voice, most_bytes=3 * ROOM) as shelf:
        await shelf.keep(DONE)
        await shelf.warm(ALIKE)
        assert [shelf.holds(text) for text in ALIKE] == [True] * 3 + [False] * 6
        assert "full after 3 of 9" in shelf.faults()[0]
        assert len(voice.rendered) == 5
