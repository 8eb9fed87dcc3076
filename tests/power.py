"""A disk that loses power: which of the last writes it had kept is left to chance.

What a store says to its file is said again through a layer that notes every write and every sync.
After each of them the power may fail: what was synced is there, and of all other writes a random
half. `Outage` is such a file, with the commits that somebody was told of before.
"""

from __future__ import annotations

import random
import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw
from typing_extensions import override

from livedata.store.tables import metadata

State = dict[str, list[tuple[Any, ...]]]


@contextmanager
def noted() -> Iterator[list[list[str]]]:
    """What is said to files meanwhile: the statements of each connection."""
    statements: list[list[str]] = []
    connect = sqlite3.connect

    def noting(*args: Any, **kwargs: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*args, **kwargs)
        statements.append([])
        connection.set_trace_callback(statements[-1].append)
        return connection

    sqlite3.connect = noting  # type: ignore[assignment]
    try:
        yield statements
    finally:
        sqlite3.connect = connect


@dataclass(frozen=True)
class Write:
    """A write that is not safe before the next sync; `data` is None for a file that is cut."""

    offset: int
    data: bytes | None

    def to(self, content: bytearray) -> None:
        """Write to the content of a file."""
        if self.data is None:
            del content[self.offset :]
            return
        content.extend(bytes(max(0, self.offset - len(content))))
        content[self.offset : self.offset + len(self.data)] = self.data


class Disk:
    """Files by their suffixes: what is safe, and what was written since."""

    def __init__(self, store: Path) -> None:
        self.safe = defaultdict[str, bytearray](bytearray, {"": bytearray(store.read_bytes())})
        self.unsafe = defaultdict[str, list[Write]](list)
        self.told = 0
        """The commits that somebody was told of."""
        self.outages: list[Outage] = []
        self._chance = random.Random(1)  # the same outages each time

    def write(self, suffix: str, write: Write) -> None:
        """Write, perhaps for the last time."""
        self.unsafe[suffix].append(write)
        self._fail()

    def sync(self, suffix: str) -> None:
        """Make all that was written safe."""
        for write in self.unsafe.pop(suffix, []):
            write.to(self.safe[suffix])
        self._fail()

    def _fail(self) -> None:
        files = {suffix: bytearray(content) for suffix, content in self.safe.items()}
        for suffix, writes in self.unsafe.items():
            for write in writes:
                if self._chance.random() < 0.5:
                    write.to(files.setdefault(suffix, bytearray()))
        self.outages.append(Outage(files, self.told))


@dataclass(frozen=True)
class Outage:
    """What is on the disk when the power comes back, and how many commits were told before."""

    files: dict[str, bytearray]
    told: int

    def state(self, path: Path) -> State:
        """What the store has in a folder of its own."""
        for suffix in ("", "-wal", "-shm"):
            Path(f"{path}{suffix}").unlink(missing_ok=True)
        for suffix, content in self.files.items():
            Path(f"{path}{suffix}").write_bytes(content)
        with closing(sqlite3.connect(path)) as driver:
            assert driver.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            return _state(driver)


class _Layer(apsw.VFS):
    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        super().__init__("noted", "")

    @override
    def xOpen(self, name: Any, flags: list[int]) -> _File:
        return _File(self._disk, name, flags)


class _File(apsw.VFSFile):
    def __init__(self, disk: Disk, name: Any, flags: list[int]) -> None:
        self._disk = disk
        path = name.filename() if isinstance(name, apsw.URIFilename) else str(name)
        self._suffix = path.partition(".db")[2]
        super().__init__("", name, flags)

    @override
    def xWrite(self, data: bytes, offset: int) -> None:
        super().xWrite(data, offset)
        self._disk.write(self._suffix, Write(offset, bytes(data)))

    @override
    def xTruncate(self, size: int) -> None:
        super().xTruncate(size)
        self._disk.write(self._suffix, Write(size, None))

    @override
    def xSync(self, flags: int) -> None:
        super().xSync(flags)
        self._disk.sync(self._suffix)


def say_again(store: Path, statements: Sequence[str]) -> tuple[list[State], list[Outage]]:
    """Say all that to a store: its state after each commit, and an outage at every write."""
    disk = Disk(store)
    layer = _Layer(disk)
    states = []
    with closing(apsw.Connection(str(store), vfs="noted")) as driver:
        states.append(_state(driver))
        for statement in statements:
            driver.execute(statement)
            if statement == "COMMIT":
                states.append(_state(driver))
                disk.told += 1
    layer.unregister()
    return states, disk.outages


def _state(driver: Any) -> State:
    return {
        table: sorted(driver.execute(f"SELECT * FROM {table}"), key=repr)
        for table in metadata.tables
    }
