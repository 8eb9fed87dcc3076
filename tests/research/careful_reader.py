"""What stands in for a model: it reads a window as carefully as it is told to.

It knows the gold of a task, but answers only what it finds in the text that it is given, in the
words of that text. Its defects are drawn by a seed: the same question is always answered alike.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tests.research.manuals import Entity

MOST = 25
"""The rows of one answer."""
NEAR = 80
"""A value so close behind its heading is quoted with it."""
Json = dict[str, Any]


@dataclass(frozen=True)
class Defects:
    """The shares of rows missed, and of names, quotes and digits that are altered.

    With `restless` it writes names in another case and with other spaces.
    """

    missed: float = 0.0
    names: float = 0.0
    quotes: float = 0.0
    digits: float = 0.0
    restless: bool = False
    seed: int = 0

    def strikes(self, share: float, *about: str) -> bool:
        """Whether a defect of this share meets what it is about."""
        digest = hashlib.sha256("\n".join([str(self.seed), *about]).encode()).digest()
        return int.from_bytes(digest[:8], "big") < share * 2**64


AS_TOLD = (0.08, 0.06, 0.10, 0.08)
"""The shares of a careless model: rows missed, names, quotes and digits altered."""


def careless(seed: int = 0, *, restless: bool = False) -> Defects:
    """The defects of a careless model."""
    return Defects(*AS_TOLD, restless=restless, seed=seed)


@dataclass(frozen=True)
class CarefulReader:
    """Answers windows of the pages of a task, of which it knows the entities."""

    entities: Sequence[Entity]
    defects: Defects = Defects()

    def rows(self, text: str) -> Json:
        """The answer to one window with this text."""
        page = " ".join(text.split())
        seen = [
            (match.start(), entity)
            for entity in self.entities
            if (match := re.search(rf"(?<!\w){re.escape(entity.heading)}(?!\w)", page))
        ]
        seen.sort(key=lambda place: place[0])
        ends = [start for start, _ in seen[1:]] + [len(page)]
        rows = [
            self._row(page[start:end], entity)
            for (start, entity), end in zip(seen, ends, strict=True)
            if not self.defects.strikes(self.defects.missed, "row", entity.name)
        ]
        return {"rows": rows[:MOST], "hasMore": len(rows) > MOST}

    def _row(self, part: str, entity: Entity) -> Json:
        """The row of an entity, read from its part of the page."""
        name = entity.name
        if self.defects.strikes(self.defects.names, "name", name):
            name = f"{name} Ultra"
        elif self.defects.restless and self.defects.strikes(0.5, "restless", name):
            name = f" {name.upper()} "
        return {
            "name": name,
            "nameQuote": part[: len(entity.heading)],
            "officialUrl": None,
            "aliases": [],
            "scope": [],
            "cells": list(self._cells(part, entity)),
        }

    def _cells(self, part: str, entity: Entity) -> Iterator[Json]:
        for label, value in entity.values.items():
            at = part.find(value)
            if at < 0:
                yield {"attribute": label, "value": None, "quote": None, "reason": "not_found"}
                continue
            quote = part[0 if at < NEAR else at : at + len(value)]
            if self.defects.strikes(self.defects.quotes, "quote", entity.name, label):
                quote = f"{quote} indeed"
            if self.defects.strikes(self.defects.digits, "digits", entity.name, label):
                value = re.sub(r"\d", lambda digit: str((int(digit[0]) + 1) % 10), value)
            yield {"attribute": label, "value": value, "quote": quote, "reason": None}
