"""What a Run that was not accepted leaves behind: its output, and the page that stopped it."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from livedata.model.diagnosis.explanation import FailedPage
from livedata.model.diagnosis.recorded_run import PageCounts
from livedata.model.harvest import Harvest, PageSnapshot
from livedata.model.ids import DatasetId, Micros, RunId
from livedata.model.recipe import Recipe
from livedata.model.run import KEPT_FOR
from livedata.store.database.backend import Reader, Writer
from livedata.store.database.codec import (
    COUNTS,
    PROBLEM,
    dump,
    dump_harvest,
    load_harvest,
    unpack_text,
)
from livedata.store.database.statements import Expiring, insert

if TYPE_CHECKING:
    from livedata.model.research.recipe import ResearchRecipe

_HOLD = insert("held_outputs", "run_id", "harvest", "kept_until")
_OF_DATASET = "run_id IN (SELECT id FROM runs WHERE dataset_id = :dataset)"
_EARLIEST = f"""
SELECT max(moment) FROM (
    SELECT kept_until + 1 AS moment FROM held_outputs WHERE {_OF_DATASET} UNION ALL
    SELECT started_at + :kept_for AS moment FROM attempts WHERE run_id = :run) moments
"""  # noqa: S608  (our names)
"""The earliest moment until which the output of a Run is kept."""
_KEEP_PAGE = insert(
    "failed_pages",
    *("run_id", "number", "url", "final_url", "status", "title", "markup", "cut", "counts"),
    *("screenshot", "kept_until"),
)
_OVER = "kept_until < :moment"
OLD_OUTPUTS = Expiring("held_outputs", "run_id", _OVER, "DELETE FROM held_outputs")
OLD_PAGES = Expiring("failed_pages", "run_id", _OVER, "DELETE FROM failed_pages")


def hold(writer: Writer, dataset: DatasetId, run: RunId, harvest: bytes, until: Micros) -> None:
    """Keep the output of a Run for a person to judge: until then, or for longer.

    It is kept no shorter than the steps of its Run, by which `livedata check` tells an output that
    was old from one that is lost, and no shorter than what the dataset held before: `kept_until`
    has the outputs in the order in which they were committed, also if the clock was set back.
    """
    earliest: Micros = writer.value(_EARLIEST, dataset=dataset, run=run, kept_for=KEPT_FOR)
    writer.execute(_HOLD, run_id=run, harvest=harvest, kept_until=max(until, earliest))


def output(reader: Reader, run: RunId, now: Micros) -> bytes | None:
    """The output of a Run, while it is kept."""
    harvest: bytes | None = reader.value(
        "SELECT harvest FROM held_outputs WHERE run_id = :run AND kept_until >= :now",
        run=run,
        now=now,
    )
    return harvest


def outputs(reader: Reader, dataset: DatasetId, code: str, now: Micros) -> list[bytes]:
    """The outputs of a dataset that are kept, and held because of the problem `code`."""
    # The code is judged here and not in SQL: it stands in JSON text, where only a parser is sure.
    held = reader.rows(
        "SELECT r.problem, h.harvest FROM held_outputs h JOIN runs r ON r.id = h.run_id "
        "WHERE r.dataset_id = :dataset AND h.kept_until >= :now",
        dataset=dataset,
        now=now,
    )
    return [harvest for problem, harvest in held if problem and PROBLEM.load(problem).code == code]


def forget_outputs(writer: Writer, dataset: DatasetId, run: RunId | None) -> None:
    """Let go of what a dataset held up to an accepted Run.

    Without a Run everything is deleted that the dataset held. If the Run itself was held, outputs
    that were held after it stay: a person may accept an older Run first.
    """
    writer.execute(
        f"DELETE FROM held_outputs WHERE {_OF_DATASET} "  # noqa: S608
        "AND kept_until <= coalesce((SELECT kept_until FROM held_outputs WHERE run_id = :run), "
        "kept_until)",
        dataset=dataset,
        run=run,
    )


def keep_page(
    writer: Writer, run: RunId, page: PageSnapshot, counts: PageCounts | None, until: Micros
) -> None:
    """Keep the page that stopped a Run."""
    writer.execute(
        _KEEP_PAGE,
        run_id=run,
        number=page.number,
        url=page.url,
        final_url=page.final_url,
        status=page.status,
        title=page.title,
        # Up to 64 KiB for each Run that fails; markup repeats itself.
        markup=zlib.compress(page.markup),
        cut=page.cut,
        counts=None if counts is None else dump(counts),
        screenshot=page.screenshot,
        kept_until=until,
    )


def failed_page(reader: Reader, run: RunId, now: Micros) -> FailedPage | None:
    """The page that stopped a Run, while it is kept."""
    row = reader.row(
        "SELECT number, url, final_url, status, title, markup, cut, counts, screenshot "
        "FROM failed_pages WHERE run_id = :run AND kept_until >= :now",
        run=run,
        now=now,
    )
    if row is None:
        return None
    markup = unpack_text(row[5])
    counts = None if row[7] is None else COUNTS.load(row[7])
    number, url, final_url, status, title = row[:5]
    return FailedPage(number, url, final_url, status, title, markup, bool(row[6]), counts, row[8])


def forget_page(writer: Writer, run: RunId) -> None:
    """Let go of the page that stopped a Run: it was accepted after all."""
    writer.execute("DELETE FROM failed_pages WHERE run_id = :run", run=run)


def serialize_harvest(harvest: Harvest) -> bytes:
    """The bytes of a harvest that is held for a person to judge."""
    return dump_harvest(harvest)


def deserialize_harvest(packed: bytes, recipe: Recipe | ResearchRecipe | None = None) -> Harvest:
    """The harvest of :func:`serialize_harvest`, which is always complete.

    What is to become rows names the `recipe` that it was read by, which it must fit.
    """
    return load_harvest(packed, None if recipe is None else recipe.types)
