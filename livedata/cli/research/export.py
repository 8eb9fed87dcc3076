"""``research export``: a Run as a file from which it can be replayed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from livedata.cli.output.streams import print_json, print_text
from livedata.cli.output.whole_file import check_output, whole_file
from livedata.messages.templates import plural
from livedata.research.replay.tape import dump
from livedata.services import queries
from livedata.services.research import tapes

if TYPE_CHECKING:
    from pathlib import Path

    from livedata.cli.context import CommandContext


def export_tape(ctx: CommandContext, name: str, output: Path, *, force: bool) -> None:
    """Write the tape of the Run that `name` names to `output`, whole or not at all."""
    check_output(output, force=force)
    with ctx.at_one_moment() as db:
        tape = tapes.tape(db, ctx.owner, queries.find_run(db, ctx.owner, name))
    with whole_file(output) as file:
        written = file.write_bytes(b"".join(dump(tape)))
    artifacts = len(tape.artifacts)
    if ctx.json:
        print_json({"file": str(output), "artifacts": artifacts, "bytes": written})
    else:
        print_text(f"Wrote {output}: {plural(artifacts, 'artifact')}, {written:,} bytes.")
