"""A webhook is a signed CloudEvent, sent to an address that was judged."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from livedata.messages.render import sentence
from livedata.model.problem import Problem
from livedata.rules.network.targets import TargetPolicy
from livedata.services.notices import delivering
from livedata.services.notices.cloud_events import CloudEvent
from livedata.store.database.store import Store
from livedata.worker.delivery import webhook
from livedata.worker.delivery.time_limit import within
from tests.notices.conftest import Notify
from tests.notices.receiver import Behaviour, receiving
from tests.patience import AT_ONCE, until
from tests.services.table import A, B, Table
from tests.tls import certificate, context

SECRET = "whsec_" + "QUJD" * 8
EVENT = CloudEvent("018f0000-0000-7000-8000-000000000000", b'{"a": 1}', "title", "text")


def post(url: str, *allowed: str) -> Problem | None:
    return webhook.post(url, SECRET, EVENT, TargetPolicy(frozenset(allowed)))


def test_an_event_says_what_has_changed_in_the_words_of_the_table(
    table: Table, notify: Notify, store: Store
) -> None:
    table.take(A, B)
    notice = notify(channel="webhook", target="x", kinds=["changes"])
    run = table.take({**A, "price": 5}, B)
    delivery = delivering.take(store)
    assert delivery is not None
    with receiving(notice.secret or "") as receiver:
        assert notice.secret is not None
        targets = TargetPolicy(frozenset({receiver.place}))
        assert webhook.post(receiver.url, notice.secret, delivery.event, targets) is None
    ((event, _),), (headers,) = receiver.arrived, receiver.headers
    dataset = table.dataset["id"]
    assert headers["content-type"] == "application/cloudevents+json"
    assert headers["webhook-id"] == event["id"]
    assert (headers[":path"], headers["host"]) == ("/hook?key=k", receiver.place)
    (change,) = event["data"].pop("changes")
    assert {name: event[name] for name in ("specversion", "source", "type", "data")} == {
        "specversion": "1.0",
        "source": f"/v1/datasets/{dataset}",
        "type": "livedata.changes",
        "data": {
            "dataset": {"id": dataset, "name": "shop"},
            "run": {
                "id": run["id"],
                "status": "succeeded",
                "rowDeltas": {"new": 0, "changed": 1, "gone": 0},
            },
            "sentence": "shop: 0 new, 1 changed, 0 gone.",
            "moreChanges": 0,
        },
    }
    assert event["datacontenttype"] == "application/json"
    assert (change["row"], change["kind"]) == ("A1", "updated")
    assert change["changed"] == {"price": {"before": A["price"], "after": 5}}


def test_only_the_first_hundred_changes_are_told(
    table: Table, notify: Notify, store: Store
) -> None:
    notify(kinds=["changes"])
    table.take(*({**A, "sku": f"K{number:03}"} for number in range(120)))
    delivery = delivering.take(store)
    assert delivery is not None
    assert delivery.event.body.count(b'"kind":"created"') == 100
    assert b'"moreChanges":20' in delivery.event.body
    assert delivery.event.text.endswith("\nand 20 more")


@pytest.mark.parametrize(
    ("behaviour", "code", "said"),
    [
        (200, None, ""),
        (204, None, ""),
        (500, "notice.status", "answered 500"),
        (404, "notice.status", "answered 404"),
        (302, "notice.redirect", "follows no redirect"),
        (410, "notice.gone", "wants no more"),
        ("close", "notice.connection", "The connection failed: "),
        ("hang", "notice.no_answer", "no answer within 1.5 s"),
        ("drip", "notice.no_answer", "no answer within 1.5 s"),
    ],
)
def test_what_the_receiver_answers_decides(
    behaviour: Behaviour, code: str | None, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhook, "SECONDS", 1.5)
    with receiving(SECRET, lambda _: behaviour) as receiver:
        began = time.monotonic()
        problem = post(receiver.url, receiver.place)
    assert time.monotonic() - began < AT_ONCE
    # A redirect is not followed: the receiver was asked once.
    assert len(receiver.arrived) == 1
    assert (problem and problem.code) == code
    assert problem is None or said in sentence(problem)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_silence_is_told_alike_if_the_clock_of_the_socket_ends_it(
    scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Two clocks end a silence at nearly the same moment; here ours is far behind.
    monkeypatch.setattr(webhook, "SECONDS", 0.3)
    monkeypatch.setattr(webhook, "within", lambda seconds, *acts: within(seconds + 10, *acts))
    with socket.create_server(("127.0.0.1", 0)) as silent:
        place = f"127.0.0.1:{silent.getsockname()[1]}"
        problem = post(f"{scheme}://{place}/hook", place)
    assert problem == Problem("notice.no_answer", {"seconds": 0.3})


def test_who_drips_an_answer_for_ever_keeps_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook, "SECONDS", 0.3)
    with receiving(SECRET, lambda _: "drip") as receiver:
        problem = post(receiver.url, receiver.place)
        assert problem is not None
        assert problem.code == "notice.no_answer"
        until(lambda: "delivery" not in {each.name for each in threading.enumerate()})


def test_an_address_is_asked_for_as_it_is_written() -> None:
    with receiving(SECRET) as receiver:
        assert post(f"http://{receiver.place}/ü/%20;a=b?q=é&r=1#top", receiver.place) is None
    (headers,) = receiver.headers
    assert headers[":path"] == "/%C3%BC/%20;a=b?q=%C3%A9&r=1"


def test_a_receiver_that_is_not_there_is_a_connection_that_failed() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        place = f"127.0.0.1:{taken.getsockname()[1]}"
    problem = post(f"http://{place}/", place)
    assert problem is not None
    assert sentence(problem) == "The connection failed: Connection refused."


@pytest.mark.parametrize("url", ["http://127.0.0.1/", "http://10.0.0.1/", "http://[::1]:8080/"])
def test_a_private_address_gets_no_webhook(url: str) -> None:
    problem = post(url)
    assert problem is not None
    assert problem.code == "notice.private"
    assert [remedy.code for remedy in problem.remedies] == ["allow_host"]


def answering(monkeypatch: pytest.MonkeyPatch, *answers: Sequence[str]) -> list[str]:
    """Let a name be resolved to other addresses each time; who was asked for."""
    asked: list[str] = []
    left = list(answers)
    truly = socket.getaddrinfo

    def resolve(host: Any, port: Any, *args: Any, **named: Any) -> Any:
        if host != "hooks.example":
            return truly(host, port, *args, **named)
        asked.append(host)
        addresses = left.pop(0)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, port)) for each in addresses]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    return asked


def test_a_name_that_leads_to_a_private_address_gets_no_webhook(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with receiving(SECRET) as receiver:
        answering(monkeypatch, ["127.0.0.1"])
        problem = post(f"http://hooks.example:{receiver.server_port}/")
    assert problem is not None
    assert sentence(problem).startswith("hooks.example is at the private address 127.0.0.1")
    assert receiver.arrived == []


def test_a_name_that_turns_private_is_not_asked_a_second_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dialled: list[tuple[str, int]] = []

    def dial(address: tuple[str, int], **_: Any) -> socket.socket:
        dialled.append(address)
        raise OSError(0, "nobody is there")

    with receiving(SECRET) as receiver:
        asked = answering(monkeypatch, ["93.184.216.34"], ["127.0.0.1"])
        monkeypatch.setattr(socket, "create_connection", dial)
        post(f"http://hooks.example:{receiver.server_port}/")
    assert (asked, receiver.arrived) == (["hooks.example"], [])
    assert dialled == [("93.184.216.34", receiver.server_port)]


def test_an_address_that_swallows_all_leaves_time_for_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(webhook, "SECONDS", 4.0)
    with receiving(SECRET) as receiver, ExitStack() as stack:
        port = receiver.server_port
        deaf = stack.enter_context(socket.create_server(("127.0.0.2", port), backlog=0))
        # Nobody accepts these, so the next one that dials waits for ever.
        for _ in range(2):
            dialled = stack.enter_context(socket.socket())
            dialled.settimeout(0)
            dialled.connect_ex(deaf.getsockname())
        answering(monkeypatch, ["127.0.0.2", "127.0.0.1"])
        assert post(f"http://hooks.example:{port}/", "hooks.example") is None
    assert len(receiver.arrived) == 1


def test_a_name_that_nobody_knows_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def resolve(*_: Any, **__: Any) -> Any:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    problem = post("http://hooks.example/")
    assert problem is not None
    assert sentence(problem) == "The name hooks.example could not be looked up."


def test_a_name_that_is_allowed_may_be_private(monkeypatch: pytest.MonkeyPatch) -> None:
    with receiving(SECRET) as receiver:
        answering(monkeypatch, ["127.0.0.1"])
        assert post(f"http://hooks.example:{receiver.server_port}/", "hooks.example") is None


@pytest.mark.parametrize(("trusted", "code"), [(True, None), (False, "notice.certificate")])
def test_a_certificate_is_verified(
    trusted: bool, code: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "trusted.pem"
    file.write_bytes(certificate() if trusted else b"")
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    with receiving(SECRET) as receiver:
        receiver.socket = context().wrap_socket(receiver.socket, server_side=True)
        problem = post(receiver.url.replace("http:", "https:"), receiver.place)
    assert (problem and problem.code) == code
    assert len(receiver.arrived) == trusted
