"""What livedata leaves out as hidden is hidden in Chromium too, whatever sheets of a page say."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import TYPE_CHECKING, Final

import pytest

from livedata.extraction.page import Page
from livedata.extraction.selectors import parse
from tests.browsing.chromium import chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser

CLASSES: Final = ("x", "y", "z", "md:b")
PAGES: Final = 150
TAGS: Final = ("span", "b", "div", "p", "ul", "sup")
SIMPLE: Final = (
    *(".x", ".y", ".z", r".md\:b", "b", "span", "#i1", "#i2", "b.x", ".x.y", "p.z", ".x.x"),
    *(".x, .y", "b , #i1", ".q,.z"),
)
ODD: Final = (
    *(".x .y", "div > .x", ".x:hover", ".x::before", "main *", "*", ".x:not(.y)", "[class]"),
    *("[title], .x", ".x:first-child", ".x ~ .y", "::-odd, .x", "5, .x", ".x,", "main > * > .y"),
    *(":is(.x)", "b:focus .x", r".\78 ", "B.x", "svg|b", ".x.5", ".x/**/.y", "*.x", "b*", "> .x"),
)
SAID: Final = (
    *("display:none", "display:inline", "visibility:hidden", "visibility:visible"),
    *("display:none!important", "visibility:hidden ! important", "color:red", "DISPLAY : None"),
    *("visibility:inherit", "visibility:collapse", "display:block", "display:none;display:inline"),
)
ODDLY_SAID: Final = (
    *("display:nonesuch", "display:none !ie", "display:none none", "content:'}';display:none"),
    *("--display:none", "display/**/:none", "display:none;display:nonesuch", "visibility:unset"),
    *("background:url(a;display:none)", "{display:none}", "display:none}", "all:unset"),
    *('quotes:"\ndisplay:none', "display:revert", "visibility:initial", ".y{display:block}"),
    *("&.y{display:inline}", "@media screen{display:block}", "; ;display:none", "display:none /*"),
)
AROUND: Final = (
    *("@media print{%s}", "@media screen{%s}", "@media (min-width:1px){%s}", "@layer a{%s}"),
    *("@supports (display:grid){%s}", "@media(max-width:1px){%s}", "@keyframes k{%s}", "; %s"),
    *("} %s", "<!-- %s -->", "/* %s */", "@import 'a.css';%s", "@font-face{%s}", "@odd{%s}"),
    *("@media print{%s", "@media screen,print{%s}", "@container (width > 1px){%s}", "--a:{%s}"),
)
# Whatever hides an element itself, or what is around it, counts for none that a selector names.
SHOWN_BELOW: Final = """elements => elements.map(top => {
  const before = top.getAttribute("style");
  top.style.setProperty("visibility", "visible", "important");
  const words = [];
  const look = node => {
    for (const child of node.childNodes) {
      if (child.nodeType === 3 && getComputedStyle(node).visibility === "visible")
        words.push(...child.data.split(/\\s+/).filter(Boolean));
      if (child.nodeType === 1 && getComputedStyle(child).display !== "none") look(child);
    }
  };
  look(top);
  before === null ? top.removeAttribute("style") : top.setAttribute("style", before);
  return words;
})"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium."""
    with chromium() as started:
        yield started


class Maker:
    """Makes pages of elements that hide each other; one that is `odd` has all that CSS allows."""

    def __init__(self, seed: int, odd: bool) -> None:
        self._random = Random(seed)
        self._odd = odd
        self._words = 0

    def page(self) -> str:
        """A page: sheets, then elements within each other, each word of which is another."""
        sheets = "".join(f"<style>{self._sheet()}</style>" for _ in range(2))
        return f"<!doctype html><head>{sheets}</head><body><main>{self._elements(0)}</main>"

    def _some(self, usual: tuple[str, ...], odd: tuple[str, ...]) -> str:
        return self._random.choice(odd if self._odd and self._random.random() < 0.5 else usual)

    def _sheet(self) -> str:
        rules = [
            f"{self._some(SIMPLE, ODD)}{{{self._some(SAID, ODDLY_SAID)}}}"
            for _ in range(self._random.randrange(1, 5))
        ]
        return " ".join(self._some(("%s",), AROUND).replace("%s", rule) for rule in rules)

    def _elements(self, depth: int) -> str:
        made = []
        for _ in range(self._random.randrange(1, 4) if depth < 4 else 0):
            self._words += 1
            tag = self._random.choice(TAGS)
            made.append(f" w{self._words} <{tag} {self._attributes()}>")
            made.append(f"v{self._words}{self._elements(depth + 1)}</{tag}>")
        return "".join(made)

    def _attributes(self) -> str:
        chance = self._random.random
        names = " ".join(self._random.sample(CLASSES, self._random.randrange(3)))
        said = self._some(SAID, ODDLY_SAID).replace('"', "'").replace("all:", "margin:")
        style = said if chance() < 0.2 else ""
        return " ".join(
            (
                f'class="{names}"' if names else "",
                f"id=i{self._random.randrange(9)}" if chance() < 0.3 else "",
                f'style="{style}"' if style else "",
                "hidden" if chance() < 0.1 else "",
                "title=t" if chance() < 0.1 else "",
            )
        )


def read_below(markup: str) -> list[list[str]]:
    """The words that livedata reads of each element of a page."""
    page = Page(markup.encode(), "text/html; charset=utf-8", "http://site.test/")
    return [page.text(node).split() for node in page.select(parse("main *"))]


@pytest.mark.parametrize("odd", [False, True], ids=["what is read of CSS", "all else"])
def test_what_is_left_out_is_hidden_in_a_browser(browser: Browser, odd: bool) -> None:
    tab = browser.new_page(java_script_enabled=True)
    hidden = 0
    for seed in range(PAGES):
        markup = Maker(seed, odd).page()
        tab.set_content(markup)
        shown = tab.eval_on_selector_all("main *", SHOWN_BELOW)
        read = read_below(markup)
        assert len(read) == len(shown), markup
        for words, wanted in zip(read, shown, strict=True):
            # Of what is odd more may be read: nothing that is seen is ever left out.
            assert set(wanted) <= set(words) if odd else words == wanted, (seed, markup)
        hidden += sum(map(len, shown)) < sum(len(words) for words in read_below(bare(markup)))
    assert hidden > PAGES / 4
    tab.close()


def bare(markup: str) -> str:
    """The page without what hides anything."""
    return markup.replace("style", "data-s").replace(" hidden", " data-h")
