"""``research export``: a Run as a file from which it can be replayed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from livedata.cli.completion import complete_dataset
from livedata.cli.context import CommandContext, common_options
from livedata.cli.output.streams import print_json, print_text
from livedata.cli.output.whole_file import check_output, whole_file
from livedata.messages.templates import plural
from livedata.research.replay.tape import dump
from livedata.services import queries
from livedata.services.research import tapes

if TYPE_CHECKING:
    from pathlib import Path

    from livedata.cli.context import CommandContext


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
        tape = tapes.tape(db, ctx.owner, queries.find_run(db, ctx.owner, run))
    with whole_file(output) as file:
        written = file.write_bytes(b"".join(dump(tape)))
    artifacts = len(tape.artifacts)
    if ctx.json:
        print_json({"file": str(output), "artifacts": artifacts, "bytes": written})
    else:
        print_text(f"Wrote {output}: {plural(artifacts, 'artifact')}, {written:,} bytes.")
