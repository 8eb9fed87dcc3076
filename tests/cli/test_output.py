from __future__ import annotations

import os
import pty
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import orjson
import pytest

from livedata.cli.output.tables import LayoutColumn, fit_widths
from livedata.cli.output.values import format_value
from livedata.messages.controls import escape_controls, escape_json
from tests.browsing.world import World
from tests.cli.shell import START, Shell
from tests.made import COLUMNS, make_dataset, take

if TYPE_CHECKING:
    from livedata.model.row import Scalar
    from livedata.store.database.store import Store

HOSTILE = "\x1b]0;pwned\x07\x1b[31mred \x9b32m \x7f \u202etxt \r\n end"
LONG = "long " * 60
_STYLE = re.compile("\x1b\\[(?:0|1|2|32|33)m")  # what tables use; 31 is a failed Run's


def on_terminal(livedata: Shell, *args: str, **environ: str) -> str:
    """What a command writes to a terminal of 100 columns."""
    ours, theirs = pty.openpty()
    env = {**livedata.environ, "TERM": "xterm-256color", "COLUMNS": "100", **environ}
    with subprocess.Popen(
        [sys.executable, "-c", START, *args], stdout=theirs, stderr=theirs, env=env
    ):
        os.close(theirs)
        written = b""
        while True:
            try:
                part = os.read(ours, 65_536)
            except OSError:  # Linux's way to say that the other end is closed
                break
            if not part:
                break
            written += part
    os.close(ours)
    return written.decode()


@pytest.fixture
def hostile(store: Store) -> None:
    take(store, make_dataset(store), [{"sku": HOSTILE, "title": HOSTILE, "price": 1}])


EVERY_VIEW = [
    ("rows", "list", "shop"),
    ("rows", "list", "shop", "--json"),
    ("changes", "shop"),
    ("changes", "shop", "--json"),
    ("runs", "show", "shop"),
    ("dataset", "export", "shop"),
    ("dataset", "export", "shop", "--format", "jsonl"),
]


@pytest.mark.usefixtures("hostile")
@pytest.mark.parametrize("args", EVERY_VIEW, ids=" ".join)
def test_what_a_site_wrote_never_steers_a_terminal(livedata: Shell, args: tuple[str, ...]) -> None:
    shown = _STYLE.sub("", on_terminal(livedata, *args))
    assert not set(shown) & set("\x1b\x07\x9b\x7f\u202e")


@pytest.mark.usefixtures("hostile")
def test_a_row_is_shown_with_its_control_characters_written_out(livedata: Shell) -> None:
    row = livedata.json("rows", "list", "shop")[0]
    assert HOSTILE in row["data"].values()
    shown = livedata.out("rows", "show", "shop", row["id"])
    assert "\\x1b]0;pwned\\x07\\x1b[31mred \\x9b32m \\x7f \\u202etxt \\x0d\\x0a end" in shown


def test_visible_keeps_what_is_text() -> None:
    assert escape_controls("Café №1 – 5 € 日本 👍🏽") == "Café №1 – 5 € 日本 👍🏽"
    assert escape_controls("a\tb\n", keep="\n") == "a\\x09b\n"


def test_quiet_json_means_the_same() -> None:
    value = {"a": "£ \x7f \x9b \x80 é \u061c \u200e \u202e \u2069 … €"}
    made = escape_json(orjson.dumps(value))
    assert orjson.loads(made) == value
    assert b"\\u009b" in made
    assert "£".encode() in made


def test_a_pipe_has_whole_values_and_no_colours(livedata: Shell, store: Store) -> None:
    take(store, make_dataset(store), [{"sku": "A1", "title": LONG.strip()}])
    shown = livedata.out("rows", "list", "shop")
    assert LONG.strip() in shown
    assert "\x1b" not in shown
    assert LONG.strip() in livedata.out("changes", "shop")


def test_a_terminal_has_lines_of_its_width(livedata: Shell, store: Store) -> None:
    take(store, make_dataset(store), [{"sku": "A1", "title": LONG}])
    shown = on_terminal(livedata, "rows", "list", "shop", NO_COLOR="1")
    assert "…" in shown
    assert all(len(_STYLE.sub("", line)) <= 100 for line in shown.splitlines())
    assert "…" in on_terminal(livedata, "changes", "shop")


def test_colours_are_for_terminals_that_want_them(livedata: Shell, store: Store) -> None:
    take(store, make_dataset(store))
    assert "\x1b[32m" in on_terminal(livedata, "runs", "list", "shop")
    assert "\x1b[32m" not in on_terminal(livedata, "runs", "list", "shop", NO_COLOR="1")


URL_KEY = "https://shop.example/a/rather/long/way/to-a-lamp"


def _key(line: str) -> str:
    """What a line of a table shows of the key of its row."""
    return re.split(" {2,}", line)[1]


def wide(store: Store) -> None:
    """Rows of a long key, a long text and a number."""
    take(store, make_dataset(store), [{"sku": URL_KEY, "title": LONG, "price": 1234.5}])


@pytest.mark.parametrize("columns", [80, 60, 40])
def test_a_narrow_terminal_cuts_texts_first_and_says_what_is_left_out(
    livedata: Shell, store: Store, columns: int
) -> None:
    wide(store)
    shown = on_terminal(livedata, "rows", "list", "shop", COLUMNS=str(columns), NO_COLOR="1")
    *lines, last = shown.split("Left out for want of room: ")
    assert all(len(line.rstrip("\r")) <= columns for line in "".join(lines).splitlines())
    assert "updated" in last
    assert "--json shows all" in last
    assert "https" in lines[0]
    assert "…" in lines[0]
    assert "way/to-a-lamp" in shown
    # A name and a key leave a very narrow one no place for more.
    assert ("way/to-a-lamp  new " in shown) is (columns > 40)


@pytest.mark.parametrize("columns", [80, 100])
def test_a_key_that_is_an_address_leaves_the_cells_their_place(
    livedata: Shell, store: Store, columns: int
) -> None:
    urls = [f"{URL_KEY}-{number}/index.html" for number in (1, 2)]
    take(store, make_dataset(store), [{"sku": url, "title": "A lamp", "price": 5} for url in urls])
    shown = on_terminal(livedata, "rows", "list", "shop", COLUMNS=str(columns), NO_COLOR="1")
    _, _, *lines = shown.splitlines()
    assert all(line.startswith("A lamp  ") and "  5" in line for line in lines[:2])
    for line, url in zip(lines, urls, strict=False):
        # What a table shows of a key names the row.
        assert livedata.json("rows", "show", "shop", _key(line))["rowKey"] == url
    short = livedata.error("rows", "show", "shop", "https…/index.html")
    assert "'https…/index.html' is short for 2 row keys; write more of it." in short


@pytest.mark.parametrize("columns", [60, 100])
def test_keys_that_differ_in_their_middle_alone_are_told_apart(
    livedata: Shell, store: Store, columns: int
) -> None:
    urls = [f"https://shop.example/all/{name}/{'way/' * 10}" for name in ("lamps", "chairs")]
    take(store, make_dataset(store), [{"sku": url, "title": "A lamp", "price": 5} for url in urls])
    shown = on_terminal(livedata, "rows", "list", "shop", COLUMNS=str(columns), NO_COLOR="1")
    _, _, *lines = shown.splitlines()
    for line, url in zip(lines[:2], urls, strict=True):
        # Where there is no place for both, the key stands alone.
        key = _key(line) if columns > 60 else line.split()[0]
        assert livedata.json("rows", "show", "shop", key)["rowKey"] == url
    assert ("Left out for want of room: title" in shown) is (columns == 60)


def test_an_address_keeps_its_end_which_tells_it_from_others(livedata: Shell, store: Store) -> None:
    take(store, make_dataset(store), [{"sku": "A1", "title": URL_KEY, "price": 1234.5}])
    shown = on_terminal(livedata, "rows", "list", "shop", COLUMNS="60", NO_COLOR="1")
    assert "way/to-a-lamp  A1   new     1234.5" in shown


def test_numbers_and_status_are_never_cut(livedata: Shell, store: Store) -> None:
    take(store, make_dataset(store), [{"sku": "A1", "title": LONG, "price": 1234.5, "stock": True}])
    shown = on_terminal(livedata, "rows", "list", "shop", COLUMNS="80", NO_COLOR="1")
    line = next(line for line in shown.splitlines() if "  A1  " in line)
    assert "1234.5  true" in line
    assert line.rstrip().endswith("Z")
    assert "…" in line
    assert "Left out" not in shown


TITLE = "A Light in the Attic and other Stories"
ERROR = "Page 1 (https://shop.example/list) could not be read: the site refused it"


def rich(store: Store) -> None:
    """A dataset with long keys and titles, of which one is edited, and a Run that was refused."""
    texts = [{"name": name, "type": "string"} for name in ("title", "maker", "place", "text")]
    columns = [COLUMNS[0], *texts, {"name": "price", "type": "number"}]
    dataset = make_dataset(store, columns=columns)
    for price, count in ((1, 3), (2, 2)):
        items: list[dict[str, Scalar]] = [
            {
                **dict.fromkeys(("maker", "place"), "A name of some length"),
                "sku": f"{URL_KEY}-{number}/index.html",
                "title": f"{number} {TITLE}",
                "text": LONG,
                "price": price,
            }
            for number in range(count)
        ]
        take(store, dataset, items)
    World(store).edit(dataset, "title", f"My {TITLE}")
    World(store).blocked(dataset)


def test_of_80_columns_the_first_long_text_has_enough_to_be_read_and_an_edit_has_a_mark(
    livedata: Shell, store: Store
) -> None:
    rich(store)
    shown = on_terminal(livedata, "rows", "list", "shop", COLUMNS="80", NO_COLOR="1")
    cut = TITLE[:17]
    (edited,) = [line for line in shown.splitlines() if f"My {cut}" in line]
    assert "… *  " in edited
    assert shown.count("… *") == 1
    assert f"1 {cut}" in shown
    assert "With a star: edited by hand." in shown
    assert "livedata rows show shop ROW" in shown
    # A pipe has the values alone.
    assert "*" not in livedata.out("rows", "list", "shop")


def test_of_80_columns_each_change_says_what_changed_on_lines_of_that_width(
    livedata: Shell, store: Store
) -> None:
    rich(store)
    shown = on_terminal(livedata, "changes", "shop", COLUMNS="80", NO_COLOR="1").splitlines()
    assert all(len(line.rstrip("\r")) <= 80 for line in shown)
    assert any(line.endswith("/index.html)") and "created" in line for line in shown)
    assert "        price: 1 → 2" in shown
    begun = shown.index(f"        title: 0 {TITLE} →")
    assert shown[begun + 1] == f"          My {TITLE}"
    new = next(line for line in shown if line.startswith("        maker: A name"))
    assert new.endswith("…")
    piped = livedata.out("changes", "shop").splitlines()
    assert f"title: 0 {TITLE} → My {TITLE}" in " ".join(piped)
    assert len(piped) == sum(line[:6].strip().isdigit() for line in shown)


def test_of_80_columns_the_list_of_runs_says_below_it_why_they_ended(
    livedata: Shell, store: Store
) -> None:
    rich(store)
    shown = on_terminal(livedata, "runs", "list", "shop", COLUMNS="80", NO_COLOR="1")
    assert f" blocked: {ERROR}" in shown
    assert "Left out" not in shown
    wide = on_terminal(livedata, "runs", "list", "shop", COLUMNS="200", NO_COLOR="1")
    assert " blocked: " not in wide


def test_what_fits_is_whole() -> None:
    columns = [LayoutColumn("row", 3, 4), LayoutColumn("title", 5, 30), LayoutColumn("text", 4, 90)]
    assert fit_widths(columns, 140) == [4, 30, 90]
    assert fit_widths(columns, 100) == [4, 30, 62]
    assert fit_widths(columns, 60) == [4, 26, 26]
    assert fit_widths(columns, 30) == [4, 24]
    assert fit_widths([LayoutColumn("key", 3, 300), *columns[1:]], 40) == [20, 18]


def test_no_color_drops_bold_too(livedata: Shell, store: Store) -> None:
    take(store, make_dataset(store))
    assert "\x1b[1m" in on_terminal(livedata, "rows", "list", "shop")
    assert "\x1b" not in on_terminal(livedata, "rows", "list", "shop", NO_COLOR="1")


def test_a_pipe_has_no_padding_for_a_very_long_value(livedata: Shell, store: Store) -> None:
    long = "x" * 4000
    take(store, make_dataset(store), [{"sku": "A1", "title": long}, {"sku": "B2", "title": "y"}])
    shown = livedata.out("rows", "list", "shop")
    assert long in shown
    assert all(len(line) < 200 for line in shown.splitlines() if long not in line)


def test_a_home_that_is_a_file_is_exit_code_8(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    message = Shell(tmp_path / "file").error("dataset", "list", code=8)
    assert "LIVEDATA_HOME must name one" in message


def test_an_unknown_setting_is_named(livedata: Shell, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("dealy = 1")
    message = livedata.error("dataset", "list")
    assert "unknown setting dealy; did you mean delay?" in message


@pytest.mark.parametrize(
    ("entry", "form"),
    [
        ("http://127.0.0.1:8732/", "write 127.0.0.1:8732."),
        ("a:b:c", "write such as intranet.example"),
        ("shop/list", "write such as intranet.example"),
    ],
)
def test_a_wrong_host_is_refused_with_the_right_form(
    livedata: Shell, monkeypatch: pytest.MonkeyPatch, entry: str, form: str
) -> None:
    monkeypatch.setenv("LIVEDATA_ALLOW_HOSTS", entry)
    message = livedata.error("init", "https://shop.example/")
    assert f'LIVEDATA_ALLOW_HOSTS holds "{entry}"' in message
    assert form in message


def test_the_file_may_give_several_hosts_as_a_list(
    livedata: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LIVEDATA_ALLOW_HOSTS", raising=False)
    (tmp_path / "config.toml").write_text('allow_hosts = ["10.1.2.3", "10.1.2.4:8000"]')
    source = tmp_path / "source.toml"
    for url in ("http://10.1.2.3/", "http://10.1.2.4:8000/"):
        livedata("init", "--template", url, "-o", str(source), "--force")
        assert "10.1.2" in source.read_text()
    refused = livedata.error("init", "--template", "http://10.1.2.5/", "-o", str(source), "--force")
    assert "private address 10.1.2.5" in refused


def test_a_store_that_cannot_be_reached_is_exit_code_8(livedata: Shell, tmp_path: Path) -> None:
    (tmp_path / "livedata.db").write_text("this is no database, but a text of some length" * 9)
    assert "not a livedata store" in livedata.error("dataset", "list", code=8)


def test_a_wrong_setting_is_named(livedata: Shell, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("delay = 'soon'")
    assert "delay in" in livedata.error("dataset", "list")


def test_a_time_zone_that_nobody_knows_is_named_with_an_example(
    livedata: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    for zone in ("Mars/Olympus", "../etc/passwd", "/etc/passwd", "Europe", "x y"):
        monkeypatch.setenv("LIVEDATA_TIMEZONE", zone)
        message = livedata.error("dataset", "list")
        assert "LIVEDATA_TIMEZONE must be a time zone" in message
        assert "such as Europe/Berlin" in message


def test_an_interrupt_is_exit_code_130(livedata: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr("livedata.services.queries.datasets", interrupted)
    assert livedata("dataset", "list", code=130).output == ""


@pytest.mark.parametrize(
    ("part", "said"),
    [
        (None, "malformed database schema. Restore it"),
        (0.5, "malformed. If it was one, restore it"),
        (0.9, "malformed. Restore it"),
    ],
    ids=["the text of its schema", "its schema", "its rows"],
)
def test_a_damaged_store_is_exit_code_8(
    livedata: Shell, store: Store, part: float | None, said: str
) -> None:
    take(store, make_dataset(store), [{"sku": f"S{n}", "title": LONG} for n in range(100)])
    with closing(sqlite3.connect(store.place)) as driver:
        driver.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    store.close()
    kept = bytearray(Path(store.place).read_bytes())
    # The name of a table stands before its text; at the start of a page, what SQLite keeps of it.
    for start in (
        [kept.index(b"rowsrows")]
        if part is None
        else range(int(len(kept) // 4096 * part) * 4096, len(kept), 4096)
    ):
        kept[start : start + 200] = b"\xff" * 200
    Path(store.place).write_bytes(kept)
    assert said in livedata.error("changes", "shop", code=8)


def test_a_terminal_shows_the_end_of_an_id_and_commands_take_it(
    livedata: Shell, store: Store
) -> None:
    run = take(store, make_dataset(store))
    end = run.rpartition("-")[2]
    shown = on_terminal(livedata, "runs", "list", "shop")
    assert end in shown
    assert run not in shown
    assert livedata.json("runs", "show", end)["id"] == run
    assert run in livedata.out("runs", "list", "shop")


def test_words_of_a_table_are_shown_with_spaces_between_its_cells() -> None:
    assert format_value("Acme\t1999\x1b[31m") == "Acme 1999\\x1b[31m"
