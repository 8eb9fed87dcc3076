"""Real Chromium at the pages of a real server, as a person drives it."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect, sync_playwright

from livedata.services.pages import sessions
from spiders.browser.shared_browser import ON_PATH

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page, Request

    from livedata.store.database.store import Store

MOST = {"/runs/ID": 14, "/new/ID": 3}
"""So many Runs and looks have a page that is unlike the others."""
SERIOUS = frozenset({"serious", "critical"})
# A page has the same markup in both schemes, and other colours.
RULES: Mapping[str, Mapping[str, object]] = {"light": {}, "dark": {"runOnly": ["color-contrast"]}}
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}")


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser of this machine."""
    program = next(filter(None, map(shutil.which, ON_PATH)), None)
    assert program is not None, "These tests need Chromium; ./tests/run installs it."
    # Only a test that fails waits so long; a busy machine may take its time.
    expect.set_options(timeout=20_000)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


def serious_faults(page: Page, scheme: str = "light") -> list[str]:
    """What axe finds that is serious, by rule and part of the page; in the dark, of its colours."""
    # Without a second look at its styles, which only a rule about turned screens takes.
    options = {"resultTypes": ["violations"], "preload": False, **RULES[scheme]}
    return [
        f"{violation['id']}: {node['html'][:200]}"
        for violation in Axe().run(page, options=options).response["violations"]
        if violation["impact"] in SERIOUS
        for node in violation["nodes"][:3]
    ]


@dataclass
class Looking:
    """Somebody who is signed in, and what the browser told meanwhile.

    `elsewhere` has requests to other places than the server, `complaints` what the console said,
    such as a breach of the policy.
    """

    page: Page
    base: str
    elsewhere: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def open(self, path: str) -> Page:
        """The page at a path, which is there."""
        answer = self.page.goto(f"{self.base}{path}")
        assert answer is not None
        assert answer.ok, f"{path}: {answer.status}"
        return self.page

    def follow(self, name: str) -> None:
        """Press the first link of a name, and wait until the page there has run its script.

        Whoever reads a page at once must wait for this: a part of it can be there before the rest.
        """
        with self.page.expect_navigation():
            self.page.get_by_role("link", name=name).first.click()

    def crawl(self, most: int = 2) -> Iterator[str]:
        """Every page that links of ours lead to, `most` of a kind, each while it is open.

        Of pages whose queries have several names each pair of names is met, not each set of them:
        a table with its filter, its order, its values and its choice has hundreds.
        """
        waiting, met, shown = ["/"], {"/"}, Counter[str]()
        while waiting:
            path = waiting.pop(0)
            kinds = kinds_of(path)
            if all(shown[kind] >= _most(kind, most) for kind in kinds):
                continue
            shown.update(kinds)
            self.open(path)
            for address in self.links():
                if address not in met:
                    met.add(address)
                    waiting.append(address)
            yield path

    def links(self) -> list[str]:
        """The paths on this server to which the open page links."""
        hrefs: list[str] = self.page.eval_on_selector_all(
            "a[href]:not([download])", "links => links.map(link => link.href)"
        )
        paths = []
        for href in hrefs:
            parts = urlsplit(href)
            if f"{parts.scheme}://{parts.netloc}" == self.base and "as=json" not in parts.query:
                paths.append(parts.path + (f"?{parts.query}" if parts.query else ""))
        return paths

    def _met(self, request: Request) -> None:
        if not request.url.startswith((f"{self.base}/", "data:image/")):
            self.elsewhere.append(request.url)

    def _said(self, message: ConsoleMessage) -> None:
        self.complaints.append(message.text)


def kind_of(path: str) -> str:
    """A path without the ids in it, and of its query the names alone."""
    where, names = _parts_of(path)
    return f"{where}?{','.join(names)}" if names else where


def kinds_of(path: str) -> list[str]:
    """The kinds of page that a page is: its path's, or those of each name and pair in its query."""
    where, names = _parts_of(path)
    several = [*names, *map(",".join, combinations(names, 2))]
    return [f"{where}?{each}" for each in several] or [where]


def _most(kind: str, most: int) -> int:
    # Denser rows are those of the same page: one of a path shows how they look.
    if "density" in kind:
        return 0 if "," in kind else 1
    return 1 if "," in kind else MOST.get(kind, most)


def _parts_of(path: str) -> tuple[str, list[str]]:
    where, _, query = _ID.sub("ID", path).partition("?")
    return where, sorted(pair.partition("=")[0] for pair in query.split("&") if pair)


@contextmanager
def looking(
    browser: Browser, base: str, store: Store, owner: str = "local", **options: Any
) -> Iterator[Looking]:
    """A signed-in visit; options are those of a context, such as ``color_scheme``."""
    context = browser.new_context(**options)
    context.set_default_timeout(20_000)
    visit = Looking(context.new_page(), base)
    context.on("request", visit._met)
    context.on("console", visit._said)
    visit.page.on("pageerror", lambda error: visit.complaints.append(str(error)))
    visit.page.on("dialog", lambda dialog: visit.complaints.append(f"dialog {dialog.message}"))
    visit.page.goto(f"{base}/sign-in/link?token={sessions.make_link(store, owner)}")
    visit.page.get_by_role("button", name="Sign in").click()
    visit.page.wait_for_url(f"{base}/")
    yield visit
    context.close()
