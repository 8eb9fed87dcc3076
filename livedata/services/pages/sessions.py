"""Who looks at the pages in a browser: a session is of a key, and ends with it."""

from __future__ import annotations

import hmac
import secrets
from typing import Final

from msgspec import json

from livedata.model import ids
from livedata.model.ids import KeyId, Micros, OwnerName
from livedata.services.accounts import Caller, hash_key, meet_owner
from livedata.store import accounts
from livedata.store.database.backend import Writer
from livedata.store.database.store import Database, Store

LINK_FOR: Final = 10 * 60 * 1_000_000
"""How long a link may be used, in microseconds."""
SESSION_FOR: Final = 30 * 86_400 * 1_000_000
"""How long a browser stays signed in, in microseconds."""
SHOWN_FOR: Final = 60 * 1_000_000
"""How long the answer to a form that made a secret is given again, in microseconds."""
KEY_LABEL: Final = "browser"
"""The label of the key by which links sign in: revoking that key ends all that they began."""


def make_token() -> str:
    """A secret of 256 random bits for a session, a link, or a visit without either."""
    return secrets.token_urlsafe(32)


def secret_of(visit: str, *form: str) -> bytes:
    """The 32 bytes of a secret that a form makes: the same if it comes again in its session.

    So who clicks twice is shown what the first click has made, and nothing secret is kept for that.
    """
    # Who knows the form alone, or has the store, cannot make it: of a session it keeps a hash.
    return hmac.digest(visit.encode(), json.encode(("secret", *form)), "sha256")


def is_just_made(created_at: Micros) -> bool:
    """Whether the form that made something may still be answered with its secret."""
    return ids.now() - created_at < SHOWN_FOR


def make_link(store: Store, owner: OwnerName, *, first_credits: int = 0) -> str:
    """The token of a link that signs a browser in once. A new owner starts with `first_credits`."""
    token = make_token()
    with store.writing() as writer:
        meet_owner(writer, owner, first_credits)
        now = writer.now()
        accounts.forget_ended_sessions(writer, now)
        accounts.add_link(writer, hash_key(token), _key(writer, owner), Micros(now + LINK_FOR))
    return token


def owner_of_link(db: Database, token: str) -> OwnerName | None:
    """Whom a link signs in; None if it has ended. Nothing is used up."""
    with db.reading() as reader:
        return accounts.owner_of_link(reader, hash_key(token), reader.now())


def follow_link(store: Store, token: str) -> str | None:
    """Begin the session that a link is for, and return its token; None if the link has ended."""
    digest = hash_key(token)
    # What anybody may send is only looked up: it must not keep those waiting who write.
    with store.reading() as reader:
        if accounts.owner_of_link(reader, digest, reader.now()) is None:
            return None
    with store.writing() as writer:
        key = accounts.take_link(writer, digest, writer.now())
        return None if key is None else _begin(writer, key)


def sign_in(store: Store, secret: str) -> str | None:
    """Begin a session of an API key, and return its token; None for a key that opens nothing."""
    with store.reading() as reader:
        row = accounts.by_hash(reader, hash_key(secret))
    if row is None:
        return None
    with store.writing() as writer:
        return _begin(writer, row[1])


def sign_out(store: Store, token: str) -> None:
    """End a session."""
    with store.writing() as writer:
        accounts.remove_session(writer, hash_key(token))


def caller(db: Database, token: str) -> Caller | None:
    """Who is signed in by a token; None if nobody is, any more."""
    with db.reading() as reader:
        row = accounts.session_by_hash(reader, hash_key(token), reader.now())
    return None if row is None else Caller(*row)


def _begin(writer: Writer, key: KeyId) -> str:
    token = make_token()
    now = writer.now()
    # Housekeeping leaves sessions alone: whoever begins one clears away those that have ended.
    accounts.forget_ended_sessions(writer, now)
    accounts.add_session(writer, hash_key(token), key, Micros(now + SESSION_FOR))
    return token


def _key(writer: Writer, owner: OwnerName) -> KeyId:
    """The key of an owner for links; the first time one is made, of which nobody has the secret."""
    for key in accounts.keys(writer):
        if key["owner"] == owner and key["label"] == KEY_LABEL and key["revokedAt"] is None:
            return KeyId(ids.raw_id(key["id"]))
    return accounts.add_key(writer, owner, KEY_LABEL, secrets.token_bytes(32), writer.now())
