"""``livedata serve`` as a process: it prints its address, logs, ends well, and executes Runs."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from http.client import HTTPException
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from livedata.model import ids
from livedata.services import accounts
from livedata.store import datasets
from livedata.store.database.store import Store
from tests.api.serving import Serving
from tests.cli.shell import Shell
from tests.made import declared, make_dataset
from tests.patience import AT_ONCE, until
from tests.site import Site

ITEM = "<li><b class=sku>{}</b><i class=title>Lamp</i></li>"


class InFlight:
    """A request for a Run that waits, because another program keeps its dataset locked."""

    def __init__(self, served: Serving, store: Store) -> None:
        dataset = make_dataset(store, "alice")
        self.path = f"/v1/datasets/{ids.format_uuid(dataset)}/runs"
        self.served = served

        self._lock = ExitStack()
        writer = self._lock.enter_context(store.writing())
        datasets.lock_dataset(writer, dataset)
        self.answer: tuple[int, Any] | None = None
        self._thread = Thread(target=self._ask)
        self._thread.start()
        time.sleep(2)  # until the request waits for the lock, on a slow machine too

    def _ask(self) -> None:
        with suppress(HTTPException, OSError):  # a server that is gone has no answer
            self.answer = self.served.ask("POST", self.path)

    def release(self) -> int | None:
        """Release the lock; the status of the answer, or None if none comes."""
        self._lock.close()
        self._thread.join(20)
        return self.answer[0] if self.answer else None


def refuses(served: Serving) -> bool:
    """Whether a server takes no connection any more, which is what a first signal leads to."""
    try:
        served.ask("GET", "/healthz")
    except ConnectionRefusedError:
        return True
    except (HTTPException, OSError):  # it has ended under the question
        return False
    return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_request_in_flight_is_finished_and_no_other_is_begun(
    served: Serving, store: Store, number: int
) -> None:
    waiting = InFlight(served, store)
    served.end(number)
    until(lambda: refuses(served))
    assert waiting.answer is None  # it still waits
    assert waiting.release() == 202
    assert served.process.wait(20) == 0


def test_a_second_signal_ends_it_at_once(served: Serving, store: Store) -> None:
    waiting = InFlight(served, store)
    served.end()
    until(lambda: refuses(served))
    served.end()
    assert served.process.wait(AT_ONCE) == -signal.SIGTERM
    served.process.returncode = 0  # the fixture expects a good end, which this is not meant to be
    assert waiting.release() is None


def test_a_port_that_is_taken_is_said_plainly(served: Serving, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "livedata", "serve", "--no-worker", "--port", str(served.port)]
    ended = subprocess.run(
        command, env=Shell(tmp_path).environ, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 1
    assert ended.stdout == ""
    where = f"Port {served.port} of 127.0.0.1"
    assert ended.stderr == (
        f"Error: {where} is taken by another program; choose one with --port.\n"
    )


def test_every_request_has_a_line_in_the_log_with_the_id_of_its_answer(served: Serving) -> None:
    connection = served.connect()
    connection.request(
        "GET", "/v1/datasets?cursor=hidden", headers={"Authorization": f"Bearer {served.key}"}
    )
    answer = connection.getresponse()
    answer.read()
    connection.close()
    (line,) = [
        entry for entry in served.log().splitlines() if answer.headers["X-Request-Id"] in entry
    ]
    assert " GET /v1/datasets 400 " in line
    assert line.endswith("ms alice")
    assert "hidden" not in served.log()
    assert served.key not in served.log()
    assert answer.headers["Server"] is None


def test_any_wsgi_server_can_serve_the_application(tmp_path: Path) -> None:
    script = "from livedata.wsgi import app; print(app.test_client().get('/healthz').text)"
    ended = subprocess.run(
        [sys.executable, "-c", script],
        env=Shell(tmp_path).environ,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout == '{"status":"ok"}\n'


def test_a_run_that_is_asked_for_over_http_is_executed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, store: Store, site: Site
) -> None:
    site.page("/", f"<ul>{ITEM.format('A1')}{ITEM.format('B2')}</ul>")
    monkeypatch.setenv("LIVEDATA_ALLOW_HOSTS", site.host)
    key = accounts.create_key(store, "alice", None, first_credits=1000)["key"]
    columns: list[Mapping[str, object]] = [
        {"name": "sku", "type": "string", "key": True},
        {"name": "title", "type": "string"},
    ]
    body: dict[str, Any] = declared("shop", columns)
    body["source"]["url"] = site.at("/")
    with Serving(tmp_path, str(key), worker=True) as served:
        status, created = served.ask("POST", "/v1/datasets", body)
        assert status == 201
        path = f"/v1/datasets/{created['dataset']['id']}"
        status, queued = served.ask("POST", f"{path}/runs")
        assert status == 202

        def asked() -> dict[str, Any]:
            run: dict[str, Any] = served.ask("GET", f"/v1/runs/{queued['runId']}")[1]["run"]
            return run

        until(lambda: asked()["completedAt"] is not None)
        run = asked()
        assert run["status"] == "succeeded", run
        rows = served.ask("GET", f"{path}/rows")[1]["data"]
        assert sorted(row["rowKey"] for row in rows) == ["A1", "B2"]
        assert served.ask("GET", "/v1/usage")[1]["balance"] == 999
