"""What stands in the address of a page: what is wanted of it, and where its list goes on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias
from urllib.parse import urlencode

from flask import request

from livedata.model import ids
from livedata.model.errors import BadRequest, Detail
from livedata.model.ids import Micros

Place: TypeAlias = tuple[Micros, str]
"""The moment and the id of a thing in a list."""
NO_PLACE: Final[Mapping[str, None]] = {"after": None, "before": None}
"""The first page of a list: nothing in the address says where it goes on."""
_MOST_DIGITS: Final = 10


def cursor(given: Mapping[str, str]) -> Place | None:
    """The (moment, id) of the last thing on the page before; None on the first page.

    Raises BadRequest.
    """
    after = given.get("after")
    if after is None:
        return None
    moment, _, identifier = after.partition("_")
    try:
        number, last = int(moment), ids.format_uuid(ids.raw_id(identifier))
    except ValueError as error:
        raise no_end() from error
    # No store can even compare a number beyond these.
    if not 0 <= number < ids.END_OF_TIME:
        raise no_end()
    return Micros(number), last


def name_before(given: Mapping[str, str]) -> str:
    """The name of the last thing on the page before, in a list by name; empty on the first page.

    Raises BadRequest.
    """
    after = given.get("after")
    # No store can keep such a name, and PostgreSQL refuses to compare it.
    if after is not None and (not after or "\0" in after):
        raise no_end()
    return after or ""


def passed_over(given: Mapping[str, str]) -> int:
    """How many things the pages before this one have; 0 on the first page. Raises BadRequest."""
    after = given.get("after", "0")
    if not (after.isascii() and after.isdigit() and len(after) < _MOST_DIGITS):
        raise no_end()
    return int(after)


def back_by(step: int, path: str | None = None) -> str | None:
    """The address of the page so many things ahead of this one; None on the first page."""
    passed = passed_over(request.args)
    if not passed:
        return None
    return address(path, after=str(passed - step) if passed > step else None)


def place_of(timestamp: str, identifier: str) -> Place:
    """Where the thing of this moment and id stands in its list."""
    return Micros(ids.parse_timestamp(timestamp)), identifier


def next_page(timestamp: str, identifier: str) -> str:
    """The address of the page after the thing of this moment and id."""
    return _page_after(place_of(timestamp, identifier))


def page_ahead(
    first: Place | None, step: int, ahead: Callable[[Place, int], Place | None]
) -> str | None:
    """The address of the page ahead of the one that begins with `first`; None on the first page.

    `ahead` asks which thing stands so many ahead of one: a page of `step` begins after the one that
    it has no place for, or is the first.
    """
    if "after" not in request.args or first is None:
        return None
    return _page_after(ahead(first, step + 1))


def _page_after(place: Place | None) -> str:
    return address(after=None if place is None else f"{place[0]}_{place[1]}")


def address(path: str | None = None, /, **changes: str | Sequence[str] | None) -> str:
    """The address of this page with another wish; what is empty or None is left out.

    A page that a form has led to gives its `path`, since it stands at that of the form.
    """
    query = request.args.to_dict(flat=False) | changes
    named = urlencode(
        [
            (name, value)
            for name, values in query.items()
            for value in ([values] if isinstance(values, str) else values or ())
            if value
        ]
    )
    return f"{path or request.path}?{named}" if named else path or request.path


def malformed(name: str, problem: str, begin_at: str) -> BadRequest:
    """The error for something in the address of a page that it does not know."""
    return BadRequest(f"{name} {problem}: begin at {begin_at} again.", (Detail(name, problem),))


def no_end() -> BadRequest:
    """The error for a place in a list that it does not have."""
    return malformed("after", "is not the end of a page", "the first page")
