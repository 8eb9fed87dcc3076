"""The pages of a folder: kept as a site answers them, with their rows, and given in its place."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Final

from msgspec import Meta, Struct, field
from msgspec.structs import replace
from scrapy import Request
from scrapy.http import Response

from livedata.cli.output.whole_file import fresh_folder
from livedata.model.errors import Conflict, Invalid, NotFound
from livedata.model.recipe import Recipe, Render
from livedata.rules.network.targets import site_of
from spiders.crawl.job import Ask, CrawlJob
from spiders.fetch.heads import is_html
from spiders.outcome.challenge import HEADERS
from spiders.saved.rows import AGAIN, ROWS, SavedRows, read_json, write_json, write_rows

INDEX: Final = "index.json"
VERSION: Final = 1
"""The form of a folder: a higher number is that of a newer livedata."""
# What says how a body is decoded, and what tells a page from a refusal. Cookies and the rest say
# nothing of the source, and a folder may be public.
_KEPT: Final = ("Content-Type", "Retry-After", *(header.name for header in HEADERS))
_AS: Final = {"static": "the site sends them", "browser": "a browser shows them"}

_FileName = Annotated[str, Meta(pattern=r"^[0-9A-Za-z][0-9A-Za-z_-]*\.[a-z]+$")]


class _Form(Struct, frozen=True):
    version: Annotated[int, Meta(ge=1)]


class SavedPage(Struct, frozen=True, rename="camel"):
    """An answer to the request for `url`; its body is in a file, unpacked and otherwise as sent."""

    url: str
    final_url: str
    status: Annotated[int, Meta(ge=100, le=999)]
    headers: dict[str, str]
    file: _FileName


class Index(Struct, frozen=True):
    """What the files of a folder are; `complete` says that they reach to the end of the list."""

    version: int
    render: Render
    complete: bool
    pages: Annotated[list[SavedPage], Meta(min_length=1)]


class PageKeeper(Struct, frozen=True):
    """Writes the answers of a site into a fresh folder, as they come."""

    folder: Path
    asked: set[str] = field(default_factory=set)
    pages: dict[str, SavedPage] = field(default_factory=dict)

    def between(self, ask: Ask) -> Ask:
        """Ask the site, and keep what it answers: of several attempts the last one counts."""

        async def keep(request: Request) -> Response:
            self.asked.add(request.url)
            if (before := self.pages.pop(request.url, None)) is not None:
                (self.folder / before.file).unlink()
            response = await ask(request)
            page = _saved(request.url, response, len(self.pages) + 1)
            (self.folder / page.file).write_bytes(response.body)
            self.pages[request.url] = page
            return response

        return keep

    @property
    def unanswered(self) -> list[str]:
        """The addresses at which the site answered nothing that could be kept."""
        return sorted(self.asked - self.pages.keys())

    def write_index(self, render: Render, *, complete: bool) -> None:
        """Say what the files are."""
        pages = list(self.pages.values())
        write_json(self.folder / INDEX, Index(VERSION, render, complete, pages))


class PageFolder(Struct, frozen=True):
    """The pages of a folder in place of their site; `missing` are those that it does not have."""

    path: Path
    index: Index
    missing: list[str] = field(default_factory=list)

    def between(self, _ask: Ask) -> Ask:
        """Answer from the folder, and ask nobody."""
        pages = {page.url: page for page in self.index.pages}

        async def answer(request: Request) -> Response:
            page = pages.get(request.url)
            if page is None:
                self.missing.append(request.url)
                raise NotFound
            body = (self.path / page.file).read_bytes()
            return Response(page.final_url, page.status, {**page.headers}, body, request=request)

        return answer

    def job(self, job: CrawlJob) -> CrawlJob:
        """A job that reads the folder. Raises Invalid if its recipe reads other pages."""
        render = job.recipe.render
        if render != self.index.render:
            raise Invalid(
                f"The pages in {self.path} are as {_AS[self.index.render]}, and the source reads "
                f"them as {_AS[render]}; {AGAIN}."
            )
        # What a browser showed is in the file, and no way leads through a proxy.
        recipe = replace(job.recipe, render="static", proxy="never")
        return one_by_one(replace(job, recipe=recipe, between=self.between))

    def limit(self, recipe: Recipe) -> int:
        """How many pages to read: a list that was cut is cut at the same page again."""
        return recipe.max_pages if self.index.complete else len(self.index.pages)

    def check(self) -> None:
        """Raise NotFound if a page was asked for that the folder does not have."""
        if self.missing:
            raise NotFound(
                f"The source asks for {self.missing[0]}, which is not among the pages in "
                f"{self.path}; {AGAIN}."
            )


def open_pages(path: Path) -> PageFolder:
    """The pages of a folder. Raises NotFound and Invalid for one that has none."""
    if path.is_file():
        raise Invalid(f"{path} is a file; name the folder of livedata preview SOURCE --save DIR.")
    if not path.is_dir():
        raise NotFound(f"There is no folder {path}; livedata preview SOURCE --save DIR makes one.")
    if not (path / INDEX).is_file():
        raise NotFound(f"The folder {path} has no {INDEX}, so no pages were saved there; {AGAIN}.")
    version = read_json(path / INDEX, _Form).version
    if version > VERSION:
        raise Invalid(
            f"{path} was saved by a newer livedata (version {version} of its form, and this one "
            f"reads {VERSION}); update livedata, or {AGAIN}."
        )
    index = read_json(path / INDEX, Index)
    for page in index.pages:
        file = path / page.file
        # A folder may be a stranger's: a link could lead to any file of this machine.
        if file.is_symlink() or not file.is_file() or not os.access(file, os.R_OK):
            raise NotFound(
                f"{file}, the page of {page.url}, is missing, a link, or not yours to read; "
                f"restore it, or {AGAIN}."
            )
        if not _is_address(page.final_url):
            raise Invalid(
                f"{path / INDEX} cannot be read ({page.final_url!r} is no address); restore it, or "
                f"{AGAIN}."
            )
    return PageFolder(path, index)


def _is_address(url: str) -> bool:
    try:
        return bool(site_of(url))
    except ValueError:
        return False


def one_by_one(job: CrawlJob) -> CrawlJob:
    """A job that asks for a page only once it has read the one before."""
    # What is read ahead is chance, and often lies behind the end of the list.
    return replace(job, fetching=replace(job.fetching, look_ahead=1))


def _saved(url: str, response: Response, number: int) -> SavedPage:
    headers = {name: response.headers.get(name) for name in _KEPT}
    return SavedPage(
        url=url,
        final_url=response.url,
        status=response.status,
        headers={name: value.decode("latin-1") for name, value in headers.items() if value},
        # A number and nothing of the address, which is a stranger's.
        file=f"{number}.{'html' if is_html(response) else 'bin'}",
    )


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
