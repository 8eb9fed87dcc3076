"""The judge of the store: content with a sound one, and never with a damaged one."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import orjson
import pytest
from msgspec.structs import replace

from livedata.model import ids
from livedata.model.harvest import PageSnapshot, StopReason
from livedata.services import accounts, attempts, datasets, feed, runs
from livedata.services.audit.check import AuditReport, check_store
from livedata.services.commit import AcceptancePolicy
from livedata.store.audit import contradictions
from livedata.store.database.store import Database, Store
from tests import made
from tests.cli.shell import Shell
from tests.made import LOOPS
from tests.services.table import A, B, C, Table, pages_of

BOBS = "(SELECT id FROM datasets WHERE owner = 'bob')"
FAILED = "(SELECT id FROM runs WHERE status = 'failed')"
NO_LIMITS = "DROP INDEX uq_runs_open; DROP INDEX uq_runs_turn"
NOTHING = "UPDATE owners SET balance = balance"
HUGE = '{"99999999999":"unknown"}'
TWICE = "request_id = 'twice', row_id = (SELECT id FROM rows WHERE row_key = 'A1')"
OBSERVED = "dataset_id, run_id, source_url, observed_at, digest, entries"
LAST = "(SELECT revision_id FROM rows WHERE row_key = 'A1')"
EDIT = "(SELECT id FROM revisions WHERE overrides IS NOT NULL ORDER BY sequence LIMIT 1)"

_INDEXES = """
SELECT l.name FROM pragma_index_list(?) l WHERE l."unique" AND l.origin = 'c' AND ? =
    (SELECT group_concat(name, ',') FROM (SELECT name FROM pragma_index_info(l.name)))
"""
_MADE_BY = "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?"


def _row(change: str) -> str:
    return f"UPDATE rows SET {change} WHERE row_key = 'A1'"


def _revision(change: str, where: str) -> str:
    return f"UPDATE revisions SET {change} WHERE {where}"


DAMAGES = [
    # A row and its last revision
    (_row("data = replace(data, 'Lamp', 'Lump')"), "row A1 differs .* in data"),
    (_row('reasons = \'{"1":"not_found"}\''), "row A1 differs .* in reasons"),
    (_row("overrides = NULL"), "row A1 differs .* in overrides"),
    (_row("item = 7"), "row A1 differs .* in item"),
    (_row("presence = 'missing'"), "row A1 differs .* in presence"),
    (_row("updated_at = updated_at - 1"), "row A1 has another time of update"),
    (_row("status = 'gone'"), "row A1 is present, and its status is gone"),
    (_row("status = 'odd'"), "row A1 has the status odd"),
    (_row("revision_id = x'00'"), "row A1 names .* not one of its own"),
    (
        _row("revision_id = (SELECT id FROM revisions WHERE row_id = rows.id AND kind='created')"),
        "row A1 names a revision that is not its last",
    ),
    (_row("row_key = 'Z9'"), "row Z9 has the key 'Z9', but its cells spell 'A1'"),
    (_row(f"last_run_id = {FAILED}"), "row A1 names the failed Run"),
    (
        _row("source_url = 'https://other.example/'"),
        "row A1 names another page than its observation",
    ),
    (
        "UPDATE rows SET source_url = 'https://other.example/' WHERE row_key = 'B2'",
        "row B2 names a page that its last Run has not read",
    ),
    (
        "UPDATE rows SET source_url = 'javascript:alert(1)', observation_id = NULL, item = NULL",
        "row B2 names 'javascript:alert\\(1\\)', which is no http or https address",
    ),
    *(
        (
            f"UPDATE observations SET source_url = '{url}'",
            f"the observation .* names '{re.escape(url)}', which is no http or https address",
        )
        for url in ("javascript:alert(1)", "file:///etc/passwd", "/list", "https:///list", "")
    ),
    (_row("last_run_id = x'00'"), "row A1 names the Run 00, which its dataset does not have"),
    (
        _row("first_run_id = last_run_id"),
        "row A1 was first seen by another Run than its first revision says",
    ),
    (f"UPDATE rows SET dataset_id = {BOBS} WHERE row_key = 'C3'", "row C3 is of a row that its"),
    ("DELETE FROM rows WHERE row_key = 'C3'", "is of a row that its dataset does not have"),
    # The history of a row
    (_revision("previous_id = NULL", f"id = {LAST}"), "A1 does not name the revision before it"),
    (_revision("previous_id = id", "kind = 'created'"), "does not name the revision before it"),
    (_revision("was = '[12]'", f"id = {LAST}"), "says that other values stood before than did"),
    (_revision("was = '[]'", "kind = 'created'"), "says that other values stood before than did"),
    (_revision("kind = 'created'", f"id = {LAST}"), "A1 is of kind created, and is not the first"),
    (_revision("kind = 'updated'", "kind = 'created'"), "is of kind updated, and is the first"),
    (_revision("kind = 'returned'", "kind = 'missing'"), "of kind returned and leaves the row"),
    (_revision("kind = 'missing'", "kind = 'returned'"), "of kind missing and leaves the row"),
    (_revision("origin = 'migration'", "kind = 'missing'"), "of kind missing and origin migration"),
    (_revision("changed = 1", "kind = 'returned'"), r"positions \[0\] changed, which is not what"),
    (_revision("changed = 3", "kind = 'created'"), r"positions \[0, 1\] changed, which is not"),
    (_revision("changed = 0", f"id = {EDIT}"), "changed, which is not what did"),
    (_revision("item = 2", f"id = {EDIT}"), "moves the evidence of its row without having read"),
    (_revision("data = '[\"A1\"'", f"id = {LAST}"), "A1 has data, .* cannot be read"),
    (_revision("data = '{}'", f"id = {LAST}"), "A1 has data, .* cannot be read"),
    (_revision("reasons = 'x'", f"id = {LAST}"), "A1 has data, .* cannot be read"),
    (_revision("data = '[\"A1\",[]]'", f"id = {LAST}"), "A1 has data, .* cannot be read"),
    (_revision("was = 'null'", f"id = {LAST}"), "A1 has data, .* cannot be read"),
    (_revision("data = '[1,2,3,4,5,6,7]'", f"id = {LAST}"), "A1 has 7 values for 5 columns"),
    (_revision('reasons = \'{"1":"not_found"}\'', f"id = {LAST}"), "missing reason not_found"),
    (_revision('reasons = \'{"4":"not_found"}\'', f"id = {LAST}"), "at position 4, which is no"),
    (
        _revision('overrides = \'{"4":{"value":1}}\'', f"id = {EDIT}"),
        "overrides position 4, which is not a collected cell outside the identity",
    ),
    (
        _revision('overrides = \'{"0":{"value":1}}\'', f"id = {EDIT}"),
        "overrides position 0, which is not a collected cell outside the identity",
    ),
    (
        _revision('overrides = \'{"2":{"value":1,"reason":"unknown"}}\'', f"id = {EDIT}"),
        "has an override of price that is no source value",
    ),
    (_revision(f"reasons = '{HUGE}'", f"id = {LAST}"), "A1 has data, .* cannot be read"),
    (_revision("schema_version = 9", f"id = {LAST}"), "A1 was written under schema version 9"),
    (_revision(f"run_id = {FAILED}", "kind = 'missing'"), "names the failed Run"),
    (_revision("run_id = NULL", "kind = 'missing'"), "was collected by no Run"),
    (_revision("request_id = NULL", f"id = {EDIT}"), "is a hand edit without its request"),
    (_revision("request_id = 'r'", "kind = 'missing'"), "was not written by hand, but has a"),
    (
        _revision("actor_id = (SELECT id FROM api_keys WHERE owner = 'bob')", f"id = {EDIT}"),
        "was written with a key of bob",
    ),
    (
        _revision("actor_id = x'00'", f"id = {EDIT}"),
        "was written with a key that there is not",
    ),
    (
        f"DROP INDEX uq_revisions_row_id_request_id; {_revision(TWICE, 'origin IS NOT NULL')}",
        "row A1 has . revisions of the request 'twice'",
    ),
    (_revision("data = replace(data, '10', '\"10\"')", "kind = 'created'"), "has '10' for price"),
    (_revision("data = replace(data, 'true', '1')", "kind = 'created'"), "has 1 for stock, which"),
    (_revision("data = replace(data, '10', 'true')", "kind = 'created'"), "has True for price"),
    (_revision("data = replace(data, '\"Lamp\"', '5')", f"id = {LAST}"), "has 5 for title, which"),
    (
        _revision('overrides = \'{"2":{"value":"cheap"}}\'', f"id = {EDIT}"),
        "has 'cheap' for price, which is a number",
    ),
    # The feed
    ("DELETE FROM revisions WHERE sequence = 3", "revision 4 follows 2, so the feed has a gap"),
    ("UPDATE datasets SET head = head + 1", "shop of local has the head 8, and its feed ends at 7"),
    (_revision("created_at = 1", f"id = {LAST}"), "is of an earlier schema or time"),
    (_revision("schema_version = 2", "sequence = 1"), "is of an earlier schema or time"),
    ("DELETE FROM revision_fields WHERE sequence = 1 AND position = 0", "index of fields has"),
    ("UPDATE revision_fields SET sequence = 99 WHERE position = 4", "revision 99 there is not"),
    ("UPDATE cursors SET position = 8", "the cursor 'reader' is at 8, and the feed has 1 to 7"),
    (
        "UPDATE datasets SET takes_over = id",
        "shop of local is to take over .*, and has rows",
    ),
    ("UPDATE cursors SET position = -1", "the cursor 'reader' is at -1, and the feed has 1 to 7"),
    # Evidence
    (
        "UPDATE observations SET entries = replace(entries, 'Lamp', 'Lump')",
        "of row A1 has other cells than their evidence: title",
    ),
    (
        "UPDATE observations SET entries = replace(entries, '\"11\"', '\"12\"')",
        "of row A1 has other cells than their evidence: price",
    ),
    (
        "UPDATE observations SET entries = replace(entries, 'True', 'no')",
        "of row A1 has other cells than their evidence: stock",
    ),
    (
        f"INSERT INTO observations SELECT x'00', {OBSERVED} FROM observations LIMIT 1",
        "the observation 00.* is evidence of nothing",
    ),
    ("DELETE FROM observations", "points at an observation that its dataset does not have"),
    (f"UPDATE observations SET dataset_id = {BOBS}", "points at an observation that its dataset"),
    ("UPDATE observations SET entries = '{}'", r"has no evidence for the positions \[0, 1, 2, 3\]"),
    ("UPDATE observations SET entries = '[1'", "the observation .* has entries that cannot"),
    (
        'UPDATE observations SET entries = \'{"1":{"99999999999":"x"}}\'',
        "the observation .* has entries that cannot",
    ),
    (_revision("evidence = '{}'", f"id = {LAST}"), "of row A1 names its evidence twice"),
    (f"UPDATE observations SET run_id = {FAILED}", "the observation .* names the failed Run"),
    ("UPDATE revisions SET observation_id = NULL", "cells that were read, but no observation"),
    # A dataset
    ("UPDATE datasets SET row_count = 9", "shop of local counts 9 rows, and has 2 present"),
    ("UPDATE datasets SET rows_updated_at = 1", "has another time of its last update"),
    ("UPDATE datasets SET schema_version = 3", "is at schema version 3, and has"),
    ("UPDATE datasets SET schema_version = 1 << 62", "is at schema version 4611686018427387904"),
    ("UPDATE datasets SET recipe_version = 1 << 62", "is at recipe version 4611686018427387904"),
    ("DELETE FROM schemas WHERE version = 1", r"is at schema version 2, and has \[2\]"),
    ("UPDATE schemas SET columns = '[]'", "has other columns than its newest schema"),
    ("UPDATE datasets SET recipe_version = 2", r"is at recipe version 2, and has \[1\]"),
    ("UPDATE recipes SET source = '{'", "a recipe, version 1, that cannot be read"),
    ("UPDATE datasets SET field_ids = '[]'", "field ids that do not fit together"),
    ("UPDATE datasets SET columns = 'x'", "columns, schemas or field ids that do not fit"),
    ("DELETE FROM bots", "has 0 Bots"),
    ("UPDATE datasets SET status = 'odd' WHERE name = 'shop'", "shop of local has the status odd"),
    ("UPDATE datasets SET schedule = 'now'", "shop of local has the schedule 'now', which must"),
    (
        "UPDATE datasets SET schedule = '0 6 * * *', status = 'active'",
        "shop of local is active with the schedule '0 6 \\* \\* \\*', and has no next fire",
    ),
    # Runs
    (
        "DROP INDEX uq_runs_open; UPDATE runs SET status = 'queued', completed_at = NULL",
        "shop of local has 4 open Runs",
    ),
    (
        f"{NO_LIMITS}; UPDATE runs SET status = 'running', turn = 'a'",
        "The site a has 6 running Runs",
    ),
    ("UPDATE runs SET new_rows = 5 WHERE status = 'failed'", r"tells of \(5, 0, 0\)"),
    ("UPDATE runs SET error = NULL WHERE status = 'failed'", "is failed, which its error denies"),
    ("UPDATE runs SET completed_at = NULL", "which its time of completion denies"),
    ("UPDATE runs SET recipe_version = 4", "executed recipe version 4, which there is not"),
    ("UPDATE runs SET checks = '{}'", "has checks, facts or a stop rule that cannot be read"),
    ("UPDATE runs SET checks = '[1]'", "has checks, facts or a stop rule that cannot be read"),
    ("UPDATE runs SET status = 'odd' WHERE status = 'failed'", "has the status odd"),
    ("UPDATE attempts SET steps = '{'", "has no readable steps"),
    (f"UPDATE held_outputs SET run_id = {FAILED}", "is failed, and holds an output"),
    ("UPDATE failed_pages SET markup = x'00'", "has a failed page that cannot be read"),
    ("UPDATE failed_pages SET number = 0", "has a failed page of number 0"),
    ("UPDATE failed_pages SET counts = '{'", "has a failed page whose counts cannot be read"),
    ("UPDATE failed_pages SET run_id = x'00'", "refers to nothing in runs"),
    (
        "UPDATE failed_pages SET run_id = (SELECT id FROM runs WHERE status = 'succeeded' LIMIT 1)",
        "is succeeded, and has a failed page",
    ),
    ("UPDATE runs SET problem = '{' WHERE status = 'failed'", "has a problem that cannot be read"),
    (
        "UPDATE runs SET checks = replace(checks, 'true', 'false') WHERE status = 'succeeded'",
        "is succeeded, and a Check of it failed",
    ),
    ("DELETE FROM held_outputs", "is held, and its output is missing"),
    ("UPDATE held_outputs SET harvest = x'00'", "table held_outputs, row .* column harvest"),
    ("UPDATE runs SET attempt = 7", "has used 7 attempts of 3"),
    ("UPDATE runs SET attempt = -1", "has used -1 attempts of 3"),
    (
        "UPDATE runs SET attempt = 0, started_at = NULL WHERE status = 'held'",
        "is held, and was never started",
    ),
    ("UPDATE runs SET lease_owner = 'a/1/1', lease_until = 1", "which its lease denies"),
    ("UPDATE runs SET completed_at = queued_at - 1", "was not queued, started and completed in"),
    ("UPDATE runs SET started_at = completed_at + 1", "was not queued, started and completed in"),
    ("UPDATE runs SET queued_at = 1 << 62", "table runs, row .* column queued_at cannot be read"),
    ("UPDATE runs SET completed_at = -1", "table runs, row .* column completed_at cannot be read"),
    ("UPDATE bots SET created_at = -1", "table bots, row .* column created_at cannot be read"),
    ("UPDATE cursors SET updated_at = 1 << 62", "table cursors, row .* column updated_at cannot"),
    (
        "INSERT INTO site_turns VALUES ('a.example', 'local', -1)",
        "row a.example, the column began_at",
    ),
    (
        "INSERT INTO browser_sessions SELECT x'00', id, 1 << 62 FROM api_keys LIMIT 1",
        "table browser_sessions, row 00, the column expires_at cannot be read",
    ),
    (
        "INSERT INTO sign_in_links SELECT x'00', id, -1 FROM api_keys LIMIT 1",
        "table sign_in_links, row 00, the column expires_at cannot be read",
    ),
    ("UPDATE attempts SET number = 0", "has an attempt 0 of an impossible number or time"),
    ("UPDATE attempts SET number = 9", "has an attempt 9 of an impossible number or time"),
    ("UPDATE attempts SET ended_at = started_at - 1", "has an attempt 1 of an impossible number"),
    # Credits
    ("UPDATE ledger SET credits = credits - 1 WHERE kind = 'charge'", "was charged 2 credits"),
    ("DELETE FROM ledger WHERE kind = 'charge'", "is succeeded and has 0 charges"),
    (
        "DELETE FROM ledger WHERE kind = 'charge'",
        "ledger of local is no running sum: 999997 is not",
    ),
    (
        f"UPDATE ledger SET run_id = {FAILED} WHERE kind = 'charge' AND owner = 'bob'",
        "charges for a Run that its dataset does not have",
    ),
    ("UPDATE runs SET status = 'blocked' WHERE status = 'succeeded'", "charges for a blocked Run"),
    ("UPDATE ledger SET owner = 'bob' WHERE kind = 'charge'", "charges for a dataset of local"),
    ("UPDATE ledger SET kind = 'grant'", "is a charge without a Run, or a grant with one"),
    ("UPDATE ledger SET balance_after = balance_after - 1", "of local is no running sum"),
    ("UPDATE owners SET balance = balance + 1 WHERE name = 'bob'", "of bob is no running sum"),
    ("UPDATE owners SET balance = -1 WHERE name = 'bob'", "The owner bob has the balance -1"),
    ("UPDATE ledger SET balance_after = -1", "leaves the balance -1, below 0"),
    ("UPDATE ledger SET kind = 'odd'", "of local: the entry .* is of kind odd"),
    # Uniqueness
    (f"DROP INDEX uq_runs_open; {NOTHING}", "has lost the unique index of runs over dataset_id"),
    (f"DROP INDEX uq_runs_turn; {NOTHING}", "has lost the unique index of runs over turn"),
    (
        f"DROP INDEX uq_revisions_row_id_request_id; {NOTHING}",
        "has lost the unique index of revisions over row_id,request_id",
    ),
    (
        f"DROP INDEX uq_runs_turn; CREATE INDEX uq_runs_turn ON runs (turn); {NOTHING}",
        "has lost the unique index of runs over turn",
    ),
    # The file
    ("UPDATE rows SET source_url = CAST(x'ff' AS TEXT)", "table rows, row .* column source_url"),
    ("UPDATE datasets SET row_count = 'few'", "table datasets, row .* column row_count"),
    ("DELETE FROM datasets WHERE owner = 'bob'", "refers to nothing in datasets"),
    (
        "PRAGMA writable_schema = ON; DELETE FROM sqlite_master WHERE name LIKE 'ix_rows_%'",
        "The file of the store is damaged",
    ),
]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of two owners in which everything has happened once."""
    home = tmp_path_factory.mktemp("sound")
    store = made.make_store(home)
    made.meet_owner(store, "local", 1_000_000)
    table = Table(store)
    table.take(A, B, C)
    table.take(B, C)
    table.take({**A, "price": 11}, B)
    table.edit("A1", {"price": 99, "note": "mine"})
    table.add_column("extra")
    feed.keep_cursor(store, table.id, "reader", 7)
    attempt = table.begin()
    odd = pages_of(attempt.recipe, [A], ending=StopReason("check_failed", LOOPS))
    seen = PageSnapshot(1, made.URL, made.URL, 200, "Shop", b"<p>Shop", cut=False)
    table.finish(attempt, replace(odd, seen=[seen]))
    made.meet_owner(store, "bob", 1)
    bob = made.make_dataset(store, "bob", "bobs")
    made.take(store, bob, [A, B], owner="bob")
    accounts.create_key(store, "bob", None)
    accounts.grant(store, "bob", 1)
    _hold_for_credits(store, bob)
    store.close()
    return home / "livedata.db"


@pytest.fixture
def copy(sound: Path, tmp_path: Path) -> Path:
    """A copy of the sound store."""
    path = tmp_path / "livedata.db"
    with closing(sqlite3.connect(sound)) as source, closing(sqlite3.connect(path)) as target:
        source.backup(target)
    return path


def test_a_sound_store_passes_and_is_counted(sound: Path) -> None:
    assert _judge(sound) == AuditReport(datasets=2, rows=5, revisions=9, problems=[])


def test_an_empty_store_passes(store: Store) -> None:
    assert check_store(store) == AuditReport(0, 0, 0, [])


def test_the_ledger_of_a_deleted_dataset_passes(store: Store) -> None:
    table = Table(store)
    table.take(A)
    datasets.remove(store, "local", table.id)
    assert check_store(store) == AuditReport(0, 0, 0, [])


def test_a_dataset_with_an_array_recipe_passes(copy: Path) -> None:
    _damage(copy, "UPDATE recipes SET source = '[]'")
    assert _judge(copy).problems == []


@pytest.mark.parametrize(("statement", "pattern"), DAMAGES, ids=[pattern for _, pattern in DAMAGES])
def test_a_planted_damage_is_found_and_named(copy: Path, statement: str, pattern: str) -> None:
    assert _damage(copy, statement) > 0
    _assert_told(copy, pattern)


@pytest.mark.parametrize(("table", "columns"), sorted(contradictions.UNIQUE))
def test_a_unique_index_that_is_lost_is_found_and_named(
    copy: Path, table: str, columns: str
) -> None:
    _lose_unique_indexes(copy, table, columns)
    _assert_told(copy, f"The store has lost the unique index of {table} over {columns}")


def _assert_told(path: Path, pattern: str) -> None:
    """`livedata check` says so, and ends with 1."""
    problems = orjson.loads(Shell(path.parent)("check", "--json", code=1).stdout)["problems"]
    assert any(re.search(pattern, problem) for problem in problems), problems


def _judge(path: Path) -> AuditReport:
    database = Database(f"sqlite:///{path}")
    try:
        return check_store(database)
    finally:
        database.close()


def _damage(path: Path, statements: str) -> int:
    """How many rows the statements hit."""
    with closing(sqlite3.connect(path)) as driver, driver:
        driver.execute("PRAGMA foreign_keys = OFF")
        for statement in statements.split("; "):
            driver.execute(statement)
        return driver.total_changes


def _lose_unique_indexes(path: Path, table: str, columns: str) -> None:
    """Take away what keeps these columns unique: an index, or a constraint of the table."""
    constraint = rf",\s*CONSTRAINT \w+ UNIQUE \({columns.replace(',', ', ')}\)"
    with closing(sqlite3.connect(path)) as driver, driver:
        named = driver.execute(_INDEXES, (table, columns)).fetchall()
        for (name,) in named:
            driver.execute(f"DROP INDEX {name}")
        (made_by,) = driver.execute(_MADE_BY, (table,)).fetchone()
        rebuilt, count = re.subn(constraint, "", made_by)
        assert count or named
        driver.execute(re.sub(rf'CREATE TABLE "?{table}"?', "CREATE TABLE rebuilt", rebuilt))
        driver.execute(f"INSERT INTO rebuilt SELECT * FROM {table}")
        driver.execute(f"DROP TABLE {table}")
        driver.execute(f"ALTER TABLE rebuilt RENAME TO {table}")


def _hold_for_credits(store: Store, dataset: ids.DatasetId) -> None:
    """A Run of `bob` whose two pages his one credit does not pay."""
    run, _ = runs.enqueue(store, "bob", dataset)
    attempt = attempts.begin(store, ids.RunId(ids.raw_id(run)))
    assert attempt is not None
    attempts.finish(store, attempt, pages_of(attempt.recipe, [A], [B]), AcceptancePolicy())
