"""The command line of ``dataset``: click alone; what a command does is imported when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from livedata.cli import load_from
from livedata.cli.completion import complete_dataset, complete_source
from livedata.cli.context import CommandContext, common_options, limit_option, since_option

if TYPE_CHECKING:
    from livedata.model.ids import Micros


@click.group()
def dataset() -> None:
    """Create, list, change and export datasets."""


@dataset.command()
@click.argument("source", type=click.Path(path_type=Path))
@common_options
def create(ctx: CommandContext, source: Path) -> None:
    """Create a dataset from the declaration in SOURCE, a .toml or .json file."""
    from livedata.cli.dataset.create import create_dataset

    create_dataset(ctx, source)


@dataset.command()
@click.argument("name", metavar="D", shell_complete=complete_dataset)
@common_options
def source(ctx: CommandContext, name: str) -> None:
    """Print what dataset D was declared with, as TOML that create reads back."""
    from livedata.cli.dataset.source import print_source

    print_source(ctx, name)


@dataset.command()
@click.argument("name", metavar="D", shell_complete=complete_dataset)
@click.argument("path", metavar="SOURCE", type=click.Path(path_type=Path))
@common_options
def revise(ctx: CommandContext, name: str, path: Path) -> None:
    """Give dataset D a new recipe: a dead selector is mended, rows and history stay.

    SOURCE has the same collected columns and identity; livedata dataset source D prints what there
    is now. Of a research dataset it is the plan: query, texts, addresses and limits may change.
    """
    from livedata.cli.dataset.revise import revise_dataset

    revise_dataset(ctx, name, path)


@dataset.command()
@click.argument("name", metavar="D", shell_complete=complete_dataset)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("suggested.toml"),
    show_default=True,
    help="The file to write.",
)
@click.option("--force", is_flag=True, help="Overwrite the file if it exists.")
@common_options
def suggest(ctx: CommandContext, name: str, output: Path, force: bool) -> None:
    """Propose a source for dataset D, whose page has changed.

    It looks for the known rows on the page as it is now, replaces the selectors that find nothing,
    tries the result on the whole list, and says what would change. Nothing is stored; livedata
    dataset revise takes the file over.
    """
    load_from("spiders.cli.suggest:suggest_source")(ctx, name, output, force=force)


@dataset.command()
@click.argument("tested", metavar="SOURCE|D", shell_complete=complete_source)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--update", is_flag=True, help="Keep the rows that are read now, for the next test.")
@common_options
def test(ctx: CommandContext, tested: str, folder: Path, update: bool) -> None:
    """Test a source on the pages that livedata preview SOURCE --save DIR has kept.

    Reads them again as a Run does, without any network, and compares the rows with those that were
    saved. The exit code is 0 if all are equal, and 1 if not. Nothing is stored.
    """
    load_from("spiders.cli.source_test:run_test")(ctx, tested, folder, update=update)


_WITHOUT_TIMES = {
    "sqlite": "a SQLite file has both already",
    "datapackage": "a data package describes the columns of the dataset alone",
}


@dataset.command()
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
        from livedata.cli.dataset.archive import write_archive

        _check_alone("--archive", "file_format", "output", "present", "times")
        write_archive(ctx, name, archive, force=force)
        return
    # SQLite seeks in its file, so there is no stream of it for stdout; a package is two files.
    if file_format in {"sqlite", "datapackage"} and (output is None or ctx.json):
        raise click.UsageError(
            f"--format {file_format} writes a file: name it with -o, without --json."
        )
    if times and file_format in _WITHOUT_TIMES:
        raise click.UsageError(f"--times is for csv and jsonl: {_WITHOUT_TIMES[file_format]}.")
    from livedata.cli.dataset.export import export_rows

    export_rows(ctx, name, file_format, output, present=present, times=times, force=force)


def _check_alone(option: str, *others: str) -> None:
    """Raise UsageError if one of these other options was given too."""
    context = click.get_current_context()
    given = click.core.ParameterSource.COMMANDLINE
    if any(context.get_parameter_source(other) is given for other in others):
        raise click.UsageError(
            f"{option} writes the whole dataset: give it without --format, -o, --present and "
            "--times."
        )


@dataset.command()
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
def report(ctx: CommandContext, name: str, output: Path, since: Micros | None, force: bool) -> None:
    """Write a report of dataset D: its table, what changed, and how its numbers developed.

    It is one file that opens in any browser, without network and scripts: to mail or to keep.
    """
    from livedata.cli.report import write_report

    write_report(ctx, name, output, since, force=force)


@dataset.command("import")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--name", metavar="NAME", help="Another name than the dataset had.")
@common_options
def import_(ctx: CommandContext, file: Path, name: str | None) -> None:
    """Import the dataset of an archive that livedata dataset export --archive has written.

    It keeps its ids, its history and the places of its readers, and costs nothing. It is paused:
    livedata dataset update D --status active starts its schedule. An archive that is damaged, or
    whose dataset is here already, is refused as a whole.
    """
    from livedata.cli.dataset.archive import read_archive

    read_archive(ctx, file, name)


@dataset.command("list")
@limit_option(20, 100, "datasets")
@common_options
def list_(ctx: CommandContext, limit: int) -> None:
    """List datasets, newest first."""
    from livedata.cli.dataset.list import list_datasets

    list_datasets(ctx, limit)


@dataset.command()
@click.argument("name", metavar="D", shell_complete=complete_dataset)
@common_options
def show(ctx: CommandContext, name: str) -> None:
    """Show dataset D: its state, its columns and its last Run."""
    from livedata.cli.dataset.show import show_dataset

    show_dataset(ctx, name)


@dataset.command()
@click.argument("dataset_name", metavar="D", shell_complete=complete_dataset)
@click.option("--name", metavar="NAME", help="A new name.")
@click.option("--question", metavar="TEXT", help="What the dataset is for; none removes it.")
@click.option(
    "--status",
    type=click.Choice(("draft", "active", "paused")),
    help="Whether the schedule is followed.",
)
@click.option("--schedule", metavar="CRON", help="Five fields, in quotes; none removes it.")
@click.option("--add-column", metavar="NAME:TYPE", multiple=True, help="A column of your own.")
@click.option("--label", metavar="COL=TEXT", multiple=True, help="How people see a column.")
@click.option("--describe", metavar="COL=TEXT", multiple=True, help="What a column means.")
@common_options
def update(
    ctx: CommandContext,
    dataset_name: str,
    add_column: tuple[str, ...],
    label: tuple[str, ...],
    describe: tuple[str, ...],
    **properties: str | None,
) -> None:
    """Change dataset D: what is not given stays. The last three options may be repeated."""
    # The options by name are properties of the dataset, None if they are not given.
    from livedata.cli.dataset.update import ColumnChanges, update_dataset

    update_dataset(ctx, dataset_name, properties, ColumnChanges(add_column, label, describe))


@dataset.command()
@click.argument("name", metavar="D", shell_complete=complete_dataset)
@click.option("--yes", is_flag=True, help="Do not ask.")
@common_options
def delete(ctx: CommandContext, name: str, yes: bool) -> None:
    """Delete dataset D with all its rows and history; the ledger keeps what it cost."""
    from livedata.cli.dataset.delete import delete_dataset

    delete_dataset(ctx, name, confirmed=yes)
