"""Keys in a browser: one is made and shown once, and one that is revoked opens nothing any more."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from typing import TYPE_CHECKING

import pytest

from livedata.model import ids
from livedata.services import accounts, datasets, queries
from livedata.services.pages import sessions
from tests import made
from tests.browsing.payloads import ALL
from tests.browsing.test_reflections import Tags
from tests.browsing.visitor import Visitor
from tests.browsing.world import World
from tests.cli.shell import Shell
from tests.patience import until

if TYPE_CHECKING:
    from pathlib import Path

    from flask import Flask

    from livedata.model.account import ApiKey
    from livedata.store.database.store import Store
    from tests.services.conftest import Clock

KEY = re.compile(r"ld_[0-9a-f]{64}")


class KeysPage:
    """Somebody who has opened the page of the keys, and sends its forms."""

    def __init__(self, visitor: Visitor) -> None:
        self.visitor, self.page = visitor, visitor.get("/keys")
        self.token = visitor.token("/keys")
        self.request = re.findall(r'name="request" value="([^"]+)"', self.page)[0]

    def make(self, label: str = "", code: int = 200) -> str:
        """Send the form; the page of the answer."""
        answer = self.visitor.post("/keys", self.token, request=self.request, label=label)
        assert answer.status_code == code, unescape(answer.text)
        return answer.text

    def revoke(self, key: str, code: int = 303) -> None:
        """Revoke a key."""
        assert self.visitor.post(f"/keys/{key}/revoke", self.token).status_code == code


def listed(store: Store, owner: str = "alice") -> list[ApiKey]:
    return queries.keys(store, ids.OwnerName(owner))


def test_a_key_is_made_and_shown_in_that_answer_alone(
    app: Flask, alice: Visitor, store: Store
) -> None:
    (key,) = KEY.findall(KeysPage(alice).make("for a script"))
    made_key = listed(store)[-1]
    assert (made_key["label"], made_key["owner"]) == ("for a script", "alice")
    answer = app.test_client().get("/v1/datasets", headers={"Authorization": f"Bearer {key}"})
    assert answer.status_code == 200
    for shown in (alice.get("/keys"), alice.get("/keys?as=json")):
        assert not KEY.search(shown)
        assert "for a script" in shown


def test_the_list_is_that_of_the_command_for_this_owner_alone(
    alice: Visitor, bob: Visitor, store: Store, tmp_path: Path
) -> None:
    accounts.create_key(store, ids.OwnerName("alice"), "one")
    alice.get("/keys")
    until(lambda: listed(store)[0]["lastUsedAt"] is not None)
    told = alice.as_json("/keys")["data"]
    assert told == Shell(tmp_path).json("key", "list", "--owner", "alice")
    assert {key["owner"] for key in told} == {"alice"}
    assert bob.key_id not in alice.get("/keys")


def test_whoever_clicks_twice_makes_one_key_and_reads_it_both_times(
    alice: Visitor, store: Store, step: Clock
) -> None:
    opened, before = KeysPage(alice), len(listed(store))
    first, second = opened.make("one"), opened.make("one")
    assert KEY.findall(first) == KEY.findall(second) != []
    assert len(listed(store)) == before + 1
    assert KEY.findall(opened.make("two")) != KEY.findall(first)
    assert KEY.findall(KeysPage(alice).make("one")) != KEY.findall(first)
    step(sessions.SHOWN_FOR // 1_000_000 + 1)
    page = opened.make("one", 409)
    assert "it is not shown again" in page
    assert not KEY.search(page)
    assert 'name="label" value="one"' in page


def test_what_one_session_has_made_no_other_makes(
    app: Flask, alice: Visitor, bob: Visitor, store: Store
) -> None:
    opened, made_keys = KeysPage(alice), []
    other = Visitor(app.test_client(), alice.owner, alice.key, alice.key_id)
    other.sign_in()
    for visitor in (alice, other, bob):
        page = KeysPage(visitor)
        page.request = opened.request
        made_keys += KEY.findall(page.make("one"))
    assert len(set(made_keys)) == 3
    assert len({key["hashPrefix"] for key in listed(store)}) == len(listed(store))


def test_forms_that_come_at_the_same_moment_make_one_key(alice: Visitor, store: Store) -> None:
    owner, before = ids.OwnerName(alice.owner), len(listed(store))
    with ThreadPoolExecutor(4) as threads:
        keys = [
            threads.submit(accounts.create_key, store, owner, "one", secret=b"s" * 32)
            for _ in range(8)
        ]
    assert {key.result()["key"] for key in keys} == {f"ld_{(b's' * 32).hex()}"}
    assert len(listed(store)) == before + 1


def test_a_revoked_key_opens_nothing_and_is_not_made_again(
    app: Flask, alice: Visitor, store: Store
) -> None:
    opened = KeysPage(alice)
    (key,) = KEY.findall(opened.make())
    made_key = listed(store)[-1]["id"]
    for _ in range(2):
        opened.revoke(made_key)
    answer = app.test_client().get("/v1/datasets", headers={"Authorization": f"Bearer {key}"})
    assert answer.status_code == 401
    assert not KEY.search(opened.make(code=409))
    assert "revoked</summary>" in alice.get("/keys")


def test_it_says_before_that_the_key_of_this_session_signs_out_here(
    app: Flask, alice: Visitor, store: Store
) -> None:
    other = Visitor(app.test_client(), alice.owner, alice.key, alice.key_id)
    other.follow(sessions.make_link(store, ids.OwnerName("alice")))
    page = unescape(alice.get("/keys"))
    assert page.count("This browser is signed in by this key.") == 1
    # That of a link is the session of another key.
    told = page.partition(f"/keys/{alice.key_id}/revoke")[2].partition("</form>")[0]
    assert "You are signed out here at once" in told
    assert "made for the links of livedata open" in page
    KeysPage(other).revoke(alice.key_id)
    assert alice.client.get("/keys").location == "/sign-in?next=/keys"
    opened = KeysPage(other)
    (browser,) = [key["id"] for key in listed(store) if key["label"] == "browser"]
    answer = other.post(f"/keys/{browser}/revoke", opened.token)
    assert (answer.status_code, answer.location) == (303, "/keys")
    assert other.client.get("/keys").location == "/sign-in?next=/keys"


def test_keys_of_alice_are_not_there_for_bob(alice: Visitor, bob: Visitor, store: Store) -> None:
    KeysPage(bob).revoke(alice.key_id, 404)
    KeysPage(bob).revoke(alice.key_id[:8], 404)
    assert all(key["revokedAt"] is None for key in listed(store))
    alice.get("/keys")


def test_a_label_has_an_end_and_so_have_keys(
    alice: Visitor, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = [key["id"] for key in listed(store)]
    page = KeysPage(alice).make("x" * 201, 422)
    assert "A label has at most 200 characters." in page
    assert f'value="{"x" * 201}"' in page
    monkeypatch.setattr(accounts, "MOST_KEYS", len(before))
    assert "revoke one first" in KeysPage(alice).make("one more", 409)
    assert [key["id"] for key in listed(store)] == before


@pytest.mark.one_database
def test_a_label_is_repeated_as_text(alice: Visitor, store: Store) -> None:
    opened = KeysPage(alice)
    until(lambda: listed(store)[0]["lastUsedAt"] is not None)
    expected = Tags(opened.make("harmless" + "x" * 201, 422)).tags
    for payload in ALL:
        assert Tags(opened.make(payload + "x" * 201, 422)).tags == expected, payload


@pytest.mark.one_database
def test_no_key_is_in_the_log(alice: Visitor, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(0)
    (key,) = KEY.findall(KeysPage(alice).make())
    assert "/keys" in caplog.text
    assert key not in caplog.text


def test_usage_says_what_each_dataset_took(alice: Visitor, store: Store) -> None:
    World(store, alice.owner).shop()
    gone = made.make_dataset(store, alice.owner, "gone")
    made.take(store, gone, owner=alice.owner)
    told = alice.as_json("/usage")
    shop, other = told["datasets"]
    assert (shop["name"], shop["runs"], shop["credits"]) == ("shop", 5, 5)
    assert (other["name"], other["credits"]) == ("gone", 1)
    taken = -sum(each["credits"] for each in told["data"]["ledger"] if each["datasetId"])
    assert taken == shop["credits"] + other["credits"]
    page = alice.get("/usage")
    assert f'<a href="/datasets/{shop["datasetId"]}"><bdi>shop</bdi></a>' in page


def test_usage_names_no_dataset_that_is_deleted(alice: Visitor, store: Store) -> None:
    raw = made.make_dataset(store, alice.owner)
    made.take(store, raw, owner=alice.owner)
    datasets.remove(store, ids.OwnerName(alice.owner), raw)
    (told,) = alice.as_json("/usage")["datasets"]
    assert (told["name"], told["credits"]) == (None, 1)
    assert '<span class="none">deleted</span>' in alice.get("/usage")


def test_a_long_ledger_goes_on_at_another_page(alice: Visitor, store: Store) -> None:
    for number in range(230):
        accounts.grant(store, ids.OwnerName("alice"), 1, f"note {number:03}")
    shown = [note for page in alice.pages("/usage") for note in re.findall(r"note \d{3}", page)]
    assert shown == [f"note {number:03}" for number in range(229, -1, -1)]
    answer = alice.as_json("/usage")
    assert len(answer["data"]["ledger"]) > 230
    assert answer["next"] is None
    alice.get("/usage?after=x", 400)


def test_a_key_says_how_long_ago_it_was_made_with_the_moment_at_hand(alice: Visitor) -> None:
    page = alice.get("/keys")
    assert re.search(r'data-label="Made"><time [^>]*title="[^"]+Z">[^<]*(now|ago)</time>', page)
