"""``livedata notice``: added, listed, tried and removed, and what cannot be is one sentence."""

from __future__ import annotations

import base64
import re
import sys
from datetime import timedelta
from pathlib import Path

import orjson
import pytest

from livedata.hints import install_command
from livedata.model import ids
from livedata.model.ids import OwnerName
from livedata.rules.declaration.notices import CHANNELS, ChangeFilter
from livedata.rules.network.targets import TargetPolicy
from livedata.store import notices
from livedata.store.database.store import Store
from livedata.worker.delivery.courier import Courier
from tests.cli.shell import Shell
from tests.made import ITEMS, make_dataset, take
from tests.notices.conftest import add_notice
from tests.notices.receiver import receiving
from tests.services.conftest import set_clock, step
from tests.services.table import A, Table

__all__ = ["set_clock", "step"]
# Apprise imports a module of Python that is deprecated.
pytestmark = [pytest.mark.one_database, pytest.mark.filterwarnings("ignore:.*imghdr")]
OURS = Path(__file__).parents[2] / "livedata"
HOOK = ("--webhook", "https://hooks.example/x")
MAIL = "mailto://ada:s3cret@mail.example"


@pytest.fixture
def livedata(store: Store, tmp_path: Path) -> Shell:
    """The command line over the same store as the fixture `store`."""
    assert store.url
    return Shell(tmp_path)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--webhook", "hooks.example/x"), "--webhook must begin with http:// or https://."),
        (
            ("--webhook", "http://127.0.0.1:8080/x"),
            "--webhook has the private address 127.0.0.1, which gets no webhook.",
        ),
        (("--webhook", "https://ada:pw@hooks.example"), "must not contain a user name or password"),
        (("--command", " "), "--command is empty."),
        (
            ("--apprise", "nothing"),
            "--apprise is no address that Apprise takes: its kind",
        ),
        ((*HOOK, "--dataset", "shoes"), "There is no dataset 'shoes'"),
    ],
)
def test_what_cannot_be_told_is_refused(livedata: Shell, words: tuple[str, ...], said: str) -> None:
    error = livedata.error("notice", "add", "ops", *words)
    assert said in error
    assert livedata.json("notice", "list") == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "Give one of --webhook, --command and --apprise."),
        ((*HOOK, "--command", "cat"), "Give one of --webhook, --command and --apprise."),
        (
            (*HOOK, "--on", "changes,moods"),
            "there is no kind 'moods'; name some of changes",
        ),
        ((*HOOK, "--on", ""), "there is no kind ''"),
        ((*HOOK, "--after", "0"), "0 is not in the range 1<=x<=1000"),
        ((*HOOK, "--silent-for", "soon"), "'soon' is no span of time between 1m and 3650d"),
        ((*HOOK, "--silent-for", "0d"), "'0d' is no span of time"),
        ((*HOOK, "--silent-for", "9999w"), "'9999w' is no span of time"),
        ((*HOOK, "--on", "silent"), "silent and --silent-for go together"),
        ((*HOOK, "--on", "odd", "--silent-for", "2d"), "silent and --silent-for go together"),
    ],
)
def test_wrong_usage_is_said(livedata: Shell, words: tuple[str, ...], said: str) -> None:
    error = livedata.error("notice", "add", "ops", *words, code=2)
    assert said in " ".join(error.split())


UNREACHED = {
    "webhook": "http://127.0.0.1:9/",
    "command": "false",
    "apprise": "json://127.0.0.1:9",
}
"""A target of each channel that takes no message."""


def test_each_channel_that_can_be_named_tries_to_deliver(livedata: Shell, store: Store) -> None:
    said = livedata.error("notice", "add", "ops", code=2)
    assert set(re.findall(r"--(\w+)", said.partition("Give one of")[2])) == UNREACHED.keys()
    for channel, target in UNREACHED.items():
        add_notice(store, channel, channel=channel, target=target)
        said = livedata.error("notice", "test", channel)
        assert said.startswith("Not delivered: ")
        assert "nobody foresaw" not in said


def test_no_door_asks_for_a_channel_by_its_name() -> None:
    asks = re.compile(rf"""channel\S* (?:[!=]=|(?:not )?in) [({{["']+(?:{"|".join(CHANNELS)})""")
    files = [each for kind in ("py", "html") for each in OURS.rglob(f"*.{kind}")]
    assert len(files) > 500
    assert [str(each) for each in files if asks.search(each.read_text())] == []


def test_a_list_shows_no_more_of_a_channel_than_is_known_to_be_no_secret(
    livedata: Shell, store: Store
) -> None:
    add_notice(store, "new", channel="pigeon", target="pigeon://s3cret@loft/k3y")
    add_notice(store, "file", channel="pigeon", target="/var/log/pigeons")
    shown = [each["target"] for each in livedata.json("notice", "list")]
    assert shown == ["/var/log/pigeons", "pigeon://…"]


def test_a_name_is_taken_once_and_a_hundred_are_the_most(livedata: Shell, store: Store) -> None:
    livedata("notice", "add", "ops", *HOOK)
    assert "There is a notice named 'ops' already" in livedata.error("notice", "add", "ops", *HOOK)
    livedata("notice", "add", "ops", *HOOK, "--owner", "bob")
    assert "1 to 120 characters" in livedata.error("notice", "add", "\t", *HOOK)
    with store.writing() as writer:
        for number in range(99):
            writer.execute(
                "INSERT INTO notices (id, owner, name, channel, target, kinds, threshold, "
                "created_at) VALUES (:id, 'local', :name, 'command', 'x', '[]', 2, 0)",
                id=bytes([number] * 16),
                name=f"n{number}",
            )
    error = livedata.error("notice", "add", "more", *HOOK)
    assert "local has 100 notices, which is the most" in error


def test_what_is_mistyped_is_answered_with_a_near_one(livedata: Shell) -> None:
    assert "There is: none yet." in livedata.error("notice", "test", "ops")
    livedata("notice", "add", "ops", "--command", "cat")
    assert "did you mean 'ops'?" in livedata.error("notice", "remove", "opps")
    assert livedata.out("notice", "remove", "ops") == "Removed the notice ops.\n"
    assert livedata.json("notice", "list") == []
    for name in "abcdef":
        livedata("notice", "add", name, "--command", "cat")
    assert "There is: a, b, c, d, e and 1 more." in livedata.error("notice", "remove", "nix")


def test_a_secret_is_shown_once(livedata: Shell) -> None:
    shown = livedata("notice", "add", "ops", "--webhook", "https://hooks.example/T1/key?k=v")
    secret = shown.stdout.split()[-1]
    assert len(base64.b64decode(secret.removeprefix("whsec_"))) == 32
    assert "it is not shown again" in shown.stderr
    listed = livedata.out("notice", "list") + livedata.out("notice", "list", "--json")
    assert secret not in listed
    assert "key" not in listed
    assert "https://hooks.example/…" in listed
    assert livedata.json("notice", "add", "two", *HOOK)["secret"].startswith("whsec_")


def test_a_list_says_of_what_each_tells(livedata: Shell, store: Store) -> None:
    make_dataset(store)
    livedata(
        *("notice", "add", "ops", "--apprise", MAIL, "--on", "silent,failing", "--after", "3"),
        *("--silent-for", "48h", "--dataset", "shop"),
    )
    (_, line) = livedata.out("notice", "list").splitlines()
    told = [part.strip() for part in line.split("  ") if part]
    assert told == ["ops", "mailto://…", "failing after 3, silent for 2d", "shop", "on"]
    (listed,) = livedata.json("notice", "list")
    assert listed["on"] == ["failing", "silent"]
    assert (listed["after"], listed["silentFor"], listed["endedAt"]) == (3, "2d", None)
    assert listed["datasets"][0]["name"] == "shop"
    livedata("dataset", "delete", "shop", "--yes")
    assert "(deleted)" in livedata.out("notice", "list")


def test_a_list_says_how_many_messages_could_not_be_delivered(
    livedata: Shell, store: Store
) -> None:
    table = Table(store)
    livedata("notice", "add", "ops", "--command", "exit 1", "--on", "changes")
    livedata("notice", "add", "well", "--command", "cat", "--on", "changes")
    table.take(A)
    table.take({**A, "price": 1})
    Courier(store, TargetPolicy()).deliver_soon()
    _, ops, well = livedata.out("notice", "list").splitlines()
    assert ops.endswith("on, 2 messages not delivered yet")
    assert well.endswith("on")


def test_a_notice_that_is_damaged_hides_no_other(livedata: Shell, store: Store) -> None:
    for name in ("mine", "lost"):
        livedata("notice", "add", name, *HOOK)
    with store.writing() as writer:
        writer.execute("UPDATE notices SET kinds = '{' WHERE name = 'lost'")
    said = "The notice 'lost' is damaged and tells nothing. Remove it, and add it again:"
    shown = livedata("notice", "list")
    assert shown.exit_code == 0
    assert "hooks.example" in shown.stdout
    assert f"{said} livedata notice remove lost" in shown.stderr
    assert [notice["name"] for notice in livedata.json("notice", "list")] == ["mine"]
    livedata("notice", "remove", "mine")
    assert "There is no notice yet" not in livedata("notice", "list").stderr
    livedata("notice", "remove", "lost")
    assert "There is no notice yet" in livedata("notice", "list").stderr


def test_a_test_says_whether_it_arrives(
    livedata: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "event"
    livedata("notice", "add", "file", "--command", f"cat > {file}")
    assert livedata.out("notice", "test", "file") == "The test of file was delivered.\n"
    event = orjson.loads(file.read_bytes())
    assert (event["type"], event["source"]) == ("livedata.test", "/v1/datasets")
    monkeypatch.setenv("LIVEDATA_PUBLIC_URL", "https://data.example")
    livedata("notice", "test", "file")
    assert orjson.loads(file.read_bytes())["source"] == "https://data.example/v1/datasets"
    livedata("notice", "add", "broken", "--command", "echo no room >&2; exit 3")
    error = livedata.error("notice", "test", "broken")
    assert error == "Not delivered: The command ended with 3: no room\n"
    with receiving() as hook:
        monkeypatch.setenv("LIVEDATA_ALLOW_HOSTS", hook.place)
        hook.secret = livedata.json("notice", "add", "hook", "--webhook", hook.url)["secret"]
        livedata("notice", "test", "hook")
        monkeypatch.setenv("LIVEDATA_ALLOW_HOSTS", "")
        error = livedata.error("notice", "test", "hook")
    assert len(hook.taken) == 1
    assert "127.0.0.1 is at the private address 127.0.0.1, which gets no webhook." in error
    assert f"LIVEDATA_ALLOW_HOSTS={hook.place}" in error


def test_mail_and_chat_go_by_apprise(livedata: Shell) -> None:
    with receiving() as chat:
        livedata("notice", "add", "chat", "--apprise", f"json://ada:s3cret@{chat.place}/")
        livedata("notice", "test", "chat")
        ((told, _),) = chat.arrived
        assert told["title"] == "a test of livedata"
        assert told["message"] == "This is a test of the notice chat."
        chat.behave = lambda _: 500
        shown = livedata.raw("notice", "test", "chat")
    assert "Apprise could not deliver it" in shown.stderr
    assert "s3cret" not in shown.output + livedata.out("notice", "list", "--json")


def test_an_address_with_a_password_can_stand_elsewhere(
    livedata: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, store: Store
) -> None:
    file = tmp_path / "address"
    file.write_text(f"{MAIL}\n")
    monkeypatch.setenv("OUR_MAIL", MAIL)
    monkeypatch.setenv("OUR_HOOK", "https://example.org/k3y")
    livedata("notice", "add", "a", "--apprise", f"file:{file}")
    livedata("notice", "add", "b", "--apprise", "env:OUR_MAIL")
    livedata("notice", "add", "c", "--apprise", "-", stdin=f"{MAIL}\n")
    livedata("notice", "add", "d", "--webhook", "env:OUR_HOOK")
    with store.reading() as reader:
        kept = [notice.target for notice in notices.readable(reader, OwnerName("local"))]
    assert kept == [MAIL, MAIL, MAIL, "https://example.org/k3y"]
    shown = livedata.out("notice", "list") + livedata.out("notice", "list", "--json")
    assert "k3y" not in shown
    assert "s3cret" not in shown


NO_ADDRESS = (
    "holds no address, or more than one; it is one line such as mailto://user:password@example.org"
)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("file:/none/here", "the file '/none/here' cannot be read: No such file or directory."),
        ("file:/dev", "the file '/dev' cannot be read: Is a directory."),
        ("file:", "the file '' cannot be read: Is a directory."),
        ("file:~nobody-here/x", "the file '~nobody-here/x' cannot be read: there is no such text."),
        ("file:/dev/zero", f"the file '/dev/zero' {NO_ADDRESS}"),
        ("env:NOT_SET_HERE", f"the variable 'NOT_SET_HERE' {NO_ADDRESS}"),
        ("env:", f"the variable '' {NO_ADDRESS}"),
        ("-", f"standard input {NO_ADDRESS}"),
    ],
)
def test_an_address_that_is_not_there_is_said(livedata: Shell, given: str, said: str) -> None:
    shown = livedata.raw("notice", "add", "ops", "--apprise", given, stdin=f"{MAIL}\n{MAIL}\n")
    assert shown.exit_code == 2
    assert f"Invalid value for '--apprise': {said}" in shown.stderr


def test_a_list_shows_no_password_of_a_command(livedata: Shell) -> None:
    line = "curl -d @- https://ada:s3cret@example.org/hook"
    livedata("notice", "add", "ops", "--command", line)
    for shown in (livedata.out("notice", "list"), livedata.out("notice", "list", "--json")):
        assert "s3cret" not in shown
        assert "ada:***@example.org" in shown


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("post --token hunter2 --to ada", "post --token *** --to ada"),
        ("post --password='hunter2 x' --to ada", "post --password='***' --to ada"),
        ('API_KEY="hunter2" post; echo sent', 'API_KEY="***" post; echo sent'),
        ("curl 'https://x.example/?access_token=hunter2&to=me'", "access_token=***&to=me'"),
        ("curl -H 'Authorization: Bearer hunter2' x", "-H 'Authorization: Bearer ***' x"),
        ("curl -H 'authorization:hunter2' x", "-H 'authorization:***' x"),
        ('curl -H "X-Api-Key: hunter2" x', '-H "X-Api-Key: ***" x'),
        ("curl --oauth2-bearer hunter2 x", "curl --oauth2-bearer *** x"),
        ("curl -u ada:hunter2 x", "curl -u ada:*** x"),
        ("curl --user=ada:hunter2 x", "curl --user=ada:*** x"),
        ("""curl -d '{"secret": "hunter2", "to": 1}' x""", """{"secret": "***", "to": 1}"""),
        ("SECRET=hunter2 post smtp://ada:hunter2@x", "SECRET=*** post smtp://ada:***@x"),
        ('curl -H "Authorization: Bearer $TOKEN" x', 'Bearer $TOKEN" x'),
        ("post --token-file ~/token --to ada", "post --token-file ~/token --to ada"),
        ("mail -s books ada@example.org", "mail -s books ada@example.org"),
        # What no address may begin with.
        ("//[x --token hunter2", "//[x --token ***"),
    ],
)
def test_a_list_shows_no_secret_of_a_command(livedata: Shell, line: str, shown: str) -> None:
    livedata("notice", "add", "ops", "--command", line)
    assert shown in livedata.out("notice", "list")
    (listed,) = livedata.json("notice", "list")
    assert shown in listed["target"]
    assert "hunter2" not in listed["target"]


def test_what_a_command_says_is_told_without_the_secrets_that_it_was_given(
    livedata: Shell,
) -> None:
    line = "echo 'hunter2 is wrong, Authorization: Bearer other2' >&2; : --token hunter2; false"
    livedata("notice", "add", "ops", "--command", line)
    said = livedata("notice", "test", "ops", code=1)
    assert "The command ended with 1: *** is wrong, Authorization: Bearer ***" in said.output
    assert "hunter2" not in said.output


def test_without_apprise_it_is_one_sentence(
    livedata: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    livedata("notice", "add", "mail", "--apprise", MAIL)
    monkeypatch.setitem(sys.modules, "apprise", None)
    said = livedata.error("notice", "add", "ops", "--apprise", MAIL)
    assert said == (
        "Error: Mail and chat need the module apprise, which is not installed.\n"
        "  Install the part of livedata that sends mail and chat: "
        f"{install_command('notify')}\n"
    )
    assert install_command("notify") in livedata.error("notice", "test", "mail")


def test_doctor_and_prune_tell_of_the_outbox(livedata: Shell, store: Store) -> None:
    livedata("notice", "add", "ops", "--command", "false")
    take(store, make_dataset(store))
    assert "outbox       1 message, the first since 2" in livedata.raw("doctor").stdout
    with store.writing() as writer:
        writer.execute(
            "UPDATE outbox SET status = 'given_up', ended_at = created_at, problem = :problem",
            problem='{"code":"notice.status","params":{"status":500}}',
        )
    told = livedata.raw("doctor", "--json")
    assert told.exit_code == 9
    assert orjson.loads(told.stdout)["outbox"] == {"waiting": 0, "oldest": None, "givenUp": 1}
    assert (
        "1 message was given up, the last of the notice ops: The receiver answered 500"
    ) in livedata.raw("doctor").stdout


def test_the_acceptance_of_a_held_run_is_delivered_at_once(
    livedata: Shell, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset, file = make_dataset(store), tmp_path / "event"
    take(store, dataset, [{"sku": f"S{number}", "title": "Cup"} for number in range(30)])
    livedata("notice", "add", "file", "--command", f"cat > {file}", "--on", "changes")
    run = take(store, dataset, [{"sku": "S1", "title": "Cup"}])
    monkeypatch.setenv("LIVEDATA_PUBLIC_URL", "https://data.example")
    livedata("runs", "accept", run)
    event = orjson.loads(file.read_bytes())
    assert event["data"]["run"]["id"] == run
    assert event["source"].startswith("https://data.example/v1/datasets/")


CAT = ("--command", "cat", "--on", "changes")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--when", "prise < 9"), "names 'prise', and there is no such column: is price meant?"),
        (("--when", "price < 9", "--when", "title"), "names title and does not say"),
        (("--columns", "prise"), "There is no column 'prise'. There is: sku, title, price"),
        (("--ignore", "prise"), "There is no column 'prise'. There is: sku, title, price"),
    ],
)
def test_what_no_dataset_has_is_refused(
    livedata: Shell, store: Store, words: tuple[str, ...], said: str
) -> None:
    make_dataset(store)
    assert said in livedata.error("notice", "add", "deals", *CAT, *words)
    assert livedata.json("notice", "list") == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--on", "failing", "--when", "price < 9"), "are about changes: add them to --on."),
        (("--columns", "price,,title"), "names of columns, with commas between them: title,price"),
        (("--kind", "altered"), "'altered' is not one of 'created', 'updated'"),
    ],
)
def test_what_narrows_nothing_is_wrong_usage(
    livedata: Shell, store: Store, words: tuple[str, ...], said: str
) -> None:
    make_dataset(store)
    assert said in livedata.error("notice", "add", "deals", *CAT, *words, code=2)


def test_what_a_notice_tells_alone_is_listed(livedata: Shell, store: Store) -> None:
    make_dataset(store)
    wanted = ("--when", "price < 9", "--kind", "updated", "--columns", "price", "--ignore", "note")
    livedata("notice", "add", "deals", *CAT, *wanted)
    (shown,) = livedata.json("notice", "list")
    assert [shown[key] for key in ("when", "kinds", "columns", "ignore")] == [
        ["price < 9"],
        ["updated"],
        ["price"],
        ["note"],
    ]
    listed = livedata.out("notice", "list")
    assert "changes of kind updated of price but not of note where price < 9" in listed


def test_what_a_notice_would_have_told_is_listed_by_day_and_told_to_nobody(
    livedata: Shell, store: Store
) -> None:
    dataset = make_dataset(store)
    take(store, dataset)
    take(store, dataset, [{**ITEMS[0], "price": 8}, {**ITEMS[1], "price": 30}, ITEMS[2]])
    add_notice(store, "deals", kinds=["changes"], change_filter=ChangeFilter(["price < 9"]))
    add_notice(store, "all", kinds=["changes"])
    tried = livedata("notice", "try", "deals", "--since", "0")
    day, *lines = tried.stdout.splitlines()
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", day)
    assert lines == [
        "  shop: 1 of 2 changes meets price < 9.",
        "  - Lamp (A1) changed: price fell below 9: 10 → 8",
    ]
    assert tried.stderr == "1 message of 1 change; nobody was told.\n"
    assert "  shop: 3 new, 0 changed, 0 gone." in livedata.out(
        "notice", "try", "all", "--since", "0"
    )
    (change,) = livedata.json("notice", "try", "deals", "--since", "3")
    assert (change["row"], change["changed"]) == ("A1", {"price": {"before": 10, "after": 8}})
    assert change["matches"] == ["price fell below 9: 10 → 8"]
    assert livedata("notice", "try", "deals", "--since", "5").stderr == (
        "0 messages of 0 changes; nobody was told.\n"
    )
    with store.reading() as reader:
        assert reader.value("SELECT count(*) FROM outbox") == 0


def test_what_was_told_today_came_after_the_day_before(livedata: Shell, store: Store) -> None:
    take(store, make_dataset(store))
    add_notice(store, "all", kinds=["changes"])
    today = ids.to_datetime(ids.now()).date()
    yesterday = today - timedelta(days=1)
    assert livedata("notice", "try", "all", "--since", f"{today}").stderr == (
        "0 messages of 0 changes; nobody was told.\n"
        f"A day stands for its end: for what came on {today}, write --since {yesterday}.\n"
    )
    assert (
        "1 message of 3 changes"
        in livedata("notice", "try", "all", "--since", f"{yesterday}").stderr
    )


def test_what_is_no_moment_of_each_dataset_is_refused_for_several(
    livedata: Shell, store: Store
) -> None:
    shop = make_dataset(store)
    run = take(store, shop)
    add_notice(store, "all", kinds=["changes"])
    assert len(livedata.json("notice", "try", "all", "--since", "1")) == 2
    assert livedata.json("notice", "try", "all", "--since", run) == []
    take(store, make_dataset(store, name="other"))
    for when in ("1", run):
        error = livedata.error("notice", "try", "all", "--since", when)
        assert f"all tells of 2 datasets, and {when!r} is no moment for all of them" in error
    assert len(livedata.json("notice", "try", "all", "--since", "0")) == 6
    assert len(livedata.json("notice", "try", "all", "--since", "2019-05-01")) == 6


def test_a_notice_of_what_no_schedule_reads_says_so(livedata: Shell, store: Store) -> None:
    make_dataset(store, name="idle")
    idle = (
        "Nothing reads idle by itself. To have it read each day: "
        "livedata dataset update idle --schedule '0 6 * * *' --status active\n"
    )
    assert idle in livedata("notice", "add", "ops", "--command", "cat").stderr
    make_dataset(store, name="shop")
    livedata("dataset", "update", "shop", "--schedule", "0 6 * * *", "--status", "active")
    assert "by itself" not in livedata("notice", "add", "all", "--command", "cat").stderr
    words = ("--command", "cat", "--dataset")
    assert idle in livedata("notice", "add", "one", *words, "idle").stderr
    assert "by itself" not in livedata("notice", "add", "two", *words, "shop").stderr


def test_a_mail_to_nobody_is_refused(livedata: Shell) -> None:
    address = "mailto://127.0.0.1:25?from=livedata@example.org&to="
    error = livedata.error("notice", "add", "mail", "--apprise", f"{address}nobody")
    assert "names nobody to whom mail can be sent" in error
    livedata("notice", "add", "mail", "--apprise", f"{address}ada@example.org")


def test_what_cannot_be_tried_is_one_sentence(livedata: Shell, store: Store) -> None:
    make_dataset(store)
    add_notice(store, "ops", kinds=["failing"])
    assert "tells nothing of changes" in livedata.error("notice", "try", "ops", "--since", "0")
    add_notice(store, "all")
    assert "is no moment" in livedata.error("notice", "try", "all", "--since", "spring")
    assert "did you mean 'ops'?" in livedata.error("notice", "try", "opps", "--since", "0")
    assert "Missing option '--since'" in livedata.error("notice", "try", "all", code=2)
