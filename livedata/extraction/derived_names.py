"""The names of the attributes that livedata derives from the tree of a page."""

from __future__ import annotations

from typing import Final

PREFIX: Final = "livedata-"
CELLS: Final = "livedata-cells"
HAS: Final = "livedata-has"
HEADER: Final = "livedata-header"
INDEX: Final = "livedata-index"
ROW: Final = "livedata-row"
TERM: Final = "livedata-term"
UNNUMBERED: Final = "livedata-unnumbered"
UNNUMBERED_TERM: Final = "livedata-unnumbered-term"
DERIVED: Final = (CELLS, HAS, HEADER, INDEX, ROW, TERM, UNNUMBERED, UNNUMBERED_TERM)
"""All of them; any other name that begins so is on no element."""


def is_derived(name: str) -> bool:
    """Whether an attribute is livedata's to derive, so that the page's own does not count."""
    return name.lower().startswith(PREFIX)
