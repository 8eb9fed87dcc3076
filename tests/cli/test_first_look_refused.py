"""``init URL`` on what is no page of a list: a sentence, and what to do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests import faults
from tests.extraction.lists.pages import MENU, NAMES, cards, table_of
from tests.site import Answer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.cli.looking import Looking
    from tests.site import Handler

PAGES = sorted((Path(__file__).parents[1] / "pages").glob("*.html"))
HTML = "<!doctype html><title>Kitchen</title>"
PASSWORD = "<form action=/login><input name=user><input type=password name=word></form>"


def sent(body: str, kind: str = "text/html; charset=utf-8") -> Handler:
    return faults.fixed(200, body, {"Content-Type": kind})


def feed(kind: str = "text/html") -> Handler:
    items = "".join(f"<item><title>{name}</title><link>/{name}</link></item>" for name in NAMES)
    return sent(f'<?xml version="1.0"?><rss version="2.0"><channel>{items}</channel></rss>', kind)


NO_LIST: Mapping[str, tuple[Handler, str]] = {
    "a text": (sent(f"{HTML}<h1>About</h1><p>We sell kettles."), "repeats at least three times"),
    "one record": (
        sent(f"{HTML}<div class=product><h2>Kettle</h2><b>7 €</b></div>"),
        "repeats at least three times",
    ),
    "an empty shell": (
        sent(f"{HTML}<div id=app></div><script>{'fill();' * 99}</script>"),
        "read it with --browser",
    ),
    "cards that wait for a script": (
        sent(f"{HTML}{'<div class=card><div></div></div>' * 9}<script src=/app.js></script>"),
        "read it with --browser",
    ),
    "a page to log in": (sent(f"{HTML}<h1>Welcome</h1>{PASSWORD}"), "does not log in"),
    "a feed that is sent as a page": (feed(), "is a feed, not a page"),
    "more cells than a page may have read": (
        sent(f"{HTML}{table_of(240, 500)}"),
        "takes more steps than a page may",
    ),
    "records that all say the same": (
        sent(f"{HTML}<ul>{'<li class=a><b>Kettle</b> <i>7 €</i>' * 9}</ul>"),
        "repeats at least three times",
    ),
}


@pytest.mark.parametrize("case", NO_LIST)
def test_a_page_without_a_list_gets_the_template(look: Looking, case: str) -> None:
    handler, message = NO_LIST[case]
    look.site.route("/1", handler)
    out, err = look(code=3)
    assert message in err
    assert "a blank form" in out
    assert 'itemSelector = "li.product"' in look.file.read_text()


UNREAD: Mapping[str, tuple[Handler, int, str]] = {
    "no such page": (faults.status(404), 3, "status 404"),
    "a broken site": (faults.status(500), 3, "status 500"),
    "a refusal": (faults.status(403), 4, "status 403"),
    "a challenge": (faults.challenge(), 4, "a challenge for browsers"),
    "nothing": (faults.empty(), 4, "answered with nothing"),
    "a way to the login": (faults.login_redirect(), 4, "sent it to a login page"),
    "a feed": (feed("application/rss+xml"), 3, "not an HTML page but application/rss+xml"),
    "a PDF": (sent("%PDF-1.7", "application/pdf"), 3, "not an HTML page but application/pdf"),
    "too deep a page": (sent(f"{HTML}{'<div>' * 20_000}"), 3, "nests them so deeply"),
}


@pytest.mark.parametrize("case", UNREAD)
def test_a_page_that_cannot_be_read_writes_nothing(look: Looking, case: str) -> None:
    handler, code, message = UNREAD[case]
    look.site.route("/1", handler)
    look.site.route("/login", faults.login_page())
    answer = look.json(code=code)
    assert (answer["file"], answer["ready"]) == (None, False)
    assert message in answer["error"]
    assert not look.file.exists()


TEXT = "".join(f"<p>{name}: we sell it, and say at length why it is a good one." for name in NAMES)


@pytest.mark.parametrize(
    ("body", "what"),
    [(f"{MENU}<p>We sell kettles.", "a menu"), (TEXT, "the paragraphs of a text")],
)
def test_a_page_on_which_no_records_repeat_is_told_to_have_no_list(
    look: Looking, body: str, what: str
) -> None:
    look.site.page("/1", f"{HTML}{body}")
    out, err = look(code=3)
    assert err.startswith(f"No list found on this page: what repeats on {look.site.at('/1')} is")
    assert what in err
    assert out.startswith("Lists on the page:\n\nlist  records")
    assert "a blank form" in out
    answer = look.json("--force", code=3)
    assert (answer["declaration"], answer["ready"]) == (None, False)
    assert answer["error"] in err
    assert len(answer["lists"]) == 1


NEXT_PAGES: Mapping[str, tuple[Handler, str]] = {
    "no such page": (faults.status(404), "answered 404"),
    "a page past the last one": (
        lambda _: Answer(404, f"{HTML}<p>Nothing here", {"Content-Type": "text/html"}),
        "answered 404",
    ),
    "a broken site": (faults.status(500), "answered 500"),
    "a PDF": (
        sent("%PDF-1.7", "application/pdf"),
        "could not be read: it is not an HTML page but application/pdf",
    ),
}


@pytest.mark.parametrize("case", NEXT_PAGES)
def test_a_next_page_that_is_not_answered_is_told_so(look: Looking, case: str) -> None:
    handler, said = NEXT_PAGES[case]
    look.site.page("/1", f"{HTML}<ul>{cards()}</ul><a class=next href=/2>Next</a>")
    look.site.route("/2", handler)
    doubt = f"{look.site.at('/2')} looks like the next page, but {said}"
    assert doubt in look.json()["unsure"]


def test_a_place_at_which_another_part_stands_is_told_to_be_left_out(look: Looking) -> None:
    rows = "".join(
        f"<li><h3><a href=/{number}>{name}</a></h3>"
        f"{'<div>Until May</div>' if number % 3 == 0 else ''}<div>by Author {number}</div>"
        f"<div>{number * 7} comments</div>"
        for number, name in enumerate(NAMES)
    )
    look.site.page("/1", f"{HTML}<ul>{rows}</ul>")
    told = [doubt for doubt in look.json()["unsure"] if "another part stands there" in doubt]
    assert told
    assert all(doubt.startswith("div") and "is left out" in doubt for doubt in told)


def test_a_menu_that_is_named_is_read_with_a_doubt(look: Looking) -> None:
    look.site.page("/1", f"{HTML}{MENU}<p>We sell kettles.")
    for named in (("--list", "1"), ("--like", "About us", "--force")):
        answer = look.json(*named)
        assert answer["rows"][0]["title"] == "Home"
        assert any("stand in a menu" in doubt for doubt in answer["unsure"])


def test_a_page_of_more_records_than_a_run_takes_says_how_many(look: Looking) -> None:
    items = "".join(
        f"<li class=item><a href=/{number}>Mug {number}</a><b>{number} g</b>"
        for number in range(1_500)
    )
    look.site.page("/1", f"{HTML}<ul>{items}</ul>")
    out, err = look(code=3)
    assert out.startswith("1500 records in li")
    assert "The page has 1,500 records and a Run takes at most 1,000" in err
    assert "# NOT READY. The page has 1,500 records" in look.file.read_text()


def test_two_lists_of_one_kind_are_both_offered(look: Looking) -> None:
    halves = [
        f"<h2>{kind}</h2><ul id={kind}>"
        + "".join(
            f"<li><a href=/{kind}/{number}>{kind} {name}</a><b>{number} g</b>"
            for number, name in rows
        )
        + "</ul>"
        for kind, rows in (("steel", list(enumerate(NAMES))), ("glass", list(enumerate(NAMES, 20))))
    ]
    look.site.page("/1", f"{HTML}{''.join(halves)}")
    counts = {seen["selector"]: seen["records"] for seen in look.json()["lists"]}
    assert counts["#steel li"] == counts["#glass li"] == 12


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--list", "99"), "--list 99: the page has 1 list"),
        (("--columns", "weight"), "it has title, link, price"),
        (("--columns", " , "), "--columns names no column"),
        (("--like", " "), "--like needs a text of the list"),
    ],
)
def test_what_the_page_cannot_have_is_wrong_usage(
    look: Looking, options: tuple[str, ...], message: str
) -> None:
    items = "".join(
        f"<li><a href=/{name}>{name}</a><i>{number} €</i>" for number, name in enumerate(NAMES)
    )
    look.site.page("/1", f"{HTML}<ul>{items}</ul>")
    _, err = look(*options, code=2)
    assert message in err
    assert not look.file.exists()


def test_a_folder_that_is_not_there_is_said_before_anything_is_read(look: Looking) -> None:
    look.site.route("/1", lambda _: Answer(200, "never read"))
    _, err = look.typed("init", look.site.at("/1"), "-o", "/nowhere/source.toml", code=1)
    assert "/nowhere is no folder" in err
    assert look.site.paths == []


@pytest.mark.slow
@pytest.mark.parametrize("file", PAGES, ids=lambda file: file.stem)
def test_half_a_page_ends_as_a_whole_one(look: Looking, file: Path) -> None:
    """What was cut off, or sent in another encoding than it says, is read as far as it goes."""
    half = file.read_bytes()[: file.stat().st_size // 2]
    look.site.route("/1", faults.fixed(200, half + b"\xff\xfe<b<i>", {"Content-Type": "text/html"}))
    with look.livedata.start("init", look.site.at("/1"), "-o", str(look.file)) as process:
        _, err = process.communicate(timeout=60)
    assert process.returncode in {0, 3}, err
    assert b"Traceback" not in err
