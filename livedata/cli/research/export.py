"""``research export``: the tape of a Run as a file."""

from __future__ import annotations

from pathlib import Path

import click

from livedata.cli.context import CommandContext
from livedata.cli.output.streams import print_json, print_text
from livedata.messages.templates import plural
from livedata.research.replay.tape import dump
from livedata.services import queries
from livedata.services.research import tapes


def export_tape(ctx: CommandContext, name: str, output: Path, *, force: bool) -> None:
    """Write what the Run that `name` names has recorded."""
    if output.exists() and not force:
        raise click.ClickException(
            f"{output} exists; --force overwrites it, -o names another file."
        )
    with ctx.reading() as db:
        tape = tapes.tape(db, ctx.owner, queries.find_run(db, ctx.owner, name))
    text = b"".join(dump(tape))
    output.write_bytes(text)
    written = {"file": str(output), "artifacts": len(tape.artifacts), "bytes": len(text)}
    if ctx.json:
        print_json(written)
    else:
        answers = plural(len(tape.artifacts), "artifact")
        print_text(f"Wrote {output}: {answers}, {len(text):,} bytes.")
