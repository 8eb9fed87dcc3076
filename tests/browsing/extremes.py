"""A store with what strains a page: the widest, longest, emptiest and strangest tables."""

from __future__ import annotations

from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Final

from livedata.model import ids
from livedata.model.harvest import StopReason
from livedata.services import accounts
from tests import made
from tests.browsing.world import World

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from livedata.model.row import Scalar
    from livedata.store.database.store import Store

UNBROKEN: Final = "Donaudampfschifffahrtsgesellschaft" * 4
"""A name that no line can break between its words."""
SENTENCE: Final = "It stands on a foot of oak, and its shade is of linen. "
LONGEST: Final = 32_768
KEY: Final[Mapping[str, object]] = {"name": "sku", "label": "SKU", "type": "string", "key": True}
ADDRESS: Final = f"https://x.example/{UNBROKEN * 15}"
HEBREW: Final = "מנורת שולחן (חדשה) 40W, במבצע!"
ARABIC: Final = "مصباح مكتب، السعر ٢٥٫٥ ريال"
EMOJI: Final = "👩‍👩‍👧‍👦 🪔 🇮🇱 lamp"
NUMBERS: Final = (
    *(9_007_199_254_740_991, -9_007_199_254_740_991, 1e308, 5e-324, -0.000001),
    *(0.1, 1234567.89, 0, -17, 19.990000000000002),
)
CHANGES: Final = 200


@contextmanager
def strained_store(home: Path) -> Iterator[Store]:
    """A store with what strains the pages."""
    with closing(made.make_store(home)) as store:
        store.ensure()
        Extremes(store).fill()
        yield store


class Extremes:
    """Datasets of an owner, each of which strains the pages in its own way."""

    def __init__(self, store: Store, owner: str = "local") -> None:
        self.store, self.owner = store, owner

    def fill(self) -> Extremes:
        """Make all of them, beside those of a world."""
        World(self.store, self.owner).fill()
        for make in (self.wide, self.many, self.broken, self.foreign, self.long, self.numbers):
            make()
        self.restless()
        return self

    def wide(self) -> ids.DatasetId:
        """50 columns, some of them with long labels."""
        columns = [
            KEY,
            *(
                {"name": f"column{number}", "label": f"Column {number}", "type": _type(number)}
                for number in range(2, 50)
            ),
            {"name": "last", "label": UNBROKEN[:120], "type": "string"},
        ]
        items = [
            {
                "sku": f"W{row:02}",
                **{f"column{number}": _value(row, number) for number in range(2, 50)},
            }
            for row in range(20)
        ]
        return self._taken("fifty columns", items, columns)

    def large(self) -> ids.DatasetId:
        """40 columns and 1,000 rows: too much for the pages that look at each cell."""
        columns = [
            KEY,
            *(
                {"name": f"column{number}", "label": f"Column {number}", "type": _type(number)}
                for number in range(2, 41)
            ),
        ]
        items = [
            {
                "sku": f"L{row:04}",
                **{f"column{number}": _value(row, number) for number in range(2, 41)},
            }
            for row in range(1_000)
        ]
        return self._taken("forty columns of a thousand rows", items, columns)

    def many(self) -> ids.DatasetId:
        """1,000 rows."""
        return self._taken("a thousand rows", World(self.store, self.owner).items(1_000))

    def broken(self) -> ids.DatasetId:
        """A dataset whose only Run failed."""
        dataset = made.make_dataset(self.store, self.owner, "never read")
        made.take(
            self.store, dataset, [], owner=self.owner, ending=StopReason("page_failed", made.BROKEN)
        )
        return dataset

    def foreign(self) -> ids.DatasetId:
        """Names, labels, keys and cells from right to left, and with emoji."""
        columns: list[Mapping[str, object]] = [
            {**KEY, "label": "מק״ט"},
            {"name": "title", "label": "שם המוצר", "type": "string"},
            {"name": "arabic", "label": "الاسم", "type": "string"},
            {"name": "price", "label": "מחיר 💰", "type": "number"},
            {"name": "page", "label": "דף", "type": "string"},
            {"name": "story", "label": "סיפור", "type": "string"},
        ]
        first: Mapping[str, Scalar] = {
            "sku": "א-100",
            "title": HEBREW,
            "arabic": ARABIC,
            "price": 25.5,
            "page": "https://shop.example/מנורות?q=א",
            "story": HEBREW * 40,
        }
        others = [{**first, "sku": sku, "title": EMOJI} for sku in ("مفتاح ٣", "🪔", "A1 (חדש)")]
        changed = {**first, "title": f"{HEBREW[:12]} ישנה", "price": -3}
        return self._taken("חנות מנורות 🪔 shop", [first, *others], columns, [changed, *others])

    def long(self) -> ids.DatasetId:
        """Texts as long as a cell may be, with and without spaces, also as a key and as a name."""
        spaced = (SENTENCE * LONGEST)[: LONGEST - 1] + "."
        whole = (UNBROKEN * LONGEST)[:LONGEST]
        columns = [
            KEY,
            {"name": "spaced", "label": UNBROKEN[:120], "type": "string"},
            {"name": "whole", "label": "Without spaces", "type": "string"},
        ]
        first = {"sku": "L1", "spaced": spaced, "whole": whole}
        changed = {**first, "spaced": f"Moved. {spaced[7:]}", "whole": f"y{whole[1:]}"}
        other = {"sku": UNBROKEN + UNBROKEN[:64], "spaced": SENTENCE, "whole": ADDRESS}
        return self._taken(UNBROKEN[:120], [first, other], columns, [changed, other])

    def numbers(self) -> ids.DatasetId:
        """Numbers that are very large, very small, negative or exact."""
        columns = [KEY, {"name": "number", "label": "Number", "type": "number"}]
        moved = (9_007_199_254_740_990, 1e300, *NUMBERS[2:])
        items, later = _numbered(NUMBERS), _numbered(moved)
        return self._taken("numbers", items, columns, later)

    def restless(self) -> ids.DatasetId:
        """A row with hundreds of changes, and gaps: an empty cell, and a row that was gone."""
        dataset = made.make_dataset(self.store, self.owner, "restless")
        still, *_ = made.ITEMS
        for number in range(CHANGES):
            price = None if number % 40 == 20 else round(100 + 30 * (number % 7) - number / 3, 2)
            moving = {"sku": "R1", "title": f"Lamp of day {number}", "price": price}
            items = [still] if number % 50 == 30 else [still, moving]
            made.take(self.store, dataset, items, owner=self.owner)
        key = accounts.create_key(self.store, self.owner, f"{SENTENCE}{UNBROKEN}"[:100])
        by = ids.KeyId(ids.raw_id(key["id"]))
        World(self.store, self.owner).edit(dataset, "note", SENTENCE, by)
        return dataset

    def _taken(
        self,
        name: str,
        items: Sequence[Mapping[str, Scalar]],
        columns: Sequence[Mapping[str, object]] = made.COLUMNS,
        *later: Sequence[Mapping[str, Scalar]],
    ) -> ids.DatasetId:
        dataset = made.make_dataset(self.store, self.owner, name, columns)
        for taken in (items, *later):
            made.take(self.store, dataset, taken, owner=self.owner)
        return dataset


def _numbered(numbers: Sequence[float]) -> list[Mapping[str, Scalar]]:
    return [{"sku": f"N{index}", "number": number} for index, number in enumerate(numbers)]


def _type(column: int) -> str:
    return "number" if column % 3 else "string"


def _value(row: int, column: int) -> Scalar:
    if _type(column) == "number":
        return row * column + 0.25
    return f"text {row} of {column}" if column % 2 else SENTENCE * 2
