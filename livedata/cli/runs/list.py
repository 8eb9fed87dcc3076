"""``runs list``: a line per Run, and how the figures of a Run are written."""

from __future__ import annotations

from datetime import datetime

from livedata.cli.context import CommandContext
from livedata.cli.output.streams import print_json, print_message
from livedata.cli.output.tables import print_table
from livedata.cli.output.values import Value, format_timestamp
from livedata.hints import Subject, hint
from livedata.model.problem import Remedy
from livedata.model.run import Run
from livedata.services import diagnostics, queries


def list_runs(ctx: CommandContext, name: str, limit: int) -> None:
    """List at most `limit` Runs of dataset `name`, newest first."""
    with ctx.reading() as db:
        dataset_id = queries.find_dataset(db, ctx.owner, name)
        runs = queries.runs(db, ctx.owner, dataset_id, limit)
        oddities = {} if ctx.json else diagnostics.count_oddities(db, runs)
    if ctx.json:
        print_json(runs)
    elif not runs:
        first = hint(Remedy("run_first"), Subject(ctx.owner, name))
        print_message(f"{name} has had no Run yet. {first}")
    else:
        print_table(
            ("run", "status", "queued", "took", "new", "changed", "gone", "odd", "error"),
            [_line(run, oddities.get(run["id"])) for run in runs],
            ids="run",
        )


def format_deltas(run: Run) -> str:
    """Format how many rows a Run made, changed and found gone."""
    deltas = run["rowDeltas"]
    return f"{deltas['new']} new, {deltas['changed']} changed, {deltas['gone']} gone"


def format_duration(run: Run) -> str:
    """Format how long a Run took, in seconds; empty for a Run that is not over."""
    if run["startedAt"] is None or run["completedAt"] is None:
        return ""
    started, ended = map(datetime.fromisoformat, (run["startedAt"], run["completedAt"]))
    return f"{(ended - started).total_seconds():.1f} s"


def _line(run: Run, oddities: int | None) -> tuple[Value, ...]:
    deltas = run["rowDeltas"]
    return (
        run["id"],
        run["status"],
        format_timestamp(run["queuedAt"]),
        format_duration(run),
        deltas["new"],
        deltas["changed"],
        deltas["gone"],
        oddities,
        run["error"],
    )
