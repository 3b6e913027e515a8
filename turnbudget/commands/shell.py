"""What the command line says when something cannot be done: one line on stderr, and an exit code.

Exit codes: 0 done; 1 the run missed the mark that ``--fail-over`` sets; 2 something given cannot be used,
be it one file of many, or an engine asked for is not installed; 3 a component or we ourselves failed, or
what was to be printed could not be; 130 Ctrl-C, SIGTERM, or a terminal that was closed; 141 nobody reads any
more what is printed (``| head``).
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import io
import os
import signal
import sys
import threading
import traceback
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, NoReturn, ParamSpec, TypeVar

import click

from turnbudget.runs.names import legible
from turnbudget.voice.errors import MissingEngine, TurnbudgetError, UsageError
from turnbudget.voice.named import is_spec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound="Callable[..., Any]")

MISSED: Final = 1
"""Exit code of a run that missed the mark of ``--fail-over``."""
USAGE: Final = 2
"""Exit code for something given that cannot be used."""
BROKEN: Final = 3
"""Exit code for a component, or ourselves, that failed."""
INTERRUPTED: Final = 130
"""Exit code after Ctrl-C, SIGTERM, or a terminal that was closed."""
UNREAD: Final = 141
"""Exit code where nobody reads any more what is printed."""
UNPRINTED: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""Error numbers with which standard output fails."""
GONE: Final = "nobody reads any more what is printed"
"""What is said where nobody reads any more what is printed."""


def one_line(command: Callable[P, R]) -> Callable[P, R]:
    """Turn our errors, and Ctrl-C, into one line on stderr and an exit code; a defect keeps its traceback."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            with _ended_in_order():
                return command(*args, **kwargs)
        except TurnbudgetError as error:
            theirs = isinstance(error, UsageError | MissingEngine)
            stop(str(error), USAGE if theirs else BROKEN)
        except KeyboardInterrupt:
            stop("ended by Ctrl-C before there was anything to report", INTERRUPTED)
        except (click.ClickException, click.Abort, click.exceptions.Exit):
            raise
        except SystemExit as left:
            if isinstance(left.__context__, BrokenPipeError):  # of which rich makes a missed mark
                stop(GONE, UNREAD)
            raise
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            stop(GONE, UNREAD)
        except Exception as error:  # noqa: BLE001 - left alone, Python would say that a mark was missed
            if isinstance(error, OSError) and not error.filename and error.errno in UNPRINTED:
                stop(f"what was to be printed cannot be written ({error.strerror})", BROKEN)
            traceback.print_exc()
            stop("this is a defect of turnbudget; please report it with the lines above", BROKEN)

    return run


@contextlib.contextmanager
def _ended_in_order() -> Iterator[None]:
    """Have what else may end a command end it as Ctrl-C does, so that what it has done is written.

    A signal that somebody has a use for, or that is to be passed over (``nohup``), stays as it is; and all of
    them do where Ctrl-C is to be passed over, as a shell has it for its jobs in the background.
    """
    numbers = [number for name in ("SIGTERM", "SIGHUP") if (number := getattr(signal, name, None))]
    ours = threading.current_thread() is threading.main_thread()
    ours = ours and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    ending = [number for number in numbers if ours and signal.getsignal(number) is signal.SIG_DFL]
    for number in ending:
        signal.signal(number, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        yield
    finally:
        for number in ending:
            signal.signal(number, signal.SIG_DFL)


def print_anywhere() -> None:
    """Have a terminal without a sign of ours show another in its place."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def stop(fault: str, code: int) -> NoReturn:
    """Say what is wrong and leave."""
    say(fault)
    sys.exit(code)


def say(fault: str) -> None:
    """Put *fault* on stderr: one line."""
    click.echo(f"turnbudget: {legible(' '.join(fault.split()))}", err=True)


class Taught(click.Command):
    """A command that shows examples as they were written, line by line, and its help also on ``-h``."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Take what any command takes."""
        super().__init__(*args, **kwargs)
        # Its own, not the group's: click keeps the option that it first made, were it for the command alone.
        self.context_settings.setdefault("help_option_names", ["-h", "--help"])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples below the options."""
        del ctx
        if self.epilog:
            with formatter.section("Examples"):
                formatter.write("".join(f"  {line}\n" for line in self.epilog.splitlines()))


def engine_option(flag: str, known: Sequence[str], said: str) -> Callable[[F], F]:
    """Return an option that names an engine: one of *known*, or somebody's own as ``module:attribute``."""
    names = f"{', '.join(known)} or module:attribute" if known else "module:attribute"
    metavar = f"[{'|'.join(known)}|MODULE:NAME]" if known else "MODULE:NAME"

    def checked(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
        if value is not None and value not in known and not is_spec(value):
            wrong = f"{value!r} is not {names}"
            raise click.BadParameter(wrong, ctx, param)
        return value

    return click.option(flag, metavar=metavar, callback=checked, help=said)


class Teaching(click.Group):
    """A group of commands with examples; what is heavy to import is imported when it is called for."""

    command_class = Taught

    def later(self, name: str, spec: str, summary: str) -> None:
        """Add the command that *spec* (``module:name``) names, listed with *summary* and not yet imported."""
        self.add_command(_Later(name, spec, summary))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of that name itself, imported."""
        command = super().get_command(ctx, cmd_name)
        return command.imported() if isinstance(command, _Later) else command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands, for which none is imported."""
        shown = [(name, self.commands[name]) for name in self.list_commands(ctx)]
        limit = formatter.width - 6 - max(len(name) for name, _ in shown)
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.get_short_help_str(limit)) for name, command in shown])


class _Later(click.Command):
    """The place of a command in its group, until it is called for."""

    def __init__(self, name: str, spec: str, summary: str) -> None:
        super().__init__(name, short_help=summary)
        self._spec = spec

    def imported(self) -> click.Command:
        """Return the command itself."""
        module, _, attribute = self._spec.partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command
