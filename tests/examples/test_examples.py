"""Each example is a source, its pages, and the rows that they make: three things side by side."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from livedata.cli.source.source_file import read_source
from livedata.model.ids import DatasetId
from livedata.rules.declaration import consistency
from livedata.rules.network.targets import TargetPolicy
from livedata.services import feed, queries
from tests.crawling import Crawling
from tests.site import Site

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
HOST = "127.0.0.1:8000"
NAMES = sorted(file.stem for file in EXAMPLES.glob("*.toml"))
SOURCES = sorted(EXAMPLES.rglob("*.toml"))


def rows_of(crawling: Crawling, dataset: DatasetId) -> list[dict[str, Any]]:
    """The rows of a dataset, each column by its name."""
    columns = queries.dataset(crawling.store, "local", dataset)["columns"]
    rows = queries.rows(crawling.store, "local", dataset, 1000)[0]
    return [{column["name"]: row["data"][column["id"]] for column in columns} for row in rows]


def in_order(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(json.dumps(row, sort_keys=True) for row in rows)


def test_every_kind_of_pagination_has_its_example() -> None:
    kinds = [
        tomllib.loads((EXAMPLES / f"{name}.toml").read_text())["source"]["pagination"]["kind"]
        for name in NAMES
    ]
    assert sorted(kinds) == ["next-link", "none", "url-pattern"]


@pytest.mark.parametrize("name", NAMES)
def test_an_example_makes_the_rows_beside_it_and_again_none(
    crawling: Crawling, site: Site, name: str
) -> None:
    site.folder(EXAMPLES / "pages" / name)
    written = (EXAMPLES / f"{name}.toml").read_text().replace(HOST, site.host)
    expected = (EXAMPLES / "pages" / f"{name}.json").read_text().replace(HOST, site.host)
    dataset = crawling.create(tomllib.loads(written), allow=site.host)

    first = crawling.run(dataset, allow=site.host)
    assert first["status"] == "succeeded", first["error"]
    assert in_order(rows_of(crawling, dataset)) == in_order(json.loads(expected))

    head = feed.head(crawling.store, "local", dataset)
    again = crawling.run(dataset, allow=site.host)
    assert again["status"] == "succeeded", again["error"]
    assert again["rowDeltas"] == {"new": 0, "changed": 0, "gone": 0}
    assert feed.head(crawling.store, "local", dataset) == head


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: str(source.relative_to(EXAMPLES)))
def test_a_source_can_be_created_where_its_host_is_allowed(source: Path) -> None:
    consistency.check(read_source(source), TargetPolicy.parse(HOST))


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: str(source.relative_to(EXAMPLES)))
def test_a_source_begins_with_how_to_serve_its_pages(source: Path) -> None:
    written = source.read_text()
    start = written[: written.index("\nname = ")]
    served = re.search(r"^#   python3 -m http\.server --directory (\S+) 8000$", start, re.MULTILINE)
    assert served
    assert (EXAMPLES.parent / served[1]).is_dir()
    path = source.relative_to(EXAMPLES.parent)
    assert f"#   LIVEDATA_ALLOW_HOSTS={HOST} livedata preview {path}" in start.splitlines()


def test_the_list_of_examples_names_every_source() -> None:
    listed = (EXAMPLES / "README.md").read_text()
    links = [f"]({source.relative_to(EXAMPLES)})" for source in SOURCES]
    assert [link for link in links if link not in listed] == []
