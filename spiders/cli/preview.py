"""``livedata preview``: try a source without storing anything."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Final

import click

from livedata.cli.completion import complete_dataset, complete_source
from livedata.cli.context import CommandContext, common_options
from livedata.cli.output.streams import print_json, print_message
from livedata.hints import Subject
from livedata.model.harvest import PageRead
from livedata.model.problem import Remedy
from livedata.services.attempts import pages_before
from livedata.services.forecast import Forecast
from livedata.store.database.store import Database
from spiders.cli.progress import show_pages
from spiders.cli.revising import beside_rows
from spiders.cli.trial import Trial, try_out
from spiders.cli.trial_report import forecast_json, print_forecast, print_trial, trial_json
from spiders.cli.tried_source import TriedSource, tried_source
from spiders.crawl.engine import crawl_engine, end_process
from spiders.crawl.job import CrawlJob
from spiders.crawl.settings import FetchConfig, fetch_config
from spiders.saved.pages import Saving, open_pages, saving

EXIT_CODES: Final = {"failed": 3, "blocked": 4, "held": 5}
"""How a Run would end -> the exit code."""


@click.command()
@click.argument("source", metavar="SOURCE|D", shell_complete=complete_source)
@click.option(
    "--against",
    metavar="D",
    shell_complete=complete_dataset,
    help="Compare what SOURCE finds with the rows of D.",
)
@click.option(
    "--pages",
    type=click.IntRange(1, 50),
    help="How many pages to read at most.  [default: 1; all, if rows are compared]",
)
@click.option(
    "--save",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Keep the pages, and the rows that they gave, in a new folder.",
)
@click.option(
    "--pages-from",
    "saved",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Read the pages in such a folder, and ask no site.",
)
@common_options
def preview(
    ctx: CommandContext,
    source: str,
    against: str | None,
    pages: int | None,
    save: Path | None,
    saved: Path | None,
) -> None:
    """Try a source: what it finds, and what a Run would say.

    Prints what each selector finds, and what the Checks say. It reads the pages as a Run does, but
    stores nothing and charges nothing. The exit code is that of such a Run. With the name of a
    dataset in place of a file, or with --against, it also says what such a Run would change, by
    row and cell.
    """
    if save is not None and saved is not None:
        raise click.UsageError(
            "--save keeps what the site answers, and --pages-from asks no site: give one of them."
        )
    fetching = fetch_config(ctx.settings)
    folder = None if saved is None else open_pages(saved)
    keeping = nullcontext() if save is None else saving(save)
    with ctx.reading() as db, keeping as kept:
        tried = tried_source(db, ctx.owner, source, fetching, against)
        with crawl_engine() as engine, show_pages(tried.name or source, quiet=ctx.json) as on_page:
            job, through = _job(db, tried, fetching, on_page), folder or kept
            limit = tried.pages if folder is None else folder.limit(tried.recipe)
            job = job if through is None else through.job(job)
            trial = engine.run(try_out(engine, job, pages or limit))
        # A crawl takes a page that the folder lacks for one that cannot be read, as of any site.
        if folder is not None:
            folder.check()
        unsaved = None if kept is None else _saved(kept, trial)
        trial, changes = _compared(ctx, db, tried, trial)
    _report(ctx, trial, changes, _next(ctx.owner, tried))
    if save is not None:
        _report_saved(ctx, source, save, unsaved)
    end_process(1 if unsaved else EXIT_CODES.get(trial.verdict.outcome, 0), engine)


def _job(
    db: Database, tried: TriedSource, fetching: FetchConfig, on_page: Callable[[PageRead], None]
) -> CrawlJob:
    followers = () if tried.dataset is None else pages_before(db, tried.dataset)
    return CrawlJob(tried.recipe, fetching, followers, on_page=on_page)


def _compared(
    ctx: CommandContext, db: Database, tried: TriedSource, trial: Trial
) -> tuple[Trial, Forecast | None]:
    """The trial as a Run of the dataset, if there is one, and what that would change."""
    if tried.dataset is None:
        return trial, None
    return beside_rows(db, ctx.owner, tried.dataset, ctx.settings, trial, tried.fields)


def _next(owner: str, tried: TriedSource) -> Remedy:
    """What a person does with a source that reads well."""
    if tried.name is None:
        return Remedy("create_dataset", {"owner": owner, "file": str(tried.file)})
    if tried.file is None:
        return Remedy("run_again", {"owner": owner, "dataset": tried.name})
    return Remedy("pin_source", {"owner": owner, "dataset": tried.name, "file": str(tried.file)})


def _report(ctx: CommandContext, trial: Trial, changes: Forecast | None, next_: Remedy) -> None:
    if ctx.json:
        told = trial_json(trial)
        print_json(told if changes is None else {**told, "changes": forecast_json(trial, changes)})
        return
    print_trial(trial, next_)
    if changes is not None:
        print_forecast(trial, changes)


def _saved(kept: Saving, trial: Trial) -> str | None:
    return kept.save(trial.saved_rows, trial.recipe.render, complete=not trial.cut)


def _report_saved(ctx: CommandContext, source: str, folder: Path, unsaved: str | None) -> None:
    if unsaved is not None:
        print_message(f"Nothing was saved in {folder}: {unsaved}.")
        return
    test = Subject(owner=ctx.owner).command("dataset test", source, str(folder))
    print_message(f"The pages and rows are in {folder}. Test the source with them: {test}")
