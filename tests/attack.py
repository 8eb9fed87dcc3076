"""How long Alice waits beside each attack of Bob: ``python -m tests.attack [SECONDS [NAME]]``.

Both are owners of one server. Bob has made of his datasets what costs most, and asks for one page
or endpoint of it from many connections at once; Alice goes round through all of hers meanwhile.
"""

from __future__ import annotations

import multiprocessing
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from itertools import cycle, islice
from pathlib import Path
from statistics import median_low as median
from typing import NamedTuple

from msgspec.structs import replace

from livedata.model import ids
from livedata.model.harvest import PageSnapshot, StopReason
from livedata.model.row import Scalar
from livedata.services import accounts, attempts, queries, runs, shares
from livedata.services.commit import AcceptancePolicy
from livedata.services.notices import feeds
from livedata.services.pages import sessions
from livedata.store.database.store import Store
from tests import made
from tests.api.serving import Serving
from tests.browsing import addresses
from tests.browsing.world import World

CONNECTIONS = 20
ROWS, TEXTS, CHARACTERS = 1_000, 12, 1_200
"""Bob's table: nearly all that one Run may gather."""
LONG_ROWS, LONG_TEXTS, LONGEST = 45, 49, 32_768
"""A table of the longest texts: more than one page looks at."""
FEEDS, FEW = 6, 50
"""Bob's feeds, and the rows of each but the first: an entry shows half of them."""


TOGETHER = {
    "tables": ("table", "table as JSON", "search", "sort", "moved edits", "rows"),
    "changes": ("changes", "changes of a kind", "row", "feed", "document"),
    "Runs": ("held Run", "last rows of a held Run", "stopped Run", "diagnostics", "entity"),
    "feeds": ("feeds",),
    "an address of a feed": ("Atom",),
    "no owner": ("no key", "unknown key", "nowhere", "sign-in"),
    "bodies": ("deep body", "wrong body", "new Runs"),
    "shares": ("share", "her own share"),
    "long tables": ("long table", "long search", "long sort", "long changes"),
}
"""The attacks that are sent at once: each takes longer than its bound if one of them does."""


class Ask(NamedTuple):
    """A request."""

    path: str
    method: str = "GET"
    headers: Mapping[str, str] = {}
    body: bytes | None = None


class Attacked(NamedTuple):
    """What Alice asks for in turn, and by which name Bob asks for what."""

    alice: Sequence[Ask]
    attacks: Mapping[str, Sequence[Ask]]


def hostile(row: int, *, later: bool) -> str:
    """A text that shares half of its parts with the later one, each of one character."""
    return f"{row}" + (".," if later else "..") * ((CHARACTERS - 8) // 2)


def fill(home: Path) -> Attacked:
    """Make a store for both, and what each asks of it."""
    with closing(made.make_store(home)) as store:
        world = World(store, "alice")
        dataset = world.shop()
        alice = _signed(store, "alice")
        asked = [Ask(path, headers=alice) for path in _of(store, "alice", dataset)]
        return Attacked(asked, _attacks(store, ids.format_uuid(dataset)))


def _signed(store: Store, owner: str) -> dict[str, str]:
    """What shows the API and the pages who an owner is."""
    key = accounts.create_key(store, owner, None)["key"]
    token = sessions.sign_in(store, key)
    return {"Authorization": f"Bearer {key}", "Cookie": f"livedata={token}"}


def _of(store: Store, owner: str, dataset: ids.DatasetId) -> list[str]:
    """Each page and each endpoint of a dataset."""
    named = ids.format_uuid(dataset)
    row = queries.rows(store, owner, dataset, 1)[0][0]["id"]
    # The page of edits without a row leads to this one.
    of_it = ["?edit=rows" if more == "/edits" else more for more in addresses.OF_A_DATASET]
    pages = [f"/datasets/{named}{more}" for more in (*of_it, f"/rows/{row}")]
    with store.reading() as reader:
        runs = reader.rows(
            "SELECT id FROM runs WHERE dataset_id = :it ORDER BY queued_at", it=dataset
        )
    run_ids = [ids.format_uuid(run) for (run,) in runs]
    return [
        *(*addresses.ALONE, "/sign-in", "/v1/datasets", "/v1/usage", "/healthz"),
        *pages,
        *(f"/datasets/{named}?search=e&sort=rowKey", f"/datasets/{named}/changes?kind=missing"),
        *(f"/v1/datasets/{named}{more}" for more in ("", "/rows", "/changes", "/runs")),
        f"/v1/datasets/{named}/rows/{row}",
        *(f"/runs/{run}" for run in run_ids),
        *(
            f"/v1/runs/{run}{more}"
            for run in run_ids[-2:]
            for more in ("", "/trace", "/diagnostics")
        ),
    ]


def _attacks(store: Store, hers: str) -> dict[str, Sequence[Ask]]:
    made.meet_owner(store, "bob", 100_000)
    dataset, row = _table(store)
    held, stopped = _held(store, dataset), _stopped(store)
    bob, named = _signed(store, "bob"), ids.format_uuid(dataset)
    feed = _feed(store, dataset)
    long = ids.format_uuid(_long(store))
    column = queries.dataset(store, "bob", dataset)["columns"][1]["id"]
    paths = {
        "table": f"/datasets/{named}",
        "table as JSON": f"/datasets/{named}?as=json",
        "search": f"/datasets/{named}?search={'.' * 150}x",
        "sort": f"/datasets/{named}?sort={column}&order=down",
        "moved edits": f"/datasets/{named}?only=stale",
        "changes": f"/datasets/{named}/changes",
        "changes of a kind": f"/datasets/{named}/changes?kind=missing",
        "long table": f"/datasets/{long}",
        "long search": f"/datasets/{long}?search={'x' * 49}y{'x' * 49}",
        "long sort": f"/datasets/{long}?sort=rowKey",
        "long changes": f"/datasets/{long}/changes?kind=missing",
        "row": f"/datasets/{named}/rows/{row}",
        "held Run": f"/runs/{held}",
        "last rows of a held Run": f"/runs/{held}?after=900",
        "stopped Run": f"/runs/{stopped}",
        "rows": f"/v1/datasets/{named}/rows?limit=500",
        "feed": f"/v1/datasets/{named}/changes?limit=100",
        "diagnostics": f"/v1/runs/{stopped}/diagnostics",
        "entity": f"/v1/runs/{held}/diagnostics?entity={'.' * 200}",
        "document": "/v1/openapi.json",
    }
    deep = b"[" * 500_000 + b"]" * 500_000
    unknown = {"Authorization": "Bearer ld_" + "0" * 64}
    long_list = b'{"name": "x", "columns": [' + b",".join([b'{"nam": 1}'] * 80_000) + b"]}"
    single = {
        **{name: Ask(path, headers=bob) for name, path in paths.items()},
        "Atom": Ask(feed),
        "share": Ask(f"/share/{_share(store, 'bob', long)}/table.csv"),
        "her own share": Ask(f"/share/{_share(store, 'alice', hers)}/table.xlsx"),
        "no key": Ask("/v1/datasets"),
        "unknown key": Ask("/v1/datasets", headers=unknown),
        "nowhere": Ask("/nowhere"),
        "deep body": Ask("/v1/datasets", "POST", {**bob, **_JSON}, deep),
        "wrong body": Ask("/v1/datasets", "POST", {**bob, **_JSON}, long_list),
        "new Runs": Ask(f"/v1/datasets/{named}/runs", "POST", bob),
        "sign-in": Ask("/sign-in", "POST", _FORM, b"key=" + b"x" * 60_000),
    }
    many = [
        feed,
        *(_feed(store, _table(store, f"texts {number}", FEW)[0]) for number in range(FEEDS - 1)),
    ]
    return {**{name: (ask,) for name, ask in single.items()}, "feeds": [*map(Ask, many)]}


def _share(store: Store, owner: str, dataset: str) -> str:
    """The token of an address of a table."""
    _, token = shares.add(store, owner, ids.DatasetId(ids.raw_id(dataset)), (), (), None)
    return token


def _feed(store: Store, dataset: ids.DatasetId) -> str:
    """The address of a feed of Bob's."""
    return feeds.addresses("", dataset, feeds.open_feed(store, "bob", dataset))["atom"]


_JSON = {"Content-Type": "application/json"}
_FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def _items(count: int, *, later: bool) -> list[dict[str, Scalar]]:
    texts = [f"t{number}" for number in range(TEXTS)]
    return [
        {"sku": f"K{row}", **dict.fromkeys(texts, hostile(row, later=later))}
        for row in range(count)
    ]


def _table(store: Store, name: str = "texts", rows: int = ROWS) -> tuple[ids.DatasetId, str]:
    """A table of long texts that all have changed once; its id, and that of a row."""
    texts = [{"name": f"t{number}", "type": "string"} for number in range(TEXTS)]
    dataset = made.make_dataset(store, "bob", name, [made.COLUMNS[0], *texts])
    for later in (False, True):
        made.take(store, dataset, _items(rows, later=later), owner="bob")
    return dataset, queries.rows(store, "bob", dataset, 1)[0][0]["id"]


def _long(store: Store) -> ids.DatasetId:
    """A table of as many texts as a row may have, each as long as it may be."""
    texts = [f"t{number}" for number in range(LONG_TEXTS)]
    columns = [{"name": name, "type": "string"} for name in texts]
    dataset = made.make_dataset(store, "bob", "long", [made.COLUMNS[0], *columns])
    items = [{"sku": f"K{row}", **dict.fromkeys(texts, "x" * LONGEST)} for row in range(LONG_ROWS)]
    made.take(store, dataset, items, owner="bob")
    return dataset


def _held(store: Store, dataset: ids.DatasetId) -> str:
    """A Run that is held and would change all texts again, and delete rows."""
    return made.take(store, dataset, _items(ROWS * 2 // 5, later=False), owner="bob")


def _stopped(store: Store) -> str:
    """A Run that was stopped by a page made to be hard to explain."""
    dataset = made.make_dataset(store, "bob", "stopped", made.COLUMNS)
    items: list[dict[str, Scalar]] = [
        {"sku": f"K{row}", "title": f"Lamp {row} {'w ' * 20}", "price": row, "stock": True}
        for row in range(500)
    ]
    made.take(store, dataset, items, owner="bob")
    queued, _ = runs.enqueue(store, "bob", dataset)
    attempt = attempts.begin(store, ids.RunId(ids.raw_id(queued)))
    assert attempt is not None
    # Each cell of the row spans a thousand rows and columns of others.
    body = b"<table><tr>" + b"<td colspan=1000 rowspan=1000><i>K1</i> Lamp 1 w w" * 1_000
    page = PageSnapshot(1, made.URL, made.URL, 200, "Shop", body, cut=False)
    read = made.harvest(attempt.recipe, [], StopReason("natural_end"))
    attempts.finish(store, attempt, replace(read, seen=[page]), AcceptancePolicy())
    return queued


def send(connection: HTTPConnection, ask: Ask) -> int:
    """The status of the answer to a request, once it is read."""
    connection.request(ask.method, ask.path, ask.body, dict(ask.headers))
    answer = connection.getresponse()
    while answer.read(1 << 20):
        pass
    return answer.status


@contextmanager
def flood(port: int, asks: Sequence[Ask], connections: int = CONNECTIONS) -> Iterator[None]:
    """Send requests again and again from many connections of another process."""
    process = multiprocessing.get_context("fork").Process(
        target=_flood, args=(port, asks, connections), daemon=True
    )
    process.start()
    try:
        yield
    finally:
        process.kill()
        process.join()


def _flood(port: int, asks: Sequence[Ask], connections: int) -> None:
    def forever(ask: Ask) -> None:
        while True:
            with suppress(OSError, HTTPException):
                connection = HTTPConnection("127.0.0.1", port, timeout=60)
                while True:
                    send(connection, ask)

    going = islice(cycle(asks), connections)
    threads = [threading.Thread(target=forever, args=(ask,), daemon=True) for ask in going]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def waits(port: int, asked: Sequence[Ask], seconds: float) -> list[tuple[float, str]]:
    """How long each request took, one after the other, with its path."""
    taken: list[tuple[float, str]] = []
    end = time.monotonic() + seconds
    while not taken or time.monotonic() < end:
        for ask in asked:
            connection = HTTPConnection("127.0.0.1", port, timeout=600)
            began = time.monotonic()
            status = send(connection, ask)
            taken.append((time.monotonic() - began, f"{status} {ask.path}"))
            connection.close()
    return taken


def percentile(taken: Sequence[tuple[float, str]], share: float = 0.99) -> tuple[float, str]:
    """What so large a share took at most."""
    return sorted(taken)[min(len(taken) - 1, int(len(taken) * share))]


def settle(port: int, asks: Sequence[Ask]) -> None:
    """Wait until what an attack has left behind is answered."""
    # Those of one owner are answered in their order.
    waits(port, asks, 0)


def main(seconds: float, only: str | None) -> None:
    """Print what Alice waits for, attack by attack."""
    with tempfile.TemporaryDirectory() as home:
        attacked = fill(Path(home))
        attacks = {name: asks for name, asks in attacked.attacks.items() if only in {None, name}}
        with Serving(Path(home)) as serving:
            waits(serving.port, attacked.alice, 0)  # once, so that all is imported
            _say(f"alone: p99 {percentile(waits(serving.port, attacked.alice, 1))[0]:.3f} s")
            alone = {name: waits(serving.port, asks, 0)[0] for name, asks in attacks.items()}
            for name, asks in attacks.items():
                with flood(serving.port, asks):
                    time.sleep(0.5)
                    taken = waits(serving.port, attacked.alice, seconds)
                slowest, where = percentile(taken)
                _say(
                    f"{name:24} {alone[name][1][:3]} {alone[name][0]:6.3f} s; "
                    f"alice: {len(taken):4} requests, median {median(taken)[0]:.3f} s, "
                    f"p99 {slowest:.3f} s ({where[:40]})"
                )
                settle(serving.port, asks)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 5, sys.argv[2] if len(sys.argv) > 2 else None)
