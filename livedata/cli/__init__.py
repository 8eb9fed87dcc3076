"""The command line: help, version, completion and usage errors import click alone."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any

# First of all: it imports click in its own way.
from livedata.cli.fast_start import OURS, folder_of, load, override, own_folder

# isort: split
import click

from livedata import __version__
from livedata.cli.commands import COMMANDS, Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from click.shell_completion import CompletionItem

# \b tells click to keep the lines of the table as they are.
EPILOG = """\b
Exit codes:
  0  all well
  1  an error; or a Run was given back to the queue (SIGTERM)
  2  wrong usage
  3  a Run failed, or would (init, preview); or Ctrl-C cancelled it
  4  a Run was blocked by its site, or would be (init, preview)
  5  a Run is held for you to look at
  6  no credits
  7  a Run of that dataset is already in progress
  8  the store cannot be reached
  9  doctor: something needs a person
 10  apply --plan: something would change
130  Ctrl-C while no Run was in progress, or a second Ctrl-C
With several Runs: the first of 8, 1, 6, 3, 4, 5, 7 that occurred.
"""


class Commands(Mapping[str, click.Command]):
    """The commands of a group by name; each is imported when it is asked for."""

    def __init__(self, table: Table) -> None:
        self.table = table

    @override
    def __getitem__(self, name: str) -> click.Command:
        line, inside = self.table[name]
        if isinstance(inside, str):
            command: click.Command = load(inside)
            return command
        return LazyGroup(name, inside, help=line)

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(self.table)

    @override
    def __len__(self) -> int:
        return len(self.table)


class LazyGroup(click.Group):
    """Tells its commands by name and help line, and imports the one that is used."""

    def __init__(self, name: str | None, table: Table, **attributes: Any) -> None:
        super().__init__(name, **attributes)
        self.commands: Any = Commands(table)
        self._lines = [(name, table[name][0]) for name in sorted(table)]

    @override
    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        # As click has it, but without the commands.
        most = formatter.width - 6 - max(len(name) for name, _ in self._lines)
        short = [
            (name, click.Command(name, help=line).get_short_help_str(most))
            for name, line in self._lines
        ]
        with formatter.section("Commands"):
            formatter.write_dl(short)

    @override
    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        options = click.Command.shell_complete(self, ctx, incomplete)
        commands = [CompletionItem(name, help=line) for name, line in self._lines]
        return [each for each in commands if each.value.startswith(incomplete)] + options


class CommandLine(LazyGroup):
    """All commands. Every error that leaves one leaves here as a sentence and an exit code."""

    @override
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        for word in args:
            # Python hands bytes that are no text over as lone surrogates; nothing can store them.
            if any("\ud800" <= character <= "\udfff" for character in word):
                raise click.UsageError(f"An argument is not valid UTF-8: {word!r}.", ctx)
        return super().parse_args(ctx, args)

    @override
    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        # Whole lines: this is the page on which a person looks for a command.
        with formatter.section("Commands"):
            formatter.write_dl(self._lines)

    @override
    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.Abort, click.exceptions.Exit, BrokenPipeError):
            # click itself ends the command for these. A pipe that is closed early, as by `head`,
            # has all that it wants: the command ends without a word.
            raise
        except KeyboardInterrupt:
            # The code that shells give a command which Ctrl-C ended.
            raise click.exceptions.Exit(130) from None
        except Exception as error:
            if (shadowed := _shadowed(error)) is not None:
                raise shadowed from None
            # Only an error needs the modules that write errors.
            from livedata.cli.exit_codes import report_error

            raise click.exceptions.Exit(report_error(error)) from error


def _shadowed(error: Exception) -> click.ClickException | None:
    """The error that a package of somebody else stands in front of ours, if that caused `error`."""
    if not isinstance(error, ModuleNotFoundError) or error.name is None:
        return None
    package = error.name.partition(".")[0]
    folder = folder_of(package)
    if folder is None or package not in OURS or folder == own_folder(package):
        return None
    return click.ClickException(
        f"Another package named {package} stands in front of livedata's own: {folder}. Leave "
        "that folder or PYTHONPATH, or install livedata into an environment of its own."
    )


@click.group(
    cls=CommandLine,
    table=COMMANDS,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="livedata")
def cli() -> None:
    """Tables from websites that you can trust tomorrow: declared, checked, every change kept."""


def main(args: Sequence[str] | None = None) -> None:
    """Run one command and exit with its code: the entry point."""
    for stream in (sys.stdout, sys.stderr):
        # A program that calls this may have put a stream of its own in place.
        if isinstance(stream, TextIOWrapper):
            # A terminal or a pipe that cannot show a character must not stop the command.
            stream.reconfigure(errors="backslashreplace")
    cli(args, prog_name="livedata")
