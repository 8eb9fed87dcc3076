"""``runs list``: a line per Run, and how the figures of a Run are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import click

from livedata.cli.completion import complete_dataset
from livedata.cli.context import CommandContext, common_options, limit_option
from livedata.cli.output.streams import print_json, print_message
from livedata.cli.output.tables import print_table
from livedata.cli.output.values import Value, format_timestamp
from livedata.cli.warnings import warn_of_skipped
from livedata.hints import Subject, hint
from livedata.messages.run_end import read_so_far
from livedata.model.problem import Remedy
from livedata.model.run import Run
from livedata.services import queries
from livedata.services.run_report import Figures, all_figures, count_oddities

_MOST_ERRORS = 3
"""How many different errors are printed below a table that has no place for them."""


@click.command("list")
@click.argument("dataset", metavar="D", shell_complete=complete_dataset)
@limit_option(20, 100, "Runs")
@common_options
def list_runs(ctx: CommandContext, dataset: str, limit: int) -> None:
    """List the recent Runs of dataset D, newest first."""
    with ctx.at_one_moment() as db:
        dataset_id = queries.find_dataset(db, ctx.owner, dataset)
        runs = queries.runs(db, ctx.owner, dataset_id, limit)
        oddities = {} if ctx.json else count_oddities(db, runs)
        figures = {} if ctx.json else all_figures(db, runs)
        if not ctx.json:
            warn_of_skipped(db, ctx.owner, dataset_id)
    if ctx.json:
        print_json(runs)
    elif not runs:
        first = hint(Remedy("run_first"), Subject(ctx.owner, dataset))
        print_message(f"{dataset} has had no Run yet. {first}")
    else:
        left_out = print_table(
            ("run", "status", "queued", "took", "new", "changed", "gone", "odd", "error"),
            [_line(run, oddities.get(run["id"]), figures.get(run["id"])) for run in runs],
            ids="run",
            elsewhere="error",
        )
        if "error" in left_out:
            _print_errors(runs, Subject(ctx.owner, dataset))
        _print_notes(figures)


def format_deltas(run: Run) -> str:
    """Format how many rows a Run made, changed and found gone."""
    deltas = run["rowDeltas"]
    return f"{deltas['new']} new, {deltas['changed']} changed, {deltas['gone']} gone"


def format_so_far(figures: Figures) -> str:
    """Say of a Run that is not over how far it has come, if that is known."""
    if figures.so_far is None:
        return "It is not over yet."
    return f"It is not over yet: {read_so_far(figures.so_far.pages, figures.so_far.items)}."


def format_duration(run: Run) -> str:
    """Format how long a Run took, in seconds; empty for a Run that is not over."""
    if run["startedAt"] is None or run["completedAt"] is None:
        return ""
    started, ended = map(datetime.fromisoformat, (run["startedAt"], run["completedAt"]))
    return f"{(ended - started).total_seconds():.1f} s"


def _print_errors(runs: Sequence[Run], subject: Subject) -> None:
    """Print below a narrow table why Runs ended: each reason once, with the last of its Runs."""
    newest: dict[str, Run] = {}
    for run in runs:
        if run["error"]:
            newest.setdefault(run["error"], run)
    for error, run in list(newest.items())[:_MOST_ERRORS]:
        # Ids begin with their moment: Runs that follow each other are told apart by the ends.
        print_message(f"{run['id'].rpartition('-')[2]} {run['status']}: {error}")
    if len(newest) > _MOST_ERRORS:
        show = subject.command("runs show", "RUN")
        print_message(f"Why others ended says {show}")


def _print_notes(figures: Mapping[str, Figures]) -> None:
    """Say what the counts of Runs mean that have changed nothing."""
    if any(each.would for each in figures.values()):
        print_message("In brackets: what a held Run would change if it is accepted.")
    if not all(each.known for each in figures.values()):
        print_message(
            "With a question mark: of a held Run it was not recorded. livedata runs show RUN says "
            "it while the output is kept."
        )
    for each in figures.values():
        if each.so_far is not None:
            read = read_so_far(each.so_far.pages, each.so_far.items)
            print_message(f"The Run in progress has read {read}.")


def _counts(run: Run, figures: Figures | None) -> Sequence[Value]:
    """How many rows a Run made, changed and found gone; nothing while that is not known."""
    if figures is None:
        deltas = run["rowDeltas"]
        return deltas["new"], deltas["changed"], deltas["gone"]
    would = figures.would
    if not figures.known:
        return ("?", "?", "?")
    if would is None:
        return (None, None, None)
    return f"({would['new']})", f"({would['changed']})", f"({would['gone']})"


def _line(run: Run, oddities: int | None, figures: Figures | None) -> tuple[Value, ...]:
    return (
        run["id"],
        run["status"],
        format_timestamp(run["queuedAt"]),
        format_duration(run),
        *_counts(run, figures),
        oddities,
        run["error"],
    )
