"""Changes that kill a recipe, on real pages and on ours: which of them are mended.

python -m tests.extraction.lists.breakages     # a line for each; exit code 1 if too few are mended

A recipe is proposed for a page as it is. The page is changed, and the recipe that is written for it
then is asked for the same rows. A change under which the recipe still reads all that it read is no
breakage, and is left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import click
from msgspec import Struct
from selectolax.lexbor import LexborNode

from livedata.extraction.lists.keys import Key
from livedata.extraction.lists.mending import Unmended
from livedata.extraction.lists.page_lists import find_lists
from livedata.extraction.lists.proposal import propose
from livedata.extraction.lists.survey import survey
from livedata.extraction.page import Page
from livedata.extraction.records import Extractor
from livedata.extraction.selectors import parse
from livedata.messages.validation import read
from livedata.model.recipe import NextLinkPages, Recipe
from livedata.model.requests import CreateDataset
from livedata.model.row import Scalar
from livedata.rules.explanation.mended_source import Known, mended_source
from livedata.rules.network.targets import TargetPolicy
from spiders.cli.proving import declare
from spiders.cli.trial import trial_recipe
from tests.extraction.lists.pages import NAMES, cards
from tests.extraction.lists.test_columns import rows
from tests.extraction.lists.test_page_lists import block, hashed

REAL: Final = Path(__file__).parents[2] / "pages"
URL: Final = "https://site.example/list"
SECOND: Final = f"{URL}?page=2"
ENOUGH: Final = 0.95
"""A recipe is mended if it reads so many of the known rows again, by their key."""
LEAST_MENDED: Final = 0.8

OURS: Final[Mapping[str, str]] = {
    "cards": f"<ul>{cards()}</ul>",
    "generated classes": cards(make=hashed),
    "tiles in rows": "".join(
        f'<div class="row">{"".join(block(n + step, NAMES[n + step]) for step in range(3))}</div>'
        for n in range(0, 12, 3)
    ),
    "a table": f"<table><tr><th>Name<th>Price<th>Code{rows('{name}', '{n}.50', 'B{n}')}</table>",
    "articles": "".join(
        f'<article class="post"><h2 class="headline"><a href="/n/{name}">{name} news</a></h2>'
        f'<time class="when">2026-03-{n + 10}</time><p class="lead">What the {name} did, {n}.'
        "</article>"
        for n, name in enumerate(NAMES)
    ),
}
_NEXT: Final = f'<p class="pages"><a class="next" href="{SECOND}">Next</a></p>'


class Declared(Struct, frozen=True):
    """A page with the recipe that reads it: its markup, its declaration, and the rows it gives."""

    markup: str
    declaration: dict[str, Any]
    recipe: Recipe
    rows: Sequence[tuple[Scalar, ...]]


class Breakage(Struct, frozen=True):
    """A page that has changed: the share of rows that is read again, and whether its next link is.

    `page` and `change` name it.
    """

    page: str
    change: str
    share: float
    goes_on: bool

    @property
    def mended(self) -> bool:
        """Whether nearly all rows are read again, on this page and on the next."""
        return self.share >= ENOUGH and self.goes_on


def pages() -> Iterator[tuple[str, str]]:
    """The name and the markup of each page: real ones, and ours."""
    for file in sorted(REAL.glob("*.html")):
        yield file.stem, file.read_text("utf-8")
    for name, body in OURS.items():
        yield name, f"<!doctype html><title>Shop</title><body><main>{body}</main></body>"


def declared(markup: str) -> Declared:
    """What is proposed for the first list of a page, which is given a next link if it has none."""
    lists = find_lists(_page(markup))
    proposed = propose(lists, lists.seen[0])
    if not proposed.following:
        return declared(re.sub("(?i)</body>", f"{_NEXT}</body>", markup, count=1))
    assert isinstance(proposed.key, Key)
    pagination = {"kind": "next-link", "selector": proposed.following[0].selector}
    declaration = declare("list", URL, "static", proposed, proposed.key, pagination)
    recipe = _recipe(declaration)
    return Declared(markup, declaration, recipe, _rows(recipe, _page(markup)))


def broken(name: str, markup: str) -> Iterator[Breakage]:
    """What becomes of a recipe under each change that it does not outlive."""
    whole = declared(markup)
    after = _next(whole.recipe, _page(whole.markup))
    known = Known(whole.recipe, whole.declaration["source"], whole.rows, len(whole.rows), after)
    keys = _keys(whole.recipe, whole.rows)
    for change, apply in CHANGES.items():
        changed = _page(apply(whole.markup, whole.recipe))
        if _rows(whole.recipe, changed) == whole.rows and _next(whole.recipe, changed) == after:
            continue
        mending = mended_source(survey(changed), known)
        if isinstance(mending, Unmended):
            yield Breakage(name, change, 0.0, goes_on=False)
            continue
        recipe = _recipe({**whole.declaration, "source": mending.source})
        again = _keys(recipe, _rows(recipe, changed)) & keys
        yield Breakage(
            name, change, len(again) / len(keys), goes_on=_next(recipe, changed) == after
        )


def _page(markup: str) -> Page:
    return Page(markup.encode(), "text/html; charset=utf-8", URL)


def _recipe(declaration: Mapping[str, object]) -> Recipe:
    return trial_recipe(read(CreateDataset, {**declaration}), TargetPolicy())


def _rows(recipe: Recipe, page: Page) -> list[tuple[Scalar, ...]]:
    records, _ = Extractor(recipe).records(page)
    return [tuple(record.values) for record in records]


def _next(recipe: Recipe, page: Page) -> str | None:
    """Where the first match of a recipe's next link leads."""
    assert isinstance(recipe.pagination, NextLinkPages)
    links = page.select(parse(recipe.pagination.selector))
    return page.attribute(links[0], "href") if links else None


def _keys(recipe: Recipe, values: Sequence[tuple[Scalar, ...]]) -> set[tuple[Scalar, ...]]:
    places = [number for number, field in enumerate(recipe.fields) if field.name in recipe.identity]
    return {tuple(row[number] for number in places) for row in values}


def renamed(markup: str, _: Recipe) -> str:
    """Every class has another name."""
    return re.sub(r'(?i)\bclass="([^"]*)"', lambda result: f'class="{_all_new(result[1])}"', markup)


def _all_new(names: str) -> str:
    return " ".join(f"x-{name}" for name in names.split())


def generated(markup: str, _: Recipe) -> str:
    """Every list of classes is one name that a program made."""
    numbers: dict[str, int] = {}

    def hashed_name(match: re.Match[str]) -> str:
        number = numbers.setdefault(match[1], len(numbers))
        return f'class="css-{number * 7_919 % 65_536:04x}z"'

    return re.sub(r'(?i)\bclass="([^"]*)"', hashed_name, markup)


def other_tags(markup: str, _: Recipe) -> str:
    """Headings, spans and articles are other elements."""
    for before, now in (("h2", "h4"), ("h3", "strong"), ("span", "em"), ("article", "section")):
        markup = re.sub(rf"(?i)(</?){before}\b", rf"\1{now}", markup)
    return markup


def wrapped(markup: str, recipe: Recipe) -> str:
    """Each record stands in a new element, which has its names."""

    def inside(record: LexborNode) -> str:
        whole = record.html or ""
        names = re.findall(r'\s(?:class|id)="[^"]*"', whole[: whole.index(">")])
        return f"<div{''.join(names)}><{record.tag}{whole[whole.index('>') :]}</div>"

    return _each_record(markup, recipe, inside)


def moved(markup: str, recipe: Recipe) -> str:
    """The last part of each record is the first, and all of them stand one step deeper."""

    def turned(record: LexborNode) -> str:
        whole = record.html or ""
        parts = [part.html or "" for part in record.iter()]
        if record.tag == "tr":
            return f"{whole[: whole.index('>') + 1]}{''.join(parts[::-1])}</tr>"
        inner = f"<div><div>{''.join(parts[::-1])}</div></div>"
        return f"{whole[: whole.index('>') + 1]}{inner}</{record.tag}>"

    return _each_record(markup, recipe, turned)


def nested(markup: str, _: Recipe) -> str:
    """Each text of a link, a heading, a cell or a span stands deeper."""
    return re.sub(
        r"(?i)(<(?:h2|h3|span|a|td|dd|p|b)\b[^>]*>)([^<]*\w[^<]*)", r"\1<u><i>\2</i></u>", markup
    )


def without_names(markup: str, _: Recipe) -> str:
    """There are no classes, no ids and no microdata any more."""
    return re.sub(r'(?i)\s(class|id|itemprop|itemtype|data-[\w-]+)="[^"]*"', "", markup)


def another_link(markup: str, recipe: Recipe) -> str:
    """What leads to the next page is made in another way."""
    assert isinstance(recipe.pagination, NextLinkPages)

    def made_anew(link: LexborNode) -> str:
        return f'<a class="pager__more" href="{link.attributes["href"]}">Show more</a>'

    return _each(markup, recipe.pagination.selector, made_anew)


def at_once(markup: str, recipe: Recipe) -> str:
    """Records are wrapped, their texts stand deeper, and every class is another."""
    return renamed(nested(wrapped(markup, recipe), recipe), recipe)


CHANGES: Final[Mapping[str, Callable[[str, Recipe], str]]] = {
    "renamed classes": renamed,
    "generated classes": generated,
    "other tags": other_tags,
    "wrapped records": wrapped,
    "moved fields": moved,
    "no names": without_names,
    "another next link": another_link,
    "three at once": at_once,
}


def _each_record(markup: str, recipe: Recipe, make: Callable[[LexborNode], str]) -> str:
    return _each(markup, recipe.item_selector, make)


def _each(markup: str, selector: str, make: Callable[[LexborNode], str]) -> str:
    """The page with another markup for each element that a selector matches."""
    page = _page(markup)
    whole = page.tree.html or ""
    for node in page.select(parse(selector)):
        whole = whole.replace(node.html or "", make(node), 1)
    return whole


def every_breakage() -> list[Breakage]:
    """What becomes of every page under every change that breaks its recipe."""
    return [each for name, markup in pages() for each in broken(name, markup)]


@click.command()
def main() -> None:
    """Print which breakages are mended."""
    breakages = every_breakage()
    for each in breakages:
        state = "mended" if each.mended else "NOT mended"
        lost = "" if each.goes_on else ", its next link is lost"
        click.echo(f"{each.page:18} {each.change:18} {state}, {each.share:.0%} of the rows{lost}")
    mended = sum(each.mended for each in breakages)
    places = len({each.page for each in breakages})
    click.echo(f"{mended} of {len(breakages)} mended, on {places} pages")
    raise SystemExit(mended < LEAST_MENDED * len(breakages))


if __name__ == "__main__":
    main()
