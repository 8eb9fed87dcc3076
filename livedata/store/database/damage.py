"""Finds the record of a store that cannot be read, once reading has failed.

JSON is judged as it is loaded (`codec.JsonColumn`); all else that is read from the store is not: that
would cost every command. A record that cannot be read shows as an error that does not know its table
and row, and only then the store is searched for its cause.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, TypeVar

import orjson

from livedata.model.errors import Damaged, Invalid
from livedata.model.problem import problem_of
from livedata.store.database import codec
from livedata.store.database.backend import Reader
from livedata.store.database.shapes import Fits

T = TypeVar("T")

SYMPTOMS: tuple[type[Exception], ...] = (
    # Text that is no JSON or no UTF-8, bytes that cannot be unpacked, a moment out of all years.
    *(ValueError, zlib.error, OverflowError),
    # JSON of another shape than was written.
    *(TypeError, KeyError, IndexError, AttributeError, AssertionError),
)
"""The errors that an unreadable record may cause."""

_CELLS: Mapping[str, Fits] = {
    "data": codec.VALUES.fits,
    "reasons": codec.REASONS.fits,
    "overrides": codec.OVERRIDES.fits,
    "evidence": codec.EVIDENCE.fits,
}


def _is_source(value: Any) -> bool:
    # A source of another version may be anything: no Run reads it.
    if not isinstance(value, dict) or value.get("version") != 1:
        return codec.SOURCE.fits(value)
    # What validates a declaration is worth its import only here, behind something that failed.
    from livedata.messages.validation import read
    from livedata.model.source import Source

    try:
        read(Source, value)
    except Invalid:
        return False
    return True


def _is_problem(value: Any) -> bool:
    from livedata.messages.remedies import advice
    from livedata.messages.render import sentence

    if not codec.PROBLEM.fits(value):
        return False
    problem = problem_of(value)
    return _is_known(sentence, problem) and all(
        _is_known(advice, each) for each in problem.remedies
    )


def _are_facts(value: Any) -> bool:
    from livedata.messages.findings import oddity_sentence

    return codec.FACTS.fits(value) and all(
        _is_known(oddity_sentence, problem_of(fact)) for fact in value.get("odd", ())
    )


def _is_known(say: Callable[[T], str], value: T) -> bool:
    """Whether there are words for a code with its parameters."""
    try:
        say(value)
    except SYMPTOMS:
        return False
    return True


_JSON: Mapping[str, Mapping[str, Fits]] = {
    "datasets": {"columns": codec.COLUMNS.fits, "field_ids": codec.FIELD_IDS.fits},
    "recipes": {"source": _is_source},
    "schemas": {"columns": codec.COLUMNS.fits},
    "runs": {
        "checks": codec.CHECKS.fits,
        "stop": codec.STOP.fits,
        "facts": _are_facts,
        "problem": _is_problem,
    },
    "attempts": {"steps": codec.STEPS.fits},
    "failed_pages": {"counts": codec.COUNTS.fits},
    "observations": {"entries": codec.ENTRIES.fits},
    "rows": _CELLS,
    "revisions": {**_CELLS, "was": codec.VALUES.fits},
}
"""Table -> its columns of JSON, compressed or not, and whether a value can stand in them."""
_PACKED: Mapping[str, Mapping[str, Callable[[bytes], object]]] = {
    "held_outputs": {"harvest": codec.load_harvest},
    "failed_pages": {"markup": lambda packed: zlib.decompress(packed).decode()},
}
"""Table -> its columns of compressed bytes, and what reads them."""


_MOMENTS: Mapping[str, Sequence[str]] = {
    "owners": ("created_at",),
    "api_keys": ("created_at", "last_used_at", "revoked_at"),
    "ledger": ("created_at",),
    "datasets": ("next_run_at", "rows_updated_at", "created_at", "updated_at"),
    "recipes": ("created_at",),
    "schemas": ("created_at",),
    "runs": ("lease_until", "queued_at", "started_at", "completed_at"),
    "attempts": ("started_at", "ended_at"),
    "held_outputs": ("kept_until",),
    "failed_pages": ("kept_until",),
    "rows": ("observed_at", "updated_at"),
    "revisions": ("created_at",),
    "observations": ("observed_at",),
    "skipped_fires": ("fired_at",),
}
"""Table -> its columns of moments."""
_KEYS: Mapping[str, str] = {
    "owners": "name",
    "held_outputs": "run_id",
    "failed_pages": "run_id",
    "skipped_fires": "dataset_id",
}
"""Table -> the column that names its rows, if that is not ``id``."""
_JUDGED = """
SELECT id, source FROM recipes c WHERE EXISTS (
    SELECT 1 FROM runs r
    WHERE r.dataset_id = c.dataset_id AND r.recipe_version = c.version AND r.checks <> '[]')
"""
"""The recipes of Runs that were judged."""
_END_OF_TIME = 253_402_300_800_000_000
"""The first moment that no calendar here can show: the year 10,000, in microseconds."""


def first_damage(reader: Reader) -> Damaged | None:
    """The first record that cannot be read; None if all of them can."""
    for damaged in reader.unreadable():
        return damaged
    searches = (wrong_json, _wrong_places, _wrong_recipes, wrong_values)
    return next(chain.from_iterable(search(reader) for search in searches), None)


def wrong_json(reader: Reader, *, cells: bool = True) -> Iterator[Damaged]:
    """The JSON that no version wrote: it cannot be read, or is of another shape.

    Without `cells` that of rows and revisions is left out, which is most of a store.
    """
    for table, columns in _JSON.items():
        if not cells and table in {"rows", "revisions"}:
            continue
        for column, is_sound in columns.items():
            for key, text in _values(reader, table, column):
                if not is_sound(_json(text)):
                    yield Damaged(table, key, column)


def _wrong_places(reader: Reader) -> Iterator[Damaged]:
    """The JSON of the right shape that names a column or a page which its dataset does not have."""
    widths: dict[bytes, int] = {}
    for dataset, field_ids, columns in reader.each("SELECT id, field_ids, columns FROM datasets"):
        fields = codec.FIELD_IDS.load(field_ids)
        widths[dataset] = len(fields)
        if set(fields) != {column["id"] for column in codec.COLUMNS.load(columns)}:
            yield Damaged("datasets", dataset, "field_ids")
    for key, dataset, text in reader.each("SELECT id, dataset_id, entries FROM observations"):
        texts = codec.ENTRIES.load(text).values()
        if any(int(at) >= widths.get(dataset, 0) for by_position in texts for at in by_position):
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
    for key, dataset, observation, *cells in reader.each(
        "SELECT id, dataset_id, observation_id, reasons, overrides, evidence "  # noqa: S608
        f"FROM {table}"
    ):
        for column, text in zip(("reasons", "overrides", "evidence"), cells, strict=True):
            if any(int(at) >= widths.get(dataset, 0) for at in orjson.loads(text or "{}")):
                yield Damaged(table, key, column)
        if observation is not None and observation not in pages:
            yield Damaged(table, key, "observation_id")
        for references in codec.load_positions(codec.EVIDENCE, cells[-1]).values():
            if any(bytes.fromhex(page) not in pages for page, _ in references):
                yield Damaged(table, key, "evidence")


def wrong_values(reader: Reader) -> Iterator[Damaged]:
    """The moments that no date can show, and the bytes that cannot be unpacked."""
    return chain(_wrong_moments(reader), _wrong_bytes(reader))


def _wrong_recipes(reader: Reader) -> Iterator[Damaged]:
    """The recipes that are no declaration, although a Run was judged by them."""
    for key, text in reader.each(_JUDGED):
        if not isinstance(_json(text), dict):
            yield Damaged("recipes", key, "source")


def _wrong_moments(reader: Reader) -> Iterator[Damaged]:
    """The moments before 1970 or after 9999, which nobody has lived and no date can show."""
    for table, columns in _MOMENTS.items():
        for column in columns:
            for key in reader.each(
                f"SELECT {_key(table)} FROM {table} "  # noqa: S608  (our names)
                f"WHERE {column} NOT BETWEEN 0 AND :latest",
                latest=_END_OF_TIME - 1,
            ):
                yield Damaged(table, key[0], column)


def _wrong_bytes(reader: Reader) -> Iterator[Damaged]:
    """The outputs and pages that cannot be unpacked."""
    for table, packed in _PACKED.items():
        for column, read in packed.items():
            for key, content in _values(reader, table, column):
                try:
                    read(content)
                except SYMPTOMS:
                    yield Damaged(table, key, column)


def _values(reader: Reader, table: str, column: str) -> Iterator[tuple[bytes, Any]]:
    found = reader.each(
        f"SELECT {_key(table)}, {column} FROM {table} WHERE {column} IS NOT NULL"  # noqa: S608  (our names)
    )
    return ((row[0], row[1]) for row in found)


def _key(table: str) -> str:
    return _KEYS.get(table, "id")


def _json(text: str) -> object:
    try:
        return codec.load_compressed(text)
    except ValueError:
        return None
