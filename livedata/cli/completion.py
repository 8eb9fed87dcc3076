"""Completion of the names of datasets, for the arguments that take one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import click
    from click.shell_completion import CompletionItem


def complete_dataset(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """List the datasets whose names begin so."""
    try:
        names = _names(ctx.params.get("owner") or "local")
    except Exception:  # noqa: BLE001  (a shell that completes a word is no place for an error)
        return []
    return [name for name in sorted(names) if name.startswith(incomplete)]


def complete_source(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """List the datasets whose names begin so; if none does, the files."""
    from click.shell_completion import CompletionItem

    names = complete_dataset(ctx, param, incomplete)
    return [CompletionItem(name) for name in names] or [CompletionItem(incomplete, type="file")]


def _names(owner: str) -> list[str]:
    from pathlib import Path

    from livedata.config import load
    from livedata.services import queries
    from livedata.store.database.store import Database

    database = Database(load().database_url)
    # Asking makes a store that is not there; completing a word does not.
    if not Path(database.place).is_file():
        return []
    try:
        return queries.dataset_names(database, owner)
    finally:
        database.close()
