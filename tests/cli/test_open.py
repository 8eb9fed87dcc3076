"""``open``: a link that signs a browser in at a running server."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, build_opener

import pytest

from tests.api.serving import Serving
from tests.made import make_dataset
from tests.site import Site

if TYPE_CHECKING:
    from livedata.store.database.store import Store
    from tests.cli.shell import Shell


@pytest.mark.one_database
def test_the_link_signs_in_and_leads_to_the_dataset(livedata: Shell, store: Store) -> None:
    make_dataset(store)
    with Serving(livedata.home) as server:
        base = f"http://127.0.0.1:{server.port}"
        told = livedata("open", "shop", "--url", f"{base}/", "--print")
        assert told.stderr == "It works once, within ten minutes.\n"
        link = told.stdout.strip()
        assert link.startswith(f"{base}/sign-in/link?token=")
        table = f"/datasets/{livedata.json('dataset', 'list')[0]['id']}"
        assert press(link).endswith(table)
        assert livedata.json("open", "--url", base)["link"].endswith("next=%2F")
        # Nobody has the secret of the key, but it can be revoked.
        (key,) = livedata.json("key", "list")
        assert (key["owner"], key["label"]) == ("local", "browser")


@pytest.mark.one_database
def test_the_link_leads_to_a_new_table_of_an_address(livedata: Shell, store: Store) -> None:
    make_dataset(store)
    listed = "https://shop.example/list?a=1&b=ü#top"
    with Serving(livedata.home) as server:
        base = f"http://127.0.0.1:{server.port}"
        link = livedata.json("open", "--new", listed, "--url", base)["link"]
        assert press(link) == f"{base}/new?{urlencode({'url': listed})}"


@pytest.mark.one_database
def test_a_browser_that_opens_is_told(
    livedata: Shell, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Path] = []

    def sign_in(address: str) -> bool:
        # All that other users of the machine see of it is the name of a file.
        assert address.startswith("file:///")
        assert "token" not in address
        file = Path(address.removeprefix("file://"))
        assert [file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777] == [0o600, 0o700]
        opened.append(file)
        match = re.search(r'url=([^"]+)"', file.read_text())
        assert match is not None
        press(unescape(match[1]))
        return True

    monkeypatch.setattr("webbrowser.open", sign_in)
    make_dataset(store)
    with Serving(livedata.home) as server:
        told = livedata("open", "--url", f"http://127.0.0.1:{server.port}")
    assert told.stderr.splitlines() == [
        "Your browser has a page with a button: press it to sign in.",
        "Signed in.",
    ]
    assert [file.exists() or file.parent.exists() for file in opened] == [False]


@pytest.mark.parametrize("opens", [True, False])
@pytest.mark.one_database
def test_where_no_browser_comes_a_link_is_offered_and_no_file_is_left(
    livedata: Shell, store: Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, opens: bool
) -> None:
    monkeypatch.setattr("livedata.cli.open_pages.BROWSER_SECONDS", 0.0)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("webbrowser.open", lambda _: opens)
    make_dataset(store)
    before = set(tmp_path.glob("livedata-*"))
    with Serving(livedata.home) as server:
        told = livedata("open", "--url", f"http://127.0.0.1:{server.port}")
    assert ("livedata open --print" in told.stderr) == opens
    assert ("/sign-in/link?token=" in told.stdout) == (not opens)
    assert set(tmp_path.glob("livedata-*")) == before


def press(link: str) -> str:
    """Press the button of the page that a link leads to; the address that this leads to."""
    browser = build_opener(HTTPCookieProcessor())
    with browser.open(link) as answer:
        page = answer.read().decode()
    form = re.findall(r'name="(token|link|next)" value="([^"]*)"', page)
    sent = urlencode({name: unescape(value) for name, value in form}).encode()
    with browser.open(link.partition("?")[0], sent) as answer:
        return str(answer.url)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--url", "http://127.0.0.1:1"), "No livedata answers at http://127.0.0.1:1: "),
        (("--url", "127.0.0.1:8000"), "--url must be an address of a server"),
        (("--url", "http://me:secret@127.0.0.1"), "without a user"),
        (("--new", "shop", "--url", "http://127.0.0.1:1"), "shop must begin with"),
        (("nothing", "--url", "http://127.0.0.1:1"), "There is no dataset 'nothing'"),
    ],
)
def test_what_cannot_be_opened_is_one_sentence(
    livedata: Shell, store: Store, args: tuple[str, ...], said: str
) -> None:
    make_dataset(store)
    told = livedata.error("open", *args)
    assert said in told
    assert len(told.splitlines()) == 1
    assert "secret" not in told


def test_another_server_at_that_address_is_told(livedata: Shell, site: Site) -> None:
    site.page("/healthz", "ok")
    told = livedata.error("open", "--url", site.at("").rstrip("/"))
    assert "what answers is not livedata" in told
