"""``dataset suggest``: from a recipe that finds nothing to one that a Run accepts."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from livedata.model import ids
from tests.crawling import shop_source
from tests.extraction.lists.pages import NAMES, cards

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tests.cli.shell import Shell
    from tests.crawling import Crawling
    from tests.site import Site

FIELDS = (
    ("link", "string", {"selector": "a", "kind": "attribute", "attribute": "href"}),
    ("name", "string", {"selector": "h2"}),
    ("price", "number", {"selector": ".price"}),
)
NEXT = '<a class="next" href="/2">Next</a>'


def more(_: int, name: str) -> str:
    return f'<li class="product"><h2><a href="/m/{name}">More {name}</a></h2><i class="price">8</i>'


class Suggesting:
    """A dataset with an accepted Run, and the command that mends it."""

    def __init__(self, livedata: Shell, site: Site, crawling: Crawling, file: Path) -> None:
        self.livedata, self.site, self.crawling, self.file = livedata, site, crawling, file
        self.name = "shop"
        self.show("/1", f"<ul>{cards()}</ul>{NEXT}")
        self.show("/2", f"<ul>{cards(make=more)}</ul>")
        declared = shop_source(
            site.at("/1"),
            itemSelector="li.product",
            fields=[{"name": name, "read": read} for name, _, read in FIELDS],
            identity={"kind": "source-key", "field": "link"},
        )
        declared["columns"] = [
            {"name": name, "type": kind, "key": name == "link"} for name, kind, _ in FIELDS
        ]
        self.dataset = crawling.create(declared, allow=site.host)

    def show(self, path: str, body: str) -> None:
        self.site.page(path, f"<!doctype html><main>{body}</main>")

    def show_pages(self, names: Sequence[str], change: Callable[[str], str] = str) -> None:
        """Show a list of ten records a page."""
        starts = range(0, len(names), 10)
        for number, start in enumerate(starts, 1):
            ware = "".join(
                f'<li class="product"><h2><a href="/w/{name}">Ware {name}</a></h2>'
                f'<span class="price">{int(name[1:])}.50 €</span></li>'
                for name in names[start : start + 10]
            )
            following = f'<a class="next" href="/{number + 1}">Next</a>'
            more = following if number < len(starts) else ""
            self.show(f"/{number}", change(f"<ul>{ware}</ul>{more}"))

    def run(self) -> str:
        return self.crawling.run(self.dataset, allow=self.site.host)["status"]

    def __call__(self, *options: str, code: int = 0) -> tuple[str, str]:
        args = ("dataset", "suggest", self.name, "-o", str(self.file), *options)
        return self.livedata.typed(*args, code=code)

    def json(self, code: int = 0) -> Any:
        return json.loads(self("--json", code=code)[0])


@pytest.fixture
def suggest(
    livedata: Shell,
    site: Site,
    crawling: Crawling,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Suggesting:
    monkeypatch.setenv("LIVEDATA_ALLOW_HOSTS", site.host)
    return Suggesting(livedata, site, crawling, tmp_path / "suggested.toml")


@pytest.mark.slow
def test_a_recipe_whose_selectors_died_is_mended(suggest: Suggesting) -> None:
    assert suggest.run() == "succeeded"
    for path, body in (("/1", f"<ul>{cards()}</ul>{NEXT}"), ("/2", f"<ul>{cards(make=more)}</ul>")):
        for name in ("product", "price", "next"):
            body = body.replace(f'class="{name}', f'class="new-{name}')
        suggest.show(path, body)
    assert suggest.run() == "failed"
    out, err = suggest()
    lines = out.splitlines()
    assert lines[0] == (
        "The first page has 12 records, 12 of them known from before. This reads them:"
    )
    assert [line.split()[0] for line in lines[2:5]] == ["itemSelector", "price", "pagination"]
    assert "0 new, 0 changed, 0 gone; 24 rows as before." in out
    assert f"livedata dataset revise shop {suggest.file}" in err
    suggest.livedata("dataset", "revise", "shop", str(suggest.file))
    assert suggest.run() == "succeeded"


@pytest.mark.slow
@pytest.mark.parametrize("redesign", [False, True], ids=["as it was", "renamed"])
def test_adverts_among_the_records_are_left_out(suggest: Suggesting, *, redesign: bool) -> None:
    suggest.show_pages(MANY)
    assert suggest.run() == "succeeded"
    prefix = "new-" if redesign else ""

    def change(page: str) -> str:
        advert = '<li class="product ad"><p>Your advert here</p></li>'
        return page.replace("<ul>", f"<ul>{advert}").replace('class="', f'class="{prefix}')

    suggest.show_pages(MANY, change)
    assert suggest.run() == "failed"
    out, _ = suggest()
    assert out.startswith(
        "The first page has 10 records, 10 of them known from before. This reads them:"
    )
    assert f'itemSelector  li.product  li[class="{prefix}product"]' in out
    assert "0 new, 0 changed, 0 gone; 80 rows as before." in out
    suggest.livedata("dataset", "revise", "shop", str(suggest.file))
    assert suggest.run() == "succeeded"


def test_adverts_that_only_lack_what_is_in_the_records_are_left_out(suggest: Suggesting) -> None:
    suggest.show_pages(MANY)
    assert suggest.run() == "succeeded"
    advert = '<li class="product"><p>Your advert here</p></li>'
    suggest.show_pages(MANY, lambda page: page.replace("<ul>", f"<ul>{advert}"))
    assert suggest.run() == "failed"
    out, _ = suggest()
    assert 'itemSelector  li.product  li.product[livedata-has~="h2"]' in out


def test_no_source_is_proposed_for_adverts_that_are_called_as_the_records_are(
    suggest: Suggesting,
) -> None:
    suggest.show_pages(MANY)
    assert suggest.run() == "succeeded"
    advert = '<li class="product"><h2><a></a></h2><span>Your advert here</span></li>'
    suggest.show_pages(MANY, lambda page: page.replace("<ul>", f"<ul>{advert}"))
    assert suggest.run() == "failed"
    out, err = suggest(code=3)
    assert "No selector that was tried would mend that" in err
    assert "reads the page as it is" not in out + err
    assert not suggest.file.exists()


def test_a_source_that_reads_well_is_left_alone(suggest: Suggesting) -> None:
    assert suggest.run() == "succeeded"
    answer = suggest.json()
    assert (answer["file"], answer["replaced"], answer["rows"]) == (None, [], len(NAMES))
    assert not suggest.file.exists()


MANY = [f"w{number:03}" for number in range(80)]
"""The rows of a list of eight pages."""


def test_a_list_of_many_pages_that_reads_well_is_left_alone(suggest: Suggesting) -> None:
    suggest.show_pages(MANY)
    assert suggest.run() == "succeeded"
    answer = suggest.json()
    assert (answer["file"], answer["rows"], answer["records"]) == (None, 10, 10)


@pytest.mark.parametrize(
    ("names", "rows", "changes"),
    [
        (MANY, 10, "0 new, 0 changed, 0 gone; 80 rows as before."),
        (["n1", "n2", "n3", "n4", "n5", *MANY], 5, "5 new, 0 changed, 0 gone; 80 rows as before."),
        (MANY[::-1], 10, "0 new, 0 changed, 0 gone; 80 rows as before."),
    ],
    ids=["as it was", "newest first, grown", "turned round"],
)
def test_a_list_of_many_pages_is_mended_whatever_stands_on_the_first(
    suggest: Suggesting, names: list[str], rows: int, changes: str
) -> None:
    suggest.show_pages(MANY)
    assert suggest.run() == "succeeded"
    suggest.show_pages(names, lambda page: page.replace('class="', 'class="new-'))
    assert suggest.run() == "failed"
    out, _ = suggest()
    assert out.startswith(f"The first page has 10 records, {rows} of them known from before.")
    assert changes in out


def test_a_field_that_is_not_found_is_told(suggest: Suggesting) -> None:
    assert suggest.run() == "succeeded"
    for path, body in (("/1", cards()), ("/2", cards(make=more))):
        without = re.sub(r"<(span|i) class=.price.>[^<]*", "", body)
        suggest.show(path, f"<ul>{without}</ul>{NEXT if path == '/1' else ''}")
    answer = suggest.json(code=5)
    assert (answer["lost"], answer["outcome"]) == (["price"], "held")


def test_another_page_is_refused_and_nothing_is_written(suggest: Suggesting) -> None:
    assert suggest.run() == "succeeded"
    suggest.show(
        "/1", "".join(f"<li>Chair {number}<i>{number}.50 €</i></li>" for number in range(20))
    )
    assert "too few to tell where the records are now" in suggest(code=3)[1]
    assert not suggest.file.exists()


def test_a_page_that_takes_too_long_to_search_is_told(
    site: Site, crawling: Crawling, suggest: Suggesting
) -> None:
    names = [f"f{number}" for number in range(50)]
    declared = shop_source(
        site.at("/wide"),
        itemSelector="li.product",
        fields=[{"name": name, "read": {"selector": "h2"}} for name in names],
        identity={"kind": "source-key", "field": "f0"},
        pagination={"kind": "none"},
    )
    declared["columns"] = [{"name": name, "type": "string", "key": name == "f0"} for name in names]
    declared["name"] = "wide"
    suggest.show("/wide", f"<ul>{cards()}</ul>")
    suggest.name, suggest.dataset = "wide", crawling.create(declared, allow=site.host)
    assert suggest.run() == "succeeded"
    others = '<li class="ware"><h2>x</h2>' * 30_000
    suggest.show("/wide", f"<ul>{cards().replace('product', 'ware')}{others}</ul>")
    assert "takes more steps than a page may" in suggest(code=3)[1]


@pytest.mark.parametrize(
    ("style", "hidden"),
    [
        ("", "style='display:none'"),
        ("", "style='visibility: hidden'"),
        ("", "hidden"),
        ("<style>.sorted { display: none }</style>", ""),
    ],
)
def test_what_a_person_does_not_see_is_read_by_no_selector_that_is_suggested(
    suggest: Suggesting, style: str, hidden: str
) -> None:
    """Each price stands before itself once more, for a script that sorts, and seen only there."""
    suggest.show_pages(MANY[:10])
    assert suggest.run() == "succeeded"

    def changed(page: str) -> str:
        for name in ("product", "price"):
            page = page.replace(f'class="{name}', f'class="new-{name}')
        twice = rf'<b class="sorted" {hidden}>\2</b>\1\2'
        return style + re.sub(r'(<span class="new-price">)([^<]+)', twice, page)

    suggest.show_pages(MANY[:10], changed)
    assert suggest.run() == "failed"
    answer = suggest.json()
    assert answer["outcome"] == "accept"
    read = {each["target"]: each["after"] for each in answer["replaced"]}
    assert "new-price" in read["price"]
    assert "sorted" not in suggest.file.read_text()
    suggest.livedata("dataset", "revise", "shop", str(suggest.file))
    assert suggest.run() == "succeeded"
    rows = suggest.livedata.json("rows", "list", "shop")
    assert len(rows) == 10
    assert {row["status"] for row in rows} == {"unchanged"}


def test_a_page_that_cannot_be_read_is_told(suggest: Suggesting) -> None:
    assert suggest.run() == "succeeded"
    suggest.site.page("/1", "gone", status=404)
    assert "status 404" in suggest.json(code=3)["error"]


def test_a_page_that_refuses_is_told_with_the_exit_code_of_a_blocked_run(
    suggest: Suggesting,
) -> None:
    assert suggest.run() == "succeeded"
    suggest.site.page("/1", "no", status=403)
    assert "403" in suggest.json(code=4)["error"]
    assert not suggest.file.exists()


def test_a_source_that_a_run_would_not_take_is_written_as_not_ready(suggest: Suggesting) -> None:
    suggest.show_pages(MANY)
    assert suggest.run() == "succeeded"
    suggest.show_pages(MANY, lambda page: page.replace('class="', 'class="new-'))
    suggest.site.page("/3", "gone", status=404)
    out, err = suggest(code=3)
    assert "which is not ready" in out
    assert "livedata preview" in err
    schema, why = suggest.file.read_text().splitlines()[:2]
    assert schema == "#:schema ./source.schema.json"
    assert why.startswith("# NOT READY. ")
    assert "status 404" in why


def test_without_rows_there_is_nothing_to_look_for(suggest: Suggesting) -> None:
    assert ids.raw_id(suggest.livedata.json("dataset", "list")[0]["id"]) == suggest.dataset
    assert "no Run of it was accepted yet" in suggest(code=1)[1]


def test_another_owner_has_no_such_dataset(suggest: Suggesting) -> None:
    assert "no dataset" in suggest("--owner", "bob", code=1)[1].lower()


def test_a_source_that_reads_the_page_is_said_to_read_it(suggest: Suggesting) -> None:
    suggest.run()
    out, err = suggest()
    assert "The source reads the page as it is: no selector has to be replaced." in out + err


def test_no_source_is_said_to_read_a_page_that_it_does_not(suggest: Suggesting) -> None:
    suggest.run()
    # Each record is there with its link, and the second page leads back to the first.
    suggest.show("/2", f'<ul>{cards(make=more)}</ul><a class="next" href="/1">Next</a>')
    out, err = suggest(code=3)
    assert "reads the page as it is" not in out + err
    assert (
        "No selector that was tried would mend that: those of the source find the known rows."
        in err
    )
    assert "livedata preview shop" in err
