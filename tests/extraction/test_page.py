"""The reading of one page: text, attributes, base, title, encodings."""

from __future__ import annotations

import hashlib
from encodings.aliases import aliases
from random import Random
from urllib.parse import urljoin

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livedata.extraction.cells import MAX_CELL
from livedata.extraction.page import Page, charset, decode, is_boolean_attribute
from livedata.extraction.selectors import parse
from livedata.extraction.text import plain

URL = "https://site.test/shop/list?page=2"


def page(markup: str) -> Page:
    return Page(markup.encode(), "text/html; charset=utf-8", URL)


@pytest.mark.parametrize(
    ("markup", "seen"),
    [
        ("", ""),
        ("a", "a"),
        (" a \n\t b ", "a b"),
        ("a&nbsp;&#8195;&nbsp;b", "a b"),
        ("a&#8203;b", "a\u200bb"),
        ("a<b>b</b>c", "abc"),
        ("a<div>b</div>c", "a b c"),
        ("<p>a</p><p>b</p>", "a b"),
        ("<div><p>a</p></div>b", "a b"),
        ("<b><p>a</p></b>b", "a b"),
        ("<span>1</span><span>2</span>", "12"),
        ("a<br>b", "a b"),
        ("<ul><li>a<li>b</ul>c", "a b c"),
        ("<table><tr><td>a<td>b<tr><td>c</table>", "a b c"),
        ("<select><option>a<option>b</select>", "a b"),
        ("a<script>x</script><style>y</style><template>z</template>b", "ab"),
        ("a<!-- x -->b", "ab"),
        ("a<noscript><i>b</i></noscript>", "ab"),
        ("a<iframe>b</iframe>", "a"),
        ("a\x00b&#xD800;", "ab\ufffd"),
    ],
)
def test_text_is_what_a_person_sees(markup: str, seen: str) -> None:
    read = page(f"<main>{markup}</main>")
    assert read.text(read.select(parse("main"))[0]) == seen


@pytest.mark.parametrize(
    "markup",
    [
        "<div> a <b>b</b><p>c</p>d<br>e</div>",
        "<ul><li>1<li> 2 <i>x</i></ul><table><tr><td>a<td>b</table>",
        "<p>19<sup>99</sup> <sub>a</sub>b</p><sup> <i>5</i></sup>6",
        "<script>x</script><div><div><div>a</div> </div>b</div><!-- c -->",
        f"<div>{'a b  c' * 20_000}<b>d</b></div>",
        f"<div>{' ' * 200_000}<b>d</b>{' ' * 200_000}</div>",
    ],
)
def test_texts_are_the_same_however_many_are_read(markup: str) -> None:
    read = page(f"<main>{markup}</main>")
    every = read.select(parse("main *"))
    alone = [read.text(node)[:MAX_CELL] for node in every]
    for node in every * 20_000:
        read.marked_text(node, "main *")
        if read.work.done > 100_000:
            break
    assert [plain(read.marked_text(node, "main *"))[:MAX_CELL] for node in every] == alone


def test_text_of_a_script_is_nothing_and_other_elements_stay_out() -> None:
    read = page("<p>x<script>a</script><p>y<div>z</div>")
    assert read.text(read.select(parse("script"))[0]) == ""
    assert read.text(read.select(parse("p"))[1]) == "y"


def test_a_limit_stops_the_reading_but_shows_that_there_was_more() -> None:
    read = page("<main>" + "<i>ab </i>" * 1000 + "</main>")
    main = read.select(parse("main"))[0]
    assert 10 < len(read.text(main, limit=10)) < 30
    assert read.text(main, limit=3000) == read.text(main)


@pytest.mark.parametrize(
    ("markup", "name", "value"),
    [
        ("<a href='/x'>", "href", "https://site.test/x"),
        ("<a href='/a/../x/./y.z'>", "HREF", "https://site.test/x/y.z"),
        ("<a href=' x\n/y '>", "href", "https://site.test/shop/x/y"),
        ("<a href='?page=3'>", "href", "https://site.test/shop/list?page=3"),
        ("<a href='//cdn.test/x'>", "href", "https://cdn.test/x"),
        ("<a href='mailto:a@b.test'>", "href", "mailto:a@b.test"),
        ("<a href='http://[x/'>", "href", "http://[x/"),
        (f"<a href='//{'ä' * 250}/'>", "href", f"//{'ä' * 250}/"),
        ("<a href='/\n/ä.test'>", "href", "https://ä.test"),
        ("<a href=''>", "href", ""),
        ("<a>", "href", None),
        ("<a data-href='/x'>", "data-href", "/x"),
        ("<a title=' x '>", "title", "x"),
        ("<a hidden>", "hidden", ""),
        ("<a srcset='/a 1x, /b 2x'>", "srcset", "/a 1x, /b 2x"),
        ("<a src=b.png>", "src", "https://site.test/shop/b.png"),
    ],
)
def test_attributes_are_trimmed_and_urls_made_absolute(
    markup: str, name: str, value: str | None
) -> None:
    read = page(markup)
    assert read.attribute(read.select(parse("a"))[0], name) == value


@pytest.mark.parametrize(
    ("head", "base"),
    [
        ("", URL),
        ("<base target=x><base href='/a/'><base href='/b/'>", "https://site.test/a/"),
        ("<base href='http://other.test'>", "http://other.test"),
        ("<base href='http://[x'>", URL),
        ("<base href='javascript:x'>", URL),
        ("<base href='http://\u00e4.test/'>", "http://\u00e4.test/"),
        ("<base href='http://" + "\u00e4" * 250 + "/'>", URL),
        ("<base href='/" + "x" * MAX_CELL + "'>", URL),
    ],
)
def test_the_first_base_with_an_href_counts(head: str, base: str) -> None:
    assert page(head).base_url == base


def test_a_link_follows_the_base() -> None:
    read = page("<base href='http://other.test/a/'><a href=b></a><a href=/c></a>")
    links = [read.attribute(node, "href") for node in read.select(parse("a"))]
    assert links == ["http://other.test/a/b", "http://other.test/c"]


_BASES = (URL, "http://site.test", "http://site.test/a/", "https://u@h.test:8/x/../y", "data:x")
_PIECES = ("/", "a", "B-1", "_", ".html", "x.y", "0")


@given(st.sampled_from(_BASES), st.lists(st.sampled_from(_PIECES), min_size=1, max_size=7))
def test_a_plain_link_is_what_it_is_by_the_general_rule(base: str, pieces: list[str]) -> None:
    written = "".join(pieces)
    read = Page(f"<a href='{written}'>".encode(), "text/html", base)
    assert read.attribute(read.select(parse("a"))[0], "href") == urljoin(base, written)


def test_the_title_is_the_documents_own() -> None:
    assert page("<title> a\n b </title>").title == "a b"
    assert page("<svg><title>icon</title></svg>").title is None
    assert page("<p>x").title is None


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        ("é €".encode(), None),
        ("é €".encode("cp1252"), None),
        ("é €".encode(), "text/html; charset=utf-8"),
        ("é €".encode("cp1252"), "text/html; charset=iso-8859-1"),
        (b"\xef\xbb\xbf" + "é €".encode(), "text/html; charset=iso-8859-1"),
        ("\ufeffé €".encode("utf-16-le"), None),
        (b"<meta charset=iso-8859-15>" + "é €".encode("iso-8859-15"), None),
        ("é €".encode(), "text/html; charset=no-such"),
        ("é\x00 €".encode(), None),
    ],
)
def test_characters_survive_whatever_was_declared(body: bytes, content_type: str | None) -> None:
    read = Page(body, content_type, URL)
    assert read.text(read.select(parse("body"))[0]) == "é €"


@pytest.mark.parametrize(
    ("body", "declared", "text"),
    [
        (b"5 \x80", "gb2312", "5 €"),
        ("5 €".encode("gb18030"), "gbk", "5 €"),
        (b"\xff 5", "gb18030", "\ufffd 5"),
        (b"a\x81\x00", "windows-1252", "a\ufffd"),
        (b"a\x81 5", "shift_jis", "a\ufffd 5"),
        (b"\xd8\x00\x00a", "utf-16", "\ufffda"),
        (b"\x82\xb1", "sjis", "こ"),
    ],
)
def test_characters_that_are_broken_leave_a_mark(body: bytes, declared: str, text: str) -> None:
    assert decode(body, f"text/html; charset={declared}") == text


@pytest.mark.parametrize("declared", ["punycode", "idna", "unicode_escape", "utf-7", "hz", "cp437"])
def test_a_charset_that_browsers_do_not_know_is_none(declared: str) -> None:
    body = "é \\x41 +AGE-".encode()
    assert decode(body, f"text/html; charset={declared}") == "é \\x41 +AGE-"


@pytest.mark.parametrize(
    "declared", ["big5", "shift_jis", "euc-kr", "euc-jp", "gbk", "iso-2022-jp", "utf-8", "utf-16le"]
)
def test_a_long_body_is_decoded_as_a_whole(declared: str) -> None:
    body = Random(declared).randbytes(1_500_000)
    kind = f"text/html; charset={declared}"
    codec = charset(body, kind)
    whole = body.decode(codec, "replace").replace("\x00", "").removeprefix("\ufeff")
    assert decode(body, kind) == whole


def test_no_declaration_leads_to_a_charset_that_browsers_do_not_know() -> None:
    codecs_of_python = {*aliases, *aliases.values(), "punycode", "idna", "unicode_escape"}
    named = {charset(b"", f"text/html; charset={name}") for name in codecs_of_python}
    assert {"utf-8", "gb18030", "cp932", "iso8859-8"} <= named
    assert not named & {"punycode", "idna", "unicode-escape", "raw-unicode-escape", "hz", "utf-7"}


def test_a_wrong_declaration_never_leaves_a_surrogate_or_nul() -> None:
    read = Page(b"<p>a\x00\xed\xa0\x80+2AA-b", "text/html; charset=utf-7", URL)
    seen = read.text(read.select(parse("p"))[0])
    assert seen.encode()
    assert "\x00" not in seen


def test_the_digest_is_of_the_bytes_given() -> None:
    body = b"\xef\xbb\xbf<p>\x00x"
    assert Page(body, None, URL).digest == hashlib.sha256(body).hexdigest()


def test_boolean_attributes_are_those_of_html() -> None:
    answers = [
        is_boolean_attribute(name) for name in ("checked", "DISABLED", "hidden", "href", "id")
    ]
    assert answers == [True, True, True, False, False]
