"""What every command shares: the owner, ``--json``, the settings, and opening the store."""

from __future__ import annotations

import functools
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from livedata.config import Settings
    from livedata.store.database.store import Database, Store

R = TypeVar("R")

DEFAULT_OWNER = "local"
LONGEST_OWNER = 120
LOCAL_BASE = "http://127.0.0.1:8000"
"""Where `livedata serve` answers if nobody says otherwise."""


# Help and usage errors import this module, and click is all that they may cost: so everything that
# opens the store is imported where a command opens it.
class CommandContext(NamedTuple):
    """Who gives a command, and how its answer is printed.

    `owner_given` tells an owner that was written from the default.
    """

    owner: str
    json: bool
    owner_given: bool

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        from livedata.config import load

        return load()

    @property
    def first_credits(self) -> int:
        """The credits that the owner starts with if the store has not met them."""
        return self.settings.grant(self.owner)

    @contextmanager
    def reading(self) -> Iterator[Database]:
        """Open the store for queries only: nothing heavy is imported."""
        # Database is the store without SQLAlchemy, which alone takes longer than most queries.
        from livedata.store.database.store import Database

        database = Database(self.settings.database_url)
        try:
            yield database
        finally:
            database.close()

    @contextmanager
    def at_one_moment(self) -> Iterator[Database]:
        """The same as one read transaction sees it: all that a command prints agrees."""
        with self.reading() as database, database.at_one_moment() as moment:
            yield moment

    @contextmanager
    def keeping(self) -> Iterator[Store]:
        """Open a store that is there already, to look after it. Raises StoreUnavailable."""
        # A home that is mistyped must not look like a store in which all is well.
        with self.writing() as store:
            store.require()
            yield store

    @contextmanager
    def writing(self) -> Iterator[Store]:
        """Open the store for queries and writes."""
        from livedata.store.database.store import Store

        settings = self.settings
        store = Store(settings.database_url, read_url=settings.read_url, limits=settings.limits)
        try:
            yield store
        finally:
            store.close()


_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON, as the API has it.")


def store_options(command: Callable[..., R]) -> Callable[..., R]:
    """Give a command that is about the store of all owners ``--json``."""

    @_JSON
    @functools.wraps(command)
    def with_context(*args: Any, as_json: bool, **kwargs: Any) -> R:
        return command(CommandContext(DEFAULT_OWNER, as_json, False), *args, **kwargs)  # noqa: FBT003

    return with_context


def common_options(command: Callable[..., R]) -> Callable[..., R]:
    """Give a command ``--owner`` and ``--json``; their values are its first argument."""

    @click.option(
        "--owner",
        default=DEFAULT_OWNER,
        show_default=True,
        callback=_owner,
        help="Whose datasets and credits.",
    )
    @_JSON
    @functools.wraps(command)
    def with_context(*args: Any, owner: str, as_json: bool, **kwargs: Any) -> R:
        # `key list` shows all keys by default, so the default must differ from --owner local.
        source = click.get_current_context().get_parameter_source("owner")
        given = source is click.core.ParameterSource.COMMANDLINE
        return command(CommandContext(owner, as_json, given), *args, **kwargs)

    return with_context


def limit_option(default: int, most: int, what: str) -> Callable[[Any], Any]:
    """Make ``--limit`` with the bounds of the API."""
    return click.option(
        "--limit",
        type=click.IntRange(1, most),
        default=default,
        show_default=True,
        help=f"How many {what} at most.",
    )


def urls_option(command: Callable[..., R]) -> Callable[..., R]:
    """Give a command that researches ``--url``."""
    return click.option(
        "--url",
        "urls",
        metavar="URL",
        multiple=True,
        help="A page to read instead of what a search finds; may be repeated.",
    )(command)


def since_option(what: str) -> Callable[[Any], Any]:
    """Make ``--since``, which takes a moment with its zone."""
    return click.option("--since", metavar="TIME", callback=_parse_since, help=what)


def before_option(what: str) -> Callable[[Any], Any]:
    """Make ``--before``, which takes the same."""
    return click.option("--before", metavar="TIME", callback=_parse_since, help=what)


def at_option(what: str) -> Callable[[Any], Any]:
    """Make ``--at``, which takes a moment in the history of a dataset."""
    return click.option("--at", "when", metavar="WHEN", help=what)


def where_option(what: str) -> Callable[[Any], Any]:
    """Make ``--where``, which takes a clause of a condition and may be repeated."""
    return click.option("--where", metavar="CLAUSE", multiple=True, help=what)


def base_option(command: Callable[..., R]) -> Callable[..., R]:
    """Give a command that prints an address ``--base``."""
    return click.option(
        "--base",
        metavar="URL",
        callback=_base,
        help="Where readers reach `livedata serve`.  [default: LIVEDATA_PUBLIC_URL, else "
        f"{LOCAL_BASE}]",
    )(command)


def address_option(name: str, what: str) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Give a command an option for the host and port at which it listens."""
    return click.option(name, metavar="HOST:PORT", callback=_address, help=what)


def _address(
    _context: click.Context, _option: click.Parameter, value: str | None
) -> tuple[str, int] | None:
    if value is None:
        return None
    host, _, port = value.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise click.BadParameter(f"{value!r} is no address; give one such as 127.0.0.1:9090")
    return host.strip("[]"), int(port)


def _base(_context: click.Context, _option: click.Parameter, value: str | None) -> str | None:
    from livedata.config import is_base

    base = value and value.rstrip("/")
    if base and not is_base(base):
        raise click.BadParameter(
            f"{value!r} is no address, or has a user, a query or a fragment; give one such as "
            "https://data.example.org"
        )
    return base


def _parse_since(
    _context: click.Context, _option: click.Parameter, value: str | None
) -> int | None:
    if value is None:
        return None
    from livedata.model.ids import parse_timestamp

    try:
        return parse_timestamp(value)
    except (ValueError, OverflowError):
        raise click.BadParameter(
            f"{value!r} is not a date and time with its zone, such as 2026-01-31T08:00:00Z"
        ) from None


def _owner(_context: click.Context, _option: click.Parameter, value: str) -> str:
    # Owners stand in messages and in commands to paste: nothing in them may steer a terminal.
    if not value.strip() or len(value) > LONGEST_OWNER or not value.isprintable():
        raise click.BadParameter(
            f"an owner is a name of 1 to {LONGEST_OWNER} characters that can be printed"
        )
    return value
