"""A group with what is thought of it."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from livedata.extraction.lists.groups import ElementGroup

Kind = Literal["menu", "form", "prose", "article", "few"]
"""What a group is, if its members are no records: the entries of a menu, the rows of a form, the
paragraphs of a text, the sections of an article, or a few things that have little in common."""


class Ranked(Struct, frozen=True):
    """A group with its score; `slots` counts what differs from record to record.

    `alike` says how alike its members are, `coverage` which share of the page they hold, both from
    0 to 1. `aside` is the share of those that stand in a menu or at the edge of the page. `kind`
    says what the group is if it is no list of records.
    """

    group: ElementGroup
    score: float
    slots: float
    alike: float
    aside: float
    coverage: float
    kind: Kind | None = None
