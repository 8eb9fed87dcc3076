"""Classifies a page without items: a wall, an empty list, or a list that scripts make."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from livedata.model.harvest import PageJudgement, PageKind
from livedata.rules.diagnosis.known_rows import RowTexts, count_rows

if TYPE_CHECKING:
    from livedata.extraction.page_text import VisibleText

LEAST: Final = 2
"""The text of one row may be anywhere by chance."""
SHARE: Final = 0.25
SHORT: Final = 3_000
"""A wall has at most so many characters of text; in a longer page its words prove nothing."""
SCRIPTED: Final = 300
"""A list that scripts make has at most so many characters of text."""

_CHALLENGE: Final = re.compile(
    r"captcha|are you (?:a )?(?:human|robot)|not a robot|just a moment|checking your browser|"
    r"verify(?:ing)? (?:that )?you are (?:a )?human|unusual traffic|"
    r"enable javascript and cookies",
    re.IGNORECASE,
)
_REFUSED: Final = re.compile(
    r"access (?:is )?(?:denied|forbidden)|(?:request|you have been|access) blocked|"
    r"(?:do not|don't|don’t) have permission|403 forbidden",
    re.IGNORECASE,
)
_CONSENT: Final = re.compile(
    r"before you continue|(?:we|our|and our|partners).{0,80}(?:use|uses|store) cookies|"
    r"accept (?:all )?cookies|accept all|cookie (?:consent|settings|preferences)|your consent|"
    r"\bconsent\b|privacy choices|confirm (?:that )?you are (?:over|at least)",
    re.IGNORECASE,
)
# A zero counts only as a number of its own: "1000 results", "1,000 results" and "1 000 results"
# end in the same letters. And a cart has "no items" on any page.
_NOTHING: Final = re.compile(
    r"\bno (?:\w+ ){0,2}(?:results?|items?|products?|matches|entries|listings?|records?)"
    r"(?: (?:were|was))?(?: (?:found|available|match\w*))?\b"
    r"(?! (?:in|on) (?:your|the|my) (?:shopping )?(?:cart|basket|bag|list|wish ?list))|"
    r"nothing (?:was )?found|did not match any|"
    r"(?<![\d.,'’])(?<!\d\s)0 (?:results|items|products)\b"
    r"(?! (?:in|on) (?:your|the|my) (?:shopping )?(?:cart|basket|bag|list|wish ?list))|"
    r"keine (?:ergebnisse|treffer)|aucun r[ée]sultat|sin resultados|nessun risultato",
    re.IGNORECASE,
)
_GONE: Final = re.compile(
    r"page (?:was |is |could )?not (?:be )?found|\b404\b|"
    r"(?:page|address|site) (?:is gone|(?:does not|doesn't|doesn’t|no longer) exists?\b)|"
    r"seite (?:wurde )?nicht gefunden|page (?:est )?introuvable",
    re.IGNORECASE,
)
_SIGN_IN: Final = re.compile(r"\b(?:sign in|log ?in|anmelden|connexion)\b", re.IGNORECASE)

_SIGNS: Final[Mapping[PageKind, re.Pattern[str]]] = {
    "challenge": _CHALLENGE,
    "refused": _REFUSED,
    "gone": _GONE,
    "consent": _CONSENT,
}
"""Kind of a short page -> its words, the surest first."""


def judge_page(
    markup: str,
    number: int,
    title: str | None,
    rows: Sequence[RowTexts],
    *,
    parsed: bool = False,
) -> PageJudgement:
    """What is on page `number`, which has no items; `rows` were on it before.

    `parsed` says that the page did not stall the parser.
    """
    # Imported here because the parser is heavy, and most Runs end without such a page.
    from livedata.extraction.page_text import page_text

    page = page_text(markup, parsed=parsed)
    shown, scripted = count_rows(rows, markup)
    return {
        "number": number,
        "kind": classify_page(page, title),
        "text": len(page.text),
        "scripts": page.scripts,
        "known": len(rows),
        "shown": shown,
        "scripted": scripted,
    }


def shows_rows(judged: PageJudgement) -> bool:
    """Whether rows of the table stand on a page without items: then the items were renamed."""
    return _enough(judged["shown"], judged["known"])


def scripts_rows(judged: PageJudgement) -> bool:
    """Whether rows of the table stand in the scripts of a page: then scripts make the list."""
    return _enough(judged["scripted"], judged["known"])


def _enough(rows: int, known: int) -> bool:
    # Some few stand also on a page that is not the list, as what one might like instead.
    return rows >= LEAST and rows >= SHARE * known


def classify_page(page: VisibleText, title: str | None) -> PageKind | None:
    """The kind of a page by its words; None if it shows no sign of any."""
    text = page.text
    words = f"{title or ''} {text}"
    short = len(text) <= SHORT
    signs_in = _SIGN_IN.search(title or "") is not None
    if signs_in and (page.asks_password or short):
        return "login"
    if _NOTHING.search(words):
        return "no_results"
    if not short:
        return None
    # The surest sign first. Many pages have a login in their head, so a field for a password
    # counts only if little else is there, and it comes before a captcha, with which many logins
    # end. Consent comes last: nearly every site has a cookie banner.
    if page.asks_password:
        return "login"
    for kind, signs in _SIGNS.items():
        if signs.search(words):
            return kind
    # Scripts from elsewhere have no text here, so one of them is enough.
    if len(text) <= SCRIPTED and (page.loads_scripts or page.scripts > len(text)):
        return "scripted"
    return None
