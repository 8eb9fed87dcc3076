"""What all records of a list share and an advert among them does not, or tomorrow may not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final

from msgspec.structs import replace

from livedata.extraction.derived_names import CELLS, HAS, HEADER, ROW
from livedata.extraction.lists.groups import ElementGroup
from livedata.extraction.lists.identity.natures import is_code
from livedata.extraction.lists.signatures import PLAIN
from livedata.extraction.lists.survey import Survey
from livedata.extraction.matching.css import steps_to_css, to_css
from livedata.extraction.selectors import MAX_LENGTH, AttributeTest, Compound, parse
from livedata.extraction.text import names
from livedata.extraction.work import TooMuchWork

_IN_THEIR_LIST: Final = names("li tr td dt dd option")
"""What stands in lists and tables alone, and so in no advert among other elements."""
_OF_WORDS: Final = names("p a span blockquote pre dt dd h1 h2 h3 h4 h5 h6")
"""What holds sentences: which elements are in it, says how they are written."""


def narrowed(survey: Survey, selector: str, members: Sequence[int]) -> str:
    """The selector of a list with a class that all its members share, if it names but a tag.

    Or with an attribute that says who they are, with the element that they stand right in, where
    others may stand too, or with the cells that all of its rows have. It finds the same members on
    this page, and tomorrow none that are called otherwise.
    """
    step = parse(selector).steps[-1]
    if step.compound.classes or any(test.name != ROW for test in step.compound.attributes):
        return selector
    closest = [] if step.compound.attributes else [*_closer(survey, selector, members)]
    if not step.child and step.compound.tag not in _IN_THEIR_LIST:
        closest += _within(survey, selector, members)
    if step.compound.tag == "tr":
        closest += _as_many_cells(survey, selector, members)
    return _matching(survey, closest, members) or selector


def leaving_out(
    survey: Survey, selector: str, records: Sequence[int], all_groups: Sequence[ElementGroup]
) -> str | None:
    """The selector that matches just these of the elements that `selector` matches, if any does.

    It is `selector` with what they share, else that of one of the groups, else one that asks for
    their whole attribute class: an advert often has a class more.
    """
    candidates = [*_closer(survey, selector, records)]
    alike = [group for group in all_groups if group.members == list(records)]
    candidates += [group.selector for group in sorted(alike, key=lambda group: group.cost)]
    candidates += _whole_class(survey, selector, records)
    return _matching(survey, candidates, records)


def asking_contents(survey: Survey, selector: str, records: Sequence[int]) -> str | None:
    """The selector that matches just these of its elements, by what all of them have in them.

    None if none does, or if they hold words: what is in those only says how they are written.
    """
    if not _OF_WORDS.isdisjoint(survey.signatures[record].tag for record in records):
        return None
    shared = set.intersection(*({*contents(survey, record)} for record in records))
    tests = (test for test in contents(survey, records[0]) if test in shared)
    return _matching(survey, (with_test(selector, test) for test in tests), records)


def contents(survey: Survey, number: int) -> Mapping[AttributeTest, None]:
    """What can be asked of an element: how many cells it has if it is a row, and each tag in it."""
    below = survey.below(number)
    tests = [AttributeTest(HAS, "~=", survey.signatures[inner].tag) for inner in below]
    if survey.signatures[number].tag == "tr":
        tests.insert(0, AttributeTest(CELLS, "=", str(_cells(survey, number))))
    return dict.fromkeys(tests)


def with_test(selector: str, test: AttributeTest) -> str:
    """The selector of those of its elements of which this holds too."""
    return selector + to_css(Compound(None, (), (), (test,)))


def _matching(survey: Survey, candidates: Iterable[str], members: Sequence[int]) -> str | None:
    """The first of some selectors that matches just these members."""
    same = {survey.nodes[member].mem_id for member in members}
    for candidate in candidates:
        # The page wrote the names in it: one that is too long is no selector.
        if len(candidate) <= MAX_LENGTH:
            with suppress(TooMuchWork):
                if {node.mem_id for node in survey.matcher.select(parse(candidate))} == same:
                    return candidate
    return None


def _cells(survey: Survey, row: int) -> int:
    return sum(survey.parents[inner] == row for inner in survey.below(row))


def _heads(survey: Survey, row: int) -> set[str]:
    """What stands above the cells of a row."""
    below = (survey.derived.get(inner) for inner in survey.below(row))
    return {said[1] for said in below if said is not None and said[0] == HEADER}


def _as_many_cells(survey: Survey, selector: str, rows: Sequence[int]) -> Iterator[str]:
    """The selector with the number of cells, if it is that of all rows, and above one.

    Below headers a row with other cells lacks a column, so that a Run says what is wrong with it.
    """
    counts = {_cells(survey, row) for row in rows}
    heads = Counter(head for row in rows for head in _heads(survey, row))
    headed = max(heads.values(), default=0) > len(rows) / 2
    if len(counts) == 1 and max(counts) > 1 and not headed:
        yield with_test(selector, AttributeTest(CELLS, "=", str(counts.pop())))


def _within(survey: Survey, selector: str, members: Sequence[int]) -> Iterator[str]:
    """The selector with the tag of what all members are in: `ul.all li > a` for `ul.all a`."""
    tags = {survey.signatures[survey.parents[member]].tag for member in members}
    around, _, inmost = selector.rpartition(" ")
    if len(tags) == 1 and around:
        yield f"{around} {tags.pop()} > {inmost}"


def _closer(survey: Survey, selector: str, members: Sequence[int]) -> Iterator[str]:
    """The selector with each class of all members that lasts, then with their identifiers."""
    signatures = {survey.signatures[member] for member in members}
    classes = set.intersection(
        *({name for name, cost in signature.classes if cost <= PLAIN} for signature in signatures)
    )
    ordered = [name for name, _ in survey.signatures[members[0]].classes if name in classes]
    asked = [
        Compound(None, (), (name,), ())
        for name in ordered
        if name.replace("-", "").replace("_", "").isalnum()
    ]
    data = set.intersection(*(set(signature.data) for signature in signatures))
    tests = [name for name in sorted(data) if is_code(name[5:].replace("-", "_"))]
    if all(survey.nodes[member].attributes.get("id") for member in members):
        tests.append("id")
    asked += [Compound(None, (), (), (AttributeTest(name, "", ""),)) for name in tests]
    # An advert may have an id too, but no number in the same row: "item-12", "item-13", "banner".
    if (
        len(beginnings := {signature.numbered for signature in signatures}) == 1
        and "" not in beginnings
    ):
        asked.append(Compound(None, (), (), (AttributeTest("id", "^=", beginnings.pop()),)))
    yield from (f"{selector}{to_css(compound)}" for compound in asked)


def _whole_class(survey: Survey, selector: str, members: Sequence[int]) -> Iterator[str]:
    """The selector with the attribute class of its elements, if all members have the same."""
    written = {survey.nodes[member].attributes.get("class") for member in members}
    tags = {survey.signatures[member].tag for member in members}
    value = written.pop() if len(written) == len(tags) == 1 else None
    if value:
        *outer, inmost = parse(selector).steps
        compound = Compound(tags.pop(), (), (), (AttributeTest("class", "=", value),))
        yield steps_to_css([*outer, replace(inmost, compound=compound)])
