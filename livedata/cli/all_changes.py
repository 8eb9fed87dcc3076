"""``changes --all``: what is new of all datasets since a moment, grouped by dataset, net."""

from __future__ import annotations

import click

from livedata.cli.context import CommandContext
from livedata.cli.output.change_lines import print_differences
from livedata.cli.output.streams import print_json_lines, print_message, print_text
from livedata.messages.templates import plural
from livedata.model.ids import Micros
from livedata.services.whats_new import DatasetNews, Period, every_news


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
