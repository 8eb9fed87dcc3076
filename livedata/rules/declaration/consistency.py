"""What a declaration must hold beyond its shape: interface 2.2, 2.3 and 4.1.

All problems are reported at once, in the order of the document: a person can mend them in one go.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, get_args

from livedata.extraction import selectors
from livedata.extraction.derived_names import DERIVED, is_derived
from livedata.messages.request import format_choices, format_value, invalid, nearest, predicate
from livedata.model.dataset import CollectedType, columns_by_id
from livedata.model.errors import Detail, Invalid
from livedata.model.recipe import numbered_url
from livedata.model.row_name import found_by, may_name_rows
from livedata.model.source import NextLink, SourceKey, UrlPattern
from livedata.rules.network.targets import url_problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from livedata.model.dataset import Column
    from livedata.model.problem import Problem
    from livedata.model.requests import CreateDataset
    from livedata.model.source import ColumnUpdate, NewColumn, Source, SourceRead
    from livedata.rules.network.targets import TargetPolicy


# Only the shape: a name may not look like an id, of whichever version of UUID.
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_COLLECTED_TYPES = get_args(CollectedType)


def check(declared: CreateDataset, targets: TargetPolicy) -> None:
    """Raise Invalid with all that is wrong with `declared`: interface 2.2 and 2.3."""
    source, columns = declared.source, declared.columns
    _raise(
        [
            *_columns(columns),
            *_url(source, targets),
            *selector_details("source.itemSelector", source.item_selector),
            *_fields(source, columns),
            *_identity(source, columns),
            *_pagination(source, targets),
            *_counts(source),
        ]
    )


def check_name(name: str) -> None:
    """Raise Invalid for a name that a command line could confuse with something else.

    The API itself takes any name (rules 4.11); this is for people who type it.
    """
    _raise(list(_name(name)))


def check_columns_sent(wanted: Sequence[ColumnUpdate]) -> None:
    """Raise Invalid for columns that are wrong in an update, whichever columns there are now."""
    problems = list(_repeated_names(wanted))
    for place, column in enumerate(wanted):
        if column.id is None:
            problems += _added(f"columns[{place}]", column, None)
        elif column.id in {above.id for above in wanted[:place]}:
            problems.append(_repeated_id(place))
    _raise(problems)


def check_columns_update(current: Sequence[Column], wanted: Sequence[ColumnUpdate]) -> None:
    """Raise Invalid if `wanted` does more than relabel and reorder columns and add user columns.

    Implements the column rules of PATCH, interface 4.1.
    """
    by_id = columns_by_id(current)
    left_out = {old["name"]: old for old in current if old["id"] not in {c.id for c in wanted}}
    repeated = {detail.path: detail for detail in _repeated_names(wanted)}
    problems: list[Detail] = []
    seen: set[str] = set()
    for place, column in enumerate(wanted):
        path = f"columns[{place}]"
        if column.id is None:
            # A column without id that has the name of one left out: its id was forgotten. It
            # is popped, so that it is not reported as left out too.
            problems += _added(path, column, left_out.pop(column.name, None))
        elif column.id in seen:
            problems.append(_repeated_id(place))
        elif column.id not in by_id:
            problems.append(Detail(f"{path}.id", "is not the id of a column of this dataset"))
        else:
            problems += _kept(path, column, by_id[column.id])
        seen.add(column.id or "")
        problems += [repeated[f"{path}.name"]] if f"{path}.name" in repeated else []
    for old in left_out.values():
        why = f'leaves out the column "{old["name"]}" (id {old["id"]}): every column must be kept'
        problems.append(Detail("columns", why))
    _raise(problems)


def chosen_label(columns: Sequence[Column], given: str) -> Column:
    """The column of a name, by whose texts rows are to be named. Raises Invalid if it cannot be."""
    if found_by(columns) is not None:
        raise _wrong_label("Rows of research are named by what was found; no column is chosen.")
    column = next((column for column in columns if column["name"] == given), None)
    if column is None:
        names = ", ".join(each["name"] for each in columns)
        raise _wrong_label(f"There is no column {given!r}. There is: {names}.")
    if may_name_rows(column):
        return column
    why = (
        "is a part of the key, which stands beside each name already"
        if column["key"]
        else f"is a {column['type']} column, and rows are named by text"
    )
    texts = [column["name"] for column in columns if may_name_rows(column)]
    choose = f"choose a text column: {', '.join(texts)}" if texts else "there is none"
    raise _wrong_label(f"{given} {why}; {choose}.")


def _wrong_label(sentence: str) -> Invalid:
    return Invalid(sentence, (Detail("labelColumn", sentence, is_predicate=False),))


def _raise(problems: list[Detail]) -> None:
    if problems:
        raise invalid(problems)


def _name(name: str) -> Iterator[Detail]:
    if name != name.strip():
        yield Detail("name", f"must not begin or end with white space, not {format_value(name)}")
    # Control characters and line separators would break a line of output in two.
    separators = (char for char in name if unicodedata.category(char) in {"Cc", "Zl", "Zp"})
    control = next(separators, None)
    if control is not None:
        yield Detail("name", f"must not contain the control character U+{ord(control):04X}")
    if _UUID.fullmatch(name):
        why = "must not look like an id: a name that is an id would hide the dataset with that id"
        yield Detail("name", why)


def _columns(columns: Sequence[NewColumn]) -> Iterator[Detail]:
    repeated = {detail.path: detail for detail in _repeated_names(columns)}
    for place, column in enumerate(columns):
        path = f"columns[{place}]"
        if f"{path}.name" in repeated:
            yield repeated[f"{path}.name"]
        if column.ownership == "collected" and column.type not in _COLLECTED_TYPES:
            why = f"must be {format_choices(_COLLECTED_TYPES)} in a collected column"
            yield Detail(f"{path}.type", f'{why}, not "{column.type}"')
        if column.ownership == "user" and column.key:
            why = "must not be true in a user column: only collected columns identify rows"
            yield Detail(f"{path}.key", why)


def _repeated_names(columns: Sequence[NewColumn | ColumnUpdate]) -> Iterator[Detail]:
    first: dict[str, int] = {}
    for place, column in enumerate(columns):
        if column.name in first:
            why = f'repeats the name "{column.name}" of columns[{first[column.name]}]'
            yield Detail(f"columns[{place}].name", why)
        first.setdefault(column.name, place)


def _repeated_id(place: int) -> Detail:
    return Detail(f"columns[{place}].id", "repeats the id of a column above")


def _url(source: Source, targets: TargetPolicy) -> Iterator[Detail]:
    problem = url_problem(source.url, targets)
    pages = source.pagination
    if problem is not None:
        yield _address("source.url", problem)
    # A wrong pattern gets its own detail: that the URL does not fit it would be noise.
    elif isinstance(pages, UrlPattern) and _pattern_problem(pages, targets) is None:
        expected = numbered_url(pages.pattern, pages.start_page)
        if source.url != expected:
            why = f'must be the pattern at startPage, "{expected}", not "{source.url}"'
            yield Detail("source.url", why)


def _fields(source: Source, columns: Sequence[NewColumn]) -> Iterator[Detail]:
    collected = [column.name for column in columns if column.ownership == "collected"]
    by_hand = {column.name for column in columns} - set(collected)
    first: dict[str, int] = {}
    # Columns that a misspelt field probably means: they are not reported as unread too.
    meant: set[str | None] = set()
    for place, field in enumerate(source.fields):
        path = f"source.fields[{place}]"
        if field.name in first:
            why = f'repeats "{field.name}", which source.fields[{first[field.name]}] reads already'
            yield Detail(f"{path}.name", why)
        elif field.name in by_hand:
            why = f'names the user column "{field.name}", which is filled by hand and has no field'
            yield Detail(f"{path}.name", why)
        elif field.name not in collected:
            near = nearest(field.name, [name for name in collected if name not in first])
            meant.add(near)
            yield Detail(f"{path}.name", _no_column(field.name, near))
        first.setdefault(field.name, place)
        yield from read_details(f"{path}.read", field.read)
    for name in dict.fromkeys(collected):
        if name not in first and name not in meant:
            yield Detail("source.fields", f'must read the collected column "{name}": add its field')


def _identity(source: Source, columns: Sequence[NewColumn]) -> Iterator[Detail]:
    single = isinstance(source.identity, SourceKey)
    # Reversed, so that of two columns of one name the first counts, as it does for people.
    owned = {column.name: column for column in reversed(columns)}
    keys = [column.name for column in columns if column.key and column.ownership == "collected"]
    meant: set[str | None] = set()
    names = source.identity_fields
    for place, name in enumerate(names):
        path = "source.identity.field" if single else f"source.identity.fields[{place}]"
        if name in names[:place]:
            yield Detail(path, f'repeats "{name}"')
        elif name not in owned:
            near = nearest(name, [key for key in keys if key not in names] or list(owned))
            meant.add(near)
            yield Detail(path, _no_column(name, near))
        elif owned[name].ownership == "user":
            yield Detail(path, f'names the user column "{name}", but identity must be collected')
        elif not owned[name].key:
            why = f'names "{name}", which is not a key: set key = true in its column'
            yield Detail(path, why)
    missing = [key for key in dict.fromkeys(keys) if key not in names and key not in meant]
    if missing:
        yield _left_out(missing, single=single)


def _left_out(keys: Sequence[str], *, single: bool) -> Detail:
    path = "source.identity" if single else "source.identity.fields"
    several = "s" if len(keys) > 1 else ""
    how = 'use kind = "composite" with all keys as fields' if single else "add it"
    listed = " and ".join(f'"{key}"' for key in keys)
    why = f"leaves out the key column{several} {listed}: {how}, or take key = true away there"
    return Detail(path, why)


def _no_column(name: str, near: str | None) -> str:
    hint = f'; did you mean "{near}"?' if near else ""
    return f'names "{name}", which is not a column{hint}'


def _pagination(source: Source, targets: TargetPolicy) -> Iterator[Detail]:
    pages = source.pagination
    if isinstance(pages, NextLink):
        yield from selector_details("source.pagination.selector", pages.selector)
    if isinstance(pages, UrlPattern):
        problem = _pattern_problem(pages, targets)
        if problem is not None:
            yield problem
        yield from selector_details("source.pagination.endSelector", pages.end_selector)


def _pattern_problem(pages: UrlPattern, targets: TargetPolicy) -> Detail | None:
    path = "source.pagination.pattern"
    placeholders = pages.pattern.count("{page}")
    if placeholders != 1:
        return Detail(path, f"must contain {{page}} exactly once, not {placeholders} times")
    if set("{}") & set(pages.pattern.replace("{page}", "")):
        return Detail(path, "must contain no braces other than those of {page}")
    # In the host, each number is another site: all of them are judged when they are dialled.
    problem = url_problem(numbered_url(pages.pattern, pages.start_page), targets)
    return None if problem is None else _address(path, problem)


def _address(path: str, problem: Problem) -> Detail:
    return Detail(path, predicate(problem), remedies=problem.remedies)


def _counts(source: Source) -> Iterator[Detail]:
    if source.minimum_items > source.max_items:
        why = f"must be at most maxItems, {source.max_items}, not {source.minimum_items}"
        yield Detail("source.minimumItems", why)


def _added(path: str, column: ColumnUpdate, same: Column | None) -> Iterator[Detail]:
    if same is not None:
        why = f'is required to keep the column "{column.name}": it is "{same["id"]}"'
        yield Detail(f"{path}.id", why)
    elif column.ownership != "user":
        yield Detail(f"{path}.ownership", 'must be "user" in a new column, which has no id')
    elif column.key:
        yield Detail(f"{path}.key", "must not be true in a new column")


def _kept(path: str, column: ColumnUpdate, old: Column) -> Iterator[Detail]:
    pairs = (
        ("name", column.name, old["name"]),
        ("type", column.type, old["type"]),
        ("ownership", column.ownership, old["ownership"]),
        ("key", column.key, old["key"]),
    )
    for name, wanted, had in pairs:
        # None is a property that was left out of the request: it stays as it is.
        if wanted not in (None, had):
            why = (
                f"must stay {format_value(had)}, not become {format_value(wanted)}: it is immutable"
            )
            yield Detail(f"{path}.{name}", why)


def read_details(path: str, read: SourceRead) -> Iterator[Detail]:
    """What is wrong with how a field is read."""
    if read.selector is not None:
        yield from selector_details(f"{path}.selector", read.selector)
    if read.attribute is not None:
        yield from _name_details(f"{path}.attribute", read.attribute)
    if read.kind == "attribute" and read.attribute is None:
        yield Detail(f"{path}.attribute", 'is required where kind is "attribute"')
    if read.kind == "text" and read.attribute is not None:
        why = 'is given, but kind is "text"; did you mean kind = "attribute"?'
        yield Detail(f"{path}.attribute", why)


def selector_details(path: str, text: str) -> Iterator[Detail]:
    """What is wrong with a selector."""
    try:
        selector = selectors.parse(text)
    except selectors.BadSelector as error:
        # The quoted part of the selector may hold newlines; a detail is one line.
        why = " ".join(str(error).removesuffix(".").split())
        yield Detail(path, why, is_predicate=False)
        return
    for step in selector.steps:
        for test in step.compound.attributes:
            yield from _name_details(path, test.name)


def _name_details(path: str, name: str) -> Iterator[Detail]:
    """What is wrong with the name of an attribute: one of livedata's own must be known."""
    if is_derived(name) and name.lower() not in DERIVED:
        near = nearest(name, DERIVED)
        hint = f'; did you mean "{near}"?' if near else ""
        choices = format_choices(DERIVED, "and")
        yield Detail(path, f'names "{name}", but livedata derives only {choices}{hint}')
