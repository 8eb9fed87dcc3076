"""What a careful person would question in a source that can be created as it is.

Each rule has a name that stays, for who leaves it out, and few false alarms: what only might be
wrong is not worth a line in each pull request.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from msgspec import Struct

from livedata.extraction import selectors
from livedata.extraction.derived_names import INDEX, ROW
from livedata.extraction.lists.identity.addresses import of_a_visit
from livedata.extraction.lists.identity.natures import nature
from livedata.extraction.lists.signatures import looks_generated
from livedata.model.errors import Detail
from livedata.model.source import SinglePage, UrlPattern
from livedata.rules.network.targets import literal_address

if TYPE_CHECKING:
    from livedata.model.requests import CreateDataset
    from livedata.model.source import NewColumn, Source, SourceRead

_PLACE_ATTRIBUTE: Final = re.compile(
    rf"{INDEX}|{ROW}|start|(?:data|aria)-(?:[a-z]+-)*(?:index|idx|position|pos|row|rowindex|posinset|rank)"
)
_PLACE_NAME: Final = re.compile(
    r"(?:.*_)?(?:index|idx|position|pos|rank|row|row_?(?:number|no|nr)|standing)", re.IGNORECASE
)
_NUMBERED_NAME: Final = re.compile(
    r"(?:text|title|number|link|image|date|code|value|field|column|col|cell|data)_?\d+",
    re.IGNORECASE,
)
_LOCAL: Final = frozenset(("arpa", "home", "internal", "intranet", "lan", "local", "localhost"))
"""The ends of names that only one network knows."""
_PLACES: Final = 2
_BARE: Final = 4
"""So many steps by place, or of bare tags one below the other, follow the whole page."""


def _position_key(declared: CreateDataset) -> Iterator[Detail]:
    why = (
        "once a record is added above, each row would become that of another; choose what the "
        "site never changes, such as an address or an article number"
    )
    for path, column, read in _keys(declared):
        attribute = read.attribute or ""
        if _PLACE_ATTRIBUTE.fullmatch(attribute.lower()):
            yield Detail(path, f'reads "{attribute}", the place of a record in the list: {why}')
        elif column.type == "number" and _PLACE_NAME.fullmatch(column.name):
            yield Detail(path, f"seems to read the place of a record in the list: {why}")


def _changing_key(declared: CreateDataset) -> Iterator[Detail]:
    for path, column, read in _keys(declared):
        kind = nature(column.name, read.attribute, column.type, ())
        if kind in {"price", "count"} and not _PLACE_NAME.fullmatch(column.name):
            yield Detail(
                path,
                f'reads "{column.name}" for the key, which changes while the thing stays the same: '
                "each change would be one row gone and another one new; choose what the site "
                "never changes",
            )


def _generated_class(declared: CreateDataset) -> Iterator[Detail]:
    for path, selector in _selectors(declared.source):
        classes = (name for step in selector.steps for name in step.compound.classes)
        made = next(filter(looks_generated, classes), None)
        if made is not None:
            yield Detail(
                path,
                f'names the class "{made}", which a program made: with its next release the site '
                "has another one; choose a tag, an attribute or a class of plain words",
            )


def _whole_path(declared: CreateDataset) -> Iterator[Detail]:
    for path, selector in _selectors(declared.source):
        steps = [step.compound for step in selector.steps]
        places = sum(test.name == INDEX for step in steps for test in step.attributes)
        bare = sum(step.child and _is_bare(step.compound) for step in selector.steps)
        if places >= _PLACES or bare >= _BARE:
            yield Detail(
                path,
                "follows the page from place to place, so that each wrapper or banner that the "
                "site adds breaks it; begin at an id, a class or an attribute near the value",
            )


def _no_required(declared: CreateDataset) -> Iterator[Detail]:
    if not any(field.required for field in declared.source.fields):
        yield Detail(
            "source.fields",
            "require nothing: records without any of their values are accepted; set required = "
            "true where each record has a value, such as at its title",
        )


def _minimum_items(declared: CreateDataset) -> Iterator[Detail]:
    source = declared.source
    several = not isinstance(source.pagination, SinglePage) and source.max_pages > 1
    if several and source.minimum_items <= 1:
        yield Detail(
            "source.minimumItems",
            f"is {source.minimum_items} for a list of up to {source.max_pages} pages: one record "
            "would pass for all of it; set it to what the list never falls below",
        )


def _numbered_name(declared: CreateDataset) -> Iterator[Detail]:
    for place, column in enumerate(declared.columns):
        if column.ownership == "collected" and _NUMBERED_NAME.fullmatch(column.name):
            yield Detail(
                f"columns[{place}].name",
                f'is "{column.name}", which says nothing of what it holds and never changes once '
                "the dataset is there; rename it here, in source.fields and in source.identity",
            )


def _repeated_read(declared: CreateDataset) -> Iterator[Detail]:
    types = {column.name: column.type for column in declared.columns}
    first: dict[tuple[object, ...], int] = {}
    for place, field in enumerate(declared.source.fields):
        # One text may be read as a number and as it stands.
        read = (types.get(field.name), *field.read.model_dump().values())
        if read in first:
            yield Detail(
                f"source.fields[{place}].read",
                f'reads what "{declared.source.fields[first[read]].name}" reads already, so two '
                "columns always say the same; give it a selector of its own, or leave it out",
            )
        first.setdefault(read, place)


def _visit_address(declared: CreateDataset) -> Iterator[Detail]:
    for path, address in _addresses(declared.source):
        if (parameter := of_a_visit(address)) is not None:
            yield Detail(
                path,
                f'has the parameter "{parameter}" of one visit, which may lead elsewhere or '
                "nowhere tomorrow; take it away if the address shows the list without it",
            )


def _plain_http(declared: CreateDataset) -> Iterator[Detail]:
    for path, address in _addresses(declared.source):
        parts = urlsplit(address)
        # Of a port of its own nobody knows whether it has a sibling that is encrypted.
        if parts.scheme == "http" and parts.port is None and _is_public(parts.hostname or ""):
            yield Detail(
                path,
                "begins with http://, so whoever is on the way can change what is read; write "
                "https:// if the site answers there",
            )


class LintRule(Struct, frozen=True):
    """A rule: its name, what it looks for, and what finds the places of a source."""

    name: str
    summary: str
    find: Callable[[CreateDataset], Iterator[Detail]]


LINT_RULES: Final[Mapping[str, LintRule]] = {
    rule.name: rule
    for rule in (
        LintRule("position-key", "A key that is the place of a record in the list", _position_key),
        LintRule("changing-key", "A key that is a price or a count", _changing_key),
        LintRule("generated-class", "A selector by a class that a program made", _generated_class),
        LintRule("whole-path", "A selector that follows the page from place to place", _whole_path),
        LintRule("no-required", "No field at all is required", _no_required),
        LintRule(
            "minimum-items", "minimumItems of 1 or 0 for a list of several pages", _minimum_items
        ),
        LintRule("numbered-name", "A column called such as text_2", _numbered_name),
        LintRule("repeated-read", "Two columns of one type that read the same", _repeated_read),
        LintRule("visit-address", "An address with a parameter of one visit", _visit_address),
        LintRule("plain-http", "An address of http:// where https:// may answer", _plain_http),
    )
}
"""All of them by name, in the order in which docs/how-to/lint.md lists them."""


def _keys(declared: CreateDataset) -> Iterator[tuple[str, NewColumn, SourceRead]]:
    """The place, the column and the read of each field of the key."""
    columns = {column.name: column for column in declared.columns}
    keys = set(declared.source.identity_fields) & columns.keys()
    for place, field in enumerate(declared.source.fields):
        if field.name in keys:
            yield f"source.fields[{place}].read", columns[field.name], field.read


def _selectors(source: Source) -> Iterator[tuple[str, selectors.Selector]]:
    """Each selector with its place; one that cannot be read is an error already."""
    texts: dict[str, str | None] = {"source.itemSelector": source.item_selector}
    for place, field in enumerate(source.fields):
        texts[f"source.fields[{place}].read.selector"] = field.read.selector
    pages = source.pagination
    for name, text in ("selector", "selector"), ("endSelector", "end_selector"):
        texts[f"source.pagination.{name}"] = getattr(pages, text, None)
    for path, selector in texts.items():
        if selector is not None:
            try:
                yield path, selectors.parse(selector)
            except selectors.BadSelector:
                continue


def _is_bare(compound: selectors.Compound) -> bool:
    return not (compound.ids or compound.classes or compound.attributes)


def _is_public(host: str) -> bool:
    top = host.rpartition(".")[2].lower()
    return "." in host and top not in _LOCAL and literal_address(host) is None


def _addresses(source: Source) -> Iterator[tuple[str, str]]:
    # The pattern of numbered pages makes the url: it is told once.
    if isinstance(source.pagination, UrlPattern):
        yield "source.pagination.pattern", source.pagination.pattern
    else:
        yield "source.url", source.url
