"""The place of a benchmark: a folder of its own, the served shop, and stores of livedata."""

from __future__ import annotations

import argparse
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import shop
from benchmarks.pair import ROOT, Command, compiled, once

STORE = "livedata.db"
SPIDER = ROOT / "benchmarks" / "spider.py"


def program(name: str) -> Path:
    """The path of a command in the environment of the benchmarks. Raises SystemExit without it."""
    path = Path(sys.executable).with_name(name)
    if not path.exists():
        raise SystemExit(f"{path} is missing; pip install -e '.[bench]' brings it.")
    return path


def argument_parser(description: str | None, n: int = 11) -> argparse.ArgumentParser:
    """A parser with the options that every benchmark has."""
    parser = argparse.ArgumentParser(description=(description or "").splitlines()[0])
    parser.add_argument("-n", type=int, default=n, help=f"how many pairs are measured ({n})")
    return parser


@dataclass(frozen=True)
class Stage:
    """A folder with a served shop, and a home in which livedata runs."""

    folder: Path
    served: shop.Served

    @property
    def home(self) -> Path:
        """The home of the commands of :meth:`livedata`."""
        return self.folder / "home"

    @cached_property
    def empty(self) -> Path:
        """A store whose dataset reads the shop, before its first Run."""
        source = self.folder / "source.toml"
        source.write_text(shop.declaration(self.served.origin))
        self.home.mkdir(exist_ok=True)
        (self.home / STORE).unlink(missing_ok=True)
        # Kept as a file: each measured Run begins with a copy, so all begin alike.
        once(self.livedata("dataset", "create", source))
        return self._keep("empty.db")

    @cached_property
    def full(self) -> Path:
        """A store after one Run of the shop."""
        self.put(self.empty)
        once(self.livedata("run", "shop"))
        self.expect(shop.PAGES * shop.PER_PAGE, 0, 0)
        return self._keep("full.db")

    def put(self, store: Path) -> None:
        """Put a copy of a store into the home."""
        shutil.copyfile(store, self.home / STORE)

    def livedata(
        self, *args: str | Path, before: Callable[[], None] = lambda: None, exits: int = 0
    ) -> Command:
        """A command of livedata that works on the home."""
        env: Mapping[str, str] = {
            "LIVEDATA_HOME": str(self.home),
            # The shop is on loopback, which no source may name otherwise.
            "LIVEDATA_ALLOW_HOSTS": self.served.host,
        }
        return Command((program("livedata"), *args), before, env, exits)

    def expect(self, new: int, changed: int, gone: int) -> None:
        """Assert that the last Run succeeded with these changes."""
        # The figure of a Run that did no work would be a very good one.
        with sqlite3.connect(self.home / STORE) as store:
            outcome = store.execute(
                "SELECT status, new_rows, changed_rows, gone_rows FROM runs "
                "ORDER BY queued_at DESC LIMIT 1"
            ).fetchone()
        store.close()
        assert outcome == ("succeeded", new, changed, gone), outcome

    def _keep(self, name: str) -> Path:
        copy = self.folder / name
        shutil.copyfile(self.home / STORE, copy)
        return copy


@contextmanager
def stage(delay: float = 0.0) -> Iterator[Stage]:
    """Set up a stage for the block, with all packages compiled."""
    compiled()
    with TemporaryDirectory(prefix="livedata-benchmarks-") as folder, shop.serve(delay) as served:
        yield Stage(Path(folder), served)
