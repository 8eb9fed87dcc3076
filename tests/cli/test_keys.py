from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.cli.shell import Shell


def test_a_key_is_shown_once(livedata: Shell) -> None:
    made = livedata.json("key", "create", "--owner", "alice", "--label", "phone")
    assert made["key"].startswith("ld_")
    assert len(made["key"]) == 3 + 64
    (listed,) = livedata.json("key", "list")
    assert "key" not in listed
    assert (listed["owner"], listed["label"]) == ("alice", "phone")


def test_create_says_that_the_key_is_not_shown_again(livedata: Shell) -> None:
    result = livedata("key", "create")
    assert result.stdout.startswith("key    ld_")
    assert "not shown again" in result.stderr


def test_list_is_everyone_s_unless_an_owner_is_named(livedata: Shell) -> None:
    assert "livedata key create" in livedata("key", "list").stderr
    livedata("key", "create", "--owner", "alice")
    livedata("key", "create")
    assert len(livedata.out("key", "list").splitlines()) == 3
    assert len(livedata.json("key", "list", "--owner", "alice")) == 1


def test_revoke_ends_a_key(livedata: Shell) -> None:
    made = livedata.json("key", "create", "--owner", "alice")
    assert livedata.json("key", "revoke", made["id"][-8:])["revokedAt"] is not None
    assert "alice is revoked" in livedata.out("key", "revoke", made["id"])


def test_revoke_of_an_unknown_key_is_an_error(livedata: Shell) -> None:
    made = livedata.json("key", "create", "--owner", "alice")
    assert "livedata key list" in livedata.error("key", "revoke", "nothing")
    assert "no key" in livedata.error("key", "revoke", made["id"], "--owner", "bob")
    assert livedata.json("key", "list")[0]["revokedAt"] is None


def test_an_owner_ends_a_key_of_theirs_alone(livedata: Shell) -> None:
    other = livedata.json("key", "create", "--owner", "alice")["id"]
    mine = livedata.json("key", "create", "--owner", "bob")["id"]
    common = next(n for n in range(1, 36) if mine[:n] != other[:n]) - 1
    assert livedata.json("key", "revoke", mine[:common], "--owner", "bob")["id"] == mine
    assert livedata.json("key", "list", "--owner", "alice")[0]["revokedAt"] is None
