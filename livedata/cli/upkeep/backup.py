"""``backup``: the whole store in one file."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from livedata.cli.context import CommandContext, store_options
from livedata.cli.output.streams import print_json, print_message
from livedata.cli.output.values import format_size
from livedata.cli.output.whole_file import whole_file
from livedata.model.errors import Conflict, NotFound
from livedata.store.database.store import Database

_OWNER_ONLY = 0o600  # keys and credits stand in it, and whatever was collected


@click.command("backup")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Replace FILE if it is there.")
@store_options
def back_up(ctx: CommandContext, file: Path, force: bool) -> None:
    """Copy the whole store into one file.

    The copy is the store of one moment, also while Runs are in progress, and for you alone. It
    appears only when it is complete.
    """
    with ctx.reading() as db:
        _check_file(file, db, force=force)
        with whole_file(file) as part:
            part.chmod(_OWNER_ONLY)
            db.copy(part, file)
    size = file.stat().st_size
    if ctx.json:
        print_json({"file": str(file), "bytes": size})
        return
    url = shlex.quote(f"sqlite:///{file.resolve()}")
    print_message(
        f"Wrote the store to {file} ({format_size(size)}). To judge the copy:\n"
        f"  LIVEDATA_DATABASE_URL={url} livedata check"
    )


def _check_file(file: Path, db: Database, *, force: bool) -> None:
    if not file.parent.is_dir():
        raise NotFound(f"{file} cannot be written: there is no folder {file.parent}.")
    if file.exists() and not file.is_file():
        raise Conflict(f"{file} is no file; name one that backup may write.")
    if file.exists() and Path(db.place).exists() and file.samefile(db.place):
        raise Conflict(f"{file} is the store itself; name another file.")
    if file.exists() and not force:
        raise Conflict(f"{file} exists; --force replaces it, or name another file.")
    journal = file.with_name(f"{file.name}-wal")
    # SQLite would take what stands there for the newest part of the copy.
    if journal.exists():
        raise Conflict(
            f"{journal} stands beside {file}: a program has that file open, or died with it. Name "
            "another file."
        )
