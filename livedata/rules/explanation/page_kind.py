"""Classifies a page without items: a wall, an empty list, or a list that scripts make."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from livedata.extraction.outline import Outline

PageKind = Literal["challenge", "login", "consent", "no_results", "scripted"]

SHORT: Final = 3_000
"""A wall has at most so many characters of text; in a longer page its words prove nothing."""
SCRIPTED: Final = 300
"""A list that scripts make has at most so many characters of text."""

_CHALLENGE: Final = re.compile(
    r"captcha|are you (?:a )?(?:human|robot)|not a robot|just a moment|checking your browser|"
    r"verify(?:ing)? (?:that )?you are (?:a )?human|unusual traffic|access denied|"
    r"enable javascript and cookies",
    re.IGNORECASE,
)
_CONSENT: Final = re.compile(
    r"before you continue|(?:we|our|and our|partners).{0,80}(?:use|uses|store) cookies|"
    r"accept (?:all )?cookies|accept all|cookie (?:consent|settings|preferences)|your consent|"
    r"\bconsent\b|privacy choices|confirm (?:that )?you are (?:over|at least)",
    re.IGNORECASE,
)
_NOTHING: Final = re.compile(
    r"\bno (?:\w+ ){0,2}(?:results?|items?|products?|matches|entries|listings?|records?)"
    r"(?: (?:were|was))?(?: (?:found|available|match\w*))?\b|nothing (?:was )?found|"
    r"did not match any|0 (?:results|items|products)|keine (?:ergebnisse|treffer)|"
    r"aucun r[ée]sultat|sin resultados|nessun risultato",
    re.IGNORECASE,
)
_SIGN_IN: Final = re.compile(r"\b(?:sign in|log ?in|anmelden|connexion)\b", re.IGNORECASE)


def classify_page(outline: Outline, title: str | None) -> PageKind | None:
    """The kind of a page; None if it shows no sign of any."""
    text = outline.text
    words = f"{title or ''} {text}"
    short = len(text) <= SHORT
    # The surest sign first. An empty list comes before consent: nearly every site has a cookie
    # banner, few say that there are no results.
    if short and _CHALLENGE.search(words):
        return "challenge"
    if _asks_password(outline) or (short and _SIGN_IN.search(title or "")):
        return "login"
    if _NOTHING.search(words):
        return "no_results"
    if short and _CONSENT.search(words):
        return "consent"
    if len(text) <= SCRIPTED and _has_scripts(outline):
        return "scripted"
    return None


def _asks_password(outline: Outline) -> bool:
    return any(
        element.tag == "input" and element.attributes.get("type", "").lower() == "password"
        for element in outline.elements
    )


def _has_scripts(outline: Outline) -> bool:
    # Scripts from elsewhere have no text here, so one of them is enough.
    sources = any(
        element.tag == "script" and "src" in element.attributes for element in outline.elements
    )
    return sources or outline.scripts > len(outline.text)
