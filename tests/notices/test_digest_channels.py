"""A digest goes by every channel: JSON for programs, a mail for people, few words for a chat."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from livedata.rules.network.targets import TargetPolicy
from livedata.services.audit.vitals import examine
from livedata.services.notices import digests
from livedata.store.database.store import Store
from livedata.worker.delivery.courier import Courier
from tests import made
from tests.notices.conftest import add_notice
from tests.notices.mailbox import mailbox
from tests.notices.receiver import receiving
from tests.services.table import A, B, Table

# Apprise imports a module of Python that is deprecated.
pytestmark = [pytest.mark.one_database, pytest.mark.filterwarnings("ignore:.*imghdr")]
HERE = "https://data.example.org"


def tell(
    store: Store, *tables: Table, place: str = "", public_url: str = HERE, **wish: Any
) -> None:
    """Let a digest of what tables find be delivered."""
    notice = add_notice(store, kinds=["changes"], digest="0 7 * * *", **wish)
    for table in tables:
        table.take({**A, "title": "Lamp <b>&amp;"}, {**B, "price": 20})
    with store.writing() as writer:
        writer.execute("UPDATE notices SET digest_at = 1 WHERE id = :id", id=notice.id)
    assert len(list(digests.tell_due(store, "UTC"))) == 1
    targets = TargetPolicy(frozenset({place} if place else ()))
    Courier(store, targets, public_url=public_url).deliver_soon()
    assert examine(store, 0).outbox.waiting == 0


def test_a_webhook_gets_an_event_of_its_own_type(store: Store) -> None:
    tables = [Table(store, made.declared(name)) for name in ("a", "b")]
    with receiving() as hook:
        tell(store, *tables, place=hook.place, channel="webhook", target=hook.url)
    ((event, _),) = hook.arrived
    assert event["type"] == "livedata.digest"
    assert event["source"] == f"{HERE}/v1/datasets"
    assert event["id"] == hook.headers[0]["webhook-id"]
    data = event["data"]
    assert (data["dataset"], data["run"]) == (None, None)
    assert data["sentence"] == "2 datasets changed. a: 2 new. b: 2 new."
    assert [part["dataset"]["name"] for part in data["datasets"]] == ["a", "b"]
    assert {*data["datasets"][0]} == {
        *("dataset", "sentence", "after", "through", "rowDeltas", "changes", "moreChanges")
    }


def test_a_command_gets_the_same_event_on_stdin(table: Table, tmp_path: Path) -> None:
    file = tmp_path / "events"
    tell(table.store, table, channel="command", target=f"cat >> {file}")
    (line,) = file.read_text().splitlines()
    event = json.loads(line)
    assert (event["type"], event["data"]["sentence"]) == ("livedata.digest", "shop: 2 new.")


def test_a_mail_has_html_and_a_text_and_escapes_what_a_site_says(table: Table) -> None:
    with mailbox() as box:
        tell(table.store, table, channel="apprise", target=box.url)
    (mail,) = box.arrived
    assert mail["Subject"] == "shop has changed"
    html, text = mail.get_body(("html",)), mail.get_body(("plain",))
    assert html is not None
    assert text is not None
    markup = html.get_content()
    called = "Lamp &lt;b&gt;&amp;amp;"
    assert f"<li><b>{called} <small>(A1)</small></b> new: sku: A1, title: {called}, " in markup
    link = f"{HERE}/datasets/{table.dataset['id']}/changes"
    assert f'<a href="{link}">' in markup
    said = text.get_content()
    assert "shop: 2 new." in said
    assert "- Lamp <b>&amp; (A1) new: sku: A1, title: Lamp <b>&amp;, price: 10, " in said
    assert link in said


def test_a_chat_gets_a_sentence_and_an_address_for_each_dataset(store: Store) -> None:
    tables = [Table(store, made.declared(f"t{number}")) for number in range(7)]
    with receiving() as chat:
        tell(store, *tables, channel="apprise", target=f"json://{chat.place}/")
    ((told, _),) = chat.arrived
    assert told["title"] == "7 datasets have changed"
    lines = told["message"].splitlines()
    assert lines[:2] == ["t0: 2 new.", f"{HERE}/datasets/{tables[0].dataset['id']}/changes"]
    assert (len(lines), lines[-1]) == (11, "And 2 more.")


def test_a_chat_gets_no_address_where_nobody_said_how_pages_are_reached(table: Table) -> None:
    with receiving() as chat:
        target = f"json://{chat.place}/"
        tell(table.store, table, channel="apprise", target=target, public_url="")
    ((told, _),) = chat.arrived
    assert (told["title"], told["message"]) == ("shop has changed", "shop: 2 new.")
