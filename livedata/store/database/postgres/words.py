"""What went wrong with PostgreSQL, in a sentence for the person who has to mend it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

_POOLER = (
    "a pooler before it gives every transaction another connection. Let the pooler keep one for a "
    "session, or name the server itself"
)
_BY_STATE: Mapping[str, str] = {
    "25006": "it is read-only. Name the primary server, or let its user write",
    "53100": "its disk is full. Make room on the server, then try again",
    "53300": "it has no connection left. Raise max_connections, or end programs that keep some",
    "55P03": "another process keeps it locked. Try again; if it stays so, end that process",
    "40P01": "another process keeps it locked. Try again",
    "25P03": "it ended a transaction that stood still too long. Try again",
    "26000": _POOLER,
    "42P05": _POOLER,
}
"""What the server says by its code -> what that means, and what to do."""
_PASSES = ("the database system is", "too many", "connection slots", "no more connections allowed")
"""What stands in the text of a refusal that passes: a server that is full, or starts or ends."""
_CHECK_USER = "Check the user and the password in LIVEDATA_DATABASE_URL, or in ~/.pgpass"
_MAKE_ROOM = "Raise max_connections on the server, or end programs that keep connections"
_REFUSED: Sequence[tuple[str, str]] = (
    *(
        (part, "No server of the URL takes writes now: wait until one is promoted, or promote one")
        for part in ("session is read-only", "server is in hot standby")
    ),
    ("conflict with recovery", "Let the replica have hot_standby_feedback = on, and try again"),
    (
        "startup parameter",
        "A pooler takes few parameters in a URL: set it for the user, as with ALTER ROLE",
    ),
    ("the database system is", "Try again in some seconds"),
    *((part, _MAKE_ROOM) for part in _PASSES[1:]),
    ("pg_hba.conf", "Let the server take connections from here, or change sslmode in the URL"),
    ("permission denied", "Let the user create and write tables in its schema"),
    *((part, _CHECK_USER) for part in ("password", "authentication failed")),
    ("SSL", "Change sslmode in LIVEDATA_DATABASE_URL, or let the server take such connections"),
    ("role", "Check the user in LIVEDATA_DATABASE_URL, or create it with `createuser`"),
    ("database", "Check the database in LIVEDATA_DATABASE_URL, or create it with `createdb`"),
    ("bad value", "Correct it in LIVEDATA_DATABASE_URL"),
    ("invalid", "Correct it in LIVEDATA_DATABASE_URL"),
    ("timeout", "Nothing answers there as PostgreSQL does; check host, port and the network"),
    ("schema", "Let the user create and write tables in its schema"),
)
"""What stands in the text of a refusal -> what to do; the first that fits."""
_ELSE = "Check that the server runs, and its host and port in LIVEDATA_DATABASE_URL"


def place(parameters: Mapping[str, Any]) -> str:
    """The URL of a server, or of several, without its password."""
    user = f"{parameters['user']}@" if "user" in parameters else ""
    host, ports = str(parameters.get("host", "")), str(parameters.get("port", "")).split(",")
    folder = f"?host={host}" if "/" in host else ""
    hosts = [""] if folder else host.split(",")
    # One port may be that of all hosts.
    each = zip_longest(hosts, ports, fillvalue=ports[0] if len(ports) == 1 else "")
    servers = ",".join(
        (f"[{name}]" if ":" in name else name) + (port and f":{port}") for name, port in each
    )
    return f"postgresql://{user}{servers}/{parameters.get('dbname', '')}{folder}"


def failure(place: str, state: str | None, text: str) -> str:
    """The sentence for an error with the server's code, if it gave one, and its text."""
    if state is not None and state in _BY_STATE:
        return f"The store at {place} cannot be used: {_BY_STATE[state]}."
    reason = _reason(text)
    advice = next((advice for part, advice in _REFUSED if part in reason), _ELSE)
    return f"The store at {place} cannot be used: {reason.rstrip('.')}. {advice}."


def passes(text: str) -> bool:
    """Whether a server that refused a connection may take one in a moment."""
    return any(part in text for part in _PASSES)


_TRIED = re.compile(r"^- host: '(.*?)', port: '?(\d*).*failed: (.*)$", re.MULTILINE)
"""What the library says of each server that it has tried in vain."""


def _reason(text: str) -> str:
    """Why a server refused, out of all that the library says of where and how it asked."""
    reasons = {f"{host}:{port}": _short(reason) for host, port, reason in _TRIED.findall(text)}
    if len(set(reasons.values())) > 1:
        return "; ".join(f"{server}: {reason}" for server, reason in reasons.items())
    lines = text.strip().splitlines()
    # A server may be tried under several addresses: the last one tells as much as the others.
    tried = [line for line in lines if "failed: " in line] or lines[:1]
    return _short(tried[-1].rpartition("failed: ")[2])


def _short(reason: str) -> str:
    for prefix in ("connection is bad: ", "FATAL: ", "fe_sendauth: "):
        reason = reason.removeprefix(prefix)
    return reason.strip()


def no_replica(place: str) -> str:
    """The sentence for a server that is named as a replica and does not follow the store's."""
    return (
        f"The server at {place} is no replica that follows the server of the store now, so that one"
        " is asked. Name a streaming replica of it with LIVEDATA_READ_URL, and look at "
        "pg_stat_wal_receiver there."
    )


def asked_again(place: str) -> str:
    """The sentence for a replica that was away."""
    return f"The replica at {place} is asked again."


def behind(place: str) -> str:
    """The sentence for a replica that has not all that was written."""
    return (
        f"The replica at {place} is behind the server of the store, so that one is asked. See "
        "pg_stat_replication there; with synchronous_commit = remote_apply it never is."
    )


def unreadable_url(prefix: str) -> str:
    """The sentence for a URL that cannot be taken apart; nothing of it is repeated."""
    # What stands where may be a part of the password.
    return (
        f"The database URL {prefix}… cannot be read; write "
        "postgresql://user:password@host:5432/database, with %40 for @, %2F for / and %3A for : "
        "in a password. After a ? stand parameters that psql knows, such as sslmode=require."
    )


def copied_by_pg_dump(place: str, file: Path) -> str:
    """The sentence with the command that makes a backup of a server's database."""
    command = shlex.join(["pg_dump", "--format=custom", f"--file={file}", place])
    return f"A PostgreSQL server makes its own backups, also while Runs go on: {command}"


def too_old(place: str, version: str, oldest: int) -> str:
    """The sentence for a server of another time."""
    return (
        f"The store at {place} cannot be used: its server is PostgreSQL {version}, and livedata "
        f"needs {oldest} or newer. Upgrade the server."
    )


def of_another_encoding(place: str, encoding: str) -> str:
    """The sentence for a database that cannot keep every character."""
    return (
        f"The store at {place} cannot be used: its encoding is {encoding}, which cannot keep every "
        "character. Create a database with `createdb --encoding UTF8 --template template0`."
    )


def of_another_program(place: str) -> str:
    """The sentence for a database that has tables, but none of ours."""
    return (
        f"{place} is the database of another program; it was left as it is. Choose another "
        "database, or a schema of its own, with LIVEDATA_DATABASE_URL."
    )


def without_table(place: str, text: str) -> str:
    """The sentence for a store without one of our tables, as the server names it."""
    return f"The store at {place} cannot be used: {text}. Restore the database from its backup."
