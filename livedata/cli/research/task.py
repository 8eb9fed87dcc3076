"""A task for ``research eval``: a folder with a plan, pages, and the table that is right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from livedata.cli.source.source_file import read_declaration
from livedata.model.errors import Invalid
from livedata.model.research.declaration import PlanFile

EXAMPLE = '{"Acme": {"City": ["Lyon"]}}'


class EvalTask(Struct, frozen=True):
    """What is asked, of which pages, and name -> label -> the values that are right."""

    name: str
    plan: Path
    pages: Mapping[str, Path]
    gold: Mapping[str, Mapping[str, list[str]]]


def read_task(folder: Path) -> EvalTask:
    """The task in a folder. Raises Invalid if a part of it is missing or cannot be read."""
    plan, pages, gold = (folder / name for name in ("plan.toml", "pages", "gold.json"))
    if not plan.is_file():
        raise Invalid(
            f"{folder} is no task: it has no plan.toml. livedata research plan makes one."
        )
    declared = read_declaration(PlanFile, plan)
    if declared.urls:
        raise Invalid(
            f"{plan} names addresses, but a task reads its own pages; take `urls` out of it."
        )
    files = sorted(file for file in pages.rglob("*") if file.is_file())
    if not files:
        raise Invalid(f"{folder} is no task: there is no page in {pages}. Save some there.")
    served = {f"/{file.relative_to(pages).as_posix()}": file for file in files}
    labels = [attribute.label for attribute in declared.plan.attributes]
    return EvalTask(folder.name, plan, served, _gold(gold, labels))


def _gold(file: Path, labels: Sequence[str]) -> dict[str, dict[str, list[str]]]:
    try:
        gold = msgspec.json.decode(file.read_bytes(), type=dict[str, dict[str, list[str]]])
    except FileNotFoundError:
        raise Invalid(f"{file} is missing: it says what is right, such as {EXAMPLE}.") from None
    except (OSError, UnicodeDecodeError, msgspec.DecodeError) as error:
        raise Invalid(f"{file} cannot be read: {error}. It is JSON such as {EXAMPLE}.") from None
    if not gold:
        raise Invalid(f"{file} holds no row: write what is right, such as {EXAMPLE}.")
    strange = next((label for row in gold.values() for label in row if label not in labels), None)
    if strange is not None:
        raise Invalid(
            f"{file} has values for {strange!r}, and the plan no such label; it has "
            f"{', '.join(labels)}."
        )
    return gold
