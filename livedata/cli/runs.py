"""The commands of ``runs``: what Runs found, and why one was not accepted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from livedata.cli.context import Asked, limit_option, shared
from livedata.cli.explained import artifacts, explain, trace
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
from livedata.cli.proposed import words

if TYPE_CHECKING:
    from livedata.model.run import Run
    from livedata.services.queries import RunReport

NEXT = {
    "max_pages": "Raise maxPages in the source if the list is to be read to its end.",
    "max_items": "Raise maxItems in the source if the list is to be read to its end.",
    "page_failed": "Once that has changed, run again: livedata run {name}",
    "check_failed": "Compare the source with the site: livedata dataset source {name} > source.toml"
    " and livedata preview source.toml",
    "credits": "Add credits, then take the output: livedata runs accept {run}",
    "mass_loss": "If the site really dropped these rows, take the output: livedata runs accept"
    " {run}\n      or run again, since a second complete Run that finds them gone is accepted:"
    " livedata run {name}",
    "worker_lost": "Start it again: livedata run {name}",
    "cancelled": "Start it again: livedata run {name}",
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
        say(f"{dataset} has had no Run yet; livedata run {words(dataset, asked.owner)} makes one.")
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
    values = {"name": words(story.name, owner), "run": words(run["id"], owner)}
    if run["status"] in {"queued", "running"}:
        next_ = "It is not over yet. If nothing executes it, take it up: livedata run {name}"
        return next_.format(**values)
    rule, why = story.stop.get("rule", ""), run["error"] or ""
    if rule in ADVISED and ": " in why:
        why = why.partition(": ")[0] + "."
    next_ = NEXT.get(rule, "").format(**values)
    told = f"Why: {why}\n" + (f"Next: {next_}\n" if next_ else "")
    return f"{told}What changed, and what to try: livedata runs explain {values['run']}"


def _deltas(run: Run) -> str:
    counts = run["rowDeltas"]
    return f"{counts['new']} new, {counts['changed']} changed, {counts['gone']} gone"


def _took(run: Run) -> str:
    from datetime import datetime

    if run["startedAt"] is None or run["completedAt"] is None:
        return ""
    started, ended = map(datetime.fromisoformat, (run["startedAt"], run["completedAt"]))
    return f"{(ended - started).total_seconds():.1f} s"
