"""Tables and records: drawn on a terminal, plain and aligned in a pipe; and of which moment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click
from msgspec import Struct

from livedata.cli.output.streams import (
    dim,
    on_terminal,
    paint,
    print_message,
    print_painted,
    print_text,
)
from livedata.cli.output.values import LONGEST, Value, format_value

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from livedata.services.moments import Moment

MARK: Final = " *"
"""The end of a cell that is marked."""
_ADDRESS: Final = ("http://", "https://")
"""The addresses of a site begin alike: cut in the middle, they still say which is which."""


def print_table(
    headings: Sequence[str],
    lines: Sequence[Sequence[Value]],
    *,
    ids: str = "",
    marked: Collection[tuple[int, int]] = (),
    elsewhere: str = "",
    beside: str = "",
) -> Sequence[str]:
    """Print a table; in a pipe every value is whole. Return the headings without a place.

    The column headed `ids` holds ids. On a terminal they are their last group, because lines are
    narrow and commands take the end of an id for the whole. There the cells that are `marked`, by
    line and column, end with a star; the column headed `beside`, the second, stands back behind the
    first, which gives way to it; and whoever calls prints the column headed `elsewhere` if it has
    no place.
    """
    texts = [[format_value(value) for value in line] for line in lines]
    if not on_terminal():
        print_text(_align([list(headings), *texts]))
        return ()
    if ids:
        position = headings.index(ids)
        for line in texts:
            line[position] = _last_group(line[position])
    for number, column in marked:
        texts[number][column] += MARK
    left_out = _draw(headings, texts, beside)
    if told := [heading for heading in left_out if heading != elsewhere]:
        print_message(
            f"Left out for want of room: {', '.join(told)}. A wider terminal, a pipe "
            "(such as | cat) or --json shows all."
        )
    return left_out


def print_record(pairs: Mapping[str, Value]) -> None:
    """Print one thing, a line per property."""
    print_text(_align([[name, format_value(value)] for name, value in pairs.items()]))


def _align(lines: Sequence[Sequence[str]]) -> str:
    """Align columns of whole values; a very long value moves its own line only."""
    widths = [min(max(map(len, column)), LONGEST) for column in zip(*lines, strict=True)]
    # The last column needs no space behind it.
    widths[-1:] = [0]
    return "".join(_pad(line, widths) + "\n" for line in lines)


def _pad(line: Sequence[str], widths: Sequence[int]) -> str:
    padded = (text.ljust(width) for text, width in zip(line, widths, strict=True))
    return "  ".join(padded).rstrip(" ")


def _draw(headings: Sequence[str], lines: Sequence[Sequence[str]], beside: str) -> Sequence[str]:
    """Print a table of the terminal's width: long texts are cut, the last columns left out.

    Return the headings of those.
    """
    # Only a terminal needs the widths of characters, and pays for the import of rich.
    from shutil import get_terminal_size

    from rich.cells import cell_len

    columns = [
        LayoutColumn(
            heading,
            cell_len(heading),
            max(map(cell_len, values), default=0),
            _distinct_width(values) if heading in FIRM else 0,
        )
        for heading, *values in zip(headings, *lines, strict=True)
    ]
    # Characters are not counted: one of Chinese takes two places on a terminal.
    widths = fit_widths(columns, get_terminal_size().columns)
    if beside in headings[len(widths) :]:
        # What commands name a row by is there, though keys that are hardly told apart are wide.
        return [headings[0], *_draw(headings[1:], [line[1:] for line in lines], "")]
    status, back = (
        headings.index(heading) if heading in headings else len(headings)
        for heading in ("status", beside)
    )
    top = click.style(_join_cells(_cut(headings, headings, widths)), bold=True)
    drawn = [top, "─" * (sum(widths) + GAP * len(widths[1:]))]
    for line in lines:
        cells = _cut(headings, line, widths)
        if status < len(cells):
            cells[status] = paint(cells[status], line[status])
        if back < len(cells) and line[back - 1]:
            cells[back] = dim(cells[back])
        drawn.append(_join_cells(cells))
    # format_value has made the cells safe.
    print_painted("\n".join(drawn))
    return headings[len(widths) :]


def fit(text: str, width: int) -> str:
    """Return a text of a line, its end cut if it is wider than `width`."""
    from rich.cells import cell_len

    return text if cell_len(text) <= width else _cut_end(text, width)


def fit_key(key: str, width: int) -> str:
    """Return a key, its middle cut if it is wider than `width`: both ends name the row."""
    from rich.cells import cell_len

    return key if cell_len(key) <= width else _cut_middle(key, width)


def _cut(headings: Sequence[str], texts: Sequence[str], widths: Sequence[int]) -> list[str]:
    """Return the texts that have a column, each exactly as wide as that."""
    return [
        _cut_text(heading, text, width)
        # Texts without a width belong to the columns that were left out.
        for heading, text, width in zip(headings, texts, widths, strict=False)
    ]


def _cut_text(heading: str, text: str, width: int) -> str:
    from rich.cells import cell_len, set_cell_size

    if cell_len(text) <= width:
        return set_cell_size(text, width)
    if text.endswith(MARK):
        whole = text.removesuffix(MARK)
        return _cut_text(heading, whole, width - len(MARK)) + MARK
    return (_cut_middle if heading in FIRM or text.startswith(_ADDRESS) else _cut_end)(text, width)


def _cut_end(text: str, width: int) -> str:
    from rich.cells import set_cell_size

    return set_cell_size(text, width - 1) + "…"


def _distinct_width(keys: Sequence[str]) -> int:
    """Return a width from which on keys that differ still do when they are cut."""
    from rich.cells import cell_len

    width, long = SHORT, {key for key in keys if cell_len(key) > SHORT}
    # Both ends grow with the width, so keys that are told apart once stay so.
    while len({_cut_middle(key, width) for key in long}) < len(long):
        width += width // 4
        long = {key for key in long if cell_len(key) > width}
    return width


def _cut_middle(text: str, width: int) -> str:
    """Cut a key so that both of its ends stay: find_row takes that for the whole."""
    from rich.cells import set_cell_size

    head = (width - 1) // 3
    end = set_cell_size(text[::-1], width - 1 - head)[::-1]
    return f"{set_cell_size(text, head)}…{end}"


def _join_cells(cells: Sequence[str]) -> str:
    return (" " * GAP).join(cells).rstrip(" ")


def _last_group(ident: str) -> str:
    return ident.rpartition("-")[2]


GAP = 2
SHORT = 20
"""Texts up to this length are never cut: a status, a number, a moment, the end of an id."""

LEAST = 12
"""Longer texts and their headings are cut down to this before a column is left out."""

LABEL = 30
"""The percentage of a terminal's width that the first long text has at least."""

FIRM = {"row", "key"}
"""Columns by which commands name a row: cut in the middle, for the ends of addresses differ."""


class LayoutColumn(Struct, frozen=True):
    """One column of a table: its heading, the width of that, and the width of its widest value."""

    heading: str
    heading_width: int
    value_width: int
    distinct_width: int = 0
    """From this width on, values that differ still do when they are cut; 0 if nobody asks."""

    def whole(self) -> int:
        """Return the width at which nothing of it is cut."""
        return max(self.heading_width, self.value_width)

    def least(self) -> int:
        """Return the smallest width that it takes."""
        if self.heading in FIRM:
            return min(self.whole(), max(SHORT, self.distinct_width))
        value = self.value_width if self.value_width <= SHORT else LEAST
        return max(value, min(self.heading_width, LEAST))


def fit_widths(columns: Sequence[LayoutColumn], width: int) -> list[int]:
    """Return the widths of the columns from the left; the others have no place on the terminal.

    The widest column is cut first, and none below the smallest width that it takes.
    """
    least = _least_widths(columns, width)
    # Columns go from the right: the first ones say which thing a line is about.
    count = len(columns)
    while count > 1 and _total(least[:count]) > width:
        count -= 1
    kept, least = columns[:count], least[:count]
    widths = [max(min(column.whole(), width), low) for column, low in zip(kept, least, strict=True)]
    while _total(widths) > width:
        # A column that can still be cut comes before a wider one that cannot.
        widest = max(range(count), key=lambda index: (widths[index] > least[index], widths[index]))
        if widths[widest] <= least[widest]:
            break
        # By one character at a time long columns end at about the same width.
        widths[widest] -= 1
    return widths


def _least_widths(columns: Sequence[LayoutColumn], width: int) -> list[int]:
    least = [column.least() for column in columns]
    # The first long text says most of what a line is about: it stays readable if there is room.
    for index, column in enumerate(columns):
        if column.heading not in FIRM and column.value_width > SHORT:
            readable = max(least[index], min(column.whole(), width * LABEL // 100))
            if _total([*least[:index], readable]) <= width:
                least[index] = readable
            break
    return least


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + GAP * (len(widths) - 1)


def print_moment(moment: Moment) -> None:
    """Print to stderr that a moment is to come, or that there was no table yet."""
    if moment.is_to_come and moment.is_day:
        print_message(
            f"{moment.given} is not over: this is the table as it is now. A day stands for its "
            "end: what came on it came after the day before."
        )
    elif moment.is_to_come:
        print_message(f"{moment.given} is to come: this is the table as it is now.")
    elif moment.sequence == 0:
        print_message(f"{moment.given} is before the first accepted Run: the table is empty.")
