"""Of many edits that expect the same revision exactly one wins, over real HTTP."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

from livedata.model import ids
from livedata.services import feed, queries
from livedata.store.database.store import Store
from tests.api.serving import Serving
from tests.made import make_dataset, take

EDITORS = 16
ROUNDS = 6


def test_of_sixteen_editors_with_one_expected_revision_exactly_one_wins(
    served: Serving, store: Store
) -> None:
    dataset = make_dataset(store, "alice")
    take(store, dataset, owner="alice")
    note = queries.dataset(store, "alice", dataset)["columns"][-1]["id"]
    row = queries.rows(store, "alice", dataset, 1)[0][0]["id"]
    path = f"/v1/datasets/{ids.format_uuid(dataset)}/rows/{row}"
    together = Barrier(EDITORS)

    def edit(number: int, turn: int, expected: str | None) -> tuple[int, Any]:
        body = {
            "expectedRevisionId": expected,
            "requestId": f"{turn}/{number}",
            "values": {note: f"editor {number}"},
        }
        together.wait(30)
        return served.ask("PATCH", path, body)

    with ThreadPoolExecutor(EDITORS) as pool:
        for turn in range(ROUNDS):
            expected = queries.row(store, "alice", dataset, ids.RowId(ids.raw_id(row)))[
                "revisionId"
            ]
            tries = [pool.submit(edit, number, turn, expected) for number in range(EDITORS)]
            answers = [attempt.result() for attempt in tries]
            assert Counter(status for status, _ in answers) == {200: 1, 409: EDITORS - 1}
            (won,) = [answer for status, answer in answers if status == 200]
            lost = [answer["error"]["code"] for status, answer in answers if status == 409]
            assert set(lost) == {"revision_conflict"}
            now = queries.row(store, "alice", dataset, ids.RowId(ids.raw_id(row)))
            assert now["revisionId"] == won["id"]
            assert now["data"][note] == won["data"][note]
    assert feed.head(store, "alice", dataset) == 3 + ROUNDS
