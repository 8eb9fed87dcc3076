"""Which column tells the records apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from livedata.extraction.lists.columns import ListColumn
from livedata.extraction.lists.keys import Key, NoKey, find_key, titles
from tests.extraction.lists.pages import NAMES, proposed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from livedata.extraction.lists.keys import Why


def column(name: str, values: Sequence[str | None]) -> ListColumn:
    """A column: `link` is the address of the records, `id` stands on themselves, `price` counts."""
    return ListColumn(
        name,
        "" if name == "id" else f"a.{name.removesuffix('_link')}",
        "href" if name.endswith("link") else "id" if name == "id" else None,
        "number" if name in {"price", "area"} else "string",
        {number: value for number, value in enumerate(values) if value},
        main=name in {"link", "heading"},
    )


def key_of(columns: Mapping[str, Sequence[str | None]], first: int | None = None) -> Key | NoKey:
    made = [column(name, values) for name, values in columns.items()]
    return find_key(made, list(zip(*columns.values(), strict=True)), first)


def key(columns: Mapping[str, Sequence[str | None]], first: int | None = None) -> tuple[str, ...]:
    """The names of the key; none if there is none."""
    chosen = key_of(columns, first)
    return chosen.names if isinstance(chosen, Key) else ()


A, B, C = "https://a.example/1", "https://a.example/2", "https://a.example/9"
STATES = ["Alabama", "Alaska", "Arizona", "Arkansas"]
PEOPLE = [f"https://a.example/user/{name}" for name in "abcd"]
POSTS = [f"https://a.example/post/{number}" for number in (77, 31, 4, 8)]


def jobs(parameters: str, *numbers: int) -> list[str]:
    """Addresses of jobs with these parameters, {at} being the place and {hash} a new token each."""
    return [
        f"https://a.example/jobs/{n}?{parameters.format(at=index, hash=f'q{n}Zx7Kp{index}wB0')}"
        for index, n in enumerate(numbers, 1)
    ]


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"title": ["x", "y", "z"], "link": [A, B, C]}, ("link",)),
        ({"title": ["x", "y", "z"], "sku": ["K1", "K4", "K9"]}, ("sku",)),
        ({"title": ["x", "y", "z"], "link": [A, A, C]}, ("title",)),
        ({"title": ["x", "y", "z"], "id": ["row_0", "row_1", "row_2"]}, ("title",)),
        ({"title": ["x", "y", "z"], "id": ["p_7", "p_3", "p_9"]}, ("id",)),
        ({"title": ["x", "y", "z"], "id": ["p_7", "p_3", "p_9"], "link": [A, B, C]}, ("link",)),
        ({"title": ["x", "y", "z"], "id": ["jug", "mug", "pan"], "link": [A, B, C]}, ("id",)),
        ({"title": ["x", "y", "z"], "id": ["ember412", "ember437", "ember466"]}, ("title",)),
        ({"place": ["1.", "2.", "3."], "title": ["x", "y", "z"]}, ("title",)),
        ({"title": ["x", "x", "z"], "city": ["a", "b", "b"]}, ("title", "city")),
        ({"text": ["y" * 150, "x", "z"], "city": ["a", "b", "c"]}, ("city",)),
        ({"link": [f"{A}?sid=1", f"{A}?sid=2", B], "sku": ["K1", "K4", "K9"]}, ("sku",)),
        ({"title": ["x", "x", "z"], "date": ["1 May 2026", "2 May 2026", "2 May 2026"]},
         ("title", "date")),
        ({"water_area": ["4,594 km2", "245,383 km2", "1,026 km2", "2,961 km2"], "state": STATES},
         ("state",)),
        ({"area": ["4594", "245383", "1026", "2961"], "state": STATES}, ("state",)),
        ({"state": STATES, "founded": ["Dec 14, 1819", "Jan 3, 1959", "Feb 14, 1912", "n/a"]},
         ("state",)),
        ({"author_link": PEOPLE, "link": POSTS}, ("link",)),
        ({"author_link": PEOPLE, "subject": STATES}, ("subject",)),
        ({"author": ["ann", "bob", "cid", "dan"], "text": STATES}, ("text",)),
        ({"comments": ["2", "31", "4"], "posted": ["1 day ago", "2 days ago", "3 days ago"],
          "text": ["x", "y", "z"]}, ("text",)),
        ({"plate": ["B-AB 1", "B-AB 7", "M-X 88"], "owner_name": ["x", "y", "z"]}, ("plate",)),
        ({"isbn": ["978-3-16-148410-0", "978-0-306-40615-7", "978-1-86197-876-9"],
          "title": ["x", "y", "z"]}, ("isbn",)),
        ({"title": ["x", "y", "z"], "code": ["#define A(b)", "#define C(d)", "#define E(f)"]},
         ("title",)),
        ({"image": ["i/7.jpg", "i/3.jpg", "i/9.jpg"], "title": ["x", "x", "z"],
          "size": ["S", "M", "M"]}, ("title", "size")),
    ],
)  # fmt: skip
def test_the_key_is_what_will_change_the_least(
    columns: Mapping[str, Sequence[str]], expected: tuple[str, ...]
) -> None:
    assert key(columns) == expected
    chosen = key_of(columns)
    assert isinstance(chosen, Key)
    # The city may be that of others too.
    assert chosen.sure == (len(expected) == 1 and expected != ("city",))


@pytest.mark.parametrize(
    ("columns", "expected", "standing"),
    [
        ({"price": ["4", "7", "2"], "area": ["77", "31", "5"]}, ("area",), "figure"),
        ({"weight": ["4 kg", "7 kg", "2.5 kg"]}, ("weight",), "figure"),
        ({"weight": ["1 kg", "2 kg", "3 kg"]}, ("weight",), "place"),
        ({"day": ["2026-05-01", "2026-05-04", "2026-05-09"], "area": ["77", "31", "5"]},
         ("day",), "moment"),
        ({"image": ["i/7.jpg", "i/3.jpg", "i/9.jpg"], "area": ["77", "31", "5"]},
         ("image",), "image"),
        ({"text": ["x", "x", "z"], "city": ["a", "b", "c"]}, ("city",), "text"),
        ({"text": ["y" * 150, "x" * 160, "z" * 170], "author": ["a", "a", "b"],
          "topic": ["k", "l", "k"]}, ("text",), "prose"),
        ({"link": [A, A, C], "other_link": [f"{B}/x", f"{B}/y", f"{B}/z"]},
         ("other_link",), "beside"),
        ({"title": ["1. Jug", "2. Mug", "3. Pan"]}, ("title",), "numbered"),
        ({"title": ["5.1. x", "5.2. y", "5.3. z"], "text": ["k", "l", "m"]}, ("text",), "name"),
        ({"text": ["y" * 150, "x" * 160, "z" * 170]}, ("text",), "prose"),
        ({"title": ["x", "x", "z"], "area": ["7", "31", "5"]}, ("title", "area"),
         "several_of_today"),
        ({"text": ["y" * 150, "y" * 150, "z" * 160], "instead": ["k" * 160, "l" * 150, "k" * 160],
          "area": ["7", "31", "7"]}, ("text", "area"), "several_of_today"),
    ],
)  # fmt: skip
def test_what_only_differs_today_is_the_last_choice_and_unsure(
    columns: Mapping[str, Sequence[str]], expected: tuple[str, ...], standing: str
) -> None:
    chosen = key_of(columns)
    assert isinstance(chosen, Key)
    assert (chosen.names, chosen.standing) == (expected, standing)
    assert chosen.sure == (standing == "name")


@pytest.mark.parametrize(
    ("parameters", "moves"),
    [
        ("jobPosition={at}", "jobPosition"),
        ("refId=aB3&jobPosition={at}", "refId"),
        ("trackingId={hash}", "trackingId"),
        ("t={hash}", "t"),
        ("place={at}&from=list", "place"),
        ("sr=8-{at}", "sr"),
        ("search_key=1", "search_key"),
        ("utm_source=list", "utm_source"),
        ("s=0cc175b9c0f1b6a831c399e269772661", "s"),
        ("category=5f3e", None),
        ("page=1#p{at}4", "the part after #"),
        ("cat=340#top", None),
        ("cat=340", None),
        ("", None),
    ],
)
def test_an_address_that_follows_its_place_or_the_visit_is_no_key(
    parameters: str, moves: str | None
) -> None:
    columns = {"title": STATES, "link": jobs(parameters, 77, 31, 4, 8)}
    chosen = key_of(columns)
    assert isinstance(chosen, Key)
    assert chosen.names == (("title",) if moves else ("link",))
    assert chosen.passed == ({"link": moves} if moves else {})


def test_parameters_that_follow_the_page_are_seen_on_the_second_one() -> None:
    links = [*jobs("q=a7", 77, 31), *jobs("q=b9", 4, 8)]
    assert key({"title": STATES, "link": links}) == ("link",)
    assert key({"title": STATES, "link": links}, first=2) == ("title",)


def test_a_parameter_that_alone_tells_records_apart_says_who_they_are() -> None:
    for name in ("id", "sid"):
        links = [f"https://a.example/job?{name}={number}" for number in (1, 2, 3, 4)]
        assert key({"title": STATES, "link": links}) == ("link",)
    places = [f"https://a.example/job?position={number}" for number in (1, 2, 3, 4)]
    assert key({"title": STATES, "link": places}) == ("title",)


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        ({"title": ["x", None, "z"]}, {"title": "not_filled"}),
        ({"title": ["x", "x", "x"]}, {"title": "not_unique"}),
        ({"posted": ["2 hours ago", "3 hours ago", "5 hours ago"]}, {"posted": "ago"}),
        ({"price": ["1", "2", "3"]}, {"price": "price"}),
        ({"text": ["1.50 €", "2.50 €", "9 €"]}, {"text": "price"}),
        ({"comments": ["14", "2", "3"]}, {"comments": "count"}),
        ({"author_link": PEOPLE}, {"author_link": "person"}),
        ({"link": jobs("position={at}", 7, 7, 7)}, {"link": "moving"}),
        ({}, {}),
    ],
)
def test_without_a_key_each_near_one_has_its_reason(
    columns: Mapping[str, Sequence[str | None]], why: Mapping[str, Why]
) -> None:
    assert key_of(columns) == NoKey(why)


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"heading": ["x", "x", "z"], "text": ["a", "b", "c"], "price": ["1", "2", "3"]},
         ["heading"]),
        ({"area": ["7", "8", "9"], "text": ["a", "b", "c"], "more": ["k", "l", "m"]}, ["text"]),
        ({"heading": ["x", None, "z"], "price": ["1", "2", "3"]}, []),
    ],
)  # fmt: skip
def test_the_title_is_what_each_record_has_first(
    columns: Mapping[str, Sequence[str | None]], expected: Sequence[str]
) -> None:
    made = [column(name, values) for name, values in columns.items()]
    assert titles(made, list(zip(*columns.values(), strict=True))) == expected


def test_no_rows_have_no_key() -> None:
    assert find_key([], []) == NoKey({})


@pytest.mark.parametrize(
    ("record", "named"),
    [
        ("<li class=hit id=u{n}><h3><a href=/p/{n}>{name}</a></h3><i>{at} €</i>", "link"),
        ("<li class=hit id=u{n}><a href=/p/{n}><b>{name}</b></a><i>{at} €</i>", "link"),
        ("<li class=hit id={name}><h3><a href=/p/{n}>{name}</a></h3><i>{at} €</i>", "id"),
        ("<li class=hit data-id={n}><h3><a href=/p/{n}>{name}</a></h3><i>{at} €</i>", "id"),
        ("<li class=hit id=u{n}><h3>{name}</h3><a href=/p/{n}>More of it</a><i>{at} €</i>", "id"),
    ],
)
def test_the_link_of_the_title_is_a_better_key_than_an_id_with_a_number(
    record: str, named: str
) -> None:
    made = (
        record.format(n=number * 7919 % 10007, name=name.replace(" ", "-"), at=number * 7 % 9)
        for number, name in enumerate(NAMES, 1)
    )
    key = proposed(f"<ul>{''.join(made)}</ul>").key
    assert isinstance(key, Key)
    assert key.names == (named,)
    assert key.sure


def test_a_link_that_stands_in_a_sentence_too_is_still_that_of_its_record() -> None:
    """The picture leads where "More info" does at the end of the text, and "Book now" below it."""
    text = (
        "A day on the water with all that is needed for it, from the early morning until the night"
    )
    proposal = proposed(
        "".join(
            f"<article class=tour><a href=/t/{number}><img src=/i/{number}.jpg></a><h2>{name}</h2>"
            f"<div class=about>{text} {number}0 <a href=/t/{number}>More info</a></div>"
            f"<a class=book href=/t/{number}>Book now</a></article>"
            for number, name in enumerate(NAMES, 1)
        )
    )
    assert isinstance(proposal.key, Key)
    assert proposal.key.names == ("link",)
