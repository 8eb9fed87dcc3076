"""Rules 13.10: changes are gathered, and told together at the fire of a cron."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from livedata.model.errors import Invalid
from livedata.model.harvest import StopReason
from livedata.model.ids import DatasetId, Micros, format_uuid
from livedata.model.problem import Problem
from livedata.rules.declaration.notices import ChangeFilter
from livedata.rules.network.targets import TargetPolicy
from livedata.services import datasets, moments
from livedata.services.archive import export_archive, import_archive
from livedata.services.archive_container import open_archive
from livedata.services.audit.check import check_store
from livedata.services.audit.vitals import examine
from livedata.services.notices import delivering, digests, subscriptions
from livedata.services.notices.digests import Digest
from livedata.services.notices.gathering import tried_digest
from livedata.store.database.store import Store
from livedata.store.notices import Notice
from tests import made
from tests.notices.conftest import Notify, add_notice, kinds_told
from tests.notices.test_trying import FILTERS, told_by
from tests.services.conftest import Clock, SetClock
from tests.services.table import A, B, C, Table, pages_of
from tests.services.test_feed_laws import COLUMNS, STEPS, perform

HOURLY = "0 * * * *"
HOUR = 3_600
_NAMES = count(1)


@pytest.fixture
def digest(notify: Notify) -> Any:
    """Add a notice of changes with an hourly digest."""

    def add(name: str = "ops", **wish: Any) -> Notice:
        return notify(name, **{"kinds": ["changes"], "digest": HOURLY, **wish})

    return add


def fire(store: Store, zone: str = "UTC") -> list[Digest]:
    """Let the moment of every digest come, and tell what is due."""
    with store.writing() as writer:
        writer.execute("UPDATE notices SET digest_at = 1 WHERE digest IS NOT NULL")
    return list(digests.tell_due(store, zone))


def delivered(store: Store, public_url: str = "") -> list[delivering.Delivery]:
    """All that is delivered now."""
    deliveries = []
    while (delivery := delivering.take(store, public_url)) is not None:
        deliveries.append(delivery)
        delivering.succeeded(store, delivery)
    return deliveries


def data_of(delivery: delivering.Delivery) -> dict[str, Any]:
    data: dict[str, Any] = orjson.loads(delivery.event.body)["data"]
    return data


def parts(store: Store) -> list[dict[str, Any]]:
    """What the digests that are delivered now have of each dataset."""
    return [part for each in delivered(store) for part in data_of(each)["datasets"]]


def kinds_of(part: dict[str, Any]) -> dict[str, str]:
    return {change["row"]: change["kind"] for change in part["changes"]}


def test_what_came_between_two_fires_is_told_once_and_net(table: Table, digest: Any) -> None:
    table.take(A, B)
    notice = digest()
    table.take({**A, "price": 8}, B, C)
    table.take({**A, "price": 7}, B, C)
    assert kinds_told(table.store) == []
    assert fire(table.store) == [Digest("ops", 1)]
    (delivery,) = delivered(table.store)
    event = orjson.loads(delivery.event.body)
    assert event["type"] == "livedata.digest"
    (part,) = event["data"]["datasets"]
    assert "names" not in part
    assert kinds_of(part) == {"A1": "changed", "C3": "new"}
    assert part["changes"][0]["changed"] == {"price": {"before": 10, "after": 7}}
    assert part["rowDeltas"] == {"new": 1, "changed": 1, "gone": 0, "back": 0}
    assert event["data"]["sentence"] == "shop: 1 new, 1 changed."
    assert delivery.event.title == "shop has changed"
    assert delivery.event.text.splitlines()[:2] == [
        "shop: 1 new, 1 changed.",
        "- Lamp (A1) changed: price: 10 → 7",
    ]
    assert fire(table.store) == []
    assert delivered(table.store) == []
    assert notice.digest_at is not None
    assert check_store(table.store).problems == []


def test_what_came_and_went_is_not_told(table: Table, digest: Any) -> None:
    table.take(A, B)
    digest()
    table.take({**A, "price": 8}, B, C)
    table.take(A, B)
    assert fire(table.store) == []
    table.take({**A, "price": 8}, B)
    assert fire(table.store) == [Digest("ops", 1)]
    assert [part["rowDeltas"]["changed"] for part in parts(table.store)] == [1]


def test_rows_that_are_gone_and_back_are_told_as_such(table: Table, digest: Any) -> None:
    table.take(A, B)
    digest()
    table.take(A)
    fire(table.store)
    table.take(A, B)
    fire(table.store)
    assert [kinds_of(part) for part in parts(table.store)] == [{"B2": "gone"}, {"B2": "back"}]


def test_all_datasets_of_a_notice_are_in_one_message(store: Store, digest: Any) -> None:
    first, second = Table(store, made.declared("a")), Table(store, made.declared("b"))
    other = Table(store, made.declared("other"))
    digest(datasets=[first.id, second.id])
    digest("all")
    for table in (second, first, other):
        table.take(A)
    Table(store, made.declared("late")).take(A, B)
    assert sorted(fire(store), key=str) == [Digest("all", 4), Digest("ops", 2)]
    told = {each.notice.name: data_of(each) for each in delivered(store)}
    names = {
        name: [part["dataset"]["name"] for part in data["datasets"]] for name, data in told.items()
    }
    assert names == {"ops": ["a", "b"], "all": ["a", "b", "late", "other"]}
    assert told["ops"]["sentence"] == "2 datasets changed. a: 1 new. b: 1 new."
    assert told["ops"]["dataset"] is None


def test_trouble_is_told_at_once_as_ever(table: Table, digest: Any) -> None:
    table.take(A, B)
    digest(kinds=["changes", "failing", "recovered"], threshold=1)
    attempt = table.begin()
    broken = StopReason("page_failed", made.BROKEN)
    table.finish(attempt, pages_of(attempt.recipe, [A], ending=broken))
    table.take({**A, "price": 9}, B)
    assert kinds_told(table.store) == ["failing", "recovered"]
    fire(table.store)
    assert sorted(kinds_told(table.store)) == ["digest", "failing", "recovered"]


@pytest.mark.parametrize(
    ("wanted", "rows"),
    [
        ({"kinds": ["created"]}, {"C3": "new"}),
        ({"kinds": ["missing"]}, {"B2": "gone"}),
        ({"columns": ["price"]}, {"A1": "changed", "C3": "new"}),
        ({"ignore": ["price"]}, {"B2": "gone", "C3": "new"}),
        ({"when": ["price < 9"]}, {"A1": "changed"}),
        ({"when": ["price < 1"]}, None),
    ],
)
def test_a_filter_narrows_what_is_gathered(
    table: Table, digest: Any, wanted: dict[str, Any], rows: dict[str, str] | None
) -> None:
    table.take(A, B)
    digest(change_filter=ChangeFilter(**wanted))
    table.take({**A, "price": 2}, C)
    fire(table.store)
    assert [kinds_of(part) for part in parts(table.store)] == ([] if rows is None else [rows])


def test_a_digest_names_the_clause_and_both_values(table: Table, digest: Any) -> None:
    table.take(A, B)
    digest(change_filter=ChangeFilter(when=["price < 9"]))
    table.take({**A, "price": 8, "title": "Lamp II"}, B)
    table.take({**A, "price": 8.5, "title": "Lamp II"}, B)
    fire(table.store)
    (delivery,) = delivered(table.store)
    met = "price fell below 9: 10 → 8"
    assert delivery.event.text.splitlines() == [
        "shop: 1 changed; asked for: price < 9.",
        f"- Lamp II (A1) changed: title: Lamp → Lamp II, price: 10 → 8.5 (in a Run {met})",
    ]
    (part,) = data_of(delivery)["datasets"]
    assert part["changes"][0]["matches"] == [met]


def test_what_people_edit_is_not_told(table: Table, digest: Any) -> None:
    table.take(A, B)
    digest()
    table.edit("A1", {"price": 3})
    assert fire(table.store) == []
    table.edit("B2", {"price": 4})
    table.take(A, {**B, "title": "Stool"})
    fire(table.store)
    (part,) = parts(table.store)
    assert [[*change["changed"]] for change in part["changes"]] == [["title"]]


def test_of_more_than_a_message_holds_the_rest_is_counted(store: Store, digest: Any) -> None:
    large, small = Table(store, made.declared("large")), Table(store, made.declared("small"))
    digest()
    large.take(*[{**A, "sku": f"M{number:03}"} for number in range(200)])
    small.take(A, B)
    fire(store)
    counted = {
        part["dataset"]["name"]: (len(part["changes"]), part["moreChanges"])
        for part in parts(store)
    }
    assert counted == {"large": (98, 102), "small": (2, 0)}


def test_a_digest_waits_for_its_moment_and_a_late_one_tells_all(
    table: Table, digest: Any, clock: Clock
) -> None:
    table.take(A)
    digest()
    table.take(B, A)
    assert list(digests.tell_due(table.store, "UTC")) == []
    clock(HOUR)
    assert list(digests.tell_due(table.store, "UTC")) == [Digest("ops", 1)]
    table.take(C, B, A)
    assert list(digests.tell_due(table.store, "UTC")) == []
    clock(10 * HOUR)
    assert list(digests.tell_due(table.store, "UTC")) == [Digest("ops", 1)]
    assert [kinds_of(part) for part in parts(table.store)] == [{"B2": "new"}, {"C3": "new"}]


def test_nothing_is_lost_or_told_twice_if_the_clock_moves_an_hour(
    table: Table, digest: Any, step: Clock
) -> None:
    digest()
    told, moves = [], [0, HOUR, 0, -HOUR, 0, HOUR, HOUR, 2 * HOUR, HOUR, 3 * HOUR, 5 * HOUR]
    for number, seconds in enumerate(moves):
        step(seconds)
        digests.replan(table.store, "UTC")
        table.take(*[{**A, "sku": f"R{row:02}"} for row in range(number + 1)])
        list(digests.tell_due(table.store, "UTC"))
        told += [row for part in parts(table.store) for row in kinds_of(part)]
    assert told == [f"R{row:02}" for row in range(len(moves))]


def test_a_digest_fires_in_the_time_zone_that_is_set(
    table: Table, digest: Any, set_clock: SetClock
) -> None:
    noon = Micros(1_800_014_400_000_000)  # 2027-01-15 12:00 UTC
    set_clock(lambda: noon)
    digest(digest="0 7 * * *")
    seven = noon + 19 * HOUR * 1_000_000
    (listed,) = subscriptions.listed(table.store, "local").notices
    assert listed.digest_at == seven
    (listed,) = subscriptions.listed(table.store, "local", "America/New_York").notices
    assert listed.digest_at == noon + 24 * HOUR * 1_000_000
    digests.replan(table.store, "America/New_York")
    assert subscriptions.find(table.store, "local", "ops").digest_at == listed.digest_at


@pytest.mark.one_database
@pytest.mark.parametrize("cron", ["0 0 30 2 *", "daily", "@daily", "0 7 * *"])
def test_a_cron_that_never_fires_is_refused(store: Store, digest: Any, cron: str) -> None:
    with pytest.raises(Invalid, match=r"digest must .*; \"30 6 \* \* \*\" is every day"):
        digest(digest=cron)
    assert list(subscriptions.listed(store, "local").notices) == []


def test_a_dataset_that_is_deleted_is_in_no_digest_any_more(store: Store, digest: Any) -> None:
    first, second = Table(store, made.declared("a")), Table(store, made.declared("b"))
    digest()
    for table in (first, second):
        table.take(A)
    fire(store)
    datasets.remove(store, "local", first.id)
    with store.reading() as reader:
        assert format_uuid(first.id) not in reader.value("SELECT data FROM outbox")
    assert [part["dataset"]["name"] for part in parts(store)] == ["b"]
    second.take(B, A)
    fire(store)
    datasets.remove(store, "local", second.id)
    assert delivered(store) == []
    assert examine(store, 0).outbox.waiting == 0
    assert check_store(store).problems == []


def test_a_notice_that_is_removed_takes_its_digest_along(table: Table, digest: Any) -> None:
    digest()
    table.take(A)
    fire(table.store)
    subscriptions.remove(table.store, "local", "ops")
    assert delivered(table.store) == []
    assert fire(table.store) == []
    assert check_store(table.store).problems == []


def test_a_digest_that_nobody_wants_any_more_is_off(table: Table, digest: Any) -> None:
    digest()
    table.take(A)
    fire(table.store)
    delivery = delivering.take(table.store)
    assert delivery is not None
    delivering.unwanted(table.store, delivery, Problem("notice.gone"))
    table.take(B)
    assert subscriptions.find(table.store, "local", "ops").digest_at is None
    assert list(digests.tell_due(table.store, "UTC")) == []
    assert check_store(table.store).problems == []


def test_a_digest_that_fails_is_tried_again_as_it_is_while_more_is_gathered(
    table: Table, digest: Any, clock: Clock
) -> None:
    digest()
    table.take(A)
    fire(table.store)
    first = delivering.take(table.store)
    assert first is not None
    delivering.failed(table.store, first, Problem("notice.status", {"status": 500}))
    table.take({**A, "price": 1}, B)
    fire(table.store)
    clock(6)
    again, then = delivered(table.store)
    assert (again.event.id, again.event.body) == (first.event.id, first.event.body)
    assert kinds_of(data_of(then)["datasets"][0]) == {"A1": "changed", "B2": "new"}


def test_what_is_gathered_of_a_damaged_dataset_waits_and_keeps_no_other(
    store: Store, digest: Any
) -> None:
    broken, well = Table(store, made.declared("broken")), Table(store, made.declared("well"))
    digest()
    for table in (broken, well):
        table.take(A)
    with store.writing() as writer:
        kept = writer.value("SELECT data FROM revisions WHERE dataset_id = :id", id=broken.id)
        writer.execute("UPDATE revisions SET data = '{' WHERE dataset_id = :id", id=broken.id)
    fire(store)
    assert [part["dataset"]["name"] for part in parts(store)] == ["well"]
    with store.writing() as writer:
        writer.execute(
            "UPDATE revisions SET data = :data WHERE dataset_id = :id", id=broken.id, data=kept
        )
    fire(store)
    assert [part["dataset"]["name"] for part in parts(store)] == ["broken"]


def test_what_an_archive_brings_is_not_told(
    table: Table, store: Store, digest: Any, tmp_path: Path
) -> None:
    table.take(A, B)
    export_archive(store, "local", table.id, tmp_path / "shop.zip")
    datasets.remove(store, "local", table.id)
    digest()
    with open_archive(tmp_path / "shop.zip") as archive:
        import_archive(store, "local", archive, TargetPolicy())
    assert fire(store) == []
    table.take(A)
    fire(store)
    assert [kinds_of(part) for part in parts(store)] == [{"B2": "gone"}]


@pytest.mark.slow
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(history=st.lists(STEPS, min_size=1, max_size=3), wanted=FILTERS | st.none())
def test_a_digest_is_the_diff_between_two_fires_of_what_the_filter_told(
    store: Store, history: list[Any], wanted: ChangeFilter | None
) -> None:
    declared: Any = made.declared(name=f"any {next(_NAMES)}", columns=COLUMNS)
    declared["source"]["minimumItems"] = 0
    table = Table(store, declared)
    wish: Any = {"datasets": [table.id], "change_filter": wanted, "kinds": ["changes"]}
    plain = add_notice(store, f"plain {next(_NAMES)}", **wish)
    gathering = add_notice(store, f"together {next(_NAMES)}", digest=HOURLY, **wish)
    since = 0
    for steps in history:
        for each in steps:
            perform(table, each)
        would = [part.as_json(1000) for part in tried_digest(store, gathering, str(since), "UTC")]
        fire(store)
        told = [
            part
            for delivery in delivered(store)
            if delivery.notice.id == gathering.id
            for part in data_of(delivery)["datasets"]
        ]
        assert [orjson.loads(orjson.dumps(part)) for part in would] == told
        changes = [without(change) for part in told for change in part["changes"]]
        sequences = [number for _, message in told_by(store, plain) for number in message]
        head = len(table.feed())
        expected = restricted(table, since, head, {*sequences}, wanted)
        assert changes == expected
        since = head
    for notice in (plain, gathering):
        subscriptions.remove(store, "local", notice.name)


def without(change: dict[str, Any]) -> dict[str, Any]:
    return {name: change[name] for name in ("kind", "row", "changed")}


def restricted(
    table: Table, since: int, until: int, sequences: set[int], wanted: ChangeFilter | None
) -> list[dict[str, Any]]:
    """What `dataset diff` says of the cells that these revisions have changed."""
    keys = {row["id"]: key for key, row in table.rows().items()}
    names = {field: name for name, field in table.fields.items()}
    cells: dict[str, set[str]] = {}
    for change in table.feed(since):
        if change["sequence"] in sequences:
            of_row = cells.setdefault(keys[change["rowId"]], set())
            of_row |= {names[field] for field in change["changedFieldIds"]}
    shown: list[dict[str, Any]] = []
    diff = moments.diff(table.store, "local", DatasetId(table.id), str(since), str(until), "UTC")
    for row in diff.rows:
        if row["row"] in cells:
            columns = cells[row["row"]]
            if wanted is not None and wanted.columns:
                columns &= {*wanted.columns}
            changed = {name: cell for name, cell in row["changed"].items() if name in columns}
            if changed or row["kind"] != "changed":
                shown.append({"kind": row["kind"], "row": row["row"], "changed": changed})
    return shown
