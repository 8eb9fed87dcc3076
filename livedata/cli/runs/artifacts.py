"""``runs artifacts``: what was recorded while a Run was made."""

from __future__ import annotations

from livedata.cli.context import CommandContext
from livedata.cli.output.streams import print_json, print_message
from livedata.cli.output.tables import print_table
from livedata.services import queries
from livedata.services.research import trace


def list_artifacts(ctx: CommandContext, name: str) -> None:
    """List the artifacts of the Run that `name` names."""
    with ctx.reading() as db:
        run_id = queries.find_run(db, ctx.owner, name)
        index = trace.index(db, ctx.owner, run_id)
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
        print_message("No artifacts are recorded: a Run of selectors alone has none.")
