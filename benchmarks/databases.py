"""The databases that a benchmark runs on: SQLite and, if it is installed, PostgreSQL."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from livedata.store.database.store import Store
from tests.databases import Server, programs, running_server

SQLITE, POSTGRES = "SQLite", "PostgreSQL"
LEFT_OUT = "left out: it needs PostgreSQL in /usr/lib/postgresql or in PATH, and livedata[postgres]"


@dataclass(frozen=True)
class Made:
    """A home whose store is made, and may be copied to begin again."""

    name: str
    home: Path
    copied: Callable[[], str]
    """Makes a new copy of the store; its address."""

    @contextmanager
    def store(self) -> Iterator[Store]:
        """A copy of the store, which commands in the home use too."""
        with closing(Store(self.renewed())) as store:
            yield store

    def renewed(self) -> str:
        """The address of a new copy of the store, which commands in the home use too."""
        url = self.copied()
        self.name_store(url)
        return url

    def name_store(self, url: str) -> None:
        """Let commands in the home use the store at an address."""
        (self.home / "config.toml").write_text(f'database_url = "{url}"\n')


@contextmanager
def databases(fill: Callable[[Store], None]) -> Iterator[list[Made]]:
    """Stores that `fill` has filled alike: on SQLite and, if there is a server, on PostgreSQL."""
    with TemporaryDirectory(prefix="livedata-benchmarks-") as folder:
        root = Path(folder)
        (root / SQLITE).mkdir()
        made = [_on_sqlite(root / SQLITE, fill)]
        if not has_server():
            yield made
            return
        with running_server() as server:
            (root / POSTGRES).mkdir()
            yield [*made, _on_postgres(root / POSTGRES, server, fill)]


def has_server() -> bool:
    """Whether a PostgreSQL server can be started here, and used."""
    if find_spec("psycopg") is None:
        return False
    try:
        programs()
    except RuntimeError:
        return False
    return True


def _on_sqlite(home: Path, fill: Callable[[Store], None]) -> Made:
    filled, used = home / "filled.db", home / "livedata.db"
    with closing(Store(f"sqlite:///{filled}")) as store:
        fill(store)

    def copied() -> str:
        for file in home.glob("livedata.db*"):
            file.unlink()
        shutil.copyfile(filled, used)
        return f"sqlite:///{used}"

    return Made(SQLITE, home, copied)


def _on_postgres(home: Path, server: Server, fill: Callable[[Store], None]) -> Made:
    name = server.create()
    with closing(Store(server.url(name))) as store:
        fill(store)
    return Made(POSTGRES, home, lambda: server.url(server.create(f"TEMPLATE {name}")))
