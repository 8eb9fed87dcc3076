"""``mcp``: answer agents, by the Model Context Protocol; and what a person gives them for that."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from importlib.resources import files
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

import click
import tomli_w
from msgspec import Struct
from msgspec.structs import replace

from livedata.api.auth import KeyUsageRecorder, RequestRates, authenticate
from livedata.api.responses import Unauthenticated
from livedata.api.server import address_of, ending_on_signals, listen
from livedata.cli.context import DEFAULT_OWNER, address_option
from livedata.cli.fast_start import ended_by_ctrl_c
from livedata.cli.output.streams import print_message, print_text
from livedata.config import Settings, load
from livedata.mcp.access import DatasetAccess
from livedata.mcp.tools import READING, WRITING, Tool
from livedata.model.errors import LivedataError
from livedata.model.problem import Remedy
from livedata.rules.network.installation import hosts
from livedata.store.database.store import Database, Store
from livedata.worker.log import configure

if TYPE_CHECKING:
    from livedata.mcp.http import Admit

_NAME: Final = "livedata"


def config_for(client: str, settings: Settings, options: Sequence[str]) -> str:
    """What to paste into the settings of an agent: JSON or TOML alone."""
    # An agent has another PATH and another folder, and none of the settings of this shell: so the
    # interpreter and the home are absolute. What is secret stays out, but for that of the store.
    given = {name: value for name, value in os.environ.items() if _is_given(name, value)}
    command = {
        "command": sys.executable,
        # It is started in a folder of anybody's files, and none of these is a module of ours.
        "args": ["-P", "-m", "livedata", "mcp", *options],
        "env": {**given, "LIVEDATA_HOME": str(settings.home.resolve())},
    }
    return CLIENTS[client](command)


def _is_given(name: str, value: str) -> bool:
    is_secret = name.endswith(("_KEY", "_PASSWORD")) or (name == "LIVEDATA_PROXY" and "@" in value)
    return name.startswith("LIVEDATA_") and not is_secret


def skill() -> str:
    """A file SKILL.md for agents that use the shell."""
    return (files("livedata.mcp") / "SKILL.md").read_text(encoding="utf-8")


def _servers(command: Mapping[str, Any]) -> str:
    return json.dumps({"mcpServers": {_NAME: command}}, indent=2, ensure_ascii=False)


def _vscode(command: Mapping[str, Any]) -> str:
    return json.dumps({"servers": {_NAME: {"type": "stdio", **command}}}, indent=2)


def _codex(command: Mapping[str, Any]) -> str:
    return tomli_w.dumps({"mcp_servers": {_NAME: command}}).rstrip()


CLIENTS: Final[Mapping[str, Callable[[Mapping[str, Any]], str]]] = {
    "claude-code": _servers,
    "claude-desktop": _servers,
    "cursor": _servers,
    "vscode": _vscode,
    "codex": _codex,
}
"""The agents whose settings are known: the first three share a form."""


class _Offer(Struct, frozen=True):
    """What agents are offered: the tools, for all datasets of an owner or for those of some names.

    `owner` is None where each request has a key that says whose they are.
    """

    owner: str | None
    names: Sequence[str]
    write: bool
    sites: str

    @property
    def tools(self) -> Sequence[Tool]:
        """The tools, in their order."""
        return (*READING, *WRITING) if self.write else READING

    def narrowed(self, access: DatasetAccess) -> DatasetAccess:
        """The same datasets, of which agents may do what is offered."""
        return replace(access, sites=self.sites, writes=self.write)

    @property
    def options(self) -> list[str]:
        """What asks a command for the same."""
        options = [] if self.owner in {None, DEFAULT_OWNER} else ["--owner", str(self.owner)]
        options += ["--write"] if self.write else []
        options += ["--sites", self.sites] if self.sites else []
        return [*options, "--datasets", ",".join(self.names)] if self.names else options


@click.command()
@click.option("--owner", default=DEFAULT_OWNER, show_default=True, help="Whose datasets.")
@click.option("--datasets", metavar="D,D,...", default="", help="Only these; else all.")
@click.option("--write", is_flag=True, help="Also let it look at pages, and make and run datasets.")
@click.option(
    "--sites",
    metavar="HOST,...",
    help="With --write: it reads these hosts alone, such as shop.example.",
)
@address_option(
    "--http", "Answer at this address instead, whoever has a key; port 0 takes a free one."
)
@click.option(
    "--print-config",
    "client",
    type=click.Choice(CLIENTS),
    help="Print what to paste into the settings of an agent, and exit.",
)
@click.option(
    "--print-skill", is_flag=True, help="Print a SKILL.md for agents that use the shell, and exit."
)
@click.pass_context
@ended_by_ctrl_c()
def mcp(
    context: click.Context,
    owner: str,
    datasets: str,
    write: bool,
    sites: str | None,
    http: tuple[str, int] | None,
    client: str | None,
    print_skill: bool,
) -> None:
    """Answer agents about your tables.

    By the Model Context Protocol, on stdin and stdout: an agent starts this command itself, and
    --print-config says how. Without --write it reads, and changes nothing; with it an agent cannot
    delete or accept anything either. With --http agents elsewhere ask at /mcp, each with a key of
    `livedata key create` and about the datasets of its owner.
    """
    names = [name.strip() for name in datasets.split(",") if name.strip()]
    if write and names:
        raise click.UsageError("--write makes datasets, which --datasets does not name: give one.")
    if print_skill:
        print_text(skill())
        return
    settings = load()
    offer = _Offer(owner, names, write, _narrowed(settings, sites, write=write))
    if client is not None:
        _print_config(settings, offer, client, elsewhere=http is not None)
        return
    if write:
        _make_store(settings)
    if http is None:
        _serve_stdio(settings, offer)
        return
    if context.get_parameter_source("owner") is click.core.ParameterSource.COMMANDLINE:
        raise click.UsageError(
            "--owner says nothing with --http: the key of each request says whose datasets it is "
            "about."
        )
    _serve_http(settings, http, replace(offer, owner=None))


def _narrowed(settings: Settings, sites: str | None, *, write: bool) -> str:
    """The hosts of ``--sites``, as they are compared. Raises Invalid, UsageError for wrong ones."""
    if sites is None:
        return ""
    if not write:
        raise click.UsageError("--sites narrows what --write may read: without it nothing is read.")
    # Imported late: most who start this command name no sites.
    from livedata.rules.network.targets import entries, holds

    hosts = sorted(entries(sites, "--sites has"))
    # None would mean all: an empty variable of a script must not open what it was to narrow.
    if not hosts:
        raise click.UsageError("--sites names no host; give one such as shop.example.")
    if only := settings.targets.only:
        outside = [host for host in hosts if not holds(only, host)]
        if outside:
            raise click.UsageError(
                f"--sites has {outside[0]}, which is none of the hosts that may be read: "
                "LIVEDATA_ONLY_HOSTS would have to hold it too."
            )
    return ",".join(hosts)


def _print_config(settings: Settings, offer: _Offer, client: str, *, elsewhere: bool) -> None:
    """Print what starts a server; no store is opened for it, and none is made."""
    if elsewhere:
        raise click.UsageError("--print-config is about an agent here: leave --http out.")
    print_text(config_for(client, settings, offer.options))


def _make_store(settings: Settings) -> None:
    """Make a store if there is none: who makes tables may begin with none, as at a shell."""
    with closing(Store(settings.database_url)) as store, store.writing():
        pass


def _serve_stdio(settings: Settings, offer: _Offer) -> None:
    with closing(Database(settings.database_url)) as database:
        owner = offer.owner or DEFAULT_OWNER
        access = offer.narrowed(DatasetAccess.of(database, owner, settings.timezone, offer.names))
        with _needing_mcp():
            import anyio

            from livedata.mcp.server import make_server, serve_stdio
        if sys.stdin.isatty():
            print_message(
                "An agent speaks here, so nothing happens at a keyboard: Ctrl-C ends it. "
                "livedata mcp --print-config claude-code prints what to give to one."
            )
        anyio.run(serve_stdio, make_server(access, offer.tools))


def _serve_http(settings: Settings, address: tuple[str, int], offer: _Offer) -> None:
    with _needing_mcp():
        import anyio

        from livedata.mcp.http import PATH, AgentEndpoint, AgentServer
    configure(settings, as_json=False)
    with (
        closing(Store(settings.database_url, limits=settings.limits)) as store,
        closing(KeyUsageRecorder(store)) as usage,
    ):
        # Keys are in a store: one without any would refuse everybody, and say nothing here.
        store.require()
        known = hosts(address[0], settings.public_url, settings.hosts)
        admit = _admitting(store, usage, settings, offer)
        endpoint = AgentEndpoint(admit, known, settings.public_url, offer.tools)
        with closing(listen(*address, "--http")) as listening:
            server = AgentServer(endpoint, listening)
            with ending_on_signals(server.stop):
                print_message(f"livedata answers agents at {address_of(listening)}{PATH}")
                anyio.run(server.run)


def _admitting(store: Store, usage: KeyUsageRecorder, settings: Settings, offer: _Offer) -> Admit:
    rates = RequestRates()

    def admit(header: str | None) -> DatasetAccess | None:
        # Asked of the store each time: a key that is revoked opens nothing from then on.
        try:
            caller = authenticate(store, header)
        except Unauthenticated:
            return None
        rates.take(caller.owner, store.limits.of(caller.owner).requests, monotonic())
        usage.note(caller)
        return offer.narrowed(
            DatasetAccess.of_those_there(store, caller.owner, settings.timezone, offer.names)
        )

    return admit


@contextmanager
def _needing_mcp() -> Iterator[None]:
    try:
        # All of it is an extra, and without it a sentence says how to get it.
        yield
    except ImportError as error:
        raise LivedataError(
            "livedata mcp needs a part of livedata that is not installed.",
            remedies=(Remedy("install_mcp"),),
        ) from error
