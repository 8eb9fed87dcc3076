"""Saving pages and the rows that they gave: both in a new folder, or nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from livedata.cli.output.whole_file import fresh_folder
from livedata.model.errors import Conflict, NotFound
from livedata.model.recipe import Render
from spiders.crawl.job import CrawlJob
from spiders.saved.pages import PageKeeper, one_by_one
from spiders.saved.rows import ROWS, SavedRows, write_rows


class Saving(Struct, frozen=True):
    """Pages that are being kept beside the `folder` in which they are to be."""

    keeper: PageKeeper
    folder: Path

    def job(self, job: CrawlJob) -> CrawlJob:
        """A job whose pages are kept."""
        return one_by_one(replace(job, between=self.keeper.between))

    def save(self, rows: SavedRows, render: Render, *, complete: bool) -> str | None:
        """Make the folder of the pages and their rows; if there is nothing to save, it says why."""
        unanswered = self.keeper.unanswered
        if unanswered:
            return f"{unanswered[0]} gave no answer that could be kept"
        if not rows.rows:
            return "no row was read, so a test would have nothing to compare"
        self.keeper.write_index(render, complete=complete)
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
    with ExitStack() as stack:
        try:
            fresh = stack.enter_context(fresh_folder(whole))
        except OSError as error:
            # Nobody knows the name of the fresh folder.
            raise OSError(error.errno, error.strerror, str(folder)) from error
        part = fresh / "pages"
        part.mkdir()
        yield Saving(PageKeeper(part), whole)
