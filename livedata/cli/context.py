"""What every command shares: the owner, ``--json``, the settings, and opening the store."""

from __future__ import annotations

import functools
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from livedata.config import Settings
    from livedata.store.database.store import Database, Store

R = TypeVar("R")

LONGEST_OWNER = 120


@dataclass(frozen=True, slots=True)
class Asked:
    """Who asks, and how the answer is printed.

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

    @contextmanager
    def reading(self) -> Iterator[Database]:
        """The store, to be asked only: nothing heavy is imported."""
        from livedata.store.database.store import Database

        database = Database(self.settings.database_url)
        try:
            yield database
        finally:
            database.close()

    @contextmanager
    def writing(self) -> Iterator[Store]:
        """The store, to be asked and written."""
        from livedata.store.database.store import Store

        store = Store(self.settings.database_url)
        try:
            yield store
        finally:
            store.close()

    def meet(self, store: Store) -> None:
        """Let the store know the owner: the first time, with the credits that owners start with."""
        from livedata.services.accounts import ensure_owner

        ensure_owner(store, self.owner, self.settings.grant(self.owner))


def shared(command: Callable[..., R]) -> Callable[..., R]:
    """Give a command ``--owner`` and ``--json``, and hand them over as the first argument."""

    @click.option(
        "--owner",
        default="local",
        show_default=True,
        callback=_owner,
        help="Whose datasets and credits.",
    )
    @click.option("--json", "as_json", is_flag=True, help="Print JSON, as the API has it.")
    @functools.wraps(command)
    def asked(*args: Any, owner: str, as_json: bool, **kwargs: Any) -> R:
        source = click.get_current_context().get_parameter_source("owner")
        given = source is click.core.ParameterSource.COMMANDLINE
        return command(Asked(owner, as_json, given), *args, **kwargs)

    return asked


def limit_option(default: int, most: int, what: str) -> Callable[[Any], Any]:
    """``--limit`` with the bounds of the API."""
    return click.option(
        "--limit",
        type=click.IntRange(1, most),
        default=default,
        show_default=True,
        help=f"How many {what} at most.",
    )


def _owner(_context: click.Context, _option: click.Parameter, value: str) -> str:
    if not value.strip() or len(value) > LONGEST_OWNER or not value.isprintable():
        raise click.BadParameter(
            f"an owner is a name of 1 to {LONGEST_OWNER} characters that can be printed"
        )
    return value
