"""The column that names rows: it is chosen, kept with its dataset, and told beside the key."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
import pytest

from livedata.messages.validation import read
from livedata.model.errors import Invalid
from livedata.model.requests import UpdateDataset
from livedata.rules.network.targets import TargetPolicy
from livedata.services import datasets
from livedata.services.archive import export_archive, import_archive
from livedata.services.archive_container import open_archive
from livedata.services.audit.check import check_store
from livedata.services.commit import AcceptancePolicy
from livedata.services.kept_output import would_change
from livedata.services.moments import diff
from livedata.services.notices import feeds
from livedata.services.pages.history import Narrowing, history
from livedata.services.pages.table import TableQuery, table_page
from livedata.services.queries import label_column
from livedata.services.run_view import viewing
from livedata.services.snapshot import snapshot
from livedata.store.database.store import Store
from tests import made
from tests.services.conftest import Clock
from tests.services.table import A, B, C, Table, pages_of

DATASETS = "datasets.jsonl"
COLUMNS: Sequence[Mapping[str, object]] = [
    {"name": "sku", "type": "string", "key": True},
    {"name": "price", "type": "number"},
    {"name": "title", "type": "string"},
    {"name": "maker", "type": "string"},
    {"name": "note", "type": "string", "ownership": "user"},
]
LAMP = {**A, "maker": "Oak & Son"}


@pytest.fixture
def table(store: Store) -> Table:
    """A dataset without rows, with two texts of its source and one of its owner."""
    return Table(store, made.declared(columns=COLUMNS))


def choose(table: Table, column: str, **body: Any) -> Any:
    wanted = read(UpdateDataset, body) if body else None
    return datasets.update(table.store, "local", table.id, wanted, label_column=column)


def label(table: Table, store: Store | None = None, owner: str = "local") -> str | None:
    column = label_column(store or table.store, owner, table.id)
    return None if column is None else column["name"]


def lines(table: Table, **query: Any) -> dict[str, tuple[str, str]]:
    """The name of each line of a page, and what stands beside it, by key."""
    page = table_page(table.store, "local", table.id, TableQuery(**query))
    return {line.key: (line.name, line.beside) for line in page.lines}


def test_rows_are_named_by_the_first_text_until_somebody_chooses_another(table: Table) -> None:
    table.take(LAMP, {**B, "title": None})
    assert label(table) == "title"
    assert lines(table) == {"A1": ("Lamp", "A1"), "B2": ("B2", "")}
    choose(table, "maker")
    assert label(table) == "maker"
    assert lines(table) == {"A1": ("Oak & Son", "A1"), "B2": ("B2", "")}
    choose(table, "")
    assert label(table) == "title"
    assert check_store(table.store).problems == []


def test_a_choice_stands_when_columns_come_and_are_reordered(table: Table) -> None:
    choose(table, "note")
    table.add_column("more")
    assert label(table) == "note"
    wanted: list[dict[str, Any]] = [
        {key: column[key] for key in ("id", "name", "type")}
        for column in reversed(table.dataset["columns"])
    ]
    body = {"expectedSchemaVersion": table.dataset["schemaVersion"], "columns": wanted}
    datasets.update(table.store, "local", table.id, read(UpdateDataset, body))
    assert label(table) == "note"
    choose(table, "")
    assert label(table) == "maker"


def test_a_column_that_comes_with_the_update_may_be_chosen_in_it(table: Table) -> None:
    kept = [{key: c[key] for key in ("id", "name", "type")} for c in table.dataset["columns"]]
    mine = {"name": "mine", "type": "string", "ownership": "user"}
    choose(table, "mine", expectedSchemaVersion=1, columns=[*kept, mine])
    assert label(table) == "mine"


@pytest.mark.parametrize("column", ["sku", "price", "nothing"])
def test_a_refused_choice_changes_nothing_at_all(table: Table, column: str) -> None:
    before = table.dump()
    with pytest.raises(Invalid, match=column):
        choose(table, column, name="another")
    assert table.dump() == before


def test_the_dataset_that_is_answered_has_no_field_more(table: Table, step: Clock) -> None:
    before = table.dataset
    step(1)
    after = choose(table, "maker")
    assert after.keys() == before.keys()
    assert after["updatedAt"] > before["updatedAt"]
    assert {**after, "updatedAt": ""} == {**before, "updatedAt": ""}


def test_a_hand_edit_names_its_row(table: Table) -> None:
    table.take(LAMP)
    table.edit("A1", {"title": "My\n lamp"})
    assert lines(table) == {"A1": ("My lamp", "A1")}


def test_a_search_finds_a_row_by_its_name_and_by_its_key(table: Table) -> None:
    table.take(LAMP, B, C)
    assert [*lines(table, search="lam")] == ["A1"]
    assert [*lines(table, search="a1")] == ["A1"]
    assert [*lines(table, sort="rowKey", descending=True)] == ["C3", "B2", "A1"]


def test_the_history_calls_rows_as_they_are_called_now(table: Table) -> None:
    table.take(LAMP, B)
    table.take({**LAMP, "title": "Lamp II"}, B)
    told = history(table.store, "local", table.id, Narrowing())
    called = {(each.name, each.beside) for each in told.rows.values()}
    assert called == {("Lamp II", "A1"), ("Chair", "B2")}


def test_the_difference_calls_rows_as_they_are_called_then(table: Table) -> None:
    table.take(LAMP, B)
    table.take({**LAMP, "title": "Lamp II"}, B)
    table.take({**LAMP, "title": "Lamp III"})
    told = diff(table.store, "local", table.id, "1", "3", "UTC")
    assert [str(each.name) for each in told.named] == ["Lamp II (A1)", "Chair (B2)"]
    assert [each["row"] for each in told.rows] == ["A1", "B2"]
    told = diff(table.store, "local", table.id, "3", None, "UTC")
    assert [str(each.name) for each in told.named] == ["Lamp III (A1)", "Chair (B2)"]


@pytest.mark.parametrize(("column", "then"), [("maker", "maker"), ("later", "title")])
def test_another_moment_is_named_by_the_same_column_if_it_was_there(
    table: Table, column: str, then: str
) -> None:
    table.take(LAMP)
    table.add_column("later")
    table.take({**LAMP, "price": 3})
    choose(table, column)
    with snapshot(table.store, "local", table.id, "1") as told:
        assert told.label == table.fields[then]
    with snapshot(table.store, "local", table.id) as told:
        assert told.label == table.fields[column]


def test_a_held_run_calls_rows_as_they_would_be_called(table: Table) -> None:
    items = [{**A, "sku": f"K{number}", "title": f"Lamp {number}"} for number in range(20)]
    table.take(*items)
    attempt = table.begin()
    made_of = [{**items[0], "title": "Lamp of oak"}, {**A, "sku": "N1", "title": "New lamp"}]
    run = table.finish(attempt, pages_of(attempt.recipe, made_of), AcceptancePolicy())
    assert run["status"] == "held"
    with viewing(table.store, "local", attempt.run) as view:
        told = would_change(view, 0, 30)
    assert told is not None
    called = {(each.name, str(each.called)) for each in told.rows}
    assert {("K0", "Lamp of oak (K0)"), ("N1", "New lamp (N1)"), ("K7", "Lamp 7 (K7)")} <= called


def test_a_feed_that_a_reader_knows_is_another_after_a_choice(table: Table, step: Clock) -> None:
    token = feeds.open_feed(table.store, "local", table.id)
    table.take(LAMP)
    before = feeds.head(table.store, table.id, token)
    step(1)
    choose(table, "maker")
    assert feeds.head(table.store, table.id, token).changed_at > before.changed_at
    (entry,) = feeds.news(table.store, table.id).entries
    assert [str(change.name) for change in entry.changes] == ["Oak & Son (A1)"]


@pytest.mark.parametrize(
    ("column", "version", "kept"), [("maker", 2, True), ("", 1, False), (None, 1, False)]
)
def test_an_archive_carries_the_choice_and_without_one_is_what_others_read(
    table: Table, tmp_path: Path, column: str | None, version: int, kept: bool
) -> None:
    table.take(LAMP)
    if column is not None:
        choose(table, column)
    file = tmp_path / "shop.zip"
    export_archive(table.store, "local", table.id, file)
    with zipfile.ZipFile(file) as packed:
        manifest, line = (orjson.loads(packed.read(name)) for name in ("manifest.json", DATASETS))
    assert (manifest["version"], "label_column" in line) == (version, kept)
    (tmp_path / "other").mkdir()
    with closing(made.make_store(tmp_path / "other")) as other:
        with open_archive(file) as archive:
            import_archive(other, "carla", archive, TargetPolicy())
        assert label(table, other, "carla") == label(table)
        assert check_store(other).problems == []


def test_the_store_is_judged_by_what_its_rows_are_named_by(table: Table) -> None:
    with table.store.writing() as writer:
        writer.execute("UPDATE datasets SET label_column = 'title'")
    (problem,) = check_store(table.store).problems
    assert "names its rows by the column title, which it never had" in problem
    # Whatever stands there, rows are named.
    assert label(table) == "title"


def _news(table: Table) -> object:
    return feeds.news(table.store, table.id)


def _history(table: Table) -> object:
    return history(table.store, "local", table.id, Narrowing())


def _difference(table: Table) -> object:
    return diff(table.store, "local", table.id, "0", None, "UTC")


@pytest.mark.parametrize("ask", [_news, _history, _difference, lines])
def test_what_names_a_row_is_asked_once_for_all_rows(
    table: Table, ask: Callable[[Table], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    with table.store.reading() as reader:
        for name in ("row", "rows", "value", "page", "each"):
            monkeypatch.setattr(type(reader), name, _counted(getattr(type(reader), name), asked))
    feeds.open_feed(table.store, "local", table.id)
    table.take(LAMP)
    for _ in range(2):
        asked.clear()
        ask(table)
        few = len(asked)
        table.take(*({**LAMP, "sku": f"K{number}"} for number in range(20)))
    asked.clear()
    ask(table)
    # A feed has one entry more, of one page: not twenty.
    assert len(asked) - few < 10


def _counted(question: Callable[..., Any], asked: list[str]) -> Callable[..., Any]:
    def ask(reader: object, sql: str, **values: object) -> Any:
        asked.append(sql)
        return question(reader, sql, **values)

    return ask
