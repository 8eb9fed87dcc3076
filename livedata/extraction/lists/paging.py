"""How a list goes on, and how it ends: links to its next page, and what only a page past it has.

The link is a guess from one page. It is proved by reading the page that it leads to.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final
from urllib.parse import parse_qsl, urldefrag, urlsplit

from msgspec import Struct

from livedata.extraction.cells import clean
from livedata.extraction.lists.signatures import UTILITY, ElementSignature, named_options
from livedata.extraction.lists.survey import Survey, survey
from livedata.extraction.matching.css import to_css
from livedata.extraction.page import Page
from livedata.extraction.pagination import is_of_the_web
from livedata.extraction.selectors import AttributeTest, BadSelector, Compound, parse
from livedata.extraction.text import names
from livedata.extraction.work import TooMuchWork

_WORDS: Final = re.compile(r"[^\W_]+", re.UNICODE)
_PAGER: Final = re.compile(
    r"pag(?:e|er|ing|ination|inator|enavi)|nav(?:igation)?-?links|wp-pagenavi", re.IGNORECASE
)
_PATH_PAGE: Final = re.compile(
    r"(?:page|seite|pagina|p|pg|strona|sida|side)?[-_]?\d+|page|seite|pagina"
    r"|(?:(?:page|seite|pagina|p|pg|strona|sida|side)[-_]?\d+|\d{1,3}|index)\.\w{2,5}",
    re.IGNORECASE,
)
_NUMBER: Final = re.compile(r"[1-9]\d{0,4}")
LEAST: Final = 2.0
"""A link that says less than this leads to no next page."""
_OF_NO_LIST: Final = 1.2
"""So much speaks against a link whose address is none of another page of the list."""
MOST_LINKS: Final = 5_000
NEXT: Final = names(
    "next nextpage more older olderposts forward weiter nächste nächsteseite vor ältere "
    "suivant suivante pagesuivante siguiente próximo próxima proximo proxima seguinte "
    "seguente successivo successiva avanti volgende næste neste nästa seuraava далее "
    "следующая следующий вперед вперёд наступна następna następny dalej další nasledujúca "
    "következő următoarea următor επόμενη sonraki ileri التالي הבא بعدی अगला ถัดไป tiếp "
    "sau berikutnya selanjutnya 次 次へ 次のページ 次ページ 下一页 下一頁 下页 下頁 "
    "后页 다음 다음페이지 sledeća "
    "sljedeća naslednja järgmine kitas nākamā següent hurrengoa nextresults nextposts "
    "loadmore"
)
_NEXT_ALONE: Final = NEXT - names("more older olderposts forward vor ältere ileri sau loadmore") | {
    "next page",
    "next >",
    "next »",
    "next ›",
    "next →",
}
"""What a link says that leads to a next page, whatever else there is to it."""
SIGNS: Final = names("> » › → ⟩ ▶ ► >> ≫ ❯ ⇒ -> --> ⟶ ➜ ＞")
LAST: Final = names(
    "last letzte dernier dernière última último ultima ultimo последняя 最後 末页 尾页 » ⏭ >| "
    "»| ostatnia laatste sista"
)
BEFORE: Final = names(
    "prev previous zurück vorherige précédent précédente anterior précédents precedente "
    "vorige föregående назад предыдущая 前へ 前 上一页 上一頁 이전 < « ‹ ← newer"
)
PAGE_NAMES: Final = names(
    "page p pg paged pn pageno pagenum pagenumber page_no page_num currentpage start "
    "offset from skip s first begin seite pagina sivu strona sida stranka cur o b"
)

_MOST_ENDS: Final = 3
_ENDED: Final = re.compile(
    r"no-?(?:results?|items?|posts?|products?|more|match(?:es)?|data|content)|empty|not-?found|404"
    r"|error|nothing|none",
    re.IGNORECASE,
)
"""How pages without records are called in classes."""


class Following(Struct, frozen=True):
    """A link that may lead on: its address, how much speaks for it, and a selector for it."""

    url: str
    score: float
    selector: str


class NumberedPages(Struct, frozen=True):
    """Links to numbered pages: an address with {page}, the first number, and the last one seen."""

    pattern: str
    start: int
    last: int

    def page(self, number: int) -> str:
        """The address of a page."""
        return self.pattern.replace("{page}", str(number))


def following(survey: Survey, members: Sequence[int]) -> list[Following]:
    """The links that may lead to the next page of the list, the likeliest first."""
    inside = {number for member in members for number in range(member, survey.ends[member])}
    links = []
    for number, url in _links(survey):
        if number in inside:
            continue
        score = _score(survey, number, url)
        if score >= LEAST:
            selector = _selector(survey, number)
            if selector:
                links.append(Following(url, score, selector))
    head = _in_head(survey)
    if head is not None:
        links.append(head)
    return sorted(links, key=lambda link: -link.score)[:3]


def elsewhere(survey: Survey, members: Sequence[int]) -> str:
    """The address on another host that the page names as its next one; "" if there is none."""
    inside = {number for member in members for number in range(member, survey.ends[member])}
    here = urlsplit(survey.page.url)
    for number, url in _links(survey):
        there = urlsplit(url)
        if number in inside or there.netloc.lower() == here.netloc.lower():
            continue
        moved = there._replace(scheme=here.scheme, netloc=here.netloc).geturl()
        if _plain(moved) != _plain(survey.page.url) and _says_next(survey, number, moved):
            return url
    return next((url for url in _of_head(survey) if urlsplit(url).netloc != here.netloc), "")


def _says_next(survey: Survey, number: int, moved: str) -> bool:
    """Whether a link to another host says that it leads to the next page.

    `moved` is its address as if it were on this host. It has to say more than a link that is tried.
    """
    node = survey.nodes[number]
    said = clean(survey.page.text(node, 60)).lower()
    if "next" in (node.attributes.get("rel") or "").lower().split() or said in _NEXT_ALONE:
        return True
    # What leads to more of another thing is no page of the list.
    is_plain = "more" in said or _is_of_list(moved, survey.page.url)
    lowered = 0.0 if is_plain else _OF_NO_LIST
    return _score(survey, number, moved) + lowered > LEAST + 0.5


def leading_to(survey: Survey, url: str) -> str:
    """The cheapest selector of a link that leads to an address; "" if no link does."""
    for number, address in _links(survey):
        if _plain(address) == _plain(url) and (selector := _selector(survey, number)):
            return selector
    return ""


def numbered(survey: Survey, members: Sequence[int]) -> NumberedPages | None:
    """The numbered pages that links lead to: page 2 and later ones, by one pattern."""
    inside = {number for member in members for number in range(member, survey.ends[member])}
    patterns: Counter[str] = Counter()
    last: dict[str, int] = {}
    starts: dict[str, int] = {}
    for number, url in _links(survey):
        said = clean(survey.page.text(survey.nodes[number], 20))
        if number in inside or not _NUMBER.fullmatch(said) or int(said) < 2:
            continue
        for start in (1, 0):
            pattern = _pattern(url, int(said) - 1 + start)
            if pattern is not None and _is_of_list(pattern, survey.page.url):
                patterns[pattern] += 1
                starts[pattern] = start
                last[pattern] = max(last.get(pattern, 0), int(said) - 1 + start)
                break
    if not patterns:
        return None
    pattern, count = patterns.most_common(1)[0]
    if count < 2 and last[pattern] > 2:
        return None
    return NumberedPages(pattern, starts[pattern], last[pattern])


def _links(survey: Survey) -> Iterator[tuple[int, str]]:
    page, here = survey.page, _plain(survey.page.url)
    count = 0
    for number, signature in enumerate(survey.signatures):
        if signature.tag != "a" or count >= MOST_LINKS:
            continue
        count += 1
        url = page.attribute(survey.nodes[number], "href") or ""
        if is_of_the_web(url) and _plain(url) != here:
            yield number, url


def _plain(url: str) -> str:
    return urldefrag(url)[0]


def _score(survey: Survey, number: int, url: str) -> float:
    """How much speaks for a link: its words, what is said of it, its address, and its place."""
    node = survey.nodes[number]
    attributes = node.attributes
    said = clean(survey.page.text(node, 60)).lower()
    words = _WORDS.findall(said)
    score = 0.0
    if said in NEXT or "".join(words) in NEXT or (len(words) <= 4 and NEXT & set(words)):
        score += 2.0
    elif said in SIGNS or (
        said[-1:] in SIGNS and len(words) <= 3 and not said[:-1].strip().isdigit()
    ):
        score += 1.5
    names = " ".join(filter(None, (attributes.get("class"), attributes.get("id"))))
    hints = " ".join(filter(None, (attributes.get("title"), attributes.get("aria-label"))))
    around = [survey.signatures[up] for up in list(survey.above(number))[:4]]
    near = " ".join(name for name, _ in (around[0].classes if around else ()))
    score += 1.5 * bool(NEXT & set(_WORDS.findall(_apart(names))))
    score += 1.5 * bool(NEXT & set(_WORDS.findall(hints.lower())))
    score += 1.0 * bool(NEXT & set(_WORDS.findall(_apart(near))))
    score += 0.7 * any(_PAGER.search(name) for signature in around for name in _said(signature))
    same = _is_of_list(url, survey.page.url)
    if "next" in (attributes.get("rel") or "").lower().split():
        score += 2.0 if same else 0.3
    if same:
        score += 1.0
    elif urlsplit(url).netloc != urlsplit(survey.page.url).netloc:
        score -= 3.0
    else:
        score -= _OF_NO_LIST
    if set(words) & BEFORE or said in BEFORE:
        score -= 2.5
    if set(words) & LAST and not set(words) & NEXT:
        score -= 1.5
    return score if len(said) <= 40 else score - 2.0


def _apart(names: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", names).lower()


def _said(signature: ElementSignature) -> Iterator[str]:
    yield signature.id
    yield signature.role
    yield from (name for name, _ in signature.classes)


def _shape(url: str) -> tuple[str, str, frozenset[str]]:
    """What all pages of a list have in common in their addresses."""
    parts = urlsplit(url)
    path = "/".join(part for part in parts.path.split("/") if not _PATH_PAGE.fullmatch(part))
    path = re.sub(r"(?<=[-_.])(?:page|p|seite)?[-_]?\d+(?=\.\w+$|$)", "", path).rstrip("/-_.")
    query = frozenset(name for name, _ in parse_qsl(parts.query) if name.lower() not in PAGE_NAMES)
    return parts.netloc.lower(), path, query


def _is_of_list(url: str, page: str) -> bool:
    """Whether an address, or a pattern of some, may be that of another page of a page's list.

    One that says which page it is may say more than the page's own address leaves out, such as
    the order: `/deals/?order=new&page=2` on `/deals/`.
    """
    here, there = _shape(page), _shape(url.replace("{page}", "1"))
    if here == there:
        return True
    parts = urlsplit(url)
    places = [value for name, value in parse_qsl(parts.query) if name.lower() in PAGE_NAMES]
    if "{page}" in url:
        told = any("{page}" in place for place in (parts.path, *places))
    else:
        told = bool(places) or parts.path != urlsplit(page).path
    return told and here[:2] == there[:2] and here[2] <= there[2]


def _pattern(url: str, page: int) -> str | None:
    """The address with {page} in place of the number of its page, if it stands in it once."""
    # A number in the host, as in www2, is that of no page.
    start = url.find("/", url.find("//") + 2)
    places = [match for match in re.finditer(r"\d+", url) if match.start() > start >= 0]
    numbers = [match for match in places if match[0] == str(page)]
    if len(numbers) != 1 or "{" in url:
        return None
    return f"{url[: numbers[0].start()]}{{page}}{url[numbers[0].end() :]}"


def _in_head(survey: Survey) -> Following | None:
    """What the head of the page names as its next page."""
    here = survey.page.url
    for url in _of_head(survey):
        if _is_of_list(url, here) and _plain(url) != _plain(here):
            return Following(url, 3.2, 'link[rel="next"]')
    return None


def _of_head(survey: Survey) -> Iterator[str]:
    """The addresses in the head of the page that are named as its next one."""
    for node in survey.page.tree.css('link[rel="next"]'):
        url = survey.page.attribute(node, "href") or ""
        if is_of_the_web(url):
            yield url


def _selector(survey: Survey, number: int) -> str:
    """The cheapest selector that matches the link, and no other before it; "" if none does."""
    page, node = survey.page, survey.nodes[number]
    url = page.attribute(node, "href")
    for selector, _ in sorted(_options(survey, number), key=lambda option: option[1]):
        try:
            matches = page.select(parse(selector))
        except BadSelector:
            continue
        except TooMuchWork:
            # The work of a page adds up: each further selector would exceed it as well.
            break
        # The same link may stand above and below the list.
        if matches and all(page.attribute(match, "href") == url for match in matches):
            return selector
    return ""


def _options(survey: Survey, number: int) -> Iterator[tuple[str, float]]:
    attributes = survey.nodes[number].attributes
    own = list(named_options(survey.signatures[number])[:4])
    for name, cost in (("rel", 0.8), ("title", 1.6), ("aria-label", 1.6)):
        value = attributes.get(name)
        if value and len(value) < 40 and not any(letter.isdigit() for letter in value):
            operator = "~=" if name == "rel" and " " not in value else "="
            own.append(
                (to_css(Compound("a", (), (), (AttributeTest(name, operator, value),))), cost)
            )
    if survey.signatures[number].id:
        own.append((f"#{survey.signatures[number].id}", 0.9))
    yield from own
    above = list(survey.above(number))[:3]
    for depth, up in enumerate(above):
        signature = survey.signatures[up]
        names = [
            *named_options(signature)[:4],
            *([(f"#{signature.id}", 0.6)] if signature.id else []),
        ]
        for outer, cost in names:
            joint = " > " if depth == 0 else " "
            for inner, more in [*own, ("a", 1.0)]:
                yield f"{outer}{joint}{inner}", cost + more + 0.5 + depth / 2


def end_selectors(past: Page, others: Sequence[Page], records: str) -> list[str]:
    """What matches on a page past the last one, and on none of the others, the surest first.

    None if that page has records: then it is not past the last one, or does not say so.
    """
    try:
        if past.select(parse(records)):
            return []
        signatures = dict.fromkeys(survey(past).signatures)
        options = {
            selector: cost
            for signature in signatures
            for selector, cost in [
                *named_options(signature),
                *([(f"#{signature.id}", 1.0)] if signature.id else []),
            ]
            if cost < UTILITY
        }
        ordered = sorted(
            options, key=lambda name: (not _ENDED.search(name), options[name], len(name))
        )
        return [name for name in ordered if not _matches(name, others)][:_MOST_ENDS]
    except TooMuchWork:
        return []


def _matches(selector: str, pages: Sequence[Page]) -> bool:
    """Whether a selector matches on any of the pages."""
    try:
        return any(page.select(parse(selector)) for page in pages)
    except BadSelector:
        return True
