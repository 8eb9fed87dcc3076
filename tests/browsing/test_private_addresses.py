"""No form makes the server, or its workers, ask a private place for anything."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Final

from livedata.services import looks
from tests.browsing.test_preview import Shop, source_of
from tests.runs.test_private_places import ELSEWHERE, LOOPBACK
from tests.site import Forbidden

if TYPE_CHECKING:
    from collections.abc import Iterator

    from livedata.store.database.store import Store
    from tests.browsing.visitor import Visitor

WAYS: Final = (
    "http://{host}:{port}/list",
    "https://{host}:{port}/",
    "HTTP://{host}:{port}",
    "http://{host}/",
    " http://{host}:{port}/list#rows ",
    "{host}:{port}/list",
)


def private(port: str) -> Iterator[str]:
    """Addresses of private places, written in all the ways that people and programs write them."""
    for way, host in product(WAYS, (*LOOPBACK, *ELSEWHERE)):
        yield way.format(host=host, port=port)


def test_an_address_of_a_private_place_is_refused_and_nobody_asks_it(
    alice: Visitor, store: Store
) -> None:
    token = alice.token("/new")
    with Forbidden() as forbidden:
        addresses = [*private(forbidden.host.rpartition(":")[2])]
        assert len(set(addresses)) >= 231
        for address in addresses:
            answer = alice.post("/new", token, url=address)
            assert answer.status_code == 422, address
            assert 'role="alert"' in answer.text
        assert looks.kept(store, alice.owner) == []
        assert forbidden.hits == 0


def test_a_source_that_is_previewed_or_revised_reaches_none_either(
    alice: Visitor, store: Store
) -> None:
    lamps = Shop(alice, store)
    token, text, version = alice.token("/"), source_of(alice, lamps), str(lamps.version)
    with Forbidden() as forbidden:
        for address in private(forbidden.host.rpartition(":")[2]):
            typed = text.replace('"https://shop.example/list"', f'"{address.strip()}"')
            assert typed != text
            for path in (lamps.preview, f"{lamps.path}/source"):
                assert alice.post(path, token, source=typed, version=version).status_code == 422
        assert forbidden.hits == 0
    assert lamps.version == int(version)
