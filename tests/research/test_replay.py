"""A Run is replayed from its tape, and asks nobody: rules 14.13."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from livedata.model.research.record import KnownCell, KnownRow, Memory
from livedata.research.harness import research
from livedata.research.replay.replay import OtherHarness, replay
from livedata.research.replay.tape import BadTape, Tape, dump, load
from tests.research.ports import MemoryRecorder, page, ports, recipe
from tests.research.test_harness import LIST, answers, row

ACME = row("Acme", City=("Paris", "Acme of Paris"))


@pytest.fixture
def tape() -> Tape:
    recorder = MemoryRecorder()
    asked = ports(
        answers({LIST: [ACME]}), [page(LIST, "Acme of Paris")], results=[LIST], recorder=recorder
    )
    outcome = asyncio.run(research(recipe("City"), Memory(), asked))
    return recorder.tape(recipe("City"), Memory(), outcome)


def test_a_tape_gives_the_same_rows_and_facts(tape: Tape) -> None:
    replayed = asyncio.run(replay(load(b"".join(dump(tape)))))
    assert replayed.identical
    assert replayed.misses == []
    assert [row.cells[0].value for row in replayed.outcome.rows] == ["Acme"]


def test_a_question_in_other_words_is_a_miss_and_loosely_none(tape: Tape) -> None:
    assert tape.recipe.plan is not None
    changed = replace(tape, recipe=replace(tape.recipe, plan=replace(tape.recipe.plan, title="X")))
    strict = asyncio.run(replay(changed))
    assert not strict.identical
    assert [(miss.kind, miss.source_url) for miss in strict.misses] == [("extraction.output", LIST)]
    loose = asyncio.run(replay(changed, "loose"))
    assert loose.identical


def test_a_tape_of_another_harness_is_refused_strictly(tape: Tape) -> None:
    other = replace(tape, harness="research-0/p:00000000")
    with pytest.raises(OtherHarness, match="research-0"):
        asyncio.run(replay(other))
    assert asyncio.run(replay(other, "loose")).identical


@pytest.mark.parametrize("text", [b"", b"\xff\xfe", b"{}\n", b"id,name\n1,Acme\n"])
def test_a_file_that_is_no_tape_is_refused(text: bytes) -> None:
    with pytest.raises(BadTape, match="line 1: this is no tape of a research Run"):
        load(text)


def test_a_tape_of_another_form_is_refused(tape: Tape) -> None:
    with pytest.raises(BadTape, match="line 1: this is a tape of another form"):
        load(b"".join(dump(tape)).replace(b"tape/1", b"tape/9", 1))


def test_a_tape_that_is_cut_or_goes_on_is_refused(tape: Tape) -> None:
    lines = list(dump(tape))
    whole = b"".join(lines)
    for cut in (whole[:-100], whole.removesuffix(b"\n"), b"".join(lines[:-1])):
        with pytest.raises(BadTape, match="the tape is cut"):
            load(cut)
    with pytest.raises(BadTape, match="is no answer of a Run"):
        load(whole + b"[]\n")


def test_a_tape_whose_known_rows_have_other_columns_is_refused(tape: Tape) -> None:
    known = KnownRow("entity:1", "present", [KnownCell("Acme", None, LIST, "Acme")])
    with pytest.raises(BadTape, match="the rows that were known have other columns"):
        load(b"".join(dump(replace(tape, memory=Memory(rows=[known])))))
