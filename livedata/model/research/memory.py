"""What a dataset knows when a research Run begins; a replay is given the same."""

from __future__ import annotations

from msgspec import Struct, field

from livedata.model.research.recipe import EntityKind
from livedata.model.research.settings import DayBudget
from livedata.model.row import MissingReason, Presence


class KnownEntity(Struct, frozen=True):
    """An entity that has a key: minted once, it never changes.

    `names` and `urls` are the folded ones by which it is found again; `aliases` as they were
    quoted, first seen first. `scope` are (label, folded value), sorted.
    """

    key: str
    kind: EntityKind
    anchor: str
    scope: tuple[tuple[str, str], ...]
    names: tuple[str, ...]
    urls: tuple[str, ...]
    aliases: tuple[str, ...]


class KnownCell(Struct, frozen=True):
    """A cell as the source had it last, with the page and the text that it was read from."""

    value: str | None
    reason: MissingReason | None
    url: str | None
    quote: str | None


class KnownRow(Struct, frozen=True):
    """A row as it stands; `cells` are in the order of the recipe's fields."""

    key: str
    presence: Presence
    cells: list[KnownCell]


class Spent(Struct, frozen=True):
    """What the earlier attempts of a Run have used; `pages` are the addresses they asked for."""

    pages: tuple[str, ...] = ()
    tokens: int = 0
    usd: float = 0.0


class Memory(Struct, frozen=True):
    """All that was known: entities of accepted Runs, rows, and what this Run has spent before.

    A `fresh` Run takes no answer from before it; each of its attempts is so. `day` is the owner's
    day as it stood then, None if it has no limit.
    """

    entities: list[KnownEntity] = field(default_factory=list)
    rows: list[KnownRow] = field(default_factory=list)
    spent: Spent = field(default_factory=Spent)
    fresh: bool = False
    day: DayBudget | None = None
