"""``runs trace`` and ``runs artifacts``: what a Run did, step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from livedata.cli.context import Asked, shared
from livedata.cli.output import Value, record, say, table, write, write_json

if TYPE_CHECKING:
    from livedata.model.run import RunTrace, TraceStep


@click.command()
@click.argument("run", metavar="R")
@shared
def trace(asked: Asked, run: str) -> None:
    """Show what Run R, or the last Run of dataset R, did step by step, and how long that took."""
    from livedata.services import explain, lookup

    with asked.reading() as db:
        found = lookup.find_run(db, asked.owner, run)
        traced = explain.trace(db, asked.owner, found)
    if asked.json:
        write_json(traced)
        return
    record(_about(traced))
    if traced["steps"]:
        write("")
        table(
            ("phase", "status", "start", "ms", "page", "failure"),
            [_step(step) for step in traced["steps"]],
        )
        write("")
        table(
            ("phase", "steps", "ms together", "longest ms"),
            [
                (one["phase"], one["count"], one["totalMs"], one["maxMs"])
                for one in traced["phases"]
            ],
        )
    elif traced["truncated"]:
        say("The steps of a Run are kept for 30 days.")
    else:
        say("No steps are recorded; a Run records them when it ends.")


@click.command()
@click.argument("run", metavar="R")
@shared
def artifacts(asked: Asked, run: str) -> None:
    """List what was recorded while Run R, or the last Run of dataset R, was made."""
    from livedata.services import explain, lookup

    with asked.reading() as db:
        found = lookup.find_run(db, asked.owner, run)
        index = explain.artifacts(db, asked.owner, found)
    if asked.json:
        write_json(index)
    elif index["artifacts"]:
        table(
            ("artifact", "kind", "bytes", "recorded", "page"),
            [
                (one["id"], one["kind"], one["bytes"], one["createdAt"], one["sourceUrl"])
                for one in index["artifacts"]
            ],
        )
    else:
        say("No artifacts are recorded: a Run of selectors alone has none.")


def _about(traced: RunTrace) -> dict[str, Value]:
    about: dict[str, Value] = {"run": traced["runId"], "status": traced["status"]}
    for name, milliseconds in (("waited", traced["queueMs"]), ("took", traced["wallMs"])):
        if milliseconds is not None:
            about[name] = f"{milliseconds} ms"
    return about


def _step(step: TraceStep) -> tuple[Value, ...]:
    failure = step.get("readFailure")
    status = "" if failure is None or failure["status"] is None else f" {failure['status']}"
    return (
        step["phase"],
        step["status"],
        step["startedAt"][11:23],
        step.get("durationMs"),
        step.get("sourceUrl"),
        None if failure is None else failure["reason"] + status,
    )
