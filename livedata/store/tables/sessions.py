"""The tables of browsers that look at the pages: their sessions, and links that begin one."""

from __future__ import annotations

from sqlmodel import Field, SQLModel

from livedata.store.tables.columns import id_of, moment


class SessionRecord(SQLModel, table=True):
    """A browser that is signed in by a key, until then; its token is kept as its SHA-256 only."""

    __tablename__ = "browser_sessions"
    hash: bytes = Field(primary_key=True)
    key_id: bytes = id_of("api_keys", index=True)
    expires_at: int = moment()


class SignInLinkRecord(SQLModel, table=True):
    """A link that signs a browser in once, by a key; kept as the SHA-256 of its token only."""

    __tablename__ = "sign_in_links"
    hash: bytes = Field(primary_key=True)
    key_id: bytes = id_of("api_keys", index=True)
    expires_at: int = moment()
