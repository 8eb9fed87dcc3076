"""A long ledger is read page by page, beside the shape that the interface gives it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from livedata.services import accounts
from livedata.store.database.store import Store
from tests.api.person import Person


def page(person: Person, query: str) -> tuple[list[Any], str | None]:
    """The entries of a page of the ledger, and what leads to the next one."""
    headers = {"Authorization": f"Bearer {person.key}"}
    answer = person.client.get(f"/v1/usage{query}", headers=headers)
    assert answer.json is not None
    assert answer.json.keys() == {"balance", "ledger"}
    link = re.fullmatch(r'</v1/usage(\?[^>]+)>; rel="next"', answer.headers.get("Link", ""))
    return answer.json["ledger"], link and link[1]


def test_a_link_leads_from_page_to_page(alice: Person, store: Store) -> None:
    for given in range(1, 6):
        accounts.grant(store, "alice", given)
    whole, more = page(alice, "")
    assert more is None
    assert [entry["credits"] for entry in whole[:5]] == [5, 4, 3, 2, 1]
    pages: list[list[Any]] = []
    query: str | None = "?limit=2"
    while query:
        entries, query = page(alice, query)
        pages.append(entries)
    assert [entry for entries in pages for entry in entries] == whole
    assert [len(entries) for entries in pages] == [2, 2, 2]


@pytest.mark.one_database
@pytest.mark.parametrize("query", ["?limit=0", "?limit=x", "?cursor=x", "?cursor=%00", "?a=b"])
def test_what_is_wrong_in_a_query_is_ignored_for_the_interface_has_no_400_here(
    alice: Person, query: str
) -> None:
    assert page(alice, query) == page(alice, "")
