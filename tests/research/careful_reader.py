"""What stands in for a model: it reads a window with care, and answers in the words of its text.

It knows the gold of a task, but answers only what it finds in the text that it is given.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from tests.research.manuals import Entity
from tests.servers.defects import NONE, Defects, flawed
from tests.servers.model import Asked

MOST = 25
"""The rows of one answer."""
NEAR = 80
"""A value so close behind its heading is quoted with it."""
FAR = 2_000
"""No value stands so far behind its heading."""
Json = dict[str, Any]


class CarefulReader:
    """Answers the windows of pages, of which it knows the entities by path.

    Its `defects` are drawn by `seed` and window: the same question is always answered alike. A
    `restless` one writes every other name in another case and with other spaces.
    """

    def __init__(
        self,
        entities: Mapping[str, Sequence[Entity]],
        *,
        defects: Defects = NONE,
        restless: bool = False,
        seed: int = 0,
    ) -> None:
        self._entities = entities
        self._defects = defects
        self._restless = restless
        self._seed = seed

    def __call__(self, asked: Asked) -> Json:
        """The answer to one question about a window."""
        page = asked.task["page"]
        seed = f"{self._seed} {page['text']}"
        chance = random.Random(seed)
        rows = list(read_rows(self._entities.get(urlsplit(page["url"]).path, ()), page["text"]))
        for row in rows:
            if self._restless and chance.random() < 0.5:
                row["name"] = f" {row['name'].upper()} "
        answer = {"rows": rows[:MOST], "hasMore": len(rows) > MOST}
        return flawed(answer, self._defects, seed)


def read_rows(entities: Sequence[Entity], text: str) -> Iterator[Json]:
    """The rows of the entities whose headings stand in a text, in its order."""
    page = " ".join(text.split())
    places = [(place, entity) for entity in entities if (place := _place(page, entity)) >= 0]
    for start, entity in sorted(places, key=lambda each: each[0]):
        # Not up to the next heading: that may be a name which the words of this entity mention.
        part = page[start : start + FAR]
        yield {
            "name": entity.name,
            "nameQuote": part[: len(entity.heading)],
            "officialUrl": None,
            "aliases": [],
            "scope": [],
            "cells": list(_cells(part, entity)),
        }


def _place(page: str, entity: Entity) -> int:
    """Where an entity is described: the place of its heading with most of its values behind it."""
    matches = re.finditer(rf"(?<!\w){re.escape(entity.heading)}(?!\w)", page)
    return max(
        (match.start() for match in matches),
        key=lambda place: sum(
            value in page[place : place + FAR] for value in entity.values.values()
        ),
        default=-1,
    )


def _cells(part: str, entity: Entity) -> Iterator[Json]:
    """The cells of an entity, read from its part of the page."""
    for label, value in entity.values.items():
        place = part.find(value)
        if place < 0:
            yield {"attribute": label, "value": None, "quote": None, "reason": "not_found"}
        else:
            quote = part[0 if place < NEAR else place : place + len(value)]
            yield {"attribute": label, "value": value, "quote": quote, "reason": None}
