"""What a page without items looks like: a wall, an empty list, or a list that scripts make."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from livedata.extraction.outline import Outline

PageKind = Literal["challenge", "login", "consent", "no_results", "scripted"]

SHORT: Final = 3_000
"""A wall says little: above so many characters of text, words alone prove nothing."""
SCRIPTED: Final = 300
"""A list that scripts make has hardly any text of its own."""

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
    """What a page looks like, the surest first; None where nothing speaks for any of it."""
    text = outline.text
    said = f"{title or ''} {text}"
    short = len(text) <= SHORT
    if short and _CHALLENGE.search(said):
        return "challenge"
    if _asks_password(outline) or (short and _SIGN_IN.search(title or "")):
        return "login"
    if _NOTHING.search(said):
        return "no_results"
    if short and _CONSENT.search(said):
        return "consent"
    if len(text) <= SCRIPTED and _has_scripts(outline):
        return "scripted"
    return None


def _asks_password(outline: Outline) -> bool:
    return any(
        one.tag == "input" and one.attributes.get("type", "").lower() == "password"
        for one in outline.elements
    )


def _has_scripts(outline: Outline) -> bool:
    sources = any(one.tag == "script" and "src" in one.attributes for one in outline.elements)
    return sources or outline.scripts > len(outline.text)
