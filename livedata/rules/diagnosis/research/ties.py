"""Ties the facts of a research Run to the entities that they are about.

A key ties them, else the candidate that two facts have in common, else the name: two entities of
one page may have one name.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from msgspec import Struct

from livedata.model.diagnosis.recorded_research import RecordedResearch
from livedata.model.research.record import KnownRow, ResearchFact
from livedata.rules.research.fold import fold
from livedata.rules.research.identity import fold_name

AMBIGUOUS: Final = "identity_ambiguous"
MOST_ALIASES: Final = 100

_Tie = tuple[str, str]
"""What ties facts together: ("key", the key), or ("name", the folded name)."""


class ResearchEntity(Struct, frozen=True):
    """One entity with the facts that are about it, in their order.

    `keys` are several if nobody can tell which of them it is, and none if no row came of it.
    `rests_on` is the page that its row was read from before this Run.
    """

    name: str
    aliases: Sequence[str]
    keys: Sequence[str]
    facts: Sequence[ResearchFact]
    rests_on: str | None


def folded(recorded: RecordedResearch, name: str) -> str:
    """A name as entities are found again by it (rules 14.7)."""
    plan = None if recorded.recipe is None else recorded.recipe.plan
    return fold_name(name, "other" if plan is None else plan.kind)


def gather(recorded: RecordedResearch) -> list[ResearchEntity]:
    """The entities that a Run recorded something of, and those whose rows it was to look after."""
    names = _Names(recorded)
    facts: defaultdict[_Tie, list[ResearchFact]] = defaultdict(list)
    for fact in recorded.facts:
        # What a row came to follows from the Run itself: a held one may be accepted later.
        if fact.entity is not None and fact.stage != "output":
            facts[names.tie(fact)].append(fact)
    known = {row.key: row for row in recorded.known.rows if row.presence == "present"}
    shared = {key for tie in facts if tie[0] == "name" for key in names.keys(tie[1])}
    pages = {fact.url for fact in recorded.facts}
    for key, row in known.items():
        # Of a row of which nothing was recorded, a name that it shares says all that is known.
        if key not in shared or _rests_on(row) in pages:
            facts.setdefault(("key", key), [])
    entities = [names.entity(tie, about, known) for tie, about in facts.items()]
    return sorted(entities, key=lambda entity: (fold(entity.name), tuple(entity.keys)))


def _rests_on(row: KnownRow) -> str | None:
    # The name comes first of the cells, and its page is the one that the row stands or falls with.
    return row.cells[0].url if row.cells else None


class _Names:
    """The names of each key, the row's own first, and the keys of each name."""

    def __init__(self, recorded: RecordedResearch) -> None:
        self._folded = partial(folded, recorded)
        self._key_of: dict[str | None, str] = {
            fact.candidate: fact.key
            for fact in recorded.facts
            if fact.candidate and fact.key and fact.code != AMBIGUOUS
        }
        self._unsure = {
            fact.candidate
            for fact in recorded.facts
            if fact.code == AMBIGUOUS and fact.candidate not in self._key_of
        }
        self._names: defaultdict[str, dict[str, None]] = defaultdict(dict)
        self._keys: defaultdict[str, dict[str, None]] = defaultdict(dict)
        for key, name in dict.fromkeys(_names(recorded, self._key_of)):
            self._names[key].setdefault(name)
            self._keys[self._folded(name)].setdefault(key)
        # Folded names are how entities are found again, and not how they are called.
        for entity in recorded.known.entities:
            for name in entity.names:
                self._keys[name].setdefault(entity.key)

    def keys(self, name: str) -> Sequence[str]:
        """The keys that have a folded name."""
        return list(self._keys.get(name, ()))

    def tie(self, fact: ResearchFact) -> _Tie:
        """What ties a fact about an entity to others."""
        unsure = fact.code == AMBIGUOUS or fact.candidate in self._unsure
        key = None if unsure else fact.key or self._key_of.get(fact.candidate)
        if key is not None:
            return "key", key
        name = self._folded(fact.entity or "")
        keys = [] if unsure else self.keys(name)
        return ("key", keys[0]) if len(keys) == 1 else ("name", name)

    def entity(
        self, tie: _Tie, about: Sequence[ResearchFact], known: Mapping[str, KnownRow]
    ) -> ResearchEntity:
        """The entity that the facts `about` it are tied to."""
        kind, value = tie
        # One key that has the name is an entity of its own: nobody knows that it is this one.
        shared = self.keys(value) if len(self.keys(value)) > 1 else []
        keys = [value] if kind == "key" else shared
        names = dict.fromkeys(self._names[value]) if kind == "key" else {}
        names |= dict.fromkeys(fact.entity for fact in about if fact.entity)
        name, *others = names or {value: None}
        page = _rests_on(known[value]) if value in known else None
        return ResearchEntity(name, others[:MOST_ALIASES], keys, about, page)


def _names(
    recorded: RecordedResearch, key_of: Mapping[str | None, str]
) -> Iterator[tuple[str, str]]:
    """(key, name) of all that was called by a name, the names of rows first."""
    name_field = None if recorded.recipe is None else recorded.recipe.name.id
    for row in recorded.rows.values():
        for cell in row.cells:
            if cell.field == name_field and isinstance(cell.value, str):
                yield row.key, cell.value
    for known in recorded.known.rows:
        if known.cells and known.cells[0].value:
            yield known.key, known.cells[0].value
    for entity in recorded.known.entities:
        for alias in entity.aliases:
            yield entity.key, alias
    for fact in recorded.facts:
        key = fact.key or key_of.get(fact.candidate)
        if key and fact.entity and fact.code != AMBIGUOUS:
            yield key, fact.entity
