"""Which entity an offered row stands for, by its folded name and address: rules 14.7."""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import sha256
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from livedata.model.research.recipe import EntityKind
from livedata.model.research.record import KnownEntity
from livedata.rules.research.fold import fold

Scope = tuple[tuple[str, str], ...]
"""(label, folded value) of each scope field, sorted."""
_KEPT = "+#.&@/-"
_TRADEMARKS = re.compile("[™®©℠]")
_LONG_WORD = re.compile(r"[^\W\d_]{4,}")
_DEFAULT_PORTS = {"http": 80, "https": 443}

# A list of its own, and never a library's: a name must fold alike in every release.
_LEGAL_FORMS = frozenset(
    {
        *("ab", "ag", "as", "asa", "bv", "co", "company", "corp", "corporation", "eood", "gmbh"),
        *("inc", "incorporated", "kft", "kg", "kk", "limited", "llc", "llp", "ltd", "ltda", "nv"),
        *("ooo", "oy", "oyj", "plc", "pte", "pty", "pvt", "sa", "sarl", "sas", "se", "sl", "spa"),
        *("srl", "sro", "ug", "zrt"),
    }
)


class ClaimedIdentity(Struct, frozen=True):
    """What a row says of its own identity: its name, and its folded official address if any."""

    name: str
    url: str | None
    scope: Scope


class Ambiguous(Struct, frozen=True):
    """Several entities fit a row, or one that cannot be told from another."""

    keys: list[str]


class Resolved(Struct, frozen=True):
    """The entity of a row; `minted` says that it has its key from this row."""

    key: str
    minted: bool


class Entities:
    """All entities that are known, with those that rows of this Run add."""

    def __init__(self, kind: EntityKind, known: Sequence[KnownEntity]) -> None:
        self._kind = kind
        self._by_key = {entity.key: entity for entity in known}
        self._by_name: dict[tuple[Scope, str], list[str]] = {}
        self._by_url: dict[tuple[Scope, str], list[str]] = {}
        for entity in known:
            if entity.kind == kind:
                self._index(entity)

    def __getitem__(self, key: str) -> KnownEntity:
        return self._by_key[key]

    def resolve(self, candidate: ClaimedIdentity) -> Resolved | Ambiguous:
        """The entity that a row stands for, which knows its name and address from now on."""
        keys = self._named(candidate) or self._at_address(candidate)
        if len(keys) > 1:
            return Ambiguous(sorted(keys))
        if keys:
            self._learn(keys[0], candidate)
            return Resolved(keys[0], minted=False)
        return self._mint(candidate)

    def _named(self, candidate: ClaimedIdentity) -> list[str]:
        """The entities of this name, except those that live at other addresses only."""
        name = fold_name(candidate.name, self._kind)
        keys = self._by_name.get((candidate.scope, name), [])
        return [key for key in keys if not self._lives_elsewhere(key, candidate.url)]

    def _lives_elsewhere(self, key: str, url: str | None) -> bool:
        urls = self._by_key[key].urls
        if url is None or not urls:
            return False
        return not any(same_place(url, known, self._kind) for known in urls)

    def _at_address(self, candidate: ClaimedIdentity) -> list[str]:
        """The entities of this address, if a name of theirs resembles the new one."""
        if candidate.url is None:
            return []
        name = fold_name(candidate.name, self._kind)
        keys = self._by_url.get((candidate.scope, candidate.url), [])
        return [
            key
            for key in keys
            if any(share_a_word(name, known) for known in self._by_key[key].names)
        ]

    def _mint(self, candidate: ClaimedIdentity) -> Resolved | Ambiguous:
        name = fold_name(candidate.name, self._kind)
        # An address that another entity was named after does not tell this one apart.
        anchors = [anchor for anchor in (candidate.url, name) if anchor is not None]
        keys = [entity_key(self._kind, anchor, candidate.scope) for anchor in anchors]
        for anchor, key in zip(anchors, keys, strict=True):
            if key not in self._by_key:
                self._by_key[key] = KnownEntity(
                    key, self._kind, anchor, candidate.scope, names=(), urls=(), aliases=()
                )
                self._learn(key, candidate)
                return Resolved(key, minted=True)
        return Ambiguous(sorted(keys))

    def _learn(self, key: str, candidate: ClaimedIdentity) -> None:
        entity = self._by_key[key]
        names = _with(entity.names, fold_name(candidate.name, self._kind))
        urls = entity.urls if candidate.url is None else _with(entity.urls, candidate.url)
        if (names, urls) != (entity.names, entity.urls):
            self._by_key[key] = msgspec.structs.replace(entity, names=names, urls=urls)
            self._index(self._by_key[key])

    def _index(self, entity: KnownEntity) -> None:
        for index, tokens in ((self._by_name, entity.names), (self._by_url, entity.urls)):
            for token in tokens:
                keys = index.setdefault((entity.scope, token), [])
                if entity.key not in keys:
                    keys.append(entity.key)


def entity_key(kind: EntityKind, anchor: str, scope: Scope) -> str:
    """The key of an entity: equal facts give equal keys, in every dataset."""
    described = msgspec.json.encode(["entity/1", kind, anchor, scope])
    return f"entity:{sha256(described).hexdigest()}"


def _with(tokens: tuple[str, ...], token: str) -> tuple[str, ...]:
    return tokens if token in tokens else (*tokens, token)


def fold_name(name: str, kind: EntityKind) -> str:
    """A name without case, marks and, of a company, its legal form; "" if nothing is left."""
    plain = fold(_TRADEMARKS.sub(" ", name))
    words = "".join(c if c.isalnum() or c in _KEPT else " " for c in plain).split()
    if kind == "company":
        words = _without_legal_form(words)
    # A full stop ends a sentence or an abbreviation; one in front, as in .NET, is the name's own.
    return " ".join(words).rstrip(".-/&@ ") or plain


def _without_legal_form(words: list[str]) -> list[str]:
    kept = len(words)
    while kept > 1 and words[kept - 1].replace(".", "") in _LEGAL_FORMS | {"&"}:
        kept -= 1
    return words[:kept]


def share_a_word(name: str, other: str) -> bool:
    """Whether two folded names have a word of four letters or more in common."""
    return not set(_LONG_WORD.findall(name)).isdisjoint(_LONG_WORD.findall(other))


def fold_url(url: str) -> str | None:
    """Host and path of an address, without `www.`, default port and last slash.

    None if it is no http address.
    """
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").removeprefix("www."), parts.port
        host = host if host.isascii() else host.encode("idna").decode()
    except ValueError:
        return None
    if parts.scheme not in _DEFAULT_PORTS or not host:
        return None
    shown = "" if port in (None, _DEFAULT_PORTS[parts.scheme]) else f":{port}"
    return f"{host}{shown}{parts.path.rstrip('/')}"


def host_of(folded: str) -> str:
    """The host of a folded address."""
    return folded.partition("/")[0]


def same_place(folded: str, other: str, kind: EntityKind) -> bool:
    """Whether two folded addresses may be those of one entity."""
    if kind != "product":
        return host_of(folded) == host_of(other)
    # Many products share the host of a code forge or a shop.
    return within(folded, other) or within(other, folded)


def within(folded: str, above: str) -> bool:
    """Whether a folded address is another, or lies below it."""
    return folded == above or folded.startswith(f"{above}/")
