"""Changes for people: a line per revision, a piece of it per cell."""

from __future__ import annotations

from collections.abc import Mapping

from livedata.cli.output.colours import paint, print_painted
from livedata.cli.output.values import Value, format_inline, format_timestamp
from livedata.model.dataset import Column
from livedata.model.row import Change, ChangePage


def print_lines(page: ChangePage) -> None:
    """Print the revisions of a page, each with its columns as they were named then."""
    # A column that was added later is not in the schema of an earlier revision.
    schemas = {
        schema["version"]: {column["id"]: column for column in schema["fields"]}
        for schema in page["schemas"]
    }
    lines = [_line(change, schemas[change["schemaVersion"]]) for change in page["data"]]
    # Keys and values are escaped where they are written.
    print_painted("\n".join(lines))


def _line(change: Change, columns: Mapping[str, Column]) -> str:
    kind = change["kind"] + (" by hand" if change["origin"] == "user" else "")
    painted = paint(f"{kind:<8}", change["kind"])
    start = f"{change['sequence']:>6}  {format_timestamp(change['createdAt'])}  {painted}"
    fields = [_field(change, field, columns[field]["name"]) for field in change["changedFieldIds"]]
    return "  ".join([start, _key(change, columns), *([", ".join(fields)] if fields else [])])


def _key(change: Change, columns: Mapping[str, Column]) -> str:
    """Write the row's key cells, which no hand edits; a revision has only the row's id."""
    cells = [format_inline(change["data"].get(field)) for field in columns if columns[field]["key"]]
    return " / ".join(cells) or change["rowId"]


def _field(change: Change, field: str, name: str) -> str:
    after = change["data"].get(field)
    if change["before"] is None:
        return format_cell(name, after)
    before, source = change["before"].get(field), change["overrides"].get(field)
    if before == after and source is not None:
        return format_covered_cell(name, after, source["value"])
    return format_changed_cell(name, before, after)


def format_cell(name: str, value: Value) -> str:
    """Write a cell of a new row: an arrow would say that it was empty before."""
    return f"{name}: {format_inline(value)}"


def format_changed_cell(name: str, before: Value, after: Value) -> str:
    """Write a cell that had another value."""
    return f"{name}: {format_inline(before)} → {format_inline(after)}"


def format_covered_cell(name: str, shown: Value, source: Value) -> str:
    """Write a cell that was edited by hand: what people see stays, the source below it moved."""
    return (
        f"{name}: stays {format_inline(shown)}, edited by hand; "
        f"the source now says {format_inline(source)}"
    )
