"""What a site, a model and an owner really wrote, by a crawl, by commands and by a research Run."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import orjson
import pytest
from msgspec.structs import replace

from livedata.messages.validation import read
from livedata.model import ids
from livedata.model.requests import CreateDataset
from livedata.model.research.record import ResearchFact
from livedata.model.row import RowEdit
from livedata.rules.network.targets import TargetPolicy
from livedata.services import accounts, datasets, queries, rows
from livedata.services.research import recording
from livedata.services.research.declaring import ResearchDeclaration, add_draft
from tests.api.serving import Serving
from tests.browsing import addresses
from tests.browsing.chromium import Looking, chromium, looking
from tests.browsing.payloads import ALL, MARKUP, SHOWN
from tests.browsing.world import World
from tests.cli.shell import Shell
from tests.crawling import shop_source
from tests.made import make_dataset, take
from tests.services.research_table import PLAN, ResearchTable, artifact_of, found_on, step_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser

    from livedata.model.research.stored import DeclaredPlan
    from livedata.store.database.store import Store
    from tests.site import Site

# The pages are served from the file of the store.
pytestmark = [pytest.mark.slow, pytest.mark.sqlite]

FOREIGN = (
    "iframe, object, embed, base, main style, template, math, video, audio, plaintext, noscript, "
    "[onload], [onerror], [onfocus], [onmouseover], [ontoggle], [style], [srcdoc]"
)
CLASS = '"><script>window.ran=1</script>'
"""A class of one word, which a selector has to name."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


def paths(store: Store, owner: str) -> Iterator[str]:
    """Every page of an owner."""
    yield from addresses.ALONE
    for dataset, pages in addresses.of_datasets(store, owner):
        yield from (*pages, f"{pages[0]}?search=a&sort=rowKey")
        yield from addresses.of_runs(store, owner, dataset)
        yield from addresses.of_rows(store, owner, dataset)[::6]


def shown(visit: Looking) -> str:
    """What the open page says, if it does nothing."""
    told = visit.page.evaluate(SHOWN, FOREIGN)
    left = told["ran"], told["mains"], told["foreign"], told["unknown"], told["scripts"]
    assert left == (None, 1, 0, 0, 0), visit.page.url
    allowed = {"http", "https", "file"}
    assert {str(to).partition(":")[0] for to in told["leads"]} <= allowed, visit.page.url
    return str(told["markup"])


def look_at_all(browser: Browser, home: Path, store: Store, owner: str, texts: list[str]) -> str:
    """What each page and the report of each dataset say, if they do nothing but show all texts."""
    told = []
    with Serving(home) as server, looking(browser, base_of(server), store, owner) as visit:
        for path in paths(store, owner):
            visit.open(path)
            told.append(shown(visit))
        livedata = Shell(home)
        for number, dataset in enumerate(queries.datasets(store, owner, 100)):
            file = home / f"{number}.html"
            given = ("dataset", "report", dataset["id"], "-o", str(file), "--owner", owner)
            livedata(*given)
            # A request of its own would be met: a file asks for nothing.
            visit.page.goto(file.as_uri())
            visit.elsewhere.remove(file.as_uri())
            told.append(shown(visit))
    assert (visit.elsewhere, visit.complaints) == ([], [])
    everything = "\n".join(told)
    assert [text for text in texts if escape(text, quote=False) not in everything] == []
    return everything


def base_of(server: Serving) -> str:
    return f"http://127.0.0.1:{server.port}"


def test_what_a_site_wrote_is_text(
    browser: Browser,
    site: Site,
    store: Store,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As cells, keys, addresses and classes; as the title and text of a page that stopped a Run."""
    listed = [(number, " ".join(text.split())) for number, text in enumerate(ALL)]

    def show(item: str, price: str, title: str) -> None:
        items = "".join(
            f'<li class="{escape(item)}" data-sku="K{number:02} {escape(text)}">'
            f'<h2><a href="{escape(text)}">{escape(text)}</a></h2>'
            f'<b class="price">{escape(price) if number < 5 else number}</b>'
            '<i class="stock">yes</i></li>'
            for number, text in listed
        )
        site.page("/", f"<!doctype html><title>{escape(title)}</title><main><ul>{items}</ul>")

    source = shop_source(site.at("/"))
    source["source"]["pagination"] = {"kind": "none"}
    source["source"]["fields"].append(
        {"name": "page", "read": {"selector": "a", "kind": "attribute", "attribute": "href"}}
    )
    source["columns"].append({"name": "page", "type": "string"})
    monkeypatch.setenv("LIVEDATA_ALLOW_HOSTS", site.host)
    declared = read(CreateDataset, source)
    datasets.create(store, "local", declared, TargetPolicy.parse(site.host))
    livedata = Shell(tmp_path)
    for item, price, title in (
        ("product", "1", "Shop"),
        ("product", "8.50", "Shop"),
        ("product", "<svg onload=alert()>", "Shop"),
        (CLASS, "9", MARKUP[0]),
        (CLASS, "9", MARKUP[5] + "Sign in"),
    ):
        show(item, price, title)
        with livedata.start("run", "shop") as process:
            process.communicate(timeout=60)
    ends = {run["status"] for run in livedata.json("runs", "list", "shop")}
    assert {"succeeded", "failed"} <= ends
    texts = [text for _, text in listed if text]
    told = look_at_all(browser, tmp_path, store, "local", texts)
    for part in (
        *("What looks odd", "Likeliest cause: <bdi", "The page that stopped it", "Steps"),
        *("What would read the kept page", "titled <bdi"),
    ):
        assert part in told, part


def test_what_a_model_and_a_search_wrote_is_text(
    browser: Browser, store: Store, tmp_path: Path
) -> None:
    """As the query, the pages and titles that were found, names that were dropped, and a plan."""
    for begin in range(0, len(ALL), 20):
        texts = [text for text in dict.fromkeys(ALL[begin : begin + 20]) if text.strip()]
        plan: DeclaredPlan = {
            "title": MARKUP[0],
            "rowMeaning": MARKUP[1],
            "nameLabel": MARKUP[2],
            "query": " ".join(texts),
            "rowIdentity": PLAN["rowIdentity"],
            "attributes": [{"label": text, "description": text} for text in texts],
        }
        planned = ResearchDeclaration(
            f"planned {begin}", " ".join(texts), plan, ["https://x.example/"]
        )
        add_draft(store, "local", planned)
    table = ResearchTable(store)
    asked = ResearchDeclaration("asked", " ".join(ALL), PLAN, ["https://x.example/"])
    table.id = ids.DatasetId(ids.raw_id(add_draft(store, "local", asked)["id"]))
    attempt = table.begin()
    table.remember(attempt)
    results = [
        {"rank": rank, "url": text, "title": text, "score": 0.5} for rank, text in enumerate(ALL, 1)
    ]
    searched = {
        "query": " ".join(ALL),
        "depth": "basic",
        "excludeDomains": [],
        "credits": 1.0,
        "results": results,
    }
    search = artifact_of(orjson.dumps(searched).decode(), "search.results")
    met = [ResearchFact("discovery", "candidate_found", search.id, url=text) for text in ALL]
    refused = [
        fact
        for text in ALL
        for fact in (
            ResearchFact("selection", "page_selected", search.id, url=text),
            ResearchFact("retrieval", "read_forbidden", search.id, failure=True, url=text),
        )
    ]
    dropped = [
        fact
        for text in ALL
        for fact in (
            ResearchFact("extraction", "row_offered", "x", url=text, entity=text, candidate=text),
            ResearchFact(
                "validation",
                "name_quote_not_on_page",
                "x",
                failure=True,
                entity=text,
                candidate=text,
            ),
        )
    ]
    for step in (
        step_of("search", artifacts=[search], facts=met),
        replace(step_of("read", calls=[], facts=refused), url=MARKUP[3]),
        step_of("preview", calls=[], facts=dropped),
    ):
        recording.record(store, attempt, step)
    names = {text[:150]: {"City": text, "Founded": text} for text in ALL}
    table.finish(attempt, found_on(attempt, names))
    everything = look_at_all(
        browser, tmp_path, store, "local", [text for text in ALL if text.strip()]
    )
    for part in ("<dt>Asked</dt>", "<dt>Searched</dt>", "Not in the output"):
        assert part in everything, part


def test_what_owners_wrote_is_text(browser: Browser, store: Store, tmp_path: Path) -> None:
    """As names of owners, keys and datasets, notes of the ledger, and edits."""
    livedata = Shell(tmp_path)
    owner = f"o {MARKUP[0]}"
    world = World(store, owner)
    dataset = make_dataset(store, owner, ALL[2][:120])
    take(store, dataset, world.items(3), owner=owner)
    columns = queries.dataset(store, owner, dataset)["columns"]
    (note,) = [column["id"] for column in columns if column["name"] == "note"]
    for text in ALL:
        livedata("credits", "grant", "1", "--note", text, "--owner", owner)
        key = accounts.create_key(store, owner, text[:100])
        row = queries.rows(store, owner, dataset, 1)[0][0]
        edit = RowEdit(str(row["revisionId"]), text[:100] or "-", {note: text})
        raw = ids.RowId(ids.raw_id(row["id"]))
        rows.edit(store, owner, dataset, raw, edit, ids.KeyId(ids.raw_id(key["id"])))
    look_at_all(browser, tmp_path, store, owner, list(ALL))
