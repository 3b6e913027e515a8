"""The configuration: a TOML file, every key of which has a default and a meaning.

Unknown keys are refused with their line, wrong types with their place. Times are milliseconds here,
for people; :mod:`turnbudget.settings.compose` turns them into microseconds.
"""

from __future__ import annotations

import inspect
import json
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias

import msgspec

from turnbudget.agents.llm import ALONE
from turnbudget.voice.errors import ConfigError
from turnbudget.voice.language.language import ENGLISH, language
from turnbudget.voice.named import is_spec
from turnbudget.voice.reading import toml

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

Ms = Annotated[int, msgspec.Meta(ge=0, le=3_600_000)]
Positive = Annotated[int, msgspec.Meta(ge=1, le=3_600_000)]
Options: TypeAlias = dict[str, str | int | float | bool]
"""What an engine of somebody's own is given when it is made, each by its name."""
RECOGNISERS: Final = ("auto", "moonshine", "vosk", "scripted")
"""What ``[asr] engine`` may be, but for ``module:attribute``."""
DETECTORS: Final = ("auto", "silero", "energy", "scripted")
"""What ``[vad] engine`` may be, but for ``module:attribute``."""
OPINIONS: Final = ("none", "smart-turn")
"""What ``[endpoint] second_opinion`` may be, but for ``module:attribute``."""
VOICES: Final = ("auto", "pyttsx3", "piper", "scripted")
"""What ``[tts] engine`` may be, but for ``module:attribute``."""


def named(key: str, name: str, known: Sequence[str]) -> None:
    """Raise ValueError unless *name* is one of those *known* at *key*, or ``module:attribute``."""
    if name not in known and not is_spec(name):
        raise ValueError(f"{key} is {', '.join(known)} or module:attribute, and not {name!r}")


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table of the file."""

    def __hash__(self) -> int:
        """Return a hash by the values, in which an engine's options count as they do in a comparison."""
        values = (getattr(self, name) for name in self.__struct_fields__)
        return hash(tuple(frozenset(value.items()) if isinstance(value, dict) else value for value in values))


class EndpointTable(Table, frozen=True):
    """``[endpoint]``: how long a silence ends a turn.

    ``silence_ms`` is the usual silence, ``settled_ms`` that behind words that are whole, ``part_ms`` that
    behind a part of an answer (an address without its town); nobody may choose less than ``least_ms`` or,
    but for ``part_ms``, more than ``most_ms``. Voice for ``start_ms`` opens a turn; shorter is a click. Sound
    without a pause is cut after ``longest_ms``, an utterance after ``whole_ms``. A ``second_opinion``
    ("smart-turn", or one of your own as ``module:attribute``) hears the pause itself: where the words are
    whole and the voice is not, the usual silence is kept. ``docs/endpointing.md`` draws them on one axis.
    """

    silence_ms: Positive = 550
    settled_ms: Positive = 150
    least_ms: Positive = 100
    most_ms: Positive = 1_500
    part_ms: Positive = 3_000
    start_ms: Positive = 90
    longest_ms: Positive = 10_000
    whole_ms: Positive = 30_000
    second_opinion: str = "none"

    def __post_init__(self) -> None:
        named("endpoint.second_opinion", self.second_opinion, OPINIONS)


class KeypadTable(Table, frozen=True):
    """``[keypad]``: when keys that were pressed are one input.

    At the ``terminator``, ``gap_ms`` after the last key, or when they are ``most``: 1 for a menu.
    """

    terminator: str = "#"
    gap_ms: Positive = 2_000
    most: Annotated[int, msgspec.Meta(ge=1, le=128)] = 32


class BargeInTable(Table, frozen=True):
    """``[barge_in]``: what the caller's sound over ours means.

    Voice of unknown meaning holds the reply after ``pause_ms``, a word with so much voice cuts it after
    ``cut_ms``, voice without a word after ``wordless_ms``. A held reply goes on after ``resume_ms`` of
    silence, sooner if the text is there, and after ``hold_ms`` in any case. ``stop`` and ``backchannels``
    are added to those of the ``language``, '' for that of the whole file.
    """

    language: str = ""
    pause_ms: Positive = 150
    cut_ms: Positive = 300
    wordless_ms: Positive = 1_200
    resume_ms: Positive = 700
    hold_ms: Positive = 2_500
    stop: tuple[str, ...] = ()
    backchannels: tuple[str, ...] = ()


class AsrTable(Table, frozen=True):
    """``[asr]``: who transcribes; ``text_ms`` bounds the wait for a final text after the endpoint.

    The ``engine`` is auto, moonshine, vosk, scripted or, for one of your own, ``module:attribute`` (see
    docs/engines.md), which is given the arguments ``options``; ``model`` is a folder of Vosk's. A
    scripted one has the final text ``scripted_final_ms`` after the pause, and a word in the partial text
    ``scripted_lag_ms`` after it was said.
    """

    engine: str = "auto"
    model: str = ""
    text_ms: Positive = 500
    scripted_final_ms: Ms = 80
    scripted_lag_ms: Ms = 200
    options: Options = {}

    def __post_init__(self) -> None:
        named("asr.engine", self.engine, RECOGNISERS)


class VadTable(Table, frozen=True):
    """``[vad]``: who detects speech.

    The ``engine`` is auto, silero, energy, scripted or, for one of your own, ``module:attribute``, which is
    given the arguments ``options``, once a call.
    """

    engine: str = "auto"
    options: Options = {}

    def __post_init__(self) -> None:
        named("vad.engine", self.engine, DETECTORS)


class TtsTable(Table, frozen=True):
    """``[tts]``: who speaks, and how fast (words a minute).

    The ``engine`` is auto, pyttsx3, piper, scripted or, for one of your own, ``module:attribute``, which is
    given the arguments ``options``; ``voice`` is one of the engine's, '' its own choice; ``rate`` is
    how fast, both of ours alone; a scripted render takes ``scripted_ms``.
    """

    engine: str = "auto"
    voice: str = ""
    rate: Annotated[int, msgspec.Meta(ge=50, le=500)] = 180
    scripted_ms: Ms = 40
    options: Options = {}

    def __post_init__(self) -> None:
        named("tts.engine", self.engine, VOICES)


class PhraseTable(Table, frozen=True):
    """``[phrases]``: sentences rendered before the call; '' for no notice, greeting or re-prompt.

    The ``notice`` comes first, and is heard to its end whatever the caller says; then the ``greeting``. The
    ``bridge`` sounds when no answer is in time, ``pardon`` when no word was heard, the ``apology`` when no
    answer came behind the bridge either, and the ``reprompt`` after ``idle_ms`` of silence.
    """

    notice: str = ""
    greeting: str = ENGLISH.says("greeting")
    bridge: str = ENGLISH.says("bridge")
    pardon: str = ENGLISH.says("pardon")
    apology: str = ENGLISH.says("apology")
    reprompt: str = ENGLISH.says("reprompt")


class RuleTable(Table, frozen=True):
    """``[[responder.rules]]``: one rule.

    ``when`` is a regular expression that is looked for in what was heard, ``say`` the reply, and
    ``delay_ms`` how long it is waited for, as for a look-up.
    """

    when: str
    say: str
    delay_ms: Ms = 0


class OtherwiseTable(Table, frozen=True):
    """``[responder.otherwise]``: what to say when no rule matches, and after ``delay_ms``."""

    say: str = "I see. Please tell me more."
    delay_ms: Ms = 0


class ResponderTable(Table, frozen=True):
    """``[responder]``: the scripted responder.

    Its ``rules`` are tried from the top; to add some, write one [[responder.rules]] after another in place of
    the empty list, each with ``when``, ``say`` and ``delay_ms``, as ``demos/bank/table.toml`` does.
    An ``engine`` (``module:attribute``) answers instead of the table: it makes each call's responder, and is
    given the arguments ``options``, and ``backend=`` if ``[llm]`` names one.
    """

    rules: tuple[RuleTable, ...] = ()
    otherwise: OtherwiseTable = OtherwiseTable()
    engine: str = ""
    options: Options = {}

    def __post_init__(self) -> None:
        if self.engine and not is_spec(self.engine):
            raise ValueError(f"responder.engine is module:attribute, and not {self.engine!r}")


class LlmTable(Table, frozen=True):
    """``[llm]``: who answers instead of the table, if ``backend`` is not ''.

    ``simulated:PRESET`` (``turnbudget presets``) or a file of ``turnbudget probe``, ``openai:URL`` for any
    OpenAI-compatible server, ``anthropic:MODEL``, ``responses:MODEL``; keys come from the environment. One of
    your own is ``module:attribute``, and is given ``model=`` where a model is named. The ``model`` is by
    default the server's only one. Beside this, the fast one, there may be a ``second``, the
    accurate one (``second_model``), and a ``mode``: fast or accurate, with the other to fall back upon; race,
    the second if its first sentence is whole by ``checkpoint_ms``; hedge, the second as well when the first
    is late. An answer has ``max_tokens`` at most; ``system`` is the prompt.
    """

    backend: str = ""
    model: str = ""
    second: str = ""
    second_model: str = ""
    mode: Literal["fast", "accurate", "race", "hedge"] = "fast"
    checkpoint_ms: Positive = 450
    max_tokens: Annotated[int, msgspec.Meta(ge=1, le=4096)] = 80
    system: str = ALONE


class SpeculationTable(Table, frozen=True):
    """``[speculation]``: work ahead of the caller's last word, replies rendered before they are asked for.

    ``on`` is true, false or "auto": where somebody answers who can tell whether the caller has ended, a
    council, an LLM, a responder of your own or a reply bank, and not for the scripted table. ``bank`` is a
    file of ``turnbudget mine``; ``threshold`` are the odds from which its reply is said without asking
    anybody else; ``memory_mb`` and ``disk_mb`` bound the shelf (0: nothing on disk).
    """

    on: bool | Literal["auto"] = "auto"
    bank: str = ""
    threshold: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.4
    memory_mb: Annotated[int, msgspec.Meta(ge=1, le=16_384)] = 64
    disk_mb: Annotated[int, msgspec.Meta(ge=0, le=1_048_576)] = 256


class CouncilTable(Table, frozen=True):
    """``[council]``: ``open`` names a function (``module:name``) that returns what makes each call's council.

    The function is given ``backend=`` if ``[llm]`` names one. A name alone is a council that is shipped:
    ``bank``.
    """

    open: str = ""


class Config(Table, frozen=True):
    """The whole file, in milliseconds; margin_ms is how much sooner than detected speech may have ended.

    Callers and we speak the ``language``. Something must sound within ``budget_ms`` of the caller's last
    voiced sample, and the answer, behind a bridge, within ``patience_ms``. Voice without a word is asked
    about from ``murmur_ms`` on. After ``idle_ms`` of silence the caller is asked whether they are there,
    ``reprompts`` times at most; then, or after ``longest_call_s`` (seconds), we hang up.
    """

    language: str = "en"
    budget_ms: Positive = 800
    margin_ms: Ms = 80  # on 67 turns of recorded telephone speech the detector was 89 ms late at most
    patience_ms: Positive = 5_000
    murmur_ms: Positive = 200
    idle_ms: Positive = 8_000
    reprompts: Annotated[int, msgspec.Meta(ge=0, le=20)] = 2
    longest_call_s: Annotated[int, msgspec.Meta(ge=1, le=86_400)] = 14_400
    endpoint: EndpointTable = EndpointTable()
    barge_in: BargeInTable = BargeInTable()
    keypad: KeypadTable = KeypadTable()
    vad: VadTable = VadTable()
    asr: AsrTable = AsrTable()
    tts: TtsTable = TtsTable()
    phrases: PhraseTable = PhraseTable()
    responder: ResponderTable = ResponderTable()
    llm: LlmTable = LlmTable()
    council: CouncilTable = CouncilTable()
    speculation: SpeculationTable = SpeculationTable()

    @property
    def speculates(self) -> bool:
        """Whether anything is done ahead of the caller's last word."""
        on = self.speculation.on
        answers = self.council.open or self.responder.engine or self.llm.backend
        return bool(answers or self.speculation.bank) if on == "auto" else on

    def __post_init__(self) -> None:
        try:
            language(self.language)
        except ConfigError as error:
            raise ValueError(f"{error.what}; {error.remedy}") from None
        if self.patience_ms <= self.budget_ms:
            raise ValueError("patience_ms must be longer than budget_ms: an answer may follow a bridge")
        if self.endpoint.silence_ms + self.margin_ms >= self.budget_ms:
            raise ValueError("endpoint.silence_ms and margin_ms eat the whole budget_ms")
        if not self.endpoint.least_ms <= self.endpoint.silence_ms <= self.endpoint.most_ms:
            raise ValueError("endpoint.silence_ms must lie between endpoint.least_ms and endpoint.most_ms")


def load(path: Path | None) -> Config:
    """Return the configuration at *path*, or the default; raises ConfigError, one line."""
    return Config() if path is None else toml(path, Config, remedy="see `turnbudget config`")


def dump(config: Config) -> str:
    """Return *config* as the text of a file that :func:`load` reads, each table with its meaning."""
    return "\n".join(_lines("", config)).strip() + "\n"


def _lines(name: str, table: Table) -> Iterator[str]:
    """Yield the lines of *table*: its meaning, its own keys, then the tables in it."""
    yield from _meaning(table)
    yield from _keys(name, table)


def _keys(name: str, table: Table) -> Iterator[str]:
    values = {field.name: getattr(table, field.name) for field in msgspec.structs.fields(table)}
    for key, value in values.items():
        if isinstance(value, int | float | str) or value == ():
            yield f"{key} = {_literal(value)}"
        elif isinstance(value, dict):
            given = ", ".join(f"{json.dumps(name)} = {_literal(each)}" for name, each in value.items())
            yield f"{key} = {{{given}}}"
    for key, value in values.items():
        inner = f"{name}.{key}" if name else key
        if isinstance(value, Table):
            yield from ("", f"[{inner}]", *_lines(inner, value))
        elif isinstance(value, tuple):
            for number, row in enumerate(value):
                yield from ("", f"[[{inner}]]", *(_keys(inner, row) if number else _lines(inner, row)))


def _meaning(table: Table) -> Iterator[str]:
    """Yield what the class of *table* says of itself, as comments."""
    text = inspect.cleandoc(type(table).__doc__ or "").rpartition("]``: ")[2].replace("``", "")
    return (f"# {line}" for line in text.splitlines() if line)


def _literal(value: float | str | tuple[()]) -> str:
    """Return *value* in TOML, which writes it as JSON does but for one character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
