"""Goals 51 and 52: a table at another moment of a long history, and what a notice would have told.

python -m benchmarks.moments [-n 15] [--changes 1000000] [--folder FOLDER]

A table of 1000 rows is read as it is, and as it was at moments all over its history; `diff` is
measured beside it. `notice try` reads the last 100,000 changes by conditions of each kind.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.goals import Report
from benchmarks.history import OWNER, build
from benchmarks.past import ROWS
from benchmarks.stage import STORE, argument_parser
from benchmarks.within import cpu, in_turn, url_of
from livedata.model.ids import DatasetId, NoticeId, OwnerName, format_uuid, new_id, now
from livedata.rules.declaration.notices import ChangeFilter
from livedata.services import feed, moments, queries
from livedata.services.notices.gathering import tried
from livedata.services.snapshot import snapshot
from livedata.store.database.store import Database
from livedata.store.notices import Notice

TRIED = 100_000


def measure(db: Database, dataset: DatasetId, n: int, report: Report) -> None:
    """Read the table as it is, and at moments from its first Run to its last."""
    head = feed.head(db, OWNER, dataset)

    def reading(when: str | None) -> float:
        return cpu(partial(_read, db, dataset, when))

    for sequence in (ROWS, head // 2, head - 1):
        then, now, ratio = in_turn(n, partial(reading, str(sequence)), partial(reading, None))
        detail = f"at {sequence:,}: {then * 1000:.1f} ms against {now * 1000:.1f} ms"
        report.figure(51, ratio, detail)
    spent = cpu(lambda: moments.diff(db, OWNER, dataset, str(ROWS), None, "UTC"))
    report.note(f"the difference of {head - ROWS:,} changes: {spent * 1000:.1f} ms")


FILTERS: Mapping[str, ChangeFilter | None] = {
    "all changes": None,
    "price < 20": ChangeFilter(["price < 20"]),
    "price falls by 10%": ChangeFilter(["price falls by 10%"]),
    "price reaches a new low": ChangeFilter(["price reaches a new low"]),
    "of the column price": ChangeFilter(columns=["price"]),
}


def measure_notices(db: Database, dataset: DatasetId, report: Report) -> None:
    """What notices of each kind would have told of the last changes."""
    head = feed.head(db, OWNER, dataset)
    since = max(0, head - TRIED)
    for name, wanted in FILTERS.items():
        notice = _notice(dataset, wanted)
        spent = min(cpu(partial(_try, db, notice, str(since))) for _ in range(3))
        report.figure(52, spent, f"{name}, {head - since:,} changes")


def _notice(dataset: DatasetId, wanted: ChangeFilter | None) -> Notice:
    return Notice(
        *("tried", "command", "cat", ["changes"], [format_uuid(dataset)], 2, None, wanted),
        id=NoticeId(new_id()),
        owner=OwnerName(OWNER),
        secret=None,
        created_at=now(),
    )


def _try(db: Database, notice: Notice, since: str) -> None:
    assert list(tried(db, notice, since, "UTC"))


def _read(db: Database, dataset: DatasetId, when: str | None) -> None:
    with snapshot(db, OWNER, dataset, when) as table:
        assert sum(1 for _ in table.rows) == ROWS


def main() -> None:
    """Measure, and exit with 1 if a figure is over its bound."""
    parser = argument_parser(__doc__, 15)
    parser.add_argument("--changes", type=int, default=1_000_000, help="fewer, for a quick look")
    parser.add_argument("--folder", type=Path, help="where the store is kept")
    options = parser.parse_args()
    report = Report()
    with ExitStack() as stack:
        folder = options.folder or Path(
            stack.enter_context(TemporaryDirectory(prefix="livedata-benchmarks-"))
        )
        store = folder / f"{options.changes}" / STORE
        if not store.exists():
            build(store, options.changes)
        db = stack.enter_context(closing(Database(url_of(store))))
        dataset = queries.find_dataset(db, OWNER, "history")
        measure(db, dataset, options.n, report)
        measure_notices(db, dataset, report)
    sys.exit(report.over)


if __name__ == "__main__":
    main()
