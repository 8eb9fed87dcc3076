"""The command line: help, version, completion and usage errors import click alone."""

from __future__ import annotations

import gc
import sys
from collections.abc import Mapping
from importlib import import_module
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any

# What an import allocates stays: collections in the middle of it find nothing, and cost --help a
# seventh of its time.
gc.disable()

import click  # noqa: E402

from livedata import __version__  # noqa: E402
from livedata.cli.interrupt import ended_by_ctrl_c  # noqa: E402

gc.enable()

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from click.shell_completion import CompletionItem
    from typing_extensions import override
else:

    def override(method: Any) -> Any:
        """Mark a method for type checkers, without a package as dear as a tenth of click."""
        return method


COMMANDS: dict[str, tuple[str, str]] = {
    "demo": (
        "livedata.cli.commands:demo",
        "Show what livedata does, without any set-up or network.",
    ),
    "init": ("livedata.cli.commands:init", "Look at a page, and write a source.toml for its list."),
    "preview": (
        "livedata.cli.commands:preview",
        "Try a source: what it finds, and what a Run would say.",
    ),
    "dataset": (
        "livedata.cli.dataset.commands:dataset",
        "Create, list, change and export datasets.",
    ),
    "research": (
        "livedata.cli.research.commands:research",
        "Make a table from a question, with a model.",
    ),
    "run": ("livedata.cli.commands:run", "Run datasets now."),
    "runs": ("livedata.cli.runs.commands:runs", "Look at Runs, and accept held ones."),
    "rows": ("livedata.cli.rows.commands:rows", "Look at rows and their evidence, and edit them."),
    "changes": (
        "livedata.cli.changes.commands:changes",
        "Print the history of a dataset, or follow it.",
    ),
    "serve": (
        "livedata.cli.commands:serve",
        "Serve pages and the HTTP API, follow the schedules, and execute Runs.",
    ),
    "open": ("livedata.cli.commands:open_pages", "Look at the datasets in a browser."),
    "worker": (
        "livedata.cli.commands:worker",
        "Execute Runs and follow the schedules, without the API.",
    ),
    "notice": ("livedata.cli.notices.commands:notice", "Be told of changes and of trouble."),
    "feed": (
        "livedata.cli.notices.commands:feed",
        "Print the address of a feed of a dataset's changes.",
    ),
    "key": ("livedata.cli.accounts.commands:key", "Create, list and revoke API keys."),
    "credits": ("livedata.cli.accounts.commands:credits_", "Grant credits."),
    "usage": (
        "livedata.cli.accounts.commands:usage",
        "Show the balance and the ledger of the last 30 days.",
    ),
    "backup": ("livedata.cli.upkeep.commands:backup", "Copy the whole store into one file."),
    "check": (
        "livedata.cli.upkeep.commands:check",
        "Judge the store, and say what is wrong.",
    ),
    "doctor": (
        "livedata.cli.upkeep.commands:doctor",
        "Say how the whole is doing, and what needs you.",
    ),
    "prune": ("livedata.cli.upkeep.commands:prune", "Delete what is old."),
}
"""Name -> (where the command lives, its help line). Named as text, so that nothing is imported."""

# \b tells click to keep the lines of the table as they are.
EPILOG = """\b
Exit codes:
  0  all well
  1  an error; or a Run was given back to the queue (SIGTERM)
  2  wrong usage
  3  a Run failed, or Ctrl-C cancelled it
  4  a Run was blocked by its site
  5  a Run is held for you to look at
  6  no credits
  7  a Run of that dataset is already in progress
  8  the store cannot be reached
  9  doctor: something needs a person
130  Ctrl-C while no Run was in progress, or a second Ctrl-C
With several Runs: the first of 8, 1, 6, 3, 4, 5, 7 that occurred.
"""


class LazyGroup(click.Group):
    """Tells its commands by name and help line, and imports the one that is used.

    Every error that leaves a command leaves here as a sentence and an exit code.
    """

    @override
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        for word in args:
            # Python hands bytes that are no text over as lone surrogates; nothing can store them.
            if any("\ud800" <= character <= "\udfff" for character in word):
                raise click.UsageError(f"An argument is not valid UTF-8: {word!r}.", ctx)
        return super().parse_args(ctx, args)

    @override
    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        # A name and a help line are enough for --help, and for completion below.
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][1]) for name in sorted(COMMANDS)])

    @override
    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        names = [name for name in sorted(COMMANDS) if name.startswith(incomplete)]
        options = click.Command.shell_complete(self, ctx, incomplete)
        return [CompletionItem(name, help=COMMANDS[name][1]) for name in names] + options

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
            # Only an error needs the modules that write errors.
            from livedata.cli.exit_codes import report_error

            raise click.exceptions.Exit(report_error(error)) from error


class LazyCommands(Mapping[str, click.Command]):
    """The commands by name; each is imported when it is asked for, by a person or by a tool."""

    @override
    def __getitem__(self, name: str) -> click.Command:
        if name not in COMMANDS:
            raise KeyError(name)
        return load(name)

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    @override
    def __len__(self) -> int:
        return len(COMMANDS)


def load(name: str) -> click.Command:
    """Import the command called `name`."""
    command: click.Command = load_from(COMMANDS[name][0])
    return command


def load_from(place: str) -> Any:
    """Import what stands at `module:name`; the collector never looks at what imports allocate."""
    module, name = place.split(":")
    gc.disable()
    try:
        with ended_by_ctrl_c():
            # By itself first: a package that is imported on the way to a module stands ten frames
            # deeper, and Scrapy's import looks at each frame (spiders/__init__.py).
            import_module(module.partition(".")[0])
            loaded = getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        raise _shadowed(module) or error from None
    # Modules live as long as the process, so no later collection needs to visit them.
    gc.freeze()
    gc.enable()
    return loaded


def _shadowed(module: str) -> click.ClickException | None:
    """The error that a package of somebody else is imported under the name of ours, if one is."""
    name = module.partition(".")[0]
    folders = list(getattr(sys.modules.get(name), "__path__", []))
    ours = __path__[0].removesuffix("livedata/cli") + name
    if not folders or ours in folders:
        return None
    return click.ClickException(
        f"Another package named {name} stands in front of livedata's own: {folders[0]}. Leave that "
        "folder or PYTHONPATH, or install livedata into an environment of its own."
    )


@click.group(
    cls=LazyGroup,
    commands=LazyCommands(),
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
