"""Finds the record of a store that cannot be read, once reading has failed.

JSON is judged as it is loaded (`codec.JsonColumn`); all else that is read is not, which would cost
every command. What cannot be read shows as an error that knows neither table nor row, and only then
the store is searched for it, column by column as `schema.TABLES` describes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pkgutil import resolve_name
from typing import Any

import orjson
from msgspec.structs import asdict

from livedata.model.dataset import Column
from livedata.model.errors import Damaged, Invalid
from livedata.model.ids import END_OF_TIME
from livedata.model.recipe import Kind, declared_types, run_kind
from livedata.store.database import codec
from livedata.store.database.backend import SYMPTOMS, Reader
from livedata.store.database.schema import TABLES
from livedata.store.database.table import DescribedTable

Load = Callable[[Any], object]

_UNLOADABLE: tuple[type[Exception], ...] = (*SYMPTOMS, Invalid)


# What validates a declaration, and what has the words, is imported only here: behind something that
# failed.
def _load_declaration(text: str) -> None:
    from livedata.messages.validation import read
    from livedata.model.source import Source

    source = codec.SOURCE.load(text)
    # A source of another version may be anything: no Run reads it.
    if isinstance(source, dict) and source.get("version") == 1:
        read(Source, source)


def _load_plan(text: str) -> None:
    from livedata.model.research.stored import StoredRecipe

    codec.JsonColumn[StoredRecipe](StoredRecipe).load(text)


def _types_of_plan(declared: Any, columns: Sequence[Column]) -> Sequence[str]:
    from livedata.model.research.stored import compile_research

    return compile_research(1, declared, columns).types


_DECLARED: Mapping[Kind, Load] = {"selectors": _load_declaration, "research": _load_plan}
"""What judges a recipe of each kind."""
_TYPES: Mapping[Kind, Callable[[Any, Sequence[Column]], Sequence[str]]] = {
    "selectors": declared_types,
    "research": _types_of_plan,
}
"""What tells the types of its fields, in their order. Raises KeyError as compiling does."""


def _load_source(text: str) -> None:
    _DECLARED[run_kind(codec.SOURCE.load(text))](text)


def _load_problem(text: str) -> None:
    from livedata.messages.remedies import advice
    from livedata.messages.render import sentence

    problem = codec.PROBLEM.load(text)
    sentence(problem)
    for remedy in problem.remedies:
        advice(remedy)


def _load_facts(text: str | bytes) -> object:
    from livedata.messages.findings import odd_sentences

    facts = codec.FACTS.load(text)
    odd_sentences(facts)
    return facts


_BY_POSITION: Mapping[str, Load] = {
    "reasons": codec.REASONS.load,
    "overrides": codec.OVERRIDES.load,
    "evidence": codec.EVIDENCE.load,
}
"""The columns of rows and revisions that name columns of the dataset."""
_STRICTER: Mapping[object, Load] = {
    codec.SOURCE: _load_source,
    codec.PROBLEM: _load_problem,
    codec.FACTS: _load_facts,
}
"""What must hold of a value beside its shape."""
_WITH_RECIPES = frozenset({"held_outputs"})
"""The tables whose compressed bytes are judged with what they were read by."""
_OUTPUTS = """
SELECT h.run_id, h.harvest, c.source, c.version, d.field_ids, d.columns, d.dropped_columns
FROM held_outputs h
LEFT JOIN runs r ON r.id = h.run_id LEFT JOIN datasets d ON d.id = r.dataset_id
LEFT JOIN recipes c ON c.dataset_id = r.dataset_id AND c.version = r.recipe_version
"""
"""The outputs that are held, with what they were read by."""
_JUDGED = """
SELECT id, source FROM recipes c WHERE EXISTS (
    SELECT 1 FROM runs r
    WHERE r.dataset_id = c.dataset_id AND r.recipe_version = c.version AND r.checks <> '[]')
"""
"""The recipes of Runs that were judged."""


def first_damage(reader: Reader) -> Damaged | None:
    """The first record that cannot be read; None if all of them can."""
    for damaged in reader.unreadable():
        return damaged
    searches = (wrong_json, _wrong_numbers, _wrong_places, _wrong_recipes, wrong_values)
    return next(chain.from_iterable(search(reader) for search in searches), None)


def wrong_json(reader: Reader, *, cells: bool = True) -> Iterator[Damaged]:
    """The JSON that no version wrote: it cannot be read, or is of another type.

    Without `cells` that of rows and revisions is left out, which is most of a store.
    """
    for table in TABLES:
        if cells or table.name not in {"rows", "revisions"}:
            yield from _unloadable(reader, table, {name: _json(table, name) for name in table.json})


def _json(table: DescribedTable, column: str) -> Load:
    """What loads the JSON of a column, and judges it."""
    shape: codec.JsonColumn[Any] = resolve_name(table.json[column])
    load: Load = _STRICTER.get(shape, shape.load)
    if column not in table.compressed:
        return load
    return lambda text: load(codec.unpacked(text))


def _unloadable(
    reader: Reader, table: DescribedTable, loads: Mapping[str, Load]
) -> Iterator[Damaged]:
    for column, load in loads.items():
        for key, stored in reader.each(
            f"SELECT {table.key}, {column} FROM {table.name} "  # noqa: S608  (our names)
            f"WHERE {column} IS NOT NULL"
        ):
            try:
                _writable(load(stored))
            except _UNLOADABLE:
                yield Damaged(table.name, key, column)


def _writable(value: object) -> None:
    """Raise TypeError for what cannot be written as JSON, such as an integer of over 64 bits."""
    # An act copies much of what it reads into another record.
    orjson.dumps(value, default=asdict, option=orjson.OPT_NON_STR_KEYS)


def _wrong_numbers(reader: Reader) -> Iterator[Damaged]:
    """The versions that are named and are not there, and the pages of a number below 1."""
    for table in TABLES:
        dataset = "id" if table.name == "datasets" else "dataset_id"
        for column, versions in table.versions.items():
            for (key,) in reader.each(
                f"SELECT {table.key} FROM {table.name} t WHERE NOT EXISTS "  # noqa: S608  (our names)
                f"(SELECT 1 FROM {versions} v "
                f"WHERE v.dataset_id = t.{dataset} AND v.version = t.{column})"
            ):
                yield Damaged(table.name, key, column)
    for (run,) in reader.each("SELECT run_id FROM failed_pages WHERE number < 1"):
        yield Damaged("failed_pages", run, "number")


def _wrong_places(reader: Reader) -> Iterator[Damaged]:
    """The JSON of the right type that names a column or a page which its dataset does not have."""
    widths: dict[bytes, int] = {}
    for dataset, field_ids, columns, dropped in reader.each(
        "SELECT id, field_ids, columns, dropped_columns FROM datasets"
    ):
        fields = codec.FIELD_IDS.load(field_ids)
        widths[dataset] = len(fields)
        known = [*codec.COLUMNS.load(columns), *codec.DROPPED.load(dropped or "[]")]
        if set(fields) != {column["id"] for column in known} or len(fields) != len(known):
            yield Damaged("datasets", dataset, "field_ids")
    for key, dataset, text in reader.each("SELECT id, dataset_id, entries FROM observations"):
        if max(map(_width, codec.ENTRIES.load(text).values()), default=0) > widths.get(dataset, 0):
            yield Damaged("observations", key, "entries")
    for table in ("rows", "revisions"):
        yield from _wrong_cells(reader, table, widths)
    for key, changed, was in reader.each(
        "SELECT id, changed, was FROM revisions WHERE was IS NOT NULL"
    ):
        if changed.bit_count() != len(codec.VALUES.load(was)):
            yield Damaged("revisions", key, "was")


def _wrong_cells(reader: Reader, table: str, widths: Mapping[bytes, int]) -> Iterator[Damaged]:
    pages = {page for (page,) in reader.each("SELECT id FROM observations")}
    for key, dataset, observation, *stored in reader.each(
        "SELECT id, dataset_id, observation_id, reasons, overrides, evidence "  # noqa: S608
        f"FROM {table}"
    ):
        for (column, load), text in zip(_BY_POSITION.items(), stored, strict=True):
            if text is not None and _width(load(text)) > widths.get(dataset, 0):
                yield Damaged(table, key, column)
        if observation is not None and observation not in pages:
            yield Damaged(table, key, "observation_id")
        for references in codec.load_positions(codec.EVIDENCE, stored[-1]).values():
            if any(bytes.fromhex(page) not in pages for page, _ in references):
                yield Damaged(table, key, "evidence")


def _width(by_position: Any) -> int:
    """How many columns there must be for these positions."""
    return max(by_position, default=-1) + 1


def wrong_values(reader: Reader) -> Iterator[Damaged]:
    """The moments that no date can show, and the bytes that cannot be unpacked."""
    yield from _wrong_moments(reader)
    yield from _wrong_outputs(reader)
    for table in TABLES:
        if table.name not in _WITH_RECIPES:
            loads = {name: resolve_name(unpack) for name, unpack in table.packed.items()}
            yield from _unloadable(reader, table, loads)


def _wrong_outputs(reader: Reader) -> Iterator[Damaged]:
    """The held outputs that cannot be unpacked, or do not fit the fields that they are of."""
    for run, packed, *recipe in reader.each(_OUTPUTS):
        try:
            _writable(codec.load_harvest(packed, _types(*recipe)))
        except _UNLOADABLE:
            yield Damaged("held_outputs", run, "harvest")


def _types(
    source: str, version: int, field_ids: str, columns: str, dropped: str | None
) -> Sequence[str] | None:
    """The types of a recipe's fields; None if it does not say them, which is damage of its own."""
    try:
        declared = codec.SOURCE.load(source)
        shown, gone = codec.COLUMNS.load(columns), codec.DROPPED.load(dropped or "[]")
        fields = codec.fields_of(codec.FIELD_IDS.load(field_ids), shown, None, gone)
        return _TYPES[run_kind(declared)](declared, fields.of_recipe(version))
    except (ValueError, TypeError, KeyError):
        return None


def _wrong_recipes(reader: Reader) -> Iterator[Damaged]:
    """The recipes that are no declaration, although a Run was judged by them."""
    for key, text in reader.each(_JUDGED):
        if not isinstance(codec.SOURCE.load(text), dict):
            yield Damaged("recipes", key, "source")


def _wrong_moments(reader: Reader) -> Iterator[Damaged]:
    """The moments before 1970 or after 9999, which nobody has lived and no date can show."""
    for table in TABLES:
        for column in table.moments:
            for (key,) in reader.each(
                f"SELECT {table.key} FROM {table.name} "  # noqa: S608  (our names)
                f"WHERE {column} NOT BETWEEN 0 AND :latest",
                latest=END_OF_TIME - 1,
            ):
                yield Damaged(table.name, key, column)
