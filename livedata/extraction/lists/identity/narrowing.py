"""What all records of a list share and an advert among them may not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Final

from livedata.extraction.lists.identity.natures import is_code
from livedata.extraction.lists.looks import PLAIN
from livedata.extraction.lists.survey import Survey
from livedata.extraction.selectors import parse
from livedata.extraction.text import names
from livedata.extraction.work import TooMuchWork

_IN_THEIR_LIST: Final = names("li tr td dt dd option")
"""What stands in lists and tables alone, and so in no advert among other elements."""


def narrowed(survey: Survey, selector: str, members: Sequence[int]) -> str:
    """The selector of a list with a class that all its members share, if it names but a tag.

    Or with an attribute that says who they are, or with the element that they stand right in, where
    others may stand too. It finds the same members on this page, and tomorrow none that are called
    otherwise.
    """
    step = parse(selector).steps[-1]
    if step.compound.classes or step.compound.attributes:
        return selector
    same = {survey.nodes[member].mem_id for member in members}
    closest = [f"{selector}{test}" for test in _shared(survey, members)]
    if not step.child and step.compound.tag not in _IN_THEIR_LIST:
        closest += _within(survey, selector, members)
    for closer in closest:
        with suppress(TooMuchWork):
            if {node.mem_id for node in survey.matcher.select(parse(closer))} == same:
                return closer
    return selector


def _within(survey: Survey, selector: str, members: Sequence[int]) -> Iterator[str]:
    """The selector with the tag of what all members are in: `ul.all li > a` for `ul.all a`."""
    tags = {survey.looks[survey.parents[member]].tag for member in members}
    around, _, inmost = selector.rpartition(" ")
    if len(tags) == 1 and around:
        yield f"{around} {tags.pop()} > {inmost}"


def _shared(survey: Survey, members: Sequence[int]) -> Iterator[str]:
    """What may be asked of all members: their classes that last, then their identifiers."""
    looks = {survey.looks[member] for member in members}
    classes = set.intersection(
        *({name for name, cost in look.classes if cost <= PLAIN} for look in looks)
    )
    ordered = [name for name, _ in survey.looks[members[0]].classes if name in classes]
    yield from (f".{name}" for name in ordered if name.replace("-", "").replace("_", "").isalnum())
    data = set.intersection(*(set(look.data) for look in looks))
    yield from (f"[{name}]" for name in sorted(data) if is_code(name[5:].replace("-", "_")))
    if all(survey.nodes[member].attributes.get("id") for member in members):
        yield "[id]"
