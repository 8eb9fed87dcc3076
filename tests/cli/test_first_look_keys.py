"""``init`` proposes a key that is an identifier by its nature, and says what is unsure of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.extraction.lists.pages import NAMES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.cli.looking import Looking

TITLE = "<!doctype html><title>A list</title>"
STATES = (
    ("Alabama", "Montgomery", "4,597"), ("Alaska", "Juneau", "245,383"),
    ("Arizona", "Phoenix", "1,026"), ("Arkansas", "Little Rock", "2,961"),
    ("California", "Sacramento", "20,501"), ("Colorado", "Denver", "1,175"),
    ("Delaware", "Dover", "1,399"), ("Florida", "Tallahassee", "31,424"),
)  # fmt: skip
PEOPLE = (
    "ann", "bob", "cid", "dan", "eve", "fay", "gil", "hal", "ina", "jon", "kay", "leo"
)  # fmt: skip


def states() -> str:
    """Water areas all differ, and stand first; the names lead to maps of several states."""
    rows = "".join(
        f"<tr><td>{area} km2<td><a href=/map/{number // 3}>{name}</a><td>{capital}"
        for number, (name, capital, area) in enumerate(STATES)
    )
    return f"{TITLE}<table><tr><th>Water area<th>State<th>Capital{rows}</table>"


def posts() -> str:
    """Each post leads to its author first, who has one post here, and then to itself."""
    made = "".join(
        f'<li class=post><a class=name href="/user/{person}">{person.title()} of the club</a>'
        f"<p>What {person} thinks of the {NAMES[number]}, in a few words</p>"
        f'<a href="/post/{number * 37 % 101 + 500}">Permalink</a>'
        for number, person in enumerate(PEOPLE)
    )
    return f"{TITLE}<main><ul>{made}</ul></main>"


def jobs(first: int, page: int, *, urns: bool = False, rest: str = "") -> str:
    """Ten jobs, whose addresses say where in the list of today they are."""
    made = "".join(
        f"<li class=job><div class=card{f' data-entity-urn=urn:{n * 91 % 997}' if urns else ''}>"
        f'<h3><a href="/jobs/{n * 91 % 997}?jobPosition={n - first + 1}&pageNum={page}'
        f'&refId=r{page}Xa9">{NAMES[n % 12]} maker {n}</a></h3>'
        f"<i>City of {NAMES[n % 5]}</i></div>"
        for n in range(first, first + 10)
    )
    return f"{TITLE}<main><ul>{made}</ul>{rest}</main>"


def offers(*, priced: Sequence[str]) -> str:
    made = "".join(
        f"<li class=offer><h3>{name}</h3><span class=price>{price}</span>"
        for name, price in zip(NAMES, priced, strict=True)
    )
    return f"{TITLE}<main><ul>{made}</ul></main>"


@pytest.mark.parametrize(
    ("page", "key"),
    [(states(), "state"), (posts(), "link_2"), (jobs(1, 0), "title"),
     (jobs(1, 0, urns=True), "entity_urn")],
    ids=["a table of states", "a forum", "a job list", "a job list with identifiers"],
)  # fmt: skip
def test_a_key_is_what_a_record_is_called_or_leads_to(look: Looking, page: str, key: str) -> None:
    look.site.page("/1", page)
    source = look.json()["declaration"]["source"]
    assert source["identity"] == {"kind": "source-key", "field": key}


@pytest.mark.parametrize(("pin", "key"), [("Read me first", "link"), ("Read me {page}", None)])
def test_a_record_that_is_pinned_on_each_page_is_one_row(
    look: Looking, pin: str, key: str | None
) -> None:
    for page in (1, 2):
        pinned = f"<li class=topic><h3><a href=/t/1>{pin.format(page=page)}</a></h3><p>To all"
        made = (
            f"<li class=topic><h3><a href=/t/{n * 37 % 101 + 500}>All about {NAMES[n % 12]} "
            f"{'once' if n < 12 else 'again'}</a></h3><p>What {PEOPLE[n % 12]} says of it"
            for n in range(page * 12 - 12, page * 12)
        )
        more = "<a rel=next href=/2>Next</a>" if page == 1 else ""
        look.site.page(f"/{page}", f"{TITLE}<main><ul>{pinned}{''.join(made)}</ul>{more}</main>")
    source = look.json()["declaration"]["source"]
    assert source["pagination"]["kind"] == "next-link"
    assert (source["identity"].get("field") == "link") is (key == "link")


def test_an_address_that_follows_the_place_is_passed_over_and_said_to_be(look: Looking) -> None:
    look.site.page("/1", jobs(1, 0))
    out, _ = look()
    assert "Key: title, filled and unique in 10 records." in out
    assert (
        "Unsure: link is no key, since jobPosition in its address follows the place in the list or "
        "the visit; title is the key in its place." in out
    )


def test_the_next_run_of_a_job_list_changes_only_what_moved_in(look: Looking) -> None:
    """A job is added above, so that all positions move by one."""
    look.site.page("/1", jobs(2, 0))
    look()
    look.livedata("dataset", "create", str(look.file))
    look.typed("run", "a-list")
    look.site.page("/1", jobs(1, 0))
    out, _ = look.typed("run", "a-list")
    assert "1 new" in out
    assert "1 gone" in out


def test_only_the_key_and_the_title_are_required(look: Looking) -> None:
    """A price on application stops no Run."""
    look.site.page("/1", offers(priced=[f"{number * 7 % 31}.50 €" for number in range(12)]))
    out, _ = look()
    assert "Required: title. A Run in which one of them is empty is not accepted." in out
    look.livedata("dataset", "create", str(look.file))
    look.typed("run", "a-list")
    look.site.page("/1", offers(priced=["on application", "", *["7 €"] * 10]))
    out, _ = look.typed("run", "a-list")
    assert "succeeded" in out


def test_a_figure_is_the_last_choice_and_said_to_be_unsure(look: Looking) -> None:
    rows = "".join(
        f"<tr><td>{'ab'[number % 2]}<td>{number * number + 3} kg" for number in range(12)
    )
    look.site.page("/1", f"{TITLE}<table><tr><th>Kind<th>Weight{rows}</table>")
    answer = look.json()
    assert answer["declaration"]["source"]["identity"]["fields"] == ["kind", "weight"]
    (unsure,) = answer["unsure"]
    assert unsure == (
        "only kind with weight tells the records apart, and may change: a record of which it "
        "changes counts as one row gone and one row new"
    )


def test_what_stays_once_a_dataset_is_made_is_said_before(look: Looking) -> None:
    look.site.page("/1", posts())
    _, err = look()
    lines = err.splitlines()
    schema = look.file.parent / "source.schema.json"
    assert lines == [
        f"Before that, change in {look.file} what stays afterwards: key, names and types.",
        f"Make a dataset of it: livedata dataset create {look.file}",
        f"Editors complete and check it by {schema}, which is new beside it.",
    ]
    _, err = look("--force")
    assert err.splitlines() == lines[:2]


def test_who_makes_a_dataset_reads_its_key(look: Looking) -> None:
    look.site.page("/1", posts())
    look()
    made = look.typed("dataset", "create", str(look.file))[0].splitlines()
    assert [line.split() for line in made if line.startswith("key")] == [["key", "link_2"]]
