"""``dataset diff`` and ``changes --all``: what became of one table or of all, net."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import click

from livedata.cli.completion import complete_dataset
from livedata.cli.context import CommandContext, common_options
from livedata.cli.output.change_lines import print_differences
from livedata.cli.output.streams import print_json, print_json_lines, print_message, print_text
from livedata.cli.output.tables import print_moment
from livedata.messages.templates import plural
from livedata.model.ids import Micros
from livedata.services import moments, queries
from livedata.services.moments import RowDiff
from livedata.services.whats_new import DatasetNews, Period, every_news


@click.command()
@click.argument("name", metavar="D", shell_complete=complete_dataset)
@click.argument("since", metavar="WHEN")
@click.argument("until", metavar="[WHEN]", required=False)
@common_options
def diff(ctx: CommandContext, name: str, since: str, until: str | None) -> None:
    """Show what became of the table of dataset D between two moments, or up to now.

    WHEN is a moment with its zone (2026-03-01T08:00:00Z), a day (2026-03-01: its end in
    LIVEDATA_TIMEZONE), a sequence, or the id of a Run. There is a line for each row that is new,
    gone, back or changed, net: what came and went between does not show.
    """
    with ctx.reading() as db:
        dataset = queries.find_dataset(db, ctx.owner, name)
        told = moments.diff(db, ctx.owner, dataset, since, until, ctx.settings.timezone)
    print_moment(told.since)
    print_moment(told.until)
    if ctx.json:
        print_json(told.rows)
        return
    if told.named:
        print_differences(told.named)
    print_message(_summary(told.rows))


def _summary(differences: Sequence[RowDiff]) -> str:
    """How many rows differ, by what became of them."""
    if not differences:
        return "Nothing differs."
    counts = Counter(difference["kind"] for difference in differences)
    kinds = ", ".join(f"{count} {kind}" for kind, count in counts.items())
    return f"{plural(len(differences), 'row')} differ: {kinds}."


def print_all(ctx: CommandContext, since: Micros | None) -> None:
    """Print what became of the rows of all datasets. Raises UsageError without a moment."""
    if since is None:
        raise click.UsageError("--all tells what is new since a moment: write it with --since.")
    datasets = rows = 0
    with ctx.reading() as db:
        for told in every_news(db, ctx.owner, Period(since)):
            if ctx.json:
                print_json_lines([told.as_json])
            else:
                _print(told, is_first=not datasets)
            datasets, rows = datasets + 1, rows + sum(told.counts.values())
    if not datasets:
        print_message("Nothing is new.")
    elif not ctx.json:
        print_message(f"{plural(rows, 'row')} differ in {plural(datasets, 'dataset')}.")


def _print(told: DatasetNews, *, is_first: bool) -> None:
    if not is_first:
        print_text("\n")
    if told.trouble is not None:
        name, trouble = told.dataset["name"], told.trouble
        print_text(f"{name}: its last Run was not accepted ({trouble.status}): {trouble.sentence}")
    if told.sentence is not None:
        print_text(told.sentence)
        print_differences([each.named for each in told.rows])
