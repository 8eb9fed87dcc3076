"""``dataset report``: a dataset and what changed in it, as one file to mail or to keep."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from livedata.cli.completion import complete_dataset
from livedata.cli.context import CommandContext, common_options, since_option
from livedata.cli.output.streams import print_json, print_message
from livedata.cli.output.whole_file import check_output, whole_file
from livedata.model import ids
from livedata.model.ids import Micros
from livedata.pages import report as page
from livedata.services import queries
from livedata.services.pages.report import report

DAYS: Final = 30
"""Without another wish, changes of so many days are told."""


@click.command("report")
@click.argument("name", metavar="D", shell_complete=complete_dataset)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=Path("report.html"),
    show_default=True,
    help="The file to write, complete or not at all.",
)
@since_option("Tell changes of then or later, such as 2026-01-31T08:00:00Z; else of 30 days.")
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@common_options
def write_report(
    ctx: CommandContext, name: str, output: Path, since: Micros | None, force: bool
) -> None:
    """Write a report of dataset D: its table, what changed, and how its numbers developed.

    It is one file that opens in any browser, without network and scripts: to mail or to keep.
    """
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
