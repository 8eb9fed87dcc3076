"""Laws of a revision: it leaves what the declaration says, and nothing is left to revise then."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livedata.messages.validation import read
from livedata.model.dataset import Column
from livedata.model.errors import Invalid
from livedata.model.requests import CreateDataset
from livedata.model.source import pinned_column
from livedata.rules.declaration.revision import MOST_POSITIONS, check_room, judge

TYPES = {"key": "string", "a": "string", "b": "number", "c": "boolean", "d": "string"}


def declared(names: Sequence[str], labels: dict[str, str], selector: str) -> CreateDataset:
    """A declaration of these columns and the key, each read by its own name and `selector`."""
    every = [*dict.fromkeys([*names, "key"])]
    columns = [
        {
            "name": name,
            "type": TYPES[name],
            "key": name == "key",
            **({"label": labels[name]} if name in labels else {}),
        }
        for name in every
    ]
    fields = [{"name": name, "read": {"selector": f"{selector} .{name}"}} for name in every]
    source = {
        "version": 1,
        "url": "https://shop.example/",
        "itemSelector": "li",
        "fields": fields,
        "identity": {"kind": "source-key", "field": "key"},
        "pagination": {"kind": "none"},
    }
    return read(CreateDataset, {"name": "shop", "columns": columns, "source": source})


def pinned(body: CreateDataset) -> list[Column]:
    return [pinned_column(column, f"id-{column.name}") for column in body.columns]


OF_USERS: Column = {
    "id": "id-note",
    "label": "Note",
    "ownership": "user",
    "name": "note",
    "type": "string",
    "key": False,
}
ALSO_OF_USERS: Column = {**OF_USERS, "id": "id-stars", "name": "stars"}
declarations = st.builds(
    declared,
    st.permutations([*TYPES]).flatmap(lambda names: st.integers(1, 5).map(lambda n: names[:n])),
    st.dictionaries(st.sampled_from([*TYPES]), st.sampled_from(["One", "Two"])),
    st.sampled_from(["div", "p"]),
)


@given(before=declarations, wanted=declarations, place=st.integers(0, 5))
def test_a_revision_leaves_what_is_declared_and_nothing_to_revise(
    before: CreateDataset, wanted: CreateDataset, place: int
) -> None:
    columns = pinned(before)
    columns[place:place] = [OF_USERS, ALSO_OF_USERS]
    revision = judge(columns, before.source.pinned(), wanted, has_rows=True, positions=len(columns))
    after = revision.after
    by_hand = [column for column in after if column["ownership"] == "user"]
    assert by_hand == [OF_USERS, ALSO_OF_USERS], "what people fill by hand stays"
    collected = [column for column in after if column["ownership"] == "collected"]
    assert [column["name"] for column in collected] == [column.name for column in wanted.columns]
    known = {column["name"]: column["id"] for column in columns}
    assert all(known.get(each["name"], each["id"]) == each["id"] for each in collected)
    names = {column["name"] for column in after}
    assert {column["name"] for column in revision.added} == names - known.keys()
    assert {column["name"] for column in revision.dropped} == known.keys() - names
    for column, said in zip(collected, wanted.columns, strict=True):
        assert said.label in {None, column["label"]}
    # Whatever changes is told, and only that.
    is_alike = revision.source == () or not revision.source
    assert bool(revision.sentences) is not (is_alike and not revision.changes_columns)
    again = judge(after, wanted.source.pinned(), wanted, has_rows=True, positions=len(after))
    assert (again.sentences, again.changes_columns, [*again.source]) == ([], False, [])


def test_a_dataset_has_room_for_so_many_columns_in_its_life() -> None:
    check_room(MOST_POSITIONS - 1, 1)
    check_room(MOST_POSITIONS, 0)
    with pytest.raises(Invalid, match="would be 64 in the life of the dataset"):
        check_room(MOST_POSITIONS - 1, 2)
