"""Pages of rows and of changes end early after so many bytes; whoever goes on misses nothing."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from livedata.api import create_app
from livedata.cli.changes import _Revisions
from livedata.model.ids import format_uuid
from livedata.services import accounts, feed, queries
from livedata.services.notices import feeds
from livedata.store.database import backend
from tests.services.table import A, Table

LONG = "x" * 2_000
ROWS = 12


@pytest.fixture
def filled(table: Table) -> Table:
    """Rows short and long, each of which has changed; some by hand."""
    for price in (1, 2):
        table.take(
            *(
                {
                    **A,
                    "sku": f"k{number}",
                    "price": price + number,
                    "title": LONG[: number % 3 * 1_000],
                }
                for number in range(ROWS)
            )
        )
    table.edit("k1", {"title": LONG})
    table.edit("k2", {"title": None})
    return table


@pytest.mark.parametrize("limit", [1, 5, 100])
@pytest.mark.parametrize("most", [1, 3_000, 10_000])
def test_pages_with_few_bytes_have_the_same_entries_once_and_in_order(
    filled: Table, monkeypatch: pytest.MonkeyPatch, most: int, limit: int
) -> None:
    key = accounts.create_key(filled.store, "local", None)["key"]
    client = create_app(filled.store).test_client()

    def ask(listed: str, **query: Any) -> Any:
        answer = client.get(
            f"/v1/datasets/{format_uuid(filled.id)}/{listed}",
            query_string={name: value for name, value in query.items() if value is not None},
            headers={"Authorization": f"Bearer {key}"},
        )
        return orjson.loads(answer.data)

    whole = ask("rows", limit=100)["data"], ask("changes", limit=100)["data"]
    assert list(map(len, whole)) == [ROWS, 2 * ROWS + 2]
    monkeypatch.setattr(backend, "PAGE_BYTES", most)
    rows: list[Any] = []
    cursor = None
    while True:
        page = ask("rows", limit=limit, cursor=cursor)
        rows += page["data"]
        assert page["data"]
        if (cursor := page["nextCursor"]) is None:
            break
    changes: list[Any] = []
    after: int | None = 0
    while after is not None:
        page = ask("changes", limit=limit, after=after)
        # Each page tells what it refers to, as a whole one does.
        assert {seen["id"] for seen in page["observations"]} >= {
            ref["observationId"]
            for change in page["data"]
            for refs in change["evidence"].values()
            for ref in refs
        }
        assert page["data"]
        changes += page["data"]
        after = page["nextAfter"]
    assert (rows, changes) == whole


def test_a_page_has_no_more_than_its_bytes_and_one_entry(
    filled: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    longest = max(len(orjson.dumps(change)) for change in filled.feed())
    monkeypatch.setattr(backend, "PAGE_BYTES", 5_000)
    rows, more = queries.rows(filled.store, "local", filled.id, 100)
    assert more
    assert 1 < len(rows) < ROWS
    page = feed.changes(filled.store, "local", filled.id, limit=100)
    assert page["nextAfter"] == page["data"][-1]["sequence"]
    assert len(orjson.dumps(page["data"])) < 5_000 + longest + len(page["data"])


def test_all_that_reads_page_by_page_still_reads_everything(
    filled: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = filled.feed()
    feeds.open_feed(filled.store, "local", filled.id)
    news = feeds.news(filled.store, filled.id)
    monkeypatch.setattr(backend, "PAGE_BYTES", 1)
    assert filled.feed() == told
    for limit in (None, 7):
        revisions = _Revisions(filled.store, "local", filled.id, None, None, (), None, limit)
        pages = revisions.pages(0, follow=False)
        assert [change for page, _ in pages for change in page["data"]] == told[:limit]
    shorter = feeds.news(filled.store, filled.id)
    # An entry shows fewer changes, and says how many more there are.
    for before, now in zip(news.entries, shorter.entries, strict=True):
        assert len(now.changes) + now.more == len(before.changes) + before.more
