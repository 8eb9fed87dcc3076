"""All that reading a page takes is counted as work, and what is counted is never far over."""

from __future__ import annotations

import pytest

from livedata.extraction.page import Page
from livedata.extraction.records import Extractor
from livedata.extraction.selectors import parse
from livedata.extraction.work import PAGE_LIMIT, TooMuchWork, Work
from livedata.model.recipe import Read, Recipe, RecipeField


def page(markup: str) -> Page:
    return Page(markup.encode(), "text/html; charset=utf-8", "http://site.test/")


def text_of(read: Page, selector: str) -> int:
    """The work that the text of the first match takes, once it is known what is hidden."""
    node = read.first(parse(selector))
    assert node is not None
    assert not read.hidden.gone
    before = read.work.done
    read.marked_text(node, selector)
    return read.work.done - before


def recipe(fields: int) -> Recipe:
    read = Read("text", None, None)
    named = tuple(
        RecipeField(
            f"f{number}",
            f"f{number}",
            f"f{number}",
            number,
            type="string",
            required=False,
            read=read,
        )
        for number in range(fields)
    )
    return Recipe(
        *(1, "http://site.test/", "static", "li", named, ("f0",)),
        composite=False,
        pagination=None,
        max_pages=1,
        max_items=1000,
        minimum_items=0,
        proxy="never",
        ignore_robots=False,
    )


def test_the_tags_of_a_page_are_counted() -> None:
    assert page("<p>x</p>" * 5_000).work.done == 10_000


@pytest.mark.parametrize("unit", ["<p>x", "<p>x</p>", "x</p></p>"])
def test_a_parse_in_a_process_of_its_own_is_counted_too(unit: str) -> None:
    assert page(unit * 30_000).work.done == 3 * 30_000 + 100_000


def test_elements_in_a_script_are_none() -> None:
    assert page("<script>" + "<" * 5_000_000 + "</script><p>x").work.done < PAGE_LIMIT / 2


def test_a_run_counts_the_parsing_of_its_pages() -> None:
    run = Work()
    run.include(Work(parsing=1_000))
    assert run.done == 1_000


def test_a_node_of_a_text_counts_as_two() -> None:
    assert text_of(page("<div>" + "<i></i>" * 3_000 + "</div>"), "div") == 2 * 3_000


def test_a_look_for_what_is_hidden_counts_for_the_tags_and_characters_of_the_page() -> None:
    read = page("<p>x</p>" * 4_000)
    assert not read.hidden.gone
    assert read.work.done == 8_000 + 8_000 // 4 + 8 * 4_000 // 128


def test_a_node_counts_as_four_if_the_places_of_all_texts_are_noted() -> None:
    work = text_of(page("<div>" + "<i></i>" * 30_000 + "</div>"), "div")
    assert (2 + 4) * 30_000 <= work <= (2 + 4) * 30_000 + 100


def test_a_walk_for_texts_ends_once_it_takes_too_much() -> None:
    read = page("<p>x" * 125_000)
    assert not read.hidden.gone
    read.work.spend(PAGE_LIMIT - read.work.done - 100_000, "p")
    with pytest.raises(TooMuchWork):
        text_of(read, "html")
    assert read.work.done < PAGE_LIMIT + 20_000


@pytest.mark.parametrize("characters", [" \t", "x "])
def test_a_long_text_counts_for_its_characters(characters: str) -> None:
    markup = f"<div>{characters * 30_000}</div>"
    assert text_of(page(markup), "div") >= 200


def test_a_long_attribute_counts_for_its_characters() -> None:
    read = page(f"<a title='{' ' * 200_000}x'>y</a>")
    node = read.first(parse("a"))
    assert node is not None
    before = read.work.done
    read.attribute(node, "title")
    assert read.work.done - before == 1_000


@pytest.mark.parametrize(("selector", "times"), [("p i", 2), ("p > i", 1)])
def test_a_step_counts_what_it_begins_from(selector: str, times: int) -> None:
    read = page("<p></p>" * 4_000 + "<p><i>x</i>")
    read.select(parse("p"))
    before = read.work.done
    read.select(parse(selector))
    assert read.work.done - before >= times * 4_000


def test_an_item_counts_beside_its_cells() -> None:
    spent = []
    for fields in (1, 2):
        read = page("<ul>" + "<li>x" * 100)
        Extractor(recipe(fields)).records(read)
        spent.append(read.work.done)
    cells = spent[1] - spent[0]
    document = page("<ul>" + "<li>x" * 100)
    document.select(parse("li"))
    assert spent[0] - document.work.done - cells == 8 * 100
