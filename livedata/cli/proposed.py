"""Commands that are proposed to a person: what they say can be pasted as it is."""

from __future__ import annotations

from shlex import quote


def owner_option(owner: str) -> str:
    """What a command line that is proposed to this owner ends with."""
    return "" if owner == "local" else f" --owner {quote(owner)}"


def words(name: str, owner: str = "local", options: str = "") -> str:
    """The words after a proposed command: a name, quoted for the shell, and the options.

    A name that looks like an option stands behind them and two hyphens.
    """
    given = f"{options}{owner_option(owner)}"
    if name.startswith("-"):
        return f"{given} -- {quote(name)}".strip()
    return f"{quote(name)}{given and f' {given.strip()}'}"
