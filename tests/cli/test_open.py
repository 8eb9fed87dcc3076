"""``open``: a link that signs a browser in at a running server."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.request import urlopen

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
        with urlopen(link) as answer:
            assert f"url=/datasets/{livedata.json('dataset', 'list')[0]['id']}" in (
                answer.read().decode()
            )
            assert "livedata=" in answer.headers["Set-Cookie"]
        assert livedata.json("open", "--url", base)["link"].endswith("next=%2F")
        # Nobody has the secret of the key, but it can be revoked.
        (key,) = livedata.json("key", "list")
        assert (key["owner"], key["label"]) == ("local", "browser")


@pytest.mark.one_database
def test_a_browser_that_opens_is_told(
    livedata: Shell, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def remember(link: str) -> bool:
        opened.append(link)
        return True

    monkeypatch.setattr("webbrowser.open", remember)
    make_dataset(store)
    with Serving(livedata.home) as server:
        base = f"http://127.0.0.1:{server.port}"
        told = livedata("open", "--url", base)
    assert told.stderr == f"Opened {base}/ in your browser.\n"
    assert [link.startswith(f"{base}/sign-in/link?token=") for link in opened] == [True]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--url", "http://127.0.0.1:1"), "No livedata answers at http://127.0.0.1:1: "),
        (("--url", "127.0.0.1:8000"), "--url must be an address of a server"),
        (("--url", "http://me:secret@127.0.0.1"), "without a user"),
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
