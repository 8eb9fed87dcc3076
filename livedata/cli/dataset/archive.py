"""``dataset export --archive`` and ``dataset import``: a whole dataset in one file."""

from __future__ import annotations

from pathlib import Path

from livedata.cli.context import CommandContext
from livedata.cli.output.streams import print_json, print_message, print_text
from livedata.cli.output.tables import print_record
from livedata.cli.output.values import format_size
from livedata.cli.output.whole_file import check_output, whole_file
from livedata.hints import Subject
from livedata.messages.templates import plural
from livedata.rules.declaration.consistency import check_name
from livedata.rules.network.targets import TargetPolicy
from livedata.services import queries
from livedata.services.archive.container import open_archive
from livedata.services.archive.transfer import export_archive, import_archive


def write_archive(ctx: CommandContext, name: str, file: Path, *, force: bool) -> None:
    """Write dataset `name` with its history into `file`."""
    check_output(file, force=force, option="--archive")
    with ctx.reading() as db:
        dataset = queries.find_dataset(db, ctx.owner, name)
        with whole_file(file) as part:
            counts = export_archive(db, ctx.owner, dataset, part)
    size = file.stat().st_size
    if ctx.json:
        print_json({"file": str(file), "bytes": size, "records": counts})
        return
    contents = [plural(counts["rows"], "row"), plural(counts["revisions"], "change")]
    print_message(
        f"Wrote {', '.join(contents)} and {plural(counts['runs'], 'Run')} to {file} "
        f"({format_size(size)})."
    )


def read_archive(ctx: CommandContext, file: Path, name: str | None) -> None:
    """Import the dataset of `file`, under another `name` if one is given."""
    if name is not None:
        check_name(name)
    targets = TargetPolicy.parse(ctx.settings.allow_hosts)
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
