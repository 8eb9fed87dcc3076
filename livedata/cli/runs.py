"""The commands of ``runs``: what Runs found, and why one was not accepted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from livedata.cli.context import Asked, limit_option, shared
from livedata.cli.explained import artifacts, explain, trace
from livedata.cli.hints import Subject, hint, hints
from livedata.cli.output import (
    Value,
    counted,
    record,
    say,
    table,
    visible,
    when,
    write,
    write_json,
)
from livedata.model.problem import Remedy

if TYPE_CHECKING:
    from livedata.model.run import Run
    from livedata.services.queries import RunReport

NEXT: dict[str, tuple[Remedy, ...]] = {
    "max_pages": (Remedy("raise_limit", {"name": "maxPages"}),),
    "max_items": (Remedy("raise_limit", {"name": "maxItems"}),),
    "page_failed": (Remedy("run_once_changed"),),
    "check_failed": (Remedy("compare_source"),),
    "credits": (Remedy("grant_credits"), Remedy("accept_paid")),
    "mass_loss": (Remedy("accept_loss"), Remedy("confirm_loss")),
    "worker_lost": (Remedy("run_again"),),
    "cancelled": (Remedy("run_again"),),
}
"""Stop rule -> what a person does next."""

ADVISED = {"mass_loss", "credits"}
"""Stop rules whose sentence goes on with advice after a colon; here that stands under Next."""


@click.group()
def runs() -> None:
    """Look at Runs, and accept held ones."""


runs.add_command(trace)
runs.add_command(artifacts)
runs.add_command(explain)


@runs.command("list")
@click.argument("dataset", metavar="D")
@limit_option(20, 100, "Runs")
@shared
def list_(asked: Asked, dataset: str, limit: int) -> None:
    """List the recent Runs of dataset D, newest first."""
    from livedata.services import queries

    with asked.reading() as db:
        found = queries.find_dataset(db, asked.owner, dataset)
        listed = queries.runs(db, asked.owner, found, limit)
    if asked.json:
        write_json(listed)
    elif not listed:
        make = hint(Remedy("run_first"), Subject(asked.owner, dataset))
        say(f"{dataset} has had no Run yet. {make}")
    else:
        table(
            ("run", "status", "queued", "took", "new", "changed", "gone", "error"),
            [_listed(run) for run in listed],
            ids="run",
        )


@runs.command()
@click.argument("run", metavar="R")
@shared
def show(asked: Asked, run: str) -> None:
    """Show Run R, or the last Run of dataset R: its Checks, its pages, and why it ended so."""
    from livedata.services import queries

    with asked.reading() as db:
        found = queries.find_run(db, asked.owner, run)
        story = queries.run_report(db, asked.owner, found)
    if asked.json:
        write_json(story.run)
        return
    record(_facts(story))
    _checks(story)
    _pages(story)
    told = _why(story, asked.owner)
    if told:
        write(f"\n{told}")


@runs.command()
@click.argument("run", metavar="R")
@shared
def accept(asked: Asked, run: str) -> None:
    """Take the output of held Run R as it stands; it is charged as any accepted Run."""
    from livedata.services import queries
    from livedata.services import runs as acts

    with asked.writing() as store:
        found = queries.find_run(store, asked.owner, run)
        acts.accept(store, asked.owner, found)
        story = queries.run_report(store, asked.owner, found)
    if asked.json:
        write_json(story.run)
    else:
        cost = counted(story.charged, "credit")
        write(f"{story.name}: accepted, {_deltas(story.run)}, {cost}.")


def _listed(run: Run) -> tuple[Value, ...]:
    deltas = run["rowDeltas"]
    counts: tuple[Value, ...] = (deltas["new"], deltas["changed"], deltas["gone"])
    took = _took(run)
    return (run["id"], run["status"], when(run["queuedAt"]), took, *counts, run["error"])


def _facts(story: RunReport) -> dict[str, Value]:
    run = story.run
    facts: dict[str, Value] = {
        "run": run["id"],
        "dataset": story.name,
        "status": run["status"],
        "queued": when(run["queuedAt"]),
        "started": when(run["startedAt"]),
        "completed": when(run["completedAt"]),
    }
    if run["completedAt"] is not None:
        facts |= {"took": _took(run), "rows": _deltas(run), "credits": story.charged}
    return facts


def _checks(story: RunReport) -> None:
    names = {f"present:{column['id']}": column["name"] for column in story.columns}
    if story.run["checks"]:
        write("\nchecks")
    for check in story.run["checks"]:
        name = names.get(check["checkId"])
        title = check["checkId"] if name is None else f"present: {name}"
        verdict = "passed" if check["passed"] else "FAILED"
        message = check.get("message")
        write(f"  {verdict}  {title}" + (f": {visible(message)}" if message else ""))


def _pages(story: RunReport) -> None:
    pages, failed = story.facts.get("pages", []), story.facts.get("failure")
    if pages or failed:
        write(f"\npages ({len(pages)} read)" if failed else f"\npages ({len(pages)})")
    for number, page in enumerate(pages, 1):
        items = counted(page["items"], "item")
        write(f"  {number}  {items}  status {page['status']}  {page['finalUrl']}")
    if failed:
        write(f"  {failed['number']}  not read: {failed['reason']}  {failed['url']}")


def _why(story: RunReport, owner: str) -> str:
    """Why a Run was not accepted, and what to do about it."""
    run = story.run
    if run["status"] == "succeeded":
        return ""
    about = Subject(owner, story.name, run["id"])
    if run["status"] in {"queued", "running"}:
        return f"It is not over yet. {hint(Remedy('take_up'), about)}"
    rule, why = story.stop.get("rule", ""), run["error"] or ""
    if rule in ADVISED and ": " in why:
        why = why.partition(": ")[0] + "."
    steps = hints([*NEXT.get(rule, ()), Remedy("explain")], about)
    return "\n".join([f"Why: {visible(why)}", "Next: " + "\n      ".join(steps)])


def _deltas(run: Run) -> str:
    counts = run["rowDeltas"]
    return f"{counts['new']} new, {counts['changed']} changed, {counts['gone']} gone"


def _took(run: Run) -> str:
    from datetime import datetime

    if run["startedAt"] is None or run["completedAt"] is None:
        return ""
    started, ended = map(datetime.fromisoformat, (run["startedAt"], run["completedAt"]))
    return f"{(ended - started).total_seconds():.1f} s"
