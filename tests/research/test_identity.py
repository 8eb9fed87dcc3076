"""One entity has one key for good: rules 14.7."""

from __future__ import annotations

import pytest

from livedata.model.research.recipe import EntityKind
from livedata.model.research.record import KnownEntity
from livedata.rules.research.identity import (
    Ambiguous,
    ClaimedIdentity,
    Entities,
    Resolved,
    Scope,
    entity_key,
    fold_name,
    fold_url,
    same_place,
)


def known(
    anchor: str, *names: str, url: str | None = None, kind: EntityKind = "company"
) -> KnownEntity:
    return KnownEntity(
        key=entity_key(kind, anchor, ()),
        kind=kind,
        anchor=anchor,
        scope=(),
        names=names,
        urls=() if url is None else (url,),
        aliases=names,
    )


MERCURY_BANK = known("mercury.com", "mercury", url="mercury.com")
MERCURY_MARINE = known("mercury-marine.com", "mercury", url="mercury-marine.com")
ACME = known("acme", "acme")


def row(name: str, url: str | None = None, scope: Scope = ()) -> ClaimedIdentity:
    return ClaimedIdentity(name, url, scope)


@pytest.mark.parametrize(
    ("name", "kind", "folded"),
    [
        ("ACME Ltd.", "company", "acme"),
        ("Acme, Inc", "company", "acme"),
        ("Smith & Co. KG", "company", "smith"),
        ("AB Volvo", "company", "ab volvo"),
        ("Ltd", "company", "ltd"),
        ("ACME Ltd.", "product", "acme ltd"),
        ("Acme™ 2", "product", "acme 2"),
        ("C", "product", "c"),
        ("C++", "product", "c++"),
        ("C#", "product", "c#"),
        (".NET", "product", ".net"),
        ("St. John’s", "other", "st. john s"),
        ("!!!", "other", "!!!"),
        ("\u200b", "other", ""),
    ],
)
def test_names_fold_to_what_they_are_found_by(name: str, kind: EntityKind, folded: str) -> None:
    assert fold_name(name, kind) == folded


@pytest.mark.parametrize(
    ("url", "folded"),
    [
        ("https://www.Acme.com/", "acme.com"),
        ("http://acme.com:80/about/?a=1#b", "acme.com/about"),
        ("https://user:pass@acme.com:8443/x", "acme.com:8443/x"),
        ("https://münchen.de", "xn--mnchen-3ya.de"),
        ("mailto:a@acme.com", None),
        ("https://[bad", None),
        ("https:///path", None),
    ],
)
def test_addresses_fold_to_host_and_path(url: str, folded: str | None) -> None:
    assert fold_url(url) == folded


@pytest.mark.parametrize(
    ("url", "other", "kind", "same"),
    [
        ("acme.com/a", "acme.com/b", "company", True),
        ("acme.com", "acme.org", "company", False),
        ("forge.example/a", "forge.example/b", "product", False),
        ("forge.example/a", "forge.example/a/docs", "product", True),
        ("forge.example/a", "forge.example/ab", "product", False),
    ],
)
def test_products_share_hosts_and_others_do_not(
    url: str, other: str, kind: EntityKind, *, same: bool
) -> None:
    assert same_place(url, other, kind) is same


@pytest.mark.parametrize(
    ("candidate", "entity"),
    [
        (row("ACME Ltd"), ACME),
        (row("acme", "acme.com"), ACME),
        (row("Mercury", "mercury.com/about"), MERCURY_BANK),
        (row("Mercury Bank", "mercury.com"), MERCURY_BANK),
        (row("Mercury", "mercury-marine.com"), MERCURY_MARINE),
    ],
)
def test_an_entity_is_found_by_its_name_and_then_by_its_address(
    candidate: ClaimedIdentity, entity: KnownEntity
) -> None:
    entities = Entities("company", [MERCURY_BANK, MERCURY_MARINE, ACME])
    assert entities.resolve(candidate) == Resolved(entity.key, minted=False)


def test_a_bare_name_of_two_entities_is_ambiguous() -> None:
    entities = Entities("company", [MERCURY_BANK, MERCURY_MARINE])
    keys = sorted([MERCURY_BANK.key, MERCURY_MARINE.key])
    assert entities.resolve(row("Mercury")) == Ambiguous(keys)


@pytest.mark.parametrize(
    "candidate",
    [
        row("Mercury", "mercury.example"),
        row("Venus", "mercury.com"),
        row("Mercury", "mercury.com", (("year", "2025"),)),
    ],
    ids=["another host", "another name at the same host", "another scope"],
)
def test_what_differs_is_another_entity(candidate: ClaimedIdentity) -> None:
    resolved = Entities("company", [MERCURY_BANK]).resolve(candidate)
    assert isinstance(resolved, Resolved)
    assert resolved.minted


def test_a_conference_of_two_years_is_two_entities() -> None:
    entities = Entities("event", [])
    rows = [row("PyCon", scope=(("year", year),)) for year in ("2025", "2026", "2025")]
    first, second, again = [entities.resolve(each) for each in rows]
    assert isinstance(first, Resolved)
    assert isinstance(second, Resolved)
    assert first.key != second.key
    assert again == Resolved(first.key, minted=False)


def test_languages_with_signs_in_their_names_are_four() -> None:
    entities = Entities("product", [])
    resolved = [entities.resolve(row(name)) for name in ("C", "C++", "C#", ".NET")]
    assert len({each.key for each in resolved if isinstance(each, Resolved)}) == 4


def test_a_key_that_another_entity_was_given_is_ambiguous() -> None:
    taken = known("venus", "planet venus")
    assert Entities("company", [taken]).resolve(row("Venus")) == Ambiguous([taken.key])


def test_a_key_is_the_digest_of_what_it_was_made_of() -> None:
    # printf '["entity/1","event","pycon",[["year","2025"]]]' | sha256sum
    digest = "23401e6e4d314b1e0f3bd7adfe1a89aa1febfc41c50734d8531fd3655560d5a3"
    assert entity_key("event", "pycon", (("year", "2025"),)) == f"entity:{digest}"
