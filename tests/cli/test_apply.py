"""``livedata apply``: the store agrees with the sources of a folder, or nothing happens."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from livedata.formats.source_toml import write_source
from tests.databases import everything
from tests.made import declared, make_dataset, make_store, take
from tests.services.research_table import ResearchTable

if TYPE_CHECKING:
    from livedata.store.database.store import Store
    from tests.cli.shell import Shell

Edit = Callable[["Sources"], object]
DAILY = '[schedule]\ncron = "0 6 * * *"\nstatus = "active"\n'
OPS = '[[notice]]\nname = "ops"\nwebhook = "env:HOOK"\non = "changes"\nwhen = ["price < 5"]\n'
SHEET = '[[share]]\nlabel = "sheet"\ncolumns = "sku,price"\nwhere = ["price < 20"]\n'
SECRET = "https://hooks.example/hunter2"


class Sources:
    """A folder of sources, applied at a shell."""

    def __init__(self, livedata: Shell, folder: Path) -> None:
        self.livedata, self.folder = livedata, folder
        folder.mkdir()

    def write(
        self, name: str = "shop", tables: str = "", *, file: str = "", **changes: Any
    ) -> Path:
        """Declare a dataset, with changes of its source, and tables beside that."""
        body: dict[str, Any] = declared(name)
        body["source"] |= changes
        path = self.folder / (file or f"{name}.toml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(write_source(body) + tables)
        return path

    def edit(self, before: str, after: str, file: str = "shop.toml") -> None:
        text = (self.folder / file).read_text()
        assert before in text
        (self.folder / file).write_text(text.replace(before, after, 1))

    def apply(self, *options: str, code: int = 0) -> str:
        """What is printed to stdout."""
        return self.livedata("apply", str(self.folder), *options, code=code).stdout

    def plan(self, *options: str, code: int = 10) -> str:
        return self.apply("--plan", *options, code=code)

    def changes(self, *options: str, code: int = 10) -> dict[str, tuple[str, list[str]]]:
        """What a plan says of each dataset that would change."""
        steps = json.loads(self.plan("--json", *options, code=code))
        return {
            step["name"]: (step["action"], step["changes"])
            for step in steps
            if step["action"] != "leave"
        }

    def refused(self, *options: str) -> str:
        """What is said of a folder that is not applied; nothing has happened then."""
        before = self._everything()
        said = self.livedata.error("apply", str(self.folder), *options)
        assert self.livedata.error("apply", str(self.folder), "--plan", *options) == said
        assert self._everything() == before
        return said.replace(f"{self.folder}/", "")

    def _everything(self) -> object:
        with closing(make_store(self.livedata.home)) as store:
            return everything(store)


@pytest.fixture
def sources(livedata: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sources:
    monkeypatch.setenv("HOOK", SECRET)
    return Sources(livedata, tmp_path / "sources")


def test_a_folder_becomes_tables_with_their_schedules_notices_and_shares(
    sources: Sources, livedata: Shell
) -> None:
    sources.write("shop", DAILY + OPS + SHEET)
    sources.write("lamps", file="more/lamps.toml")
    shown = sources.apply()
    shop = livedata.json("dataset", "show", "shop")
    assert (shop["status"], shop["schedule"]) == ("active", "0 6 * * *")
    (notice,) = livedata.json("notice", "list")
    assert (notice["name"], notice["on"], notice["when"]) == ("ops", ["changes"], ["price < 5"])
    assert [each["name"] for each in notice["datasets"]] == ["shop"]
    (share,) = livedata.json("share", "list")
    assert (share["columns"], share["where"]) == (["sku", "price"], ["price < 20"])
    assert livedata.json("dataset", "show", "lamps")["status"] == "draft"
    assert "the address of share sheet, shown only now: http://127.0.0.1:8000/share/" in shown
    assert SECRET not in shown
    again = livedata("apply", str(sources.folder))
    assert (again.stdout, again.stderr) == ("", "Nothing to change: 2 sources applied already.\n")


def test_a_plan_reads_like_a_diff_and_changes_nothing(sources: Sources, store: Store) -> None:
    sources.write("shop", DAILY + OPS + SHEET)
    before = everything(store)
    plan = sources.livedata("apply", str(sources.folder), "--plan", code=10)
    assert plan.stdout == (
        f"create  shop  ({sources.folder}/shop.toml)\n"
        "  address: https://shop.example/list\n"
        "  columns: sku (string, key), title (string), price (number), stock (boolean), note "
        "(string, yours)\n"
        "  schedule: 0 6 * * *\n"
        "  status: active\n"
        "  notice ops: webhook, changes where price < 5\n"
        "  share sheet: columns sku, price where price < 20\n"
    )
    assert plan.stderr == (f"Would be: 1 created.\nTo do this: livedata apply {sources.folder}\n")
    assert everything(store) == before
    sources.apply()
    sources.edit('".price"', '"b.price"')
    sources.edit('"li"', '"li.product"')
    sources.edit('"0 6 * * *"', '"0 7 * * *"')
    sources.edit('"price < 5"', '"price falls"')
    sources.edit('"sku,price"', '"sku"')
    assert sources.changes() == {
        "shop": (
            "revise",
            [
                "selector of items: li → li.product",
                "selector of price: .price → b.price",
                "schedule: 0 6 * * * → 0 7 * * *",
                "notice ops: changes where price < 5 → changes where price falls",
                "share sheet: columns sku, price where price < 20 → columns sku where price < 20",
            ],
        )
    }


@pytest.mark.parametrize(
    ("before", "after", "action", "said"),
    [
        ('"number"', '"number"\nlabel = "Price"', "update", "label of price: price → Price"),
        ('"number"', '"number"\ndescription = "EUR"', "update", "description of price: none → EUR"),
        ('"shop"', '"shop"\nquestion = "Why?"', "update", "question: none → Why?"),
        (
            "[source]",
            '[[columns]]\nname = "seen"\ntype = "date"\nownership = "user"\n[source]',
            "update",
            "column seen (date, yours) is added",
        ),
        ("version = 1", "version = 1\nmaxPages = 20", "revise", "maxPages: 10 → 20"),
        (
            *("version = 1", "version = 1\nignoreRobots = true"),
            *("revise", "ignoreRobots: false → true"),
        ),
        (
            *("https://shop.example/list", "https://shop.example/all", "revise"),
            "address: https://shop.example/list → https://shop.example/all",
        ),
        (
            *('kind = "none"', 'kind = "next-link"\nselector = "a.next"', "revise"),
            "pagination: none → next-link a.next",
        ),
        (
            '".title" }\nrequired = false',
            '".title" }\nrequired = true',
            "revise",
            "title is required",
        ),
        (
            *('kind = "source-key"\nfield = "sku"', 'kind = "composite"\nfields = ["sku"]'),
            *("revise", "identity: source-key sku → composite sku"),
        ),
    ],
)
def test_each_edit_of_a_file_is_one_sentence_and_is_applied_once(
    sources: Sources, before: str, after: str, action: str, said: str
) -> None:
    sources.write()
    sources.apply()
    sources.edit(before, after)
    assert sources.changes() == {"shop": (action, [said])}
    sources.apply()
    assert sources.changes(code=0) == {}


def test_what_a_file_leaves_out_stays_as_it_is(sources: Sources, livedata: Shell) -> None:
    sources.write("shop", DAILY + OPS + SHEET)
    sources.apply()
    livedata("dataset", "update", "shop", "--question", "Why?", "--add-column", "mine:string")
    sources.write("shop")
    assert sources.changes(code=0) == {}


def test_a_dataset_without_a_file_is_named_and_paused_only_if_it_is_asked_for(
    sources: Sources, livedata: Shell, store: Store
) -> None:
    make_dataset(store, name="old")
    make_dataset(store, "bob", name="of bob")
    sources.write()
    left = livedata("apply", str(sources.folder))
    assert "No file declares old, left alone; --prune pause pauses such.\n" in left.stderr
    assert sources.changes("--prune", "pause") == {"old": ("pause", ["status: draft → paused"])}
    sources.apply("--prune", "pause")
    assert livedata.json("dataset", "show", "old")["status"] == "paused"
    assert livedata.json("dataset", "show", "of bob", "--owner", "bob")["status"] == "draft"
    assert sources.changes("--prune", "pause", code=0) == {}


def test_a_folder_says_nothing_of_research(sources: Sources, store: Store) -> None:
    ResearchTable(store)
    sources.write()
    assert [*sources.changes("--prune", "pause")] == ["shop"]


def test_a_changed_name_is_told_with_what_keeps_the_rows(sources: Sources, livedata: Shell) -> None:
    sources.write("lamps", file="a.toml")
    sources.apply("--owner", "alice")
    sources.write("lights", file="a.toml")
    plan = sources.changes("--prune", "pause", "--owner", "alice")
    assert [action for action, _ in plan.values()] == ["create", "pause"]
    rename = "livedata dataset update lamps --name lights --owner alice"
    assert plan["lights"][1][-1] == (
        "lamps, which has no file, reads the same address; if this is its new name, keep its rows "
        f"and history, and rename it first: {rename}"
    )
    livedata(*rename.split()[1:])
    assert sources.changes("--owner", "alice", code=0) == {}


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (("sku", "1sku"), "columns[0].name must start with a letter"),
        (('"0 6 * * *"', '"0 6 30 2 *"'), "schedule.cron "),
        (('"0 6 * * *"', '"every day"'), "schedule.cron "),
        (('"active"', '"draft"\nzone = "UTC"'), "schedule.zone: unknown property zone"),
        (("env:HOOK", "env:NOBODY"), "notice[0].webhook: the variable 'NOBODY' holds no address"),
        (("env:HOOK", "file:nowhere"), "notice[0].webhook: the file 'nowhere' cannot be read"),
        (('"env:HOOK"', '"-"'), "notice[0].webhook names standard input, which a file has not"),
        (('webhook = "env:HOOK"', ""), "notice[0]: one of webhook, command and apprise says whom"),
        (('"changes"', '"chages"'), "notice[0].on: there is no kind 'chages'"),
        (('"changes"', '"changes,silent"'), "notice[0].silent-for goes with silent in on"),
        (('"changes"', '"failing"'), "notice[0].on must have changes: when, kind, columns"),
        (('"changes"', '"changes"\ndigest = "daily"'), "notice[0].digest "),
        (
            ('"changes"', '"changes"\ndataset = ["shpo"]'),
            'names "shpo", which is no dataset; did',
        ),
        (('"price < 5"', '"prize < 5"'), "notice[0].when: The clause 'prize < 5' names"),
        (('"price < 20"', '"price <"'), "share[0].where: "),
        (('"sku,price"', '"sku,prize"'), "share[0].columns: There is no column 'prize'"),
        (('"sheet"', '"sheet"\nbase = "nowhere"'), "share[0].base must be an address such as"),
    ],
)
def test_a_wrong_place_is_told_with_file_and_line_and_nothing_happens(
    sources: Sources, edit: tuple[str, str], told: str
) -> None:
    sources.write("fine")
    sources.write("shop", DAILY + OPS + SHEET)
    sources.edit(*edit)
    said = sources.refused()
    assert said.startswith("Error: shop.toml:"), said
    assert told in said
    assert int(said.split(":")[2]) > 1


def test_of_fifty_files_one_wrong_one_stops_all_and_all_problems_are_told_at_once(
    sources: Sources,
) -> None:
    for number in range(48):
        sources.write(f"shop {number:02}")
    (sources.folder / "a.toml").write_text("name = ")
    sources.write("z", itemSelector="li[")
    said = sources.refused()
    assert said.startswith("Error: there are 2 problems:\n")
    assert "  a.toml:1: the TOML cannot be read" in said
    assert "  z.toml:" in said


def test_a_name_stands_in_one_file(sources: Sources) -> None:
    sources.write("shop", OPS, file="a.toml")
    sources.write("shop", OPS, file="b.toml")
    said = sources.refused()
    assert 'b.toml:1: name repeats "shop" of ' in said
    assert 'notice[0].name repeats "ops" of ' in said
    sources.write("lamps", SHEET + SHEET, file="b.toml")
    assert 'share[1].label repeats "sheet"' in sources.refused()


def test_a_folder_without_sources_says_how_to_begin(sources: Sources, tmp_path: Path) -> None:
    said = sources.refused()
    assert "no file below this folder is named *.toml. Write one: livedata init -o " in said
    (tmp_path / "file.toml").write_text("")
    for wrong in ("file.toml", "nowhere"):
        said = sources.livedata.error("apply", str(tmp_path / wrong))
        assert f"{wrong}: this is " in said


def test_hidden_folders_are_passed_over(sources: Sources) -> None:
    sources.write()
    sources.write("hidden", file=".git/hidden.toml")
    assert [*sources.changes()] == ["shop"]


def test_a_link_out_of_the_folder_is_refused_by_name(sources: Sources, tmp_path: Path) -> None:
    sources.write()
    (sources.folder / "same.toml").symlink_to("shop.toml")
    assert [*sources.changes()] == ["shop"]
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.toml").write_text("password = 1")
    (sources.folder / "link.toml").symlink_to(outside / "secret.toml")
    (sources.folder / "linked").symlink_to(outside)
    said = sources.refused()
    assert "link.toml: this link leads out of " in said
    assert "linked: this link leads out of " in said
    assert "password" not in said


def test_a_plan_of_research_is_told_which_command_takes_it(sources: Sources) -> None:
    (sources.folder / "plan.toml").write_text('title = "T"\n[rowIdentity]\nkind = "product"\n')
    said = sources.refused()
    assert "plan.toml: this is a plan of research" in said
    assert "livedata research create" in said


def test_a_source_that_is_not_ready_is_not_applied(sources: Sources) -> None:
    path = sources.write()
    path.write_text("# NOT READY. Its list is empty.\n" + path.read_text())
    assert "shop.toml:1: this source is marked as not ready" in sources.refused()


def test_a_name_of_research_is_refused(sources: Sources, store: Store) -> None:
    sources.write(ResearchTable(store).dataset["name"], file="a.toml")
    assert "a.toml:1: name names " in sources.refused()


def test_another_key_of_a_table_with_rows_is_refused(sources: Sources, store: Store) -> None:
    take(store, make_dataset(store))
    sources.write()
    sources.edit('type = "string"\nkey = true', 'type = "string"\nkey = false')
    sources.edit('name = "title"\ntype = "string"', 'name = "title"\ntype = "string"\nkey = true')
    sources.edit('field = "sku"', 'field = "title"')
    assert "source.identity must stay" in sources.refused()


def test_another_type_of_a_column_is_refused(sources: Sources, store: Store) -> None:
    make_dataset(store)
    sources.write()
    sources.edit('name = "title"\ntype = "string"', 'name = "title"\ntype = "number"')
    assert "shop.toml:" in sources.refused()


def test_a_label_of_two_open_shares_names_none(sources: Sources, livedata: Shell) -> None:
    sources.write("shop", SHEET)
    sources.apply()
    livedata("share", "add", "shop", "--label", "sheet")
    assert "share[0].label names 2 shares that are open" in sources.refused()
    first, second = livedata.json("share", "list")
    livedata("share", "revoke", first["id"])
    livedata("share", "revoke", second["id"])
    assert sources.changes()["shop"][0] == "update"


def test_a_share_keeps_its_address_when_it_shows_something_else(
    sources: Sources, livedata: Shell
) -> None:
    sources.write("shop", SHEET)
    sources.apply()
    before = livedata.json("share", "list")[0]["id"]
    sources.edit('"sku,price"', '"sku"')
    assert "shown only now" not in sources.apply()
    (share,) = livedata.json("share", "list")
    assert (share["id"], share["columns"]) == (before, ["sku"])


def test_a_notice_gets_another_address_and_no_plan_shows_it(
    sources: Sources, livedata: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources.write("shop", OPS)
    sources.apply()
    monkeypatch.setenv("HOOK", SECRET.replace("hunter2", "hunter3"))
    assert sources.changes() == {"shop": ("update", ["notice ops: another address"])}
    for form in ("text", "markdown", "json"):
        assert "hunter" not in sources.plan("--format", form)
    sources.apply()
    assert sources.changes(code=0) == {}
    assert "hunter" not in livedata.out("notice", "list", "--json")


def test_a_webhook_has_its_secret_shown_once(sources: Sources) -> None:
    hook = '[[notice]]\nname = "hook"\nwebhook = "file:hook.txt"\n'
    (sources.folder / "hook.txt").write_text("https://hooks.example/1\n")
    sources.write("shop", hook)
    assert "whsec_" not in sources.plan()
    assert "the secret of notice hook, shown only now: whsec_" in sources.apply()
    sources.edit('webhook = "file:hook.txt"', 'command = "cat"')
    assert "notice[0].command tells otherwise than the notice that there is" in sources.refused()


def test_a_notice_says_of_which_datasets_it_tells(sources: Sources) -> None:
    sources.write("lamps")
    sources.write("shop", OPS + 'dataset = ["shop", "lamps"]\n')
    sources.apply()
    sources.edit('dataset = ["shop", "lamps"]\n', "")
    assert sources.changes() == {"shop": ("update", ["notice ops: of lamps and shop → of shop"])}


def test_json_and_another_form_are_not_both(sources: Sources) -> None:
    sources.write()
    said = sources.livedata.error(
        "apply", str(sources.folder), "--json", "--format", "text", code=2
    )
    assert "--json is --format json" in said


def test_json_names_each_dataset_with_its_file(sources: Sources, store: Store) -> None:
    make_dataset(store, name="old")
    path = sources.write()
    sources.apply()
    steps = json.loads(sources.plan("--json", code=0))
    assert steps == [
        {"name": "shop", "file": str(path), "action": "leave", "changes": []},
        {"name": "old", "file": None, "action": "leave", "changes": []},
    ]


def test_who_has_no_credits_may_apply_and_is_told(sources: Sources, store: Store) -> None:
    make_dataset(store, "alice", name="old", balance=0)
    sources.write()
    done = sources.livedata("apply", str(sources.folder), "--owner", "alice")
    assert "Done: 1 created.\n" in done.stderr
    assert "Only 0 credits are left" in done.stderr


def test_a_store_of_a_newer_version_is_left_alone(sources: Sources, store: Store) -> None:
    sources.write()
    with store.writing() as writer:
        writer.execute("UPDATE alembic_version SET version_num = '9999'")
    for options in ((), ("--plan",)):
        said = sources.livedata.error("apply", str(sources.folder), *options, code=8)
        assert "newer" in said


HOSTILE = "a|b <b>*x*</b> `c` @alice [l](https://evil.example) \\ #1"


def test_markdown_has_a_heading_a_table_and_folded_details(sources: Sources) -> None:
    sources.write("shop", DAILY)
    sources.write(HOSTILE, file="a.toml")
    shown = sources.plan("--format", "markdown")
    assert shown.startswith("### livedata apply <code>")
    assert "\n\nWould be: 2 created.\n\n| | dataset | file |\n| --- | --- | --- |\n" in shown
    assert "<details><summary>create <code>shop</code></summary>\n\n- <code>address&#58; " in shown
    for piece in ("|b", "<b>", "*x*", "`", "@alice", "[l]", "evil.example", "\\", "#1 "):
        assert piece not in shown.replace("### ", "")
    # Each row of the table has its three cells.
    rows = [line for line in shown.splitlines() if line.startswith("| create")]
    assert [row.count("|") for row in rows] == [4, 4]


def test_help_says_what_is_read_and_the_exit_code(livedata: Shell) -> None:
    shown = livedata.out("apply", "--help")
    assert "--plan exits with 10 if anything would change" in " ".join(shown.split())


def test_the_tables_of_the_how_to_are_taken(
    sources: Sources, livedata: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAMPS_HOOK", SECRET)
    page = Path(__file__).parents[2] / "docs" / "how-to" / "sources-in-a-folder.md"
    (tables,) = re.findall(r"```toml\n(.*?)```", page.read_text(), re.DOTALL)
    sources.write("lamps", tables)
    shown = sources.livedata("apply", str(sources.folder))
    assert "share sales team: columns title, price\n" in shown.stdout
    assert "Only this machine reaches the address of the share" in shown.stderr
    assert livedata.json("dataset", "show", "lamps")["status"] == "active"


SEEN = '[[columns]]\nname = "seen"\ntype = "number"\n[source]'
READ = '[[source.fields]]\nname = "seen"\nread = { selector = ".seen" }\n[source.identity]'


def test_columns_are_added_and_dropped_by_the_file(sources: Sources, livedata: Shell) -> None:
    sources.write()
    sources.apply()
    sources.edit("[source]", SEEN)
    sources.edit("[source.identity]", READ)
    added = ["column seen (number) is added", "selector of seen: .seen"]
    assert sources.changes() == {"shop": ("revise", added)}
    sources.apply()
    columns = livedata.json("dataset", "show", "shop")["columns"]
    assert "seen" in [column["name"] for column in columns]
    sources.write()
    dropped = "column seen is dropped, and stays in the history"
    assert sources.changes() == {"shop": ("revise", [dropped])}
    sources.apply()
    assert sources.changes(code=0) == {}


@pytest.mark.parametrize("declares", [OPS, SHEET])
def test_a_column_is_dropped_only_if_no_condition_names_it(sources: Sources, declares: str) -> None:
    seen = declares.replace("price", "seen")
    sources.write("shop", seen)
    sources.edit("[source]", SEEN)
    sources.edit("[source.identity]", READ)
    sources.apply()
    # It is named by the file itself, then by what only the store has.
    sources.write("shop", seen)
    assert "shop.toml:" in sources.refused()
    sources.write("shop")
    assert 'shop.toml:3: columns must keep "seen", which the ' in sources.refused()
    # The file changes both in one go.
    sources.write("shop", declares)
    action, said = sources.changes()["shop"]
    assert (action, len(said)) == ("revise", 2)
    sources.apply()
    assert sources.changes(code=0) == {}
    assert sources.livedata.out("check").startswith("The store is sound")
