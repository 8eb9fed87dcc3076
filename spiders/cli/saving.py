"""What is kept of a trial: the pages that it read and the rows that they gave, or nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from livedata.cli.output.whole_file import fresh_folder
from livedata.model.errors import Conflict, NotFound
from livedata.rules.changes.checks import distinct
from spiders.cli.trial import Trial, try_out
from spiders.crawl.engine import CrawlEngine
from spiders.crawl.job import CrawlJob
from spiders.saved.pages import PageFolder, PageKeeper
from spiders.saved.rows import ROWS, SavedRows, write_rows


class Saving(Struct, frozen=True):
    """Pages that are being kept beside the `folder` in which they are to be."""

    keeper: PageKeeper
    folder: Path

    def job(self, job: CrawlJob) -> CrawlJob:
        """A job whose pages are kept."""
        return _one_by_one(replace(job, between=self.keeper.between))

    def save(self, trial: Trial) -> str | None:
        """Make the folder of what a trial read; if there is nothing to save, it says why."""
        unanswered = self.keeper.unanswered
        rows = trial_rows(trial)
        if unanswered:
            return f"{unanswered[0]} gave no answer that could be kept"
        if not rows.rows:
            return "no row was read, so a test would have nothing to compare"
        self.keeper.write_index(trial.recipe.render, complete=not trial.cut)
        write_rows(self.keeper.folder / ROWS, rows)
        self.keeper.folder.rename(self.folder)
        return None


@contextmanager
def saving(folder: Path) -> Iterator[Saving]:
    """Keep pages for a new folder. Raises Conflict and NotFound for one that cannot be made."""
    whole = folder.resolve()
    if not whole.parent.is_dir():
        raise NotFound(f"{folder} cannot be written: there is no folder {folder.parent}.")
    if whole.exists() and not whole.is_dir():
        raise Conflict(f"{folder} is a file; --save names a folder that is new or empty.")
    if whole == Path.cwd() or (whole.is_dir() and any(whole.iterdir())):
        raise Conflict(
            f"{folder} is in use; --save names a folder that is new or empty, so that nothing in "
            "it is lost."
        )
    if not os.access(whole.parent, os.W_OK):
        raise Conflict(f"{folder} cannot be written: {whole.parent} is read-only.")
    with fresh_folder(whole) as fresh:
        part = fresh / "pages"
        part.mkdir()
        yield Saving(PageKeeper(part), whole)


async def try_folder(engine: CrawlEngine, job: CrawlJob, pages: int, folder: PageFolder) -> Trial:
    """Try a recipe on at most `pages` pages of a folder, in place of its site.

    Raises Invalid and NotFound for pages that the folder does not have.
    """
    recipe = job.recipe
    read = replace(job, recipe=folder.recipe(recipe), between=folder.between)
    trial = await try_out(engine, _one_by_one(read), pages)
    folder.check()
    return replace(trial, recipe=recipe)


def _one_by_one(job: CrawlJob) -> CrawlJob:
    # What is read ahead is chance, and often lies behind the end of the list.
    return replace(job, fetching=replace(job.fetching, look_ahead=1))


def trial_rows(trial: Trial) -> SavedRows:
    """The rows that a trial read, by key, and how a Run would have ended."""
    fields = trial.recipe.fields
    names = [field.name for field in fields]
    return SavedRows(
        outcome=trial.verdict.outcome,
        key=list(trial.recipe.identity),
        columns={field.name: field.type for field in fields},
        rows={
            key: dict(zip(names, record.values, strict=True))
            for key, (_, record) in distinct(trial.harvest).items()
        },
    )
