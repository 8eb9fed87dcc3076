"""What a report tells of the time since a moment, and what it says that it leaves out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from livedata.model import ids
from livedata.pages.report import write
from livedata.services import queries
from livedata.services.pages.report import report
from tests import made
from tests.browsing.world import World

if TYPE_CHECKING:
    from collections.abc import Callable

    from livedata.store.database.store import Store


def test_it_tells_what_changed_since_and_what_stood_there_then(
    store: Store, clock: Callable[[int], None]
) -> None:
    made.meet_owner(store, "local", 1_000)
    dataset, (lamp, *others) = made.make_dataset(store), made.ITEMS
    days = []
    for day, price in enumerate((10, 11, 12, 9)):
        clock(day * 86_400)
        days.append(ids.now())
        made.take(store, dataset, [{**lamp, "price": price}, *others])
    World(store).blocked(dataset)
    told = report(store, "local", dataset, days[2])
    assert [change["sequence"] for change in told.changes] == [6, 5]
    assert told.ends == {"succeeded": 2, "blocked": 1}
    (drawn,) = told.developments
    assert (str(drawn.row), drawn.column["label"]) == ("Lamp (A1)", "price")
    assert [point.value for point in drawn.points] == [11, 12, 9]
    assert drawn.points[0].at == ids.format_timestamp(days[2])


@pytest.mark.parametrize(("rows", "more"), [(1_000, False), (1_001, True)])
def test_it_says_if_there_is_more_than_it_has(store: Store, rows: int, more: bool) -> None:
    made.meet_owner(store, "local", 1_000)
    dataset = made.make_dataset(store)
    made.take(store, dataset, [{"sku": f"K{number}", "title": "t"} for number in range(rows)])
    assert queries.dataset(store, "local", dataset)["rowCount"] == rows
    told = report(store, "local", dataset, ids.Micros(0))
    assert (len(told.rows), len(told.changes)) == (1_000, 1_000)
    page = write(told, told.since)
    assert ("The table has more rows than stand here" in page) == more
    assert ("There are earlier changes" in page) == more


def test_rows_are_called_by_their_names_with_the_key_beside_them(store: Store) -> None:
    made.meet_owner(store, "local", 1_000)
    dataset, (lamp, *others) = made.make_dataset(store), made.ITEMS
    made.take(store, dataset, [lamp, *others])
    made.take(store, dataset, [{**lamp, "price": 9}, {**others[0], "title": None}, others[1]])
    page = write(report(store, "local", dataset, ids.Micros(0)), "2026-11-28T00:00:00.000000Z")
    named = "<bdi>Lamp</bdi> <small><bdi>A1</bdi></small>"
    assert f"<h3>{named}: " in page
    # Of what changed two lines, and a line of the table.
    assert page.count(f'<th scope="row">{named}</th>') == 3
    assert page.count('<th scope="row"><bdi>B2</bdi></th>') == 3
