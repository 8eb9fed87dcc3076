"""A store that many use at once for a while: nobody waits in vain, and no log grows for ever.

python -m tests.soak        # 60 s; exit code 1 if anything is wrong
python -m tests.soak 300    # so many seconds

Two followers, a loop of Runs, an editor, a backup every five seconds, and checkpoints: each is a
thread with connections of its own. None of them tries again: an error of the store is one that a
person would have seen, who waits for a lock as long as livedata does.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread

import click

from livedata.messages.validation import read
from livedata.model import ids
from livedata.model.errors import RevisionConflict
from livedata.model.requests import EditRow
from livedata.services import feed, queries, rows
from livedata.services.audit.check import check_store
from livedata.store.database.store import Store
from tests.made import ITEMS, make_dataset, make_store, take

LONGEST_WAIT = 5.0
LARGEST_LOG = 64 << 20
BACKUP_EVERY = 5.0
"""The seconds between two backups."""


@dataclass
class Soak:
    """What many do at once with one store, and what came of it."""

    store: Store
    folder: Path
    backup_every: float = BACKUP_EVERY
    done: Counter[str] = field(default_factory=Counter)
    longest: dict[str, float] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    outdated: int = 0
    log_size: int = 0
    _ended: Event = field(default_factory=Event)

    def run(self, seconds: float) -> None:
        """Let all of them use the store for so long, and judge it."""
        self._dataset = make_dataset(self.store)
        take(self.store, self._dataset)
        self._note = next(
            column["id"]
            for column in queries.dataset(self.store, "local", self._dataset)["columns"]
            if column["name"] == "note"
        )
        self._prices, self._edits, self._copies = count(1), count(1), count(1)
        threads = [Thread(target=self._again_and_again, args=pair) for pair in self._acts()]
        for thread in threads:
            thread.start()
        self._ended.wait(seconds)
        self._ended.set()
        for thread in threads:
            thread.join()
        self._judge()

    def lines(self) -> Iterator[str]:
        """What a person wants to know."""
        for name, number in sorted(self.done.items()):
            yield f"{number:6} x {name}, the longest took {self.longest[name]:.2f} s"
        yield f"{self.outdated} edits met another revision, and were refused"
        yield f"the -wal file has {self.log_size / (1 << 20):.1f} MiB at the end"
        yield from self.wrong or ["nobody waited in vain; the store and its copies are sound"]

    def _acts(self) -> Sequence[tuple[str, Callable[[Store], object]]]:
        follow = ("follow", self._follow)
        acts = (self._take, self._edit, self._copy, self._shrink)
        return [follow, follow, *((act.__name__.strip("_"), act) for act in acts)]

    def _again_and_again(self, name: str, act: Callable[[Store], object]) -> None:
        with closing(Store(self.store.url)) as own:
            while not (self._ended.is_set() or self.wrong):
                began = time.monotonic()
                try:
                    act(own)
                except Exception as error:  # noqa: BLE001  (each is told)
                    self.wrong.append(f"{name}: {error!r}")
                took = time.monotonic() - began
                self.done[name] += 1
                self.longest[name] = max(took, self.longest.get(name, 0))
                if name == "copy":
                    self._ended.wait(self.backup_every)

    def _follow(self, own: Store) -> None:
        feed.changes(own, "local", self._dataset, limit=100)

    def _take(self, own: Store) -> None:
        price = next(self._prices)
        take(own, self._dataset, [{**item, "price": price} for item in ITEMS])

    def _edit(self, own: Store) -> None:
        row = next(iter(queries.every_row(own, "local", self._dataset)))
        body: Mapping[str, object] = {
            "expectedRevisionId": row["revisionId"],
            "requestId": f"soak {next(self._edits)}",
            "values": {self._note: f"note {time.monotonic()}"},
        }
        wanted = read(EditRow, dict(body)).row_edit()
        row_id = ids.RowId(ids.raw_id(row["id"]))
        try:
            rows.edit(own, "local", self._dataset, row_id, wanted, None)
        except RevisionConflict:
            self.outdated += 1  # a Run was faster, which is no fault

    def _copy(self, own: Store) -> None:
        file = self.folder / f"copy{next(self._copies)}.db"
        file.touch()
        own.copy(file)

    def _shrink(self, own: Store) -> None:
        own.shrink()

    def _judge(self) -> None:
        """Note what is wrong with the store and its last copy."""
        self.log_size = Path(f"{self.store.place}-wal").stat().st_size
        if self.log_size > LARGEST_LOG:
            self.wrong.append("the -wal file is larger than 64 MiB")
        self.wrong += [
            f"{name} took {took:.1f} s"
            for name, took in self.longest.items()
            if took > LONGEST_WAIT
        ]
        last = max(self.folder.glob("copy*.db"), key=lambda file: file.stat().st_mtime_ns)
        for url in (self.store.url, f"sqlite:///{last}"):
            with closing(Store(url)) as judged:
                self.wrong += check_store(judged).problems


def main(words: Sequence[str]) -> bool:
    """Print what was seen; whether anything is wrong."""
    with TemporaryDirectory() as folder, closing(make_store(Path(folder))) as store:
        soak = Soak(store, Path(folder))
        soak.run(float(*words or ("60",)))
        for line in soak.lines():
            click.echo(line)
    return bool(soak.wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
