"""Whatever happened to a dataset, its pages show what the API answers."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from selectolax.lexbor import LexborHTMLParser, LexborNode

from livedata.messages.notice_events import BECAME
from livedata.model import ids
from livedata.model.row_name import name_of
from livedata.services import queries, retention
from tests import made
from tests.api.conftest import over
from tests.browsing.visitor import Visitor
from tests.services.table import A, B, C, Table
from tests.services.test_feed_laws import COLUMNS, STEPS, perform

if TYPE_CHECKING:
    from collections.abc import Collection

    from flask import Flask

    from livedata.model.dataset import Column
    from livedata.model.row import Change, Row, Scalar
    from livedata.store.database.store import Store

EMPTY = {"not_found": "not found", "extraction_failed": "unreadable", None: "empty"}


def written(value: Scalar, reason: str | None = None) -> str:
    """A cell as a person reads it."""
    match value:
        case None:
            return EMPTY[reason]
        case bool():
            return "yes" if value else "no"
        case str():
            # A page has one kind of line end, and its markup may end with a space.
            return value.replace("\r\n", "\n").replace("\r", "\n").strip()
        case _:
            return str(value).removesuffix(".0")


def cut(text: str) -> str:
    """As a table has a long text."""
    return text if len(text) <= 300 else f"{text[:300]}…"


def shared(text: str) -> str:
    """As a change has a text that two values share: of a long one the ends."""
    if len(text) <= 600:
        return text
    return f"{text[:80]} … {len(text) - 160:,} characters as before … {text[-80:]}"


def text(node: LexborNode) -> str:
    """What a part of a page says; of a long text all of it."""
    for summary in node.css("summary"):
        summary.decompose()
    return node.text()


def part(node: LexborNode | LexborHTMLParser, selector: str) -> LexborNode:
    """The first part of a page that a selector matches."""
    match = node.css_first(selector)
    assert match is not None
    return match


def table_of(page: str) -> list[dict[str, Any]]:
    """The rows of a table as its page shows them."""
    rows = []
    for line in LexborHTMLParser(page).css("table.cells tbody tr"):
        *cells, status, _ = line.css("td")
        (named,) = line.css("th")
        marks = [[text(mark).strip() for mark in cell.css("span.mark")] for cell in (named, *cells)]
        for cell in cells:
            for mark in cell.css("span.mark"):
                mark.decompose()
        name, *beside = (each.text() for each in named.css("a bdi"))
        rows.append(
            {
                "key": [*beside, name][0],
                "name": name,
                "gone": "gone" in (line.attributes.get("class") or ""),
                "status": status.text(),
                "cells": [text(cell).strip() for cell in cells],
                "marks": marks,
            }
        )
    return rows


def table_by_api(table: Table, columns: list[Column]) -> list[dict[str, Any]]:
    """The same by what the API answers."""
    last = {change["rowId"]: change for change in table.feed()}
    rows = queries.every_row(table.store, "local", table.id)
    return [row_by_api(row, last[row["id"]], columns) for row in rows]


def row_by_api(row: Row, last: Change, columns: list[Column]) -> dict[str, Any]:
    marks = []
    label, *_ = columns
    for field in (column["id"] for column in columns):
        mark = ["edited by hand"] if field in last["overrides"] else []
        before = last["before"] or {}
        changed = row["status"] == "changed" and field in last["changedFieldIds"]
        # Nothing stood in a column that was added since.
        if changed and field in before and before[field] != row["data"][field]:
            mark.append(f"was {cut(written(before[field]))}".strip())
        # The cell that names a row stands in no column again.
        if field == label["id"] and row["data"][field] is None:
            mark.insert(0, f"{label['label']}: {written(None, row['missingReasons'].get(field))}")
        marks.append(mark)
    return {
        "key": row["rowKey"],
        "name": name_of(row["data"][label["id"]]) or row["rowKey"],
        "gone": row["presence"] == "missing",
        # Most rows are unchanged: the others are to be seen.
        "status": row["status"].replace("unchanged", ""),
        "cells": [
            cut(written(row["data"][column["id"]], row["missingReasons"].get(column["id"])))
            for column in columns[1:]
        ],
        "marks": marks,
    }


def hold(table: Table, visitor: Visitor) -> None:
    """The law: of the table, of each status, of the changes, and of each row."""
    path = f"/datasets/{ids.format_uuid(table.id)}"
    columns = [column for column in table.dataset["columns"] if not column["key"]]
    columns.sort(key=lambda column: column["name"] != "title")  # which names the rows
    expected = sorted(table_by_api(table, columns), key=lambda row: row["key"])
    for query in ("", "?sort=rowKey", "?sort=rowKey&order=down"):
        shown = table_of(visitor.get(f"{path}{query}"))
        assert sorted(shown, key=lambda row: row["key"]) == expected
    for status, number in Counter(row["status"] for row in expected).items():
        shown = table_of(visitor.get(f"{path}?status={status or 'unchanged'}"))
        assert len(shown) == number
        assert {row["status"] for row in shown} == {status}
    whole = table.feed()[::-1]
    shown_changes = changes_of(visitor.get(f"{path}/changes"))
    labels = {column["id"]: column["label"] for column in table.dataset["columns"]}
    rows = [*queries.every_row(table.store, "local", table.id)]
    called = {
        row["id"]: {row["rowKey"], name_of(row["data"][columns[0]["id"]]) or row["rowKey"]}
        for row in rows
    }
    assert shown_changes == [
        change_by_api(change, labels, called[change["rowId"]]) for change in whole[:50]
    ]
    for row in rows:
        own = [change for change in whole if change["rowId"] == row["id"]]
        answer = visitor.as_json(f"{path}/rows/{row['id']}")
        assert [change["id"] for change in answer["changes"]] == [change["id"] for change in own]


def changes_of(page: str) -> list[dict[str, Any]]:
    """The changes as their page shows them: of each cell what stood there, and what does."""
    told = []
    for line in LexborHTMLParser(page).css("table tbody tr:not(.occasion)"):
        kind, cells, number = line.css("td:not(.when)")
        told.append(
            {
                "sequence": number.text().strip(),
                "kind": kind.text().strip(),
                "cells": {
                    part(cell, "bdi").text(): sides(cell)
                    for cell in cells.css("div:not(.mark)")
                    if cell.parent is not None and cell.parent.tag == "td"
                },
            }
        )
    return told


def sides(cell: LexborNode) -> tuple[str, str]:
    """What stood in a cell and what stands there: without what came, and without what left."""
    markup = cell.html or ""
    both = []
    for tag in ("ins", "del"):
        side = LexborHTMLParser(re.sub(rf"<{tag}>.*?</{tag}>", "", markup, flags=re.DOTALL))
        node = part(side, "div")
        part(node, "bdi").decompose()
        for mark in node.css("div.mark"):
            mark.decompose()
        both.append(text(node).strip().removeprefix(":").strip(" →\n\t").strip())
    return both[0], both[1]


def change_by_api(
    change: Change, labels: dict[str, str], called: Collection[str]
) -> dict[str, Any]:
    """A change as its page shows it, of a row that is called so: its name and its key."""
    before, cells = change["before"] or {}, {}
    # A row that is new or gone has its cells once, without those by which it is called.
    telling = [field for field in change["data"] if change["data"][field] not in called]
    match change["kind"]:
        case "missing":
            last = [field for field in telling if change["data"][field] is not None]
            cells = {labels[field]: (written(change["data"][field]),) * 2 for field in last[:4]}
        case "created":
            reasons = change["missingReasons"]
            for field in filter(telling.__contains__, change["changedFieldIds"]):
                stands = written(change["data"][field], reasons.get(field))
                cells[labels[field]] = stands, stands
        case _:
            for field in change["changedFieldIds"]:
                stood = written(before[field]) if field in before else ""
                stands = written(change["data"][field])
                # An edit may cover what a Run has read anew: the cell says what it said.
                cells[labels[field]] = (stood, stands) if stood != stands else (shared(stood),) * 2
    return {"sequence": str(change["sequence"]), "kind": BECAME[change["kind"]], "cells": cells}


@pytest.fixture
def visitor(app: Flask, store: Store) -> Visitor:
    return Visitor.meet(app, store, "local")


def declared() -> Any:
    body: Any = made.declared(columns=COLUMNS)
    body["source"]["minimumItems"] = 0
    return body


def test_rows_that_change_vanish_return_and_are_edited(
    visitor: Visitor, store: Store, clock: Any
) -> None:
    table = Table(store, declared())
    table.take(A, B, C)
    table.take({**A, "price": 11}, {**B, "title": "Another <b>table</b>"})
    table.edit("A1", {"note": "mine", "price": 12})
    hold(table, visitor)
    perform(table, ("run", [{"a": {"title": None, "price": 2.5}}], True))
    table.add_column("extra")
    table.edit("B2", {"extra": "x", "title": None})
    hold(table, visitor)
    table.take({**A, "price": 13, "title": "An old lamp"}, B, {**C, "price": 8})
    table.edit("A1", reset=["price"])
    hold(table, visitor)
    clock(100 * 86_400)
    retention.forget_old(store)
    visitor.sign_in()
    hold(table, visitor)
    with store.writing() as writer:  # as those have it that older versions wrote
        writer.execute("UPDATE revisions SET was = NULL")
    hold(table, visitor)


@pytest.mark.slow
@settings(
    max_examples=20,
    deadline=None,
    phases=[each for each in Phase if each is not Phase.explain],
    suppress_health_check=list(HealthCheck),
)
@given(steps=STEPS)
def test_the_law_holds_for_any_history(application: Flask, steps: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as home, closing(made.make_store(Path(home))) as store:
        made.meet_owner(store, "local", 1000)
        for app in over(application, store):
            table = Table(store, declared())
            visitor = Visitor.meet(app, store, "local")
            for step in steps:
                perform(table, step)
            hold(table, visitor)
