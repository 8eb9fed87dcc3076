"""Pages that are made by their scripts."""

from __future__ import annotations

import json
from typing import Any

from tests.crawling import shop_source

SINGLE = {"kind": "none"}


def scripted(body: str, *, after: int = 100, tail: str = "") -> str:
    """A page whose script puts `body` there after so many milliseconds."""
    made = json.dumps(body).replace("</", "<\\/")  # a script ends where it says so, in a text too
    script = f"setTimeout(() => {{ document.querySelector('main').innerHTML = {made}; }}, {after});"
    return (
        "<!doctype html><html><head><title>Made by a script</title></head><body><main></main>"
        f"<script>{script}</script>{tail}</body></html>"
    )


def rendered(url: str, **changes: Any) -> dict[str, Any]:
    """The declaration of the shop's listing at `url`, read in a browser."""
    return shop_source(url, render="browser", **changes)


def single(url: str, **changes: Any) -> dict[str, Any]:
    """The same for one page."""
    return rendered(url, pagination=SINGLE, **changes)
