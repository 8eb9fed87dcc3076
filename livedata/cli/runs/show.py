"""``runs show``: what a Run found, and why it was not accepted."""

from __future__ import annotations

import click

from livedata.cli.completion import complete_dataset
from livedata.cli.context import CommandContext, common_options
from livedata.cli.output.streams import print_json, print_text
from livedata.cli.output.tables import print_record
from livedata.cli.output.values import Value, format_timestamp
from livedata.cli.runs.list import format_deltas, format_duration, format_so_far
from livedata.hints import Subject, hint, hints, is_of_the_machine
from livedata.messages.checks import check_title
from livedata.messages.controls import escape_controls
from livedata.messages.findings import finding_sentence, odd_sentences
from livedata.messages.render import entry, statement
from livedata.messages.research import describe_calls
from livedata.messages.run_end import would_change
from livedata.messages.templates import plural
from livedata.model.diagnosis.recorded_run import is_forgotten
from livedata.model.problem import Remedy
from livedata.model.run import HELD_BY_GUARDS
from livedata.rules.changes.guards import without_output
from livedata.services import queries
from livedata.services.run_report import RunReport


@click.command("show")
@click.argument("run", metavar="R", shell_complete=complete_dataset)
@common_options
def show_run(ctx: CommandContext, run: str) -> None:
    """Show Run R, or the last Run of dataset R: its Checks, its pages, and why it ended so."""
    with ctx.at_one_moment() as db:
        run_id = queries.find_run(db, ctx.owner, run)
        report = queries.run_report(db, ctx.owner, run_id)
    if ctx.json:
        print_json(report.run)
        return
    print_record(_properties(report))
    _print_checks(report)
    _print_pages(report)
    _print_oddities(report)
    reason = _reason(report, ctx.owner)
    if reason:
        print_text(f"\n{reason}")


def _properties(report: RunReport) -> dict[str, Value]:
    run = report.run
    properties: dict[str, Value] = {
        "run": run["id"],
        "dataset": report.name,
        "status": run["status"],
        "queued": format_timestamp(run["queuedAt"]),
        "started": format_timestamp(run["startedAt"]),
        "completed": format_timestamp(run["completedAt"]),
    }
    if run["completedAt"] is not None:
        properties |= {
            "took": format_duration(run),
            "rows": _rows(report),
            "credits": report.charged,
        }
    if report.calls is not None:
        properties["model"] = describe_calls(report.calls)
    return properties


def _rows(report: RunReport) -> str:
    would = report.figures.would
    if not report.figures.known:
        return "not recorded"
    if would is None:
        return format_deltas(report.run)
    return would_change(would, now=report.output_kept)


def _print_checks(report: RunReport) -> None:
    names = {column["id"]: column["name"] for column in report.columns}
    if report.run["checks"]:
        print_text("\nchecks")
    for check in report.run["checks"]:
        title = check_title(check["checkId"], names)
        verdict = "passed" if check["passed"] else "FAILED"
        message = check.get("message")
        print_text(f"  {verdict}  {title}" + (f": {escape_controls(message)}" if message else ""))


def _print_pages(report: RunReport) -> None:
    if is_forgotten(report.run, report.facts):
        print_text(f"\n{finding_sentence('unknown.not_kept')}")
    pages, failed = report.facts.get("pages", []), report.facts.get("failure")
    if pages or failed:
        print_text(f"\npages ({len(pages)} read)" if failed else f"\npages ({len(pages)})")
    for number, page in enumerate(pages, 1):
        items = plural(page["items"], "item")
        print_text(f"  {number}  {items}  status {page['status']}  {page['finalUrl']}")
    if failed:
        status = f", status {failed['status']}" if failed["status"] else ""
        print_text(f"  {failed['number']}  not read: {failed['reason']}{status}  {failed['url']}")


def _print_oddities(report: RunReport) -> None:
    lines = odd_sentences(report.facts)
    if lines:
        print_text("\nlooks odd")
    for line in lines:
        print_text(f"  {line}")


def _reason(report: RunReport, owner: str) -> str:
    """Say why a Run was not accepted, and what to do about it."""
    run = report.run
    if run["status"] == "succeeded":
        return ""
    about = Subject(owner, report.name, run["id"])
    if run["status"] in {"queued", "running"}:
        waits = report.progress.waits if report.progress else None
        said = [format_so_far(report.figures), waits.sentence if waits else ""]
        # Whoever takes up a Run that is to be cancelled only ends it.
        if waits is None or not waits.code.startswith("cancelling"):
            said += [hint(Remedy("take_up"), about), hint(Remedy("cancel"), about)]
        return " ".join(filter(None, said))
    problem = report.problem
    # Runs of earlier versions have a sentence only.
    why = (run["error"] or "") if problem is None else statement(problem)
    steps = next_steps(report)
    if not report.output_kept:
        steps = [*without_output(steps)]
    commands = hints([*steps, Remedy("explain")], about)
    about_it = [] if problem is None else [f"About: {entry(problem)}"]
    told = "Next: " + "\n      ".join(commands)
    return "\n".join([f"Why: {escape_controls(why)}", told, *about_it])


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
WITH_OWN_STEPS = HELD_BY_GUARDS | {"run.damaged"}
"""The problems of Runs that a drift guard held, or that the store itself stopped."""

OF_RESEARCH = frozenset(
    f"checks.{name}"
    for name in (
        *("few_pages_extracted", "no_page_read", "no_page_to_read", "no_entities"),
        "entity_twice",
    )
)
"""The problems of Runs without selectors that could be compared with the site."""


def next_steps(report: RunReport) -> list[Remedy]:
    """List what such an end asks for, and what may be set up otherwise on this machine."""
    steps = NEXT.get(report.stop.get("rule", ""), ())
    own = report.problem.remedies if report.problem else ()
    # What one guard asks for is no help with what another one holds, nor with a damaged store.
    if report.problem is not None and report.problem.code in WITH_OWN_STEPS:
        return list(own)
    # The problem's own remedy has the parameters: which limit, how many credits.
    if report.problem is not None and report.problem.code in OF_RESEARCH:
        steps = ()
    exact = {remedy.code: remedy for remedy in own}
    codes = {step.code for step in steps}
    others = [remedy for remedy in own if remedy.code not in codes and is_of_the_machine(remedy)]
    return [*(exact.get(step.code, step) for step in steps), *others]
