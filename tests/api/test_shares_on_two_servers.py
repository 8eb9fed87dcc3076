"""A shared address is looked up in the store by each request, whichever server is asked."""

from __future__ import annotations

from http.client import HTTPConnection
from typing import TYPE_CHECKING

import pytest

from livedata.services import shares
from tests import made
from tests.api.serving import Serving

if TYPE_CHECKING:
    from pathlib import Path

    from livedata.store.database.store import Store

pytestmark = pytest.mark.slow


def test_a_revoked_address_is_dead_at_the_next_request_to_each_server(
    store: Store, tmp_path: Path
) -> None:
    (tmp_path / "config.toml").write_text(f'database_url = "{store.url}"\n')
    made.meet_owner(store, "alice", 100)
    dataset = made.make_dataset(store, "alice")
    made.take(store, dataset, owner="alice")
    share, token = shares.add(store, "alice", dataset, (), (), None)
    path = f"/share/{token}/shop.csv"
    with Serving(tmp_path) as one, Serving(tmp_path) as other:
        # Twice, so that whatever a server may keep of it is kept.
        assert [status(server, path) for server in (one, other, one, other)] == [200] * 4
        shares.revoke(store, "alice", share["id"])
        assert [status(server, path) for server in (one, other)] == [404] * 2


def status(server: Serving, path: str) -> int:
    connection: HTTPConnection = server.connect()
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    finally:
        connection.close()
