"""Defects that a model has now and then, drawn from a seed, in the answer to one window.

script = lambda asked: flawed(honest(asked), Defects(), seed=f"{run} {asked.task}")
"""

from __future__ import annotations

import copy
import random
import re
from dataclasses import dataclass
from typing import Any

CODA = " as everybody knows"


@dataclass(frozen=True)
class Defects:
    """How often each of them happens: a row is missed; a name, a quote, the digits are altered."""

    missed: float = 0.08
    names: float = 0.06
    quotes: float = 0.10
    digits: float = 0.08


NONE = Defects(0, 0, 0, 0)


def flawed(answer: dict[str, Any], defects: Defects, seed: object) -> dict[str, Any]:
    """`answer` (`rows` and `hasMore`) with defects; the same seed gives the same ones."""
    chance = random.Random(str(seed))
    rows = [
        _flawed_row(copy.deepcopy(row), defects, chance)
        for row in answer["rows"]
        if chance.random() >= defects.missed
    ]
    return {**answer, "rows": rows}


def _flawed_row(row: dict[str, Any], defects: Defects, chance: random.Random) -> dict[str, Any]:
    if chance.random() < defects.names:
        row["name"] = f"{row['name']} Holding"
        row["nameQuote"] = row["nameQuote"] + CODA
    for cell in row["cells"]:
        if cell["value"] is None:
            continue
        if chance.random() < defects.quotes:
            cell["quote"] = (cell["quote"] or "") + CODA
        if chance.random() < defects.digits:
            cell["value"] = re.sub(
                r"\d", lambda digit: str((int(digit[0]) + 1) % 10), cell["value"]
            )
    return row
