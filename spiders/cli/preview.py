"""``livedata preview``: try a source without storing anything."""

from __future__ import annotations

from pathlib import Path

import click

from livedata.cli.context import CommandContext
from livedata.cli.hints import Subject
from livedata.cli.output.streams import print_json, print_message
from livedata.cli.source.source_file import locate_problems, read_source
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
from spiders.crawl.settings import FetchConfig, fetch_config


def preview_source(
    ctx: CommandContext, source: str, against: str | None, pages: int | None
) -> None:
    """Read the pages of a file or a dataset, and print what a Run of them would say and change."""
    fetching = fetch_config(ctx.settings)
    dataset_id = None
    with ctx.reading() as db:
        file = _file(db, ctx.owner, source)
        if file is None and against is not None:
            raise click.UsageError(
                "--against compares the source in a file; give a file, or D alone."
            )
        name = against if file is not None else source
        if name is not None:
            dataset_id = queries.find_dataset(db, ctx.owner, name)
        recipe = _recipe(db, ctx.owner, file, dataset_id, fetching)
        # Only a whole list shows which rows are gone.
        limit = 1 if dataset_id is None else recipe.max_pages
        with crawl_engine() as engine, show_pages(name or source, quiet=ctx.json) as on_page:
            followers = () if dataset_id is None else pages_before(db, dataset_id)
            trial = engine.run(
                try_out(engine, recipe, fetching, pages or limit, on_page, followers)
            )
        changes = None
        # What the Checks refuse changes nothing.
        if dataset_id is not None and trial.verdict.outcome == "accept":
            policy = AcceptancePolicy(ctx.settings.mass_loss, ctx.settings.guards)
            changes = forecast(db, ctx.owner, dataset_id, recipe, trial.harvest, policy)
            # Of a part of the list the guards would say that the rest is gone.
            if not trial.cut:
                trial = trial.beside(changes.held, changes.oddities)
    _report(ctx, trial, changes, _next(ctx.owner, file, name))
    end_process({"failed": 3, "blocked": 4, "held": 5}.get(trial.verdict.outcome, 0), engine)


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
    declaration = read_source(file)
    try:
        if dataset_id is None:
            return trial_recipe(declaration, fetching.targets)
        return revised_recipe(db, owner, dataset_id, declaration, fetching.targets)
    except Invalid as error:
        raise locate_problems(error, file) from error


def _next(owner: str, file: Path | None, name: str | None) -> Remedy:
    """What a person does with a source that reads well."""
    if name is None:
        return Remedy("create_dataset", {"owner": owner, "file": str(file)})
    if file is None:
        return Remedy("run_again", {"owner": owner, "dataset": name})
    return Remedy("pin_source", {"owner": owner, "dataset": name, "file": str(file)})


def _report(ctx: CommandContext, trial: Trial, changes: Forecast | None, next_: Remedy) -> None:
    if ctx.json:
        told = trial_json(trial)
        print_json(told if changes is None else {**told, "changes": forecast_json(trial, changes)})
        return
    print_trial(trial, next_)
    if changes is not None:
        print_forecast(trial, changes)
