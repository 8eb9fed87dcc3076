"""Conditions beside a witness: another evaluator, and what was decided by hand."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any, Final

import pytest

from livedata.model.row import Scalar
from livedata.rules.conditions.matching import Number, ShownNumbers, match_revision
from livedata.rules.conditions.parsing import parse_when
from tests.rules.condition_samples import CLAUSES, SAMPLES
from tests.rules.condition_witness import witness
from tests.rules.test_conditions import COLUMNS, TYPES, revision


def meets(clauses: list[str], sample: Mapping[str, Any]) -> bool:
    """Whether a revision as the samples have it meets a condition."""
    shown = sample.get("shown", {})

    def outdoes(field: str, number: Number, low: bool) -> bool:
        numbers = ShownNumbers()
        numbers.add(shown.get(field.removeprefix("id-"), ()))
        return numbers.are_outdone(number, low=low)

    return match_revision(parse_when(clauses, COLUMNS), revision(**sample), outdoes) is not None


@pytest.mark.parametrize("number", range(len(SAMPLES)))
def test_what_was_decided_by_hand_holds(number: int) -> None:
    clauses, sample, expected, why = SAMPLES[number]
    assert meets(clauses, sample) is expected, why


def test_a_witness_of_another_making_sees_the_same() -> None:
    assert len(CLAUSES) >= 200
    made = [_made(random.Random(seed)) for seed in range(500)]
    met = 0
    for clauses in CLAUSES:
        for sample in made:
            expected = witness(clauses, dict(TYPES), dict(sample))
            assert meets(clauses, sample) is expected, (clauses, sample)
            met += expected
    assert met > 1_000


VALUES: Final[Mapping[str, list[Scalar]]] = {
    "title": [None, "", "Tea", "tea", "Green tea", " Earl \u00a0 Grey", "TEA pot", "10% off"],
    "price": [None, 0, -1, 0.1, 0.3, 8.5, 9.0, 10, 19.99, 20, 20.0, 20.5, 24.9, 100],
    "stock": [None, 0, 1, 2, 3, 5, 10],
    "sold": [None, True, False],
    "due": [None, "2026-01-31", "2026-03-01", "2026-03-01T00:00:00Z", "2026-03-01T01:00:00+02:00"],
    "link": [None, "https://a.example/tea", "https://b.example/x?y=1"],
}


def _made(chance: random.Random) -> dict[str, Any]:
    """A revision of some kind, of cells in which little is often the same."""
    kind = chance.choice(["created", "updated", "updated", "updated", "missing", "returned"])
    key = chance.choice(["A-1", "B-2", "tea-3"])
    before = {name: chance.choice(values) for name, values in VALUES.items()} | {"sku": key}
    after = dict(before)
    if kind in {"created", "updated", "returned"}:
        for name in chance.sample(sorted(VALUES), chance.randint(0, 3)):
            after[name] = chance.choice(VALUES[name])
    gone = kind == "missing" or (kind == "updated" and chance.random() < 0.1)
    shown = {
        name: [chance.choice(values) for _ in range(chance.randint(0, 4))] + [before[name]]
        for name, values in VALUES.items()
    }
    return {
        "kind": kind,
        "presence": "missing" if gone else "present",
        "key": key,
        "before": None if kind == "created" else before,
        "after": after,
        "shown": {} if kind == "created" else shown,
    }
