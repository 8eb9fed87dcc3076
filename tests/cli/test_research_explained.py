from __future__ import annotations

from typing import TYPE_CHECKING

import orjson
import pytest

from livedata.model.research.record import ResearchFact
from tests.cli.shell import lines
from tests.cli.test_read_commands_are_light import HEAVY
from tests.made import make_dataset, take
from tests.services.research_table import PAGE, ResearchTable
from tests.services.researched import BLOCKED, make_run

if TYPE_CHECKING:
    from livedata.store.database.store import Store
    from tests.cli.shell import Shell

pytestmark = pytest.mark.one_database


@pytest.fixture
def run(store: Store) -> str:
    """A Run that searched, read one page, was refused the other, and dropped a name."""
    return make_run(ResearchTable(store))["id"]


def test_explain_tells_the_story_of_a_research_run(livedata: Shell, run: str) -> None:
    told = lines(livedata.out("runs", "explain", run))
    for line in (
        "Searched: 'companies that make lamps', 2 results",
        f"checked {PAGE}",
        f"unreadable {BLOCKED} The site refused the page.",
        "Offered: 3 rows",
        "Kept: 2 rows: Acme, Bolt",
        "Dropped: 1 row: The quote of its name does not stand on the page.",
        "Nix absent The quote of its name does not stand on the page.",
        "Not known: 1 page could not be read; which entities are there was not recorded.",
        "Looks odd: 1 of 2 pages could not be read.",
        "Took: 1 search credit, 100 input tokens, 20 output tokens, 0.25 US dollars.",
    ):
        assert line.split() in told, line


def test_show_tells_what_the_model_took(livedata: Shell, run: str) -> None:
    assert ["model", "120", "tokens,", "$0.2500"] in lines(livedata.out("runs", "show", run))
    assert "model" not in livedata.json("runs", "show", run)


def test_explain_follows_one_entity_over_its_pages(livedata: Shell, run: str) -> None:
    told = livedata.out("runs", "explain", run, "--entity", "Nix")
    assert told.startswith(f"Nix: absent\n\non {PAGE}\n")
    assert "✗ validation: The quote of its name does not stand on the page." in told
    assert ["Acme", "present"] in lines(told)
    field = lines(livedata.out("runs", "explain", run, "--entity", "Acme", "--field", "City"))
    assert ["city", "Bern"] in field
    assert ["founded", "1999"] not in field


def test_what_is_said_of_several_parts_of_a_page_is_one_line(livedata: Shell, store: Store) -> None:
    halved = [ResearchFact("extraction", "window_split", part, url=PAGE) for part in "ab"]
    run = make_run(ResearchTable(store), halved, fresh=True)["id"]
    told = livedata.out("runs", "explain", run, "--entity", "Acme")
    assert told.count("was halved.") == 1
    assert "was halved. (2 times)" in told
    assert "Fresh:    it asked about unchanged pages too." in livedata.out("runs", "explain", run)


@pytest.mark.usefixtures("run")
def test_rows_begin_with_their_names_and_end_with_their_digests(livedata: Shell) -> None:
    heading, *rows = lines(livedata.out("rows", "list", "makers"))
    assert heading == [
        *("name", "status", "founded", "city", "evidence", "source", "updated", "row"),
    ]
    assert sorted(row[0] for row in rows) == ["Acme", "Bolt"]
    edited = livedata.out("rows", "edit", "makers", "Acme", "city=Thun")
    assert edited == "Acme  city: Bern → Thun\n"


@pytest.mark.usefixtures("run")
def test_changes_for_programs_call_a_row_by_its_name(livedata: Shell) -> None:
    told = [orjson.loads(line) for line in livedata.out("changes", "--names").splitlines()]
    assert [change["row"] for change in told] == ["Acme", "Bolt"]


def test_explain_sums_up_all_entities(livedata: Shell, run: str) -> None:
    told = livedata.out("runs", "explain", run, "--summary")
    assert told.startswith("3 entities: 2 present, 1 absent, 0 ambiguous, 0 unknown; 0 recovered.")
    assert "The output may lack something." in told
    group = "1 validation The quote of its name does not stand on the page. Nix"
    assert group.split() in lines(told)


def test_explain_with_an_option_prints_the_diagnostics_as_json(livedata: Shell, run: str) -> None:
    assert livedata.json("runs", "explain", run, "--summary")["summary"]["totals"]["present"] == 2
    assert livedata.json("runs", "explain", run, "--entity", "Nix")["entity"]["outcome"] == "absent"
    assert "story" not in livedata.json("runs", "explain", run)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--field", "City"), "field requires entity"),
        (("--entity", "Acme", "--field", "Zity"), "neither the id nor the label"),
        (("--entity", "Acme", "--summary"), "cannot be combined"),
        (("--entity", ""), "must have 1 to 200 characters"),
    ],
)
def test_options_that_ask_for_nothing_are_told(
    livedata: Shell, run: str, options: tuple[str, ...], says: str
) -> None:
    assert says in livedata.error("runs", "explain", run, *options)


def test_a_run_of_selectors_is_diagnosed_with_the_same_options(
    livedata: Shell, store: Store
) -> None:
    run = take(store, make_dataset(store))
    assert "present" in livedata.out("runs", "explain", run, "--summary")
    assert "unknown" in livedata.out("runs", "explain", run, "--entity", "nobody")


def test_a_researched_row_is_shown_by_its_name_with_each_quote(livedata: Shell, run: str) -> None:
    assert run
    shown = lines(livedata.out("rows", "show", "makers", "acme"))
    assert ["city:", "Bern"] in shown
    assert ["read", "as:", "it", "says", "Bern"] in shown
    assert "Acme" in livedata.out("rows", "list", "makers")
    livedata.error("rows", "show", "makers", "Nix")


def test_explaining_research_imports_nothing_heavy(livedata: Shell, run: str) -> None:
    for more in ((), ("--summary",), ("--entity", "Nix")):
        assert not livedata.modules_after("runs", "explain", run, *more) & HEAVY


def test_an_artifact_is_printed_by_an_end_of_its_id(livedata: Shell, run: str) -> None:
    index = livedata.json("runs", "artifacts", run)["artifacts"]
    page = next(each["id"] for each in index if each["kind"] == "page.text")
    assert "Zed Lamps" in livedata.out("runs", "artifacts", run, page[-12:])
    assert livedata.json("runs", "artifacts", run, page)["artifact"]["kind"] == "page.text"
    assert "no artifact 'zz'" in livedata.error("runs", "artifacts", run, "zz")
