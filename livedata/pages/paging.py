"""The place in a list from which its next page goes on: a moment and an id, in the address."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

from flask import request

from livedata.model import ids
from livedata.model.errors import BadRequest, Detail
from livedata.model.ids import Micros


def cursor(given: Mapping[str, str]) -> tuple[Micros, str] | None:
    """The (moment, id) of the last thing on the page before; None on the first page.

    Raises BadRequest.
    """
    after = given.get("after")
    if after is None:
        return None
    moment, _, identifier = after.partition("_")
    try:
        return Micros(int(moment)), ids.format_uuid(ids.raw_id(identifier))
    except ValueError as error:
        detail = Detail("after", "is not the end of a page")
        raise BadRequest("This page is of no list: begin at its first page.", (detail,)) from error


def next_page(timestamp: str, identifier: str) -> str:
    """The address of the page after the thing of this moment and id."""
    moment = ids.parse_timestamp(timestamp)
    query = {**request.args, "after": f"{moment}_{identifier}"}
    return f"{request.path}?{urlencode(query)}"
