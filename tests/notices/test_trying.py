"""``notice try`` names just what the notice told when it was written (rules 13.9)."""

from __future__ import annotations

from itertools import count
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from livedata.rules.declaration.notices import ChangeFilter
from livedata.services.notices import subscriptions
from livedata.services.notices.gathering import tried
from livedata.store.database.store import Store
from livedata.store.notices import Notice
from tests import made
from tests.notices.conftest import Notify, add_notice
from tests.services.table import A, B, C, Table
from tests.services.test_feed_laws import COLUMNS, STEPS, perform

_NAMES = count(1)
FILTERS = st.builds(
    ChangeFilter,
    when=st.lists(
        st.sampled_from(
            ["price < 3", "price falls", "title changes", "price reaches a new high", "row is back"]
        ),
        max_size=2,
    ),
    kinds=st.lists(st.sampled_from(["created", "updated", "missing"]), max_size=2),
    columns=st.lists(st.sampled_from(["title", "price"]), max_size=1),
    ignore=st.lists(st.sampled_from(["title", "note"]), max_size=1),
)


def told_by(store: Store, notice: Notice) -> list[tuple[str, list[int]]]:
    """(sentence, sequences) of each message of changes that a notice has put into the outbox."""
    with store.reading() as reader:
        rows = reader.rows(
            "SELECT data, after_sequence, through_sequence FROM outbox WHERE notice_id = :id "
            "AND kind = 'changes' ORDER BY sequence",
            id=notice.id,
        )
    messages = []
    for text, after, through in rows:
        data = orjson.loads(text)
        every = range(after + 1, through + 1)
        sequences = [int(sequence) for sequence in data.get("matches", every)]
        messages.append((data["sentence"], sequences))
    return messages


def would_tell(store: Store, notice: Notice, since: int = 0) -> list[tuple[str, list[int]]]:
    """The same of what it would have told."""
    return [
        (message.sentence, [change.line["sequence"] for change in message.changes])
        for message in tried(store, notice, str(since), "UTC")
    ]


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(steps=STEPS, wanted=FILTERS | st.none())
def test_what_would_have_been_told_is_what_was_told(
    store: Store, steps: list[Any], wanted: ChangeFilter | None
) -> None:
    declared: Any = made.declared(name=f"any {next(_NAMES)}", columns=COLUMNS)
    declared["source"]["minimumItems"] = 0
    table = Table(store, declared)
    notice = add_notice(
        store, f"ops {next(_NAMES)}", datasets=[table.id], change_filter=wanted, kinds=["changes"]
    )
    for step in steps:
        perform(table, step)
    assert would_tell(store, notice) == told_by(store, notice)
    # An owner has a hundred at most.
    subscriptions.remove(store, "local", notice.name)


def test_what_came_before_is_left_out(table: Table, notify: Notify) -> None:
    notice = notify(change_filter=ChangeFilter(["price < 30"]), kinds=["changes"])
    table.take(A, B, C)
    head = len(table.feed())
    table.edit("A1", {"price": 5})
    table.take({**A, "price": 50}, {**B, "price": 40}, {**C, "price": 4})
    table.take({**A, "price": 50}, {**B, "price": 20}, {**C, "price": 4})
    assert would_tell(table.store, notice, head) == told_by(table.store, notice)[1:]
    assert [sequences for _, sequences in would_tell(table.store, notice, head)] == [[7], [8]]
