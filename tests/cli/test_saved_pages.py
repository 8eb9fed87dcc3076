"""``preview --save``, then ``preview --pages-from`` and ``dataset test`` without the site."""

from __future__ import annotations

import gzip
import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from livedata.formats.source_toml import write_source
from livedata.services import queries
from spiders.saved.pages import saving
from tests.cli.test_home import nobody, open_to_all
from tests.crawling import shop_source
from tests.made import make_store, take
from tests.site import Answer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from livedata.model.row import Scalar
    from tests.cli.shell import Shell
    from tests.site import Site

__all__ = ["open_to_all"]
ITEM = (
    '<li class="product" data-sku="{0}"><h2><a>Café {0}</a></h2>'
    '<b class="price">{1}</b><i class="stock">true</i></li>'
)
NEXT = '<a class="next" href="/2">Next</a>'
FIRST = ITEM.format(1, 10) + ITEM.format(2, 20) + NEXT
LATIN = "text/html; charset=iso-8859-1"


class Bench:
    """A source in a file, its site, and the folder in which its pages are saved."""

    def __init__(self, livedata: Shell, home: Path, site: Site) -> None:
        self.livedata, self.site = livedata, site
        self.file, self.folder = home / "source.toml", home / "pages"
        self.declare()

    def declare(self, path: str = "/1", **changes: Any) -> None:
        self.write(shop_source(self.site.at(path), **changes))

    def write(self, declared: dict[str, Any]) -> None:
        self.file.write_text(write_source(declared))

    def __call__(self, *args: str, code: int = 0) -> tuple[str, str]:
        return self.livedata.typed(*args, code=code)

    def save(self, *options: str, code: int = 0) -> tuple[str, str]:
        """Save the pages; then the site is gone."""
        words = ("preview", str(self.file), "--save", str(self.folder), *options)
        said = self(*words, code=code)
        self.site.close()
        return said

    def test(self, *options: str, code: int = 0) -> tuple[str, str]:
        return self("dataset", "test", str(self.file), str(self.folder), *options, code=code)

    def refused(self, *options: str) -> str:
        """What is said of a folder that is of no use, in this process: no page is read."""
        return self.livedata.error(
            "dataset", "test", str(self.file), str(self.folder), *options, code=1
        )

    def edit(self, name: str, before: str, after: str) -> None:
        text = (self.folder / name).read_text()
        assert before in text
        (self.folder / name).write_text(text.replace(before, after))


@pytest.fixture
def bench(livedata: Shell, tmp_path: Path, site: Site, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setenv("LIVEDATA_ALLOW_HOSTS", site.host)
    site.page("/1", FIRST)
    site.page("/2", ITEM.format(3, 30))
    return Bench(livedata, tmp_path, site)


@pytest.fixture
def saved(bench: Bench) -> Bench:
    """The folder of that site, written by hand, which is quicker than to read it."""
    page = {"status": 200, "headers": {"Content-Type": "text/html; charset=utf-8"}}
    urls = [bench.site.at("/1"), bench.site.at("/2")]
    pages = [
        {"url": url, "finalUrl": url, "file": f"{number}.html", **page}
        for number, url in enumerate(urls, 1)
    ]
    index = {"version": 1, "render": "static", "complete": True, "pages": pages}
    columns = {"sku": "string", "name": "string", "price": "number", "stock": "boolean"}
    rows = {
        str(number): {
            "sku": str(number),
            "name": f"Café {number}",
            "price": number * 10,
            "stock": True,
        }
        for number in range(1, 4)
    }
    given = {"outcome": "accept", "key": ["sku"], "columns": columns, "rows": rows}
    bench.folder.mkdir()
    (bench.folder / "1.html").write_text(FIRST)
    (bench.folder / "2.html").write_text(ITEM.format(3, 30))
    (bench.folder / "index.json").write_text(json.dumps(index))
    (bench.folder / "rows.json").write_text(json.dumps(given, ensure_ascii=False))
    bench.site.close()
    return bench


def test_a_source_is_tested_without_its_site(bench: Bench) -> None:
    site = bench.site
    site.page("/robots.txt", "User-agent: *\nAllow: /", content_type="text/plain")
    site.page("/old", "", status=302, headers={"Location": "/1"})
    packed = {"Content-Encoding": "gzip", "Set-Cookie": "secret=1"}
    body = gzip.compress(FIRST.encode("latin-1"))
    site.page("/1", body, content_type=LATIN, headers=packed)
    bench.declare("/old")
    shown, messages = bench.save("--pages", "5")
    assert f"livedata dataset test {bench.file} {bench.folder}" in messages
    asked = site.connections
    again, _ = bench("preview", str(bench.file), "--pages-from", str(bench.folder))
    assert again == shown
    assert "3 of 3" in shown
    assert "Café 1" in shown
    assert bench.test() == (f"2 pages in {bench.folder}: 3 rows as saved.\n", "")
    assert site.connections == asked
    files = {file.name: file.read_bytes() for file in bench.folder.iterdir()}
    assert files.keys() == {"1.html", "2.html", "index.json", "rows.json"}
    assert files["1.html"] == FIRST.encode("latin-1")
    first, second = json.loads(files["index.json"])["pages"]
    assert (first["url"], first["finalUrl"]) == (site.at("/old"), site.at("/1"))
    assert first["headers"] == {"Content-Type": LATIN}
    assert second["url"] == site.at("/2")


def test_what_was_cut_is_cut_again(bench: Bench) -> None:
    bench.save()
    assert bench.test()[0] == f"1 page in {bench.folder}: 2 rows as saved.\n"


def test_a_page_that_a_run_refuses_is_refused_again(bench: Bench) -> None:
    bench.site.page("/2", "", status=202, headers={"x-amzn-waf-action": "challenge"})
    shown, messages = bench.save("--pages", "5", code=3)
    assert "livedata dataset test" in messages
    again = bench("preview", str(bench.file), "--pages-from", str(bench.folder), code=3)
    assert again[0] == shown
    assert "challenge" in again[0]
    assert bench.test()[0] == f"1 page in {bench.folder}: 2 rows as saved.\n"


def test_numbered_pages_are_saved_up_to_their_end_and_no_further(bench: Bench) -> None:
    pages = {"kind": "url-pattern", "pattern": bench.site.at("/{page}"), "startPage": 1}
    bench.declare(pagination={**pages, "endSelector": "hr"})
    bench.site.page("/2", ITEM.format(3, 30) + "<hr>")
    bench.site.page("/3", ITEM.format(4, 40))
    bench.save("--pages", "9")
    assert bench.site.paths[1:] == ["/1", "/2"]
    assert bench.test()[0] == f"2 pages in {bench.folder}: 3 rows as saved.\n"


@pytest.mark.parametrize("status", [404, 200])
def test_what_would_compare_nothing_is_not_saved(bench: Bench, status: int) -> None:
    bench.site.page("/1", "<p>nothing</p>", status=status)
    messages = bench.save(code=1)[1]
    assert f"Nothing was saved in {bench.folder}: no row was read" in messages
    assert {path.name for path in bench.file.parent.iterdir()} <= {"source.toml", "livedata.db"}


def test_nothing_is_saved_if_a_page_gives_no_answer(bench: Bench) -> None:
    bench.site.route("/2", lambda _: None)
    messages = bench.save("--pages", "5", code=1)[1]
    assert f"{bench.site.at('/2')} gave no answer that could be kept" in messages
    assert not bench.folder.exists()


def key_by_name(declared: dict[str, Any]) -> None:
    sku, name, *others = declared["columns"]
    declared["columns"] = [{**sku, "key": False}, {**name, "key": True}, *others]
    declared["source"]["identity"]["field"] = "name"


def call_it_cost(declared: dict[str, Any]) -> None:
    columns, fields = declared["columns"], declared["source"]["fields"]
    declared["columns"] = [*columns[:2], {**columns[2], "name": "cost"}, columns[3]]
    declared["source"]["fields"] = [*fields[:2], {**fields[2], "name": "cost"}, fields[3]]


def price_as_text(declared: dict[str, Any]) -> None:
    columns = declared["columns"]
    declared["columns"] = [*columns[:2], {**columns[2], "type": "string"}, columns[3]]


EDITS: list[tuple[str, Callable[[dict[str, Any]], object], list[str]]] = [
    (
        "another selector",
        lambda declared: declared["source"]["fields"][1].update(read={"selector": ".price"}),
        [
            "2 pages in DIR: 0 new, 3 changed, 0 gone; 0 rows as saved.",
            "  changed  1  name: Café 1 → 10",
            "  changed  2  name: Café 2 → 20",
            "  changed  3  name: Café 3 → 30",
        ],
    ),
    (
        "a next link that is lost",
        lambda declared: declared["source"]["pagination"].update(selector="a.more"),
        ["1 page in DIR: 0 new, 0 changed, 1 gone; 2 rows as saved.", "  gone     3"],
    ),
    (
        "another key",
        key_by_name,
        [
            "2 pages in DIR: 3 new, 0 changed, 3 gone; 0 rows as saved.",
            "  The key was sku, and is name.",
            "  new      Café 1  sku: 1, name: Café 1, price: 10, stock: true",
            "  new      Café 2  sku: 2, name: Café 2, price: 20, stock: true",
            "  new      Café 3  sku: 3, name: Café 3, price: 30, stock: true",
            "  gone     1",
            "  gone     2",
            "  gone     3",
        ],
    ),
    (
        "another name for a column",
        call_it_cost,
        [
            "2 pages in DIR: 0 new, 0 changed, 0 gone; 3 rows as saved.",
            "  The column price is gone, which had a value in 3 rows.",
            "  The column cost is new, with a value in 3 rows.",
        ],
    ),
    (
        "another type",
        price_as_text,
        [
            "2 pages in DIR: 0 new, 0 changed, 0 gone; 3 rows as saved.",
            "  The column price was of type number, is of type string, and is not compared.",
        ],
    ),
    (
        "a dead selector",
        lambda declared: declared["source"].update(itemSelector=".tile"),
        [
            "2 pages in DIR: 0 new, 0 changed, 3 gone; 0 rows as saved.",
            (
                "  A Run would not accept this; when the pages were saved it would accept this. "
                "Page 1 (SITE/1, status 200) has no items: itemSelector '.tile' matched "
                "nothing; compare it with the page as it is now."
            ),
            "  gone     1",
            "  gone     2",
            "  gone     3",
        ],
    ),
]


@pytest.mark.parametrize(
    ("edit", "expected"), [case[1:] for case in EDITS], ids=[case[0] for case in EDITS]
)
def test_an_edited_source_is_told_by_row_and_column(
    saved: Bench, edit: Callable[[dict[str, Any]], object], expected: list[str]
) -> None:
    declared = shop_source(saved.site.at("/1"))
    edit(declared)
    saved.write(declared)
    shown = saved.test(code=1)[0].replace(str(saved.folder), "DIR")
    assert shown.replace(saved.site.url, "SITE").splitlines() == expected


def test_columns_that_are_not_compared_are_counted_for_programs_too(saved: Bench) -> None:
    declared = shop_source(saved.site.at("/1"))
    call_it_cost(declared)
    saved.write(declared)
    assert json.loads(saved.test("--json", code=1)[0])["columns"] == {
        "price": {"before": "number", "after": None, "filled": {"before": 3, "after": 0}},
        "cost": {"before": None, "after": "number", "filled": {"before": 0, "after": 3}},
    }


def test_an_edited_page_counts_as_it_is_now_and_its_rows_can_be_kept(saved: Bench) -> None:
    saved.edit("1.html", ">10<", ">9<")
    shown, messages = saved.test(code=1)
    assert shown.splitlines()[1:] == ["  changed  1  price: 10 → 9"]
    assert messages.rstrip().endswith(
        f"as they are now: livedata dataset test {saved.file} {saved.folder} --update"
    )
    told = json.loads(saved.test("--json", code=1)[0])
    assert (told["equal"], told["changed"], told["unchanged"]) == (False, 1, 2)
    assert told["rows"] == [
        {"kind": "changed", "row": "1", "cells": {"price": {"before": 10, "after": 9}}}
    ]
    assert saved.test("--update")[1] == (
        f"{saved.folder / 'rows.json'} has the rows as they are now.\n"
    )
    assert json.loads(saved.test("--json")[0])["equal"]


def test_rows_are_not_replaced_by_none(saved: Bench) -> None:
    saved.declare(itemSelector=".tile")
    before = (saved.folder / "rows.json").read_bytes()
    assert "stays as it is" in saved.test("--update", code=1)[1]
    assert (saved.folder / "rows.json").read_bytes() == before


def test_a_page_that_is_not_saved_is_named(saved: Bench) -> None:
    saved.declare("/9")
    preview = ("preview", str(saved.file), "--pages-from", str(saved.folder))
    for messages in (saved.test(code=1)[1], saved(*preview, code=1)[1]):
        assert messages == (
            f"Error: The source asks for {saved.site.at('/9')}, which is not among the pages in "
            f"{saved.folder}; save the pages anew: livedata preview SOURCE --save DIR.\n"
        )


def test_a_file_is_tested_without_a_store(saved: Bench) -> None:
    saved.test()
    assert not (saved.livedata.home / "livedata.db").exists()


def test_a_dataset_is_tested_by_its_name(saved: Bench) -> None:
    saved.livedata("dataset", "create", str(saved.file))
    shown = saved("dataset", "test", "shop", str(saved.folder))[0]
    assert shown == f"2 pages in {saved.folder}: 3 rows as saved.\n"


def _without(name: str) -> Callable[[Bench], object]:
    return lambda bench: (bench.folder / name).unlink()


def _linked(bench: Bench) -> None:
    (bench.folder / "1.html").unlink()
    (bench.folder / "1.html").symlink_to(bench.file)


def _is_a_file(bench: Bench) -> None:
    bench.folder = bench.file


def _is_not_there(bench: Bench) -> None:
    bench.folder = bench.folder / "other"


def _holds_no_rows(bench: Bench) -> None:
    empty = {"outcome": "failed", "key": ["sku"], "columns": {}, "rows": {}}
    (bench.folder / "rows.json").write_text(json.dumps(empty))


BROKEN: list[tuple[str, Callable[[Bench], object], str]] = [
    (
        "no folder",
        _is_not_there,
        "There is no folder DIR; livedata preview SOURCE --save DIR makes one.",
    ),
    ("a file", _is_a_file, "DIR is a file; name the folder of livedata preview SOURCE --save"),
    (
        "not ours",
        _without("index.json"),
        "The folder DIR has no index.json, so no pages were saved",
    ),
    ("no rows", _without("rows.json"), "DIR/rows.json cannot be read (no such file or directory);"),
    ("empty rows", _holds_no_rows, "DIR/rows.json has no rows to compare with; save the pages"),
    (
        "a lost page",
        _without("2.html"),
        "DIR/2.html, the page of SITE/2, is missing, a link, or not yours",
    ),
    ("a linked page", _linked, "DIR/1.html, the page of SITE/1, is missing, a link, or not yours"),
    (
        "a newer form",
        lambda bench: bench.edit("index.json", '"version": 1', '"version": 2'),
        "DIR was saved by a newer livedata (version 2 of its form, and this one reads 1);",
    ),
    (
        "half an index",
        lambda bench: bench.edit("index.json", '"pages"', '"pages"]'),
        "DIR/index.json cannot be read (the JSON is unreadable at line 1, column 61: ",
    ),
    (
        "an index without pages",
        lambda bench: bench.edit("index.json", '"pages"', '"page"'),
        "DIR/index.json cannot be read (Object missing required field `pages`); restore it",
    ),
    (
        "an index of no page",
        lambda bench: (bench.folder / "index.json").write_text(
            '{"version": 1, "render": "static", "complete": false, "pages": []}'
        ),
        "DIR/index.json cannot be read (Expected `array` of length >= 1 - at `$.pages`);",
    ),
    (
        "no address",
        lambda bench: bench.edit(
            "index.json", f'"finalUrl": "{bench.site.url}/2"', '"finalUrl": "http://[x"'
        ),
        "DIR/index.json cannot be read ('http://[x' is no address); restore it, or",
    ),
    (
        "a file elsewhere",
        lambda bench: bench.edit("index.json", '"1.html"', '"../source.toml"'),
        "DIR/index.json cannot be read (Expected `str` matching regex",
    ),
    (
        "rendered pages",
        lambda bench: bench.declare(render="browser"),
        "The pages in DIR are as the site sends them, and the source reads them as a browser shows",
    ),
]


@pytest.mark.parametrize(
    ("damage", "expected"), [case[1:] for case in BROKEN], ids=[case[0] for case in BROKEN]
)
def test_a_folder_that_is_of_no_use_is_told_in_one_sentence(
    saved: Bench, damage: Callable[[Bench], object], expected: str
) -> None:
    damage(saved)
    said = saved.refused().replace(str(saved.folder), "DIR").replace(saved.site.url, "SITE")
    assert said.startswith(f"Error: {expected}")
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("source.toml", "is a file; --save names a folder that is new or empty."),
        ("pages", "is in use; --save names a folder that is new or empty, so that nothing in it"),
        ("none/pages", "cannot be written: there is no folder"),
    ],
)
def test_a_folder_that_cannot_be_made_is_refused_before_any_page_is_asked_for(
    saved: Bench, place: str, expected: str
) -> None:
    folder = saved.file.parent / place
    said = saved.livedata.error("preview", str(saved.file), "--save", str(folder))
    assert said.startswith(f"Error: {folder} {expected}")
    assert said.count("\n") == 1


def test_an_empty_folder_takes_the_pages(bench: Bench) -> None:
    bench.folder.mkdir()
    bench.save()
    assert bench.test()[0] == f"1 page in {bench.folder}: 2 rows as saved.\n"


def test_the_site_and_a_folder_are_not_read_at_once(saved: Bench) -> None:
    both = ("--save", "new", "--pages-from", str(saved.folder))
    said = saved.livedata.error("preview", str(saved.file), *both, code=2)
    assert "--pages-from asks no site: give one of them" in said


def test_a_folder_that_may_not_be_written_is_told_by_the_name_that_was_given(
    open_to_all: Path,
) -> None:
    open_to_all.chmod(0o555)
    folder = open_to_all / "pages"
    with nobody(), pytest.raises(PermissionError) as raised, saving(folder):
        pass
    assert raised.value.filename == str(folder)


def test_a_plan_of_research_is_no_source(saved: Bench) -> None:
    plan = {"title": "Lamps", "query": "Who makes lamps?", "rowIdentity": {"kind": "company"}}
    saved.file = saved.file.with_suffix(".json")
    saved.file.write_text(json.dumps(plan))
    assert saved.refused() == (
        f"Error: {saved.file}: this is a plan of research, and not a source; livedata research "
        "create --name NAME --plan FILE makes a dataset of it.\n"
    )


def test_no_address_leads_out_of_the_folder(bench: Bench) -> None:
    hostile = "/..%2f..%2f/../../etc/passwd?file=../../x%00"
    bench.site.page("/1", FIRST.replace('"/2"', f'"{hostile}"'))
    bench.site.page("/etc/passwd", ITEM.format(3, 30))
    bench.save("--pages", "2")
    names = {path.name for path in bench.folder.iterdir()}
    assert names == {"1.html", "2.html", "index.json", "rows.json"}
    assert bench.test()[0] == f"2 pages in {bench.folder}: 3 rows as saved.\n"


def test_an_answer_that_is_no_page_is_kept_as_it_is(bench: Bench) -> None:
    bench.site.page("/2", b"%PDF-1.7 \xff", content_type="application/pdf")
    bench.save("--pages", "2", code=3)
    assert (bench.folder / "2.bin").read_bytes() == b"%PDF-1.7 \xff"
    assert bench.test()[0] == f"1 page in {bench.folder}: 2 rows as saved.\n"


def test_of_a_page_that_was_asked_for_twice_the_last_answer_is_kept(bench: Bench) -> None:
    answers = iter([Answer(503, "later", {"Content-Type": "text/plain"}), Answer(body=FIRST)])
    bench.site.route("/1", lambda _: next(answers))
    bench.save()
    names = {path.name for path in bench.folder.iterdir()}
    assert names == {"1.html", "index.json", "rows.json"}
    assert bench.test()[0] == f"1 page in {bench.folder}: 2 rows as saved.\n"


def test_a_plan_says_what_a_run_of_the_saved_pages_would_change(saved: Bench) -> None:
    sources = saved.folder.parent / "sources"
    sources.mkdir()
    saved.file = sources / "shop.toml"
    saved.declare()
    tested = f'[test]\npages = "../{saved.folder.name}"\n'
    saved.file.write_text(saved.file.read_text() + tested)
    shown, _ = saved("apply", str(sources), "--plan", code=10)
    assert "  A Run of the saved pages would add 3 rows\n" in shown
    saved("apply", str(sources))
    rows: list[dict[str, Scalar]] = [
        {"sku": f"{number}", "name": f"Café {number}", "price": number * 10, "stock": True}
        for number in range(1, 4)
    ]
    with closing(make_store(saved.livedata.home)) as store:
        take(store, queries.find_dataset(store, "local", "shop"), rows)
    # Of a source that stays as it is no page is read.
    assert saved("apply", str(sources), "--plan") == (
        "",
        "Nothing to change: 1 source applied already.\n",
    )
    saved.edit("2.html", ">30<", ">33<")
    saved.declare(itemSelector="li")
    saved.file.write_text(saved.file.read_text() + tested)
    shown, _ = saved("apply", str(sources), "--plan", code=10)
    assert shown == (
        f"revise  shop  ({saved.file})\n"
        "  selector of items: li.product → li\n"
        "  A Run of the saved pages would change shop: 0 new, 1 changed, 0 gone; 2 rows as "
        "before.\n"
        "    changed  Café 3 (3)  price: 30 → 33\n"
    )
    shown, _ = saved("apply", str(sources), "--plan", "--format", "markdown", code=10)
    assert "  - <code>changed  Café 3 (3)  price&#58; 30 → 33</code>\n" in shown
    shown, _ = saved("apply", str(sources), "--plan", "--json", code=10)
    assert json.loads(shown)[0]["changes"][-1] == "changed  Café 3 (3)  price: 30 → 33"
    saved.declare(itemSelector="p")
    saved.file.write_text(saved.file.read_text() + tested)
    shown, _ = saved("apply", str(sources), "--plan", code=10)
    assert "  A Run of the saved pages would not be accepted: " in shown
    saved.file.write_text(saved.file.read_text().replace("../", "../no"))
    _, said = saved("apply", str(sources), "--plan", code=1)
    line = len(saved.file.read_text().splitlines())
    assert f"{saved.file}:{line}: test.pages: There is no folder " in said
