"""Makers of lamps: pages that list them, a model that reads such pages, and a plan for both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from livedata.model import ids
from livedata.model.research.recipe import ResearchLimits
from livedata.model.research.settings import ResearchSettings
from livedata.research.providers import trial
from livedata.services.research.declaring import ResearchDeclaration, add_draft
from livedata.store.database.store import Store
from tests.servers.model import Asked

PLAN = trial.PLAN
Maker = tuple[str, str, str]
FIRST: Sequence[Maker] = (("Acme Lamps", "1999", "Bern"), ("Bolt Light", "2004", "Basel"))
SECOND: Sequence[Maker] = (("Cogwheel", "1987", "Chur"), ("Dynamo Works", "2011", "Davos"))


def makers_page(makers: Sequence[Maker], words: str = "Makers of lamps") -> str:
    """A page that lists makers in a table."""
    rows = "".join(f"<tr><td>{'<td>'.join(maker)}</tr>" for maker in makers)
    return f"<title>{words}</title><h1>{words}</h1><table>{rows}</table>"


def read_makers(asked: Asked) -> dict[str, Any]:
    """What an honest model answers: the plan above, or each maker of a page with its line."""
    if asked.task["task"] == "plan":
        return dict(PLAN)
    lines = [line for line in asked.task["page"]["text"].split("\n") if line.count("\t") == 2]
    return {"rows": [_row(line) for line in lines], "hasMore": False}


def _row(line: str) -> dict[str, Any]:
    name, *values = line.split("\t")
    labels = [attribute["label"] for attribute in PLAN["attributes"]]
    return {
        "name": name,
        "nameQuote": line,
        "officialUrl": None,
        "aliases": [],
        "scope": [],
        "cells": [
            {"attribute": label, "value": value, "quote": line, "reason": None}
            for label, value in zip(labels, values, strict=True)
        ],
    }


def scripted(base_url: str, **changes: Any) -> ResearchSettings:
    """The settings for a model of the tests."""
    given = {"model_price_in": 1.0, "model_price_out": 2.0, **changes}
    return ResearchSettings(model="scripted", model_base_url=base_url, **given)


def dataset(
    store: Store,
    *urls: str,
    name: str = "makers",
    planned: bool = True,
    limits: ResearchLimits | None = None,
    owner: str = "local",
) -> ids.DatasetId:
    """A dataset of makers, from the plan or from a question."""
    question: dict[str, Any] = {"plan": PLAN} if planned else {"prompt": "Who makes lamps?"}
    declared = ResearchDeclaration(name, urls=urls, limits=limits or ResearchLimits(), **question)
    return ids.DatasetId(ids.raw_id(add_draft(store, owner, declared)["id"]))


def recorded(store: Store, kind: str) -> int:
    """How many artifacts of a kind there are."""
    with store.reading() as reader:
        number: int = reader.value("SELECT count(*) FROM artifacts WHERE kind = :kind", kind=kind)
    return number
