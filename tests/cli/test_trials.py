"""``preview`` and ``run`` as processes, on a site of the test."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
import tomllib
from typing import TYPE_CHECKING, Any

import pytest

from livedata.formats.source_toml import write_source
from livedata.model import ids
from livedata.services import runs
from tests.cli.shell import START
from tests.cli.test_output import on_terminal
from tests.cli.test_read_commands_are_light import RESEARCH
from tests.crawling import shop_source
from tests.made import make_dataset, take
from tests.site import Answer

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from livedata.store.database.store import Store
    from tests.cli.shell import Shell
    from tests.crawling import Crawling
    from tests.site import Request, Site

ITEM = '<li class="product" data-sku="{0}"><h2><a>Lamp {0}</a></h2><b class="price">10</b></li>'
NEXT = '<a class="next" href="/2">Next</a>'


class Trying:
    """A source in a file, and the commands that read it."""

    def __init__(self, livedata: Shell, file: Path, site: Site, crawling: Crawling) -> None:
        self.livedata, self.file, self.site, self._crawling = livedata, file, site, crawling
        self.declare()

    def declare(self, **changes: Any) -> None:
        self.file.write_text(write_source(shop_source(self.site.at("/1"), **changes)))

    def __call__(self, *args: str, code: int = 0) -> tuple[str, str]:
        return self.livedata.typed(*args, code=code)

    def create(self, *options: str) -> ids.DatasetId:
        """The dataset of the file, made in this process, which is quicker."""
        return ids.DatasetId(
            ids.raw_id(self.livedata.json("dataset", "create", str(self.file), *options)["id"])
        )

    def take(self, dataset: ids.DatasetId) -> None:
        """An accepted Run before the one that a test looks at, in this process too."""
        run = self._crawling.run(dataset, allow=self.site.host)
        assert run["status"] == "succeeded", run

    def preview(self, *args: str, code: int = 0) -> tuple[str, str]:
        return self("preview", str(self.file), *args, code=code)


@pytest.fixture
def trying(
    livedata: Shell,
    tmp_path: Path,
    site: Site,
    crawling: Crawling,
    monkeypatch: pytest.MonkeyPatch,
) -> Trying:
    monkeypatch.setenv("LIVEDATA_ALLOW_HOSTS", site.host)
    site.page("/1", ITEM.format(1) + NEXT)
    site.page("/2", ITEM.format(2))
    return Trying(livedata, tmp_path / "source.toml", site, crawling)


def test_a_preview_of_a_part_promises_no_more_than_it_saw(trying: Trying) -> None:
    shown, messages = trying.preview()
    assert "1 item, 1 next link\n" in shown
    assert "The first row:" in shown
    assert "So far a Run would accept this; what comes after 1 page was not looked at" in messages


def test_a_preview_of_the_whole_says_that_a_run_takes_it_over(trying: Trying) -> None:
    assert trying.preview("--pages", "5")[1].startswith("A Run would accept this.")


def test_a_preview_of_what_would_be_held_is_exit_code_5(trying: Trying) -> None:
    trying.declare(maxPages=1)
    assert "A Run would hold this" in trying.preview(code=5)[1]


def test_a_preview_that_read_nothing_says_only_why(trying: Trying) -> None:
    trying.site.page("/1", "gone", status=404)
    shown, messages = trying.preview(code=3)
    assert shown == ""
    assert "404" in messages
    assert len(messages.splitlines()) == 1


SHOP_NOW = (
    '<li class="product" data-sku="1"><h2><a>Lamp 1</a></h2><b class="price">9.50</b></li>'
    '<li class="product" data-sku="3"><h2><a>Lamp 3</a></h2><b class="price">10</b></li>'
)


def test_a_preview_of_a_dataset_says_what_a_run_would_change_and_writes_nothing(
    trying: Trying,
) -> None:
    dataset = trying.create()
    trying.take(dataset)
    shown, messages = trying("preview", "shop")
    assert "A Run now would change shop: 0 new, 0 changed, 0 gone; 2 rows as before." in shown
    assert "Run again: livedata run shop" in messages
    trying.site.page("/1", SHOP_NOW)
    shown = trying("preview", "shop")[0]
    assert shown.splitlines()[-4:] == [
        "A Run now would change shop: 1 new, 1 changed, 1 gone; 0 rows as before.",
        "  changed  Lamp 1 (1)  price: 10 → 9.5",
        "  new      Lamp 3 (3)  sku: 3, name: Lamp 3, price: 10, stock: (empty)",
        "  gone     Lamp 2 (2)",
    ]
    assert len(trying.livedata.json("runs", "list", "shop")) == 1
    assert len(trying.livedata.json("rows", "list", "shop")) == 2


def test_a_preview_of_a_name_that_looks_like_a_file_goes_by_what_is_there(
    trying: Trying, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    declared = {**shop_source(trying.site.at("/1")), "name": "x.toml"}
    trying.file.write_text(write_source(declared))
    dataset = ids.format_uuid(trying.create())
    change = "A Run now would change x.toml: 2 new"
    assert change in trying("preview", "x.toml")[0]
    trying.file.rename("x.toml")
    shown, messages = trying("preview", "x.toml")
    other = f"The dataset of that name: livedata preview {dataset}"
    assert messages.startswith(f"This tries the file x.toml. {other}\n")
    assert change not in shown
    assert "y.toml: there is no such file" in trying("preview", "y.toml", code=1)[1]


def test_a_preview_as_json_has_every_change_by_row_and_column(trying: Trying) -> None:
    dataset = trying.create()
    trying.take(dataset)
    trying.livedata("rows", "edit", "shop", "1", "price=7")
    trying.site.page("/1", SHOP_NOW)
    changes = json.loads(trying("preview", "shop", "--json")[0])["changes"]
    assert (changes["new"], changes["changed"], changes["gone"]) == (1, 1, 1)
    assert changes["rows"][0] == {
        "kind": "updated",
        "row": "1",
        "changed": {"price": {"before": 10, "after": 9.5}},
    }
    shown = trying("preview", "shop")[0]
    assert "price: stays 7, edited by hand; the source now says 9.5" in shown


def test_a_preview_of_some_pages_calls_no_row_gone(trying: Trying) -> None:
    dataset = trying.create()
    trying.take(dataset)
    shown = trying("preview", "shop", "--pages", "1")[0]
    assert "0 changed on 1 page; what is gone shows only if all pages are read" in shown
    assert json.loads(trying("preview", "shop", "--pages", "1", "--json")[0])["changes"] == {
        "dataset": "shop",
        "new": 0,
        "changed": 0,
        "gone": None,
        "unchanged": 1,
        "columns": {
            "added": [],
            "dropped": [],
            "relabelled": [],
            "described": [],
            "order": None,
            "rowsNamedBy": None,
        },
        "rows": [],
    }


def test_a_mended_source_is_compared_before_it_is_pinned(trying: Trying) -> None:
    dataset = trying.create()
    trying.take(dataset)
    trying.declare(itemSelector="li", minimumItems=2)
    shown, messages = trying.preview("--against", "shop")
    assert "0 new, 0 changed, 0 gone; 2 rows as before" in shown
    assert f"livedata dataset revise shop {trying.file}" in messages


def with_columns(trying: Trying, *dropped: str, **changed: Mapping[str, Any]) -> None:
    """The source in the file with other columns; one that was not there reads what has its name."""
    declared = shop_source(trying.site.at("/1"))
    columns, source = declared["columns"], declared["source"]
    had = {column["name"]: column for column in columns}
    declared["columns"] = [{**c, **changed.get(c["name"], {})} for c in columns]
    for name in changed.keys() - had.keys():
        declared["columns"].append({"name": name, "type": "string", **changed[name]})
        source["fields"].append({"name": name, "read": {"selector": f".{name}"}})
    for part in (declared["columns"], source["fields"]):
        part[:] = [each for each in part if each["name"] not in dropped]
    trying.file.write_text(write_source(declared))


RED = ITEM.replace("</li>", '<i class="color">red</i></li>')


def test_a_preview_says_what_becomes_of_columns_and_of_their_cells(trying: Trying) -> None:
    dataset = trying.create()
    trying.take(dataset)
    trying.livedata("rows", "edit", "shop", "1", "price=7")
    trying.site.page("/1", RED.format(1) + NEXT)
    with_columns(trying, "price", color={}, name={"label": "Product"})
    shown = trying.preview("--against", "shop")[0]
    assert shown.splitlines()[-5:] == [
        "A Run now would change shop: 0 new, 1 changed, 0 gone; 1 row as before.",
        "  color would be added: 1 row would get a value, 1 would stay without.",
        (
            "  price would be dropped with its 2 values and 1 hand edit; the history keeps what "
            "it had."
        ),
        '  name would be labelled "Product", and no longer "name".',
        "  changed  Lamp 1 (1)  color: (empty) → red",
    ]
    changes = json.loads(trying.preview("--against", "shop", "--json")[0])["changes"]
    assert changes["columns"] == {
        "added": [{"name": "color", "filled": 1, "empty": 1}],
        "dropped": [{"name": "price", "values": 2, "edits": 1}],
        "relabelled": [{"name": "name", "before": "name", "after": "Product"}],
        "described": [],
        "order": None,
        "rowsNamedBy": None,
    }
    assert changes["rows"] == [
        {"kind": "updated", "row": "1", "changed": {"color": {"before": None, "after": "red"}}}
    ]
    # Nothing was written: the columns are as they were.
    assert "price" in trying.livedata.out("rows", "list", "shop")


def test_a_preview_does_what_it_said_once_the_source_is_pinned(trying: Trying) -> None:
    dataset = trying.create()
    trying.take(dataset)
    trying.site.page("/1", RED.format(1) + NEXT)
    with_columns(trying, "price", color={})
    trying.livedata("dataset", "revise", "shop", str(trying.file))
    told = "A Run now would change shop: 0 new, 1 changed, 0 gone; 1 row as before."
    # By then the column is there, and no longer told as added.
    assert trying("preview", "shop")[0].splitlines()[-2:] == [
        told,
        "  changed  Lamp 1 (1)  color: (empty) → red",
    ]
    run = trying("run", "shop")[0]
    assert run.startswith("shop: succeeded, 0 new, 1 changed, 0 gone")


def test_a_preview_says_by_what_rows_would_be_named(trying: Trying) -> None:
    trying.take(trying.create())
    with_columns(trying, "name")
    named = "  Rows would be named by their keys, and no longer by name."
    assert named in trying.preview("--against", "shop")[0]
    with_columns(trying, "name", color={})
    named = "  Rows would be named by color, and no longer by name."
    assert named in trying.preview("--against", "shop")[0]


def test_a_column_that_comes_first_names_rows_unless_another_was_chosen(trying: Trying) -> None:
    trying.take(trying.create())
    with_columns(trying, color={})
    declared = tomllib.loads(trying.file.read_text())
    sku, *others, color = declared["columns"]
    trying.file.write_text(write_source({**declared, "columns": [sku, color, *others]}))
    named = "  Rows would be named by color, and no longer by name."
    assert named in trying.preview("--against", "shop")[0]
    trying.livedata("dataset", "update", "shop", "--label-column", "name")
    assert "Rows would be named" not in trying.preview("--against", "shop")[0]


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"price": {"type": "string"}}, 'columns[2].type must stay "number"'),
        ({"sku": {"key": False}, "name": {"key": True}}, "source.identity must stay"),
    ],
)
def test_another_table_is_refused_with_the_command_that_makes_it(
    trying: Trying, changed: dict[str, Any], why: str
) -> None:
    trying.take(trying.create())
    with_columns(trying, **changed)
    if "sku" in changed:
        text = trying.file.read_text()
        trying.file.write_text(text.replace('field = "sku"', 'field = "name"'))
    shown, messages = trying.preview("--against", "shop", code=1)
    assert shown == ""
    assert why in messages
    assert "source.toml:" in messages
    assert "create SOURCE --take-over D" in messages


def test_what_the_checks_refuse_is_not_compared(trying: Trying) -> None:
    dataset = trying.create()
    trying.take(dataset)
    trying.site.page("/1", "<p>nothing</p>")
    shown, messages = trying("preview", "shop", code=3)
    assert "would change" not in shown
    assert "A Run would not accept this" in messages


def test_a_source_of_another_table_is_refused_at_its_line(trying: Trying) -> None:
    dataset = trying.create()
    trying.take(dataset)
    trying.file.write_text(trying.file.read_text().replace('"number"', '"string"'))
    assert "source.toml:" in trying.preview("--against", "shop", code=1)[1]


def test_against_needs_a_file(trying: Trying) -> None:
    assert "give a file, or D alone" in trying("preview", "shop", "--against", "shop", code=2)[1]


def test_a_run_that_waits_for_a_page_moves_on_a_terminal_and_says_what_for(trying: Trying) -> None:
    trying.create()

    def slow(request: Request) -> Answer:
        request.wait(2.6)
        return Answer(body=ITEM.format(2))

    trying.site.route("/2", slow)
    for command in (("run", "shop"), ("preview", "shop")):
        shown = on_terminal(trying.livedata, *command)
        frames = shown.split("\r")
        assert sum("1 page, 1 item" in frame for frame in frames) > 5
        assert any("1 page, 1 item; page 2 takes 2 s so far" in frame for frame in frames)
    # The line is gone at the end.
    assert "\x1b[2K" in shown
    trying.site.page("/2", ITEM.format(2))
    assert trying("run", "shop")[1] == ""


def test_a_message_gets_a_line_of_its_own_below_what_moves(trying: Trying) -> None:
    trying.create()
    trying.site.route("/2", lambda request: Answer() if request.wait() else None)
    ours, theirs = pty.openpty()
    environ = {**trying.livedata.environ, "TERM": "xterm", "COLUMNS": "100"}
    words = [sys.executable, "-c", START, "run", "shop"]
    with subprocess.Popen(words, stdout=theirs, stderr=theirs, env=environ) as process:
        while "/2" not in trying.site.paths:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        process.wait(30)
    os.close(theirs)
    assert b"\x1b[2KCancelling; once more stops at once.\r\n" in os.read(ours, 65_536)
    os.close(ours)


def test_a_run_imports_neither_what_validates_a_source_nor_what_makes_a_store(
    trying: Trying,
) -> None:
    trying.livedata("dataset", "create", str(trying.file))
    imported = trying.livedata.imported_after("run")
    assert not {name.partition(".")[0] for name in imported} & {"alembic", "pydantic", "sqlalchemy"}
    # What is kept of research for a time goes like all else that is; settings are read whole.
    research = {name for name in imported if name.startswith(RESEARCH)}
    assert research == {
        *("livedata.model.research", "livedata.model.research.settings"),
        *("livedata.store.research", "livedata.store.research.expiring"),
    }


def test_all_and_a_name_is_wrong_usage(livedata: Shell) -> None:
    assert "--all runs every dataset" in livedata.error("run", "--all", "shop", code=2)


def test_a_run_that_was_left_open_is_taken_up_and_said_so(trying: Trying, store: Store) -> None:
    runs.enqueue(store, "local", trying.create())
    shown, messages = trying("run")
    assert "shop: taking up the Run that was left open." in messages
    assert "(2 pages, 2 credits)" in shown
    assert "taking up" not in trying("run", "shop")[1]


def test_a_run_delivers_what_it_has_to_tell(trying: Trying, tmp_path: Path) -> None:
    trying.create()
    file = tmp_path / "told"
    trying.livedata("notice", "add", "ops", "--command", f"cat >> {file}")
    assert trying("run", "shop")[1] == "See its rows: livedata rows list shop\n"
    event = json.loads(file.read_text())
    assert (event["type"], event["data"]["sentence"]) == (
        "livedata.changes",
        "shop: 2 new, 0 changed, 0 gone.",
    )


def test_a_run_delivers_a_digest_that_is_due_by_its_end(
    trying: Trying, tmp_path: Path, store: Store
) -> None:
    trying.create()
    file = tmp_path / "told"
    daily = ("--on", "changes", "--digest", "0 7 * * *")
    trying.livedata("notice", "add", "ops", "--command", f"cat >> {file}", *daily)
    trying("run", "shop")
    assert not file.exists()
    with store.writing() as writer:
        writer.execute("UPDATE notices SET digest_at = 1")
    trying("run", "shop")
    event = json.loads(file.read_text())
    assert (event["type"], event["data"]["sentence"]) == ("livedata.digest", "shop: 2 new.")


def test_damage_of_another_dataset_says_nothing_of_a_run(trying: Trying, store: Store) -> None:
    take(store, make_dataset(store, name="other"))
    trying.create()
    with store.writing() as writer:
        held = "INSERT INTO held_outputs (run_id, harvest, kept_until) SELECT id, :none, :until"
        writer.execute(f"{held} FROM runs", none=b"", until=2**60)
        writer.execute("UPDATE runs SET facts = 'z:damaged'")
    shown, messages = trying("run", "shop")
    assert shown.startswith("shop: succeeded")
    assert "damaged" not in messages


def test_a_failed_run_warns_of_low_credits_too(trying: Trying) -> None:
    trying.create("--owner", "bob")
    trying.livedata("credits", "grant", "-950", "--owner", "bob")
    trying.site.page("/2", "gone", status=404)
    messages = trying("run", "shop", "--owner", "bob", code=3)[1]
    assert "livedata credits grant 100 --owner bob" in messages


@pytest.mark.parametrize(
    ("number", "code", "status"), [(signal.SIGINT, 3, "failed"), (signal.SIGTERM, 1, "queued")]
)
def test_a_signal_ends_a_run_with_its_exit_code(
    trying: Trying, number: signal.Signals, code: int, status: str
) -> None:
    trying.create()

    def slow(request: Request) -> None:
        request.wait()

    trying.site.route("/2", slow)
    with trying.livedata.start("run", "shop") as process:
        while "/2" not in trying.site.paths:
            time.sleep(0.05)
        process.send_signal(number)
        out, _ = process.communicate(timeout=30)
    assert process.returncode == code
    assert all(line == line.rstrip() for line in out.decode().splitlines())
    assert trying.livedata.json("runs", "show", "shop")["status"] == status


def test_a_run_tells_what_looks_odd_below_its_line(trying: Trying) -> None:
    dataset = trying.create()
    trying.take(dataset)
    trying.site.page("/1", ITEM.format(1).replace(">10<", ">call us<") + NEXT)
    shown, _ = trying("run", "shop")
    assert shown.splitlines() == [
        "shop: succeeded, 0 new, 1 changed, 0 gone (2 pages, 2 credits)",
        (
            "  odd: price: 1 of 2 cells could not be read as a number, and 0 of 2 in the last "
            "accepted Run; the first is 'call us'."
        ),
    ]


def test_unreadable_cells_are_listed_with_their_texts(trying: Trying) -> None:
    dataset = trying.create()
    trying.take(dataset)
    list_ = ("rows", "list", "shop", "--unreadable")
    assert "There is no such cell" in trying.livedata(*list_).stderr
    trying.site.page("/1", ITEM.format(1).replace(">10<", ">call us<") + NEXT)
    trying.take(dataset)
    heading, line = trying.livedata.out(*list_).splitlines()
    assert heading.split() == ["name", "row", "column", "type", "read", "as", "page"]
    assert line.split() == ["Lamp", "1", "1", "price", "number", "call", "us", trying.site.at("/1")]
    (row,) = trying.livedata.json(*list_)
    assert row["rowKey"] == "1"
    assert sorted(row["missingReasons"].values()) == ["extraction_failed", "not_found"]
    assert trying.livedata.json(*list_, "--status", "new") == []


def test_a_run_that_a_guard_holds_ends_5_and_says_the_cause_everywhere(trying: Trying) -> None:
    dataset = trying.create()
    trying.site.page("/1", "".join(map(ITEM.format, range(10))) + NEXT.replace("/2", "/3"))
    trying.site.page("/3", ITEM.format(20))
    trying.take(dataset)
    trying.site.page("/1", "".join(map(ITEM.format, range(10))))
    shown, messages = trying("run", "shop", code=5)
    cause = f"The list ends on page 1 ({trying.site.at('/1')}) now, and had 2 pages in the last"
    assert shown.startswith(f"shop: held. {cause}")
    assert "livedata runs show shop" in messages or "livedata runs show" in messages
    (answer,) = [trying.livedata.json("runs", "show", "shop")]
    assert answer["error"].startswith(cause)
    assert f"Why: {cause}" in trying.livedata.out("runs", "show", "shop")
    assert cause in trying.livedata.out("runs", "explain", "shop")
    assert json.loads(trying("run", "shop", "--json", code=5)[0])["error"] == answer["error"]
    assert "accepted, 0 new, 0 changed, 1 gone" in trying("runs", "accept", "shop")[0]
    assert trying("run", "shop")[0].startswith("shop: succeeded")


def test_a_preview_shows_the_next_links_and_the_first_text_that_cannot_be_read(
    trying: Trying,
) -> None:
    link = NEXT.replace("/2", "/2?sort=price")
    unpriced = ITEM.format(5).replace(">10<", ">call us<")
    trying.site.page("/1", ITEM.format(1) + unpriced + NEXT + link)
    shown, _ = trying.preview()
    first, second = trying.site.at("/2"), trying.site.at("/2?sort=price")
    assert (
        f"2 items, 2 next links\n  next link: {first} (followed)\n  next link: {second}\n" in shown
    )
    assert "price: 'call us' cannot be read as a number (item 2 of page 1)\n" in shown
    assert "odd: The next link 'a.next' matches links to 2 different addresses on page 1" in shown
    answer = json.loads(trying.preview("--json")[0])
    assert answer["pages"][0]["nextLinks"] == [first, second]
    assert [field["firstUnreadable"] for field in answer["fields"]] == [None, None, "call us", None]
    assert [odd["code"] for odd in answer["odd"]] == [
        "several_next_links",
        "more_cells_unreadable",
    ]


def test_a_preview_of_a_dataset_says_that_a_guard_would_hold_the_run(trying: Trying) -> None:
    dataset = trying.create()
    items = "".join(map(ITEM.format, range(10)))
    trying.site.page("/1", items + NEXT)
    trying.site.page("/2", ITEM.format(20))
    trying.take(dataset)
    trying.site.page("/1", items + NEXT.replace("next", "more"))
    shown, messages = trying("preview", "shop", code=5)
    assert f"page 1 still links to {trying.site.at('/2')}" in messages
    assert "A Run would hold this for you to look at" in messages
    assert "This output would change shop: 0 new, 0 changed, 1 gone" in shown
    answer = json.loads(trying("preview", "shop", "--json", code=5)[0])
    assert answer["outcome"] == "held"
    assert "still links to" in answer["error"]


def test_the_settings_say_what_holds_a_run(trying: Trying, monkeypatch: pytest.MonkeyPatch) -> None:
    trying.site.page("/1", "".join(map(ITEM.format, range(20))))
    dataset = trying.create()
    trying.take(dataset)
    trying.site.page("/1", "".join(map(ITEM.format, range(18))))
    monkeypatch.setenv("LIVEDATA_MASS_LOSS", "0.05")
    trying("preview", "shop", code=5)
    trying("run", "shop", code=5)
    # Other rows are gone now, so the Run before confirms nothing.
    trying.site.page("/1", "".join(map(ITEM.format, range(16))))
    monkeypatch.setenv("LIVEDATA_GUARDS", "lost_pagination")
    trying("preview", "shop")
    assert trying("run", "shop")[0].startswith("shop: succeeded, 0 new, 0 changed, 4 gone")
