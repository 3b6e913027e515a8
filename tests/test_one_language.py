"""No shipped file outside ``voice/language`` holds an English word that decides anything.

The rule: no regular expression, and no text that is compared or looked up, holds a word of the deciding lists
of ``voice/language/en``. What is said, told in an error or shown is not compared, so it may hold any word.
"""

from __future__ import annotations

import ast
import re
from textwrap import dedent

import pytest
from shipped import SHIPPED, files, name

from turnbudget.voice.language.language import ENGLISH

DECIDING = frozenset(
    word
    for listed in (
        *("number.words", "number.ordinals", "common.yes", "common.no", "common.thanks"),
        *(
            "when.days",
            "when.months",
            "when.relatives",
            "when.hours",
            "openend.hesitations",
            "openend.always",
        ),
        *("openend.unless_asked", "speaking.stop", "speaking.backchannels", "speaking.fillers"),
        *("speaking.presence", "speaking.negations", "smalltalk.fine", "smalltalk.soft", "filling.denies"),
        *("bank_words.function_words", "words.no_name"),
    )
    for phrase in ENGLISH.words(listed)
    for word in re.findall(r"[a-z']{2,}", phrase)
)
"""Every word of the lists that decide; single letters are no words."""
PATTERNS = frozenset(("compile", "search", "match", "fullmatch", "sub", "split", "findall", "finditer"))
ALLOWED = {
    "agents/check.py": "what the kit says to an agent: nothing is decided by it",
    "agents/form.py": "a value that a yes-or-no slot has, as actions are given it",
    "agents/handoff.py": "likewise",
    "agents/smalltalk.py": "the names of its kinds",
    "turnbudget/commands/doctor.py": "names of states of a part",
    "turnbudget/recorded/beside.py": "names of channels in files",
    "turnbudget/recorded/script.py": "names of events in a file",
    "turnbudget/recorded/wanted.py": "the yardstick of one English corpus, as its paper has it",
    "turnbudget/testing/__init__.py": "names of the module's parts",
    "turnbudget/testing/conversation.py": "what a scripted caller says",
    "turnbudget/testing/stage.py": "what a scripted caller says",
    "voice/call/bargein.py": "names of what a stretch of words means",
    "voice/lines/twilio_messages.py": "names of parameters of a protocol",
    "voice/lines/twilio_webhook.py": "likewise",
    "voice/reading.py": "the words of another library's error",
    "voice/tts/scripted.py": "names of faults",
}
"""Files that may, each with its reason."""
TERMS = frozenset(
    ("text", "time", "number", "day", "name", "there", "last", "first", "one", "two", "in", "on", "at")
)


def held(text):
    """Return the deciding words in the regular expression *text*, without its escapes and names of groups."""
    bare = re.sub(r"\(\?P<\w+>|\\[a-zA-Z]|\(\?[a-z]+\)|\[[^\]]*\]|<[^>]*>", " ", text)
    return sorted(DECIDING.intersection(re.findall(r"(?<![\w'])[a-z']{2,}(?![\w'])", bare)))


def texts(node):
    """Return the texts in the expression *node*."""
    return [
        each.value
        for each in ast.walk(node)
        if isinstance(each, ast.Constant) and isinstance(each.value, str)
    ]


def is_list(text):
    """Say whether *text* is nothing but many words, most of which decide."""
    words = text.split()
    plain = len(words) > 9 and all(re.fullmatch(r"[a-z']+", word) for word in words)
    return plain and sum(word in DECIDING for word in words) > len(words) * 0.7


def faults(source, path):
    """Return what *source*, standing at *path*, decides by words of its own."""
    found = []
    tree = ast.parse(source)
    told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func).split(".")
            if (
                called[-1] == "split"
                and len(words := [*DECIDING & set(" ".join(texts(node.func)).split())]) > 1
            ):
                found += [(node.lineno, word) for word in sorted(words)]
            if called[0] == "re" and called[-1] in PATTERNS and node.args:
                found += [(node.lineno, word) for each in texts(node.args[0]) for word in held(each)]
        elif isinstance(node, ast.Constant) and "\\b" in str(node.value) and id(node) not in told:
            found += [(node.lineno, word) for word in held(node.value)]
        elif isinstance(node, ast.Compare) and not isinstance(node.ops[0], ast.Is | ast.IsNot):
            sides = [
                side
                for side in (node.left, *node.comparators)
                if isinstance(side, ast.Constant | ast.Set | ast.Tuple)
            ]
            found += [
                (node.lineno, text) for side in sides for text in texts(side) if text in DECIDING - TERMS
            ]
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            listed = isinstance(node.value, ast.Set | ast.Tuple | ast.Call) and len(texts(node.value)) > 2
            words = [text for text in texts(node.value) if text in DECIDING - TERMS] if listed else []
            found += [(node.lineno, word) for word in words if len(words) > 1]
            found += [(node.lineno, text) for text in texts(node.value) if is_list(text)]
    return [f"{path}:{line} decides by {word!r}" for line, word in dict.fromkeys(found)]


def test_words_that_decide_stand_with_their_language():
    found = [
        fault
        for path in files(*SHIPPED)
        if not name(path).startswith("voice/language/") and name(path) not in ALLOWED
        for fault in faults(path.read_text("utf-8"), name(path))
    ]
    assert found == []


def test_a_file_that_may_still_has_need_to():
    read = {name(path): path.read_text("utf-8") for path in files(*SHIPPED) if name(path) in ALLOWED}
    assert [path for path in ALLOWED if not faults(read[path], path)] == []


def test_a_word_of_assent_stands_in_one_file():
    """ "yeah" once stood in twelve."""
    folder = next(path for path in files(*SHIPPED) if name(path) == "voice/language/language.py").parent
    data = [path for path in (folder / "en").iterdir() if re.search(r"\byeah\b", path.read_text("utf-8"))]
    assert [path.name for path in data] == ["words.toml"]


@pytest.mark.parametrize(
    "source",
    [
        r'YES = re.compile(r"\b(?:yes|yeah)\b")',
        r'found = re.search(rf"{x} thirteen", text)',
        'if word in {"monday", "friday"}: pass',
        'if words[0] == "nope": pass',
        'FILLERS: Final = frozenset(("uh", "um", "well"))',
        'STOP: Final = words_in("a about also am an and any are as at be been but by")',
        'STOP: Final = frozenset("of the and".split())',
        r'RULES = (Rule(r"\bgood (?:morning|night)\b", "Hello"),)',
    ],
)
def test_it_catches(source):
    assert faults(dedent(source), "agents/bad.py")


@pytest.mark.parametrize(
    "source",
    [
        'say = "Yes, I\'m here."',
        'raise ConfigError("no agent is called so", remedy="say one")',
        r'WORD = re.compile(r"(?P<name>[a-z]+)")',
        'if kind == "repeat": pass',
    ],
)
def test_it_passes(source):
    assert faults(dedent(source), "agents/good.py") == []
