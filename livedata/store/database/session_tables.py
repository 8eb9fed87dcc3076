"""The tables of browsers that look at the pages: their sessions, and links that begin one."""

from __future__ import annotations

from sqlalchemy import BigInteger, LargeBinary
from sqlmodel import Field, SQLModel


class SessionRecord(SQLModel, table=True):
    """A browser that is signed in by a key, until then; its token is kept as its SHA-256 only."""

    __tablename__ = "browser_sessions"
    hash: bytes = Field(sa_type=LargeBinary, primary_key=True)
    key_id: bytes = Field(sa_type=LargeBinary, foreign_key="api_keys.id", index=True)
    expires_at: int = Field(sa_type=BigInteger)


class SignInLinkRecord(SQLModel, table=True):
    """A link that signs a browser in once, by a key; kept as the SHA-256 of its token only."""

    __tablename__ = "sign_in_links"
    hash: bytes = Field(sa_type=LargeBinary, primary_key=True)
    key_id: bytes = Field(sa_type=LargeBinary, foreign_key="api_keys.id", index=True)
    expires_at: int = Field(sa_type=BigInteger)
