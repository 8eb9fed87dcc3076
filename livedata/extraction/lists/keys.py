"""What tells the records of a list apart, tomorrow too."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, islice, product
from typing import Final, Literal

from msgspec import Struct, field

from livedata.extraction.derived_names import HEADER, INDEX, TERM, UNNUMBERED_TERM
from livedata.extraction.lists.columns import ListColumn
from livedata.extraction.lists.identity.addresses import moving
from livedata.extraction.lists.identity.natures import Nature, is_address, nature
from livedata.extraction.selectors import parse
from livedata.extraction.text import names
from livedata.model.row import Scalar

Why = Literal["not_filled", "not_unique", "moving", "person", "ago", "price", "count", "generated"]
"""What is wrong with a column as a key, whatever else there is."""

Standing = Literal[
    "id", "main", "code", "name",
    "beside", "text", "several", "numbered", "prose", "image", "several_of_today", "moment",
    "figure", "place",
]  # fmt: skip
"""How much a key is an identifier by its nature, the surest first; from `beside` on it is unsure.

`beside` is a link that is not the main one, `several` are columns together.
"""

_ORDER: Final[Sequence[Standing]] = Standing.__args__  # type: ignore[attr-defined]
_SURE: Final = _ORDER[:4]
_LASTING: Final = _ORDER[:6]
_OF_TODAY: Final = ("prose", "moment", "figure")
_UNSURE: Final[Mapping[Nature, Standing]] = {
    "person": "text",
    "numbered": "numbered",
    "prose": "prose",
    "image": "image",
    "moment": "moment",
    "figure": "figure",
    "place": "place",
}
_NEVER: Final[Mapping[Nature, Why]] = {
    "person": "person",
    "ago": "ago",
    "price": "price",
    "count": "count",
    "generated": "generated",
}
_TITLES: Final = re.compile(
    r"(?:.*_)?(?:title|name|term|heading|subject|label|package|module)(?:_\d+)?"
)
_NAMES: Final = re.compile(r"(?:.*_)?(?:name|title)(?:_\d+)?")
_TERMS: Final = (TERM, UNNUMBERED_TERM)
_NAMING: Final = names("dt h1 h2 h3 h4 h5 h6")
"""What names a record, if it has but one."""
_VARIED: Final = 0.5
_A_FEW: Final = 0.25
_DIGIT: Final = re.compile(r"\d")
_TOGETHER: Final = 6
"""So many columns are tried in pairs, and one less by threes."""


class Key(Struct, frozen=True):
    """The names of the columns that tell the records apart, and how sure they are.

    `passed` are columns with a link that would be better if its address did not follow the place in
    the list or the visit, each with the parameter that does.
    """

    names: tuple[str, ...]
    standing: Standing
    passed: Mapping[str, str] = field(default_factory=dict)

    @property
    def sure(self) -> bool:
        """Whether it is an identifier by its nature."""
        return self.standing in _SURE


class NoKey(Struct, frozen=True):
    """Why no column does: of each that was near, what is wrong with it."""

    reasons: Mapping[str, Why]


class _Candidate(Struct, frozen=True):
    """A column with what it is, and what is wrong with it as a key by itself, if anything is."""

    column: ListColumn
    nature: Nature
    values: Sequence[Scalar]
    why: Why | None
    parameter: str | None

    @property
    def name(self) -> str:
        return self.column.name


_Ranked = tuple[Standing, Sequence[_Candidate]]


def find_key(
    columns: Sequence[ListColumn], rows: Sequence[Sequence[Scalar]], first: int | None = None
) -> Key | NoKey:
    """The key of rows, each with a value for each column: what will change the least.

    The `first` of the rows are of the first page; all are if it is None.
    """
    ranked = _ranked(columns, rows, first)
    key = next(_keys(ranked, len(rows)), None)
    if key is not None:
        return key
    return NoKey(
        {candidate.name: candidate.why for _, (candidate,) in ranked if candidate.why is not None}
    )


def proven_keys(
    columns: Sequence[ListColumn],
    rows: Sequence[Sequence[Scalar]],
    first: int | None = None,
    most: int = 5,
) -> list[Key]:
    """The first `most` of all that tell rows apart, what will change the least first."""
    return list(islice(_keys(_ranked(columns, rows, first), len(rows)), most))


def _ranked(
    columns: Sequence[ListColumn], rows: Sequence[Sequence[Scalar]], first: int | None
) -> Sequence[_Ranked]:
    """Each column, the one that is most an identifier first."""
    candidates = _candidates(columns, rows, len(rows) if first is None else first)
    return sorted(_standings(candidates), key=_rank)


def _keys(ranked: Sequence[_Ranked], count: int) -> Iterator[Key]:
    """What tells so many rows apart, alone or together."""
    passed = {
        candidate.name: candidate.parameter
        for standing, (candidate,) in ranked
        if standing == "main" and candidate.parameter is not None
    }
    alone = [each for each in ranked if each[1][0].why is None]
    for standing, chosen in sorted([*alone, *_several(ranked)], key=_rank):
        together = set(zip(*(candidate.values for candidate in chosen), strict=True))
        if len(together) == count:
            names = tuple(candidate.name for candidate in chosen)
            yield Key(names, standing, {} if standing == "id" else passed)


def titles(columns: Sequence[ListColumn], rows: Sequence[Sequence[Scalar]]) -> Sequence[str]:
    """The name of the column with the title of the records, if all of them have one."""
    named = [
        candidate
        for standing, (candidate,) in _standings(_candidates(columns, rows, len(rows)))
        if standing == "name" and candidate.why != "not_filled"
    ]
    named.sort(key=lambda candidate: not candidate.column.main)
    return [candidate.name for candidate in named[:1]]


def _candidates(
    columns: Sequence[ListColumn], rows: Sequence[Sequence[Scalar]], first: int
) -> list[_Candidate]:
    values = [[row[position] for row in rows] for position in range(len(columns))]
    natures = [
        _nature(column, said, first=position == 0)
        for position, (column, said) in enumerate(zip(columns, values, strict=True))
    ]
    people = {
        column.selector
        for column, what in zip(columns, natures, strict=True)
        if what == "person" and column.attribute == "href"
    }
    return [
        _candidate(column, "person" if column.selector in people else what, said, first)
        for column, what, said in zip(columns, natures, values, strict=True)
    ]


def _nature(column: ListColumn, values: Sequence[Scalar], *, first: bool) -> Nature:
    texts = [str(value) for value in values if value is not None]
    what = nature(column.name, column.attribute, column.kind, texts)
    about = column.main or (what == "person" and first and HEADER in column.selector)
    if about and what in {"person", "prose"}:
        # In a list of people what leads to them, or stands first, is what it is about.
        return "text" if column.is_text else "link"
    return what


def _candidate(
    column: ListColumn, what: Nature, values: Sequence[Scalar], first: int
) -> _Candidate:
    texts = [str(value) for value in values if value is not None]
    parameter = moving(texts, min(first, len(texts))) if column.attribute == "href" else None
    why: Why | None = None
    if len(texts) < len(values):
        why = "not_filled"
    elif parameter is not None:
        why = "moving"
    elif what in _NEVER:
        why = _NEVER[what]
    elif len(set(texts)) < len(texts):
        why = "not_unique"
    return _Candidate(column, what, values, why, parameter)


def _rank(ranked: _Ranked) -> int:
    return _ORDER.index(ranked[0])


def _standings(candidates: Sequence[_Candidate]) -> Iterator[_Ranked]:
    """Each column with how much it is an identifier."""
    texts = [
        candidate.name
        for candidate in candidates
        if candidate.nature in {"text", "prose"}
        and candidate.column.is_text
        and candidate.why != "not_filled"
        # "New!" on many of them is not what they are called.
        and len(set(candidate.values)) > _A_FEW * len(candidate.values)
    ]
    several = {_tag(candidate.column) for candidate in candidates if _is_second(candidate.column)}
    for candidate in candidates:
        leading = texts[:1] == [candidate.name]
        standing = _standing(candidate.column, candidate.nature, candidate.values, leading=leading)
        # The first of several terms is not the name of a record that has them all, nor is a text
        # that has more than the name in it, nor an address that a link shows.
        other = _tag(candidate.column) in several or any(
            _is_in(each, candidate) for each in candidates
        )
        other = other or all(is_address(str(value)) for value in candidate.values)
        yield "text" if standing == "name" and other else standing, (candidate,)


def _is_in(name: _Candidate, texts: _Candidate) -> bool:
    """Whether a column reads the names that stand in another one's texts, with more around them."""
    return (
        name.why is None
        and bool(_NAMES.fullmatch(name.name))
        and all(
            text != within and str(within) in str(text)
            for within, text in zip(name.values, texts.values, strict=True)
        )
    )


def _is_second(column: ListColumn) -> bool:
    """Whether it reads a second term or heading of a record."""
    return _tag(column) in _NAMING and column.selector.endswith(f'[{INDEX}="2"]')


def _tag(column: ListColumn) -> str | None:
    """The tag that its selector names."""
    return parse(column.selector).steps[-1].compound.tag if column.selector else None


def _standing(
    column: ListColumn, what: Nature, values: Sequence[Scalar], *, leading: bool
) -> Standing:
    """How much a column is an identifier; the `leading` text is the first that all records have.

    The `id` of an element is after the link of the title, since a program may have made it, unless
    it is the name of a place in a document: `mailing-lists`.
    """
    if what == "link":
        return "main" if column.main else "beside"
    if what == "code":
        lasting = column.main or column.attribute != "id" or _are_names(values)
        return "id" if lasting and not column.selector else "code"
    if what == "text":
        named = column.main or leading or column.attribute in _TERMS
        return "name" if named or _TITLES.fullmatch(column.name) else "text"
    return _UNSURE.get(what, "place")


def _are_names(values: Sequence[Scalar]) -> bool:
    """Whether most values are words without a number."""
    return sum(_DIGIT.search(str(value)) is None for value in values) > _VARIED * len(values)


def _several(ranked: Sequence[_Ranked]) -> Iterator[_Ranked]:
    """Columns that may do together, though each of them repeats.

    Without a name or a main link among them they say nothing of the record itself.
    """
    parts = [
        (standing, candidate)
        for standing, (candidate,) in ranked
        if candidate.why in {"not_unique", "person"} and standing in _LASTING
    ]
    two = combinations(parts[:_TOGETHER], 2)
    three = combinations(parts[: _TOGETHER - 1], 3)
    for chosen in (*two, *three):
        named = any(standing in _SURE for standing, _ in chosen)
        yield "several" if named else "several_of_today", [candidate for _, candidate in chosen]
    of_today = [
        candidate
        for _, (candidate,) in ranked
        if candidate.nature in _OF_TODAY and candidate.why in {None, "not_unique"}
    ]
    for candidate in of_today:
        yield from (("several_of_today", (part, candidate)) for _, part in parts[:_TOGETHER])
    # Where nothing lasts, a text with what is said of it: a version, better than another text.
    texts = [each for each in of_today if each.nature == "prose"][:_TOGETHER]
    others = sorted(of_today, key=lambda each: each.nature == "prose")[:_TOGETHER]
    for text, other in product(texts, others):
        if text is not other:
            yield "several_of_today", (text, other)
