"""Links that leave the pages for another file of the repository lead to it where that is kept."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from posixpath import normpath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"(\]\()((?:\.\./)+[^)\s#]*)")


@cache
def repository() -> str:
    """Where the files are kept."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return str(project["project"]["urls"]["Source"])


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """The page, with such links made absolute; one that leads nowhere stays, and is warned of."""
    folder = f"docs/{page.file.src_uri}".rpartition("/")[0]

    def led(link: re.Match[str]) -> str:
        path = normpath(f"{folder}/{link[2]}")
        if path.startswith("docs/") or not (ROOT / path).exists():
            return link[0]
        kind = "tree" if (ROOT / path).is_dir() else "blob"
        return f"{link[1]}{repository()}/{kind}/main/{path}"

    return LINK.sub(led, markdown)
