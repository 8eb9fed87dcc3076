"""``livedata preview``: try a source without storing anything."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Final

import click
from msgspec import Struct

from livedata.cli.context import CommandContext
from livedata.cli.output.streams import print_json, print_message
from livedata.cli.source.source_file import locate_problems, read_source
from livedata.hints import Subject
from livedata.model.errors import Invalid
from livedata.model.ids import DatasetId, format_uuid
from livedata.model.problem import Remedy
from livedata.model.recipe import Recipe
from livedata.services import queries
from livedata.services.attempts import pages_before
from livedata.services.commit import AcceptancePolicy
from livedata.services.forecast import Forecast, current_recipe, forecast, revised_recipe
from livedata.store.database.store import Database
from spiders.cli.forecast_report import forecast_json, print_forecast
from spiders.cli.progress import show_pages
from spiders.cli.trial import Trial, trial_recipe, try_out
from spiders.cli.trial_report import print_trial, trial_json
from spiders.crawl.engine import crawl_engine, end_process
from spiders.crawl.job import CrawlJob
from spiders.crawl.settings import FetchConfig, fetch_config
from spiders.saved.pages import open_pages
from spiders.saved.saving import Saving, saving

EXIT_CODES: Final = {"failed": 3, "blocked": 4, "held": 5}
"""How a Run would end -> the exit code."""


class TriedSource(Struct, frozen=True):
    """A source to try: in a file, of a dataset, or in a file as the next one of a dataset.

    `name` is that of the dataset.
    """

    recipe: Recipe
    file: Path | None
    name: str | None
    dataset: DatasetId | None

    @property
    def pages(self) -> int:
        """How many pages are read if nobody says."""
        # Only a whole list shows which rows are gone.
        return 1 if self.dataset is None else self.recipe.max_pages


def preview_source(
    ctx: CommandContext,
    source: str,
    *,
    against: str | None,
    pages: int | None,
    save: Path | None,
    saved: Path | None,
) -> None:
    """Read the pages of a file or a dataset, and print what a Run of them would say and change."""
    fetching = fetch_config(ctx.settings)
    folder = None if saved is None else open_pages(saved)
    keeping = nullcontext() if save is None else saving(save)
    with ctx.reading() as db, keeping as kept:
        tried = tried_source(db, ctx.owner, source, fetching, against)
        with crawl_engine() as engine, show_pages(tried.name or source, quiet=ctx.json) as on_page:
            followers = () if tried.dataset is None else pages_before(db, tried.dataset)
            job = CrawlJob(tried.recipe, fetching, followers, on_page=on_page)
            limit = tried.pages if folder is None else folder.limit(tried.recipe)
            through = folder or kept
            job = job if through is None else through.job(job)
            trial = engine.run(try_out(engine, job, pages or limit))
        if folder is not None:
            folder.check()
        unsaved = None if kept is None else _saved(kept, trial)
        changes = None
        # What the Checks refuse changes nothing.
        if tried.dataset is not None and trial.verdict.outcome == "accept":
            policy = AcceptancePolicy(ctx.settings.mass_loss, ctx.settings.guards)
            changes = forecast(db, ctx.owner, tried.dataset, tried.recipe, trial.harvest, policy)
            # Of a part of the list the guards would say that the rest is gone.
            if not trial.cut:
                trial = trial.beside(changes.held, changes.oddities)
    _report(ctx, trial, changes, _next(ctx.owner, tried))
    if save is not None:
        _report_saved(ctx, source, save, unsaved)
    end_process(1 if unsaved else EXIT_CODES.get(trial.verdict.outcome, 0), engine)


def tried_source(
    db: Database, owner: str, source: str, fetching: FetchConfig, against: str | None = None
) -> TriedSource:
    """The source that a person means: of a file, also `against` a dataset, or of a dataset."""
    file = _file(db, owner, source)
    if file is None and against is not None:
        raise click.UsageError("--against compares the source in a file; give a file, or D alone.")
    name = against if file is not None else source
    dataset = None if name is None else queries.find_dataset(db, owner, name)
    return TriedSource(_recipe(db, owner, file, dataset, fetching), file, name, dataset)


def _file(db: Database, owner: str, given: str) -> Path | None:
    """The file that a person means; None for a dataset."""
    path = Path(given)
    is_name = given in queries.dataset_names(db, owner)
    if path.is_file():
        if is_name:
            dataset = format_uuid(queries.find_dataset(db, owner, given))
            other = Subject(owner=owner).command("preview", dataset)
            print_message(f"This tries the file {given}. The dataset of that name: {other}")
        return path
    # A file that is not there is told as that, if its name looks like one.
    return path if not is_name and path.suffix.lower() in {".toml", ".json"} else None


def _recipe(
    db: Database, owner: str, file: Path | None, dataset_id: DatasetId | None, fetching: FetchConfig
) -> Recipe:
    """The recipe to try: of a dataset, of a file, or of a file as the next one of a dataset."""
    if file is None:
        assert dataset_id is not None  # a file or a dataset is given
        return current_recipe(db, owner, dataset_id)
    if dataset_id is None:
        return file_recipe(file, fetching)
    declaration = read_source(file)
    try:
        return revised_recipe(db, owner, dataset_id, declaration, fetching.targets)
    except Invalid as error:
        raise locate_problems(error, file) from error


def file_recipe(file: Path, fetching: FetchConfig) -> Recipe:
    """The recipe of a source in a file, as a dataset of it would have. Raises Invalid."""
    declaration = read_source(file)
    try:
        return trial_recipe(declaration, fetching.targets)
    except Invalid as error:
        raise locate_problems(error, file) from error


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
