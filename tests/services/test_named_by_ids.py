"""A dataset and a Run are named by the whole of an id too, or by either end of one."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import pytest

from livedata.model import ids
from livedata.model.errors import NotFound
from livedata.model.ids import OwnerName
from livedata.services import queries
from livedata.store import dataset_names, datasets, runs
from tests import made

if TYPE_CHECKING:
    from collections.abc import Iterator

    from livedata.store.database.store import Store

ALICE, BOB = OwnerName("alice"), OwnerName("bob")
NONSENSE = ("", "-", "teas", "0x1", "é", "g0", "-" * 40, "0" * 33, "1 2", "%", "12_", "\0")
"""What is no part of an id."""


@pytest.fixture
def tables(store: Store) -> list[ids.DatasetId]:
    """Six datasets of Alice and one of Bob, each with a Run."""
    made_datasets = [made.make_dataset(store, owner, f"table {n}") for n, owner in each_owner()]
    for dataset, (_, owner) in zip(made_datasets, each_owner(), strict=True):
        made.take(store, dataset, owner=owner)
    return made_datasets


def each_owner() -> list[tuple[int, str]]:
    """The number of each table, and who has it."""
    return [*enumerate([*[ALICE] * 6, BOB])]


def ends(key: bytes) -> Iterator[str]:
    """Both ends of an id, of each length, as they are printed, and in other ways to write them."""
    text = ids.format_uuid(key)
    parts = chain.from_iterable((text[:size], text[-size:]) for size in range(1, len(text) + 1))
    return chain.from_iterable((part, part.upper(), part.replace("-", "")) for part in parts)


def test_a_store_finds_whose_id_begins_or_ends_so_and_no_other(
    store: Store, tables: list[ids.DatasetId]
) -> None:
    with store.reading() as reader:
        own = [dataset for dataset, _ in dataset_names.after(reader, ALICE)]
        own_runs = [
            row[0]
            for row in reader.rows("SELECT id FROM runs WHERE dataset_id <> :bob", bob=tables[-1])
        ]
        assert len(own) == len(own_runs) == 6
        for given in (*chain.from_iterable(map(ends, (*tables, *own_runs))), *NONSENSE):
            meant = {key for key in own if ids.matches_either_end(given, key)}
            assert {key for key, _ in dataset_names.by_ends(reader, ALICE, given)} == meant, given
            meant_runs = {run for run in own_runs if ids.matches_either_end(given, run)}
            assert {*runs.by_ends(reader, ALICE, given)} == meant_runs, given


def test_whose_id_it_is_does_not_count_for_another_owner(
    store: Store, tables: list[ids.DatasetId]
) -> None:
    whole = ids.format_uuid(tables[-1])
    assert queries.find_dataset(store, BOB, whole) == tables[-1]
    with pytest.raises(NotFound, match="There is no dataset"):
        queries.find_dataset(store, ALICE, whole)
    with pytest.raises(NotFound, match="There is no Run or dataset"):
        queries.find_run(store, ALICE, whole)


def test_a_beginning_that_several_have_is_refused_with_their_number(
    store: Store, tables: list[ids.DatasetId]
) -> None:
    shared = ids.format_uuid(tables[0])[:5]
    with pytest.raises(NotFound, match=r"is the beginning of 6 dataset ids; write more of it\."):
        queries.find_dataset(store, ALICE, shared)


def test_names_and_datasets_are_read_some_at_a_time(
    store: Store, tables: list[ids.DatasetId], monkeypatch: pytest.MonkeyPatch
) -> None:
    for few in (1, 2, 3, 6, 7):
        monkeypatch.setattr(dataset_names, "_AT_ONCE", few)
        monkeypatch.setattr(datasets, "_AT_ONCE", few)
        with store.reading() as reader:
            names = [*dataset_names.after(reader, ALICE, "table 1")]
            assert names == [(tables[number], f"table {number}") for number in range(2, 6)]
            refs = [ref.id for ref in datasets.chosen(reader, ALICE)]
            assert refs == tables[:6]
            wanted = [ids.format_uuid(tables[number]) for number in (5, 1, 6)]
            some = [ref.id for ref in datasets.chosen(reader, ALICE, [*wanted, "nonsense"])]
            assert some == [tables[1], tables[5]]


@pytest.mark.usefixtures("tables")
def test_a_name_that_is_nearly_one_is_told_with_the_one_that_may_be_meant(store: Store) -> None:
    for find in (queries.find_dataset, queries.find_run):
        with pytest.raises(NotFound, match="'tabel 3'; did you mean 'table 3'"):
            find(store, ALICE, "tabel 3")
        with pytest.raises(NotFound) as told:
            find(store, BOB, "tabel 3")
        assert "table 3" not in told.value.message
