"""``livedata share``: an address is made, listed and revoked, and shown once."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from livedata.store.database.store import Store
from tests.api.serving import Serving
from tests.cli.shell import Shell
from tests.made import ITEMS, make_dataset, take

pytestmark = pytest.mark.one_database
ADDRESS = re.compile(r"(https?://[^/]+(?:/data)?)/share/([A-Za-z0-9_-]{43})/(.*)\.csv\n")


@pytest.fixture(autouse=True)
def shop(store: Store) -> bytes:
    """A dataset with three rows."""
    dataset = make_dataset(store)
    take(store, dataset, ITEMS)
    return dataset


def test_an_address_is_printed_once_and_alone(livedata: Shell) -> None:
    made = livedata("share", "add", "shop", "--columns", "title, price", "--label", "for Bob")
    match = ADDRESS.fullmatch(made.stdout)
    assert match
    assert (match[1], match[3]) == ("http://127.0.0.1:8000", "shop")
    (share,) = livedata.json("share", "list")
    assert made.stderr == (
        "Keep the address now: it is not shown again. To end it: livedata share revoke "
        f"{share['id']}\n"
        "Only this machine reaches it, while `livedata serve` answers there. --base or "
        "LIVEDATA_PUBLIC_URL says where others reach it, or on which port.\n"
    )
    listed = livedata("share", "list").output
    assert match[2] not in listed
    assert "for Bob" in listed


def test_base_or_the_setting_says_where_others_reach_it(
    livedata: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIVEDATA_PUBLIC_URL", "https://data.example.org/data")
    made = livedata("share", "add", "shop")
    match = ADDRESS.fullmatch(made.stdout)
    assert match
    assert match[1] == "https://data.example.org/data"
    assert "Only this machine" not in made.stderr
    given = livedata.out("share", "add", "shop", "--base", "http://10.0.0.1:9/")
    assert given.startswith("http://10.0.0.1:9/share/")
    for wrong in ("data.example.org", "ftp://x", "https://a:b@x", "https://x?y"):
        assert "is no address" in livedata.error("share", "add", "shop", "--base", wrong, code=2)


def test_json_has_what_is_shared_and_the_address_only_when_it_is_made(livedata: Shell) -> None:
    where = ("--where", "price < 20", "--where", "stock = true")
    made = livedata.json("share", "add", "shop", "--columns", "title", *where)
    address = made.pop("address")
    assert ADDRESS.fullmatch(f"{address}\n")
    assert made == {
        "id": made["id"],
        "dataset": "shop",
        "label": None,
        "columns": ["title"],
        "where": ["price < 20", "stock = true"],
        "createdAt": made["createdAt"],
        "revoked": False,
    }
    assert livedata.json("share", "list") == [made]
    assert livedata.json("share", "revoke", made["id"][:13]) == {**made, "revoked": True}


@pytest.mark.parametrize(
    ("words", "said", "code"),
    [
        (("add", "nope"), "There is no dataset 'nope'.", 1),
        (("add", "shop", "--columns", "nope"), "There is no column 'nope'. There is: sku,", 1),
        (("add", "shop", "--columns", "title,"), "names of columns, with commas", 2),
        (("add", "shop", "--columns", ""), "names of columns, with commas", 2),
        (("add", "shop", "--where", "prize < 3"), "is price meant?", 1),
        (("add", "shop", "--where", "price falls"), "falls", 1),
        (("add", "shop", "--where", ""), "clause", 1),
        (("add", "shop", "--label", " "), "A label has 1 to 200 characters.", 1),
        (("add", "shop", "--label", "x" * 201), "A label has 1 to 200 characters.", 1),
        (("list", "nope"), "There is no dataset 'nope'.", 1),
        (("revoke", "nope"), "There is no share 'nope'.", 1),
        (("revoke", ""), "There is no share ''.", 1),
    ],
)
def test_what_cannot_be_is_one_sentence(
    livedata: Shell, words: tuple[str, ...], said: str, code: int
) -> None:
    livedata("share", "add", "shop")
    livedata("share", "add", "shop")
    assert said in livedata.error("share", *words, code=code)
    assert len(livedata.json("share", "list")) == 2


def test_an_id_that_two_addresses_have_in_part_names_neither(livedata: Shell) -> None:
    for _ in range(2):
        livedata("share", "add", "shop")
    first, second = livedata.json("share", "list")
    common = next(n for n in range(36) if first["id"][n] != second["id"][n])
    error = livedata.error("share", "revoke", first["id"][:common])
    assert f"2 shares begin or end with {first['id'][:common]!r}." in error
    livedata("share", "revoke", first["id"])
    assert [each["revoked"] for each in livedata.json("share", "list")] == [True, False]
    assert "revoked" in livedata.out("share", "list", "shop")


def test_an_address_that_is_known_alone_is_enough_to_revoke_it(livedata: Shell) -> None:
    addresses = [livedata.out("share", "add", "shop").strip() for _ in range(3)]
    first, _, third = livedata.json("share", "list")
    livedata("share", "revoke", addresses[0])
    token = addresses[2].split("/")[-2]
    assert livedata.json("share", "revoke", token)["id"] == third["id"]
    assert [each["revoked"] for each in livedata.json("share", "list")] == [True, False, True]
    assert first["id"] in livedata.out("share", "revoke", addresses[0])


def test_an_address_of_somebody_else_is_not_revoked_and_not_repeated(livedata: Shell) -> None:
    address = livedata.out("share", "add", "shop").strip()
    error = livedata.error("share", "revoke", address, "--owner", "bob")
    assert "No share has that address." in error
    assert address.split("/")[-2] not in error
    assert not livedata.json("share", "list")[0]["revoked"]


def test_nothing_shared_says_how_to_share(livedata: Shell) -> None:
    assert livedata("share", "list").output == (
        "No table is shared yet. Share one: livedata share add D\n"
    )


def test_a_name_that_is_no_path_stays_out_of_the_address(livedata: Shell) -> None:
    for name, shown in (("a/b?c#d e", "a-b-c-d-e"), ("ключ", "table"), ("x" * 100, "x" * 60)):
        livedata("dataset", "update", "shop", "--name", name)
        match = ADDRESS.fullmatch(livedata.out("share", "add", name))
        assert match
        assert match[3] == shown
        livedata("dataset", "update", name, "--name", "shop")


def test_a_revoked_address_is_dead_at_once_on_a_server_that_runs(
    livedata: Shell, tmp_path: Path
) -> None:
    path = urlsplit(livedata.json("share", "add", "shop")["address"]).path
    with Serving(tmp_path, "") as serving:
        connection = serving.connect()
        statuses = []
        for _ in range(2):
            connection.request("GET", path)
            answer = connection.getresponse()
            answer.read()
            statuses.append(answer.status)
            livedata("share", "revoke", livedata.json("share", "list")[0]["id"])
        connection.close()
    assert statuses == [200, 404]
