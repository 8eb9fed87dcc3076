"""``dataset export``: the rows as a file or a stream."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import click

from livedata.cli.completion import complete_dataset
from livedata.cli.context import CommandContext, at_option, common_options, where_option
from livedata.cli.dataset.datapackage_writer import check_package, write_package
from livedata.cli.dataset.row_writers import RowWriter
from livedata.cli.dataset.sqlite_writer import write_sqlite
from livedata.cli.output.moment_notes import print_moment
from livedata.cli.output.streams import print_json, print_message
from livedata.cli.output.values import format_size
from livedata.cli.output.whole_file import check_output, whole_file
from livedata.messages.templates import plural
from livedata.model.dataset import Dataset
from livedata.services import queries
from livedata.services.archive import export_archive
from livedata.services.snapshot import snapshot

_WITHOUT_TIMES = {
    "sqlite": "a SQLite file has both already",
    "datapackage": "a data package describes the columns of the dataset alone",
}


class _Wanted(NamedTuple):
    """Which rows are written, with or without their times: of now, or of then."""

    present: bool
    times: bool
    where: Sequence[str]
    when: str | None


@click.command()
@click.argument("name", metavar="D", shell_complete=complete_dataset)
@click.option(
    "--format",
    "file_format",
    type=click.Choice(("csv", "jsonl", "sqlite", "datapackage")),
    default="csv",
    show_default=True,
    help="CSV with a heading, a JSON object a line, a SQLite file with the history too, or a data "
    "package: CSV with a description of its columns.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="The file to write, complete or not at all; else stdout.",
)
@click.option("--present", is_flag=True, help="Leave out the rows that are gone.")
@click.option(
    "--times",
    is_flag=True,
    help="Write observedAt and updatedAt too, in CSV and JSON lines: when a row's page was read "
    "last, and when the row last changed.",
)
@where_option("Only rows of which this holds, such as 'price < 20'; may be repeated: all hold.")
@at_option("The rows as they were then: a moment with its zone, a day, a sequence, a Run's id.")
@click.option(
    "--archive",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write the whole dataset with its history into a file for livedata dataset import.",
)
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@common_options
def export(
    ctx: CommandContext,
    name: str,
    file_format: str,
    output: Path | None,
    present: bool,
    times: bool,
    where: tuple[str, ...],
    when: str | None,
    archive: Path | None,
    force: bool,
) -> None:
    """Export the rows of dataset D in the order in which Runs found them.

    First rowKey, status and presence, then the columns by name, with --times last observedAt and
    updatedAt; where a column has one of these names, ours begins with an underscore. A row that is
    gone is there with its last data and presence "missing". Cells are written as the site has them:
    a spreadsheet may take one that begins with = + - or @ for a formula. --json is --format jsonl.
    A SQLite file has the tables rows and changes. datapackage writes a Frictionless Data Package: a
    folder, or a zip file if the name ends with .zip. A file that is there is never replaced without
    --force.
    """
    if archive is not None:
        _check_alone("--archive", "file_format", "output", "present", "times", "where", "when")
        _write_archive(ctx, name, archive, force=force)
        return
    # SQLite seeks in its file, so there is no stream of it for stdout; a package is two files.
    if file_format in {"sqlite", "datapackage"} and (output is None or ctx.json):
        raise click.UsageError(
            f"--format {file_format} writes a file: name it with -o, without --json."
        )
    if times and file_format in _WITHOUT_TIMES:
        raise click.UsageError(f"--times is for csv and jsonl: {_WITHOUT_TIMES[file_format]}.")
    if where and file_format == "sqlite":
        raise click.UsageError(
            "--where is for other formats: a SQLite file has the whole table, for you to ask it."
        )
    wanted = _Wanted(present, times, where, when)
    _export_rows(ctx, name, file_format, output, wanted, force=force)


def _check_alone(option: str, *others: str) -> None:
    """Raise UsageError if one of these other options was given too."""
    context = click.get_current_context()
    given = click.core.ParameterSource.COMMANDLINE
    if any(context.get_parameter_source(other) is given for other in others):
        raise click.UsageError(
            f"{option} writes the whole dataset: give it without --format, -o, --present, "
            "--times, --where and --at."
        )


def _export_rows(
    ctx: CommandContext,
    name: str,
    file_format: str,
    output: Path | None,
    wanted: _Wanted,
    *,
    force: bool,
) -> None:
    """Write the rows of dataset `name` to `output`, or to stdout if there is none."""
    # Before the store is opened: a large table is not read for a file that cannot be written.
    if output is not None:
        check = check_package if file_format == "datapackage" else check_output
        check(output, force=force)
    with ctx.at_one_moment() as db:
        dataset_id = queries.find_dataset(db, ctx.owner, name)
        dataset = queries.dataset(db, ctx.owner, dataset_id)
        # Rows pass one by one: no table is too large for the memory.
        with snapshot(db, ctx.owner, dataset_id, wanted.when, ctx.settings.timezone) as table:
            if file_format == "sqlite" and output is not None:
                count = write_sqlite(table, output, present=wanted.present)
            else:
                every = table.rows_where(wanted.where)
                rows = (row for row in every if row["presence"] == "present" or not wanted.present)
                if file_format == "datapackage" and output is not None:
                    described: Dataset = {**dataset, "columns": [*table.columns]}
                    count = write_package(rows, described, output)
                else:
                    as_lines = "jsonl" if ctx.json else file_format
                    writer = RowWriter(as_lines, table.columns, times=wanted.times)
                    count = writer.write(rows, output)
    print_moment(table.moment)
    if output is not None:
        print_message(f"Wrote {plural(count, 'row')} to {output}.")


def _write_archive(ctx: CommandContext, name: str, file: Path, *, force: bool) -> None:
    """Write dataset `name` with its history into `file`."""
    check_output(file, force=force, option="--archive")
    with ctx.reading() as db:
        dataset = queries.find_dataset(db, ctx.owner, name)
        with whole_file(file) as part:
            counts = export_archive(db, ctx.owner, dataset, part)
    size = file.stat().st_size
    if ctx.json:
        print_json({"file": str(file), "bytes": size, "records": counts})
        return
    contents = [plural(counts["rows"], "row"), plural(counts["revisions"], "change")]
    print_message(
        f"Wrote {', '.join(contents)} and {plural(counts['runs'], 'Run')} to {file} "
        f"({format_size(size)})."
    )
