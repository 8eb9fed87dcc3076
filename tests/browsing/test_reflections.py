"""What an address or a form says is text where a page repeats it: it changes no tag of the page."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from typing_extensions import override

from livedata.model import ids
from livedata.services import queries
from livedata.services.pages import sessions
from tests.browsing.payloads import ALL
from tests.browsing.world import World

if TYPE_CHECKING:
    from flask import Flask

    from livedata.store.database.store import Store
    from tests.browsing.visitor import Visitor

pytestmark = [pytest.mark.one_database, pytest.mark.slow]
REPEATED = [
    "/sign-in?next=/PAYLOAD",
    "/SHOP?search=PAYLOAD",
    "/SHOP?where=PAYLOAD",
    "/SHOP?where=title+=+x+PAYLOAD",
    "/SHOP?where=rowKey+contains+a+PAYLOAD",
    "/SHOP?where=PAYLOAD&where=rowKey+=+A",
    "/SHOP?filter=PAYLOAD",
    "/SHOP?operator=PAYLOAD&value=x",
    "/SHOP?operator=contains&value=PAYLOAD",
    "/SHOP?filter=rowKey&operator=like+PAYLOAD&value=x",
    "/SHOP?filter=rowKey&operator=%3C&value=PAYLOAD",
    "/SHOP?filter=rowKey&operator=contains&value=PAYLOAD",
    "/SHOP?facet=PAYLOAD",
    "/SHOP?line=PAYLOAD",
    "/SHOP?before=PAYLOAD",
    "/SHOP?sort=PAYLOAD",
    "/SHOP?sort=rowKey&order=PAYLOAD&search=a",
    "/SHOP?search=a&PAYLOAD=PAYLOAD",
    "/SHOP?after=PAYLOAD",
    "/SHOP/changes?since=PAYLOAD",
    "/SHOP/changes?kind=PAYLOAD",
    "/SHOP/changes?field=PAYLOAD",
    "/SHOP/changes?kind=&PAYLOAD=PAYLOAD",
    "/SHOP/runs?after=PAYLOAD",
    "/SHOP/compare?from=PAYLOAD",
    "/SHOP/compare?from=0&to=PAYLOAD",
    "/SHOP/compare?from=0&after=PAYLOAD",
    "/search?q=PAYLOAD",
    "/search?q=lamp&after=PAYLOAD",
    "/SHOP/shares?label=PAYLOAD&where=PAYLOAD",
    "/changes?since=PAYLOAD",
    "/changes?until=PAYLOAD",
    "/changes?after=PAYLOAD",
    "/changes?since=2020-01-01&PAYLOAD=PAYLOAD",
    "/new?url=PAYLOAD",
    "/notices?name=PAYLOAD&silent=PAYLOAD&digest=PAYLOAD&after=PAYLOAD",
    "/notices?when=title+=+PAYLOAD&columns=PAYLOAD&ignore=PAYLOAD&kind=PAYLOAD&on=PAYLOAD",
    "/notices?dataset=PAYLOAD",
    "/notices/PAYLOAD",
    "/notices/NOTICE/try?since=PAYLOAD",
    "/new/PAYLOAD",
    "/datasets/PAYLOAD",
    "/PAYLOAD",
]


class Tags(HTMLParser):
    """The tags of a page with the names of their attributes, and where they lead."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, tuple[str, ...]]] = []
        self.schemes: set[str] = set()
        self.feed(page)

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, tuple(name for name, _ in attrs)))
        for name, value in attrs:
            if name in {"href", "src", "action"} and value is not None:
                self.schemes.add(value[:1])


@pytest.fixture
def shop(store: Store, alice: Visitor) -> ids.DatasetId:
    return World(store, alice.owner).shop()


@pytest.mark.parametrize("address", REPEATED)
def test_an_address_is_repeated_as_text(
    alice: Visitor, store: Store, shop: ids.DatasetId, address: str
) -> None:
    notice = World(store, alice.owner).notices(shop)[0]

    def tags(text: str) -> Tags:
        path = address.replace("SHOP", f"datasets/{ids.format_uuid(shop)}")
        path = path.replace("NOTICE", ids.format_uuid(notice))
        answer = alice.client.get(
            path.replace("PAYLOAD", quote(text, safe="")), headers={"Accept": "text/html"}
        )
        assert answer.mimetype == "text/html"
        return Tags(answer.text)

    # Behind a slash an address is another one.
    expected = {"/": tags("harm/less"), "": tags("harmless")}
    for payload in ALL:
        given = tags(payload)
        assert given.tags == expected["/" if "/" in payload else ""].tags, payload
        assert given.schemes <= {"/", "#", "?"}, payload


def test_where_a_sign_in_leads_is_text(app: Flask, store: Store) -> None:
    def tags(text: str) -> list[tuple[str, tuple[str, ...]]]:
        path = f"/sign-in/link?token={sessions.make_link(store, 'alice')}&next=/{quote(text)}"
        return Tags(app.test_client().get(path).text).tags

    expected = tags("harmless")
    for payload in ALL:
        assert tags(payload) == expected, payload


@pytest.mark.parametrize("name", ["title", "price", "stock"])
@pytest.mark.parametrize("case", ["refused", "conflict"])
def test_what_a_person_typed_is_repeated_as_text(
    alice: Visitor, store: Store, shop: ids.DatasetId, name: str, case: str
) -> None:
    columns = queries.dataset(store, alice.owner, shop)["columns"]
    (field,) = [column["id"] for column in columns if column["name"] == name]
    row = min(queries.rows(store, alice.owner, shop, 100)[0], key=lambda each: each["rowKey"])
    path = f"/datasets/{ids.format_uuid(shop)}/rows/{row['id']}"
    revision = str(row["firstSeenRunId"] if case == "conflict" else row["revisionId"])
    token = alice.token("/")

    def tags(text: str) -> Tags:
        # Too long for a cell, so that it is refused as a text too.
        value = text if name != "title" or case == "conflict" else text + "x" * 32_768
        answer = alice.post(path, token, revision=revision, **{f"value-{field}": value})
        assert answer.status_code in {409, 422}
        return Tags(answer.text)

    expected = tags("harmless")
    for payload in ALL:
        given = tags(payload)
        assert given.schemes <= {"/", "#", "?", "h"}, payload
        # A long text is typed in another field than a short one.
        assert strange(given) == strange(expected), payload


def strange(page: Tags) -> list[tuple[str, tuple[str, ...]]]:
    return [tag for tag in page.tags if tag[0] not in {"input", "textarea"}]
