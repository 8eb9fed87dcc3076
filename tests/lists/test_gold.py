"""What a person says of a page can be found on it, and each page says where it is from."""

from __future__ import annotations

import re
from urllib.parse import urldefrag

from tests.lists.gold import HERE, every_page

LEAST = 3
MAIL = re.compile(r"[\w.+-]+@[\w-]+\.(?!png)\w[\w.]*")


def test_each_selector_finds_records() -> None:
    counts = {
        (gold.name, selector): len(gold.page.tree.css(selector))
        for gold in every_page()
        for selector in gold.records
    }
    assert {key: count for key, count in counts.items() if count < LEAST} == {}


def test_a_link_leads_to_each_next_page() -> None:
    missing = []
    for gold in every_page():
        page = gold.page
        links = {page.attribute(node, "href") for node in page.tree.css("a[href], link[href]")}
        if gold.following and gold.following not in {urldefrag(link or "")[0] for link in links}:
            missing.append(gold.name)
    assert missing == []


def test_the_readme_names_each_page() -> None:
    readme = (HERE / "README.md").read_text("utf-8")
    # The table begins below its head and its line.
    named = re.findall(r"^\| ([\w-]+) \| .+ \| .+ \|", readme, re.MULTILINE)
    kept = [file.name.removesuffix(".html.gz") for file in (HERE / "pages").iterdir()]
    assert sorted(named[2:]) == sorted(kept)
    assert set(kept) <= {gold.name for gold in every_page()}


def test_no_page_has_a_mail_address() -> None:
    addresses = {gold.name: MAIL.findall(gold.markup) for gold in every_page()}
    others = {
        name: mails for name, mails in addresses.items() if set(mails) - {"name@mail.example"}
    }
    assert others == {}
