"""``research export`` and ``replay``: a Run once more, from what it recorded."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from livedata.cli.completion import complete_dataset
from livedata.cli.context import CommandContext, common_options
from livedata.cli.output.streams import print_json, print_text
from livedata.cli.output.tables import print_table
from livedata.cli.output.whole_file import check_output, whole_file
from livedata.messages.templates import plural
from livedata.model.errors import BadRequest, NotFound
from livedata.research.replay.tape import BadTape, Tape, dump, load
from livedata.services import queries
from livedata.services.research import replays

if TYPE_CHECKING:
    from livedata.model.diagnosis.recorded_research import (
        ChangedRow,
        ReplayDiff,
        ReplayReport,
    )


@click.command("export")
@click.argument("run", metavar="R", shell_complete=complete_dataset)
@click.option(
    "-o",
    "--output",
    metavar="TAPE",
    required=True,
    type=click.Path(path_type=Path),
    help="The file to write.",
)
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
@common_options
def export_tape(ctx: CommandContext, run: str, output: Path, force: bool) -> None:
    """Write Run R, or the last Run of dataset R, as a tape.

    A tape is a file of JSON lines: the plan, what was known before, every page and answer. It can
    be replayed on any machine, and is kept for as long as you keep it.
    """
    check_output(output, force=force)
    with ctx.at_one_moment() as db:
        tape = replays.tape(db, ctx.owner, queries.find_run(db, ctx.owner, run))
    with whole_file(output) as file:
        written = file.write_bytes(b"".join(dump(tape)))
    artifacts = len(tape.artifacts)
    if ctx.json:
        print_json({"file": str(output), "artifacts": artifacts, "bytes": written})
    else:
        print_text(f"Wrote {output}: {plural(artifacts, 'artifact')}, {written:,} bytes.")


@click.command("replay")
@click.argument("run", metavar="R|TAPE", shell_complete=complete_dataset)
@click.option(
    "--mode",
    type=click.Choice(["strict", "loose"]),
    default="strict",
    show_default=True,
    help="Take an answer only if just this was asked, or whatever was asked.",
)
@click.option("--diff", is_flag=True, help="List the rows and the codes of facts that changed.")
@common_options
def replay_run(ctx: CommandContext, run: str, mode: Literal["strict", "loose"], diff: bool) -> None:
    """Make a Run again from what it recorded, or from a TAPE.

    R is a Run, or a dataset, which stands for its last Run. No model, no search and no site is
    asked, and nothing is written. The exit code is 1 if something is asked that was not recorded,
    or if rows or facts differ in a strict replay.
    """
    report = replays.report(_tape(ctx, run), mode, diff=diff)
    if ctx.json:
        print_json(report)
    else:
        _print(report)
    if report["misses"] or (mode == "strict" and not report["identical"]):
        sys.exit(1)


def _tape(ctx: CommandContext, name: str) -> Tape:
    """The tape in the file of that name if there is one, else that of the Run."""
    path = Path(name)
    # A folder is no tape, and may well be called as a dataset is.
    if path.exists() and not path.is_dir():
        return _read(path)
    if os.sep in name or path.suffix in (".jsonl", ".tape"):
        raise NotFound(f"There is no file {name}; livedata research export R -o TAPE writes one.")
    with ctx.reading() as db:
        return replays.tape(db, ctx.owner, queries.find_run(db, ctx.owner, name))


def _read(path: Path) -> Tape:
    try:
        return load(path.read_bytes())
    except BadTape as bad:
        raise BadRequest(f"{path}, {bad}.") from None


def _print(report: ReplayReport) -> None:
    run = f"Run {report['runId']}" if report["runId"] else "a Run"
    print_text(f"Replay of {run}, {report['mode']}, by harness {report['harnessVersion']}:")
    counts = f"{plural(len(report['rows']), 'row')} and {plural(len(report['facts']), 'fact')}"
    if report["identical"]:
        digest = f"digest {report['digest']}" if report["digest"] else "no digest"
        print_text(f"identical: {counts}, {digest}.")
    else:
        print_text(f"not identical: {counts}.")
        print_text(f"  digest   {report['digest'] or 'none, it came to no rows'}")
        print_text(f"  recorded {report['recordedDigest'] or 'none, the Run came to no rows'}")
    if report["misses"]:
        _print_misses(report)
    if "diff" in report:
        _print_diff(report["diff"], identical=report["identical"])


def _print_misses(report: ReplayReport) -> None:
    how = " in these words" if report["mode"] == "strict" else ""
    print_text(f"\nAsked now, but not recorded{how}:")
    print_table(
        ("kind", "page", "part"),
        [(miss["kind"], miss["sourceUrl"], miss["window"] or None) for miss in report["misses"]],
    )


def _print_diff(diff: ReplayDiff, *, identical: bool) -> None:
    if not diff["rows"] and not diff["codes"]:
        rest = "." if identical else "; a quote or a detail of a fact did."
        print_text(f"\nNo row and no code of a fact changed{rest}")
    if diff["rows"]:
        print_text("\nRows that changed:")
        print_table(
            ("row", "change", "column", "recorded", "replayed"),
            [line for row in diff["rows"] for line in _lines(row)],
        )
    if diff["codes"]:
        print_text("\nCodes of facts that changed:")
        print_table(
            ("code", "recorded", "replayed"),
            [(code["code"], code["recorded"], code["replayed"]) for code in diff["codes"]],
        )


def _lines(row: ChangedRow) -> list[tuple[str | None, ...]]:
    """A line for each cell that changed, or one for a row that is new or lost."""
    if not row["cells"]:
        return [(row["name"], row["change"], None, None, None)]
    return [
        (row["name"], row["change"], cell["label"], cell["recorded"], cell["replayed"])
        for cell in row["cells"]
    ]
