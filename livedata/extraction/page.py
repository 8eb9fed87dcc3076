"""One fetched page: decoded and parsed as a browser does, and what a declaration reads of it."""

from __future__ import annotations

import codecs
import hashlib
import re
from functools import cached_property
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin

from selectolax.lexbor import LexborHTMLParser
from w3lib.encoding import (
    html_body_declared_encoding,
    http_content_type_encoding,
    read_bom,
    to_unicode,
)

from livedata.extraction.cells import MAX_CELL
from livedata.extraction.hiding.elements import Sight
from livedata.extraction.matching.matcher import Matcher
from livedata.extraction.parse_budget import parsing_work
from livedata.extraction.text import (
    NOTHING_HIDDEN,
    Hidden,
    TextSpans,
    names,
    short_text,
    text,
    walked_text,
)
from livedata.extraction.work import Work

if TYPE_CHECKING:
    from collections.abc import Iterator

    from selectolax.lexbor import LexborNode

    from livedata.extraction.selectors import Selector

URL_ATTRIBUTES: Final = names(
    "action background cite classid codebase data dynsrc formaction href icon longdesc lowsrc "
    "manifest poster profile src usemap"
)
"""The attributes whose value HTML defines as one URL (``srcset`` and ``ping`` hold several)."""

BOOLEAN_ATTRIBUTES: Final = names(
    "allowfullscreen alpha async autofocus autoplay checked compact controls declare default "
    "defer disabled formnovalidate hidden inert ismap itemscope loop multiple muted nohref "
    "nomodule noresize noshade novalidate nowrap open playsinline readonly required reversed "
    "selected shadowrootclonable shadowrootcustomelementregistry shadowrootdelegatesfocus "
    "shadowrootserializable truespeed typemustmatch"
)

LONGEST_TITLE: Final = 1_000
"""The characters that are kept of a page's title."""
_APART: Final = 20_000  # nodes that are looked at for texts one by one, before one walk for all
_WALKED: Final = 2  # what a node of a text takes, in nodes looked at
_NOTED: Final = 4  # the same, if the place of each text is noted
_COPIED: Final = 200  # characters of an attribute that are copied in the time of a node
_LINK: Final = 20  # what it takes to resolve a link that is no plain path, in nodes
_RESOLVED: Final = 5  # characters of it that are resolved in the time of a node
_ABSENT: Final = "\x00"  # no page holds it
_EDGES: Final = "".join(map(chr, range(0x21)))
_PLAIN_PATH: Final = re.compile(r"/?[-\w]+(?:\.\w+)?(?:/[-\w]+(?:\.\w+)?)*", re.ASCII)
_BREAKS: Final = re.compile(r"[\t\n\r]+")
_LONG_HOST: Final = re.compile(r"(?:[^:/?#]*:)?//[^/?#]{200}")
_ONE_BYTE: Final = names(
    "cp866 cp874 cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258 iso8859-2 "
    "iso8859-3 iso8859-4 iso8859-5 iso8859-6 iso8859-7 iso8859-8 iso8859-10 iso8859-13 iso8859-14 "
    "iso8859-15 iso8859-16 koi8-r koi8-u mac-cyrillic mac-roman"
)
_CHARSETS: Final = _ONE_BYTE | names(
    "big5hkscs cp932 cp949 euc_jp gb18030 iso2022_jp utf-8 utf-16 utf-16-be utf-16-le"
)
_FEW: Final = 100_000  # broken characters that are looked at one by one
_SLICE: Final = 1 << 18  # bytes that are decoded at once: nothing else runs meanwhile


class PageTooComplex(Exception):
    """The page has so many elements, or nests them so deeply, that it would stall the worker."""


def is_boolean_attribute(name: str) -> bool:
    """Whether HTML defines the attribute as boolean: its presence is what it says."""
    return name.lower() in BOOLEAN_ATTRIBUTES


class Page:
    """A page, parsed; raises `PageTooComplex` if it would stall the parser.

    ``body`` are the bytes as received with content encodings (gzip) undone, ``url`` is the final
    address, ``content_type`` the header's value or None. ``digest`` is the SHA-256 of ``body`` in
    hex, ``markup`` the decoded text, ``tree`` the parsed document. ``work`` counts what reading
    takes: what matches or reads raises `TooMuchWork` once it is more than one page may take.
    """

    def __init__(self, body: bytes, content_type: str | None, url: str) -> None:
        markup = decode(body, content_type)
        parsing = parsing_work(markup)
        if parsing is None:
            raise PageTooComplex
        self.url = url
        self.markup = markup
        self.digest = hashlib.sha256(body).hexdigest()
        self.tree = LexborHTMLParser(markup)
        self.work = Work(parsing=parsing)
        self._sight = sight = Sight(self.tree, markup, self.work)
        self._matcher = Matcher(self.tree, markup, self.work, lambda: sight.hidden)
        self._texts_visited = 0
        self._spans: TextSpans | None = None

    @cached_property
    def base_url(self) -> str:
        """What links are relative to: the first ``base`` with an href, else the page's URL."""
        base = self.tree.css_first("base[href]")
        written = "" if base is None else base.attributes.get("href") or ""
        joined = None if len(written) > MAX_CELL else _joined(self.url, written)
        if joined is None or joined.lower().startswith(("data:", "javascript:")):
            return self.url
        if len(joined) > MAX_CELL:  # it would stand in front of each link
            return self.url
        return joined

    @cached_property
    def title(self) -> str | None:
        """The text of the document's ``title``, None without one; may be empty, or cut."""
        title = self.tree.css_first("head > title, body > title")
        return None if title is None else text(title, NOTHING_HIDDEN, LONGEST_TITLE)[:LONGEST_TITLE]

    @property
    def hidden(self) -> Hidden:
        """The elements that a person does not see, as the page itself says; counted as work."""
        return self._sight.hidden

    def select(self, selector: Selector, within: LexborNode | None = None) -> list[LexborNode]:
        """All matches in document order, of the page or strictly below ``within``.

        As ``querySelectorAll`` has it: elements above ``within`` count for the steps before the
        last. What stands in ``template`` is no part of the page.
        """
        return self._matcher.select(selector, within)

    def first(self, selector: Selector, within: LexborNode | None = None) -> LexborNode | None:
        """The first of `select`, or None; quickest below what the last `select` has found."""
        return self._matcher.first(selector, within)

    def derive(self, attribute: str, selector: Selector) -> None:
        """Make an attribute that livedata derives readable on what a selector matches."""
        self._matcher.derive(attribute, selector)

    def text(self, node: LexborNode, limit: int | None = None) -> str:
        """The text below ``node`` as a person sees it: see `livedata.extraction.text.text`."""
        return text(node, self.hidden, limit)

    def marked_text(self, node: LexborNode, selector: str) -> str:
        """The text with a mark where superscript or subscript begins or ends.

        One that is too long for a cell is cut. ``selector`` is what it is read for.
        """
        short = short_text(node)
        if short is not None:
            return short
        if self._spans is not None:
            marked_part = self._spans.marked(node, MAX_CELL + 1)
            if marked_part is not None:
                return marked_part
        spend, hidden = self.work.spend, self.hidden
        marked, visited = walked_text(node, hidden, MAX_CELL + 1)
        spend(_WALKED * visited, selector)
        self._texts_visited += visited
        # Elements within each other: one walk over the page is shorter than one for each.
        if self._texts_visited > _APART and self.tree.root is not None and self._spans is None:
            root = self.tree.root
            self._spans = TextSpans(root, hidden, lambda nodes: spend(_NOTED * nodes, selector))
        return marked

    def attribute(self, node: LexborNode, name: str) -> str | None:
        """The attribute's value, trimmed: None when absent, "" when empty.

        One that HTML defines as a URL is made absolute by `base_url`; one that cannot be parsed
        stays as written. One that is too long for a cell is cut.
        """
        name = name.lower()
        value = node.attrs.get(name, _ABSENT)
        if value == _ABSENT:
            return None
        value = value or ""
        if len(value) > MAX_CELL:
            self.work.spend(len(value) // _COPIED, f"[{name}]")
        value = value.strip()
        if len(value) > MAX_CELL:
            return value[: MAX_CELL + 1]
        if not value or name not in URL_ATTRIBUTES:
            return value
        if _PLAIN_PATH.fullmatch(value):  # the usual link: the general way costs ten times this
            return (self._origin if value[0] == "/" else self._folder) + value
        self.work.spend(_LINK + len(value) // _RESOLVED, f"[{name}]")
        return _resolve(self.base_url, value)

    @cached_property
    def _origin(self) -> str:
        return _resolve(self.base_url, "/")[:-1]

    @cached_property
    def _folder(self) -> str:
        return _resolve(self.base_url, "x")[:-1]


def decode(body: bytes, content_type: str | None) -> str:
    """The body as text in its `charset`, without NUL and a leading byte order mark."""
    name = charset(body, content_type)
    if name.startswith("utf-16") and _is_broken(body, name):
        name = "cp1252"
    # NUL cannot be stored in every database.
    text = "".join(part.replace("\x00", "") for part in _in_slices(body, name))
    if name == "gb18030" and 0 < text.count("\ufffd") < _FEW:
        # As browsers do, which read the byte 80 as a euro sign.
        text = to_unicode(body, name).replace("\x00", "")
    return text.removeprefix("\ufeff")


def _in_slices(body: bytes, name: str) -> Iterator[str]:
    slices = (body[offset : offset + _SLICE] for offset in range(0, len(body), _SLICE))
    if name in _ONE_BYTE:
        # With a character for each byte nothing is an error: Python takes long for each of them.
        table = bytes(range(256)).decode(name, "replace")
        yield from (codecs.charmap_decode(part, "strict", table)[0] for part in slices)
    else:
        decoder = codecs.getincrementaldecoder(name)("replace")
        yield from map(decoder.decode, slices)
        yield decoder.decode(b"", final=True)


def charset(body: bytes, content_type: str | None) -> str:
    """Python's name for the charset of a page, which is one that browsers know.

    A byte order mark decides, then the ``Content-Type``, then the page's own ``meta``; without
    any of them UTF-8 if it is that, else windows-1252.
    """
    named = (
        read_bom(body)[0],
        http_content_type_encoding(content_type),
        html_body_declared_encoding(body),
    )
    # Python knows others, some of which take seconds for a page.
    name = next((name for name in named if name in _CHARSETS), None) or _guess(body)
    return "utf-16-be" if name == "utf-16" else name


def _is_broken(body: bytes, name: str) -> bool:
    """Whether a body in UTF-16 is none: Python takes long for each half of a character."""
    try:
        body.decode(name)
    except UnicodeDecodeError:
        high = body[name == "utf-16-le" :: 2]
        return sum(map(high.count, range(0xD8, 0xE0))) > _FEW
    return False


def _guess(body: bytes) -> str:
    try:
        body.decode()
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def has_long_host(url: str) -> bool:
    """Whether the host that is written in a URL is longer than one in other letters can be.

    Such a URL must not be taken apart: `urllib` normalizes the host, in quadratic time.
    """
    return not url.isascii() and _LONG_HOST.match(_trimmed(url)) is not None


def _resolve(base: str, written: str) -> str:
    joined = _joined(base, written)
    return written if joined is None else joined


def _joined(base: str, written: str) -> str | None:
    if has_long_host(written):
        return None
    try:
        return urljoin(base, _trimmed(written))
    except ValueError:
        return None


def _trimmed(written: str) -> str:
    return _BREAKS.sub("", written.strip(_EDGES))
