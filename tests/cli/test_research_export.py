"""``research export``: a Run as a file, whole or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from livedata.model import ids
from livedata.research.replay.tape import load
from tests.cli.shell import Shell
from tests.research.recorded_run import recorded_run
from tests.services.research_table import ResearchTable
from tests.services.table import Table

if TYPE_CHECKING:
    from pathlib import Path

    from livedata.store.database.store import Store


def export(file: Path, run: str = "makers") -> tuple[str, ...]:
    return ("research", "export", run, "-o", str(file))


def test_a_tape_holds_the_run_with_its_rows_and_facts(
    store: Store, livedata: Shell, tmp_path: Path
) -> None:
    table = ResearchTable(store)
    attempt, outcome = recorded_run(store, table=table)
    file = tmp_path / "makers.tape"
    said = livedata.json(*export(file))
    assert said == {"file": str(file), "artifacts": 2, "bytes": file.stat().st_size}
    tape = load(file.read_bytes())
    assert tape.run is not None
    assert (tape.run["status"], tape.attempt) == ("succeeded", ids.format_uuid(attempt.id))
    assert (tape.stop, tape.digest) == (outcome.stop, outcome.digest)
    assert [(row.name, row.values and row.values[3:]) for row in tape.rows] == [
        ("Acme", ["1999", "Bern"])
    ]
    assert {"row_kept", "row_written"} <= {fact.code for fact in tape.facts}
    assert [path.name for path in tmp_path.glob("*makers*")] == ["makers.tape"]


def test_a_file_that_is_there_stays_unless_it_is_to_be_replaced(
    store: Store, livedata: Shell, tmp_path: Path
) -> None:
    recorded_run(store)
    file = tmp_path / "makers.tape"
    file.write_text("mine")
    assert f"{file} exists; --force replaces it" in livedata.error(*export(file))
    assert file.read_text() == "mine"
    assert livedata.out(*export(file), "--force").startswith(f"Wrote {file}: 2 artifacts, ")
    assert load(file.read_bytes()).artifacts


def test_where_no_file_can_be_written_one_sentence_says_so(
    store: Store, livedata: Shell, tmp_path: Path
) -> None:
    recorded_run(store)
    nowhere = tmp_path / "none" / "makers.tape"
    assert f"there is no folder {nowhere.parent}" in livedata.error(*export(nowhere))
    assert f"{tmp_path} is a folder" in livedata.error(*export(tmp_path))


def test_a_run_that_has_no_tape_leaves_no_file(
    store: Store, livedata: Shell, tmp_path: Path
) -> None:
    Table(store).begin()
    file = tmp_path / "shop.tape"
    assert "reads its pages with selectors" in livedata.error(*export(file, "shop"))
    recorded_run(store)
    assert "no Run or dataset" in livedata.error(*export(file), "--owner", "bob")
    assert not file.exists()
