"""The parser's open elements, followed roughly, and the work that they make for it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Set
from itertools import islice
from typing import Final, NamedTuple

BUDGET: Final = 100_000_000  # elements looked at: about 0.3 s of parsing
_REOPENED: Final = 150  # what it costs to make one element, in elements looked at
_SCANNED: Final = 10  # what one step of our own search costs, likewise
_MANY_ATTRIBUTES: Final = 12_000  # in one tag: each is compared with all before it
_ATTRIBUTE = re.compile(
    r"[^\s/>][^\s/>=]*+(?:\s*+=\s*+(?:\"[^\"]*+\"?+|'[^']*+'?+|[^\s>\"'][^\s>]*+)?+)?+"
)


def attributes_in(rest: str) -> int:
    """How many attributes a tag has; of one with very many, so many that it is too much."""
    if len(rest) < _MANY_ATTRIBUTES:
        return len(_ATTRIBUTE.findall(rest)) if rest else 0
    return sum(1 for _ in islice(_ATTRIBUTE.finditer(rest), _MANY_ATTRIBUTES + 1))


def names(text: str) -> frozenset[str]:
    """The set of the words in ``text``."""
    return frozenset(text.split())


VOID = names(
    "area base basefont bgsound br col embed frame hr image img input keygen link meta param "
    "source track wbr html head body frameset"
)
_RAW = names("script style xmp iframe noembed noframes textarea title")
FORMATTING = names("a b big code em font i nobr s small strike strong tt u")
_HEADINGS = names("h1 h2 h3 h4 h5 h6")
_CLOSES_P = _HEADINGS | names(
    "address article aside blockquote center dd details dialog dir div dl dt fieldset figcaption "
    "figure footer form header hgroup hr li listing main menu nav ol p plaintext pre search "
    "section summary table ul xmp"
)
_FOREIGN_HTML = names("*foreignobject *desc *title *mi *mo *mn *ms *mtext *annotation-xml")
_SCOPE = _FOREIGN_HTML | names("applet caption html table td th marquee object template")
_BUTTON = _SCOPE | {"button"}
_TABLE = names("table template")
_ROWS = names("tbody thead tfoot")
_BARRIERS = (
    _SCOPE
    | _CLOSES_P
    | _ROWS
    | names("button tr select noscript colgroup")
    | names("script style xmp iframe noembed noframes textarea")
)
_ITEM_STOPS = _BARRIERS - names("address div p li dd dt")
_MARKERS = names("applet object marquee template td th caption")
_PARTS = _ROWS | names("tr td th caption colgroup")
_LEAVES_FOREIGN = (
    FORMATTING
    | _HEADINGS
    | names(
        "blockquote body br center dd div dl dt embed head hr img li menu meta ol p pre ruby span "
        "sub sup table ul var"
    )
) - {"a"}
_PEERS = {name: names("rb rt rtc rp") for name in ("rb", "rt", "rtc", "rp")}
_PEERS |= {"option": names("option"), "optgroup": names("option optgroup")}
_PEERS |= dict.fromkeys(_HEADINGS, _HEADINGS)
_OWN_PEERS = names("p li dd dt")


class _Closing(NamedTuple):
    """Closes all down to the nearest open element of `wanted`, if none of `stops` is nearer."""

    wanted: Set[str]
    stops: Set[str] = frozenset()


def _closed_by_start(name: str) -> Iterator[_Closing]:
    if name in ("li", "dd", "dt"):
        yield _Closing(names("li" if name == "li" else "dd dt"), _ITEM_STOPS)
    if name in _CLOSES_P:
        yield _Closing(names("p"), _BUTTON)
    if name in ("button", "table"):
        stops = _SCOPE if name == "button" else _MARKERS
        yield _Closing(names(name), stops - {name})


def _closed_by_end(name: str) -> _Closing:
    if name in _HEADINGS:
        return _Closing(_HEADINGS, _SCOPE)
    if name in _TABLE or (name in _PARTS and name != "colgroup"):
        return _Closing(names(name), _TABLE - {name})
    if name in _BARRIERS:
        return _Closing(names(name), _SCOPE - {name})
    return _Closing(names(name), _BARRIERS)


# Made once for all names that are known, because a page may have 100,000 tags.
_CLOSED_BY_START = {
    name: tuple(_closed_by_start(name)) for name in _CLOSES_P | names("button table")
}
_CLOSED_BY_END = {name: _closed_by_end(name) for name in _BARRIERS | _HEADINGS | _PARTS}


class OpenElements:
    """The parser's open elements, roughly; foreign (SVG, MathML) ones have a ``*`` before them."""

    def __init__(self) -> None:
        self.open = ["html", "body"]
        self.count: defaultdict[str, int] = defaultdict(int)
        self.formats: list[list[tuple[str, str]]] = [[]]  # unclosed formatting, by cell or object
        self.losses = [0]  # how many of these have no open element and will be reopened
        self.options = 0
        self.root_attributes = 0
        self.work = 0

    @property
    def lost(self) -> int:
        return self.losses[-1]

    def start(self, name: str, rest: str) -> str | None:
        """Take a start tag; returns its name if its content is raw text."""
        self.work += len(self.open) + len(self.formats[-1])
        if len(rest) > _MANY_ATTRIBUTES:
            self._attributes(rest)
        top = self.open[-1]
        if name == top and name in _OWN_PEERS:
            return None  # it takes the place of the one before
        if name in ("html", "body"):  # the parser joins the attributes of all such tags
            self.root_attributes += attributes_in(rest)
            self.work += 3 * self.root_attributes
        if top[0] == "*" and self._foreign():
            if name not in _LEAVES_FOREIGN:
                self._start_foreign(name, rest)
                return None
            while self._foreign():
                self._pop()
        if name in ("svg", "math"):
            self.reopen()
            self._start_foreign(name, rest)
        elif name not in VOID:
            self._start_html(name, rest)
            return name if name in _RAW or name == "plaintext" else None
        return None

    def end(self, name: str) -> None:
        """Take an end tag."""
        self.work += len(self.open)
        top = self.open[-1]
        if top[0] == "*" and self._foreign() and self._pop_to(_Closing({f"*{name}"})):
            return
        if name in FORMATTING:
            self._end_format(name)
        elif name in ("html", "body", "head"):
            return  # what follows still stands in the body
        elif top == name:
            self._pop()  # what is left to do for nearly all end tags
        else:
            self._pop_to(_CLOSED_BY_END.get(name) or _closed_by_end(name))

    def reopen(self) -> None:
        """Open again what blocks have closed of the formatting that was never closed."""
        lost = min(self.lost, len(self.formats[-1]))
        if lost:
            self.losses[-1] = 0
            self.work += lost * _REOPENED
            for name, _ in self.formats[-1][-lost:]:
                self._push(name)

    def _start_foreign(self, name: str, rest: str) -> None:
        if not rest.endswith("/"):
            self._push(f"*{name}")

    def _start_html(self, name: str, rest: str) -> None:
        for closing in _CLOSED_BY_START.get(name, ()):
            self._pop_to(closing)
        if name in ("select", "option"):  # the parser looks at all options of a select at each
            self.options = self.options + 1 if name == "option" else 0
            self.work += self.options
        if name in _PEERS and self.open[-1] in _PEERS[name]:
            self._pop()
        if name in FORMATTING:
            self._start_format(name, rest)
        elif name not in _BARRIERS:
            self.reopen()
        if name not in _PARTS or self._table_part(name):
            self._push(name)

    def _table_part(self, name: str) -> bool:
        """Close what a cell, row or group closes; whether there is a table that it belongs to."""
        if not self.count["table"]:
            return False
        if name in ("td", "th"):
            return self._pop_above(_ROWS | _TABLE | {"tr"})
        if name == "tr":
            return self._pop_above(_ROWS | _TABLE)
        return self._pop_above(_TABLE)

    def _start_format(self, name: str, rest: str) -> None:
        formats = self.formats[-1]
        if name in ("a", "nobr") and any(entry[0] == name for entry in formats):
            self._end_format(name)
        self.reopen()
        entry = (name, rest)
        self.work += _SCANNED * len(formats)
        if formats.count(entry) < 3:  # HTML keeps three alike
            formats.append(entry)

    def _end_format(self, name: str) -> None:
        formats = self.formats[-1]
        for index in range(len(formats) - 1, -1, -1):
            self.work += 1
            if formats[index][0] == name:
                if index >= len(formats) - self.lost:
                    self.losses[-1] -= 1
                del formats[index]
                break
        for index in range(len(self.open) - 1, 0, -1):
            self.work += _SCANNED
            if self.open[index] == name:
                self._take_out(index)
                return
            if self.open[index] in _SCOPE:
                return

    def _take_out(self, index: int) -> None:
        """Remove one formatting element: HTML leaves the blocks in it open."""
        name = self.open[index]
        if any(above in _BARRIERS for above in self.open[index + 1 :]):
            del self.open[index]
            self.count[name] -= 1
            return
        while len(self.open) > index + 1:
            self._pop()
        self.open.pop()
        self.count[name] -= 1

    def _foreign(self) -> bool:
        top = self.open[-1]
        return top[0] == "*" and top not in _FOREIGN_HTML

    def _push(self, name: str) -> None:
        self.open.append(name)
        self.count[name] += 1
        if name in _MARKERS:
            self.formats.append([])
            self.losses.append(0)

    def _pop(self) -> None:
        name = self.open.pop()
        self.count[name] -= 1
        if name in _MARKERS and len(self.formats) > 1:
            self.formats.pop()
            self.losses.pop()
        elif name in FORMATTING and self.losses[-1] < len(self.formats[-1]):
            self.losses[-1] += 1

    def _pop_to(self, closing: _Closing) -> bool:
        """Close what a tag closes; whether there was such an element."""
        wanted, stops = closing
        if not self._holds(wanted):
            return False
        for index in range(len(self.open) - 1, 1, -1):
            name = self.open[index]
            if name in wanted:
                while len(self.open) > index:
                    self._pop()
                return True
            self.work += _SCANNED
            if name in stops:
                return False
        return False

    def _holds(self, wanted: Iterable[str]) -> bool:
        return any(map(self.count.__getitem__, wanted))

    def _pop_above(self, wanted: Set[str]) -> bool:
        """Close all that is open above the nearest of ``wanted``."""
        if not self._holds(wanted):
            return False
        while self.open[-1] not in wanted:
            self._pop()
        return True

    def _attributes(self, rest: str) -> None:
        found = attributes_in(rest)
        if found > _MANY_ATTRIBUTES:
            self.work = BUDGET + 1
        self.work += found * found // 2
