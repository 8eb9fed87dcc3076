"""``dataset list``: a line per dataset."""

from __future__ import annotations

from collections.abc import Mapping

import click

from livedata.cli.context import CommandContext, common_options, limit_option
from livedata.cli.output.streams import print_json, print_message
from livedata.cli.output.tables import print_table
from livedata.cli.output.values import Value, format_timestamp
from livedata.cli.warnings import warn_of_skipped
from livedata.hints import Subject, hint
from livedata.model.dataset import Dataset
from livedata.model.ids import DatasetId, Micros, format_optional_timestamp, raw_id
from livedata.model.problem import Remedy
from livedata.services import queries
from livedata.services.fires import next_fires


@click.command("list")
@limit_option(20, 100, "datasets")
@common_options
def list_datasets(ctx: CommandContext, limit: int) -> None:
    """List datasets, newest first."""
    with ctx.at_one_moment() as db:
        # One more than asked for tells whether there are more.
        datasets = queries.datasets(db, ctx.owner, limit + 1)
        next_runs = next_fires(db, ctx.owner, ctx.settings.timezone)
        if not ctx.json:
            warn_of_skipped(db, ctx.owner)
    more, datasets = len(datasets) > limit, datasets[:limit]
    if ctx.json:
        print_json(datasets)
    elif not datasets:
        make = hint(Remedy("init"), Subject(ctx.owner))
        print_message(f"There is no dataset yet. {make}")
    else:
        print_table(
            ("name", "status", "schedule", "rows", "last run", "ended", "next run", "id"),
            [_line(dataset, next_runs) for dataset in datasets],
            ids="id",
        )
    if more:
        print_message(f"There are more than {limit}; --limit shows more.")


def _line(dataset: Dataset, next_runs: Mapping[DatasetId, Micros]) -> tuple[Value, ...]:
    last_run = dataset["lastRun"]
    next_run = next_runs.get(DatasetId(raw_id(dataset["id"])))
    return (
        dataset["name"],
        dataset["status"],
        dataset["schedule"],
        dataset["rowCount"],
        last_run["status"] if last_run else None,
        format_timestamp(last_run["completedAt"] if last_run else None),
        format_timestamp(format_optional_timestamp(next_run)),
        dataset["id"],
    )
