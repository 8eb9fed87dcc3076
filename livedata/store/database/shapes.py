"""Whether a JSON value has the shape of a type, as the model writes types."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

Fits = Callable[[Any], bool]


@cache
def fits(shape: Any) -> Fits:
    """The question whether a JSON value has the shape of a type."""
    kinds = _kinds(shape)
    if kinds is not None:
        return lambda value: type(value) in kinds
    shape = _bare(shape)
    if get_origin(shape) in _MAKERS:
        return _MAKERS[get_origin(shape)](*get_args(shape))
    if is_typeddict(shape) or is_dataclass(shape):
        return _object(shape)
    assert shape is Any, shape
    return lambda _: True


def _bare(shape: Any) -> Any:
    """A type without what is noted about it."""
    noted = get_origin(shape) in (Annotated, NotRequired)
    return _bare(get_args(shape)[0]) if noted else shape


def _kinds(shape: Any) -> frozenset[type] | None:
    """The Python types of a value without parts; None for any other shape."""
    shape = _bare(shape)
    if get_origin(shape) in (Union, UnionType):
        kinds = [_kinds(part) for part in get_args(shape)]
        return None if None in kinds else frozenset().union(*filter(None, kinds))
    if shape is None or shape in (str, int, bool, NoneType):
        return frozenset({shape or NoneType})
    # To JSON a whole number is one of any kind.
    return frozenset({float, int}) if shape is float else None


def _list(shape: Any, *_: Any) -> Fits:
    if shape in (int, str):
        # One look at all of them: the facts of a Run have a number for each row.
        return lambda value: type(value) is list and set(map(type, value)) <= {shape}
    entry = fits(shape)
    return lambda value: type(value) is list and all(map(entry, value))


def _tuple(*shapes: Any) -> Fits:
    if shapes[-1] is Ellipsis:
        return _list(shapes[0])
    entries = [fits(shape) for shape in shapes]
    return lambda value: (
        type(value) is list
        and len(value) == len(entries)
        and all(entry(part) for entry, part in zip(entries, value, strict=True))
    )


def _mapping(key: Any, shape: Any) -> Fits:
    entry = fits(shape)
    # A position is a number, which JSON writes as a string.
    is_by_position = key is int

    def is_mapping(value: Any) -> bool:
        if type(value) is not dict:
            return False
        for name, part in value.items():
            if not entry(part) or (is_by_position and not name.isdecimal()):
                return False
        return True

    return is_mapping


def _union(*shapes: Any) -> Fits:
    choices = [fits(shape) for shape in shapes]
    return lambda value: any(choice(value) for choice in choices)


def _literal(*values: Any) -> Fits:
    allowed = frozenset(values)
    # A list or an object cannot be looked up: that would raise an error.
    return lambda value: type(value) in (str, int) and value in allowed


def _object(shape: Any) -> Fits:
    is_closed = is_dataclass(shape)

    @cache
    def members() -> tuple[frozenset[str], Mapping[str, frozenset[type]], Mapping[str, Fits]]:
        # Asked for by the first value, because a type may hold itself.
        hints = get_type_hints(shape, include_extras=True)
        needed = _required(shape, hints)
        may_be = {
            name: _bare(hint) if name in needed else _bare(hint) | None
            for name, hint in hints.items()
        }
        plain = {name: kinds for name, hint in may_be.items() if (kinds := _kinds(hint))}
        parts = {name: fits(hint) for name, hint in may_be.items() if name not in plain}
        return needed, plain, parts

    def is_object(value: Any) -> bool:
        needed, plain, parts = members()
        if type(value) is not dict or not value.keys() >= needed:
            return False
        # Loops, not generators: this is asked of each column of each dataset that is listed.
        for name, kinds in plain.items():
            if type(value.get(name)) not in kinds:
                return False
        for name, part in parts.items():
            if not part(value.get(name)):
                return False
        return not is_closed or value.keys() <= plain.keys() | parts.keys()

    return is_object


def _required(shape: Any, hints: Mapping[str, Any]) -> frozenset[str]:
    """The names that an object must have."""
    if is_dataclass(shape):
        return frozenset(
            field.name
            for field in fields(shape)
            if field.default is field.default_factory is MISSING
        )
    # The names that Python itself keeps count NotRequired in, if annotations are texts.
    optional = {name for name, hint in hints.items() if get_origin(hint) is NotRequired}
    return frozenset(hints.keys() - optional) if shape.__total__ else frozenset()


_MAKERS: Mapping[Any, Callable[..., Fits]] = {
    **dict.fromkeys((list, Sequence), _list),
    **dict.fromkeys((dict, Mapping), _mapping),
    **dict.fromkeys((Union, UnionType), _union),
    tuple: _tuple,
    Literal: _literal,
}
