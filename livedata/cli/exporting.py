"""The command ``dataset export``: the rows as a file or a stream."""

from __future__ import annotations

from pathlib import Path

import click

from livedata.cli.context import Asked, shared
from livedata.cli.output import counted, say


@click.command()
@click.argument("name", metavar="D")
@click.option(
    "--format",
    "form",
    type=click.Choice(("csv", "jsonl", "sqlite")),
    default="csv",
    show_default=True,
    help="CSV with a heading, a JSON object a line, or a SQLite file with the history too.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The file to write, complete or not at all; else stdout.",
)
@click.option("--present", is_flag=True, help="Leave out the rows that are gone.")
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@shared
def export(
    asked: Asked, name: str, form: str, output: Path | None, present: bool, force: bool
) -> None:
    """Export the rows of dataset D in the order of their keys.

    First rowKey, status and presence, then the columns by name; where a column has one of these
    three names, they begin with an underscore. A row that is gone is there with its last data and
    presence "missing". Cells are written as the site has them: a spreadsheet may take one that
    begins with = + - or @ for a formula. --json is --format jsonl. A SQLite file has the tables
    rows and changes. A file that is there is never replaced without --force.
    """
    from livedata.cli.export import Export, check_output
    from livedata.services import queries

    if form == "sqlite" and (output is None or asked.json):
        raise click.UsageError("--format sqlite writes a file: name it with -o, without --json.")
    if output is not None:
        check_output(output, force=force)
    with asked.reading() as db:
        found = queries.find_dataset(db, asked.owner, name)
        columns = queries.dataset(db, asked.owner, found)["columns"]
        if form == "sqlite" and output is not None:
            from livedata.cli.sqlitefile import write_sqlite
            from livedata.services.snapshot import snapshot

            with snapshot(db, asked.owner, found) as everything:
                count = write_sqlite(everything, columns, output, present=present)
        else:
            rows = queries.every_row(db, asked.owner, found)
            wanted = (row for row in rows if not present or row["presence"] == "present")
            count = Export("jsonl" if asked.json else form, columns).write(wanted, output)
    if output is not None:
        say(f"Wrote {counted(count, 'row')} to {output}.")
