"""``runs trace``: what a Run did, step by step."""

from __future__ import annotations

import click

from livedata.cli.completion import complete_dataset
from livedata.cli.context import CommandContext, common_options
from livedata.cli.output.streams import print_json, print_message, print_text
from livedata.cli.output.tables import print_record, print_table
from livedata.cli.output.values import Value
from livedata.model.run import RunTrace, TraceStep
from livedata.services import diagnostics, queries


@click.command("trace")
@click.argument("run", metavar="R", shell_complete=complete_dataset)
@common_options
def show_trace(ctx: CommandContext, run: str) -> None:
    """Show what Run R, or the last Run of dataset R, did step by step, and how long that took."""
    with ctx.at_one_moment() as db:
        run_id = queries.find_run(db, ctx.owner, run)
        trace = diagnostics.trace(db, ctx.owner, run_id)
    if ctx.json:
        print_json(trace)
        return
    print_record(_properties(trace))
    if trace["steps"]:
        _print_steps(trace)
    # Housekeeping took the steps away; the Run itself stays.
    elif trace["truncated"]:
        print_message("The steps of a Run are kept for 30 days.")
    else:
        print_message("No steps are recorded; a Run records them when it ends.")


def _print_steps(trace: RunTrace) -> None:
    print_text("")
    print_table(
        ("phase", "status", "start", "ms", "page", "failure"),
        [_line(step) for step in trace["steps"]],
    )
    print_text("")
    print_table(
        ("phase", "steps", "ms together", "longest ms"),
        [
            (phase["phase"], phase["count"], phase["totalMs"], phase["maxMs"])
            for phase in trace["phases"]
        ],
    )


def _properties(trace: RunTrace) -> dict[str, Value]:
    properties: dict[str, Value] = {"run": trace["runId"], "status": trace["status"]}
    for name, milliseconds in (("waited", trace["queueMs"]), ("took", trace["wallMs"])):
        if milliseconds is not None:
            properties[name] = f"{milliseconds} ms"
    return properties


def _line(step: TraceStep) -> tuple[Value, ...]:
    failure = step.get("readFailure")
    status = "" if failure is None or failure["status"] is None else f" {failure['status']}"
    return (
        step["phase"],
        step["status"],
        step["startedAt"][11:23],  # the time of day: the steps of a Run share their date
        step.get("durationMs"),
        step.get("sourceUrl"),
        None if failure is None else failure["reason"] + status,
    )
