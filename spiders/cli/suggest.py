"""``dataset suggest``: proposes a source for a dataset whose page has changed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from livedata.cli.completion import complete_dataset
from livedata.cli.context import CommandContext, common_options
from livedata.cli.output.streams import print_json, print_message, print_text
from livedata.cli.runs.explain import print_suggestion
from livedata.cli.source.source_file import not_ready
from livedata.cli.source.template import add_schema, refuse_existing, write_new
from livedata.formats.source_toml import SCHEMA_LINE, write_source
from livedata.hints import Subject, hint, machine_hints
from livedata.messages.controls import escape_controls
from livedata.model.problem import Remedy
from livedata.rules.explanation.mended_source import Mending
from livedata.services import queries
from livedata.services.forecast import (
    Forecast,
)
from spiders.cli.preview import EXIT_CODES
from spiders.cli.progress import show_pages
from spiders.cli.revising import NotMended, Revising
from spiders.cli.trial import Trial
from spiders.cli.trial_report import forecast_json, print_forecast
from spiders.crawl.engine import crawl_engine, end_process

_NOT_READY = frozenset(("failed", "blocked"))
"""A held Run can be accepted by a person; these would write nothing."""


@click.command("suggest")
@click.argument("name", metavar="D", shell_complete=complete_dataset)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("suggested.toml"),
    show_default=True,
    help="The file to write.",
)
@click.option("--force", is_flag=True, help="Overwrite the file if it exists.")
@common_options
def suggest_source(ctx: CommandContext, name: str, output: Path, force: bool) -> None:
    """Propose a source for dataset D, whose page has changed.

    It looks for the known rows on the page as it is now, replaces the selectors that find nothing,
    tries the result on the whole list, and says what would change. Nothing is stored; livedata
    dataset revise takes the file over.
    """
    refuse_existing(output, force=force)
    with ctx.reading() as db:
        dataset_id = queries.find_dataset(db, ctx.owner, name)
        declared = queries.source(db, ctx.owner, dataset_id)
        revising = Revising(db, ctx.owner, dataset_id, ctx.settings)
        known = revising.known(declared)
        with crawl_engine() as engine:
            mending = revising.mend(engine, known)
            if isinstance(mending, NotMended):
                _refuse(ctx, mending)
                end_process(4 if mending.blocked else 3, engine)
            declaration = {**declared, "source": mending.source}
            with show_pages(name, quiet=ctx.json) as on_page:
                trial, changes = revising.try_out(engine, declaration, on_page)
    if mending.suggestion["replaced"]:
        write_new(output, _commented(declaration, mending, trial, name), force=force)
    _report(ctx, name, str(output), mending, trial, changes)
    add_schema(output, quiet=ctx.json)
    end_process(EXIT_CODES.get(trial.verdict.outcome, 0), engine)


def _refuse(ctx: CommandContext, refused: NotMended) -> None:
    if ctx.json:
        print_json({"file": None, "error": refused.why})
        return
    print_message(refused.why)
    if refused.problem is not None:
        for line in machine_hints(refused.problem, Subject()):
            print_message(f"  {line}")


def _report(
    ctx: CommandContext,
    name: str,
    file: str,
    mending: Mending,
    trial: Trial,
    changes: Forecast | None,
) -> None:
    if ctx.json:
        print_json(_json(file, mending, trial, changes))
        return
    print_suggestion(mending.suggestion, "The first page")
    if changes is not None:
        print_forecast(trial, changes)
    elif trial.error:
        print_message(trial.error)
    if not mending.suggestion["replaced"]:
        print_message(_kept(ctx, name, trial))
        return
    if trial.verdict.outcome in _NOT_READY:
        print_text(f"Wrote {file}, which is not ready.")
        print_message(f"Edit it, then try it: {Subject().command('preview', file)}")
        return
    print_text(f"Wrote {file}.")
    remedy = Remedy("pin_source", {"owner": ctx.owner, "dataset": name, "file": file})
    print_message(hint(remedy, Subject()))


def _kept(ctx: CommandContext, name: str, trial: Trial) -> str:
    """Say of a source whose selectors stay whether it is well."""
    if trial.verdict.outcome == "accept":
        return "The source reads the page as it is: no selector has to be replaced."
    preview = hint(Remedy("preview"), Subject(ctx.owner, name))
    return (
        "No selector that was tried would mend that: those of the source find the known rows. "
        f"{preview}"
    )


def _json(file: str, mending: Mending, trial: Trial, changes: Forecast | None) -> dict[str, Any]:
    return {
        "file": file if mending.suggestion["replaced"] else None,
        **mending.suggestion,
        "outcome": trial.verdict.outcome,
        "error": trial.error,
        "changes": None if changes is None else forecast_json(trial, changes),
    }


def _commented(declaration: Mapping[str, Any], mending: Mending, trial: Trial, name: str) -> str:
    """The file: what a trial says against it stands on top, where nobody overlooks it."""
    lines = [f"A source for {name!r} as its page is now."]
    replaced, lost = mending.suggestion["replaced"], mending.suggestion["lost"]
    lines += [f"{each['target']}: {each['before']!r} became {each['after']!r}" for each in replaced]
    lines += [f"{name}: not found on the page, left as it was" for name in lost]
    if trial.verdict.outcome in _NOT_READY:
        lines.insert(0, not_ready(trial.error or "A Run would not accept this."))
    # What is quoted may hold a line end of the site: behind that, its text would be TOML.
    comment = "".join(f"# {escape_controls(line)}\n" for line in lines)
    return f"{SCHEMA_LINE}{comment}\n{write_source(declaration)}"
