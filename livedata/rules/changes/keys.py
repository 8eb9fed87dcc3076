"""Which columns would be the better key: those that tell all records apart, and that have stayed.

What was read says so by itself: a column whose values stand on rows that would be gone and on rows
in their place knows the same things again under other keys (rules 7.9).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Final

from msgspec import Struct

from livedata.model.dataset import NUMERIC
from livedata.model.problem import Params, Remedy
from livedata.model.recipe import Recipe, RecipeField
from livedata.model.row import Scalar
from livedata.rules.changes.compare import Changes

MOST_EXAMPLES: Final = 3
_LONGEST: Final = 140
"""Longer texts are descriptions, which are rewritten."""
_MOST_PAIRED: Final = 8
"""Of so many columns each two are looked at together: the work stays small."""

Values = Sequence[Scalar]
"""What was read of a record, in the order of the recipe's fields."""
Place = tuple[int, ...]
"""Fields that are looked at together, by their indexes in the recipe."""
Rows = Mapping[str, Values]
"""Records by their keys."""


class Moved(Struct, frozen=True):
    """Rows that stand there under other keys; `fresh` are those that were not present before.

    Of them `same` have all other cells of a row that would be gone, and `known` are known again by
    the columns `better`, which are empty if none tell all rows apart. `examples` are keys before
    and now.
    """

    fresh: int
    same: int
    better: tuple[str, ...]
    known: int
    examples: Sequence[tuple[str, str]]


def moved_keys(recipe: Recipe, changes: Changes) -> Moved:
    """How the rows that would be gone stand beside those that come in their place."""
    positions = [field.position for field in recipe.fields]
    gone = {
        change.key: [change.before(position) for position in positions]
        for change in changes.revisions
        if change.kind == "missing"
    }
    fresh = {
        change.key: change.seen.record.values
        for change in changes.revisions
        if change.kind in {"created", "returned"} and change.seen is not None
    }
    read = [seen.record.values for _, seen in changes.unchanged]
    read += [change.seen.record.values for change in changes.revisions if change.seen is not None]
    others = [index for index in range(len(recipe.fields)) if index not in recipe.key_indexes]
    same = _pairs(gone, fresh, tuple(others))
    known, place = _knowing_again(gone, fresh, _candidates(recipe, others, read))
    names = tuple(recipe.fields[index].name for index in place)
    return Moved(len(fresh), len(same), names, len(known), (known or same)[:MOST_EXAMPLES])


def another_key(
    better: Sequence[str], otherwise: Remedy, *, has_rows: bool = True
) -> tuple[Remedy, ...]:
    """What gives a source the key `better`: a dataset of its own, unless this one has no rows yet.

    Without a better key a person is told to do `otherwise`.
    """
    if not better:
        return (otherwise,)
    identity = f'field = "{better[0]}"'
    if len(better) > 1:
        listed = ", ".join(f'"{name}"' for name in better)
        identity = f'kind = "composite" and fields = [{listed}]'
    params: Params = {"keys": " and ".join(better), "identity": identity}
    if not has_rows:
        return (Remedy("key_by", params),)
    return Remedy("key_of_its_own", params), Remedy("create_dataset", {"file": "source.toml"})


def telling_apart(recipe: Recipe, records: Sequence[Values]) -> tuple[str, ...]:
    """The columns that tell records apart of which several share a key; empty if none do."""
    # What was read twice alike is one row.
    distinct = list(dict.fromkeys(map(tuple, records)))
    places = _candidates(recipe, range(len(recipe.fields)), distinct)
    place = next((place for alike in places for place in alike), ())
    return tuple(recipe.fields[position].name for position in place)


def _knowing_again(
    gone: Rows, fresh: Rows, candidates: Iterable[Sequence[Place]]
) -> tuple[list[tuple[str, str]], Place]:
    """The place that knows most fresh rows again, with their keys before and now; half at least."""
    for places in candidates:
        known = [(_pairs(gone, fresh, place), place) for place in places]
        best = max(known, key=lambda each: len(each[0]), default=([], ()))
        if best[0] and 2 * len(best[0]) >= len(fresh):
            return best
    return [], ()


def _pairs(gone: Rows, fresh: Rows, place: Place) -> list[tuple[str, str]]:
    """The keys before and now of rows with the same values at a place that only one of them has."""
    before, now = _by_values(gone, place), _by_values(fresh, place)
    return [(before[values], key) for values, key in now.items() if values in before]


def _by_values(rows: Rows, place: Place) -> dict[tuple[Scalar, ...], str]:
    """The key of each row by its values at a place; rows that share them are left out."""
    keys: dict[tuple[Scalar, ...], str] = {}
    shared = set()
    for key, row in rows.items():
        values = tuple(row[position] for position in place)
        if values in keys:
            shared.add(values)
        keys[values] = key
    return {
        values: key
        for values, key in keys.items()
        if values not in shared and any(value is not None for value in values)
    }


def _candidates(
    recipe: Recipe, allowed: Sequence[int], records: Sequence[Values]
) -> Iterator[list[Place]]:
    """Places that tell all records apart: single texts, two together, and numbers only then."""
    texts = [
        position
        for position in allowed
        if _may_identify(recipe.fields[position], position, records)
    ]
    numbers = [position for position in allowed if recipe.fields[position].type in NUMERIC]
    for places in (
        combinations(texts, 1),
        combinations(texts[:_MOST_PAIRED], 2),
        combinations(numbers, 1),
    ):
        yield [place for place in places if _tells_apart(place, records)]


def _may_identify(field: RecipeField, position: int, records: Sequence[Values]) -> bool:
    """Whether a column is a text of the kind that names things: no picture, no description."""
    if field.type != "string" or (field.read.attribute or "").endswith(("src", "srcset")):
        return False
    return all(len(str(record[position])) <= _LONGEST for record in records)


def _tells_apart(place: Place, records: Sequence[Values]) -> bool:
    values = {tuple(record[position] for position in place) for record in records}
    return len(values) == len(records) and not any(None in each for each in values)
