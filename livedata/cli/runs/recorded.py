"""``runs trace`` and ``artifacts``: what a Run did step by step, and what was recorded with it."""

from __future__ import annotations

import click

from livedata.cli.completion import complete_dataset
from livedata.cli.context import CommandContext, common_options
from livedata.cli.output.streams import print_json, print_message, print_text
from livedata.cli.output.tables import print_record, print_table
from livedata.cli.output.values import Value
from livedata.model import ids
from livedata.model.diagnosis.recorded_research import ArtifactIndex
from livedata.model.errors import NotFound
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


@click.command("artifacts")
@click.argument("run", metavar="R", shell_complete=complete_dataset)
@click.argument("artifact", metavar="[ARTIFACT]", required=False)
@common_options
def print_artifacts(ctx: CommandContext, run: str, artifact: str | None) -> None:
    """List what was recorded while Run R, or the last Run of dataset R, was made.

    With ARTIFACT, an id or the end of one, print that with its body.
    """

    if artifact is None:
        list_artifacts(ctx, run)
    else:
        show_artifact(ctx, run, artifact)


def list_artifacts(ctx: CommandContext, name: str) -> None:
    """List the artifacts of the Run that `name` names."""
    with ctx.at_one_moment() as db:
        run_id = queries.find_run(db, ctx.owner, name)
        index = diagnostics.artifact_index(db, ctx.owner, run_id)
    if ctx.json:
        print_json(index)
    elif index["artifacts"]:
        print_table(
            ("artifact", "kind", "bytes", "recorded", "page"),
            [
                (
                    artifact["id"],
                    artifact["kind"],
                    artifact["bytes"],
                    artifact["createdAt"],
                    artifact["sourceUrl"],
                )
                for artifact in index["artifacts"]
            ],
        )
    else:
        print_message(
            "No artifacts are recorded: a Run of selectors has none, and those of research are "
            "kept for 30 days."
        )


def show_artifact(ctx: CommandContext, name: str, given: str) -> None:
    """Print one artifact of the Run that `name` names, by its id or an end of it."""
    with ctx.at_one_moment() as db:
        run_id = queries.find_run(db, ctx.owner, name)
        index = diagnostics.artifact_index(db, ctx.owner, run_id)
        artifact = diagnostics.artifact(db, ctx.owner, run_id, _artifact_id(index, given))
    if ctx.json:
        print_json({"artifact": artifact})
    elif artifact["body"] is None:
        size, digest = artifact["bytes"], artifact["sha256"]
        print_message(f"Its body of {size} bytes was too long to be kept; SHA-256 {digest}.")
    else:
        # What a site or a model wrote: print_text writes out what could steer the terminal.
        print_text(artifact["body"])


def _artifact_id(index: ArtifactIndex, given: str) -> bytes:
    """The artifact that a person means: by an end of its id, or the whole of an older one."""
    listed = [ids.raw_id(artifact["id"]) for artifact in index["artifacts"]]
    ends = [raw for raw in listed if ids.matches_either_end(given, raw)]
    if len(ends) > 1:
        raise NotFound(f"{given!r} is an end of {len(ends)} artifact ids; write more of it.")
    try:
        return ends[0] if ends else ids.raw_id(given)
    except ValueError:
        raise NotFound(f"This Run has no artifact {given!r}.") from None
