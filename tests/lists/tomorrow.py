"""What a source that `init` proposes today makes of its page tomorrow.

python -m tests.lists.tomorrow [--places] [NAME]...    # exit code 1 if fewer than 90 % hold

Of each page with a list there is a second state: two rows on top, one fewer, one value corrected,
an advert, and the numbers of the places anew. A source holds if the second Run changes those rows
and no other. With --places each link of a record says at which place it stands, so that all links
are others tomorrow, and a source holds if just the new rows are new. Of the half that was put aside
only counts are printed, but for pages that are named.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import click
from msgspec import Struct

from livedata.extraction.lists.keys import NoKey
from livedata.extraction.lists.page_lists import find_lists
from livedata.extraction.lists.proposal import MOST_RECORDS, propose
from livedata.extraction.page import Page
from livedata.extraction.records import Extractor
from livedata.extraction.selectors import parse
from livedata.messages.render import sentence
from livedata.messages.validation import read
from livedata.model.harvest import Harvest, PageRead, Record, StopReason
from livedata.model.recipe import Recipe
from livedata.model.requests import CreateDataset
from livedata.rules.changes.checks import differing_fields, distinct, judge
from livedata.rules.network.targets import TargetPolicy
from spiders.cli.proving import declare
from spiders.cli.trial import trial_recipe
from tests.lists.gold import Gold, every_page
from tests.lists.judge import FIRST, right_list
from tests.lists.parts import every_list_columns, upwards
from tests.lists.second_state import States, states
from tests.lists.units import unit_elements

LEAST: Final = 0.9


class Held(Struct, frozen=True):
    """Whether the source of a page holds; `why` says what is wrong, empty if nothing is.

    `asked` is False for a page that has no key, as a person says, or more records than a Run takes.
    """

    gold: Gold
    why: str
    asked: bool = True


class _Run(Struct, frozen=True):
    """What a Run reads of a state of a page: the rows by key and the key of each item.

    `error` is why it is not accepted.
    """

    rows: Mapping[str, Record]
    keys: Sequence[str | None]
    error: str = ""


def tomorrow(gold: Gold, *, places: bool = False) -> Held:
    """What the source that is proposed for a page makes of its second state."""
    said = every_list_columns()[gold.name]
    both = states(gold, said, places=places)
    lists = find_lists(_page(gold, both.today))
    proposals = [propose(lists, seen) for seen in lists.seen[:FIRST]]
    place, _ = right_list(lists, proposals, gold)
    if place is None:
        return Held(gold, "its list is not seen")
    proposed = proposals[place - 1]
    if isinstance(proposed.key, NoKey):
        lasting = [part for part in said.identifiers if not (places and part.endswith("@href"))]
        return Held(gold, "no key", asked=bool(lasting) and not said.keyless)
    if proposed.count > MOST_RECORDS:
        return Held(gold, "more records than a Run takes", asked=False)
    declared = declare("list", gold.url, "static", proposed, proposed.key, {"kind": "none"})
    return Held(gold, second_run(gold, both, declared, by_key=places))


def second_run(
    gold: Gold, both: States, declared: Mapping[str, Any], *, by_key: bool = False
) -> str:
    """What is wrong with the second Run of a source; empty if nothing is.

    With `by_key` rows may change that have the keys that they should.
    """
    recipe = trial_recipe(read(CreateDataset, dict(declared)), TargetPolicy())
    first, second = (_run(gold, markup, recipe) for markup in (both.today, both.tomorrow))
    if first.error or second.error:
        return f"today: {first.error}" if first.error else second.error
    faults = [*_rows_at_fault(first, second, both, _by_record(gold, both, recipe))]
    if not by_key:
        faults += _cells_at_fault(first, second, _run(gold, both.corrected, recipe))
    return "; ".join(faults)


def _page(gold: Gold, markup: str) -> Page:
    return Page(markup.encode(), "text/html; charset=utf-8", gold.url)


def _run(gold: Gold, markup: str, recipe: Recipe) -> _Run:
    page = _page(gold, markup)
    records, matches = Extractor(recipe).records(page)
    moment, address = int(time.time()), gold.url
    read = PageRead(1, address, address, address, 200, None, page.digest, moment, records, matches)
    harvest = Harvest([read], StopReason("natural_end"))
    problem = judge(harvest, recipe).problem
    rows = {key: record for key, (_, record) in distinct(harvest).items()}
    keys = [record.key for record in records]
    return _Run(rows, keys, "" if problem is None else sentence(problem))


def _by_record(gold: Gold, both: States, recipe: Recipe) -> list[int | None]:
    """Of which record of the page each item of a Run is, or is a part."""
    page = _page(gold, both.today)
    units = {
        part.mem_id: number
        for number, parts in enumerate(unit_elements(gold, page.tree))
        for part in parts
    }
    places = []
    for item in page.select(parse(recipe.item_selector)):
        around = (units[up] for up in upwards(item) if up in units)
        inside = (units[node.mem_id] for node in item.css("*") if node.mem_id in units)
        places.append(next(around, next(inside, None)))
    return places


def _rows_at_fault(
    first: _Run, second: _Run, both: States, records: Sequence[int | None]
) -> Iterator[str]:
    """Other rows that are new or gone than those of new and gone records."""
    keys: dict[int | None, set[str | None]] = {}
    for record, key in zip(records, first.keys, strict=True):
        keys.setdefault(record, set()).add(key)
    new = second.rows.keys() - first.rows.keys()
    expected = sum(len(keys.get(record, ())) for record in both.copied)
    if len(new) != expected:
        yield f"{len(new)} new for {expected}, such as {min(new, default='none')}"
    gone = first.rows.keys() - second.rows.keys()
    if gone != (removed := keys.get(both.removed, set())):
        yield f"{len(gone)} gone for {len(removed)}"


def _cells_at_fault(first: _Run, second: _Run, alone: _Run) -> Iterator[str]:
    """Other changed rows than the one that is corrected, which is `alone` in a Run."""
    changed, corrected = _changed(first, second), _changed(first, alone)
    if changed.keys() != corrected.keys():
        yield f"{len(changed)} changed for {len(corrected)}"
        yield from (
            f"{key}: {said}" for key, said in [*changed.items()][:2] if key not in corrected
        )


def _changed(first: _Run, second: _Run) -> dict[str, str]:
    """The rows that both Runs have, but not with the same values: the first value that differs."""
    changed = {}
    for key, old in first.rows.items():
        new = second.rows.get(key)
        if new is not None and (places := differing_fields(old, new)):
            place = places[0]
            changed[key] = f"{str(old.values[place])[:60]!r} to {str(new.values[place])[:60]!r}"
    return changed


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--places", is_flag=True, help="Let each link say at which place it stands.")
def main(names: tuple[str, ...], places: bool) -> None:
    """Print what the second Run of each page makes of it."""
    every = [
        tomorrow(gold, places=places)
        for gold in every_page()
        if gold.records and (not names or gold.name in names)
    ]
    for each in every:
        if names or each.gold.half == "tuned":
            click.echo(f"{each.gold.name:18} {each.why or 'holds'}")
    for half in ("tuned", "aside"):
        click.echo(f"{half}: {_counts([each for each in every if each.gold.half == half])}")
    click.echo(f"all: {_counts(every)}")
    asked = [each for each in every if each.asked]
    raise SystemExit(sum(not each.why for each in asked) < LEAST * len(asked))


def _counts(every: Sequence[Held]) -> str:
    asked = [each for each in every if each.asked]
    held = sum(not each.why for each in asked)
    without = len(every) - len(asked)
    return f"{held} of {len(asked)} hold ({held / max(1, len(asked)):.1%}), {without} not asked"


if __name__ == "__main__":
    main()
