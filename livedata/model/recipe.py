"""A pinned recipe: what a Run executes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

from msgspec import Struct, convert
from msgspec.structs import replace

from livedata.model.dataset import CollectedType, Column

Render = Literal["static", "browser"]
ProxyMode = Literal["auto", "always", "never"]
Kind = Literal["selectors", "research"]
"""The kinds of Runs: how the records are found on a page."""


# Plain classes, and not the shapes of the wire: a source is validated once, when it is declared,
# and a Run does not pay for the import of what validates it, which is 72 of 95 ms. A Run
# reads what was declared by its own names, so both have the same (tests/rules/test_declaration.py).
class Read(Struct, frozen=True):
    """What is read within one item; without a selector, of the item itself."""

    kind: Literal["text", "attribute"]
    selector: str | None = None
    attribute: str | None = None

    @property
    def place(self) -> str:
        """Where it reads, as a person is shown it."""
        selector = self.selector or "(the item itself)"
        return selector if self.attribute is None else f"{selector} @{self.attribute}"


class CollectedField(Struct, frozen=True):
    """A collected column as a Run needs it; `position` is its place in a stored row."""

    id: str
    name: str
    label: str
    position: int


class RecipeField(CollectedField, frozen=True, kw_only=True):
    """A column that a selector reads."""

    type: CollectedType
    required: bool
    read: Read


class NextLinkPages(Struct, frozen=True, rename="camel", tag_field="kind", tag="next-link"):
    """Each page links to the next; no link is the natural end."""

    selector: str


class UrlPatternPages(Struct, frozen=True, rename="camel", tag_field="kind", tag="url-pattern"):
    """Numbered pages; the one on which the end selector matches is the last."""

    pattern: str
    start_page: int
    end_selector: str

    def page_url(self, number: int) -> str:
        """The address of the page that is read as number `number`, counted from 1."""
        return numbered_url(self.pattern, self.start_page + number - 1)


class Recipe(Struct, frozen=True):
    """A source with the ids, types and stored positions of its fields, in the source's order."""

    version: int
    url: str
    render: Render
    item_selector: str
    fields: tuple[RecipeField, ...]
    identity: tuple[str, ...]
    composite: bool
    """Whether several fields together identify a record."""
    pagination: NextLinkPages | UrlPatternPages | None
    """How the pages are found; None for a single page."""
    max_pages: int
    max_items: int
    minimum_items: int
    proxy: ProxyMode
    ignore_robots: bool
    kind: ClassVar[Kind] = "selectors"
    unwritten: ClassVar[None] = None
    """The field whose value is not written on its page: there is none."""

    @classmethod
    def of(cls, recipe: object) -> Self:
        """The recipe of a Run that is known to read its pages with selectors."""
        assert isinstance(recipe, cls)
        return recipe

    def of_fields(self, indexes: Sequence[int]) -> Self:
        """The recipe of some of its fields alone."""
        return replace(self, fields=tuple(self.fields[index] for index in indexes))

    @property
    def types(self) -> tuple[str, ...]:
        """The types of the fields, in their order."""
        return tuple(field.type for field in self.fields)

    @property
    def key_indexes(self) -> tuple[int, ...]:
        """The indexes of the identity's fields in `fields`, in the identity's order."""
        # The order is part of a composite key: it may differ from the order of the fields.
        names = [field.name for field in self.fields]
        return tuple(names.index(name) for name in self.identity)


def numbered_url(pattern: str, number: int) -> str:
    """The address that a pattern with ``{page}`` gives to a page number."""
    # Not str.format: the pattern is a stranger's text.
    return pattern.replace("{page}", str(number))


def moved_pattern(pattern: str, start_page: int, url: str) -> str | None:
    """The pattern that numbers the pages of the list at `url` as `pattern` does those of its own.

    A parameter of the query is added where `url` has none; the end of a path, from the part with
    the number on, must be there as on the first page. None if `url` has no such place.
    """
    ours, _, asked = pattern.partition("#")[0].partition("?")
    path, _, query = url.partition("#")[0].partition("?")
    if "{page}" in asked:
        numbered = next(part for part in asked.split("&") if "{page}" in part)
        moved = _numbered_query(numbered, start_page, query.split("&") if query else [])
        return moved and f"{path}?{moved}"
    # The first three are the scheme and the host, which is never numbered.
    tail = ours.split("/")[3:]
    while tail and "{page}" not in tail[0]:
        del tail[0]
    end = "/".join(["", *tail])
    first, origin = numbered_url(end, start_page), "/".join(path.split("/")[:3])
    if not tail or not path.removeprefix(origin).endswith(first):
        return None
    return path.removesuffix(first) + end + (f"?{query}" if query else "")


def _numbered_query(numbered: str, start_page: int, parts: list[str]) -> str | None:
    """The parts of a query with the one that has the number; None if another page has its name."""
    name, equals, _ = numbered.partition("=")
    same = [place for place, part in enumerate(parts) if part.partition("=")[0] == name]
    first = numbered_url(numbered, start_page)
    if not equals or "{page}" in name or [parts[place] for place in same] not in ([], [first]):
        return None
    kept = [numbered if place in same else part for place, part in enumerate(parts)]
    return "&".join(kept if same else [*kept, numbered])


def compile_recipe(version: int, source: Mapping[str, Any], columns: Sequence[Column]) -> Recipe:
    """The recipe of a source as the wire has it; the columns are in the order of a row's values.

    Raises KeyError for a source that names what the columns or version 1 do not have, and
    ValueError for a read or a pagination that is none.
    """
    identity, composite = _identity(source["identity"])
    return Recipe(
        version=version,
        url=source["url"],
        render=source["render"],
        item_selector=source["itemSelector"],
        fields=_fields(source["fields"], columns),
        identity=identity,
        composite=composite,
        pagination=_pagination(source["pagination"]),
        max_pages=source["maxPages"],
        max_items=source["maxItems"],
        minimum_items=source["minimumItems"],
        proxy=source["proxy"],
        ignore_robots=source["ignoreRobots"],
    )


def _fields(
    declared: Sequence[Mapping[str, Any]], columns: Sequence[Column]
) -> tuple[RecipeField, ...]:
    # By name: a source names its fields, and names of columns never change, unlike labels.
    placed = {column["name"]: (index, column) for index, column in enumerate(columns)}
    return tuple(
        RecipeField(
            id=column["id"],
            name=field["name"],
            label=column["label"],
            type=column["type"],  # type: ignore[arg-type]  # of a collected column: checked before
            position=position,
            required=field["required"],
            read=convert(field["read"], Read),
        )
        for field in declared
        for position, column in [placed[field["name"]]]
    )


def _identity(identity: Mapping[str, Any]) -> tuple[tuple[str, ...], bool]:
    """The names of the fields that identify a record, and whether they are a composite key."""
    if identity["kind"] == "composite":
        return tuple(identity["fields"]), True
    return (identity["field"],), False


def _pagination(pagination: Mapping[str, Any]) -> NextLinkPages | UrlPatternPages | None:
    if pagination["kind"] == "none":
        return None
    return convert(pagination, NextLinkPages | UrlPatternPages)


def declared_types(declared: Mapping[str, Any], columns: Sequence[Column]) -> list[str]:
    """The types of the fields of a source, in their order. Raises KeyError as compiling does."""
    types = {column["name"]: column["type"] for column in columns}
    return [types[field["name"]] for field in declared["fields"]]


def run_kind(declared: object) -> Kind:
    """The kind of the Runs that follow a stored recipe, whatever else that is."""
    of_research = isinstance(declared, dict) and declared.get("kind") == "research"
    return "research" if of_research else "selectors"
