"""What the values of a column are by their nature: the name of a thing, its price, its place.

What only happens to differ in each record of today's page, such as a price, is no identifier.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Final, Literal

Nature = Literal[
    "code", "link", "text", "prose", "image", "person", "moment", "ago", "price", "figure", "count",
    "place", "numbered", "generated",
]  # fmt: skip

_DIGITS: Final = re.compile(r"\d+")
_CODES: Final = re.compile(
    r"(?:.*_)?(?:id|ids|uid|uuid|guid|pk|urn|sku|asin|isbn|issn|ean|gtin|mpn|upc|cas|isin|iban|bic|lei"
    r"|imo|mmsi|icao|iata|vin|doi|pmid|number|numero|nummer|nr|no|num|code|codigo|kod|ref|reference"
    r"|referencia|docket|case|key|slug|article|artikel|artikelnr|model|symbol|ticker|plate|license"
    r"|licence|kennzeichen|aktenzeichen|matricula|permalink)(?:_\d+)?",
    re.IGNORECASE,
)
_LONGEST_CODE: Final = 48
_PROGRAM: Final = re.compile(r"[(){};=<>]")
"""What is written in the code of a program, which tells nothing apart."""
_TIMED: Final = re.compile(
    r"(?:.*_)?(?:time|timestamp|date|datetime|created|updated|modified|published|expires)(?:_.*)?"
)
_PRICED: Final = re.compile(
    r"(?:.*_)?(?:price|prices|preis|prix|precio|prezzo|cena|cost|amount|salary|msrp)(?:_.*)?"
)
_COUNTED: Final = re.compile(
    r"(?:.*_)?(?:comments?|votes?|views?|viewing|hits|replies|likes|answers|rating|ratings|score|points|count"
    r"|counter|visits|downloads|reviews|stars|followers|shares|rank|position|place)(?:_\d+)?"
)
_VISITS: Final = (
    r"(?:page_?)?views?|viewing|hits|visits?|visitors?|impressions|reads|aufrufe|besucher|klicks|vues|visites"
    r"|visitas|visualiza\w+|visualizzazioni|weergaven|bezoekers|wyświetle\w+|zobrazen\w+|visningar"
    r"|просмотр\w*|посетител\w*"
)
_VISITED: Final = re.compile(rf"(?:.*_)?(?:{_VISITS})(?:_count|_\d+)?", re.IGNORECASE)
_SAYS_VISITS: Final = re.compile(
    rf"\W*\d[\d.,' ]*[kKmM]?\W*(?:{_VISITS})\W*|\W*(?:{_VISITS})\W*\d[\d.,' ]*[kKmM]?\W*",
    re.IGNORECASE,
)
_SET_APART: Final = re.compile(r"[|•·»]")
"""What stands between the parts of a line: Added: May 4 | Visits: 75."""
_PEOPLE: Final = re.compile(
    r"(?:.*_)?(?:author|authors|user|username|member|poster|posted_by|by|seller|agent|editor|owner"
    r"|starter|creator|contributor|reviewer|reporter|uploader|submitter)(?:_\d+)?"
)
_TO_PEOPLE: Final = re.compile(
    r"[/?&](?:users?|members?|profiles?|authors?|u|people|sellers?|account)(?:[/=.]|\.php)"
    r"|[/?&](?:user|member|profile)[-_]?(?:id|info)?[=.]|/@",
    re.IGNORECASE,
)
_GENERATED: Final = re.compile(
    r":r\w*:|(?:ember|yui|react|radix|mui|ext-?gen|gwt|headlessui|ui-id|anonymous)[-_:]?[-\w:]*\d"
    r"[-\w:]*"
)
_CURRENCY: Final = (
    r"(?:[$€£¥₹₽₩₪₫฿円元원]|\b(?:USD|EUR|GBP|CHF|SEK|NOK|DKK|PLN|CZK|JPY|Kč|zł|kr|руб)\b)"
)
_PRICE: Final = re.compile(rf"{_CURRENCY}\s*[\d.,' ]*\d|\d[\d.,' ]*\s*{_CURRENCY}")
_MONTH: Final = (
    r"(?:jan|feb|mar|apr|may|mai|mag|jun|jul|aug|ago|sep|set|oct|okt|out|nov|dec|dez|dic|ene|fev|fév"
    r"|avr|abr|juin|juil|août|янв|фев|мар|апр|ма[йя]|июн|июл|авг|сен|окт|ноя|дек)[^\W\d_]*\.?"
)
_MOMENT: Final = re.compile(
    r"\b\d{4}[-/.]\d{1,2}[-/.]\d{1,2}\b|\b\d{1,2}[-/. ]\d{1,2}[-/. ]\d{2,4}\b|\b\d{1,2}:\d\d\b"
    rf"|\b{_MONTH} \d{{1,2}}\b|\b\d{{1,2}}(?:st|nd|rd|th|\.)? (?:de )?{_MONTH}\b|\d年|\d月",
    re.IGNORECASE,
)
_AGO: Final = re.compile(
    r"\bago\b|\b(?:yesterday|today|hours?|minutes?|days?|gestern|heute|vor|il y a|hace|hier|вчера"
    r"|сегодня|назад)\b",
    re.IGNORECASE,
)
_ADDRESS: Final = re.compile(r"(?:https?://|www\.)\S+$")
_SHORT: Final = 60
_PROSE: Final = 100
"""Texts of more characters on average are what is said of a thing, and not its name."""
_LONGEST: Final = 140
_MOST: Final = 0.7
_UNITS: Final = 4
"""So many different words may stand around the numbers of figures."""
_COUNT: Final = re.compile(r"\W{0,2}(\d{1,4}(?:\.\d{1,4}){0,4})[.)]?\s+\D")
_FIGURE: Final = re.compile(r"[^\w\d]{0,3}(?:[<>~≈±+#-]\s*)?[\d.,' \u00a0\u202f]*\d")
_NUMBERS: Final = re.compile(r"[\d.,' \u00a0\u202f]+")
_HYPHENED: Final = re.compile(r"\d+(?:[-–]\d+[-–]?){2,}X?|[\d-]{9,}X?")
_PART: Final = re.compile(r"[\s\d.,'()\[\]+~≈±<>%°²³/·:;-]+")


def nature(name: str, attribute: str | None, kind: str, texts: Sequence[str]) -> Nature:
    """What a column is by its name, the attribute that it is read of, its type and its values."""
    if name.startswith("image") or (attribute or "").endswith("src"):
        return "image"
    if attribute == "href":
        return "person" if _most(texts, _TO_PEOPLE.search) else "link"
    if _most(texts, _GENERATED.fullmatch):
        return "generated"
    if _PRICED.fullmatch(name):
        return "price"
    if counts_along(texts):
        return "place"
    if attribute == "datetime" or _TIMED.fullmatch(name):
        return "moment"
    return _of_values(name, kind, texts)


def _of_values(name: str, kind: str, texts: Sequence[str]) -> Nature:
    length = _average(texts)
    if _most(texts, is_price):
        return "price"
    coded = is_code(name) and not _most(texts, _PROGRAM.search)
    if kind != "number" and coded and length <= _LONGEST_CODE:
        return "code"
    if length <= _SHORT and _most(texts, _AGO.search) and _most(texts, _is_figure_or_word):
        return "ago"
    if length <= _SHORT and _most(texts, _MOMENT.search):
        return "moment"
    if kind == "number" or _are_figures(texts):
        return "count" if _COUNTED.fullmatch(name) else "figure"
    if _begin_with_counts(texts):
        return "numbered"
    if _PEOPLE.fullmatch(name):
        return "person"
    return "prose" if length > _PROSE or max(map(len, texts), default=0) > _LONGEST else "text"


def is_code(name: str) -> bool:
    """Whether a column is called what identifiers are called: sku, product_code, docket_no."""
    return bool(_CODES.fullmatch(name))


def is_address(value: str) -> bool:
    """Whether a text is an address of the web, as a link to it may show."""
    return bool(_ADDRESS.match(value))


def is_price(value: str) -> bool:
    """Whether a text has a number beside the sign of a currency, and little else."""
    return len(value) <= _SHORT and bool(_PRICE.search(value))


def counts_visits(name: str, texts: Sequence[str]) -> bool:
    """Whether texts say how often a record was looked at, so that each look changes them."""
    if _VISITED.fullmatch(name):
        return _most(texts, _DIGITS.search)
    return _most(texts, _says_visits)


def _says_visits(text: str) -> bool:
    """Whether a text is a number of visits, or has a part that is one."""
    parts = _SET_APART.split(text)
    return any(len(part) <= _SHORT and _SAYS_VISITS.fullmatch(part) for part in parts)


def leads_to_people(address: str) -> bool:
    """Whether an address is that of a person's page."""
    return bool(_TO_PEOPLE.search(address))


def counts_along(texts: Sequence[str]) -> bool:
    """Whether they only number the records: row_0, row_1, row_2."""
    if len(texts) < 3 or len({_DIGITS.sub("0", text) for text in texts}) > 1:
        return False
    numbers = [[int(digits[:18]) for digits in _DIGITS.findall(text)] for text in texts]
    changing = [place for place in zip(*numbers, strict=True) if len(set(place)) > 1]
    if len(changing) != 1:
        return False
    steps = [after - before for before, after in pairwise(changing[0])]
    return max(steps.count(1), steps.count(-1), steps.count(2)) >= 0.9 * len(steps)


def _begin_with_counts(texts: Sequence[str]) -> bool:
    """Whether numbers that rise from one to the next stand before most: those of chapters."""
    counts = [match[1] for text in texts if (match := _COUNT.match(text)) is not None]
    numbers = [tuple(map(int, number.split("."))) for number in counts]
    return len(counts) > max(2, _MOST * len(texts)) and numbers == sorted(set(numbers))


def _are_figures(texts: Sequence[str]) -> bool:
    """Whether most are numbers with the same few words around them: 665,384 sq mi."""
    around = {_NUMBERS.sub(" ", text).strip().lower().rstrip("s") for text in texts}
    few = min(_UNITS + len(texts) // 20, max(1, len(texts) // 2))
    return len(around) <= few and _most(texts, _is_figure)


def _is_figure(text: str) -> bool:
    # What begins with a letter, as K-12 does, or is set in groups, as 978-3-16 is, is a code.
    return len(text) <= _SHORT and bool(_FIGURE.match(text)) and not _HYPHENED.fullmatch(text)


def _is_figure_or_word(text: str) -> bool:
    return len(_PART.sub(" ", text).split()) <= 4


def _most(texts: Sequence[str], holds: Callable[[str], object]) -> bool:
    return sum(bool(holds(text)) for text in texts) > _MOST * len(texts)


def _average(texts: Sequence[str]) -> float:
    return sum(map(len, texts)) / max(len(texts), 1)
