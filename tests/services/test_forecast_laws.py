"""A law of previews: what one says of another source is just what revising and running do."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from livedata.messages.validation import read
from livedata.model.requests import CreateDataset
from livedata.rules.network.targets import TargetPolicy
from livedata.services import datasets, queries
from livedata.services.audit.check import check_store
from livedata.services.commit import AcceptancePolicy
from livedata.services.forecast import Forecast, forecast, revised
from tests import made
from tests.services.table import NATURAL, Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from livedata.model.row import Scalar
    from livedata.store.database.store import Store

_NAMES = count(1)
OPTIONAL = ("title", "price", "color", "size")
TYPES = {"price": "number"}
VALUES = {
    "price": st.sampled_from([None, 1, 2.5]),
    **dict.fromkeys(("title", "color", "size"), st.sampled_from([None, "a", "b"])),
}
ITEMS = st.lists(
    st.fixed_dictionaries({"sku": st.sampled_from("xyz"), **VALUES}),
    max_size=3,
    unique_by=lambda item: item["sku"],
)
COLUMNS = st.lists(st.sampled_from(OPTIONAL), unique=True)
LABELS = st.dictionaries(st.sampled_from(OPTIONAL), st.sampled_from(["One", "Two"]))
EDITS = st.lists(st.tuples(st.sampled_from("xyz"), st.sampled_from(OPTIONAL)), max_size=3)
UNGUARDED = AcceptancePolicy(guards=frozenset())


def declared(
    name: str, columns: Sequence[str], labels: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """A source of these columns beside the key and one that is filled by hand."""
    listed: list[dict[str, Any]] = [{"name": "sku", "type": "string", "key": True}]
    listed += [{"name": each, "type": TYPES.get(each, "string")} for each in columns]
    listed = [
        {**each, **({"label": labels[each["name"]]} if labels and each["name"] in labels else {})}
        for each in listed
    ]
    listed.append({"name": "note", "type": "string", "ownership": "user"})
    body = made.declared(name, listed)
    source: dict[str, Any] = body["source"]  # type: ignore[assignment]  # of a declaration
    return {**body, "source": {**source, "minimumItems": 0}}


def edit(table: Table, edits: Sequence[tuple[str, str]]) -> None:
    """Set those of these cells by hand that are there."""
    for key, name in edits:
        if key in table.rows() and name in table.fields:
            table.edit(key, {name: 9 if name == "price" else "by hand"})


def label_name(table: Table) -> str | None:
    column = queries.label_column(table.store, "local", table.id)
    return None if column is None else column["name"]


def told(table: Table, body: CreateDataset, items: Sequence[Mapping[str, Scalar]]) -> Forecast:
    """What a preview of a source says that finds these items."""
    after = revised(table.store, "local", table.id, body, TargetPolicy())
    harvest = made.harvest(after.recipe, items, NATURAL)
    return forecast(
        *(table.store, "local", table.id, after.recipe, harvest, UNGUARDED), after.fields
    )


@given(ITEMS, ITEMS, COLUMNS, COLUMNS, LABELS, EDITS)
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_a_preview_says_just_what_revising_and_running_do(
    store: Store,
    items: list[dict[str, Scalar]],
    found: list[dict[str, Scalar]],
    had: list[str],
    has: list[str],
    labels: dict[str, str],
    edits: list[tuple[str, str]],
) -> None:
    name = f"shop {next(_NAMES)}"
    table = Table(store, declared(name, had))
    table.take_pages(items, policy=UNGUARDED)
    edit(table, edits)
    before, named, rows = table.dataset["columns"], label_name(table), table.rows()
    overridden = {key: table.row(key)["overrides"] for key in rows}
    body = read(CreateDataset, declared(name, has, labels))
    forecasted = told(table, body, found)
    # A preview writes nothing.
    assert (table.dataset["columns"], table.rows()) == (before, rows)

    changed = datasets.revise(store, "local", table.id, body, TargetPolicy()).is_changed
    columns = forecasted.columns
    after, ids = table.dataset["columns"], {column["id"]: column for column in before}
    run = table.take_pages(found, policy=UNGUARDED)
    assert run["rowDeltas"] == {
        "new": forecasted.changes.count("created"),
        "changed": forecasted.changes.count("updated", "returned"),
        "gone": forecasted.changes.count("missing"),
    }
    present = [row["data"] for row in table.rows().values() if row["presence"] == "present"]
    assert [(each.name, each.filled, each.empty) for each in columns.added] == [
        (
            column["name"],
            sum(data[column["id"]] is not None for data in present),
            sum(data[column["id"]] is None for data in present),
        )
        for column in after
        if column["id"] not in ids
    ]
    stay = {column["id"] for column in after}
    assert [(each.name, each.values, each.edits) for each in columns.dropped] == [
        (
            column["name"],
            sum(row["data"][field] is not None for row in rows.values()),
            sum(field in each for each in overridden.values()),
        )
        for field, column in ids.items()
        if field not in stay
    ]
    assert {each.name: each.after for each in columns.relabelled} == {
        column["name"]: column["label"]
        for column in after
        if column["id"] in ids and column["label"] != ids[column["id"]]["label"]
    }
    if columns.rows_named_by is None:
        assert label_name(table) == named
    else:
        said = columns.rows_named_by
        assert (said.before, said.after) == (named, label_name(table))
    kept = [column["id"] for column in after if column["id"] in ids]
    is_moved = kept != [field for field in ids if field in stay]
    assert (columns.order is not None) is is_moved
    # What says that nothing would change is nothing to revise.
    assert changed or not columns.sentences
    assert [*table.dataset["columns"]] == after
    assert check_store(store).problems == []
