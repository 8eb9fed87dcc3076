"""``dataset export`` and ``import``: rows as a file or a stream, a whole dataset in one file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import click

from livedata.cli.column_input import parse_names
from livedata.cli.completion import complete_dataset
from livedata.cli.context import CommandContext, at_option, common_options, where_option
from livedata.cli.dataset.sqlite_writer import write_sqlite
from livedata.cli.dataset.text_writers import RowWriter, check_package, write_package
from livedata.cli.output.streams import print_json, print_message, print_text
from livedata.cli.output.tables import print_moment, print_record
from livedata.cli.output.values import format_size
from livedata.cli.output.whole_file import check_output, file_stem, whole_file
from livedata.formats.forms import EXPORT_FORMS, TableForm, write_file
from livedata.formats.table_layout import TableLayout
from livedata.hints import Subject
from livedata.messages.templates import joined, plural
from livedata.model.dataset import Column, Dataset
from livedata.model.errors import Conflict
from livedata.model.row import Row
from livedata.rules.declaration.consistency import check_name
from livedata.services import queries
from livedata.services.archive import export_archive, import_archive
from livedata.services.archive_container import open_archive
from livedata.services.snapshot import TableSnapshot, snapshot

_AS_JSON = EXPORT_FORMS["jsonl"]
_ENDINGS = {ending: form for form in EXPORT_FORMS.values() for ending in form.endings}
"""How the name of a file ends -> the form that it says."""


class _Wanted(NamedTuple):
    """Which rows and columns are written, with or without their times: of now, or of then."""

    present: bool
    times: bool
    where: Sequence[str]
    columns: Sequence[str]
    when: str | None
    for_git: bool


@click.command()
@click.argument("name", metavar="[D]", required=False, shell_complete=complete_dataset)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Every dataset, each into a file of its own in the folder -o.",
)
@click.option(
    "--format",
    "file_format",
    type=click.Choice([*EXPORT_FORMS]),
    help="Without it as FILE is named, such as FILE.xlsx, else csv. In their order: "
    f"{'; '.join(form.exported for form in EXPORT_FORMS.values())}.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    callback=lambda _context, _option, path: None if path == Path("-") else path,
    help="The file to write, complete or not at all; without it, or as -, stdout. With --all the "
    "folder.",
)
@click.option(
    "--for-git",
    is_flag=True,
    help="The rows that are there, sorted by their key, and the columns of the table alone: a file "
    "differs just where the table does.",
)
@click.option("--present", is_flag=True, help="Leave out the rows that are gone.")
@click.option(
    "--times",
    is_flag=True,
    help="Write observedAt and updatedAt too: when a row's page was read last, and when the row "
    "last changed.",
)
@click.option(
    "--columns",
    metavar="A,B",
    callback=parse_names,
    help="Only these columns, in this order, without rowKey, status and presence.",
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
    name: str | None,
    everything: bool,
    file_format: str | None,
    output: Path | None,
    for_git: bool,
    present: bool,
    times: bool,
    columns: tuple[str, ...],
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
    if everything == (name is not None):
        raise click.UsageError("Name one dataset, or give --all with the folder to write to.")
    if archive is not None:
        _check_alone("--archive")
        assert name is not None
        _write_archive(ctx, name, archive, force=force)
        return
    given = EXPORT_FORMS[file_format] if file_format else None
    form = _form(given, None if everything else output, is_json=ctx.json)
    wanted = _Wanted(present, times, where, columns, when, for_git)
    _check_form(form, wanted, output, is_json=ctx.json)
    if name is not None:
        _export_rows(ctx, name, form, output, wanted, force=force)
    else:
        _export_all(ctx, form, output, wanted, force=force)


def _check_form(form: TableForm, wanted: _Wanted, output: Path | None, *, is_json: bool) -> None:
    """Raise UsageError for options that a form does not take."""
    # Others seek in their file, or are more than one.
    if not form.is_text and (output is None or is_json):
        raise click.UsageError(
            f"--format {form.name} writes a file: name it with -o, without --json."
        )
    given = {"--times": wanted.times, "--where": wanted.where, "--columns": wanted.columns}
    for option, value in given.items():
        if value and option in form.without:
            raise click.UsageError(f"{option} is for other formats: {form.without[option]}.")
    if wanted.for_git and (wanted.times or not form.is_text):
        raise click.UsageError("--for-git is for lines that git compares: CSV or JSON, no --times.")


def _form(given: TableForm | None, output: Path | None, *, is_json: bool) -> TableForm:
    """The form that is written. Raises UsageError if the name of the file says another."""
    named = None if output is None else _ENDINGS.get(output.suffix.lower())
    if is_json and (given is None or given.is_text):
        return _AS_JSON
    if given is None:
        return named or EXPORT_FORMS["csv"]
    if named not in (None, given):
        raise click.UsageError(
            f"--format {given.name} is not what the name {output} says, which is {named.name}: "
            "leave --format out, or give the file another name."
        )
    return given


_ALONE = {
    "everything": "--all",
    "file_format": "--format",
    "output": "-o",
    "present": "--present",
    "for_git": "--for-git",
    "times": "--times",
    "columns": "--columns",
    "where": "--where",
    "when": "--at",
}
"""The options that choose what is written of a dataset, by their parameters."""


def _check_alone(option: str) -> None:
    """Raise UsageError if an option that chooses rows or a format was given too."""
    context = click.get_current_context()
    given = click.core.ParameterSource.COMMANDLINE
    if any(context.get_parameter_source(other) is given for other in _ALONE):
        raise click.UsageError(
            f"{option} writes the whole dataset: give it without {joined([*_ALONE.values()])}."
        )


def _export_all(
    ctx: CommandContext, form: TableForm, folder: Path | None, wanted: _Wanted, *, force: bool
) -> None:
    """Write every dataset to a file of `folder` that is called as it is."""
    if folder is None:
        raise click.UsageError("--all writes files: name their folder, such as -o tables.")
    with ctx.at_one_moment() as db:
        names = queries.dataset_names(db, ctx.owner)
    files: dict[Path, str] = {}
    for name in names:
        file = folder / f"{file_stem(name)}{form.endings[0]}"
        if (other := files.setdefault(file, name)) != name:
            raise Conflict(
                f"{other} and {name} would have one file, {file}; export them one by one, or "
                "give one of them another name."
            )
    folder.mkdir(parents=True, exist_ok=True)
    for file in files:
        check_output(file, force=force)
    for file, name in files.items():
        _export_rows(ctx, name, form, file, wanted, force=force)


def _export_rows(
    ctx: CommandContext,
    name: str,
    form: TableForm,
    output: Path | None,
    wanted: _Wanted,
    *,
    force: bool,
) -> None:
    """Write the rows of dataset `name` to `output`, or to stdout if there is none."""
    # Before the store is opened: a large table is not read for a file that cannot be written.
    if output is not None:
        check = check_package if form.name == "datapackage" else check_output
        check(output, force=force)
    with ctx.at_one_moment() as db:
        dataset_id = queries.find_dataset(db, ctx.owner, name)
        dataset = queries.dataset(db, ctx.owner, dataset_id)
        # Rows pass one by one: no table is too large for the memory.
        with snapshot(db, ctx.owner, dataset_id, wanted.when, ctx.settings.timezone) as table:
            count = _write(form, table, dataset, wanted, output)
    print_moment(table.moment)
    if output is not None:
        print_message(f"Wrote {plural(count, 'row')} to {output}.")


def _write(
    form: TableForm, table: TableSnapshot, dataset: Dataset, wanted: _Wanted, output: Path | None
) -> int:
    """Write a table in a form; how many rows that are."""
    every = table.rows_where(wanted.where)
    present = wanted.present or wanted.for_git
    rows: Iterable[Row] = (row for row in every if row["presence"] == "present" or not present)
    only = wanted.columns
    if wanted.for_git:
        rows = sorted(rows, key=partial(_key, table.columns))
        only = only or [column["name"] for column in table.columns]
    layout = TableLayout(table.columns, times=wanted.times, only=only or None)
    if output is None or form.is_text:
        return RowWriter(form, layout).write(rows, output)
    match form.name:
        case "sqlite":
            return write_sqlite(table, output, present=wanted.present)
        case "datapackage":
            return write_package(rows, {**dataset, "columns": [*table.columns]}, output)
        case _:
            with whole_file(output) as part:
                return write_file(form, rows, layout, _about(table, dataset), part)


def _key(columns: Sequence[Column], row: Row) -> tuple[object, ...]:
    """What rows are sorted by: the columns of the key, numbers by size, and then the key itself."""
    cells = [row["data"].get(column["id"]) for column in columns if column["key"]]
    # A cell of a key may be edited to nothing, or to what is compared with no other.
    return (*((isinstance(cell, str), cell is not None and cell) for cell in cells), row["rowKey"])


def _about(table: TableSnapshot, dataset: Dataset) -> dict[str, object]:
    """What a file says of the table that it holds."""
    return {
        "dataset": dataset["name"],
        "id": dataset["id"],
        "question": dataset["question"] or "",
        "key": ", ".join(column["name"] for column in table.columns if column["key"]),
        "sequence": table.moment.sequence,
    }


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


@click.command("import")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--name", metavar="NAME", help="Another name than the dataset had.")
@common_options
def read_archive(ctx: CommandContext, file: Path, name: str | None) -> None:
    """Import the dataset of an archive that livedata dataset export --archive has written.

    It keeps its ids, its history and the places of its readers, and costs nothing. It is paused:
    livedata dataset update D --status active starts its schedule. An archive that is damaged, or
    whose dataset is here already, is refused as a whole.
    """
    if name is not None:
        check_name(name)
    targets = ctx.settings.targets
    # The file first: a name that is mistyped makes no store.
    with open_archive(file) as archive, ctx.writing() as store:
        credits_ = ctx.first_credits
        dataset = import_archive(
            store, ctx.owner, archive, targets, name=name, first_credits=credits_
        )
    if ctx.json:
        print_json(dataset)
        return
    members = archive.manifest.members
    # An archive has those too that are gone, and the export has counted them.
    gone = members["rows.jsonl"].records - dataset["rowCount"]
    print_record(
        {
            "name": dataset["name"],
            "id": dataset["id"],
            "rows": f"{dataset['rowCount']}, and {gone} gone" if gone else dataset["rowCount"],
            "changes": members["revisions.jsonl"].records,
            "schedule": dataset["schedule"] or "none",
        }
    )
    print_message("It is paused until you start it:")
    active = ("--status", "active")
    print_text(Subject(ctx.owner).command("dataset update", dataset["name"], options=active))
