"""Notices in a browser: added once, tested, tried and ended; what is secret is shown once."""

from __future__ import annotations

import re
import sys
from concurrent.futures import ThreadPoolExecutor
from html import escape, unescape
from typing import TYPE_CHECKING, Any, get_args

import orjson
import pytest
from msgspec.structs import replace

from livedata.model import ids
from livedata.model.problem import Problem
from livedata.pages.notice_form import OPERATORS
from livedata.rules.conditions.clauses import ChangeOperator, RowEvent, StateOperator
from livedata.rules.network.targets import TargetPolicy
from livedata.services import accounts
from livedata.services.notices import delivering, subscriptions
from livedata.services.pages import sessions
from livedata.store import digests
from livedata.store.notices import Notice
from livedata.worker.delivery.courier import Courier
from tests import made
from tests.browsing.payloads import ALL
from tests.browsing.test_reflections import Tags
from tests.browsing.test_unsent_forms import sent
from tests.browsing.visitor import Visitor
from tests.browsing.world import World
from tests.cli.shell import Shell
from tests.notices.conftest import add_notice
from tests.notices.receiver import receiving
from tests.services.table import A, B, Table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from flask import Flask
    from werkzeug.test import TestResponse

    from livedata.store.database.store import Store
    from tests.services.conftest import Clock

# Apprise imports a module of Python that is deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:.*imghdr")

HOOK = "https://hooks.example/T1/k3y"
MAIL = "mailto://ada:s3cret@mail.example"
SECRET = re.compile(r"whsec_[A-Za-z0-9+/=]{44}")


class NoticePage:
    """Somebody who has opened the page of the notices, and sends its form."""

    def __init__(self, visitor: Visitor, address: str = "/notices?add=1") -> None:
        self.visitor, self.page = visitor, visitor.get(address)

    @property
    def request(self) -> str:
        """The id of the form."""
        return str(re.findall(r'name="request" value="([^"]+)"', self.page)[-1])

    def add(self, code: int = 200, **typed: Any) -> str:
        """Send the form; the page of the answer."""
        answer = self.send(**typed)
        assert answer.status_code == code, unescape(answer.text)
        return answer.text

    def send(self, **typed: Any) -> TestResponse:
        """Send the form of the page that is open."""
        form = {
            "name": "ops",
            "on": ["changes", "failing"],
            "after": "2",
            "common": "",
            "channel": "webhook",
            "target": HOOK,
            "request": self.request,
            "token": self.visitor.token("/notices"),
            **typed,
        }
        return self.visitor.client.post("/notices", data=form)


@pytest.fixture
def local(app: Flask, store: Store) -> Visitor:
    """Whoever operates livedata."""
    return Visitor.meet(app, store, "local")


@pytest.fixture
def shell(store: Store, tmp_path: Path) -> Shell:
    """The command line over the same store."""
    assert store.url
    return Shell(tmp_path)


def listed(store: Store, owner: str = "alice") -> Sequence[Notice]:
    return subscriptions.listed(store, ids.OwnerName(owner)).notices


def path_of(notice: Notice) -> str:
    return f"/notices/{ids.format_uuid(notice.id)}"


def beside(page: str, field: str) -> str:
    """What is said beside a field."""
    told = page.partition(f'id="wrong-{field}"')[2].partition("</p>")[0]
    return unescape(re.sub("<[^>]*>", "", f"<p {told}"))


def test_a_webhook_is_added_and_its_secret_is_shown_in_that_answer_alone(
    alice: Visitor, store: Store
) -> None:
    dataset = made.make_dataset(store, alice.owner)
    page = NoticePage(alice).add(
        name="deals",
        on=["changes"],
        dataset=ids.format_uuid(dataset),
        when="price falls by 10%\r\nprice < 20",
        kind=["updated"],
        columns="price",
        ignore="title,stock",
    )
    (notice,) = listed(store)
    assert SECRET.findall(page) == [notice.secret]
    assert notice.change_filter is not None
    assert [*notice.change_filter.when] == ["price falls by 10%", "price < 20"]
    assert [*notice.change_filter.kinds] == ["updated"]
    assert ([*notice.change_filter.columns], [*notice.change_filter.ignore]) == (
        *(["price"], ["title", "stock"]),
    )
    assert (notice.target, notice.datasets) == (HOOK, [ids.format_uuid(dataset)])
    for path in ("/notices", path_of(notice), f"{path_of(notice)}/try"):
        for shown in (alice.get(path), alice.get(f"{path}?as=json")):
            assert not SECRET.search(shown)
            assert "k3y" not in shown
    assert "https://hooks.example/…" in alice.get("/notices")


def test_what_a_form_adds_is_what_the_command_adds(
    local: Visitor, shell: Shell, store: Store
) -> None:
    dataset = made.make_dataset(store, "local")
    NoticePage(local).add(
        on=["changes", "silent"],
        after="3",
        silent="2d",
        common="other",
        digest="5 7 * * *",
        dataset=ids.format_uuid(dataset),
        columns="price",
    )
    shell(
        *("notice", "add", "same", "--webhook", HOOK, "--on", "changes,silent", "--after", "3"),
        *("--silent-for", "2d", "--digest", "5 7 * * *", "--dataset", "shop"),
        *("--columns", "price"),
    )
    by_page, by_command = shell.json("notice", "list")
    for notice in (by_page, by_command):
        del notice["name"], notice["createdAt"]
    assert by_page == by_command


def test_the_list_as_json_is_that_of_the_command(
    local: Visitor, shell: Shell, store: Store
) -> None:
    World(store).notices(made.make_dataset(store, "local"))
    answer = local.as_json("/notices")
    assert answer["data"] == shell.json("notice", "list")
    assert answer["damaged"] == ["damaged"]


def test_an_address_begins_the_form(alice: Visitor, store: Store) -> None:
    dataset = ids.format_uuid(made.make_dataset(store, alice.owner))
    page = alice.get(f"/notices?dataset={dataset}&when=price+%3C+20&when=row+is+new&columns=price")
    assert conditions(page) == [("price", "<", "20"), ("row", "is new", ""), ("", "=", "")]
    assert f'name="dataset" value="{dataset}" checked' in page
    assert 'name="column-price" value="columns" checked' in page
    told = page.partition("<legend>Tells of")[2].partition("</fieldset>")[0]
    assert told.count('name="on"') == told.count(" checked> <span>") + 1  # all but silent
    assert 'value="changes" checked' in alice.get("/notices?on=changes")
    assert 'value="odd" checked' not in alice.get("/notices?on=changes")


def conditions(page: str) -> list[tuple[str, ...]]:
    """What the fields of each condition say."""
    rows = page.split('<div class="condition">')[1:]
    return [tuple(chosen(row)[name] for name in ("filter", "operator", "value")) for row in rows]


def chosen(form: str) -> dict[str, str]:
    """What the lists and the texts of a form say, by their names."""
    said = {}
    for name, options in re.findall(r'<select[^>]* name="(\w+)">(.*?)</select>', form, re.DOTALL):
        of = re.findall(r'<option(?: value="([^"]*)")?( selected)?>([^<]*)', options)
        (value, _, words) = next((each for each in of if each[1]), of[0])
        said[name] = unescape(value or ("" if words == "choose" else words))
    texts = re.findall(r'<input name="(\w+)" value="([^"]*)"', form)
    return said | {name: unescape(text) for name, text in texts}


def test_the_form_is_beside_no_notices_unless_an_address_begins_it_or_it_is_refused(
    alice: Visitor,
) -> None:
    form, button = '<form class="parts" id="add"', 'href="/notices?add=1">Add a notice</a>'
    assert form in alice.get("/notices")
    NoticePage(alice).add()
    page = alice.get("/notices")
    assert (form in page, button in page) == (False, True)
    for address in ("add=1", "when=price+%3C+20", "on=changes", "columns=price"):
        assert form in alice.get(f"/notices?{address}")
    assert form in NoticePage(alice).add(422, name="")


def test_the_fields_offer_every_operator_that_a_clause_may_have() -> None:
    offered = {each.removesuffix(" by") for words in OPERATORS.values() for each in words}
    of_rows = {f"is {event}" for event in get_args(RowEvent)}
    assert offered == {*get_args(StateOperator), *get_args(ChangeOperator), *of_rows}


def test_conditions_are_fields_and_what_they_do_not_say_are_clauses(
    alice: Visitor, store: Store
) -> None:
    dataset = ids.format_uuid(World(store, alice.owner).shop())
    fields: dict[str, Any] = {
        "filter": ["price", "title", "row", "", "stock"],
        "operator": ["falls by", "contains", "is new", "=", "is not empty"],
        "value": ["10%", " tea pot ", "", "", ""],
    }
    typed = {"dataset": dataset, "column-price": "columns", "column-note": "ignore", **fields}
    page = NoticePage(alice).add(200, act="fields", **typed)
    said = [
        *(("price", "falls by", "10%"), ("title", "contains", "tea pot"), ("row", "is new", "")),
        *(("stock", "is not empty", ""), ("", "=", "")),
    ]
    assert conditions(page) == said
    assert listed(store) == []
    NoticePage(alice).add(on=["changes"], **typed)
    (notice,) = listed(store)
    assert notice.change_filter is not None
    assert [*notice.change_filter.when] == [
        *("price falls by 10%", "title contains tea pot", "row is new", "stock is not empty"),
    ]
    assert [*notice.change_filter.columns] == ["price"]
    assert [*notice.change_filter.ignore] == ["note"]
    page = alice.get("/notices?when=price+%3C+1&when=prise&when=price+%3E+0")
    assert conditions(page) == [("price", "<", "1"), ("", "=", "")]
    assert ">\nprise\nprice &gt; 0</textarea>" in page


def test_what_a_form_would_have_told_is_shown_before_anything_is_saved(
    local: Visitor, store: Store
) -> None:
    table = Table(store)
    for price in (20, 15):
        table.take({**A, "price": price})

    def tried(**typed: Any) -> str:
        page = NoticePage(local).add(200, act="try", name="", target="", on=["changes"], **typed)
        return " ".join(re.sub("<[^>]*>", "", unescape(page).replace("</li>", " ")).split())

    text = tried()
    assert "Nothing was saved, and nothing is sent" in text
    assert "price: 20 → 15" in text
    assert "2 changes of shop" in tried(when="price < 1")
    assert "tells nothing of changes" in NoticePage(local).add(200, act="try", on=["odd"])
    page = NoticePage(local).add(422, act="try", when="prise < 9", name="")
    assert "is price meant?" in beside(page, "when")
    assert 'id="wrong-name"' not in page
    assert listed(store, "local") == []
    notice = add_notice(store, "ops", "local", kinds=("changes",))
    before = listed(store, "local")
    answer = edited(local, path_of(notice), act="try", when="price < 1")
    assert answer.status_code == 200
    assert "where <code" in answer.text
    assert listed(store, "local") == before


@pytest.mark.one_database
def test_mail_is_added_by_its_server_and_no_password_comes_back(
    local: Visitor, store: Store
) -> None:
    typed = {
        "channel": "mail",
        "target": "",
        "mail_to": "bob@example.org",
        "mail_server": "smtp.example.org:465",
        "mail_user": "ada@example.org",
        "mail_password": "s3/cret",
    }
    page = NoticePage(local).add(422, **{**typed, "mail_to": "bob", "mail_server": "a b"})
    assert "Whom to mail" in beside(page, "mail_to")
    assert "A host" in beside(page, "mail_server")
    assert "type it again" in beside(page, "mail_password")
    assert 'value="ada@example.org"' in page
    assert "s3/cret" not in page
    assert NoticePage(local).send(**typed).status_code == 303
    (notice,) = listed(store, "local")
    assert (notice.channel, notice.target) == (
        "apprise",
        (
            "mailtos://ada%40example.org:s3%2Fcret@smtp.example.org:465/"
            "?to=bob%40example.org&from=ada%40example.org&mode=ssl"
        ),
    )
    page = local.get("/notices") + local.get(path_of(notice))
    assert "mail <bdi" in page
    assert "s3" not in page


def test_what_a_notice_is_narrowed_to_is_said_in_a_sentence(alice: Visitor, store: Store) -> None:
    World(store, alice.owner).shop()
    narrowings: dict[str, tuple[dict[str, Any], str]] = {
        "all": (
            {
                "kind": ["updated"],
                "columns": "title,price",
                "ignore": "note",
                "when": "price falls",
            },
            "only rows that changed, in Title or Price, not for Note, where price falls",
        ),
        "kinds": ({"kind": ["created", "missing"]}, "only rows that are new or are gone"),
        "columns": ({"columns": "price"}, "only changes in Price"),
        "when": ({"when": "price < 20"}, "only changes where price < 20"),
    }
    for name, (typed, said) in narrowings.items():
        NoticePage(alice).add(name=name, on=["changes"], **typed)
        (notice,) = [each for each in listed(store) if each.name == name]
        for path in ("/notices", path_of(notice)):
            page = unescape(re.sub("<[^>]*>", "", alice.get(path)))
            assert said in page, path


def test_how_many_and_how_long_stand_beside_what_they_are_of(alice: Visitor) -> None:
    choices = alice.get("/notices").partition("<legend>Tells of")[2].partition("</fieldset>")[0]
    order = ('value="failing"', 'id="after"', 'value="recovered"', 'value="silent"', 'id="silent"')
    places = [choices.index(each) for each in order]
    assert places == sorted(places)
    assert places[-1] < choices.index('value="odd"')


def test_an_address_fills_no_target_and_names_no_dataset_of_somebody_else(
    alice: Visitor, bob: Visitor, store: Store
) -> None:
    page = alice.get("/notices?target=https://evil.example")
    assert "evil" not in page.partition("</main>")[0]
    dataset = ids.format_uuid(made.make_dataset(store, alice.owner))
    bob.get(f"/notices?dataset={dataset}", 404)
    page = NoticePage(bob).add(422, dataset=dataset)
    assert "not there any more" in beside(page, "dataset")
    assert listed(store, "bob") == []


WRONG: dict[str, tuple[dict[str, Any], str, str]] = {
    "no name": ({"name": " "}, "name", "1 to 120 characters"),
    "a long name": ({"name": "x" * 121}, "name", "1 to 120 characters"),
    "nothing to tell": ({"on": []}, "on", "Choose of what it tells."),
    "a strange number": ({"after": "0"}, "after", "a whole number from 1 to 1000"),
    "no number": ({"after": "٢"}, "after", "a whole number from 1 to 1000"),
    "no time": ({"on": ["silent"]}, "silent", "go together"),
    "no silence": ({"silent": "2d"}, "silent", "go together"),
    "a strange time": ({"on": ["silent"], "silent": "soon"}, "silent", "no span of time"),
    "no changes": ({"on": ["odd"], "columns": "price"}, "when", "about changes"),
    "none together": ({"on": ["odd"], "common": "0 * * * *"}, "digest", "Only changes"),
    "a clause": ({"when": "prise < 9"}, "when", "is price meant?"),
    "a column": ({"columns": "prise"}, "columns", "There is no column 'prise'"),
    "an ignored column": ({"ignore": "prise"}, "ignore", "There is no column 'prise'"),
    "a cron": ({"common": "other", "digest": "daily"}, "digest", "must have five fields"),
    "no address": ({"target": ""}, "target", "It is empty."),
    "no scheme": ({"target": "hooks.example"}, "target", "must begin with http"),
    "a private address": ({"target": "http://10.0.0.1/x"}, "target", "which gets no webhook"),
    "a password": ({"target": "https://ada:s3cret@hooks.example"}, "target", "must not contain"),
    "a command": ({"channel": "command", "target": "id"}, "channel", "Choose one of these."),
    "a strange channel": ({"channel": "\x00"}, "channel", "Choose one of these."),
}


@pytest.mark.one_database
@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said_beside_its_field_and_the_rest_stays_typed(
    alice: Visitor, store: Store, case: str
) -> None:
    typed, field, said = WRONG[case]
    made.make_dataset(store, alice.owner)
    page = NoticePage(alice).add(422, **{"name": "mine", "ignore": "title", **typed})
    assert said in beside(page, field)
    assert "Nothing was saved" in page
    if "name" not in typed:
        assert 'name="name" value="mine"' in page
    for name in {"when", "columns", "ignore", "silent", "digest"} & typed.keys():
        assert escape(typed[name]) in page
    assert listed(store) == []


def test_all_that_is_wrong_is_said_at_once_and_no_address_comes_back(
    alice: Visitor, store: Store
) -> None:
    made.make_dataset(store, alice.owner)
    secrets = ("https://ada:s3cret@hooks.example/k3y", "hooks.example/k3y", HOOK)
    for target in secrets:
        page = NoticePage(alice).add(
            422, name="", after="x", when="prise < 9", target=target, common="other", digest="x"
        )
        for field in ("name", "after", "when", "target", "digest"):
            assert beside(page, field), field
        assert "k3y" not in page
        assert "s3cret" not in page
        assert '<input id="target" name="target" dir="ltr"' in page
    assert "may hold a password: type it again" in beside(page, "target")


def test_whoever_clicks_twice_adds_one_notice_and_reads_its_secret_both_times(
    alice: Visitor, store: Store
) -> None:
    open_page = NoticePage(alice)
    first, second = open_page.add(), open_page.add()
    (notice,) = listed(store)
    assert SECRET.findall(first) == SECRET.findall(second) == [notice.secret]
    assert "named &#39;ops&#39; already" in NoticePage(alice).add(409)
    assert "named &#39;ops&#39; already" in open_page.add(409, on=["odd"])
    assert not SECRET.search(NoticePage(alice).add(409))
    assert len(listed(store)) == 1


def test_forms_that_come_at_the_same_moment_add_one_notice(app: Flask, alice: Visitor) -> None:
    open_page = NoticePage(alice)
    form = {
        "name": "ops",
        "on": ["odd"],
        "after": "2",
        "channel": "webhook",
        "target": HOOK,
        "request": open_page.request,
        "token": alice.token("/notices"),
    }
    cookie = alice.client.get_cookie("livedata")
    assert cookie is not None

    def send(_: int) -> list[str]:
        browser = app.test_client()
        browser.set_cookie("livedata", cookie.value)
        return SECRET.findall(browser.post("/notices", data=form).text)

    with ThreadPoolExecutor(4) as threads:
        (secret, *others) = threads.map(send, range(8))
    assert len(secret) == 1
    assert all(other == secret for other in others)


def test_a_form_that_comes_again_later_shows_no_secret(alice: Visitor, step: Clock) -> None:
    open_page = NoticePage(alice)
    open_page.add()
    step(sessions.SHOWN_FOR // 1_000_000 + 1)
    assert not SECRET.search(open_page.add(409))


def test_two_forms_and_two_sessions_make_two_secrets(
    app: Flask, alice: Visitor, store: Store
) -> None:
    other = Visitor(app.test_client(), alice.owner, alice.key, alice.key_id)
    other.sign_in()
    open_page = NoticePage(alice)
    open_page.add(name="one")
    open_page.add(name="two")
    NoticePage(other).add(name="three", request=open_page.request)
    NoticePage(other).add(name="four", request="")
    assert len({notice.secret for notice in listed(store)}) == 4


@pytest.mark.one_database
def test_mail_and_chat_are_added_by_whoever_operates_livedata(
    local: Visitor, alice: Visitor, store: Store
) -> None:
    open_page = NoticePage(local)
    for _ in range(2):
        answer = open_page.send(name="mail", channel="apprise", target=MAIL)
        assert (answer.status_code, answer.location) == (
            *(303, f"{path_of(listed(store, 'local')[0])}?done=added"),
        )
    assert "The notice is on." in local.get(answer.location)
    assert "s3cret" not in local.get("/notices") + local.get(path_of(listed(store, "local")[0]))
    page = NoticePage(local).add(422, channel="apprise", target="nothing://s3cret")
    assert "is no address that Apprise takes" in beside(page, "target")
    assert "s3cret" not in page
    for strange, said in (("mailto://a\0b", "control characters"), ("x" * 8_001, "at most 8,000")):
        page = NoticePage(local).add(422, channel="apprise", target=strange)
        assert said in beside(page, "target")
    # Apprise reaches private addresses, which the owner of a key may not.
    page = NoticePage(alice).add(422, channel="apprise", target="json://127.0.0.1:9")
    assert "only the owner local" in beside(page, "channel")
    assert listed(store) == []


@pytest.mark.one_database
def test_where_apprise_is_missing_that_is_said(
    local: Visitor, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "apprise", None)
    page = NoticePage(local).add(422, channel="apprise", target=MAIL)
    assert "Mail and chat need the module apprise" in beside(page, "channel")
    assert listed(store, "local") == []


@pytest.mark.one_database
def test_a_test_is_delivered_where_the_courier_may_deliver(
    app: Flask, alice: Visitor, store: Store
) -> None:
    with receiving() as hook:
        allow_all = TargetPolicy.parse(hook.place)
        shared = app.extensions["livedata"]
        # That only some sites are read says nothing of receivers.
        app.extensions["livedata"] = replace(
            shared, targets=TargetPolicy.parse(hook.place, "shop.example")
        )
        NoticePage(alice).add(target=hook.url)
        (notice,) = listed(store)
        hook.secret = notice.secret or ""
        page = alice.get(path_of(notice))
        request = re.findall(r'name="request" value="([^"]+)"', page)[0]
        token = alice.token("/notices")
        for _ in range(2):
            answer = alice.post(f"{path_of(notice)}/test", token, request=request)
            assert '<p role="status">The test was delivered.</p>' in answer.text
        alice.post(f"{path_of(notice)}/test", token, request="another")
        first, second, third = hook.taken
        assert first["type"] == "livedata.test"
        # Who clicks twice sends one message twice, and a receiver can see that.
        assert first["id"] == second["id"] != third["id"]
        hook.behave = lambda _: 500
        answer = alice.post(f"{path_of(notice)}/test", token)
        assert "Not delivered: The receiver answered 500" in answer.text
        app.extensions["livedata"] = replace(shared, targets=TargetPolicy())
        answer = alice.post(f"{path_of(notice)}/test", token)
        assert "127.0.0.1 is at the private address 127.0.0.1, which gets no webhook" in answer.text
        assert len(hook.arrived) == 4
        assert allow_all.permits("127.0.0.1", hook.server_port, "127.0.0.1")


def test_a_command_is_shown_without_its_secrets_and_tested_at_a_shell(
    alice: Visitor, store: Store, tmp_path: Path
) -> None:
    file = tmp_path / "ran"
    notice = add_notice(store, "log", alice.owner, target=f"touch {file}; : --token hunter2")
    page = alice.get(path_of(notice))
    assert "livedata notice test log --owner alice" in page
    assert f"{path_of(notice)}/test" not in page
    assert "hunter2" not in page + alice.get("/notices")
    answer = alice.post(f"{path_of(notice)}/test", alice.token("/notices"))
    assert answer.status_code == 409
    assert "tested at a shell" in answer.text
    assert not file.exists()


def test_a_page_says_what_came_of_each_message(local: Visitor, store: Store, step: Clock) -> None:
    table = Table(store)
    notice = add_notice(store, "ops", target="exit 3", kinds=("changes",))
    table.take(A)
    table.take({**A, "price": 1})
    Courier(store, TargetPolicy()).deliver_soon()
    page = unescape(local.get(path_of(notice)))
    assert "not delivered</span> after <data" in page
    assert "The command ended with 3" in page
    assert page.count('<span class="end queued">waits</span>') == 1
    assert "messages wait" in page
    later, first = local.as_json(path_of(notice))["deliveries"]
    assert (first["status"], first["tries"], later["tries"]) == ("waiting", 1, None)
    assert first["sentence"] == "shop: 1 new, 0 changed, 0 gone."
    assert first["nextTryAt"] is not None
    assert "The command ended with 3" in unescape(local.get("/notices"))
    step(10)
    delivery = delivering.take(store)
    assert delivery is not None
    delivering.succeeded(store, delivery)
    page = local.get(path_of(notice))
    assert '<span class="end succeeded">delivered</span>' in page
    assert '<span class="pill end ok">on</span>' in page


def test_a_notice_that_has_given_up_says_why_until_it_delivers_again(
    alice: Visitor, store: Store
) -> None:
    world = World(store, alice.owner)
    world.notices(made.make_dataset(store, alice.owner))
    page = unescape(alice.get("/notices"))
    assert '<span class="pill end failed">given up</span>' in page
    assert '<span class="pill end failed">not delivered</span>' in page
    assert '<span class="pill end">off</span> <span class="mark">paused' in page
    assert "<title>(2) Notices" in page
    (deals,) = [notice for notice in listed(store) if notice.name == "deals"]
    assert '<span class="end failed">given up</span>' in alice.get(path_of(deals))


def given_up(page: str) -> list[dict[str, str]]:
    """The fields of each form that sends a message again."""
    forms = page.split('/again">')[1:]
    return [
        dict(re.findall(r'name="(\w+)" value="([^"]*)"', form.partition("</form>")[0]))
        for form in forms
    ]


def test_a_message_that_was_given_up_is_sent_again_once_however_often_it_is_clicked(
    alice: Visitor, bob: Visitor, store: Store, step: Clock
) -> None:
    World(store, alice.owner).notices(made.make_dataset(store, alice.owner))
    (deals,) = [notice for notice in listed(store) if notice.name == "deals"]
    (form,) = given_up(alice.get(path_of(deals)))
    again = f"{path_of(deals)}/again"
    token = form.pop("token")
    assert bob.post(again, bob.token("/notices"), **form).status_code == 404
    for _ in range(2):
        assert alice.post(again, token, **form).location == f"{path_of(deals)}?done=again"
    (message,) = alice.as_json(path_of(deals))["deliveries"]
    assert (message["id"], message["status"]) == (form["message"], "waiting")
    assert "The message is sent again" in alice.get(f"{path_of(deals)}?done=again")
    step(2 * 86_400)
    delivery = taken_of(store, deals)
    delivering.failed(store, delivery, Problem("notice.status", {"status": 500}))
    # A late click on the old page means what was given up then.
    alice.post(again, token, **form)
    (message,) = alice.as_json(path_of(deals))["deliveries"]
    assert message["status"] == "given_up"
    (form,) = given_up(alice.get(path_of(deals)))
    alice.post(again, form.pop("token"), **form)
    delivery = taken_of(store, deals)
    assert ids.format_uuid(delivery.message.id) == form["message"]
    delivering.succeeded(store, delivery)
    alice.post(again, token, **form)
    page = alice.get(path_of(deals))
    assert given_up(page) == []
    assert '<span class="end succeeded">delivered</span>' in page


def taken_of(store: Store, notice: Notice) -> delivering.Delivery:
    """The next message of a notice, while those of others wait on."""
    while (delivery := delivering.take(store)) is not None:
        if delivery.notice.id == notice.id:
            return delivery
    raise AssertionError("nothing waits")


def test_nothing_of_a_notice_that_is_off_is_sent_again(alice: Visitor, store: Store) -> None:
    World(store, alice.owner).notices(made.make_dataset(store, alice.owner))
    deals, failing = (
        next(notice for notice in listed(store) if notice.name == name)
        for name in ("deals", "failing")
    )
    (form,) = given_up(alice.get(path_of(deals)))
    token = form.pop("token")
    answer = alice.post(f"{path_of(deals)}/again", token, message=form["message"], ended="x")
    assert answer.status_code == 422
    # What is of another notice is not there.
    alice.post(f"{path_of(failing)}/again", token, **form)
    alice.post(f"{path_of(deals)}/state", token, act="pause")
    answer = alice.post(f"{path_of(deals)}/again", token, **form)
    assert answer.status_code == 409
    assert "The notice is off" in answer.text
    assert given_up(answer.text) == []
    (message,) = alice.as_json(path_of(deals))["deliveries"]
    assert message["status"] == "given_up"


def test_what_did_not_arrive_is_sent_again_before_anything_else(
    alice: Visitor, store: Store
) -> None:
    """What a notice tells stands before its messages; the act that mends it is the first one."""
    World(store, alice.owner).notices(made.make_dataset(store, alice.owner))
    for notice in listed(store):
        page = alice.get(path_of(notice))
        assert page.index('<dl class="facts">') < page.index("Last messages</h2>"), notice.name
        is_lost = notice.name == "deals"
        assert page.count('<button aria-label="Send it again') == is_lost, notice.name
        assert ('<button title="A message' in page) == (
            not is_lost and notice.channel != "command"
        ), notice.name


def test_a_notice_that_is_tried_tells_the_last_values_of_a_row_that_is_gone(
    local: Visitor, store: Store
) -> None:
    table = Table(store)
    notices = [
        add_notice(store, "deals", "local", kinds=("changes",)),
        add_notice(store, "daily", "local", kinds=("changes",), digest="0 7 * * *"),
    ]
    first, *_ = [table.take(*items) for items in ([A, B], [A, {**B, "price": 33}], [A])]
    for notice in notices:
        page = unescape(local.get(f"{path_of(notice)}/try?since={first['id']}"))
        gone = page.partition('<span class="fresh gone">')[2].partition("</tr>")[0]
        told = " ".join(re.sub("<[^>]*>", "", gone).split())
        assert told.startswith("gone last: "), page
        assert "price: 33" in told


def test_what_a_notice_would_have_told_is_what_the_command_lists(
    local: Visitor, shell: Shell, store: Store
) -> None:
    table = Table(store)
    deals = add_notice(store, "deals", "local", kinds=("changes",))
    daily = add_notice(store, "daily", "local", kinds=("changes",), digest="0 7 * * *")
    odd = add_notice(store, "odd", "local", kinds=("odd",))
    for price in (20, 15, 12):
        table.take({**A, "price": price})
    for notice in (deals, daily):
        path = f"{path_of(notice)}/try?since=2020-01-01"
        told = local.as_json(path)["data"]
        assert told == shell.json("notice", "try", notice.name, "--since", "2020-01-01")
        assert told
    page = unescape(local.get(f"{path_of(deals)}/try"))
    text = " ".join(re.sub("<[^>]*>", "", page.replace("</li>", " ")).split())
    assert "price: 20 → 15" in text
    assert re.search(
        r"3 messages since \w+, \d+ \w+( \d+)? on 1 day 1 dataset 1 new 2 changed", text
    )
    assert "Nothing has changed since" in local.get(f"{path_of(deals)}/try?since=2999-01-01")
    assert "tells nothing of changes" in local.get(f"{path_of(odd)}/try", 400)
    local.get(f"{path_of(deals)}/try?since=soon", 400)
    with store.reading() as reader:
        assert reader.value("SELECT count(*) FROM outbox WHERE status = 'sent'") == 0


def test_a_notice_that_would_have_told_nothing_says_of_what_and_why(
    local: Visitor, store: Store
) -> None:
    table = Table(store)
    for price in (20, 15, 12):
        table.take({**A, "price": price})
    narrowings: dict[str, tuple[dict[str, Any], str]] = {
        "when": (
            {"when": "title contains x\nprice falls"},
            "3 changes of shop since DAY → 0 where title contains x and price falls",
        ),
        "columns": (
            {
                "kind": ["updated"],
                "columns": "price",
                "ignore": "price,title",
                "when": "row is new",
            },
            (
                "3 changes of shop since DAY → 2 of rows that changed → 2 in price "
                "→ 0 not only in price and title"
            ),
        ),
        "another": (
            {"kind": ["updated", "missing"], "columns": "stock", "when": "price < 1"},
            "3 changes of shop since DAY → 2 of rows that changed or are gone → 0 in stock",
        ),
        "kinds": (
            {"kind": ["missing"], "columns": "price"},
            "3 changes of shop since DAY → 0 of rows that are gone",
        ),
    }
    for name, (typed, said) in narrowings.items():
        NoticePage(local).add(name=name, on=["changes"], **typed)
        (notice,) = [each for each in listed(store, "local") if each.name == name]
        page = local.get(f"{path_of(notice)}/try")
        text = funnel(page)
        assert re.sub(r"since \w+, \d+ \w+( \d+)?", "since DAY", text) == said
        (edit,) = re.findall(r'href="([^"]*)">Edit the notice', page)
        assert '<form class="parts" id="edit"' in local.get(edit)
        assert 'name="since" type="date"' in page
        (week,) = re.findall(r'href="([^"]*)">The last 7 days', page)
        assert 'aria-current="page">The last 7 days' in local.get(unescape(week))
        assert "Nothing has changed since" in local.get(f"{path_of(notice)}/try?since=2999-01-01")


def funnel(page: str) -> str:
    """What was looked at where nothing would have been told, as a line."""
    assert "Nothing would have been told" in page
    steps = page.partition('<ol class="funnel"')[2].partition("</ol>")[0].split("<li")[1:]
    told = (re.sub("<[^>]*>", "", f"<li{step}") for step in steps)
    return unescape(" → ".join(" ".join(each.split()) for each in told))


def test_what_is_nothing_since_it_was_edited_by_hand_or_came_and_went_is_said(
    local: Visitor, store: Store
) -> None:
    table = Table(store)
    plain = add_notice(store, "plain", "local", kinds=("changes",))
    daily = add_notice(store, "daily", "local", kinds=("changes",), digest="0 7 * * *")
    for price in (20, 15, 20):
        table.take({**A, "price": price})

    def told(notice: Notice, since: int) -> str:
        page = local.get(f"{path_of(notice)}/try?since={since}")
        return funnel(page)

    assert told(daily, 1) == "2 changes of shop since 1 → 0 that are still so at the end"
    table.edit(str(A["sku"]), {"price": 7})
    assert told(plain, 3) == "1 change of shop since 3 → 0 by Runs"


def edited(visitor: Visitor, path: str, **typed: Any) -> TestResponse:
    """The answer to the form of a notice in which something else was typed."""
    page = visitor.get(f"{path}?edit=1")
    form = page.partition('<form class="parts" id="edit"')[2].partition("</form>")[0]
    fields: dict[str, Any] = {}
    given = r'<input([^>]*) name="([\w-]+)" value="([^"]*)"( checked)?'
    for kind, name, value, checked in re.findall(given, form):
        typed_so_far = fields.setdefault(name, [])
        if checked or not ("checkbox" in kind or "radio" in kind):
            typed_so_far.append(unescape(value))
    if "when" in typed:
        typed = {**typed, "filter": []}
    rows = conditions(form)
    fields |= {"filter": [row[0] for row in rows], "operator": [row[1] for row in rows]}
    fields["when"] = unescape(form.partition('spellcheck="false">\n')[2].partition("<")[0])
    common = form.partition('id="common"')[2].partition("</select>")[0]
    fields["common"] = "".join(re.findall(r'value="([^"]*)" selected', common))
    return visitor.client.post(path, data={**fields, **typed})


def test_a_notice_is_edited_and_what_nobody_touched_stays(alice: Visitor, store: Store) -> None:
    dataset = ids.format_uuid(made.make_dataset(store, alice.owner))
    NoticePage(alice).add(
        name="deals",
        on=["changes", "silent"],
        silent="2d",
        dataset=dataset,
        when="price falls by 10%\r\nprice < 20",
        kind=["updated"],
        columns="price",
        ignore="title",
        common="0 6 * * *",
    )
    (before,) = listed(store)
    answer = edited(alice, path_of(before))
    assert (answer.status_code, answer.location) == (303, f"{path_of(before)}?done=saved")
    assert listed(store) == [before]
    edited(
        alice, path_of(before), name="sales", when="price < 5", common="", on=["changes"], silent=""
    )
    (after,) = listed(store)
    assert after.change_filter is not None
    assert (after.name, [*after.change_filter.when]) == ("sales", ["price < 5"])
    assert ([*after.kinds], after.silent_for, after.digest, after.digest_at) == (
        *(["changes"], None, None, None),
    )
    kept = ("id", "target", "secret", "channel", "datasets", "threshold", "created_at")
    assert [getattr(after, name) for name in kept] == [getattr(before, name) for name in kept]
    assert "The notice is saved." in alice.get(answer.location)


def test_what_is_wrong_with_an_edit_is_said_and_nothing_is_saved(
    alice: Visitor, store: Store
) -> None:
    made.make_dataset(store, alice.owner)
    add_notice(store, "other", alice.owner)
    notice = add_notice(store, "ops", alice.owner, kinds=("changes",))
    before = listed(store)
    for typed, status, said in (
        ({"when": "prise < 9"}, 422, "is price meant?"),
        ({"on": []}, 422, "Choose of what it tells."),
        ({"name": "other"}, 409, "named &#39;other&#39; already"),
        ({"seen": "x"}, 409, "has changed since you opened the page"),
        ({"scope": "these", "dataset": "x"}, 422, "not there any more"),
    ):
        answer = edited(alice, path_of(notice), **typed)
        assert answer.status_code == status, typed
        assert said in answer.text
        assert '<form class="parts" id="edit"' in answer.text
    assert listed(store) == before


def test_all_datasets_are_all_whatever_is_ticked_behind_them(alice: Visitor, store: Store) -> None:
    dataset = ids.format_uuid(made.make_dataset(store, alice.owner))
    page = alice.get(f"/notices?dataset={dataset}")
    assert 'value="these" checked> Only these:' in page
    assert 'value="all" checked> All, also later ones' in alice.get("/notices")
    NoticePage(alice).add(name="every", scope="all", dataset=dataset)
    (every,) = listed(store)
    assert every.datasets is None
    page = NoticePage(alice).add(422, name="none", scope="these")
    assert "Choose one dataset at least" in beside(page, "dataset")
    assert edited(alice, path_of(every), scope="these").status_code == 422
    assert edited(alice, path_of(every), scope="these", dataset=dataset).status_code == 303
    assert edited(alice, path_of(every)).status_code == 303
    assert [kept.datasets for kept in listed(store)] == [[dataset]]


def test_columns_are_boxes_by_what_they_are_called_where_datasets_are_chosen(
    alice: Visitor, store: Store
) -> None:
    dataset = ids.format_uuid(World(store, alice.owner).shop())
    page = alice.get(f"/notices?dataset={dataset}&columns=price&ignore=note,lost")
    for name, said, label in (
        *(("price", "columns", "Tell of it: Price"), ("title", "", "Don’t care: Title")),
        *(("note", "ignore", "Ignore: Note"), ("lost", "ignore", "Ignore: lost")),
    ):
        box = f'<input type="radio" name="column-{name}" value="{said}" checked>'
        assert f'{box}<span class="unseen">{label}</span>' in page
    assert '<input id="columns" name="columns" value="price, stock"' in alice.get(
        "/notices?columns=price&columns=stock"
    )
    NoticePage(alice).add(dataset=dataset, columns=["price", "stock"], ignore="note")
    (before,) = listed(store)
    assert before.change_filter is not None
    assert [*before.change_filter.columns] == ["price", "stock"]
    assert edited(alice, path_of(before)).status_code == 303
    assert listed(store) == [before]


def test_two_who_edit_a_notice_undo_nothing_of_each_other(alice: Visitor, store: Store) -> None:
    notice = add_notice(store, "ops", alice.owner, kinds=("changes",))
    seen = re.findall(r'name="seen" value="(\w+)"', alice.get(f"{path_of(notice)}?edit=1"))[0]
    assert edited(alice, path_of(notice), after="5").status_code == 303
    answer = edited(alice, path_of(notice), on=["odd"], seen=seen)
    assert answer.status_code == 409
    assert [kept.threshold for kept in listed(store)] == [5]


def test_a_notice_of_a_dataset_that_is_deleted_tells_of_no_other_once_it_is_edited(
    alice: Visitor, store: Store
) -> None:
    made.make_dataset(store, alice.owner)
    lost = ids.new_id()
    notice = add_notice(store, "ops", alice.owner, kinds=("odd",), datasets=[lost])
    assert edited(alice, path_of(notice), after="7").status_code == 303
    (kept,) = listed(store)
    assert (kept.threshold, kept.datasets) == (7, [ids.format_uuid(lost)])


def test_a_paused_notice_tells_nothing_until_it_is_resumed(local: Visitor, store: Store) -> None:
    table = Table(store)
    notice = add_notice(store, "ops", kinds=("changes",), target="true")
    digest = add_notice(store, "daily", kinds=("changes",), digest="0 7 * * *")
    table.take(A)
    token = local.token("/notices")
    for each in (notice, digest):
        answer = local.post(f"{path_of(each)}/state", token, act="pause")
        assert answer.location == f"{path_of(each)}?done=paused"
    page = local.get(path_of(notice))
    assert '<span class="pill end">off</span> <span class="mark">paused' in page
    assert '<span class="end failed">given up</span>' in page
    assert "<title>Notices" in local.get("/notices")
    assert all(kept.digest_at is None for kept in listed(store, "local"))
    table.take({**A, "price": 1})
    assert len(local.as_json(path_of(notice))["deliveries"]) == 1
    for each in (notice, digest, notice):
        local.post(f"{path_of(each)}/state", token, act="resume")
    assert '<span class="pill end ok">on</span>' in local.get(path_of(notice))
    daily, _ = listed(store, "local")
    assert (daily.ended_at, daily.digest_at is None) == (None, False)
    table.take({**A, "price": 2})
    assert len(local.as_json(path_of(notice))["deliveries"]) == 2
    assert local.post(f"{path_of(notice)}/state", token, act="x").status_code == 422


def test_a_digest_of_more_datasets_tells_of_them_from_then_on(local: Visitor, store: Store) -> None:
    first, second = (made.make_dataset(store, "local", name) for name in ("a", "b"))
    notice = add_notice(store, "daily", kinds=("changes",), digest="0 7 * * *", datasets=[first])
    for dataset in (first, second):
        made.take(store, dataset)
    chosen = [ids.format_uuid(each) for each in (first, second)]
    assert edited(local, path_of(notice), dataset=chosen).status_code == 303
    with store.reading() as reader:
        known = digests.gathering(reader, notice.id, ids.OwnerName("local"))
    assert [(each.name, each.head - (each.digested or 0)) for each in known] == [("a", 3), ("b", 0)]


def test_a_notice_whose_receiver_wants_no_more_says_so_and_is_resumed(
    local: Visitor, store: Store
) -> None:
    table = Table(store)
    notice = add_notice(store, "ops", kinds=("changes",))
    table.take(A)
    delivery = delivering.take(store)
    assert delivery is not None
    delivering.unwanted(store, delivery, Problem("notice.gone"))
    assert "it wants no more" in local.get(path_of(notice))
    assert "<title>(1) Notices" in local.get("/notices")
    local.post(f"{path_of(notice)}/state", local.token("/notices"), act="resume")
    assert listed(store, "local")[0].ended_at is None


def test_a_notice_is_removed_by_who_is_sure(alice: Visitor, store: Store) -> None:
    notice = add_notice(store, "ops", alice.owner)
    path, token = f"{path_of(notice)}/remove", alice.token("/notices")
    answer = alice.post(path, token)
    assert answer.status_code == 422
    assert "say that you are sure" in answer.text
    assert len(listed(store)) == 1
    answer = alice.post(path, token, sure="yes")
    assert (answer.status_code, answer.location) == (303, "/notices")
    assert listed(store) == []
    alice.get(path_of(notice), 404)


def test_a_damaged_notice_hides_no_other_and_is_removed(alice: Visitor, store: Store) -> None:
    lost = add_notice(store, "lost", alice.owner)
    add_notice(store, "mine", alice.owner)
    with store.writing() as writer:
        writer.execute("UPDATE notices SET kinds = '{' WHERE name = 'lost'")
    page = alice.get("/notices")
    assert "<bdi>lost</bdi> cannot be read and tells nothing" in page
    assert "<bdi>mine</bdi></a>" in page
    answer = alice.post(f"{path_of(lost)}/remove", alice.token("/notices"), sure="yes")
    assert answer.status_code == 303
    assert "damaged" not in alice.get("/notices")


def test_notices_of_alice_are_not_there_for_bob(alice: Visitor, bob: Visitor, store: Store) -> None:
    notice = add_notice(store, "ops", alice.owner)
    token = bob.token("/notices")
    assert "ops</bdi>" not in bob.get("/notices")
    assert bob.as_json("/notices")["data"] == []
    for path in (path_of(notice), f"{path_of(notice)}/try"):
        bob.get(path, 404)
    for act in ("", "/test", "/remove", "/state"):
        form = {"sure": "yes", "act": "pause", "name": "his", "on": "odd"}
        assert bob.post(f"{path_of(notice)}{act}", token, **form).status_code == 404
    NoticePage(bob).add()
    assert [notice.name for notice in listed(store)] == ["ops"]


def test_a_hundred_notices_are_the_most(alice: Visitor, store: Store) -> None:
    for number in range(100):
        add_notice(store, f"n{number}", alice.owner)
    page = NoticePage(alice).add(409)
    assert "which is the most" in page
    assert 'name="name" value="ops"' in page


def test_after_another_sign_in_all_is_kept_but_the_address(alice: Visitor, store: Store) -> None:
    token = alice.token("/notices")
    accounts.revoke_key(store, alice.key_id)
    form = {"token": token, "name": "ops", "on": ["odd"], "after": "2", "channel": "webhook"}
    answer = alice.client.post("/notices", data={**form, "target": HOOK})
    assert answer.status_code == 401
    assert "k3y" not in answer.text
    key = accounts.create_key(store, alice.owner, None)["key"]
    status, page = sent(alice, answer.text, "/sign-in", key=key)
    assert status == 200
    assert "The address was not kept" in page
    assert "k3y" not in page
    status, page = sent(alice, page, "/notices")
    assert status == 422
    assert 'name="name" value="ops"' in page
    assert "It is empty." in beside(page, "target")
    assert listed(store) == []


@pytest.mark.one_database
def test_what_was_typed_is_repeated_as_text(alice: Visitor, store: Store) -> None:
    made.make_dataset(store, alice.owner)
    open_page = NoticePage(alice)

    def tags(text: str) -> Tags:
        typed = dict.fromkeys(("after", "silent", "when", "columns", "ignore", "digest"), text)
        return Tags(open_page.add(422, name="", target=text, common="other", **typed))

    expected = tags("harmless").tags
    for payload in ALL:
        assert [tag for tag, _ in tags(payload).tags] == [tag for tag, _ in expected], payload


@pytest.mark.one_database
def test_no_address_and_no_secret_is_in_the_log(
    alice: Visitor, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(0)
    page = NoticePage(alice).add()
    NoticePage(alice).add(422, target="https://ada:s3cret@hooks.example/k3y", name="other")
    (secret,) = SECRET.findall(page)
    assert "/notices" in caplog.text
    for text in (secret, "k3y", "s3cret"):
        assert text not in caplog.text


def test_the_api_knows_no_such_page(alice: Visitor) -> None:
    answer = alice.client.get("/notices?as=json")
    assert orjson.loads(answer.data) == {"data": [], "damaged": [], "next": None, "previous": None}
