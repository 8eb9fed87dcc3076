"""Sources that are proposed for real pages change, on the next day, just the rows that changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.shell import Shell
from tests.lists.gold import every_page
from tests.lists.parts import every_list_columns
from tests.lists.runs import path_of, typed
from tests.lists.second_state import states
from tests.lists.tomorrow import second_run, tomorrow
from tests.site import Site

PAGES = {gold.name: gold for gold in every_page()}


@pytest.mark.parametrize(
    "name",
    ["books", "quotes", "packages", "tenders", "prizes", "paper", "garden", "sql-commands", "news"],
)
def test_a_source_changes_the_rows_that_changed_and_no_other(name: str) -> None:
    assert tomorrow(PAGES[name]).why == ""


def declared(key: str) -> dict[str, Any]:
    """A source of the tenders, written by hand, with this key."""
    reads = {
        "link": {"kind": "attribute", "selector": "a.lst-lnk-notice", "attribute": "href"},
        "kind": {"kind": "text", "selector": "div.solcc"},
        "place": {"kind": "attribute", "attribute": "id"},
    }
    return {
        "name": "tenders",
        "columns": [{"name": name, "type": "string", "key": name == key} for name in reads],
        "source": {
            "version": 1,
            "url": PAGES["tenders"].url,
            "itemSelector": "tr.lst-rw",
            "fields": [{"name": name, "read": read} for name, read in reads.items()],
            "identity": {"kind": "source-key", "field": key},
            "pagination": {"kind": "none"},
        },
    }


@pytest.mark.parametrize(
    ("key", "wrong"),
    [
        # The numbers of the places are those of other rows tomorrow.
        ("link", "19 changed for 1"),
        ("place", "1 new for 2"),
        ("kind", "today: The key"),
    ],
)
def test_what_a_key_or_a_column_breaks_is_told(key: str, wrong: str) -> None:
    gold = PAGES["tenders"]
    both = states(gold, every_list_columns()[gold.name])
    assert second_run(gold, both, declared(key)).startswith(wrong)


@pytest.mark.parametrize("name", ["books", "news"])
def test_the_commands_say_what_changed_on_the_next_day(name: str, tmp_path: Path) -> None:
    gold = PAGES[name]
    both = states(gold, every_list_columns()[name])
    source, shell = str(tmp_path / "source.toml"), Shell(tmp_path)
    with Site() as site:
        site.page(path_of(gold), both.today)
        for words in (
            ("init", site.at(path_of(gold)), "-o", source, "--yes"),
            ("dataset", "create", source),
            ("run", "--all"),
        ):
            assert typed(shell, site.host, *words).returncode == 0
        site.page(path_of(gold), both.tomorrow)
        said = typed(shell, site.host, "run", "--all").stdout.decode()
    assert "succeeded, 2 new, 1 changed, 1 gone" in said
