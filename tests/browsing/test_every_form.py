"""Each door gives and lists just the forms of a table that are said to be its own."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from flask import Flask

from livedata.api.openapi import document
from livedata.formats.forms import FORMS, TableForm
from livedata.model import ids
from livedata.services import shares
from tests import made
from tests.browsing.test_table import path_of
from tests.browsing.visitor import Visitor
from tests.browsing.world import World
from tests.cli.shell import Shell

if TYPE_CHECKING:
    from livedata.model.ids import DatasetId
    from livedata.store.database.store import Store

EXPORTED = [form for form in FORMS if form.exported]
SERVED = [form for form in FORMS if form.media_type]
ENDS = {
    **{form.name: form for form in SERVED},
    **{f"changes.{form.name}": form for form in SERVED if form.has_changes},
}
"""What an address may end in."""
SHARING = Path(__file__).parents[2] / "docs" / "how-to" / "share.md"


@pytest.fixture
def dataset(store: Store, alice: Visitor) -> DatasetId:
    return World(store, alice.owner).shop()


@pytest.fixture
def livedata(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def ends_in(text: str) -> list[str]:
    """What ends the addresses that a text names, such as ``.csv``."""
    return [each.rstrip(".") for each in re.findall(r"(?<=[ `]\.)[a-z][a-z.]*", text)]


def test_a_form_is_given_somewhere_and_has_a_name_of_its_own() -> None:
    assert {form.name for form in FORMS} == {form.name for form in (*EXPORTED, *SERVED)}
    for told in ("name", "title"):
        assert len({getattr(form, told) for form in FORMS}) == len(FORMS)
    endings = [ending for form in FORMS for ending in form.endings]
    assert len(set(endings)) == len(endings)
    assert all(form.writer for form in SERVED)


def test_an_export_has_a_choice_and_says_what_each_is(livedata: Shell) -> None:
    said = " ".join(livedata.out("dataset", "export", "--help").split())
    (choices,) = re.findall(r"--format \[(.*?)\]", said)
    assert choices.split("|") == [form.name for form in EXPORTED]
    assert f"In their order: {'; '.join(form.exported for form in EXPORTED)}." in said


@pytest.mark.one_database
@pytest.mark.parametrize("form", EXPORTED, ids=lambda form: form.name)
def test_an_export_refuses_what_a_form_does_not_take(
    livedata: Shell, store: Store, tmp_path: Path, form: TableForm
) -> None:
    made.take(store, made.make_dataset(store))
    for option, value in {"--times": (), "--where": ("price < 20",), "--columns": ("sku",)}.items():
        file = str(tmp_path / f"{form.name}{option}")
        words = ("dataset", "export", "shop", "--format", form.name, "-o", file, option, *value)
        if option in form.without:
            assert f"{option} is for other formats" in livedata.error(*words, code=2)
        else:
            livedata(*words)


@pytest.mark.parametrize("end", ENDS)
def test_an_address_gives_each_form_with_its_type(
    app: Flask, alice: Visitor, store: Store, dataset: DatasetId, end: str
) -> None:
    _, token = shares.add(store, alice.owner, dataset, (), (), None)
    with app.test_client().get(f"/share/{token}/shop.{end}") as answer:
        assert (answer.status_code, answer.content_type) == (200, ENDS[end].media_type)
        assert answer.data
    for other in ("xml", *{form.name for form in EXPORTED} - {*ENDS}):
        refused = app.test_client().get(f"/share/{token}/shop.{other}")
        assert refused.status_code == 404
        listed = refused.get_json()["error"]["message"].partition("there is: ")[2].rstrip(".")
        assert {*listed.split(", ")} == {*ENDS}


def test_the_description_of_the_api_lists_each_form_and_its_type() -> None:
    operation = document()["paths"]["/v1/datasets/{datasetId}/table"]["get"]
    (form,) = [each for each in operation["parameters"] if each["name"] == "format"]
    assert {*form["schema"]["enum"]} == {*ENDS}
    types = {*operation["responses"]["200"]["content"]}
    assert types == {each.media_type for each in SERVED}


def test_the_help_of_a_share_and_its_how_to_list_what_an_address_ends_in(livedata: Shell) -> None:
    said = livedata.out("share", "add", "--help").partition("Its end says the form:")[2]
    assert {*ends_in(said.partition("Options:")[0])} == {*ENDS}
    table = SHARING.read_text().partition("## Forms")[2].partition("## ")[0]
    firsts = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `.")]
    assert {*ends_in(" ".join(firsts))} == {*ENDS}


def test_a_new_share_is_shown_with_each_end_and_its_name(
    alice: Visitor, dataset: DatasetId
) -> None:
    path = f"/datasets/{ids.format_uuid(dataset)}/shares"
    (request,) = re.findall(r'name="request" value="([^"]+)"', alice.get(path))[:1]
    typed = {"token": alice.token(path), "request": request, "scope": "all", "label": ""}
    page = alice.client.post(path, data=typed).text
    shown = re.findall(r"<dt>([^<]*)</dt><dd><code[^>]*>\S*?/share/[^/]+/shop\.([\w.]+)<", page)
    titles = {form.title: form.name for form in SERVED}
    titles |= {f"Changes as {form.title}": f"changes.{form.name}" for form in SERVED}
    assert {end: titles[title] for title, end in shown} == {end: end for end in ENDS}


def test_the_export_menu_of_a_table_offers_its_forms(alice: Visitor, dataset: DatasetId) -> None:
    page = alice.get(path_of(dataset))
    offered = re.findall(r'<a href="\S*/rows\.(\w+)[^"]*" download>([^<]*)</a>', page)
    assert offered == [(form.name, form.title) for form in FORMS if form.in_menu]
    alone = [form.title for form in EXPORTED if not form.in_menu and not form.without]
    (told,) = re.findall(r"At a shell also ([^:]*):", page)
    assert re.split(", | and ", told) == alone


@pytest.mark.parametrize("form", SERVED, ids=lambda form: form.name)
def test_a_page_gives_its_rows_in_each_form_of_an_address(
    alice: Visitor, dataset: DatasetId, form: TableForm
) -> None:
    with alice.client.get(f"{path_of(dataset)}/rows.{form.name}") as answer:
        assert (answer.status_code, answer.content_type) == (200, form.media_type)
    refused = alice.get(f"{path_of(dataset)}/rows.xml", 404)
    (listed,) = re.findall(r"there is: ([\w, ]+)\.", refused)
    assert {*listed.split(", ")} == {each.name for each in SERVED}
