"""``livedata import``: one recipe for many addresses, and what other tools watch."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livedata.cli.output.whole_file import write_whole_files
from livedata.cli.source.source_file import read_source
from livedata.formats.source_toml import write_source
from livedata.model.recipe import moved_pattern, numbered_url
from tests.crawling import shop_source

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.cli.shell import Shell
    from tests.site import Site

KETTLES = "https://shop.example/kettles"
POTS = "https://shop.example/pots"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where Alice types, with a recipe that reads one of her addresses."""
    monkeypatch.chdir(tmp_path)
    Path("like.toml").write_text(write_source(shop_source("https://shop.example/lamps")))
    return tmp_path


def listed(text: str, name: str = "urls.txt") -> str:
    Path(name).write_text(text, encoding="utf-8")
    return name


def like(*options: str) -> tuple[str, ...]:
    return ("--like", "like.toml", "--to", "sources", *options)


def written() -> dict[str, str]:
    """The names of the sources that were written, by file."""
    return {f.name: read_source(f).name for f in sorted(Path("sources").glob("*.toml"))}


@pytest.mark.usefixtures("folder")
def test_each_address_of_a_list_gets_a_source_like_the_recipe(livedata: Shell) -> None:
    text = f"\ufeff# Alice's shops\n\n{KETTLES}?sort=price#top   # the best\r\n  {POTS}/\n"
    answer = livedata.json("import", listed(text), *like())
    assert [(each["file"], each["action"], each["url"]) for each in answer] == [
        ("sources/shop.example-kettles.toml", "create", f"{KETTLES}?sort=price#top"),
        ("sources/shop.example-pots.toml", "create", f"{POTS}/"),
    ]
    recipe, source = read_source(Path("like.toml")), read_source(Path(answer[1]["file"]))
    assert source.name == answer[1]["name"] == "shop.example-pots"
    assert Path(answer[1]["file"]).read_text().startswith("#:schema ./source.schema.json\n")
    assert json.loads(Path("sources/source.schema.json").read_text())["title"]
    assert source.columns == recipe.columns
    assert source.source == recipe.source.model_copy(update={"url": f"{POTS}/"})
    livedata("dataset", "create", answer[1]["file"])


HOW_TO = (Path(__file__).parents[2] / "docs/how-to/import-addresses.md").read_text()


@pytest.mark.usefixtures("folder")
def test_the_how_to_shows_what_is_printed(livedata: Shell) -> None:
    Path("like.toml").rename("kettles.toml")
    text = HOW_TO.split("```\n# urls.txt\n")[1].split("```")[0]
    command, shown = HOW_TO.split("```\n$ livedata ")[1].split("```")[0].split("\n", 1)
    done = livedata(*command.split(), stdin=listed(text))
    assert shown.strip() in done.stdout + done.stderr
    exported("store")
    jobs = livedata("import", "watches.json", "--to", "watches")
    told = HOW_TO.split("on stderr:\n\n```\n")[1].split("```")[0]
    assert {*told.splitlines()} <= {*jobs.stderr.splitlines()}
    mark = HOW_TO.split("first line:\n\n```\n")[1].split("```")[0]
    assert mark in Path("watches/kettles.toml").read_text()


@pytest.mark.usefixtures("folder")
def test_a_list_comes_from_stdin_too(livedata: Shell) -> None:
    livedata("import", "-", *like(), stdin=f"{KETTLES}\n")
    assert written() == {"shop.example-kettles.toml": "shop.example-kettles"}
    said = livedata("import", "-", *like(), stdin=f"{KETTLES}\nkettles\n", code=1).stderr
    assert said == "Error: stdin:2: kettles must begin with http:// or https://.\n"


ADDRESS = "https://www.shop.example:8443/de/T%C3%B6pfe%20neu/list.html?page=1&cat=7"


@pytest.mark.parametrize(
    ("pattern", "name", "file"),
    [
        ("{host}-{path}", "shop.example-de-Töpfe-neu-list", "shop.example-de-töpfe-neu-list"),
        ("{last} of {host}", "list of shop.example", "list-of-shop.example"),
        ("{like} {n}", "shop 1", "shop-1"),
        ("{like} {n:03}", "shop 001", "shop-001"),
        ("{query.cat}", "7", "7"),
        ("{{{query.cat}}}", "{7}", "7"),
        ("con.{query.cat}", "con.7", "_con.7"),
        ("鍋", "鍋", "鍋"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_pattern_says_how_a_source_is_called(
    livedata: Shell, pattern: str, name: str, file: str
) -> None:
    livedata("import", listed(ADDRESS), *like("--name", pattern))
    assert written() == {f"{file}.toml": name}


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://shop.example", "shop.example"),
        ("https://shop.example/", "shop.example"),
        ("https://shop.example/a/b/", "shop.example-a-b"),
        ("https://shop.example/%0A/b", "shop.example--b"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_without_a_pattern_a_source_is_called_by_host_and_path(
    livedata: Shell, url: str, name: str
) -> None:
    livedata("import", listed(url), *like())
    assert [*written().values()] == [name]


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("{host", "'{host' cannot be read: expected '}' before end of string"),
        ("{hsot}", "did you mean {host}?"),
        ("{title}", "{title} is none of host, path, last, n and like"),
        ("{host!r}", "{host} stands alone between its braces"),
        ("{host.__class__}", "{host.__class__} is none of"),
        ("{n:999999999}", "{n} stands alone between its braces"),
        ("{}", "{} is none of"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_pattern_that_names_nothing_is_refused(livedata: Shell, pattern: str, said: str) -> None:
    listing = listed(KETTLES)
    assert said in livedata.error("import", listing, *like("--name", pattern), code=2)
    assert not Path("sources").exists()


CSV = {
    "commas": f'url,title,note\n{KETTLES},"Kettles, all",\n{POTS},Pots,x\n',
    "semicolons": f"title;URL\r\nKettles, all;{KETTLES}\r\n\r\nPots;{POTS}\r\n",
    "tabs": f"title\turl\nKettles, all\t{KETTLES}\n  Pots \t {POTS} \n",
}


@pytest.mark.parametrize("text", CSV.values(), ids=CSV)
@pytest.mark.usefixtures("folder")
def test_the_columns_of_a_csv_file_name_sources(livedata: Shell, text: str) -> None:
    listing = listed(text, "urls.csv")
    assert [each["url"] for each in livedata.json("import", listing, *like())] == [KETTLES, POTS]
    assert written() == {"kettles-all.toml": "Kettles, all", "pots.toml": "Pots"}


WRONG: Mapping[str, tuple[str, str, str]] = {
    "an empty list": ("urls.txt", "# nothing\n", "urls.txt: there is no address in it"),
    "no UTF-8": ("urls.txt", f"{KETTLES}\n\udcff", "urls.txt:2: the file is not UTF-8"),
    "a private address": (
        "urls.txt",
        f"{KETTLES}\nhttp://127.0.0.1/",
        "urls.txt:2: http://127.0.0.1/ has the private address",
    ),
    "two words": ("urls.txt", f"{KETTLES} pots", "urls.txt:1: https://shop.example/kettles pots"),
    "no column url": ("a.csv", f"address\n{KETTLES}", "a.csv:1: the first line must name"),
    "a column twice": ("a.csv", f"url,a,a\n{KETTLES},,", "a.csv:1: the first line must name"),
    "a cell too few": (
        "a.csv",
        f'url,title\n{KETTLES},"two\nlines"\n{POTS}\n',
        "a.csv:4: this line has 1 cells, and the first one names 2 columns.",
    ),
    "a quote without end": ("a.csv", f'url,title\n{KETTLES},"K\n', "a.csv:2: the CSV cannot be"),
    "a file of two": (
        "urls.txt",
        f"{KETTLES}?cat=1\n{KETTLES}?cat=2\n",
        "tell them apart with --name, such as --name '{host}-{path}-{query.cat}'.",
    ),
    "an address twice": (
        "urls.txt",
        f"{KETTLES}\n{KETTLES}\n",
        f"urls.txt:2: {KETTLES} is the address of urls.txt:1 already; leave one of them out.",
    ),
    "a name that is too long": ("a.csv", f"url,name\n{KETTLES},{'k' * 121}", "a.csv:2: name must"),
    "a name without letters": ("a.csv", f"url,name\n{KETTLES},!!!", "has no letter and no digit"),
    "a name that is an id": (
        "a.csv",
        f"url,name\n{KETTLES},123e4567-e89b-12d3-a456-426614174000",
        "a.csv:2: name must not look like an id",
    ),
}


@pytest.mark.parametrize(("name", "text", "said"), WRONG.values(), ids=WRONG)
@pytest.mark.usefixtures("folder")
def test_of_a_list_with_one_wrong_line_nothing_is_written(
    livedata: Shell, name: str, text: str, said: str
) -> None:
    Path(name).write_text(text, encoding="utf-8", errors="surrogateescape")
    assert said in livedata.error("import", name, *like())
    assert not Path("sources").exists()


@pytest.mark.usefixtures("folder")
def test_all_that_is_wrong_is_said_at_once(livedata: Shell) -> None:
    said = livedata.error("import", listed("a\nb\nhttps://c.example/\n"), *like())
    assert said.startswith("Error: there are 2 problems:\n  urls.txt:1: a must begin with http")


@pytest.mark.usefixtures("folder")
def test_the_recipe_is_judged_first(livedata: Shell) -> None:
    listing = listed(KETTLES)
    declared = shop_source("https://shop.example/lamps")
    declared["source"]["itemSelector"] = "li:first"
    Path("like.toml").write_text(write_source(declared))
    assert "like.toml:23: source.itemSelector" in livedata.error("import", listing, *like())
    good = write_source(shop_source("https://shop.example/lamps"))
    Path("like.toml").write_text(f"# NOT READY. it has no key\n{good}")
    said = livedata.error("import", listing, *like())
    assert "like.toml:1: this source is marked as not ready: it has no key." in said
    said = livedata.error("import", listing, "--to", "sources", code=2)
    assert "--like source.toml; livedata init URL writes one" in said
    assert not Path("sources").exists()


@pytest.mark.usefixtures("folder")
def test_what_the_recipe_says_for_apply_is_said_of_each_dataset(livedata: Shell) -> None:
    beside = {
        "schedule": {"cron": "0 6 * * *", "status": "active"},
        "notice": [
            {"name": "ops", "webhook": "env:OPS", "silent-for": "2d"},
            {"name": "both", "webhook": "env:OPS", "dataset": ["shop", "other"]},
        ],
        "share": [{"label": "sheet", "columns": "name"}],
        "test": {"pages": "pages"},
    }
    Path("like.toml").write_text(write_source(shop_source("https://shop.example/l") | beside))
    done = livedata("import", listed(f"{KETTLES}\n{POTS}"), *like("--name", "{last}"))
    recipe = read_source(Path("like.toml"))
    for name in ("kettles", "pots"):
        source = read_source(Path(f"sources/{name}.toml"))
        assert (source.schedule, source.share) == (recipe.schedule, recipe.share)
        assert source.test is None
        assert [each.name for each in source.notice or ()] == [f"ops of {name}"]
    assert "like.toml: [test] is left out" in done.stderr
    assert "like.toml: the notice both is left out: it names its datasets." in done.stderr


@pytest.mark.usefixtures("folder")
def test_a_list_that_grows_adds_its_new_address_alone(livedata: Shell) -> None:
    livedata("import", listed(KETTLES), *like())
    kept = Path("sources/shop.example-kettles.toml")
    before = kept.stat()
    Path("sources/mine.toml").write_text("mine")
    answer = livedata.json("import", listed(f"# more\n{KETTLES}\n{POTS}"), *like())
    assert [each["action"] for each in answer] == ["leave", "create"]
    assert (kept.stat().st_ino, kept.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert Path("sources/mine.toml").read_text() == "mine"
    assert "2 files of sources said so already." in livedata("import", "urls.txt", *like()).stderr


@pytest.mark.usefixtures("folder")
def test_a_file_that_says_something_else_is_replaced_only_if_told(livedata: Shell) -> None:
    listing = listed(f"{KETTLES}\n{POTS}")
    livedata("import", listed(KETTLES, "one.txt"), *like())
    kept = Path("sources/shop.example-kettles.toml")
    kept.write_text("mended by hand")
    said = livedata.error("import", listing, *like())
    assert said.startswith(f"Error: {kept} would be written with another content; --force")
    assert [file.name for file in Path("sources").glob("*.toml")] == [kept.name]
    answer = livedata.json("import", listing, *like("--force"))
    assert [each["action"] for each in answer] == ["replace", "create"]
    assert len(written()) == 2


@pytest.mark.usefixtures("folder")
def test_a_folder_in_the_place_of_a_source_is_left_alone(livedata: Shell) -> None:
    Path("sources/shop.example-pots.toml").mkdir(parents=True)
    said = livedata.error("import", listed(f"{KETTLES}\n{POTS}"), *like("--force"))
    assert "sources/shop.example-pots.toml is a folder" in said
    assert len([*Path("sources").iterdir()]) == 1


def test_if_one_file_cannot_be_written_all_are_as_before(tmp_path: Path) -> None:
    new, old, nowhere = tmp_path / "new", tmp_path / "old", tmp_path / "nowhere" / "file"
    old.write_text("old")
    with pytest.raises(OSError, match="nowhere"):
        write_whole_files({new: "1", old: "2", nowhere: "3"}, tmp_path, force=True)
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("old", "old")]


PAGES = [
    # The pattern of the recipe, the address, and its first page and pattern, if it has any.
    ("https://a.example/l?page={page}", "https://b.example/m", "https://b.example/m?page={page}"),
    ("https://a.example/l?page={page}", "https://b.example/m?page=1&x=2", "https://b.example/m?page={page}&x=2"),
    ("https://a.example/l?s=a&page={page}", "https://b.example/m?s=b#top", "https://b.example/m?s=b&page={page}"),
    ("https://a.example/l?page=p{page}", "https://b.example/m?page=p1", "https://b.example/m?page=p{page}"),
    ("https://a.example/l?page={page}", "https://b.example/m?page=2", None),
    ("https://a.example/l?page={page}", "https://b.example/m?page=1&page=1", None),
    ("https://a.example/l?{page}", "https://b.example/m", None),
    ("https://a.example/l/page/{page}", "https://b.example/m/n/page/1", "https://b.example/m/n/page/{page}"),
    ("https://a.example/l/{page}/all", "https://b.example/m/1/all?x=1", "https://b.example/m/{page}/all?x=1"),
    ("https://a.example/list-{page}.html", "https://b.example/m/list-1.html", "https://b.example/m/list-{page}.html"),
    ("https://a.example/l/page/{page}", "https://b.example/m", None),
    ("https://a.example/l/page/{page}", "https://b.example/m/page/11", None),
    ("https://a.example/{page}", "https://1", None),
    ("https://{page}.a.example/l", "https://1.b.example/l", None),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "url", "moved"), PAGES)
def test_numbered_pages_are_moved_to_another_address(
    pattern: str, url: str, moved: str | None
) -> None:
    assert moved_pattern(pattern, 1, url) == moved


WORDS = st.text("abc1.-", min_size=1, max_size=4)


@given(
    path=st.lists(WORDS, max_size=3),
    query=st.dictionaries(WORDS, WORDS, max_size=3),
    host=WORDS,
    first=st.integers(0, 20),
    place=st.integers(0, 3),
    in_query=st.booleans(),
)
def test_a_pattern_moved_to_its_own_first_page_stays(
    path: list[str], query: dict[str, str], host: str, first: int, place: int, in_query: bool
) -> None:
    asked = [f"{key}={value}" for key, value in query.items() if key != "p"]
    if in_query:
        asked.insert(place, "p={page}")
    else:
        path.insert(place, "p-{page}")
    pattern = f"https://{host}/{'/'.join(path)}" + (f"?{'&'.join(asked)}" if asked else "")
    assert moved_pattern(pattern, first, numbered_url(pattern, first)) == pattern
    # Whatever the address, its first page is the pattern at startPage, as create asks.
    moved = moved_pattern(pattern, first, f"https://b.example/{'/'.join(path[1:])}")
    assert moved is None or (moved.count("{page}") == 1 and moved.startswith("https://b.example/"))


@pytest.mark.usefixtures("folder")
def test_an_address_without_a_place_for_the_page_is_refused(livedata: Shell) -> None:
    pages = {
        "kind": "url-pattern",
        "pattern": "https://shop.example/lamps/page/{page}",
        "startPage": 1,
        "endSelector": ".last",
    }
    declared = shop_source("https://shop.example/lamps/page/1", pagination=pages)
    Path("like.toml").write_text(write_source(declared))
    said = livedata.error("import", listed(f"{KETTLES}/page/1\n{POTS}\n"), *like())
    assert said == (
        f"Error: urls.txt:2: {POTS} has no place for the page of {pages['pattern']}: give the "
        "address of its first page, as https://shop.example/lamps/page/1 is of that one.\n"
    )
    said = livedata.error("import", listed("https://shop.example/{a}/page/1"), *like())
    assert "urls.txt:1: source.pagination.pattern must contain no braces other than" in said
    livedata("import", listed(f"{KETTLES}/page/1"), *like())
    source = read_source(Path("sources/shop.example-kettles-page-1.toml")).source
    assert source.url == f"{KETTLES}/page/1"
    assert source.pagination.model_dump()["pattern"] == f"{KETTLES}/page/{{page}}"


def test_what_is_written_reads_each_list_of_a_site(
    livedata: Shell, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LIVEDATA_ALLOW_HOSTS", site.host)
    item = '<li class="product" data-sku="{0}"><h2><a>{1}</a></h2><b class="price">1</b></li>'
    site.pages({"/lamps": item.format(1, "Lamp"), "/pots": item.format(2, "Pot")})
    Path("like.toml").write_text(write_source(shop_source(site.at("/lamps"))))
    livedata("import", listed(site.at("/pots")), *like("--name", "{last}"))
    shown, _ = livedata.typed("preview", "sources/pots.toml")
    assert "Pot" in shown
    assert "Lamp" not in shown


KETTLES_WATCH: dict[str, Any] = {
    "url": f"source:{KETTLES}",
    "title": "Kettles",
    "include_filters": ["//h1", "li.product", "css:.price", "li:has(a)"],
    "headers": {"Cookie": "SECRET"},
    "method": "GET",
    "processor": "text_json_diff",
    "fetch_backend": "html_webdriver",
    "time_between_check": {"hours": 3, "minutes": None},
    "time_between_check_use_default": False,
    "ignore_text": [],
}
POTS_WATCH: dict[str, Any] = {
    "url": POTS,
    "title": None,
    "include_filters": [],
    "time_between_check": {"hours": 3},
    "time_between_check_use_default": True,
}
ROUTER: dict[str, Any] = {"url": "http://192.168.1.1/", "title": "Router"}
TODAY: dict[str, Any] = {"url": "https://shop.example/{% now 'utc' %}", "title": "Today"}
UNREAD = ", which is not read."
WATCHES = {"1": KETTLES_WATCH, "2": POTS_WATCH, "3": ROUTER, "4": TODAY}


def backup(name: str, **members: object) -> str:
    with zipfile.ZipFile(name, "w") as packed:
        for member, content in members.items():
            packed.writestr(member.replace("__", "/"), json.dumps(content))
    return name


def exported(how: str) -> str:
    """An export of changedetection.io, as its versions and its API write it."""
    if how == "backup":
        by_id = {f"{key}__watch.json": watch for key, watch in WATCHES.items()}
        return backup("backup.zip", **by_id, **{"changedetection.json": {"settings": {}}})
    if how == "old backup":
        return backup("backup.zip", **{"url-watches.json": {"watching": WATCHES, "settings": {}}})
    store = {"watching": WATCHES, "settings": {"application": {}}}
    return listed(json.dumps(store if how == "store" else WATCHES), "watches.json")


@pytest.mark.parametrize("how", ["backup", "old backup", "store", "API"])
@pytest.mark.usefixtures("folder")
def test_the_watches_of_changedetection_io_become_sources_that_are_not_ready(
    livedata: Shell, how: str
) -> None:
    name = exported(how)
    done = livedata("import", name, "--to", "sources")
    assert written() == {"kettles.toml": "Kettles", "shop.example-pots.toml": "shop.example-pots"}
    kettles = read_source(Path("sources/kettles.toml")).source
    assert (kettles.url, kettles.item_selector, kettles.render) == (
        KETTLES, "li.product", "browser",
    )  # fmt: skip
    pots = read_source(Path("sources/shop.example-pots.toml")).source
    assert (pots.item_selector, pots.render) == ("body", "static")
    told = [line for line in done.stderr.splitlines() if line.startswith(f"{name}: watch ")]
    assert [line.removeprefix(f"{name}: watch ").partition(" cannot")[0] for line in told] == [
        f'"Today" is left out: its address is a template, {TODAY["url"]}.',
        '"Kettles": include_filters, "//h1",',
        '"Kettles": include_filters, "css:.price",',
        '"Kettles": include_filters, "li:has(a)",',
        '"Kettles": headers',
        '"Kettles": time_between_check',
        f'"Router" is left out: {ROUTER["url"]} has the private address 192.168.1.1{UNREAD}',
    ]
    assert "SECRET" not in done.output
    refused = livedata.error("dataset", "create", "sources/kettles.toml")
    assert "sources/kettles.toml:3: this source is marked as not ready" in refused


@pytest.mark.usefixtures("folder")
def test_what_was_not_carried_over_is_said_to_programs_too(livedata: Shell) -> None:
    answer = livedata.json("import", exported("store"), "--to", "sources")
    assert [(each["ready"], len(each["notCarriedOver"])) for each in answer] == [
        (False, 5),
        (False, 0),
    ]


@pytest.mark.usefixtures("folder")
def test_a_list_of_the_api_has_no_filters_and_that_is_said(livedata: Shell) -> None:
    summary = listed(json.dumps({"1": {"url": KETTLES, "title": "Kettles"}}), "watches.json")
    done = livedata("import", summary, "--to", "sources")
    assert "watches.json: it names no filters" in done.stderr
    one = listed(json.dumps(KETTLES_WATCH), "watch.json")
    livedata("import", one, "--to", "sources", "--force")
    assert read_source(Path("sources/kettles.toml")).source.item_selector == "li.product"


@pytest.mark.usefixtures("folder")
def test_with_a_recipe_the_watches_are_a_list_of_addresses(livedata: Shell) -> None:
    done = livedata("import", exported("store"), *like())
    assert 'watch "Kettles": li.product is not read: like.toml says what is.' in done.stderr
    livedata("dataset", "create", "sources/kettles.toml")


JOBS = f"""\
# Bob's jobs
name: Kettles & pots
url: {KETTLES}
use_browser: true
filters:
  - css:
      selector: li.product
  - html2text
  - re.sub:
      pattern: a
---
name: uptime
command: uptime
---
url: {POTS}
filter: element-by-class:product,html2text
headers:
  Cookie: SECRET
---
url: https://shop.example/pans
filter:
  - xpath: //div
  - element-by-id: list
---
"""


@pytest.mark.usefixtures("folder")
def test_the_jobs_of_webchanges_and_urlwatch_become_sources(livedata: Shell) -> None:
    done = livedata("import", listed(JOBS, "jobs.yaml"), "--to", "sources")
    read = [read_source(file) for file in sorted(Path("sources").glob("*.toml"))]
    assert [(s.name, s.source.item_selector, s.source.render) for s in read] == [
        ("Kettles & pots", "li.product", "browser"),
        ("shop.example-pans", "#list", "static"),
        ("shop.example-pots", ".product", "static"),
    ]
    told = [line for line in done.stderr.splitlines() if line.startswith("jobs.yaml")]
    assert [line.partition(" cannot")[0] for line in told] == [
        "jobs.yaml:12: this job is left out: it has a command.",
        'jobs.yaml:2: filter, "html2text",',
        'jobs.yaml:2: filter, "re.sub",',
        'jobs.yaml:15: filter, "html2text",',
        "jobs.yaml:15: headers",
        'jobs.yaml:20: filter, "xpath: //div",',
    ]
    assert "SECRET" not in done.output


BAD_EXPORTS = {
    "no JSON": ("a.json", '{"url": ', "a.json:1: the JSON is unreadable"),
    "no watch": ("a.json", '{"url": 3}', "a.json: there is no watch with an address in it"),
    "none of use": (
        "a.json",
        json.dumps(ROUTER),
        "a.json: no source can be made of what it has.",
    ),
    "no zip": ("a.zip", "PK", "a.zip: the file cannot be read (file is not a zip file)."),
    "no YAML": ("a.yaml", "\na: b: c", "a.yaml:2: the YAML cannot be read: mapping values"),
    "no job": ("a.yaml", "- 1", "a.yaml:1: this is no job, which has url: https://"),
    "a tag": ("a.yaml", "a: !include x", "a.yaml:1: the YAML cannot be read: could not determine"),
    "a control character": ("a.yaml", "a: \x01", "a.yaml:1: the YAML cannot be read"),
    "too deep": ("a.yaml", "a: " + "[" * 5000, "a.yaml: the YAML cannot be read"),
}


@pytest.mark.parametrize(("name", "text", "said"), BAD_EXPORTS.values(), ids=BAD_EXPORTS)
@pytest.mark.usefixtures("folder")
def test_an_export_that_is_none_is_refused(
    livedata: Shell, name: str, text: str, said: str
) -> None:
    assert said in livedata.error("import", listed(text, name), "--to", "sources")
    assert not Path("sources").exists()


@pytest.mark.usefixtures("folder")
def test_a_zip_file_of_something_else_is_no_backup(livedata: Shell) -> None:
    other = backup("a.zip", **{"changedetection.json": {}})
    said = livedata.error("import", other, "--to", "sources")
    assert "a.zip: there is no watch.json and no url-watches.json in it" in said
    broken = backup("b.zip", **{"1__watch.json": 1})
    assert "no watch with an address" in livedata.error("import", broken, "--to", "sources")
