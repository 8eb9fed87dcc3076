"""``mcp``: answer agents, by the Model Context Protocol."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import closing

import click

from livedata.cli.context import DEFAULT_OWNER
from livedata.cli.fast_start import ended_by_ctrl_c
from livedata.cli.output.streams import print_message, print_text
from livedata.config import load
from livedata.mcp.access import DatasetAccess
from livedata.mcp.setup import config_for, skill
from livedata.mcp.tools import READING, WRITING, Tool
from livedata.model.errors import LivedataError
from livedata.model.problem import Remedy
from livedata.store.database.store import Database, Store

# Help names them without the module that knows their forms.
CLIENTS = ("claude-code", "claude-desktop", "cursor", "vscode", "codex")


@click.command()
@click.option("--owner", default=DEFAULT_OWNER, show_default=True, help="Whose datasets.")
@click.option("--datasets", metavar="D,D,...", default="", help="Only these; else all.")
@click.option("--write", is_flag=True, help="Also let it look at pages, and make and run datasets.")
@click.option(
    "--print-config",
    "client",
    type=click.Choice(CLIENTS),
    help="Print what to paste into the settings of an agent, and exit.",
)
@click.option(
    "--print-skill", is_flag=True, help="Print a SKILL.md for agents that use the shell, and exit."
)
@ended_by_ctrl_c()
def mcp(owner: str, datasets: str, write: bool, client: str | None, print_skill: bool) -> None:
    """Answer agents about your tables.

    By the Model Context Protocol, on stdin and stdout: an agent starts this command itself, and
    --print-config says how. Without --write it reads, and changes nothing; with it an agent cannot
    delete or accept anything either.
    """
    names = [name.strip() for name in datasets.split(",") if name.strip()]
    if write and names:
        raise click.UsageError("--write makes datasets, which --datasets does not name: give one.")
    if print_skill:
        print_text(skill())
        return
    settings = load()
    tools = (*READING, *WRITING) if write else READING
    if write:
        # Who makes tables may begin with none, as `livedata dataset create` does.
        with closing(Store(settings.database_url)) as store, store.writing():
            pass
    with closing(Database(settings.database_url)) as database:
        access = DatasetAccess.of(database, owner, settings.timezone, names)
        if client is not None:
            print_text(config_for(client, settings, _options(owner, names, write=write)))
            return
        if sys.stdin.isatty():
            print_message(
                "An agent speaks here, so nothing happens at a keyboard: Ctrl-C ends it. "
                "livedata mcp --print-config claude-code prints what to give to one."
            )
        _serve(access, tools)


def _options(owner: str, names: Sequence[str], *, write: bool) -> list[str]:
    options = [] if owner == DEFAULT_OWNER else ["--owner", owner]
    options += ["--write"] if write else []
    return [*options, "--datasets", ",".join(names)] if names else options


def _serve(access: DatasetAccess, tools: Sequence[Tool]) -> None:
    try:
        # Imported here because all of it is an extra, and without it a sentence says how to get it.
        import anyio

        from livedata.mcp.server import make_server, serve_stdio
    except ImportError as error:
        raise LivedataError(
            "livedata mcp needs a part of livedata that is not installed.",
            remedies=(Remedy("install_mcp"),),
        ) from error
    anyio.run(serve_stdio, make_server(access, tools))
