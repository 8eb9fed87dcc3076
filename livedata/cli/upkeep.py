"""``backup``, ``check`` and ``prune``: what keeps a store in order."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from livedata.cli.context import CommandContext, store_options
from livedata.cli.output.streams import print_json, print_message, print_text
from livedata.cli.output.tables import print_record
from livedata.cli.output.values import format_size
from livedata.cli.output.whole_file import whole_file
from livedata.messages.templates import plural
from livedata.model.errors import Conflict, NotFound
from livedata.services import retention
from livedata.services.audit import check
from livedata.store.database.store import Database

_OWNER_ONLY = 0o600  # keys and credits stand in it, and whatever was collected

NAMES = {
    "steps": "steps",
    "failedPages": "failed pages",
    "heldOutputs": "held outputs",
    "facts": "facts",
    "skippedFires": "skipped fires",
    "messages": "messages",
    "looks": "page looks",
    "artifacts": "artifacts",
    "research": "research",
}
"""Kind -> how a person is told of it, in this order."""


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


@click.command("check")
@store_options
def check_store(ctx: CommandContext) -> None:
    """Judge the store, and say what is wrong.

    The exit code is 1 if something is.
    """
    with ctx.keeping() as db:
        report = check.check_store(db)
    counts = {"datasets": report.datasets, "rows": report.rows, "revisions": report.revisions}
    if ctx.json:
        print_json({"sound": not report.problems, **counts, "problems": report.problems})
    elif report.problems:
        print_text("\n".join(report.problems))
    else:
        sums = [plural(count, name.removesuffix("s")) for name, count in counts.items()]
        print_text(f"The store is sound: {', '.join(sums)}.")
    # With --json too: a script in cron then needs no look into the report.
    if report.problems:
        raise click.exceptions.Exit(1)


@click.command("prune")
@click.option("--dry-run", is_flag=True, help="Only say how much would be deleted.")
@store_options
def prune_store(ctx: CommandContext, dry_run: bool) -> None:
    """Delete what is old.

    Steps, failed pages, held outputs, skipped fires and the messages of notices that were sent or
    given up are deleted after 30 days, what accepted Runs noted of their pages (facts) after 90
    days, unless other Runs are compared with it, and looks at pages after a day. Rows, history,
    evidence, Runs and the ledger stay.
    `serve` and `worker` do the same every hour.
    """
    with ctx.keeping() as store:
        counts = retention.count_old(store) if dry_run else retention.forget_old(store)
    if ctx.json:
        print_json({"dryRun": dry_run, **{kind: counts.get(kind, 0) for kind in NAMES}})
        return
    print_record({name: counts.get(kind, 0) for kind, name in NAMES.items()})
    if dry_run:
        print_message("Nothing has gone: --dry-run only counts.")
