"""Rules 19.7: what is said to an agent that makes tables is about its arguments and its tools."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from msgspec.structs import replace

from livedata.mcp import writing
from livedata.mcp.tools import READING, WRITING
from livedata.messages.list_doubts import AGENTS, SENTENCES, SHELL
from livedata.store.database.store import Store
from tests import faults
from tests.extraction.lists.pages import MENU, NAMES, card, cards
from tests.mcp.asking import Agent, strings
from tests.patience import until
from tests.shop import shop, some_items
from tests.site import Answer, Request, Site

pytestmark = [pytest.mark.one_database, pytest.mark.slow]
OF_A_SHELL = re.compile(r"--\w|\blivedata (?!does not)[a-z]|LIVEDATA_|Usage:|/tmp/|\.json\b|Error:")
PAGE = f"<!doctype html><title>Kitchen</title>{MENU}<ul>{cards()}</ul>"


@pytest.fixture
def writer(store: Store, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Agent:
    """An agent that may write, where the site on loopback may be read."""
    monkeypatch.setenv("LIVEDATA_HOME", str(tmp_path))
    monkeypatch.setenv("LIVEDATA_ALLOW_HOSTS", site.host)
    site.page("/1", PAGE)
    return Agent(store, tools=(*READING, *WRITING))


def declared(site: Site, **source: Any) -> dict[str, Any]:
    """A declaration of the list of the site."""
    whole = {
        "version": 1,
        "url": site.at("/1"),
        "itemSelector": "li.product",
        "fields": [{"name": "title", "read": {"selector": "h2"}}],
        "identity": {"kind": "source-key", "field": "title"},
        "pagination": {"kind": "none"},
    }
    columns = [{"name": "title", "type": "string", "key": True}]
    return {"name": "kitchen", "columns": columns, "source": {**whole, **source}}


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            {"list": 99},
            "list=99: the page has 2 lists, of which the last one is list=2; without list ",
        ),
        ({"like": ""}, "like is empty: give a text that stands in a record of the list, such as "),
        (
            {"like": " \t"},
            "like is empty: give a text that stands in a record of the list, such as ",
        ),
        (
            {"like": "no such"},
            "has a record that holds 'no such'; without like all lists are shown.",
        ),
        ({"url": "kitchen"}, "url kitchen must begin with http:// or https://."),
        (
            {"url": "http://[::1]/"},
            "url http://[::1]/ has the private address ::1, which is not read.",
        ),
    ],
)
def test_a_wrong_argument_is_named_with_what_to_do(
    writer: Agent, site: Site, given: dict[str, Any], sentence: str
) -> None:
    said = writer.refused("look_at_page", **{"url": site.at("/1"), **given})
    assert sentence in said
    assert not OF_A_SHELL.search(said)


def test_all_that_is_wrong_with_a_declaration_is_told_at_once(writer: Agent, site: Site) -> None:
    field = {"name": "title", "read": {"selector": "h2:hover"}}
    wrong = declared(site, itemSelector="li::x", fields=[field])
    for tool in ("preview_source", "create_dataset"):
        said = writer.refused(tool, declaration=wrong)
        assert said.startswith("declaration has 2 problems: (1) source.itemSelector: The pseudo-")
        assert "; (2) source.fields[0].read.selector: The pseudo-class ':hover'" in said
        assert not OF_A_SHELL.search(said)
    wrong["source"] = {**wrong["source"], "version": 2, "maxPages": 99, "nix": 1}
    said = writer.refused("create_dataset", declaration=wrong)
    assert said.startswith("declaration has 3 problems: (1) source.version must be 1")
    assert "source.maxPages must be at most 50, not 99" in said
    assert not site.hits


def test_of_many_problems_the_first_are_told_and_the_others_counted(
    writer: Agent, site: Site
) -> None:
    fields = [{"name": f"c{number}", "read": {"selector": "x" * 600}} for number in range(40)]
    said = writer.refused("create_dataset", declaration=declared(site, fields=fields))
    count = int(said.removeprefix("declaration has ").partition(" ")[0])
    assert count >= 40
    assert said.endswith(f"; and {count - 8} more.")
    assert len(said) < 2_000


@pytest.mark.parametrize("tool", ["preview_source", "create_dataset"])
@pytest.mark.parametrize("declaration", [{}, {"source": 5}, {"source": {}}, {"name": "x" * 99_999}])
def test_no_file_is_named_to_who_gave_none(
    writer: Agent, tool: str, declaration: dict[str, Any]
) -> None:
    said = writer.refused(tool, declaration=declaration)
    assert said.startswith("declaration")
    assert not OF_A_SHELL.search(said)


def prose(count: int) -> str:
    return "".join(
        f"<p>{' '.join(NAMES)} {number} and so it goes on.</p>" for number in range(count)
    )


def odd_pages() -> Iterator[tuple[str, str]]:
    """Pages of which something is unsure, or which have no list."""
    title = "<!doctype html><title>Odd</title>"
    other = "".join(f"<tr><td>{name}<td>{place}" for place, name in enumerate(NAMES))
    yield "another list", f"{PAGE}<table>{other}</table>"
    yield "a shell", f"{title}<div id=app></div><script>fill()</script>"
    yield "nothing", f"{title}<h1>Empty</h1>"
    yield "prose", f"{title}<article>{prose(9)}</article>"
    yield "a menu", f"{title}{MENU}"
    yield "log in", f"{title}<form><input type=password></form>"
    yield "a feed", "<rss><channel><item><title>x</title></item></channel></rss>"
    yield "alike", f"{title}<ul>{'<li class=a><b>Same</b>' * 9}</ul>"
    seldom = "".join(
        card(number, name) + ("<i class=few>5</i>" if number == 3 else "")
        for number, name in enumerate(NAMES)
    )
    yield "seldom", f"{title}<ul>{seldom}</ul>"
    visits = "".join(
        f"<li class=product><h3>{name} {place}</h3><p class=seen>{40 + place * 7} viewing"
        for place, name in enumerate(NAMES)
    )
    yield "visits", f"{title}<ul>{visits}</ul>"


PAGES = dict(odd_pages())


@pytest.mark.parametrize("name", PAGES)
def test_what_is_unsure_names_arguments_and_no_options(
    writer: Agent, site: Site, name: str
) -> None:
    site.page("/1", PAGES[name])
    ways: list[dict[str, object]] = [{}, {"like": "the"}, {"list": 1}, {"list": 2}]
    looks = [("look_at_page", {"url": site.at("/1"), **more}) for more in ways]
    for result in writer.each(looks):
        said = [result.content[0].text] if result.is_error else told(result.structured_content)
        assert [text for text in said if OF_A_SHELL.search(text)] == []


def told(answer: dict[str, Any]) -> Sequence[str]:
    """What livedata itself says in an answer."""
    return [*answer["unsure"], *filter(None, [answer["error"]])]


def test_a_door_has_words_of_its_own_for_each_way() -> None:
    ways = {name: getattr(AGENTS, name) for name in AGENTS.__struct_fields__}
    assert not [text for text in ways.values() if OF_A_SHELL.search(text)]
    assert all(getattr(SHELL, name) != text for name, text in ways.items())
    fixed = [text for text in SENTENCES.values() if isinstance(text, str)]
    assert not [text for text in fixed if OF_A_SHELL.search(text)]


def test_a_next_link_to_another_host_is_told(writer: Agent, site: Site) -> None:
    link = '<a rel="next" class="next" href="https://other.example/stock?page=2">Next</a>'
    site.page("/1", PAGE + link)
    found = writer.ask("look_at_page", url=site.at("/1"))
    assert found["declaration"]["source"]["pagination"] == {"kind": "none"}
    (doubt,) = found["unsure"]
    assert doubt.startswith(
        "the page has a next link to another host, other.example (https://other"
    )


def test_who_names_hosts_is_told_as_it_was_written(
    writer: Agent, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Site() as other:
        other.pages(shop(some_items(5)))
        monkeypatch.setenv("LIVEDATA_ALLOW_HOSTS", f"{site.host},{other.host}")
        writer.access = replace(writer.access, sites=site.host)
        name = writer.ask("create_dataset", declaration=declared(site))["dataset"]
        site.route("/1", faults.redirect(other.at("/page/1.html")))
        run = writer.ask("run_dataset", dataset=name)
        (advice,) = run["forOwner"]
        assert advice == (
            "If agents may read that host, name it where they are started: --sites of livedata mcp "
            f"would have to hold {other.host}."
        )
        said = writer.refused("look_at_page", url=site.at("/1"))
        assert f"Those are {site.host}: ask for a page there" in said
        assert not any(re.search("only_hosts|ONLY_HOSTS", text) for text in (*strings(run), said))
        # Without --sites it is the setting.
        writer.access = replace(writer.access, sites="")
        monkeypatch.setenv("LIVEDATA_ONLY_HOSTS", site.host)
        run = writer.ask("explain_run", dataset=name)
        assert f"LIVEDATA_ONLY_HOSTS would have to hold {other.host}." in run["forOwner"][0]
        assert "in LIVEDATA_ONLY_HOSTS." in writer.refused("look_at_page", url=other.at("/"))


def test_a_draft_names_the_call_that_fills_it(writer: Agent, site: Site, store: Store) -> None:
    name = writer.ask("create_dataset", declaration=declared(site))["dataset"]
    run = [{"tool": "run_dataset", "arguments": {"dataset": name}}]
    explain = [{"tool": "explain_run", "arguments": {"dataset": name}}]
    for agent, expected in ((writer, run), (Agent(store), explain)):
        for tool in ("describe_dataset", "query_rows", "list_changes", "explain_run"):
            assert agent.ask(tool, dataset=name)["try"] == expected
        (entry,) = agent.ask("list_datasets")["datasets"]
        assert entry["try"] == expected
        explained = agent.ask("explain_run", dataset=name)
        assert (explained["run"], explained["status"]) == (None, "none")
        assert explained["sentence"] == "'kitchen' has had no Run yet."
        assert explained["forOwner"] == ["Make its first Run: livedata run kitchen"]
    assert writer.ask("run_dataset", dataset=name)["state"] == "ok"
    assert "try" not in writer.ask("describe_dataset", dataset=name)


def test_a_run_in_progress_is_answered_with_its_id(
    writer: Agent, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = writer.ask("create_dataset", declaration=declared(site))["dataset"]
    released = Event()

    def slow(_request: Request) -> Answer:
        released.wait(60)
        return Answer(body=PAGE)

    site.route("/1", slow)
    monkeypatch.setattr(writing, "_LONGEST_WAIT", 3)
    first = writer.ask("run_dataset", dataset=name)
    second = writer.ask("run_dataset", dataset=name)
    released.set()
    assert first["sentence"] == "The Run goes on after 3 seconds: ask later how it ended."
    assert second["sentence"] == "A Run of it is in progress already: ask later how it ended."
    assert (second["run"], second["try"]) == (first["run"], first["try"])
    until(lambda: writer.ask("explain_run", dataset=name)["status"] == "succeeded")


def test_a_fault_of_ours_is_logged_and_not_told(
    writer: Agent, site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    said = writer.refused("look_at_page", url=site.at("/1"))
    assert said == "livedata failed here; the log of livedata mcp, on its stderr, says where."
    assert "A process of livedata ended with 1" in caplog.text


def test_a_site_that_is_too_slow_is_told(
    writer: Agent, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "_LONGEST_LOOK", 2)

    def slow(request: Request) -> Answer:
        request.wait(60)
        return Answer()

    site.route("/1", slow)
    said = writer.refused("look_at_page", url=site.at("/1"))
    assert said == "The site did not answer within 2 seconds; try it later."


def test_the_words_of_json_are_those_of_a_declaration() -> None:
    assert json.loads(f"{{{AGENTS.browser.split('with ')[1].split(' in its')[0]}}}") == {
        "render": "browser"
    }
