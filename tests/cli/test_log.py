"""``--log json``: all that a server says is one JSON object a line, and no password is in it."""

from __future__ import annotations

import io
import logging
import signal
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from livedata import config
from livedata.model import ids
from livedata.store import datasets
from livedata.worker.log import HIDDEN, JsonLines, passwords, relay
from tests.made import make_dataset, take

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from livedata.store.database.store import Store
    from tests.cli.shell import Shell


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    """What is logged as JSON; the word `geheim` is a secret."""
    stream, log = io.StringIO(), logging.getLogger("livedata")
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines(["geheim"]))
    log.addHandler(handler)
    log.setLevel("INFO")
    yield stream
    log.removeHandler(handler)


def lines(text: str) -> list[dict[str, Any]]:
    """The lines of a log."""
    return [orjson.loads(line) for line in text.splitlines()]


def test_a_record_is_a_line_with_what_it_is_about(written: io.StringIO) -> None:
    about = {"event": "fire.queued", "fields": {"dataset": "my\nshop", "run": "1"}}
    logging.getLogger("livedata.schedules").info("%s is due", "my\nshop", extra=about)
    (line,) = lines(written.getvalue())
    assert line.pop("time").endswith("Z")
    assert line == {
        "level": "info",
        "event": "fire.queued",
        "dataset": "my\nshop",
        "run": "1",
        "message": "my\nshop is due",
    }


def test_a_traceback_stands_in_the_line_without_passwords(written: io.StringIO) -> None:
    try:
        raise ValueError("geheim")
    except ValueError:
        logging.getLogger("livedata.api").exception("no geheim here")
    (line,) = lines(written.getvalue())
    assert (line["event"], line["level"]) == ("livedata.api", "error")
    assert line["message"] == f"no {HIDDEN} here"
    assert line["traceback"].endswith(f"ValueError: {HIDDEN}")


def test_half_a_character_breaks_no_line() -> None:
    record = logging.LogRecord("livedata", logging.INFO, "", 1, "a\ud800b", (), None)
    assert orjson.loads(JsonLines().format(record))["message"] == r"a\ud800b"


@pytest.mark.parametrize(
    ("said", "event", "level"),
    [
        (
            '{"level": "error", "event": "execution.error", "run": "1", "message": "m"}',
            "execution.error",
            "error",
        ),
        ("Segmentation fault geheim", "crawl_worker.output", "warning"),
        ('{"half": ', "crawl_worker.output", "warning"),
        ('{"level": "loud", "event": "e", "message": "m"}', "crawl_worker.output", "warning"),
        ("[1]", "crawl_worker.output", "warning"),
        ('{"level": 3, "event": 1, "message": 2}', "crawl_worker.output", "warning"),
    ],
)
def test_what_a_crawl_worker_says_becomes_a_line_of_the_server(
    written: io.StringIO, said: str, event: str, level: str
) -> None:
    relay(said, 77)
    (line,) = lines(written.getvalue())
    assert (line["event"], line["level"], line["pid"]) == (event, level, 77)
    assert "geheim" not in written.getvalue()


@pytest.mark.parametrize(
    ("variable", "url"),
    [
        ("LIVEDATA_PROXY", "http://me:ge%2Fheim@proxy.example:3128"),
        ("LIVEDATA_DATABASE_URL", "postgresql://me:ge%2Fheim@db.example/livedata"),
        ("LIVEDATA_DATABASE_URL", "postgresql://db.example/livedata?password=ge%2Fheim"),
    ],
)
def test_passwords_are_found_in_the_settings(tmp_path: Path, variable: str, url: str) -> None:
    settings = config.load({"LIVEDATA_HOME": str(tmp_path), variable: url})
    assert "ge/heim" in passwords(settings)
    assert "" not in passwords(settings)


@pytest.mark.slow
def test_a_worker_writes_nothing_else(
    livedata: Shell, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = make_dataset(store)
    take(store, broken)
    with store.writing() as writer:
        due = ids.Micros(ids.now() - 1_000_000)
        datasets.change(writer, broken, status="active", schedule="0 6 * * *", next_run_at=due)
        writer.execute("UPDATE datasets SET next_run_zone = 'UTC'")
        writer.execute("UPDATE recipes SET source = '[]'")
    monkeypatch.setenv("LIVEDATA_PROXY", "http://me:geheim@127.0.0.1:1")
    with livedata.start("worker", "--crawlers", "1", "--log", "json") as worker:
        assert worker.stderr is not None
        said = b""
        end = time.monotonic() + 20
        while b"fire.queued" not in said and time.monotonic() < end:
            said += worker.stderr.readline()
        worker.send_signal(signal.SIGTERM)
        with suppress(ValueError):
            said += worker.stderr.read()
        assert worker.wait(20) == 0
    events = {line["event"]: line for line in lines(said.decode())}
    assert {"started", "fire.queued", "ending"} <= events.keys()
    assert events["fire.queued"]["dataset"] == "shop"
    assert b"geheim" not in said


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "Ending: the Runs in progress go back into the queue."),
        (("--no-worker",), "Ending."),
    ],
)
def test_serve_says_that_it_ends(livedata: Shell, options: Sequence[str], message: str) -> None:
    with livedata.start("serve", "--port", "0", "--log", "json", *options) as server:
        assert server.stderr is not None
        said = server.stderr.readline()
        server.send_signal(signal.SIGTERM)
        said += server.stderr.read()
        assert server.wait(20) == 0
    events = {line["event"]: line["message"] for line in lines(said.decode())}
    assert [*events] == ["started", "ending"]
    assert events["ending"] == message


def test_an_error_that_ends_the_command_is_a_line_too(livedata: Shell) -> None:
    (livedata.home / "livedata.db").write_text("no store " * 100)
    with livedata.start("worker", "--log", "json") as worker:
        _, said = worker.communicate(timeout=30)
    assert worker.returncode == 8
    (line,) = lines(said.decode())
    assert (line["event"], line["level"]) == ("failure", "critical")
    assert "is not a livedata store" in line["message"]


def test_a_wrong_setting_is_a_line_too(livedata: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIVEDATA_AT_ONCE", "many")
    with livedata.start("serve", "--log", "json") as process:
        _, said = process.communicate(timeout=30)
    assert process.returncode == 1
    (line,) = lines(said.decode())
    assert (line["event"], line["level"]) == ("failure", "critical")
    assert line["message"].startswith("LIVEDATA_AT_ONCE must be a number")
