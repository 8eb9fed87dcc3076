"""Validates what was sent: JSON in, shapes out, and a sentence for each wrong place.

Implements rules 2.4 and 2.5 for bodies. A detail's message is what follows its
path: ``source.maxPages`` "must be at most 50, not 99".
"""

from __future__ import annotations

import re
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import ValidationError

from livedata.messages.request import (
    Path,
    format_choices,
    format_path,
    format_value,
    invalid,
    nearest,
)
from livedata.model.base import NAME_PATTERN, Shape
from livedata.model.dataset import CollectedType, ColumnType
from livedata.model.errors import MAX_DETAILS, Detail
from livedata.model.ids import ID_PATTERN
from livedata.model.source import ATTRIBUTE_PATTERN, NewColumn
from livedata.model.wire import MAX_DEPTH, too_deep

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pydantic_core import ErrorDetails

    Wrong = tuple[ErrorDetails, type[Shape]]

_COLLECTED = get_args(CollectedType)
_COLUMNS = get_args(ColumnType)
S = TypeVar("S", bound=Shape)

_TYPES = {
    "string_type": "a string",
    "int_type": "a whole number",
    "float_type": "a number",
    "finite_number": "a number that is finite",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
}
_BOUNDS = {
    "greater_than_equal": ("at least", "ge"),
    "greater_than": ("more than", "gt"),
    "less_than_equal": ("at most", "le"),
}
_LENGTHS = {
    "string_too_short": ("at least", "min_length"),
    "string_too_long": ("at most", "max_length"),
    "too_short": ("at least", "min_length"),
    "too_long": ("at most", "max_length"),
}
_OF_OUR_SHAPES = {"null", "nothing", "both", "missing_version"}
"""The errors that shapes of the model raise in their own words."""
_PATTERNS = {
    NAME_PATTERN: "must start with a letter and go on with letters, digits or underscores",
    ATTRIBUTE_PATTERN: "must start with a letter or underscore and go on with letters, digits, "
    "underscores or hyphens",
    ID_PATTERN: "must be a UUID",
}


def read(shape: type[S], value: object) -> S:
    """`value` as a `shape`, strictly and by the names of the wire; raises Invalid.

    Each wrong place has one detail, in the order of the shape; the message says the first.
    """
    if too_deep(value):
        raise invalid([Detail("", f"must not be nested more than {MAX_DEPTH} levels deep")])
    try:
        return shape.model_validate(_with_tuples(value), by_alias=True, by_name=False)
    except ValidationError as error:
        raise invalid(_details(shape, error)) from None


def _with_tuples(value: object) -> object:
    # Shapes are frozen and hold tuples; strict validation takes no list for one.
    if isinstance(value, dict):
        return {key: _with_tuples(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return tuple(_with_tuples(inner) for inner in value)
    return value


def _details(shape: type[Shape], error: ValidationError) -> list[Detail]:
    places: dict[Path, list[Wrong]] = {}
    for wrong in error.errors(include_url=False)[:MAX_DETAILS]:
        if wrong["type"] == "too_short" and len(wrong["input"]) >= wrong["ctx"]["min_length"]:
            continue  # entries that are wrong themselves were left out of the count
        path, owner = _place(shape, wrong)
        places.setdefault(path, []).append((wrong, owner))
    # A misspelt property is unknown and the right one missing: two errors, but one slip.
    meant = {
        (*path[:-1], nearest(str(path[-1]), list(_properties(wrongs[0][1]))))
        for path, wrongs in places.items()
        if wrongs[0][0]["type"] == "extra_forbidden"
    }
    return [
        _detail(shape, path, wrongs)
        for path, wrongs in places.items()
        if wrongs[0][0]["type"] != "missing" or path not in meant  # one slip, one sentence
    ]


def _place(shape: type[Shape], wrong: ErrorDetails) -> tuple[Path, type[Shape]]:
    """The path of an error, without the names of union members, and the shape it is part of."""
    # pydantic puts the tag of a chosen union member into the path, and people never wrote it.
    path: list[str | int] = []
    kind: Any = shape
    owner = shape
    for step in wrong["loc"]:
        kind = _bare(kind)
        if get_origin(kind) in (tuple, dict):
            path.append(step)
            kind = get_args(kind)[get_origin(kind) is dict]
        elif _is_union(kind):
            kind = next((member for member in get_args(kind) if step in _tags(member)), None)
        elif isinstance(kind, type) and issubclass(kind, Shape):
            path.append(step)
            owner = kind
            kind = _properties(kind).get(str(step))
    if wrong["type"].startswith("union_tag"):
        path.append("kind")
    inner = wrong.get("ctx", {}).get("at")
    return (*path, inner) if inner else tuple(path), owner


def _bare(kind: Any) -> Any:
    members = [member for member in get_args(kind) if member is not NoneType]
    if get_origin(kind) is Annotated or (_is_union(kind) and len(members) == 1):
        return _bare(members[0])
    return kind


def _is_union(kind: Any) -> bool:
    return get_origin(kind) in (Union, UnionType)


def _tags(kind: Any) -> tuple[object, ...]:
    return get_args(_properties(kind).get("kind")) if hasattr(kind, "model_fields") else ()


def _properties(shape: type[Shape]) -> dict[str, Any]:
    return {str(field.alias): field.annotation for field in shape.model_fields.values()}


def _detail(shape: type[Shape], path: Path, wrongs: list[Wrong]) -> Detail:
    """The detail of a wrong place, which joins the errors of the members of a union."""
    place = format_path(path)
    telling = [wrong for wrong in wrongs if not wrong[0]["type"].endswith("_type")]
    if len(wrongs) > 1 and not telling:
        kinds = [_TYPES[wrong["type"]] for wrong, _ in wrongs if wrong["type"] != "int_type"]
        value = format_value(wrongs[0][0]["input"])
        return Detail(place, f"must be {', '.join(kinds)} or null, not {value}")
    wrong, owner = (telling or wrongs)[0]
    if owner is NewColumn and path[-1:] == ("id",) and wrong["type"] == "extra_forbidden":
        return Detail(place, "must not be given: the service allocates ids")
    if wrong["type"] == "extra_forbidden":
        return Detail(place, _unknown(shape, owner, path), is_predicate=False)
    is_type = owner is NewColumn and path[-1:] == ("type",) and wrong["type"] == "literal_error"
    if is_type and _near(wrong["ctx"]["expected"], wrong["input"]) is None:
        why = f"must be {format_choices(_COLLECTED)}, not {format_value(wrong['input'])}"
        others = format_choices([kind for kind in _COLUMNS if kind not in _COLLECTED], "and")
        return Detail(place, f"{why}; {others} are for user columns")
    why = _why(wrong)
    # What pydantic says by itself is a sentence of its own.
    ours = wrong["type"] in _OF_OUR_SHAPES or why != wrong["msg"]
    return Detail(place, why, is_predicate=ours)


def _near(expected: str, value: object) -> str | None:
    """The expected word that was probably meant, if any."""
    words = re.findall(r"'([^']*)'", expected)
    return nearest(value, words) if isinstance(value, str) else None


def _why(wrong: ErrorDetails) -> str:
    kind, value, facts = wrong["type"], wrong["input"], wrong.get("ctx", {})
    if kind in _TYPES:
        return f"must be {_TYPES[kind]}, not {format_value(value)}"
    if kind in _LENGTHS:
        words, fact = _LENGTHS[kind]
        return _length(words, facts[fact], value)
    if kind in _BOUNDS:
        words, fact = _BOUNDS[kind]
        return f"must be {words} {facts[fact]}, not {format_value(value)}"
    if kind == "literal_error":
        return _choice(facts["expected"], value)
    if kind == "union_tag_invalid":
        return _choice(facts["expected_tags"], value["kind"])
    if kind == "string_pattern_mismatch" and facts["pattern"] in _PATTERNS:
        return f"{_PATTERNS[facts['pattern']]}, not {format_value(value)}"
    if kind in ("missing", "union_tag_not_found"):
        return "is required"
    return str(facts["error"]) if kind == "value_error" else wrong["msg"]


def _length(words: str, limit: int, value: str | Sequence[object]) -> str:
    if not value:
        return "must not be empty"
    singular, plural = (
        ("character", "characters") if isinstance(value, str) else ("entry", "entries")
    )
    return f"must have {words} {limit} {singular if limit == 1 else plural}, not {len(value)}"


def _choice(expected: str, value: object) -> str:
    near = _near(expected, value)
    hint = f"; did you mean {format_value(near)}?" if near else ""
    allowed = " or ".join(expected.replace(" or ", ", ").replace("'", '"').rsplit(", ", 1))
    return f"must be {allowed}, not {format_value(value)}{hint}"


def _unknown(shape: type[Shape], owner: type[Shape], path: Path) -> str:
    name = str(path[-1])
    names = list(_properties(owner))
    shown = name if format_path((name,)) == name else format_value(name)
    homes = {home: other for home, other in _shapes_in(shape, ()) if name in _properties(other)}
    here = tuple(step for step in path[:-1] if isinstance(step, str))
    if here in homes:
        tag = format_value(_tags(homes[here])[0])
        return f"unknown property {shown} with this kind; it belongs to kind = {tag}"
    near = nearest(name, names)
    if near:
        return f"unknown property {shown}; did you mean {near}?"
    home = next((f"it belongs to {'.'.join(home) or 'the top level'}" for home in homes), None)
    return f"unknown property {shown}; {home or 'known here: ' + ', '.join(names)}"


def _shapes_in(
    shape: type[Shape], path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], type[Shape]]]:
    """`shape` and all shapes in it, each with the names that lead to it."""
    yield path, shape
    for name, kind in _properties(shape).items():
        waiting = [kind]
        while waiting:
            member = waiting.pop(0)
            if isinstance(member, type) and issubclass(member, Shape):
                yield from _shapes_in(member, (*path, name))
            waiting += get_args(member)
