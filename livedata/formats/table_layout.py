"""What stands in the columns of an exported table, in every format."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from livedata.model.dataset import CELL_TYPES, NUMERIC, columns_by_name
from livedata.model.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from livedata.model.dataset import Column, ColumnType
    from livedata.model.row import Row, Scalar

ABOUT: Final = ("rowKey", "status", "presence")
TIMES: Final = ("observedAt", "updatedAt")
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
"""What a formula begins with in a spreadsheet."""


class Heading(NamedTuple):
    """A column of an export: its name, the type of its values, and what people are told of it."""

    name: str
    type: ColumnType
    label: str = ""
    description: str = ""
    key: bool = False

    @property
    def holds(self) -> str:
        """What its values are in the words of a data package, such as ``number`` or ``uri``."""
        if self.type in NUMERIC:
            return "number"
        described = CELL_TYPES[self.type].package
        return "uri" if described.get("format") == "uri" else described["type"]


class TableLayout:
    """The columns of an export, and the values of a row in their order.

    Ours come first, then those of the dataset, with `times` last when rows were seen and changed.
    Where `only` names columns of the dataset, these alone are there. With `safe` no text is one
    that a spreadsheet takes for a formula. Raises Invalid for a name that no column has.
    """

    def __init__(
        self,
        columns: Sequence[Column],
        *,
        times: bool = False,
        only: Sequence[str] | None = None,
        safe: bool = False,
    ) -> None:
        chosen = columns if only is None else _chosen(columns, only)
        names = [column["name"] for column in chosen]
        # A column's name begins with a letter, so what begins with an underscore never is one.
        about, last = (
            [f"_{name}" if name in names else name for name in own] for own in (ABOUT, TIMES)
        )
        self._fields = [column["id"] for column in chosen]
        self._about = only is None
        self._times = times
        self._safe = safe
        self.headings = [
            *(Heading(name, "string") for name in about if self._about),
            *(_heading(column) for column in chosen),
            *(Heading(name, "date") for name in last if times),
        ]

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [heading.name for heading in self.headings]

    def values(self, row: Row) -> list[Scalar]:
        """What a row has in each column."""
        about: list[Scalar] = [row["rowKey"], row["status"], row["presence"]] if self._about else []
        last = [row["observedAt"], row["updatedAt"]] if self._times else []
        # A row of another moment may have fewer columns.
        values = [*about, *(row["data"].get(field) for field in self._fields), *last]
        return no_formulas(values) if self._safe else values


def as_moment(text: str) -> datetime:
    """A date as an instant: a day is its midnight in UTC, a time without a zone is in UTC."""
    moment = datetime.fromisoformat(text)
    with suppress(OverflowError):  # on the first day that there is, east of UTC
        moment = moment.astimezone(UTC) if moment.tzinfo else moment
    return moment.replace(tzinfo=UTC)


def no_formulas(values: Iterable[Scalar]) -> list[Scalar]:
    """Values of which a spreadsheet takes none for a formula: an apostrophe is before such ones."""
    return [
        f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
        for value in values
    ]


def _chosen(columns: Sequence[Column], only: Sequence[str]) -> list[Column]:
    by_name = columns_by_name(columns)
    for name in only:
        if name not in by_name:
            raise Invalid(f"There is no column {name!r}. There is: {', '.join(by_name)}.")
    return [by_name[name] for name in dict.fromkeys(only)]


def _heading(column: Column) -> Heading:
    return Heading(
        column["name"],
        column["type"],
        column["label"],
        column.get("description", ""),
        column["key"],
    )
