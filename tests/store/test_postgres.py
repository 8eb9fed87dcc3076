"""A PostgreSQL server as a store: made, shared, refused in one sentence, and lost on the way."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import psycopg
import pytest
from alembic import command

from benchmarks import scale
from benchmarks.databases import POSTGRES
from livedata.messages.validation import read
from livedata.model.errors import StoreUnavailable
from livedata.model.ids import Micros, RunId, new_id
from livedata.model.requests import CreateDataset
from livedata.rules.network.targets import TargetPolicy
from livedata.services import accounts, datasets, queries
from livedata.services.audit.check import check_store
from livedata.store import accounts as stored_accounts
from livedata.store.database.backend import AlreadyThere, Reader, Writer
from livedata.store.database.migrate import config
from livedata.store.database.postgres import server as backend
from livedata.store.database.postgres import transaction, words
from livedata.store.database.postgres.server import Postgres
from livedata.store.database.postgres.transaction import FULL
from livedata.store.database.store import Database, Store
from livedata.store.database.table import VERSION
from tests.cli.shell import Shell
from tests.crawling import shop_source
from tests.databases import SETTINGS, Server, free_port, running_server
from tests.made import make_dataset, meet_owner, take
from tests.patience import LONG, until
from tests.relay import Relay
from tests.runs.test_pagination_none import SINGLE, listing
from tests.services.table import A, Table
from tests.site import Site

pytestmark = pytest.mark.postgres
PASSWORD = "s3cr3t"


@pytest.fixture
def url(postgres: Server) -> Iterator[str]:
    """The address of an empty database."""
    name = postgres.create()
    yield postgres.url(name)
    postgres.drop(name)


@pytest.fixture
def made(url: str) -> str:
    """The address of a store that was just made."""
    with closing(Store(url)) as store:
        store.ensure()
    return url


def say(url: str, *statements: str) -> None:
    """Say something to a database as another program would."""
    with psycopg.connect(url, autocommit=True) as driver:
        for statement in statements:
            driver.execute(statement)


def refusal(url: str, kind: type[Database] = Store) -> str:
    """Why a store cannot be used."""
    with closing(kind(url)) as store, pytest.raises(StoreUnavailable) as refused:
        store.ensure()
    return refused.value.message


def tables(url: str) -> list[str]:
    """The tables of a database."""
    with psycopg.connect(url) as driver:
        rows = driver.execute("SELECT relname FROM pg_class WHERE relkind = 'r'").fetchall()
    return sorted(name for (name,) in rows if not name.startswith(("pg_", "sql_")))


# Made and migrated


def test_a_store_goes_down_to_nothing_and_up_again_with_its_data(url: str) -> None:
    with closing(Store(url)) as store:
        dataset = make_dataset(store)
        take(store, dataset)
        rows = queries.rows(store, "local", dataset, 10)[0]
    with closing(Postgres(url)) as old, old.migrating() as connection:
        command.downgrade(config(connection), "0001")
    assert "failed_pages" not in tables(url)
    with closing(Store(url)) as again:
        assert queries.rows(again, "local", dataset, 10)[0] == rows
        assert check_store(again).problems == []
    with closing(Postgres(url)) as whole, whole.migrating() as connection:
        command.downgrade(config(connection), "base")
    assert tables(url) == ["alembic_version"]


ENSURE = "import sys; from livedata.store.database.store import Store; Store(sys.argv[1]).ensure()"


def ensuring(url: str) -> subprocess.Popen[bytes]:
    """A process that makes the store."""
    command_line = [sys.executable, "-c", ENSURE, url]
    return subprocess.Popen(command_line, stderr=subprocess.PIPE)


def test_a_process_that_is_killed_while_it_makes_the_store_leaves_nothing(url: str) -> None:
    # The lock that migrations take is taken here, so that the process stands still before them.
    with psycopg.connect(url) as other:
        other.execute("SELECT pg_advisory_xact_lock(%s)", (backend._MIGRATION_LOCK,))
        process = ensuring(url)
        while not other.execute("SELECT 1 FROM pg_locks WHERE NOT granted").fetchone():
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert tables(url) == []
    with closing(Store(url)) as store:
        store.ensure()
    assert "alembic_version" in tables(url)


def test_text_is_sorted_by_code_points_in_a_database_of_any_language(postgres: Server) -> None:
    name = postgres.create(
        "LOCALE_PROVIDER icu ICU_LOCALE 'en-US' LOCALE 'C' TEMPLATE template0 ENCODING 'UTF8'"
    )
    names = ["_", "a", "ä", "B", "Z"]
    with closing(Store(postgres.url(name))) as store:
        for each in names:
            make_dataset(store, name=each)
        with store.reading() as reader:
            others = "SELECT n FROM (VALUES ('_'), ('a'), ('ä'), ('B'), ('Z')) v(n) ORDER BY n"
            assert [row[0] for row in reader.rows(others)] == names
            listed = [row[0] for row in reader.rows("SELECT name FROM datasets ORDER BY name")]
    postgres.drop(name)
    assert listed == sorted(names)


def test_a_run_by_hand_imports_nothing_of_migrations(
    made: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Site() as site, closing(Store(made)) as store:
        site.page("/1", listing("a"))
        meet_owner(store, "local", 10)
        declared = shop_source(site.at("/1"), pagination=SINGLE)
        datasets.create(
            store, "local", read(CreateDataset, declared), TargetPolicy.parse(site.host)
        )
        (tmp_path / "config.toml").write_text(f'database_url = "{made}"\n')
        monkeypatch.setenv("LIVEDATA_ALLOW_HOSTS", site.host)
        assert not Shell(tmp_path).modules_after("run", "shop") & {"alembic", "sqlalchemy"}
        assert queries.datasets(store, "local", 1)[0]["rowCount"] == 1


# Refused


def test_what_was_prepared_behind_a_failure_is_prepared_anew(made: str) -> None:
    answers = []
    with closing(Store(made)) as store:
        meet_owner(store, "bob", 1)
        # As often as psycopg asks before it prepares a statement, and each time behind a failure.
        for _ in range(12):
            with suppress(AlreadyThere), store.writing() as writer:
                writer.execute(
                    "INSERT INTO owners (name, balance, created_at) VALUES ('bob', 1, 1)"
                )
                writer.value("SELECT 41 + 1")
            with store.reading() as reader:
                answers.append(reader.value("SELECT 41 + 1"))
    assert answers == [42] * 12


def test_a_store_that_has_lost_a_table_is_to_be_restored(made: str) -> None:
    say(made, "DROP TABLE revisions CASCADE")
    with closing(Database(made)) as store, pytest.raises(StoreUnavailable) as raised:
        check_store(store)
    assert str(raised.value).endswith(
        'cannot be used: relation "revisions" does not exist. Restore the database from its backup.'
    )


def test_the_database_of_another_program_is_refused_and_left_as_it_is(url: str) -> None:
    say(url, "CREATE TABLE notes (text TEXT)")
    assert "is the database of another program; it was left as it is" in refusal(url)
    assert tables(url) == ["notes"]


@pytest.mark.parametrize("kind", [Store, Database], ids=["to write", "to read"])
def test_a_store_of_a_newer_livedata_is_refused(made: str, kind: type[Database]) -> None:
    say(made, "UPDATE alembic_version SET version_num = '9999'")
    said = refusal(made, kind)
    assert "newer livedata (version 9999" in said
    assert "Upgrade livedata" in said


def test_a_wrong_password_is_said_without_it(postgres: Server, url: str) -> None:
    rules = postgres.folder / "data" / "pg_hba.conf"
    trusting = rules.read_text()
    say(url, f"CREATE ROLE guarded LOGIN PASSWORD '{PASSWORD}-right'")
    rules.write_text("host all guarded 127.0.0.1/32 scram-sha-256\n" + trusting)
    postgres.ask("SELECT pg_reload_conf()")
    try:
        said = refusal(url.replace("postgres@", f"guarded:{PASSWORD}@"))
    finally:
        rules.write_text(trusting)
        postgres.ask("SELECT pg_reload_conf()")
        say(url, "DROP ROLE guarded")
    assert "password authentication failed" in said
    assert "Check the user and the password in LIVEDATA_DATABASE_URL, or in ~/.pgpass." in said
    assert PASSWORD not in said


def test_a_database_that_is_missing_is_named_with_the_way_to_make_it(postgres: Server) -> None:
    said = refusal(postgres.url("nowhere"))
    assert 'database "nowhere" does not exist' in said
    assert "createdb" in said


def test_a_host_that_is_missing_is_named() -> None:
    said = refusal(f"postgresql://me:{PASSWORD}@nowhere.invalid/livedata")
    assert "postgresql://me@nowhere.invalid/livedata" in said
    assert PASSWORD not in said


def test_a_server_that_does_not_run_is_said() -> None:
    said = refusal(f"postgresql://me:{PASSWORD}@127.0.0.1:{free_port()}/livedata")
    assert "Connection refused" in said
    assert "Check that the server runs" in said
    assert PASSWORD not in said


def test_a_server_that_accepts_and_never_answers_is_given_up_after_5_seconds() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        began = time.monotonic()
        said = refusal(f"postgresql://127.0.0.1:{silent.getsockname()[1]}/livedata")
    assert 4 < time.monotonic() - began < LONG
    assert "timeout" in said


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://me:{PASSWORD}/x@host/livedata",
        f"postgresql://me:{PASSWORD}@x@host/livedata",
        f"postgresql://me:12/{PASSWORD}@host/livedata",
        f"postgresql://me@host/livedata?passwort={PASSWORD}",
        f"postgresql://me:{PASSWORD}@[host/livedata",
    ],
)
def test_a_url_that_cannot_be_taken_apart_is_refused_without_a_word_of_it(url: str) -> None:
    with pytest.raises(StoreUnavailable, match="cannot be read; write postgresql://") as refused:
        Store(url)
    assert PASSWORD not in refused.value.message


def test_a_password_in_the_parameters_is_not_shown() -> None:
    store = Store(f"postgresql://me@host/livedata?password={PASSWORD}")
    assert store.place == "postgresql://me@host/livedata"


@pytest.mark.parametrize(
    ("parameter", "said"),
    [
        ("connect_timeout=x", "bad value for connect_timeout: 'x'. Correct it"),
        ("sslmode=maybe", 'used: invalid sslmode value: "maybe". Correct it'),
        ("keepalives=x", 'invalid integer value "x" for connection option "keepalives". Correct'),
        ("sslmode=require", "server does not support SSL, but SSL was required. Change sslmode"),
        ("service=none", 'definition of service "none" not found. Check'),
    ],
)
def test_a_wrong_parameter_of_the_url_is_named(url: str, parameter: str, said: str) -> None:
    assert said in refusal(f"{url}?{parameter}")


def test_a_user_sees_every_character_in_any_encoding_that_the_url_names(made: str) -> None:
    with closing(Store(f"{made}?client_encoding=latin1")) as store:
        make_dataset(store, name="Ωmega")
        assert queries.datasets(store, "local", 9)[0]["name"] == "Ωmega"


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("FATAL:  sorry, too many clients already", "Raise max_connections"),
        ("FATAL:  remaining connection slots are reserved for roles", "Raise max_connections"),
        ('FATAL:  no pg_hba.conf entry for host "h", user "u", database "d"', "Let the server"),
        ('permission denied for database "livedata"', "Let the user create and write"),
        ('FATAL:  role "me" does not exist', "Check the user"),
        ("FATAL:  the database system is starting up", "Try again in some seconds"),
        ("FATAL:  no more connections allowed (max_client_conn)", "Raise max_connections"),
        ("canceling statement due to conflict with recovery", "Let the replica have hot_standby"),
    ],
)
def test_each_refusal_has_its_advice(text: str, advice: str) -> None:
    assert f". {advice}" in words.failure("postgresql://host/livedata", None, text)


def test_an_older_server_is_refused(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "OLDEST", 99)
    assert "livedata needs 99 or newer" in refusal(url)


def test_a_database_that_cannot_keep_every_character_is_refused(postgres: Server) -> None:
    name = postgres.create("TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'")
    said = refusal(postgres.url(name))
    postgres.drop(name)
    assert "its encoding is LATIN1" in said


@pytest.mark.parametrize("is_made", [True, False], ids=["a store", "an empty database"])
def test_a_read_only_database_is_said(
    url: str, request: pytest.FixtureRequest, *, is_made: bool
) -> None:
    if is_made:
        request.getfixturevalue("made")
    read_only = f"{url}?options=-c%20default_transaction_read_only%3Don"
    with closing(Store(read_only)) as store:
        with pytest.raises(StoreUnavailable, match="it is read-only") as refused:
            accounts.grant(store, "local", 5)
        assert "default_transaction" not in refused.value.message


def test_a_user_who_may_not_make_tables_is_told_so(url: str) -> None:
    say(
        url,
        "DROP ROLE IF EXISTS guest",
        "CREATE ROLE guest LOGIN",
        "REVOKE CREATE ON SCHEMA public FROM public",
    )
    said = refusal(url.replace("postgres@", "guest@"))
    say(url, "DROP ROLE guest")
    assert "permission denied for schema public" in said
    assert "Let the user create and write tables" in said


def test_without_what_it_needs_the_way_to_install_it_is_said() -> None:
    script = (
        "import sys; sys.modules['psycopg'] = None\n"
        "from livedata.cli import main; main(['dataset', 'list'])"
    )
    environ = {**os.environ, "LIVEDATA_DATABASE_URL": f"postgresql://me:{PASSWORD}@host/livedata"}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 8
    assert "-m pip install" in done.stderr
    assert "'psycopg[binary]" in done.stderr
    assert PASSWORD not in done.stderr


# Vacuumed


def test_a_long_history_does_not_keep_the_dead_of_the_queue(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(SETTINGS, "autovacuum", "on")
    monkeypatch.setitem(SETTINGS, "autovacuum_naptime", "1s")
    monkeypatch.setitem(SETTINGS, "log_autovacuum_min_duration", "0")
    with running_server() as server:
        url = server.url(server.create())
        with closing(Store(url)) as store:
            scale.first_run(store)
        with scale.connected(url) as driver:
            filling = scale.Filling(driver, POSTGRES, 1_000)
            filling.fill()  # with 20 Runs each
            filling.queue()
        # So few, and on so few pages, that PostgreSQL would leave them in its indexes by itself.
        few = "status = 'queued' AND id < 'q000000000000150'"
        say(url, f"UPDATE runs SET status = 'running', turn = CAST(id AS text) WHERE {few}")
        say(url, "UPDATE runs SET status = 'succeeded' WHERE status = 'running'")
        dead = f"had {2 * 146} dead item identifiers removed"
        until(lambda: dead in server.log(), LONG)


# Lost on the way


def test_a_store_whose_server_was_started_again_goes_on() -> None:
    with running_server() as server, closing(Store(server.url("postgres"))) as store:
        meet_owner(store, "local", 7)
        server.stop()
        with pytest.raises(StoreUnavailable, match="Check that the server runs"):
            accounts.grant(store, "local", 5)
        server.start()
        assert accounts.grant(store, "local", 5)["balanceAfter"] == 12


def test_a_transaction_that_is_cut_off_has_written_nothing(made: str) -> None:
    def cut_off(writer: Writer) -> None:
        writer.execute("UPDATE owners SET balance = 8")
        pid = writer.value("SELECT pg_backend_pid()")
        say(made, f"SELECT pg_terminate_backend({pid})")
        writer.execute("UPDATE owners SET balance = 9")

    with closing(Store(made)) as store:
        meet_owner(store, "local", 7)
        with pytest.raises(StoreUnavailable), store.writing() as writer:
            cut_off(writer)
        with store.reading() as reader:
            assert reader.value("SELECT balance FROM owners") == 7


def test_an_act_that_goes_on_after_a_failed_statement_is_no_success(made: str) -> None:
    def act(writer: Writer) -> None:
        writer.execute("UPDATE owners SET balance = 8")
        with pytest.raises(psycopg.errors.UndefinedTable):
            writer.written("UPDATE nothing SET is_there = 1")

    with closing(Store(made)) as store:
        meet_owner(store, "local", 7)
        with pytest.raises(RuntimeError, match="the act went on"), store.writing() as writer:
            act(writer)
        with store.reading() as reader:
            assert reader.value("SELECT balance FROM owners") == 7


def test_what_waits_for_a_question_is_sent_before_it_is_much(made: str) -> None:
    add = "INSERT INTO owners (name, balance, created_at) VALUES (:name, 1, 1)"
    with Relay(made) as relay, closing(Store(relay.url)) as store:
        store.ensure()
        relay.forget()
        with store.writing() as writer:
            for number in range(FULL):
                writer.execute(add, name=f"owner {number}")
            writer.many(add, [{"name": f"more {number}"} for number in range(FULL)])
            assert relay.statements >= 2 * FULL
            writer.execute(add, name="last")
            assert relay.waits <= 3
        with store.reading() as reader:
            assert reader.value("SELECT count(*) FROM owners") == 2 * FULL + 1


def test_a_row_that_another_transaction_keeps_is_waited_for_and_then_given_up(
    made: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backend, "LOCK_SECONDS", 0.2)
    with closing(Store(made)) as store, closing(Store(made)) as other:
        meet_owner(store, "local", 7)
        with other.writing() as writer:
            writer.written("UPDATE owners SET balance = 8")
            with pytest.raises(StoreUnavailable, match="another process keeps it locked"):
                accounts.grant(store, "local", 5)
        assert accounts.grant(store, "local", 5)["balanceAfter"] == 13


def test_a_process_that_stands_still_with_locks_is_cut_off(
    made: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stand_still(writer: Writer) -> None:
        writer.written("UPDATE owners SET balance = 8")
        time.sleep(1)
        writer.execute("UPDATE owners SET balance = 9")

    with closing(Store(made)) as store:
        meet_owner(store, "local", 7)
        with monkeypatch.context() as patient:
            patient.setattr(backend, "_LIMITS", backend._LIMITS.replace("30s", "200ms"))
            with pytest.raises(StoreUnavailable), store.writing() as writer:
                stand_still(writer)
        assert accounts.grant(store, "local", 5)["balanceAfter"] == 12


@pytest.mark.parametrize("charged", [False, True])
def test_one_that_stands_still_with_an_owner_is_cut_off_before_those_who_wait_give_up(
    made: str, charged: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All Runs of an owner wait there, of every machine."""
    monkeypatch.setattr(backend, "LOCK_SECONDS", 4)
    soon = transaction._BRIEFLY.replace("5s", "1s")
    monkeypatch.setattr(transaction, "_BRIEFLY", soon)
    ended: list[str] = []

    def stand_still(writer: Writer) -> None:
        if charged:
            run = RunId(new_id())
            assert stored_accounts.charge(writer, "local", 1, Micros(1), table.id, run)()
        else:
            stored_accounts.lock_owner(writer, "local")
        ended.append(table.take(A)["status"])
        writer.written("UPDATE owners SET balance = 9")

    with closing(Store(made)) as store, closing(Store(made)) as frozen:
        meet_owner(store, "local", 100)
        table = Table(store)
        with pytest.raises(StoreUnavailable), frozen.writing() as writer:
            stand_still(writer)
    assert ended == ["succeeded"]


def test_a_pooler_that_changes_connections_under_a_session_is_said(made: str) -> None:
    with closing(Store(made)) as store:
        for _ in range(8):  # as often as a statement is asked before the server keeps it
            with store.writing() as writer:
                writer.value("SELECT count(*) FROM owners WHERE name = :name", name="me")
        with store.writing() as writer:
            writer.execute("DO $$ BEGIN EXECUTE 'DEALLOCATE ALL'; END $$")
        with pytest.raises(StoreUnavailable, match="pooler"), store.writing() as writer:
            writer.value("SELECT count(*) FROM owners WHERE name = :name", name="me")


# Read


def test_a_read_sees_the_store_as_it_was_at_its_start(made: str) -> None:
    with closing(Store(made)) as store:
        meet_owner(store, "local", 7)
        with store.reading() as reader:
            before = reader.value("SELECT balance FROM owners")
            accounts.grant(store, "local", 5)
            assert reader.value("SELECT balance FROM owners") == before


def test_a_read_writes_nothing(made: str) -> None:
    with closing(Store(made)) as store:
        with pytest.raises(StoreUnavailable, match="read-only"), store.reading() as reader:
            reader.value("INSERT INTO owners VALUES ('me', 1, 1) RETURNING name")
        assert check_store(store).problems == []


@pytest.mark.parametrize(
    ("sql", "values", "answer"),
    [
        ("SELECT :one, :two, :one", {"one": "a", "two": b"b"}, ("a", b"b", "a")),
        ("SELECT 7 % 4, 'x' LIKE '%x'", {}, (3, True)),
        ("SELECT 7 % :n, 'x' LIKE '%x'", {"n": 4, "unused": 1}, (3, True)),
        ("SELECT '1'::int, :n::text", {"n": "x"}, (1, "x")),
        ("SELECT coalesce(:none, :text)", {"none": None, "text": "x"}, ("x",)),
        ("SELECT :big & :bit", {"big": 2**62, "bit": 1 << 62}, (2**62,)),
    ],
)
def test_a_statement_with_names_is_asked_as_it_is_meant(
    made: str, sql: str, values: dict[str, object], answer: tuple[object, ...]
) -> None:
    with closing(Store(made)) as store, store.reading() as reader:
        assert reader.row(sql, **values) == answer


@pytest.mark.parametrize("count", [0, 499, 500, 501, 1700])
def test_a_long_answer_comes_whole_in_parts(made: str, count: int) -> None:
    with closing(Store(made)) as store, store.reading() as reader:
        numbers = reader.each("SELECT n FROM generate_series(1, :count) n", count=count)
        assert [n for (n,) in numbers] == list(range(1, count + 1))


def test_an_answer_may_be_left_before_its_end_and_asked_beside_another(made: str) -> None:
    def first_of(reader: Reader, count: int) -> int:
        return next(reader.each("SELECT n FROM generate_series(1, :count) n", count=count))[0]  # type: ignore[no-any-return]

    with closing(Store(made)) as store, store.reading() as reader:
        outer = reader.each("SELECT n FROM generate_series(1, 3) n")
        assert [(n, first_of(reader, 5000)) for (n,) in outer] == [(1, 1), (2, 1), (3, 1)]


def test_threads_share_a_store_and_none_gets_the_connection_of_another(made: str) -> None:
    with closing(Store(made)) as store:
        meet_owner(store, "local", 0)

        def grant() -> None:
            for _ in range(10):
                accounts.grant(store, "local", 1)

        run_all([grant] * 8)
        with store.reading() as reader:
            assert reader.value("SELECT balance FROM owners") == 80
        assert check_store(store).problems == []


def run_all(acts: list[Callable[[], None]]) -> None:
    """Run acts at once, to their ends."""
    threads = [threading.Thread(target=act) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_a_question_imports_neither_migrations_nor_what_hears_calls(made: str) -> None:
    script = (
        "import sys; from livedata.store.database.store import Database\n"
        "with Database(sys.argv[1]).reading() as reader: reader.rows('SELECT 1')\n"
        "print(*{'sqlalchemy', 'alembic', 'livedata.store.database.postgres.listener'} "
        "& set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script, made], capture_output=True, check=True
    )
    assert done.stdout.strip() == b""


def test_the_version_is_that_of_the_newest_migration(made: str) -> None:
    with closing(Postgres(made)) as store:
        assert store.version() == VERSION


def test_references_that_lead_nowhere_and_lost_indexes_are_found(made: str) -> None:
    with closing(Store(made)) as store:
        dataset = make_dataset(store)
        take(store, dataset)
        say(made, "SET session_replication_role = replica; DELETE FROM datasets")
        say(made, "DROP INDEX uq_runs_turn")
        problems = check_store(store).problems
    assert any("of the table rows refers to nothing in datasets" in each for each in problems)
    assert any("lost the unique index of runs over turn" in each for each in problems)
