"""Changes for people: a line per revision, a piece of it per cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from shutil import get_terminal_size
from typing import NamedTuple

from livedata.cli.output.streams import dim, on_terminal, paint, print_painted
from livedata.cli.output.tables import SHORT, fit, fit_key
from livedata.cli.output.values import (
    EMPTY,
    Value,
    format_inline,
    format_name,
    format_timestamp,
    format_value,
)
from livedata.model.dataset import Column, columns_by_id
from livedata.model.row import Change, ChangePage
from livedata.model.row_name import RowName, name_row
from livedata.services.moments import NamedDiff

_BELOW = " " * 8
"""What stands before a cell that has no place behind the key of its row."""


def print_lines(page: ChangePage, label: str | None) -> None:
    """Print the revisions of a page, each with its columns as they were named then.

    The texts of the field `label` name the rows.
    """
    # A column that was added later is not in the schema of an earlier revision.
    schemas = {schema["version"]: columns_by_id(schema["fields"]) for schema in page["schemas"]}
    width = get_terminal_size().columns if on_terminal() else None
    lines = [
        _line(change, schemas[change["schemaVersion"]], label, width) for change in page["data"]
    ]
    # Keys and values are escaped where they are written.
    print_painted("\n".join(lines))


def print_differences(differences: Sequence[NamedDiff]) -> None:
    """Print what became of each row between two moments."""
    width = get_terminal_size().columns if on_terminal() else None
    print_painted("\n".join(_difference(difference, width) for difference in differences))


def _difference(difference: NamedDiff, width: int | None) -> str:
    kind, changed = difference.diff["kind"], difference.diff["changed"]
    if kind == "new":
        values = [format_cell(name, cell["after"]) for name, cell in changed.items()]
        # All that a new row says stands together: nothing of it is beside what was before.
        cells: list[Sequence[str]] = [(", ".join(values),)]
    else:
        cells = [_changed(name, cell["before"], cell["after"]) for name, cell in changed.items()]
    row = _Line(f"{kind:<7}", kind, difference.name, width)
    return row.write(cells)


def _line(
    change: Change, columns: Mapping[str, Column], label: str | None, width: int | None
) -> str:
    """Write a revision; in a pipe, without a `width`, as one line with all of it."""
    kind = change["kind"] + (" by hand" if change["origin"] == "user" else "")
    moment = f"{change['sequence']:>6}  {format_timestamp(change['createdAt'])}"
    cells = [_pieces(change, field, columns[field]["name"]) for field in change["changedFieldIds"]]
    name = name_row(" / ".join(_key(change, columns)), change["data"], label)
    row = _Line(f"{kind:<8}", change["kind"], name, width, f"{moment}  ")
    if change["before"] is not None:
        return row.write(cells)
    # A new row needs one line: its name and its key say already which it is.
    others = [
        field
        for field in change["changedFieldIds"]
        if not (columns[field]["key"] or (field == label and name.beside))
    ]
    told = ", ".join(format_cell(columns[f]["name"], change["data"].get(f)) for f in others)
    return row.write(cells, below=[(told,)] if told else [])


class _Line(NamedTuple):
    """What a line begins with: words of some width, the kind in its colour, and the row."""

    words: str
    kind: str
    name: RowName
    width: int | None
    moment: str = ""

    def write(
        self, cells: Sequence[Sequence[str]], below: Sequence[Sequence[str]] | None = None
    ) -> str:
        """Write the cells behind the row; without room below it, or what stands for them there."""
        told = ", ".join(" ".join(pieces) for pieces in cells)
        start = f"{self.moment}{paint(self.words, self.kind)}"
        taken = len(f"{self.moment}{self.words}  ")
        whole = f"{format_value(str(self.name))}  {told}"
        if self.width is None or taken + len(whole) <= self.width:
            return "  ".join([start, format_name(self.name), *([told] if told else [])])
        room = self.width - len(_BELOW)
        lines = [
            text for pieces in (cells if below is None else below) for text in _broken(pieces, room)
        ]
        return "\n".join(
            [
                f"{start}  {self._fitting(max(self.width - taken, SHORT))}",
                *(f"{_BELOW}{fit(text, room)}" for text in lines),
            ]
        )

    def _fitting(self, room: int) -> str:
        """Return the name and the key, both cut as far as there is room: the key last."""
        name, beside = format_value(self.name.name), format_value(self.name.beside)
        if not beside:
            return fit_key(name, room)
        key = fit_key(beside, max(min(SHORT, room // 2), room - len(f"{name} ()")))
        return f"{fit(name, room - len(f' ({key})'))} {dim(f'({key})')}"


def _broken(pieces: Sequence[str], room: int) -> Sequence[str]:
    """Return the lines of a cell: one if it fits, else one for each piece."""
    whole = " ".join(pieces)
    return [whole] if len(whole) <= room else [pieces[0], *(f"  {each}" for each in pieces[1:])]


def _key(change: Change, columns: Mapping[str, Column]) -> list[str]:
    """Write the row's key cells, which no hand edits; a revision has only the row's id."""
    keys = [field for field in columns if columns[field]["key"]]
    return [format_value(change["data"].get(field)) or EMPTY for field in keys] or [change["rowId"]]


def _pieces(change: Change, field: str, name: str) -> Sequence[str]:
    """Write a cell, in the parts in which it may stand on lines of its own."""
    after = change["data"].get(field)
    if change["before"] is None:
        return (format_cell(name, after),)
    before, source = change["before"].get(field), change["overrides"].get(field)
    if before == after and source is not None:
        return _covered(name, after, source["value"])
    return _changed(name, before, after)


def format_cell(name: str, value: Value) -> str:
    """Write a cell of a new row: an arrow would say that it was empty before."""
    return f"{name}: {format_inline(value)}"


def format_changed_cell(name: str, before: Value, after: Value) -> str:
    """Write a cell that had another value."""
    return " ".join(_changed(name, before, after))


def format_covered_cell(name: str, shown: Value, source: Value) -> str:
    """Write a cell that was edited by hand: what people see stays, the source below it moved."""
    return " ".join(_covered(name, shown, source))


def _changed(name: str, before: Value, after: Value) -> Sequence[str]:
    return f"{name}: {format_inline(before)} →", format_inline(after)


def _covered(name: str, shown: Value, source: Value) -> Sequence[str]:
    return (
        f"{name}: stays {format_inline(shown)}, edited by hand;",
        f"the source now says {format_inline(source)}",
    )
