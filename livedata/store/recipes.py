"""Recipes and schemas: the versions of a dataset's source and of its columns, never changed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from livedata.model.dataset import Column, Schema
from livedata.model.diagnosis.recorded_run import RunFacts
from livedata.model.errors import ChangedMeanwhile
from livedata.model.ids import DatasetId, Micros, RunId, format_timestamp, format_uuid, new_id
from livedata.model.recipe import Kind, Recipe, compile_recipe, run_kind
from livedata.store import queue, site_turns
from livedata.store.database.backend import Reader, Writer
from livedata.store.database.codec import COLUMNS, FACTS, SOURCE, Fields, dump, unpacked
from livedata.store.database.statements import insert, listed
from livedata.store.queue import OpenRun
from livedata.store.rows import LAST_ACCEPTED
from livedata.store.site_turns import Others

if TYPE_CHECKING:
    from livedata.model.research.recipe import ResearchRecipe


def _compile_research(
    version: int, declared: Mapping[str, Any], columns: Sequence[Column]
) -> ResearchRecipe:
    # Runs of selectors, and questions about them, do not pay for the import.
    from livedata.model.research.stored import compile_research

    return compile_research(version, declared, columns)


_COMPILERS: Mapping[Kind, Callable[..., Recipe | ResearchRecipe]] = {
    "selectors": compile_recipe,
    "research": _compile_research,
}
"""What makes a recipe of each kind as Runs follow it."""
_SOURCES = """
SELECT d.id, p.source
FROM datasets d JOIN recipes p ON p.dataset_id = d.id AND p.version = d.recipe_version
WHERE d.id IN ({names})
"""
_BASES = f"""
SELECT d.id, p.version, p.source, o.balance, {queue.OPEN}
FROM datasets d JOIN owners o ON o.name = d.owner
JOIN recipes p ON p.dataset_id = d.id AND p.version = d.recipe_version
LEFT JOIN runs r ON r.dataset_id = d.id AND r.status IN ('queued', 'running')
WHERE d.id IN ({{names}})
"""  # noqa: S608  (our own words)
_PLANS = f"""
SELECT r.id, p.version, p.source, a.facts, {site_turns.OTHERS}
FROM runs r JOIN datasets d ON d.id = r.dataset_id
JOIN recipes p ON p.dataset_id = r.dataset_id AND p.version = r.recipe_version
LEFT JOIN runs a ON a.id = ({LAST_ACCEPTED.replace(":dataset", "r.dataset_id")})
WHERE r.id IN ({{names}})
"""  # noqa: S608  (our own words)
_ADD_RECIPE = insert("recipes", "id", "dataset_id", "version", "source", "created_at")
_ADD_SCHEMA = insert("schemas", "id", "dataset_id", "version", "columns", "created_at")


def source(reader: Reader, dataset: DatasetId, version: int | None = None) -> tuple[int, object]:
    """The (version, JSON) of a recipe of a dataset; without a `version`, of the newest."""
    row = reader.row(
        "SELECT version, source FROM recipes WHERE dataset_id = :dataset "
        "AND version = coalesce(:version, "
        "(SELECT recipe_version FROM datasets WHERE id = :dataset))",
        dataset=dataset,
        version=version,
    )
    assert row is not None
    return row[0], SOURCE.load(row[1])


def newest_sources(reader: Reader, those: Collection[DatasetId]) -> dict[DatasetId, object]:
    """The JSON of the newest recipe of each of these datasets."""
    names, named = listed("dataset", those)
    rows = reader.rows(_SOURCES.format(names=names), **named) if named else []
    return {dataset: SOURCE.load(text) for dataset, text in rows}


def check_newest(reader: Reader, dataset: DatasetId, expected: int | None) -> None:
    """Raise ChangedMeanwhile if a version is expected, and the newest recipe is another one."""
    if expected not in {None, source(reader, dataset)[0]}:
        raise ChangedMeanwhile


def is_pinned(reader: Reader, dataset: DatasetId, wanted: object) -> bool:
    """Whether the newest recipe of a dataset is this source."""
    _, newest = source(reader, dataset)
    written: object = SOURCE.load(dump(wanted))
    return newest == written


def pinned(
    reader: Reader, dataset: DatasetId, fields: Fields, version: int | None = None
) -> Recipe | ResearchRecipe | None:
    """A recipe as Runs execute it; without a `version`, the newest.

    None if it is not a declaration of version 1.
    """
    return _compiled(*source(reader, dataset, version), fields)


class Basis(Struct, frozen=True):
    """What a new Run of a dataset is made of: the newest recipe, and the credits of its owner.

    `open` is the Run that is queued or running already, if there is one.
    """

    version: int
    source: str
    balance: int
    open: OpenRun | None


def ask_bases(reader: Reader, those: Collection[DatasetId]) -> Callable[[], dict[DatasetId, Basis]]:
    """What a new Run of each dataset is made of, asked together with the next question."""
    names, named = listed("dataset", those)
    answer = reader.ask(_BASES.format(names=names), **named)

    def bases() -> dict[DatasetId, Basis]:
        return {
            dataset: Basis(version, text, balance, queue.opened(run) if run[0] else None)
            for dataset, version, text, balance, *run in answer()
        }

    return bases


class RunPlan(Struct, frozen=True):
    """What a Run begins with: the version and source of its recipe, and what was found last.

    `others` are who waits beside it.
    """

    _version: int
    _source: str
    _facts: str | None
    others: Others

    def recipe(self, fields: Fields) -> Recipe | ResearchRecipe | None:
        """The recipe; None if it is not a declaration of version 1."""
        return _compiled(self._version, SOURCE.load(self._source), fields)

    def facts(self) -> RunFacts:
        """The facts of the Run that was accepted last; empty if none was."""
        return FACTS.load(unpacked(self._facts)) if self._facts else {}


def ask_plans(reader: Reader, those: Collection[RunId]) -> Callable[[], dict[RunId, RunPlan]]:
    """What each of these Runs begins with, asked together with the next question."""
    names, named = listed("run", those)
    answer = reader.ask(_PLANS.format(names=names), **named)

    def plans() -> dict[RunId, RunPlan]:
        return {
            run: RunPlan(version, text, facts, Others(*others))
            for run, version, text, facts, *others in answer()
        }

    return plans


def _compiled(number: int, declared: object, fields: Fields) -> Recipe | ResearchRecipe | None:
    if not isinstance(declared, dict) or declared.get("version") != 1:
        return None
    try:
        return _COMPILERS[run_kind(declared)](number, declared, fields.of_recipe(number))
    except (KeyError, TypeError, ValueError):
        # Creation checks every source, so somebody else wrote this one: no page is asked for it.
        return None


def schemas(reader: Reader, dataset: DatasetId, versions: Collection[int]) -> list[Schema]:
    """These versions of a dataset's schema, ascending."""
    # A page of changes has one version or two: a question for each needs no list for IN.
    return [
        {
            "id": format_uuid(row[0]),
            "datasetId": format_uuid(dataset),
            "version": version,
            "fields": COLUMNS.load(row[1]),
            "createdAt": format_timestamp(row[2]),
        }
        for version in sorted(versions)
        for row in reader.rows(
            "SELECT id, columns, created_at FROM schemas "
            "WHERE dataset_id = :dataset AND version = :version",
            dataset=dataset,
            version=version,
        )
    ]


def add_recipe(writer: Writer, dataset: DatasetId, source: object, now: Micros) -> int:
    """Pin the next recipe version; its number."""
    # Counted in the dataset's row, which this locks: two revisions at once get different numbers.
    version: int = writer.value(
        "UPDATE datasets SET recipe_version = recipe_version + 1, updated_at = :now "
        "WHERE id = :dataset RETURNING recipe_version",
        dataset=dataset,
        now=now,
    )
    writer.execute(
        _ADD_RECIPE,
        id=new_id(),
        dataset_id=dataset,
        version=version,
        source=dump(source),
        created_at=now,
    )
    return version


def follow(writer: Writer, run: RunId, version: int) -> None:
    """Let a Run that is locked execute the recipe that it has planned itself."""
    writer.execute(
        "UPDATE runs SET recipe_version = :version WHERE id = :run", run=run, version=version
    )


def add_schema(
    writer: Writer, dataset: DatasetId, version: int, columns: Sequence[Column], now: Micros
) -> None:
    """Keep the columns of one schema version."""
    writer.execute(
        _ADD_SCHEMA,
        id=new_id(),
        dataset_id=dataset,
        version=version,
        columns=dump(columns),
        created_at=now,
    )
