"""Addresses at which a table is read without a key: add, list, revoke, and open one (rules 17)."""

from __future__ import annotations

import re
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from livedata.messages.templates import joined
from livedata.model import ids
from livedata.model.account import Share
from livedata.model.dataset import Column
from livedata.model.errors import Conflict, Detail, Invalid, LocatedDetail, NotFound
from livedata.model.ids import DatasetId, OwnerName, ShareId
from livedata.model.problem import Remedy
from livedata.rules.conditions.parsing import parse_where
from livedata.services.accounts import hash_key
from livedata.store import datasets, shares
from livedata.store.database.backend import Reader, Writer
from livedata.store.database.store import Database, Store
from livedata.store.datasets import LockedDataset
from livedata.store.shares import Scope

MOST: Final = 1_000
"""How many addresses of a dataset are open at once."""
LONGEST_LABEL: Final = 200
NO_TABLE: Final = "There is no table at this address."
_TOKEN_BYTES: Final = 32
_TOKEN: Final = re.compile(r"(?<![A-Za-z0-9_-])[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])")
"""So many characters make 32 bytes; no id has as many."""


def add(
    store: Store,
    owner: OwnerName,
    dataset: DatasetId,
    columns: Sequence[str],
    clauses: Sequence[str],
    label: str | None,
    *,
    secret: bytes | None = None,
) -> tuple[Share, str]:
    """A new address of a dataset, and its token: this is the only time that the token is seen.

    The token is made of the 32 bytes of `secret` if these are given; the same make the address once
    and return it again. Raises NotFound, Invalid for all that is wrong of columns, clauses and
    label, a detail for each, and Conflict if the dataset has too many addresses.
    """
    token = _written(secret or secrets.token_bytes(_TOKEN_BYTES))
    with store.writing() as writer:
        locked = datasets.lock_dataset(writer, dataset, owner)
        share = shares.id_of(writer, dataset, hash_key(token))
        if share is None:
            scope = Scope(owner, dataset, tuple(dict.fromkeys(columns)), clauses)
            share = _add(writer, locked, scope, label, token)
        return _with_id(shares.listed(writer, owner, dataset), share), token


def put(writer: Writer, scope: Scope, label: str) -> str:
    """Add an address in a transaction that goes on; its token, which is never seen again."""
    token = _written(secrets.token_bytes(_TOKEN_BYTES))
    _add(writer, datasets.lock_dataset(writer, scope.dataset, scope.owner), scope, label, token)
    return token


def _add(
    writer: Writer, locked: LockedDataset, scope: Scope, label: str | None, token: str
) -> ShareId:
    check(scope, label, [*locked.ref.fields.columns.values()])
    if shares.count(writer, locked.id) >= MOST:
        raise Conflict(
            f"{locked.ref.name!r} has {MOST:,} addresses that are open; revoke one first.",
            remedies=(Remedy("list_shares"),),
        )
    share = ShareId(ids.new_id())
    shares.add(writer, share, scope, hash_key(token), label, ids.now())
    return share


def _written(secret: bytes) -> str:
    """A secret as a path has it."""
    return urlsafe_b64encode(secret).decode().rstrip("=")


def check(scope: Scope, label: str | None, known: Sequence[Column]) -> None:
    """Raise Invalid for all that is wrong, with a detail for each."""
    wrong = _unfitting(scope, label, known)
    if wrong:
        raise Invalid(wrong[0].message, tuple(wrong))


def _unfitting(scope: Scope, label: str | None, known: Sequence[Column]) -> list[Detail]:
    wrong: list[Detail] = []
    judges: Mapping[str, Callable[[], object]] = {
        "columns": lambda: check_names(scope.columns, [column["name"] for column in known]),
        "where": lambda: parse_where(scope.clauses, known),
        "label": lambda: _check_label(label),
    }
    for part, judge in judges.items():
        try:
            judge()
        except Invalid as error:
            wrong.append(LocatedDetail(part, error.message, is_predicate=False))
    return wrong


def _check_label(label: str | None) -> None:
    if label is not None and not 0 < len(label.strip()) <= LONGEST_LABEL:
        raise Invalid(f"A label has 1 to {LONGEST_LABEL} characters.")


def naming(
    reader: Reader, owner: OwnerName, dataset: DatasetId, columns: Sequence[Column], dropped: Column
) -> Iterator[str]:
    """The open addresses of a dataset with these columns that name one of them."""
    left = [column for column in columns if column != dropped]
    for share in shares.listed(reader, owner, dataset):
        scope = Scope(owner, dataset, share["columns"] or (), share["where"])
        had, has = _unfitting(scope, None, columns), _unfitting(scope, None, left)
        if has and not had and not share["revoked"]:
            yield share["label"] or share["id"]


def check_names(wanted: Sequence[str], known: Sequence[str]) -> None:
    """Raise Invalid for a name that no column has."""
    for name in wanted:
        if name not in known:
            raise Invalid(f"There is no column {name!r}. There is: {', '.join(known)}.")


def in_words(columns: Sequence[str], clauses: Sequence[str]) -> str:
    """What an address shows, in words."""
    which = f"columns {', '.join(columns)}" if columns else "all columns"
    return f"{which}{f' where {joined(clauses)}' if clauses else ''}"


def list_shares(db: Database, owner: OwnerName, dataset: DatasetId | None = None) -> list[Share]:
    """The addresses of an owner, or of one dataset, the oldest first; revoked ones too."""
    with db.reading() as reader:
        return shares.listed(reader, owner, dataset)


def revoke(store: Store, owner: OwnerName, given: str) -> Share:
    """End an address at once, named by itself, or by its id or the beginning or end of it.

    Raises NotFound.
    """
    with store.writing() as writer:
        listed = shares.listed(writer, owner)
        token = _TOKEN.search(given)
        share = _named(listed, given) if token is None else _opened_by(writer, owner, token[0])
        shares.revoke(writer, share, ids.now())
        return _with_id(shares.listed(writer, owner), share)


def _named(listed: Sequence[Share], given: str) -> ShareId:
    matches = [share for share in listed if ids.matches_either_end(given, ids.raw_id(share["id"]))]
    if len(matches) != 1:
        problem = f"{len(matches)} shares begin or end with" if matches else "There is no share"
        raise NotFound(f"{problem} {given!r}.", remedies=(Remedy("list_shares"),))
    return ShareId(ids.raw_id(matches[0]["id"]))


def _opened_by(reader: Reader, owner: OwnerName, token: str) -> ShareId:
    share = shares.opened_by(reader, owner, hash_key(token))
    if share is None:
        # It is not repeated: it may open a table of somebody else.
        raise NotFound("No share has that address.", remedies=(Remedy("list_shares"),))
    return share


def open_share(reader: Reader, token: str) -> Scope:
    """What an address shows, for who has its token.

    Raises NotFound, alike for a token that never was, one that is revoked, and one of a dataset
    that is deleted.
    """
    # By its hash: how long the search takes says nothing of the tokens that there are.
    scope = shares.by_token(reader, hash_key(token))
    if scope is None:
        raise NotFound(NO_TABLE)
    return scope


def address(base: str, token: str, name: str) -> str:
    """The address of a table as CSV at a server; the name in it is for people alone."""
    readable = re.sub(r"[^A-Za-z0-9_]+", "-", name).strip("-") or "table"
    return f"{base}/share/{token}/{readable[:60]}.csv"


def _with_id(listed: Sequence[Share], share: ShareId) -> Share:
    name = ids.format_uuid(share)
    return next(each for each in listed if each["id"] == name)
