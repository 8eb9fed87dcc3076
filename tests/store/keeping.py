"""A store of each version that was released is kept here, with what it answers.

python -m tests.store.keeping VERSION

fills a store of the livedata at hand on each database, and writes it below `kept`: do so before a
release, and never again for the same version. A later livedata migrates such a store, and its
answers are what they were.
"""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from livedata.api import create_app
from livedata.messages.validation import read
from livedata.model import ids
from livedata.model.harvest import Harvest, PageFailure, StopReason
from livedata.model.ids import DatasetId, Micros, RunId
from livedata.model.problem import Problem
from livedata.model.requests import UpdateDataset
from livedata.model.research.settings import ResearchSettings
from livedata.pages import add_pages
from livedata.rules.network.targets import TargetPolicy
from livedata.services import accounts, attempts, datasets, feed, runs, scheduler
from livedata.services.archive import export_archive, import_archive
from livedata.services.archive_container import open_archive
from livedata.services.notices import delivering, feeds
from livedata.services.pages import sessions
from livedata.services.research import days
from livedata.store.database.store import Store
from tests import made
from tests.browsing.world import World
from tests.cli.shell import Shell
from tests.databases import POSTGRES, SQLITE, Server, everything, programs, running_server
from tests.notices.conftest import add_notice
from tests.services.research_table import ACME, BOLT, ResearchTable
from tests.services.researched import make_run
from tests.services.table import A, B, C, Table

if TYPE_CHECKING:
    from flask.testing import FlaskClient

KEPT = Path(__file__).parent / "kept"
FAILED = Problem("notice.status", {"status": 500})
PAID = ResearchSettings(model="scripted", research_tokens_a_day=10_000, research_usd_a_day=2.0)
DAY = 86_400_000_000
COMMANDS = (
    "dataset list",
    "dataset show shop",
    "dataset source shop",
    "dataset show makers",
    "rows list shop",
    "rows list makers",
    "changes shop",
    "changes history",
    "runs list shop",
    "runs list makers",
    "key list",
    "notice list",
    "usage",
    "check",
)
"""What is asked of a store on the command line, with --json where a command has it."""
PLAIN = {"check", "dataset source shop"}
# What pg_dump sets for its own session, or what only some versions of a server know.
_OF_THE_SESSION = re.compile(
    r"^(SET (?!check_function_bodies)|SELECT pg_catalog\.set_config|\\|--)"
)


class Kept:
    """The files of a version on a database, and how a store is made of them again."""

    def __init__(self, version: str, database: str) -> None:
        self.database = database
        name = f"{version}-{database}"
        self.store = KEPT / f"{name}.{'db' if database == SQLITE else 'sql'}.gz"
        self.answers = KEPT / f"{name}.json.gz"

    def restore(self, home: Path, server: Callable[[], Server]) -> str:
        """Make the store again, where commands with this home find it; its address."""
        content = gzip.decompress(self.store.read_bytes())
        if self.database == SQLITE:
            (home / "livedata.db").write_bytes(content)
            return made.store_in(home)
        url = server().url(server().create())
        _say(url, content.decode())
        (home / "config.toml").write_text(f'database_url = "{url}"\n')
        return url

    def told(self) -> dict[str, Any]:
        """What the store answered, the moment, and the secrets that open it."""
        told: dict[str, Any] = orjson.loads(gzip.decompress(self.answers.read_bytes()))
        return told


def _say(url: str, statements: str) -> None:
    import psycopg

    with psycopg.connect(url, autocommit=True) as driver:
        driver.execute(statements.encode())


def fill(store: Store) -> dict[str, str]:
    """Put one of each thing into a store of `local`; the secrets that open it."""
    made.meet_owner(store, "local", 100_000)
    world = World(store)
    world.fill()
    key = accounts.create_key(store, "local", "reader")
    accounts.revoke_key(store, accounts.create_key(store, "local", "old")["id"])
    accounts.used_key(store, ids.KeyId(ids.raw_id(key["id"])), ids.now())
    accounts.grant(store, "local", 500, "a gift")
    shop = named(store, "shop")
    feed.keep_cursor(store, shop, "reader", 3)
    feeds.open_feed(store, "local", shop)
    _notices(store)
    _history(store, ids.KeyId(ids.raw_id(key["id"])))
    _import(store)
    _research(store)
    _schedules(store)
    sessions.make_link(store, "local")
    return {"key": key["key"], "session": sessions.sign_in(store, key["key"]) or ""}


def named(store: Store, name: str) -> DatasetId:
    """The dataset of a name."""
    with store.reading() as reader:
        return DatasetId(reader.value("SELECT id FROM datasets WHERE name = :name", name=name))


def _notices(store: Store) -> None:
    """A notice that was told, one that fails, one that was given up, and one that gathers."""
    table = Table(store, made.declared("told"))
    add_notice(store, "daily", kinds=["changes"], digest="0 7 * * *")
    add_notice(store, "fails", channel="webhook", target="https://hook.example/x")
    for name in ("told", "given-up"):
        add_notice(store, name, datasets=[table.id])
    for price in (1, 2, 3):
        table.take({**A, "price": price})
    while (delivery := delivering.take(store)) is not None:
        if delivery.notice.name == "told":
            delivering.succeeded(store, delivery)
        else:
            delivering.failed(store, delivery, FAILED)
    add_notice(store, "removed")


def _history(store: Store, key: ids.KeyId) -> None:
    """A dataset whose rows were edited, went and came again, and gained a column."""
    table = Table(store, made.declared("history"))
    table.take(A, B, C)
    table.add_column("more")
    table.edit("B2", {"more": "mine", "price": 1.0})
    row = table.rows()["A1"]
    body = {"expectedRevisionId": row["revisionId"], "requestId": "by a key"}
    table.send(row["id"], {**body, "values": {table.fields["title"]: 'Lämp "x" 😀'}}, key)
    table.take({**A, "title": "Other"}, {"sku": "D4", "title": "New", "price": 1e15})
    table.edit("B2", reset=["price"])
    table.take(A, B, C)
    table.take(A, B)
    failure = PageFailure(1, made.URL, "http_error", 500, "https://shop.example", made.BROKEN)
    broken = Harvest([], StopReason("page_failed", made.BROKEN), failure, attempts=3)
    table.finish(table.begin(), broken)
    runs.cancel(store, _queued(store, table.id))
    # Somebody else waits at the site, and comes next when this one has ended.
    runs.enqueue(store, "other", made.make_dataset(store, "other"))
    attempts.begin(store, _queued(store, table.id, "a key of idempotency"))


def _import(store: Store) -> None:
    """A dataset that another store had."""
    with tempfile.TemporaryDirectory() as folder, closing(made.make_store(Path(folder))) as other:
        moved = made.make_dataset(other, name="moved")
        made.take(other, moved)
        file = Path(folder) / "moved.zip"
        export_archive(other, "local", moved, file)
        with open_archive(file) as archive:
            import_archive(store, "local", archive, TargetPolicy())


def _queued(store: Store, dataset: DatasetId, name: str | None = None) -> RunId:
    return RunId(ids.raw_id(runs.enqueue(store, "local", dataset, name)[0]))


def _research(store: Store) -> None:
    """Datasets of research: planned, with a day that is used up in part, and not yet planned."""
    table = ResearchTable(store, name="searched")
    make_run(table)
    table.edit("Acme", "City", "Geneva")
    table.take({"Acme": ACME}, gone=["Bolt"])
    table.take({"Acme": {**ACME, "Founded": "2001"}, "Bolt": BOLT}, pages=2)
    ResearchTable(store, name="unplanned", planned=False)
    kept = days.set_aside(store, "local", PAID, 500, 0.5)
    assert isinstance(kept, days.SetAside)
    days.settle(store, kept, 400, 0.25)


def _schedules(store: Store) -> None:
    """A dataset with a schedule whose fire was skipped, and one that is paused."""
    hourly = Table(store, made.declared("hourly"))
    _queued(store, hourly.id)
    for dataset, status in ((hourly.id, "active"), (named(store, "told"), "paused")):
        wanted = read(UpdateDataset, {"status": status, "schedule": "30 * * * *"})
        datasets.update(store, "local", dataset, wanted)
    with store.writing() as writer:
        then = ids.now() - 2 * 3_600_000_000
        writer.execute(
            "UPDATE datasets SET next_run_at = :then WHERE id = :id", then=then, id=hourly.id
        )
    list(scheduler.tick(store, "UTC"))


def answers(store: Store, home: Path, secrets: Mapping[str, str]) -> dict[str, Any]:
    """What the API, the command line and the pages answer of a store, by what was asked."""
    application = create_app(store)
    add_pages(application)
    client = application.test_client()
    told = dict(_by_api(client, {"Authorization": f"Bearer {secrets['key']}"}))
    client.set_cookie("livedata", secrets["session"])
    runs_pages = [asked for asked in told if re.fullmatch("/runs/[^/]+", asked)]
    for path in ("/", "/usage", *runs_pages):
        told[f"the page {path}"] = page = client.get(f"{path}?as=json").get_json()
        if page and page.get("held"):
            # PostgreSQL names the rows that would be gone in any order.
            page["held"]["rows"].sort(key=str)
    for command in COMMANDS:
        words = command.split() + ([] if command in PLAIN else ["--json"])
        result = Shell(home).raw(*words)
        told[command] = {"code": result.exit_code, "stdout": _parsed(result.stdout)}
    return told


def _by_api(client: FlaskClient, headers: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    def get(path: str) -> Any:
        answer = client.get(f"/v1{path}", headers=headers)
        return {"status": answer.status_code, "body": answer.get_json()}

    listed = get("/datasets?limit=100")
    yield from (("/datasets?limit=100", listed), ("/usage", get("/usage")))
    for dataset in listed["body"]["data"]:
        path = f"/datasets/{dataset['id']}"
        for part in ("", "/rows?limit=100", "/changes?limit=100", "/runs?limit=100"):
            yield path + part, get(path + part)
        for row in get(f"{path}/rows?limit=3")["body"]["data"]:
            yield f"{path}/rows/{row['id']}", get(f"{path}/rows/{row['id']}")
        for run in get(f"{path}/runs?limit=100")["body"]["data"]:
            for part in ("", "/diagnostics", "/trace", "/artifacts"):
                yield f"/runs/{run['id']}{part}", get(f"/runs/{run['id']}{part}")


def _parsed(text: str) -> Any:
    """Text as one value of JSON, as one a line, or as plain lines."""
    for parse in (orjson.loads, lambda text: [orjson.loads(line) for line in text.splitlines()]):
        with suppress(orjson.JSONDecodeError):
            return parse(text)
    return text.splitlines()


def keep(version: str, database: str, server: Server | None) -> None:
    """Fill a store on a database, and write it with what it answers."""
    kept = Kept(version, database)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        url = made.store_in(home)
        if server is not None:
            url = server.url(server.create())
            (home / "config.toml").write_text(f'database_url = "{url}"\n')
        with closing(Store(url)) as store:
            secrets = fill(store)
            lacking = [table for table, rows in everything(store).items() if not rows]
            assert lacking == [], f"a kept store has something in each table, but not in {lacking}"
            moment = ids.now()
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(ids, "now", lambda: Micros(moment))
                told = {**secrets, "moment": moment, "answers": answers(store, home, secrets)}
            if server is None:
                store.copy(home / "copy.db")
        content = (home / "copy.db").read_bytes() if server is None else _dump(url)
    KEPT.mkdir(exist_ok=True)
    # Without the moment of packing, so that the same store makes the same file.
    kept.store.write_bytes(gzip.compress(content, mtime=0))
    kept.answers.write_bytes(gzip.compress(orjson.dumps(told), mtime=0))


def _dump(url: str) -> bytes:
    command = [str(programs() / "pg_dump"), "--inserts", "--no-owner", "--no-privileges", url]
    dump = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    lines = (line for line in dump.splitlines() if not _OF_THE_SESSION.match(line))
    return "\n".join(lines).encode()


def main() -> None:
    """Keep a store of each database."""
    (version,) = sys.argv[1:]
    keep(version, SQLITE, None)
    with running_server() as server:
        keep(version, POSTGRES, server)


if __name__ == "__main__":
    main()
