"""``dataset export``: the rows as a file or a stream."""

from __future__ import annotations

from pathlib import Path

from livedata.cli.context import CommandContext
from livedata.cli.dataset.datapackage_writer import check_package, write_package
from livedata.cli.dataset.row_writers import RowWriter
from livedata.cli.dataset.sqlite_writer import write_sqlite
from livedata.cli.output.streams import print_message
from livedata.cli.output.whole_file import check_output
from livedata.messages.templates import plural
from livedata.services import queries
from livedata.services.archive.snapshot import snapshot


def export_rows(
    ctx: CommandContext,
    name: str,
    file_format: str,
    output: Path | None,
    *,
    present: bool,
    times: bool,
    force: bool,
) -> None:
    """Write the rows of dataset `name` to `output`, or to stdout if there is none."""
    # Before the store is opened: a large table is not read for a file that cannot be written.
    if output is not None:
        check = check_package if file_format == "datapackage" else check_output
        check(output, force=force)
    with ctx.reading() as db:
        dataset_id = queries.find_dataset(db, ctx.owner, name)
        dataset = queries.dataset(db, ctx.owner, dataset_id)
        if file_format == "sqlite" and output is not None:
            # Rows and history are read in one transaction, so that they agree.
            with snapshot(db, ctx.owner, dataset_id) as history:
                count = write_sqlite(history, dataset["columns"], output, present=present)
        else:
            # Rows pass one by one: no table is too large for the memory.
            rows = queries.every_row(db, ctx.owner, dataset_id)
            wanted = (row for row in rows if not present or row["presence"] == "present")
            if file_format == "datapackage" and output is not None:
                count = write_package(wanted, dataset, output)
            else:
                as_lines = "jsonl" if ctx.json else file_format
                writer = RowWriter(as_lines, dataset["columns"], times=times)
                count = writer.write(wanted, output)
    if output is not None:
        print_message(f"Wrote {plural(count, 'row')} to {output}.")
