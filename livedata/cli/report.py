"""``dataset report``: a dataset and what changed in it, as one file to mail or to keep."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from livedata.cli.context import CommandContext
from livedata.cli.output.streams import print_json, print_message
from livedata.cli.output.whole_file import check_output, whole_file
from livedata.model import ids
from livedata.model.ids import Micros
from livedata.pages import report as page
from livedata.services import queries
from livedata.services.browsing.report import report

DAYS: Final = 30
"""Without another wish, changes of so many days are told."""


def write_report(
    ctx: CommandContext, name: str, output: Path, since: Micros | None, *, force: bool
) -> None:
    """Write the report of dataset `name` into a file, whole or not at all."""
    check_output(output, force=force)
    now = ids.now()
    with ctx.at_one_moment() as db:
        dataset = queries.find_dataset(db, ctx.owner, name)
        begin = Micros(now - DAYS * 86_400 * 1_000_000) if since is None else since
        told = report(db, ctx.owner, dataset, begin)
    with whole_file(output) as part:
        part.write_text(page.write(told, ids.format_timestamp(now)), "utf-8")
    if ctx.json:
        print_json({"file": str(output), "rows": len(told.rows), "changes": len(told.changes)})
    else:
        print_message(
            f"Wrote {len(told.rows)} rows and {len(told.changes)} changes since "
            f"{told.since[:10]} to {output}."
        )
