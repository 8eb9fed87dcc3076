"""Names and addresses as entities are found again by them: rules 14.7."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from livedata.model.research.recipe import EntityKind
from livedata.rules.research.fold import fold

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
