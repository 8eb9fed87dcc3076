"""The columns that are proposed of a list, held against what a person says of its parts."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from selectolax.lexbor import LexborNode

from livedata.extraction.lists.columns import ListColumn
from livedata.extraction.lists.keys import Key
from livedata.extraction.lists.proposal import ProposedList
from livedata.extraction.lists.survey import Survey
from livedata.extraction.selectors import parse
from tests.lists.hidden import Hidden
from tests.lists.parts import Columns, Part

_MOSTLY: Final = 0.9
_NUMBERED: Final = re.compile(r"(\d+(?:\.\d+)*)[.)]?\s+(?P<rest>\D.*)")


class ProposedColumns:
    """What the columns of a proposed list read, record by record, and what is wrong with them."""

    def __init__(self, survey: Survey, proposed: ProposedList, said: Columns) -> None:
        self._page: Final = survey.page
        self._said: Final = said
        self._proposed: Final = proposed
        rows = proposed.rows
        self._members: Final = survey.matcher.select(parse(proposed.selector))[: len(rows)]
        self._nodes: Final = {
            column.name: [
                survey.matcher.first(parse(column.selector), member) if column.selector else member
                for member in self._members
            ]
            for column in proposed.columns
        }
        self._texts: Final = {
            column.name: [row.texts[number] for row in rows]
            for number, column in enumerate(proposed.columns)
        }

    def wrong_key(self) -> str | None:
        """What is wrong with the key, or that there is none; None if a person agrees.

        Where nothing is a key, one that is said to be unsure is right, as no key is.
        """
        key, said = self._proposed.key, self._said
        possible = [part for part in said.identifiers if self._is_filled(part)]
        possible += [parts[0] for parts in said.together if all(map(self._is_filled, parts))]
        keyless = said.keyless or not possible
        if not isinstance(key, Key):
            return None if keyless else f"no key, and {possible[0]} is one"
        if not self._tells_apart(key):
            return "no key that tells all records apart"
        if keyless and not key.sure:
            return None
        columns = [column for column in self._proposed.columns if column.name in key.names]
        left = [column for column in columns if not self._is_identifier(column)]
        sets = [parts for parts in said.together if self._holds(columns, parts)]
        left = [each for each in left if not any(self._is_any(each, parts) for parts in sets)]
        return "; ".join(f"the key reads {self._named(column)}" for column in left) or None

    def wrongly_required(self, names: Collection[str]) -> list[str]:
        """Those of the required columns of which an empty cell would be no fault."""
        read, said = self._proposed, self._said
        keys = read.key.names if isinstance(read.key, Key) else ()
        parts = [
            *said.identifiers,
            *said.required,
            *(part for each in said.together for part in each),
        ]
        return [
            f"{column.name} ({column.read.place}) is required"
            for column in read.columns
            if column.name in names
            and column.name not in keys
            and not self._is_any(column, parts)
            and not any(self._is_around(column, part) for part in parts)
        ]

    def hidden_texts(self) -> list[str]:
        """The columns of which a cell has a text that a person does not see."""
        hidden = Hidden(self._page.tree)
        return [
            f"{column.name} ({column.read.place}) has hidden text"
            for column in self._proposed.columns
            if column.attribute is None
            and any(
                node is not None and text and hidden.is_in(text, node)
                for node, text in zip(
                    self._nodes[column.name], self._texts[column.name], strict=True
                )
            )
        ]

    def _tells_apart(self, key: Key) -> bool:
        keys = list(zip(*(self._texts[name] for name in key.names), strict=True))
        return len(set(keys)) == len(keys) and all(None not in values for values in keys)

    def _holds(self, columns: Sequence[ListColumn], parts: Sequence[str]) -> bool:
        return all(any(self._is(column, part) for column in columns) for part in parts)

    def _named(self, column: ListColumn) -> str:
        why = "never one" if self._is_any(column, self._said.never) else "not said to be one"
        return f"{column.name} ({column.read.place}), {why}"

    def _is_identifier(self, column: ListColumn) -> bool:
        if column.attribute is None and _is_numbered(self._texts[column.name]):
            return False
        return self._is_any(column, self._said.identifiers)

    def _is_any(self, column: ListColumn, parts: Sequence[str]) -> bool:
        return any(self._is(column, part) for part in parts)

    def _is(self, column: ListColumn, written: str) -> bool:
        """Whether a column reads a part: its elements, or the same values."""
        part = Part(self._page, written)
        same = list(self._compared(column, part))
        return len(same) > len(self._members) / 2 and sum(same) >= _MOSTLY * len(same)

    def _is_around(self, column: ListColumn, written: str) -> bool:
        """Whether a column reads a text that has the text of a part, so that it is never empty."""
        part = Part(self._page, written)
        if column.attribute is not None or part.attribute is not None:
            return False
        parts = part.by_record(self._members)
        around = sum(
            any(inner.mem_id == node.mem_id for node in nodes for inner in read.css("*"))
            for number, nodes in parts.items()
            if (read := self._nodes[column.name][number]) is not None
        )
        return around >= _MOSTLY * len(self._members)

    def _compared(self, column: ListColumn, part: Part) -> Iterator[bool]:
        """Whether the column and the part are the same, in each record that has both."""
        for number, nodes in part.by_record(self._members).items():
            read, text = self._nodes[column.name][number], self._texts[column.name][number]
            if read is not None and text is not None:
                same = part.attribute == column.attribute and _is_one(read, nodes)
                yield same or any(_says(part.value(node), text) for node in nodes)

    def _is_filled(self, written: str) -> bool:
        """Whether nearly all of the records that are proposed have a part, not just a number."""
        part = Part(self._page, written)
        parts = part.by_record(self._members).values()
        values = [value for nodes in parts if (value := part.value(nodes[0])) is not None]
        return len(values) >= _MOSTLY * len(self._members) and not _is_numbered(values)


def _is_one(node: LexborNode, nodes: Sequence[LexborNode]) -> bool:
    return any(node.mem_id == other.mem_id for other in nodes)


def _says(value: str | None, text: str) -> bool:
    """Whether a text is that of a part, or that without the number in front that counts it."""
    numbered = _NUMBERED.match(value or "")
    return value == text or (numbered is not None and numbered["rest"] == text)


def _is_numbered(texts: Sequence[str | None]) -> bool:
    """Whether texts begin with numbers that count them, such as those of chapters."""
    matches = [_NUMBERED.match(text) for text in texts if text]
    numbers = [tuple(map(int, match[1].split("."))) for match in matches if match is not None]
    return len(numbers) >= _MOSTLY * len(matches) and numbers == sorted(set(numbers))
