"""The source that ``preview`` and ``dataset test`` try: of a file, or of a dataset."""

from __future__ import annotations

from pathlib import Path

import click
from msgspec import Struct

from livedata.cli.output.streams import print_message
from livedata.cli.source.source_file import locate_problems, read_source
from livedata.hints import Subject
from livedata.model.errors import Invalid
from livedata.model.ids import DatasetId, format_uuid
from livedata.model.recipe import Recipe
from livedata.services import queries
from livedata.services.forecast import current_recipe, revised
from livedata.store.database.codec import Fields
from livedata.store.database.store import Database
from spiders.cli.trial import trial_recipe
from spiders.crawl.settings import FetchConfig


class TriedSource(Struct, frozen=True):
    """A source to try: in a file, of a dataset, or in a file as the next one of a dataset.

    `name` is that of the dataset, and `fields` are those that it would have by the file.
    """

    recipe: Recipe
    fields: Fields | None
    file: Path | None
    name: str | None
    dataset: DatasetId | None

    @property
    def pages(self) -> int:
        """How many pages are read if nobody says."""
        # Only a whole list shows which rows are gone.
        return 1 if self.dataset is None else self.recipe.max_pages


def tried_source(
    db: Database, owner: str, source: str, fetching: FetchConfig, against: str | None = None
) -> TriedSource:
    """The source that a person means: of a file, also `against` a dataset, or of a dataset."""
    file = _file(db, owner, source)
    if file is None and against is not None:
        raise click.UsageError("--against compares the source in a file; give a file, or D alone.")
    name = against if file is not None else source
    dataset = None if name is None else queries.find_dataset(db, owner, name)
    recipe, fields = _recipe(db, owner, file, dataset, fetching)
    return TriedSource(recipe, fields, file, name, dataset)


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
) -> tuple[Recipe, Fields | None]:
    """The recipe to try: of a dataset, of a file, or of a file as the next one of a dataset."""
    if file is None:
        assert dataset_id is not None  # a file or a dataset is given
        return current_recipe(db, owner, dataset_id), None
    if dataset_id is None:
        return file_recipe(file, fetching), None
    declaration = read_source(file)
    try:
        after = revised(db, owner, dataset_id, declaration, fetching.targets)
    except Invalid as error:
        raise locate_problems(error, file) from error
    return after.recipe, after.fields


def file_recipe(file: Path, fetching: FetchConfig) -> Recipe:
    """The recipe of a source in a file, as a dataset of it would have. Raises Invalid."""
    declaration = read_source(file)
    try:
        return trial_recipe(declaration, fetching.targets)
    except Invalid as error:
        raise locate_problems(error, file) from error
