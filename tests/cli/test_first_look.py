"""``init URL``: from an address to a source that a Run accepts."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

import pytest

from tests.extraction.lists.pages import MENU, NAMES, card, cards
from tests.listings import PAGES
from tests.site import Answer

if TYPE_CHECKING:
    from tests.cli.looking import Looking
    from tests.site import Handler, Request

TITLE = "<!doctype html><title>Kitchen &amp; more</title>"
NEXT = '<a class="next" href="/2">Next</a>'


def listing(numbers: range, tail: str = "") -> str:
    made = "".join(card(number, f"{NAMES[number % 12]} {number}") for number in numbers)
    return f"{TITLE}{MENU}<main><ul>{made}</ul>{tail}</main>"


@pytest.mark.slow
def test_from_an_address_to_a_table_without_editing(look: Looking) -> None:
    look.site.page("/1", listing(range(12), NEXT))
    look.site.page("/2", listing(range(12, 20)))
    out, err = look()
    assert out.splitlines()[0] == (
        "12 records in li.product on the page; 8 other ones on page 2 (a.next)."
    )
    assert "Key: link, filled and unique in 20 records." in out
    assert f"Wrote {look.file}: a Run would accept it." in out
    assert f"livedata dataset create {look.file}" in err
    look.livedata("dataset", "create", str(look.file))
    out, err = look.typed("run", "kitchen-more")
    assert "succeeded" in out
    assert err == "See its rows: livedata rows list kitchen-more\n"
    rows = look.livedata.json("rows", "list", "kitchen-more")
    assert len(rows) == 20
    look.site.page("/2", listing(range(12, 22)))
    out, err = look.typed("run", "kitchen-more")
    assert "2 new" in out
    assert err == ""


def test_no_column_and_no_value_is_of_a_text_that_is_hidden(look: Looking) -> None:
    style = "<style>.sort-key{display:none}</style>"
    cells = "<td><span class=sort-key>{0:05}</span>{0} km<td style='display:none'>code {0}"
    rows = "".join(
        f"<tr><td><a href='/{name}'>{name}</a>{cells.format(number * 37 % 101 + 7)}"
        for number, name in enumerate(NAMES)
    )
    table = f"<table><tr><th>Name<th>Distance<th style='display:none'>Code{rows}</table>"
    look.site.page("/1", f"{TITLE}{style}<main>{table}</main>")
    answer = look.json()
    reads = [field["read"] for field in answer["declaration"]["source"]["fields"]]
    assert not any("sort-key" in str(read) or "Code" in str(read) for read in reads), reads
    distance = next(c for c in answer["declaration"]["columns"] if c["name"] == "distance")
    assert distance["type"] == "number"
    out, _ = look.typed("preview", str(look.file))
    assert "000" not in out
    assert "code" not in out


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Kettles & pots | The Shop", "kettles-pots"),
        ("Kettles: all of them - The Shop", "kettles"),
        ("53.1. Kettles of steel", "kettles-of-steel"),
        ("D.1. Kettles of steel", "kettles-of-steel"),
        ("U.S. kettles", "u-s-kettles"),
        ("やかん・鍋一覧", "やかん-鍋一覧"),
        (f"{'Kettles ' * 40}", "kettles-kettles-kettles-kettles-kettles"),
        ("- | -", "127.0.0.1"),
        ("", "127.0.0.1"),
    ],
)
def test_the_name_is_typed_without_quotes(look: Looking, title: str, name: str) -> None:
    look.site.page("/1", f"<!doctype html><title>{title}</title><ul>{cards()}</ul>")
    assert look.json()["declaration"]["name"] == name


def test_what_follows_is_proposed_only_if_it_has_other_records(look: Looking) -> None:
    look.site.page("/1", listing(range(12), NEXT))
    look.site.page("/2", listing(range(12)))
    answer = look.json()
    assert answer["declaration"]["source"]["pagination"] == {"kind": "none"}
    assert any("/2 looks like the next page" in doubt for doubt in answer["unsure"])
    assert answer["ready"]


def numbered(past: Answer | None) -> Handler:
    """Four pages that link to each other by number; another number is answered as said.

    None answers with the last page, as if nothing were wrong.
    """

    def answer(request: Request) -> Answer:
        page = int(request.query.get("page", "1"))
        if page > 4 and past is not None:
            return past
        page = min(page, 4)
        links = "".join(
            f'<a href="/1?page={number}">{number}</a> ' for number in range(1, 5) if number != page
        )
        return Answer(200, listing(range(page * 12, page * 12 + 12), f"<p class=pages>{links}"))

    return answer


@pytest.mark.slow
@pytest.mark.parametrize(
    ("past", "selector"),
    [
        (Answer(404, f"{TITLE}<h1 class=not-found>No such page</h1>"), "h1.not-found"),
        (Answer(200, listing(range(0), "<p class=none>Nothing here")), "p.none"),
        (None, None),
    ],
)
def test_numbered_pages_are_read_if_a_page_past_the_last_one_says_so(
    look: Looking, past: Answer | None, selector: str | None
) -> None:
    look.site.route("/1", numbered(past))
    answer = look.json()
    source = answer["declaration"]["source"]
    if selector is None:
        assert source["pagination"] == {"kind": "none"}
        assert any("pages up to 4 are linked by their numbers" in each for each in answer["unsure"])
        return
    assert source["pagination"]["endSelector"] == selector
    look.livedata("dataset", "create", str(look.file))
    assert "succeeded" in look.typed("run", "kitchen-more")[0]
    assert len(look.livedata.json("rows", "list", "kitchen-more")) == 48


def test_a_link_that_leads_back_from_the_second_page_is_no_next_one(look: Looking) -> None:
    """On the first page the only link of the pager is next; on the second one the first is back."""
    look.site.page("/1", listing(range(12), "<p class=pager><a href=/2>→</a>"))
    back = "<p class=pager><a href=/1>←</a> <a href=/3>→</a>"
    look.site.page("/2", listing(range(12, 24), back))
    answer = look.json()
    assert answer["declaration"]["source"]["pagination"] == {"kind": "none"}


@pytest.mark.parametrize(
    "numbers", ["", "<p class=pages><a href=/list/2>2</a> <a href=/list/3>3</a>"]
)
def test_a_next_page_on_another_host_is_told_with_what_to_do(look: Looking, numbers: str) -> None:
    link = '<a class="next" rel="next" href="https://other.example:8443/stock?page=2">Next</a>'
    look.site.page("/1", listing(range(12), link + numbers))
    out, _ = look()
    assert (
        "Unsure: the page has a next link to another host, other.example:8443 "
        "(https://other.example:8443/stock?page=2), which this source does not follow, so a Run of "
        "it reads this page alone: if the list goes on there, give the address that it has there, "
        "or follow the link with pagination next-link and a selector of your own."
    ) in out


def test_the_key_holds_on_the_second_page_too(look: Looking) -> None:
    """Each address is there once on a page, and on both pages: names are what differs."""
    again = listing(range(12, 20)).replace('href="/p/', 'href="/p/again?')
    look.site.page("/1", listing(range(12), NEXT).replace('href="/p/', 'href="/p/again?'))
    look.site.page("/2", again)
    answer = look.json()
    assert answer["ready"]
    look.site.page("/1", listing(range(12), NEXT).replace("/p/kettle-0", "/p/whisk-4x"))
    look.site.page("/2", listing(range(12, 20)).replace("/p/kettle-12", "/p/whisk-4x"))
    assert look.json("--force")["declaration"]["source"]["identity"]["field"] == "title"


def test_without_a_key_the_file_says_that_it_is_not_ready(look: Looking) -> None:
    rows = "".join(f"<tr><td>{'ab'[number % 2]}<td>{number} €" for number in range(12))
    look.site.page("/1", f"{TITLE}<table><tr><th>Kind<th>Price{rows}</table>")
    out, err = look(code=3)
    assert "which is not ready" in out
    assert "name a text of it: livedata init " in err
    assert " --like TEXT --force" in err
    assert "no column tells the records apart: kind repeats" in err
    assert "# NOT READY. A Run needs a key" in look.file.read_text()
    look.typed("preview", str(look.file), code=3)
    _, err = look.typed("dataset", "create", str(look.file), code=1)
    assert "this source is marked as not ready: A Run needs a key" in err


def test_who_is_shown_a_list_that_is_not_ready_can_paste_what_reads_another(look: Looking) -> None:
    rows = "".join(f"<tr><td>{'ab'[number % 2]}<td>{number} €" for number in range(12))
    look.site.page("/1", f"{TITLE}{MENU}<table><tr><th>Kind<th>Price{rows}</table>")
    _, err = look(code=3)
    commands = (line.partition(": ") for line in err.splitlines())
    another = next(command for said, _, command in commands if "another list" in said)
    out, _ = look.typed(*shlex.split(another)[1:], code=3)
    assert out.startswith("24 records in td on the page.")


def test_the_first_rows_are_those_that_say_something(look: Looking) -> None:
    rows = "".join(
        f"<li class=item><i>{number}</i><b>{NAMES[number]} {number}</b>" for number in range(12)
    )
    empty = "<li class=item><i></i><b></b>"
    look.site.page("/1", f"{TITLE}<ul>{empty}{rows}</ul>")
    answer = look.json(code=3)
    assert [row["text"] for row in answer["rows"]] == [
        f"{NAMES[number]} {number}" for number in range(5)
    ]


def test_what_a_list_leaves_out_is_counted(look: Looking) -> None:
    """The table has 25 rows; one is no record."""
    look.site.page("/1", (PAGES / "packages.html").read_text("utf-8"))
    out, _ = look()
    assert out.startswith("24 records in tr[class] on the page, without 1 of another kind.\n")


def test_rows_that_belong_to_those_before_them_are_told_to_be_left_out(look: Looking) -> None:
    rows = "".join(
        f"<tr><td><a href=/{name}>{name}</a><td>{number} g<tr><td colspan=2>Told in words"
        for number, name in enumerate(NAMES)
    )
    look.site.page("/1", f"{TITLE}<table>{rows}</table>")
    out, _ = look()
    count = len(NAMES)
    assert out.startswith(
        f'{count} records in tr[livedata-cells="2"] on the page, without {count} of another kind.\n'
    )
    assert (
        f"Unsure: {count} elements of another kind in tr are left out, and what they say of the "
        "records is not read.\n"
    ) in out


def test_columns_that_most_records_lack_are_doubted_together(look: Looking) -> None:
    rows = "".join(
        f"<li><a href=/{n}>{NAMES[n]}</a>{f'<b>{n} g</b><u>{n} €</u>' if n < 4 else ''}"
        for n in range(12)
    )
    look.site.page("/1", f"{TITLE}<ul>{rows}</ul>")
    out, _ = look()
    (doubt,) = (line for line in out.splitlines() if line.startswith("Unsure"))
    assert doubt == (
        "Unsure: most of the 12 records have no number, no price; --columns keeps only the columns "
        "that it names."
    )


@pytest.mark.parametrize(
    ("shown", "said"),
    [
        ("<b class=views>{n}</b>", "views says how often a record is looked at, so that its"),
        ("<b>{n} visitors</b>", "number says how often"),
        ("<b>Aufrufe: {n}</b>", "aufrufe says how often"),
        ("<b>({n} Viewing)</b>", "number says how often"),
        ("<b>Added: May 4, 2027 | Visits: {n}</b>", "added says how often"),
        ("<b>4 May 2027 · {n} views · Kitchen</b>", "date says how often"),
    ],
)  # fmt: skip
def test_a_number_of_visits_is_doubted(look: Looking, shown: str, said: str) -> None:
    rows = "".join(
        f"<li><a href=/{number}>{name}</a>{shown.format(n=number * 771 % 1009)}"
        for number, name in enumerate(NAMES)
    )
    look.site.page("/1", f"{TITLE}<ul>{rows}</ul>")
    out, _ = look()
    (doubt,) = (line for line in out.splitlines() if line.startswith("Unsure"))
    assert doubt.startswith(f"Unsure: {said}")
    assert doubt.endswith(
        "row changes with each Run; --columns keeps only the columns that it names."
    )


def test_a_title_without_its_number_is_told(look: Looking) -> None:
    rows = "".join(
        f"<li><a href=/{number}>{number}. {name}</a>" for number, name in enumerate(NAMES, 1)
    )
    look.site.page("/1", f"{TITLE}<ul>{rows}</ul>")
    out, _ = look()
    (doubt,) = (line for line in out.splitlines() if line.startswith("Unsure"))
    assert doubt == (
        "Unsure: title is read without the number in front, which only says the place in the list; "
        'kind = "text" reads it whole.'
    )


def test_a_title_that_is_whole_only_where_it_is_cut_is_told(look: Looking) -> None:
    rows = "".join(
        f"<li><a href=/{number} title='{name} of steel'>{name} of ...</a>"
        if number % 3 == 0
        else f"<li><a href=/{number}>{name}</a>"
        for number, name in enumerate(NAMES)
    )
    look.site.page("/1", f"{TITLE}<ul>{rows}</ul>")
    out, _ = look()
    (doubt,) = (line for line in out.splitlines() if line.startswith("Unsure"))
    assert doubt == (
        "Unsure: title is cut on the screen in some records, and these alone have it whole, in the "
        "attribute title, so what is shown is read; a field of your own can read that attribute."
    )


@pytest.mark.parametrize("record", ["<li><h2>{head}</h2>", "<dt>{head}<dd>"])
def test_the_sign_of_a_link_to_a_record_in_its_title_is_told(look: Looking, record: str) -> None:
    rows = "".join(
        record.format(head=f"{name}<a href=#r{number}>¶</a>")
        + f"<p>{name} of steel, for {number} people</p>"
        for number, name in enumerate(NAMES)
    )
    look.site.page("/1", f"{TITLE}<dl>{rows}</dl>")
    out, _ = look()
    (doubt,) = (line for line in out.splitlines() if line.startswith("Unsure"))
    assert re.fullmatch(
        r"Unsure: (title|term) ends with ¶, a link to its own place that the site may hide in a "
        r"sheet that is not asked for; no selector leaves it out\.",
        doubt,
    )


def test_a_text_that_goes_on_below_is_told(look: Looking) -> None:
    rows = "".join(
        f"<li><h2>{name}</h2><p>{name} of steel, for {number} people</p>"
        + ("<div><p>And what else it is good for</p></div>" if number < 2 else "")
        for number, name in enumerate(NAMES)
    )
    look.site.page("/1", f"{TITLE}<ul>{rows}</ul>")
    out, _ = look()
    (doubt,) = (line for line in out.splitlines() if line.startswith("Unsure"))
    assert doubt == (
        "Unsure: text is only the first of several texts in 2 records; a field of your own, with a "
        "selector for what is around them, reads them all."
    )


def test_a_column_may_have_another_name_before_the_dataset_is_made(look: Looking) -> None:
    look.site.page("/1", listing(range(12)))
    look()
    written = look.file.read_text()
    assert "# Key, names and types cannot be changed after that." in written
    look.file.write_text(written.replace('"title"', '"ware"').replace('"link"', '"address"'))
    made = look.livedata.json("dataset", "create", str(look.file))
    assert [column["name"] for column in made["columns"]][:2] == ["ware", "address"]


def test_a_person_picks_list_and_columns(look: Looking) -> None:
    look.site.page("/1", f"{TITLE}{MENU}<ul>{cards()}</ul>")
    answer = look.json("--like", "whisk", "--columns", "title,price")
    columns = [column["name"] for column in answer["declaration"]["columns"]]
    assert (columns, answer["rows"][0]) == (["title", "price"], {"title": "Kettle", "price": 7.5})
    _, err = look("--columns", "weight", "--force", code=2)
    assert "it has title, link, price" in err
    _, err = look("--list", "99", "--force", code=2)
    assert "--list 99: the page has" in err


def test_a_person_is_asked_for_list_and_name(look: Looking) -> None:
    """What cannot be is asked for again, and the lists are shown once."""
    look.site.page("/1", f"{TITLE}{MENU}<ul>{cards()}</ul>")
    shown, code = look.told("9\n", "1\n", f"{'n' * 121}\n", "pots\n")
    assert "Number of the list, Enter takes [1]: " in shown
    assert "Name of the dataset, Enter takes [kitchen-more]: " in shown
    assert "9 is not in the range" in shown
    assert "A name must have at most 120 characters, not 121." in shown
    assert shown.count("begins with") == 1
    assert code == 0
    assert 'name = "pots"' in look.file.read_text()


def test_who_leaves_at_a_question_finds_nothing_written(look: Looking) -> None:
    look.site.page("/1", f"{TITLE}{MENU}<ul>{cards()}</ul>")
    shown, code = look.told("1\n", "\x04")
    assert shown.endswith("Nothing was written.\n")
    assert code == 130
    assert not look.file.exists()
