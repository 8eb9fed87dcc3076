"""What is on a page without items: known rows, a wall, an empty list, a list that scripts make."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from livedata.model.harvest import PageJudgement, PageKind
from livedata.model.row import Scalar
from livedata.rules.diagnosis.page_snapshot import (
    WantedTexts,
    address_tails,
    hide_unseen,
    join_words,
    pieces,
    script_strings,
)

if TYPE_CHECKING:
    from livedata.extraction.page_text import VisibleText


RowTexts = frozenset[str]
"""The texts of a row that no other row has."""

SHORTEST: Final = 3
"""A shorter text is on any page."""
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


def rows_of_page(
    rows: Mapping[str, Sequence[Scalar]], pages: Sequence[int], number: int
) -> list[RowTexts]:
    """The texts of the rows that were read on page `number`; of all rows if that is not known.

    `rows` are those that are present, by key; `pages` has the page of each, in the order of keys.
    """
    keys = sorted(rows)
    # The pages have no keys of their own, so they fit only the rows that they were written for.
    placed = zip(keys, pages, strict=True) if len(keys) == len(pages) else ()
    there = {key for key, page in placed if page == number}
    texts = {key: _texts(row) for key, row in rows.items()}
    holders = Counter(text for own in texts.values() for text in own)
    known = (
        frozenset(text for text in texts[key] if holders[text] == 1)
        for key in keys
        if key in there or not there
    )
    return [own for own in known if own]


def count_rows(rows: Sequence[RowTexts], markup: str) -> tuple[int, int]:
    """The number of rows that stand on a page as a person sees it, and of those in scripts only."""
    if not rows:
        return 0, 0
    shown = hide_unseen(markup)
    wanted = WantedTexts(frozenset().union(*rows))
    seen = _among(wanted, pieces(shown, join_words(shown)))
    hidden = [own for own in rows if own.isdisjoint(seen)]
    scripted = _among(wanted, script_strings(markup)) if hidden else set()
    return len(rows) - len(hidden), sum(not own.isdisjoint(scripted) for own in hidden)


def _texts(row: Sequence[Scalar]) -> set[str]:
    """The texts of a row that may be looked for."""
    texts: set[str] = set()
    for value in row:
        if isinstance(value, str):
            texts |= address_tails(value)
    return {text for text in texts if len(text) >= SHORTEST}


def _among(wanted: WantedTexts, shown: Iterable[str]) -> set[str]:
    """The wanted texts that are pieces of a page, or ends of addresses on it."""
    return {text for piece in shown for text in wanted.among(piece)}


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
