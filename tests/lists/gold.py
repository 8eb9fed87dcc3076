"""What a person says of each page: which elements are its records, and where its next page is."""

from __future__ import annotations

import gzip
import hashlib
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct, convert

from livedata.extraction.page import Page
from tests.listings import PAGES as OTHERS

HERE: Final = Path(__file__).parent
Half = Literal["tuned", "aside"]


class _Said(Struct, frozen=True, forbid_unknown_fields=True):
    """An entry of `gold.toml`."""

    url: str
    records: Sequence[str]
    next: str = ""


class Gold(Struct, frozen=True):
    """A page, and the selectors of which any names its records; none if it is no list.

    `following` is the address of its next page. What finds lists was tuned on one half of the
    pages, and the other half was put aside before.
    """

    name: str
    half: Half
    markup: str
    url: str
    records: Sequence[str]
    following: str

    @property
    def page(self) -> Page:
        """The page as a Run has it."""
        return Page(self.markup.encode(), "text/html; charset=utf-8", self.url)


def every_page() -> list[Gold]:
    """Every page, by name."""
    said = convert(tomllib.loads((HERE / "gold.toml").read_text("utf-8")), dict[str, _Said])
    return [
        Gold(name, _half(name), _markup(name), entry.url, entry.records, entry.next)
        for name, entry in sorted(said.items())
    ]


def _markup(name: str) -> str:
    if _is_known(name):
        return (OTHERS / f"{name}.html").read_text("utf-8")
    return gzip.decompress((HERE / "pages" / f"{name}.html.gz").read_bytes()).decode()


def _is_known(name: str) -> bool:
    """Whether other tests ask about a page too, so that whoever wrote what finds lists knew it."""
    return (OTHERS / f"{name}.html").exists()


def _half(name: str) -> Half:
    return (
        "aside"
        if not _is_known(name) and hashlib.sha256(name.encode()).digest()[0] % 2
        else "tuned"
    )
