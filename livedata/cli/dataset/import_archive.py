"""``dataset export --archive`` and ``dataset import``: a whole dataset in one file."""

from __future__ import annotations

from pathlib import Path

import click

from livedata.cli.context import CommandContext, common_options
from livedata.cli.output.streams import print_json, print_message, print_text
from livedata.cli.output.tables import print_record
from livedata.hints import Subject
from livedata.rules.declaration.consistency import check_name
from livedata.services.archive import import_archive
from livedata.services.archive_container import open_archive


@click.command("import")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--name", metavar="NAME", help="Another name than the dataset had.")
@common_options
def read_archive(ctx: CommandContext, file: Path, name: str | None) -> None:
    """Import the dataset of an archive that livedata dataset export --archive has written.

    It keeps its ids, its history and the places of its readers, and costs nothing. It is paused:
    livedata dataset update D --status active starts its schedule. An archive that is damaged, or
    whose dataset is here already, is refused as a whole.
    """
    if name is not None:
        check_name(name)
    targets = ctx.settings.targets
    # The file first: a name that is mistyped makes no store.
    with open_archive(file) as archive, ctx.writing() as store:
        credits_ = ctx.first_credits
        dataset = import_archive(
            store, ctx.owner, archive, targets, name=name, first_credits=credits_
        )
    if ctx.json:
        print_json(dataset)
        return
    members = archive.manifest.members
    # An archive has those too that are gone, and the export has counted them.
    gone = members["rows.jsonl"].records - dataset["rowCount"]
    print_record(
        {
            "name": dataset["name"],
            "id": dataset["id"],
            "rows": f"{dataset['rowCount']}, and {gone} gone" if gone else dataset["rowCount"],
            "changes": members["revisions.jsonl"].records,
            "schedule": dataset["schedule"] or "none",
        }
    )
    print_message("It is paused until you start it:")
    active = ("--status", "active")
    print_text(Subject(ctx.owner).command("dataset update", dataset["name"], options=active))
