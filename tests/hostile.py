"""Pages and selectors that are allowed, and made to keep a worker busy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

ITEM = "<li class=item id={id}><b>{id}</b></li>"
LONGEST = 500  # characters of a selector
MANY = 50  # fields
CELL = 32_768


def chain(part: str, joint: str = " ") -> str:
    """The longest selector of this part."""
    number = (LONGEST - len(part)) // len(part + joint) + 1
    return joint.join([part] * number)


def compound(parts: Iterator[str]) -> str:
    """The longest selector of one step with these parts."""
    text = ""
    for part in parts:
        if len(text + part) > LONGEST:
            break
        text += part
    return text


@dataclass(frozen=True)
class Attack:
    """A page, and how it is read; `fields` are the selectors of columns of type `kind`.

    With another `charset` than UTF-8 each character of the markup is one byte.
    """

    markup: str
    item: str = "li.item"
    fields: tuple[str | None, ...] = ("b",)
    kind: str = "string"
    attribute: str | None = None
    charset: str = "utf-8"
    pagination: dict[str, Any] = field(default_factory=lambda: {"kind": "none"})

    @property
    def body(self) -> bytes:
        """The page as it is sent."""
        return self.markup.encode("utf-8" if self.charset == "utf-8" else "latin-1")

    @property
    def content_type(self) -> str:
        """The type that it is sent with."""
        return f"text/html; charset={self.charset}"

    def declared(self, url: str) -> dict[str, Any]:
        """The declaration of a dataset that reads it."""
        read: dict[str, object] = {}
        if self.attribute is not None:
            read = {"kind": "attribute", "attribute": self.attribute}
        fields = [{"name": "key", "read": {"kind": "attribute", "attribute": "id"}}]
        columns: list[dict[str, object]] = [{"name": "key", "type": "string", "key": True}]
        for number, selector in enumerate(self.fields):
            named = {} if selector is None else {"selector": selector}
            fields.append({"name": f"f{number}", "read": {**read, **named}})
            columns.append({"name": f"f{number}", "type": self.kind})
        pagination = dict(self.pagination)
        if pagination["kind"] == "url-pattern":
            pagination["pattern"] = f"{url}?page={{page}}"
            url = f"{url}?page=1"
        source = {
            "version": 1,
            "url": url,
            "itemSelector": self.item,
            "fields": fields,
            "identity": {"kind": "source-key", "field": "key"},
            "pagination": pagination,
        }
        return {"name": "hostile", "columns": columns, "source": source}


def flat(unit: str, number: int) -> str:
    return "<!doctype html><ul>" + ITEM.format(id="a") + unit * number


def nested(depth: int, inside: str) -> str:
    opened = "".join(f"<div class=item id=i{number}>" for number in range(depth))
    return f"<!doctype html><main>{opened}{inside}</main>"


def reads(page: str, selector: str) -> dict[str, Attack]:
    """The same selector in each of the places where one may stand."""
    number = {"kind": "url-pattern", "endSelector": selector, "startPage": 1}
    return {
        "items": Attack(page, item=selector),
        "field": Attack(page, fields=(selector,)),
        "fields": Attack(page, fields=(selector,) * (MANY - 1)),
        "next link": Attack(page, pagination={"kind": "next-link", "selector": selector}),
        "end marker": Attack(page, pagination=number),
    }


EMPTY = flat("<i></i>", 43_000)  # 0.3 MB
DEEP = "<!doctype html>" + "<div>" * 3000 + ITEM.format(id="a") + "<p>x" * 3000
CLASSES = "<!doctype html><ul>" + ITEM.format(id="a") + f"<p class='{'x y z ' * 700_000}'>x"
MANY_CLASSES = flat(f"<p class='{' '.join(f'{number:x}' for number in range(700_000))}'>x", 1)
NAMES = [f".{letter}{digit}" for letter in "abcdefghijklmnopqrstuvwxyz" for digit in range(10)]
OF_NAMES = " ".join(name[1:] for name in NAMES)
CLASSED = flat(f"<p class='{OF_NAMES}'>x", 5_000)
ATTRIBUTES = flat("<p " + " ".join(f"a{number}=x" for number in range(11_000)) + ">x", 20)
VALUES = flat("<p title='" + "x" * 4_900 + "'>x", 1_000)
PARAGRAPHS = flat("<p class='a b'>x", 125_000)
BLOCKS = flat("<div><p>x</div>", 60_000)
WIDE = "".join(f"<li class=item id=i{number}><b>x</b>" for number in range(40_000))

CHAINS = {
    "stars": reads(EMPTY, chain("*")),
    "stars, children": reads(EMPTY, chain("*", ">")),
    "tags": reads(DEEP, chain("div")),
    "tags and stars": reads(EMPTY, chain("* i")),
    "all and nothing": reads(PARAGRAPHS, chain("*")[:-6] + ".nope"),
    "paragraphs": reads(PARAGRAPHS, "* p.a.b"),
    "blocks": reads(BLOCKS, chain("div p", ">")),
}
COMPOUNDS = {
    "classes of one element": (CLASSES, compound(iter(NAMES))),
    "classes that are there": (CLASSES, ".x.y.z" * 80),
    "a million classes of one element": (MANY_CLASSES, ".nope"),
    "words of one element": (CLASSES, "[class~=x][class~=y][class~=z]" * 16),
    "parts of one element": (CLASSES, "[class*='x y z x y z q']" * 20),
    "classes of many": (CLASSED, compound(iter(NAMES))),
    "classes of many, reversed": (CLASSED, compound(reversed(NAMES))),
    "attributes": (ATTRIBUTES, compound(f"[a{number}]" for number in range(10_900, 11_000))),
    "a long part": (VALUES, f"[title*={'x' * 480}y]"),
    "a long end": (VALUES, f"[title$={'x' * 480}y]"),
    "a long value": (VALUES, f"[title={'x' * 480}]"),
}
TEXTS = {
    "breaks": nested(900, "<br>" * 100_000),
    "empty elements": nested(900, "<i></i>" * 100_000),
    "letters": nested(900, "<b>" + "x " * (CELL // 2) + "</b>"),
    "white space": nested(900, "<b>x" + " \t" * 2_400_000 + "x</b>"),
    "words": nested(900, "<b>" + "a " * 2_400_000 + "</b>"),
    "superscripts": nested(900, "<sup>1</sup>" * 60_000),
    "comments": nested(900, "<!-- -->x" * 90_000),
    "one after the other": flat("<p>x", 100_000),
}
NUMBERS = {
    "digits": "1" * CELL,
    "groups": "1," * (CELL // 2),
    "spaced digits": "1 " * (CELL // 2),
    "prices": "$1 " * (CELL // 3),
    "digits of another script": "\u0663" * CELL,
    "letters without case": "\u0e01" * CELL + "5",
    "areas": "m2 " * (CELL // 3),
    "powers": "m\u00b2 " * (CELL // 3),
    "apostrophes": "\u2019" * CELL + "5",
    "dashes": "-" * CELL + "5",
    "pictures": "\U0001f600" * CELL,
}


def attacks() -> Iterator[tuple[str, Attack]]:
    """All of them, each with its name."""
    for name, places in CHAINS.items():
        yield from ((f"{name} as {place}", attack) for place, attack in places.items())
    for name, (page, selector) in COMPOUNDS.items():
        yield f"{name} as items", Attack(page, item=selector)
        yield f"{name} as fields", Attack(page, fields=(selector,) * (MANY - 1))
    for name, page in TEXTS.items():
        yield f"text: {name}", Attack(page, item=".item", fields=(None,))
        yield f"texts: {name}", Attack(page, item=".item", fields=("b", None, "*") * 16)
    for name, text in NUMBERS.items():
        many = "".join(f"<li class=item id=i{number}><b>{text[:4000]}</b>" for number in range(300))
        fields = ("b",) * (MANY - 1)
        yield f"numbers: {name}", Attack(nested(900, f"<b>{text}</b>"), ".item", fields, "number")
        yield f"many numbers: {name}", Attack(many, "li", fields, "number")
    yield "items", Attack(WIDE, fields=("b",) * (MANY - 1))
    yield "nested items", Attack(nested(2900, WIDE), ".item", ("b", "li b", "* b") * 16)
    yield "every element an item", Attack(PARAGRAPHS, item="*", fields=("*",) * (MANY - 1))
    yield from addresses()
    yield from marks()
    yield from charsets()
    yield from walls()
    yield from derived()


def addresses() -> Iterator[tuple[str, Attack]]:
    """Links and bases of megabytes."""
    link = {"kind": "next-link", "selector": "a"}
    for name, href in {
        "a query": "/?" + "a&" * 1_500_000,
        "a query that fits": "/?" + "a&" * (CELL // 2 - 10),
        "a path": "/a/.." * 500_000,
        "a path that fits": "/a/.." * 6_000,
        "white space": "/" + "\n\t" * 1_500_000,
    }.items():
        page = flat(f"<a href='{href}'>next</a>", 1)
        yield f"next link: {name}", Attack(page, pagination=link)
        inside = f"<a href='{href}'>x</a>"
        yield f"links: {name}", Attack(nested(900, inside), ".item", ("a",) * 49, "string", "href")
    base = f"<base href='http://site.test/{'a/' * 1_500_000}'>"
    links = base + "".join(f"<li class=item id=i{number}><a href=b>x</a>" for number in range(1000))
    yield "a base", Attack(links, "li", ("a",) * 49, "string", "href")
    same = "".join(f"<a href='/?{'a&' * 12_000}a#{number}'>next</a>" for number in range(200))
    yield "next links but for the fragment", Attack(flat(same, 1), pagination=link)
    off = flat(f"<a class='{'x ' * 2_000_000}'>next</a>", 1)
    yield "a next link of many classes", Attack(off, pagination=link)


def marks() -> Iterator[tuple[str, Attack]]:
    """Texts that Unicode's normal forms take long for."""
    text = "a" + "\u0301\u0323" * 16_000
    keys = "".join(f"<li class=item id='{number}{text}'><b>x</b>" for number in range(40))
    yield "keys of marks", Attack(keys)
    links = "".join(
        f"<li class=item id=i{number}><a href='//{number}{text}/'>x" for number in range(40)
    )
    yield "links to hosts of marks", Attack(links, fields=("a",), attribute="href")
    hosts = "".join(f"<a href='//{number}{text}/'>next</a>" for number in range(40))
    follow = {"kind": "next-link", "selector": "a"}
    yield "next links to hosts of marks", Attack(flat(hosts, 1), pagination=follow)
    base = f"<base href='http://{text * 10}/'>"
    yield "a base of marks", Attack(base + flat("<a href='?x'>next</a>", 1), pagination=follow)


def charsets() -> Iterator[tuple[str, Attack]]:
    """Bodies that are slow to decode."""
    for charset, text in {
        "gb18030": "\xff" * 5_000_000,
        "windows-1252": "\x81a" * 2_500_000,
        "utf-16": "\xd8\x00" * 2_500_000,
        "punycode": "a" * 300_000 + "-" + "b" * 300_000,
        "unicode_escape": "\\x" * 2_500_000,
    }.items():
        yield f"charset {charset}", Attack(flat(text, 1), charset=charset)


def walls() -> Iterator[tuple[str, Attack]]:
    """Pages without items, which are looked at for signs of a challenge."""
    for name, unit in {
        "scripts": "<script>",
        "scripts with sources": "<script " + "src=" * 120,
        "sources": "<script src " * 9,
        "spaces": "<iframe src=" + " " * 490,
        "divs": "<div id=" + " id=" * 100,
        "titles": "<svg><title>x</title></svg>",
        "one title": "<title " + "x" * 500,
    }.items():
        yield f"wall: {name}", Attack("<p>x" + unit * (200_000 // len(unit)))


def derived() -> Iterator[tuple[str, Attack]]:
    """Tables and lists of which livedata is to derive attributes."""
    header, term = "td[livedata-header]", "dd[livedata-term]"
    item = f"<!doctype html><table><tr><th>A<tr class=item id=a><td>x{'<td>y' * 20}"
    for name, rows in {
        "cells": "<tr><td>x<td>y" * 30_000,
        "headers within each other": "<tr><td><table><tr><th>A" * 300 + "<p>x" * 20_000,
    }.items():
        yield f"derived: {name}", Attack(item + rows, "tr.item", (header,) * (MANY - 1))
    places = Attack(PARAGRAPHS, "*", ("*[livedata-index='1']",) * 9, attribute="livedata-index")
    yield "derived: every place", places
    texts = Attack(PARAGRAPHS, "*", ("*[livedata-unnumbered='1']",) * 9)
    yield "derived: every text without its number", texts
    terms = flat(f"<dl><dt>{'A' * CELL}{'<dd>x' * 40_000}", 1)
    yield "derived: a long term", Attack(terms, fields=(term,))
