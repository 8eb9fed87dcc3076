from __future__ import annotations

import ast
from pathlib import Path

import orjson
import pytest
from msgspec.structs import asdict

from livedata import messages
from livedata.messages.checks import check_title
from livedata.messages.column_changes import (
    AddedCells,
    ColumnChanges,
    DroppedCells,
    RelabelledColumn,
    RowNames,
)
from livedata.messages.remedies import REMEDIES, advice
from livedata.messages.render import SENTENCES, sentence, statement
from livedata.messages.request import PREDICATES, predicate
from livedata.model.problem import Params, Problem, Remedy, problem_of
from tests.shell_words import OF_A_SHELL

TABLES = sorted(Path(messages.__path__[0]).rglob("*.py"))
WRONG = Problem("address.private", {"address": "10.0.0.1"})
CUT = Problem("fetch.connection_cut")
WHERE: Params = {"status": 503, "sent_on_to": "http://b.example"}


@pytest.mark.parametrize("file", TABLES, ids=lambda file: file.stem)
def test_no_text_of_the_messages_names_a_command_or_a_variable(file: Path) -> None:
    tree = ast.parse(file.read_text())
    texts = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    assert [text for text in texts if OF_A_SHELL.search(text)] == []


@pytest.mark.parametrize(
    "text", ["livedata runs accept 4c", "set LIVEDATA_PROXY", "python -m playwright install"]
)
def test_a_command_and_a_variable_are_recognised(text: str) -> None:
    assert OF_A_SHELL.search(text)


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        (
            Problem("fetch.robots_unread", WHERE, 1, "http://a.example/1", (CUT,)),
            (
                "Page 1 (http://a.example/1), sent on to http://b.example, could not be read: the "
                "site's robots.txt, which comes first, could not be: the connection was cut before "
                "the answer was complete (status 503)."
            ),
        ),
        (
            Problem("fetch.wrong_address", {}, 2, "http://a.example/2", (WRONG,)),
            (
                "Page 2 (http://a.example/2) could not be read: its address has the private "
                "address 10.0.0.1, which is not read."
            ),
        ),
        (
            Problem(
                "fetch.timeout",
                {"seconds": 20.0},
                1,
                "http://a.example/1",
                remedies=(Remedy("run_later"), Remedy("more_page_time")),
            ),
            (
                "Page 1 (http://a.example/1) could not be read: the answer was not complete after "
                "20 s; run it again later, or give a page more time."
            ),
        ),
    ],
    ids=lambda value: value.code if isinstance(value, Problem) else "",
)
def test_a_page_that_was_not_read_is_told_with_what_may_help(
    problem: Problem, expected: str
) -> None:
    assert sentence(problem) == expected
    assert sentence(problem_of(orjson.loads(orjson.dumps(problem, default=asdict)))) == expected


KEYS: Params = {"present": 20, "gone": 20, "fresh": 20, "known": 20, "better": ["title"]}
LIST: Params = {"by": "next link", "selector": "a.next", "links": 0, "links_before": 1}
FIELD: Params = {"field": "price", "type": "number", "selector": ".price", "attribute": None}


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        (
            Problem("run.keys_changed", {"keys": ["sku"], "same": 20, **KEYS}),
            (
                "The key sku has changed: 20 of 20 rows would be gone, and 20 others come in their "
                "place, of which title knows 20 again, so the output is held for you to look at"
            ),
        ),
        (
            Problem("cause.keys_changed", {"keys": ["sku"], **KEYS}),
            (
                "The key sku is the cause: it names the same things otherwise now. title would be "
                "the better key: it knows 20 of 20 new rows again."
            ),
        ),
        (
            Problem("cause.key_shared", {"differ": ["title"], "better": ["title"]}),
            (
                "One key stands for several records: they differ in title, as variants of one "
                "thing do. title would be the better key: it tells all apart."
            ),
        ),
        (
            Problem("evidence.key_moved", {"before": "K0", "now": "N0"}),
            "the key 'K0' is 'N0' now",
        ),
        (
            Problem(
                "cause.strangers", {"page": 1, "item": 6, "others": 2, "lacks": ["sku", "name"]}
            ),
            (
                "Item 6 of page 1 is no record like the others: it has none of sku, name. 2 more "
                "are like it."
            ),
        ),
        (
            Problem(
                "run.lost_pagination",
                {
                    **LIST,
                    "pages_before": 2,
                    "items": 10,
                    "items_before": 10,
                    "leads_to": None,
                    "present": 20,
                    "gone": 10,
                },
                1,
                "http://a.example/1",
            ),
            (
                "The list ends on page 1 (http://a.example/1) now, and had 2 pages in the last "
                "accepted Run, but the page is as full as it was then, with 10 items; next link "
                "'a.next' matched there then and matches nothing now. 10 of 20 rows would be gone, "
                "so the output is held for you to look at"
            ),
        ),
        (
            Problem(
                "run.emptied_field",
                {
                    **FIELD,
                    "filled": 0,
                    "rows": 20,
                    "filled_before": 20,
                    "rows_before": 20,
                    "matched": 0,
                    "items": 20,
                    "unreadable": 0,
                    "text": None,
                },
                1,
                "http://a.example/1",
            ),
            (
                "price has a value in 0 of 20 rows now, and had one in 20 of 20 in the last "
                "accepted Run: selector '.price' matches in 0 of 20 items, and first misses one on "
                "page 1 (http://a.example/1), so the output is held for you to look at"
            ),
        ),
    ],
    ids=lambda value: value.code if isinstance(value, Problem) else "",
)
def test_what_a_site_has_changed_is_told_with_what_there_was(
    problem: Problem, expected: str
) -> None:
    assert sentence(problem).startswith(expected)


def test_the_advice_on_a_selector_names_it() -> None:
    assert advice(Remedy("leave_out_by", {"selector": "li.product[data-sku]"})) == (
        "Set itemSelector to 'li.product[data-sku]', which leaves out what is no record: on the "
        "kept page it matches all other items"
    )


def test_a_statement_leaves_the_advice_to_the_door() -> None:
    problem = Problem("run.mass_loss", {"gone": 27, "present": 30})
    assert statement(problem) == (
        "27 of 30 rows would be gone, so the output is held for you to look at."
    )
    assert sentence(problem).startswith(statement(problem).removesuffix("."))


@pytest.mark.parametrize(
    ("code", "params", "expected"),
    [
        ("evidence.read", {"pages": 1, "items": 1}, "read 1 page with 1 item"),
        ("evidence.read", {"pages": 2, "items": 0}, "read 2 pages with 0 items"),
        ("evidence.shorter", {"now": 1, "pages": 1, "then": 9, "previous": 2}, "1 item on 1 page;"),
        ("evidence.known_rows", {"shown": 1, "known": 1}, "the page shows 1 of 1 row known"),
        ("cause.fewer_items", {"now": 1, "then": 9}, "before: 1 item instead of 9."),
        ("run.mass_loss", {"gone": 1, "present": 1}, "1 of 1 row would be gone"),
        ("run.credits", {"pages": 1, "balance": 0}, "The Run costs 1 credit, one for"),
        ("checks.too_few_items", {"found": 0, "wanted": 1, "pages": 1}, "0 of at least 1 item "),
    ],
)
def test_a_count_of_one_is_told_of_one_thing(code: str, params: Params, expected: str) -> None:
    assert expected in sentence(Problem(code, params))


@pytest.mark.parametrize(
    ("check", "title"),
    [("present:7a", "present: price"), ("present:7b", "present:7b"), ("coverage", "coverage")],
)
def test_a_check_of_a_field_is_titled_with_its_name(check: str, title: str) -> None:
    assert check_title(check, {"7a": "price"}) == title


def test_every_sentence_ends_as_one() -> None:
    fixed = {code: words for code, words in SENTENCES.items() if isinstance(words, str)}
    facts = {code for code in fixed if code.startswith("evidence.")}
    open_ = [code for code, words in fixed.items() if not words.endswith((".", "?", "}"))]
    assert set(open_) <= facts


def test_what_may_be_tried_begins_a_sentence() -> None:
    assert [code for code, words in REMEDIES.items() if not words[0].isupper()] == []
    assert advice(Remedy("run_again")) == "Run again"


@pytest.mark.parametrize("code", PREDICATES)
def test_what_is_wrong_with_an_address_goes_on_after_its_name(code: str) -> None:
    params: Params = {"character": "\t", "position": 3, "host": "a", "address": "10.0.0.1"}
    assert predicate(Problem(code, params)).split()[0] in {"must", "is", "has"}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (ColumnChanges(), []),
        (
            ColumnChanges(added=[AddedCells("color", 18, 2), AddedCells("size", 1, 0)]),
            [
                "color would be added: 18 rows would get a value, 2 would stay without.",
                "size would be added: 1 row would get a value, none would stay without.",
            ],
        ),
        (
            ColumnChanges(added=[AddedCells("color", 0, 20), AddedCells("size", 0, 0)]),
            [
                "color would be added: none of 20 rows would get a value.",
                "size would be added: no row was read.",
            ],
        ),
        (
            ColumnChanges(
                dropped=[
                    DroppedCells("size", 12, 2),
                    DroppedCells("color", 1, 0),
                    DroppedCells("weight", 0, 0),
                ]
            ),
            [
                (
                    "size would be dropped with its 12 values and 2 hand edits; the history "
                    "keeps what it had."
                ),
                "color would be dropped with its 1 value; the history keeps what it had.",
                "weight would be dropped, and has no values.",
            ],
        ),
        (
            ColumnChanges(
                relabelled=[RelabelledColumn("price", "price", "Price in EUR")],
                described=["price", "size", "color"],
                order=["sku", "price"],
                rows_named_by=RowNames("title", None),
            ),
            [
                'price would be labelled "Price in EUR", and no longer "price".',
                "The descriptions of price, size and color would change.",
                "The columns would stand in another order: sku, price.",
                "Rows would be named by their keys, and no longer by title.",
            ],
        ),
    ],
)
def test_what_becomes_of_columns_is_a_sentence_each(
    changes: ColumnChanges, expected: list[str]
) -> None:
    assert changes.sentences == expected
