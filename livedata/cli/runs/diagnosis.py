"""``runs explain`` with an option: what became of one entity, or of all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from livedata.cli.context import CommandContext
from livedata.cli.output.streams import print_json, print_text
from livedata.cli.output.tables import print_table
from livedata.messages.controls import escape_controls
from livedata.model import ids
from livedata.model.diagnosis.entities import (
    EntityDiagnosis,
    EntityPath,
    OutcomeCounts,
    RunLossSummary,
)
from livedata.services import diagnostics, queries


def diagnose_run(
    ctx: CommandContext, name: str, *, entity: str | None, field: str | None, summary: bool
) -> None:
    """Print what became of an entity of the Run that `name` names, or of all of them."""
    with ctx.at_one_moment() as db:
        run_id = queries.find_run(db, ctx.owner, name)
        answer = diagnostics.diagnostics(
            db, ctx.owner, run_id, entity=entity, field=field, summary=summary
        )
        dataset = ids.DatasetId(ids.raw_id(answer["datasetId"]))
        columns = queries.dataset(db, ctx.owner, dataset)["columns"]
    if ctx.json:
        print_json(answer)
    elif "entity" in answer:
        names = {column["id"]: column["name"] for column in columns}
        _print_entity(answer["entity"], names)
    elif "summary" in answer:
        _print_summary(answer["summary"])


def _print_entity(told: EntityDiagnosis, names: Mapping[str, str]) -> None:
    recovered = ", although something stood in its way" if told["recovered"] else ""
    print_text(f"{escape_controls(told['entity'])}: {told['outcome']}{recovered}")
    others = [name for name in told["matchedNames"] if name != told["entity"]]
    if others:
        print_text(f"Recorded as: {escape_controls(', '.join(others))}")
    for path in told["paths"]:
        print_text(f"\non {escape_controls(path['url'])}")
        _print_path(path)
        if path["unknownStages"]:
            print_text(f"    not recorded: {', '.join(path['unknownStages'])}")
    shown = [fact for path in told["paths"] for fact in path["facts"]]
    for fact in told["entityFacts"]:
        # Facts of a cell are asked for by its field; others may be of no page.
        if fact not in shown:
            print_text(f"{fact['stage']}: {escape_controls(fact['detail'])}")
    if told["cells"]:
        print_text("")
        print_table(
            ("cell", "value", "empty because"),
            [
                (names.get(cell["fieldId"], cell["fieldId"]), cell["value"], cell["missingReason"])
                for cell in told["cells"]
            ],
        )
    if told["peers"]:
        print_text("\nothers on the same pages")
        print_table(
            ("entity", "outcome", "stood in the way"),
            [
                (peer["entity"], peer["outcome"], ", ".join(peer["codes"]) or None)
                for peer in told["peers"]
            ],
        )
    _print_unknowns(told["unknowns"])


def _print_path(path: EntityPath) -> None:
    """Print the facts of a page; what is said of several of its parts in one line."""
    lines: dict[tuple[str, str, str], int] = {}
    for fact in path["facts"]:
        mark = "✗" if fact == path["firstFailure"] else " "
        line = (mark, fact["stage"], escape_controls(fact["detail"]))
        lines[line] = lines.get(line, 0) + 1
    for (mark, stage, detail), count in lines.items():
        times = f" ({count} times)" if count > 1 else ""
        print_text(f"  {mark} {stage}: {detail}{times}")


def _print_summary(told: RunLossSummary) -> None:
    totals = told["totals"]
    counts = ", ".join(
        f"{totals[kind]} {kind}" for kind in ("present", "absent", "ambiguous", "unknown")
    )
    print_text(f"{totals['entities']} entities: {counts}; {totals['recovered']} recovered.")
    complete = "is complete" if told["outputComplete"] else "may lack something"
    print_text(f"The output {complete}.")
    if told["failureGroups"]:
        print_text("\nwhat stood in the way")
        print_table(
            ("entities", "stage", "what", "such as"),
            [
                (
                    _entities(group["counts"]),
                    group["stage"],
                    group["detail"],
                    ", ".join(example["entity"] for example in group["examples"]),
                )
                for group in told["failureGroups"]
            ],
        )
    if told["missingCells"]:
        print_text("\nempty cells")
        print_table(
            ("column", "empty", "rows", "why"),
            [
                (
                    field["label"],
                    field["missing"],
                    field["observedRows"],
                    ", ".join(f"{count} {why}" for why, count in field["reasons"].items()),
                )
                for field in told["missingCells"]
            ],
        )
    if told["duplicates"]["entities"]:
        print_text(f"\nOffered more than once: {told['duplicates']['entities']}.")
    _print_unknowns(told["unknowns"])


def _entities(counts: OutcomeCounts) -> int:
    """The entities of a group; those that recovered are among the present ones."""
    return counts["present"] + counts["absent"] + counts["unknown"] + counts["ambiguous"]


def _print_unknowns(unknowns: Sequence[str]) -> None:
    for unknown in unknowns:
        print_text(f"Not known: {escape_controls(unknown)}")
