"""A store with all that the pages show: Runs of each end, edits, evidence and research."""

from __future__ import annotations

from base64 import b64decode
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from msgspec.structs import replace

from livedata.model import ids
from livedata.model.harvest import Harvest, PageFailure, PageSnapshot, Step, StopReason
from livedata.model.look import ListOnPage, LookWish, PageLook, ProvenKey
from livedata.model.problem import Problem
from livedata.model.research.record import ResearchFact
from livedata.model.row import RowEdit
from livedata.rules.declaration.notices import ChangeFilter
from livedata.rules.network.targets import TargetPolicy
from livedata.services import accounts, attempts, looks, queries, rows, runs, shares
from livedata.services.commit import AcceptancePolicy
from livedata.services.notices import delivering, subscriptions
from livedata.services.research import recording
from livedata.store import notices, outbox
from livedata.store.notices import Notice, Subscription
from livedata.store.outbox import NewMessage, Stream, ToldStream
from tests import made
from tests.services.research_table import PAGE, ResearchTable, found_on, key_of, step_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from livedata.model.row import Scalar
    from livedata.store.database.store import Store

PICTURE = b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/4gHYSUNDX1BST0ZJTEUAAQEAAAHIAAAAAAQwAABtbnRyUkdCIFhZWiAH4AABAA"
    "EAAAAAAABhY3NwAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAQAA9tYAAQAAAADTLQAAAAAAAAAAAAAAAAAAAAAA"
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAlkZXNjAAAA8AAAACRyWFlaAAABFAAAABRnWFlaAAABKA"
    "AAABRiWFlaAAABPAAAABR3dHB0AAABUAAAABRyVFJDAAABZAAAAChnVFJDAAABZAAAAChiVFJDAAABZAAAAChjcHJ0"
    "AAABjAAAADxtbHVjAAAAAAAAAAEAAAAMZW5VUwAAAAgAAAAcAHMAUgBHAEJYWVogAAAAAAAAb6IAADj1AAADkFhZWi"
    "AAAAAAAABimQAAt4UAABjaWFlaIAAAAAAAACSgAAAPhAAAts9YWVogAAAAAAAA9tYAAQAAAADTLXBhcmEAAAAAAAQA"
    "AAACZmYAAPKnAAANWQAAE9AAAApbAAAAAAAAAABtbHVjAAAAAAAAAAEAAAAMZW5VUwAAACAAAAAcAEcAbwBvAGcAbA"
    "BlACAASQBuAGMALgAgADIAMAAxADb/2wBDAFA3PEY8MlBGQUZaVVBfeMiCeG5uePWvuZHI////////////////////"
    "////////////////////////////////2wBDAVVaWnhpeOuCguv///////////////////////////////////////"
    "//////////////////////////////////wAARCAACAAIDASIAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAAH/"
    "xAAUEAEAAAAAAAAAAAAAAAAAAAAA/8QAFAEBAAAAAAAAAAAAAAAAAAAAAP/EABQRAQAAAAAAAAAAAAAAAAAAAAD/2g"
    "AMAwEAAhEDEQA/AKAD/9k="
)
"""A small JPEG."""
NO_LIST = (
    f"No list found on this page: what repeats on {made.URL}?none is a menu (a, 12 times). Give "
    "the address of the page that lists the records; or read one of these, or name a text "
    "of the list that you mean."
)
LOST = "2 of 40 records have no sku"
ODD = "price is empty in 8 of 40 records of the first page."


class World:
    """Datasets of an owner, in which each text of a stranger ends with `text`."""

    def __init__(self, store: Store, owner: str = "local", text: str = "") -> None:
        self.store, self.owner, self.text = store, owner, text
        made.meet_owner(store, owner, 100_000)

    def fill(self) -> World:
        """Make a dataset with a long story, one of research, and one without rows."""
        shop = self.shop()
        self.preview(shop)
        self.notices(shop)
        self.share(shop)
        self.keys()
        self.makers()
        self.looks()
        made.make_dataset(self.store, self.owner, "empty")
        return self

    def shop(self, name: str = "shop") -> ids.DatasetId:
        """A dataset that was read, edited, stopped by a page, held, and is queued."""
        columns = [
            {**column, "label": f"{str(column['name']).title()}{self.text}"[:120]}
            for column in made.COLUMNS
        ]
        dataset = made.make_dataset(self.store, self.owner, f"{name}{self.text}"[:120], columns)
        items = self.items(40)
        for taken in (items, [{**items[0], "price": 11}, *items[1:39]], items, items[:39]):
            made.take(self.store, dataset, taken, owner=self.owner)
        self.edit(dataset, "title", f"by hand{self.text}")
        self.edit(dataset, "note", f"a note{self.text}")
        made.take(
            self.store,
            dataset,
            [{**items[0], "title": f"another title{self.text}"}, *items[1:39]],
            owner=self.owner,
        )
        self.stopped(dataset)
        self.blocked(dataset)
        made.take(self.store, dataset, items[:2], owner=self.owner)
        runs.enqueue(self.store, self.owner, dataset)
        return dataset

    def items(self, count: int) -> Sequence[Mapping[str, Scalar]]:
        """So many items."""
        return [
            {
                "sku": f"K{number:03}{self.text}",
                "title": f"Lamp {number}{self.text}",
                "price": number + 0.5 if number % 5 else None,
                "stock": number % 2 == 0,
            }
            for number in range(count)
        ]

    def edit(
        self, dataset: ids.DatasetId, name: str, value: str, key: ids.KeyId | None = None
    ) -> None:
        """Edit a cell of the first row by hand, with a key or without one."""
        columns = queries.dataset(self.store, self.owner, dataset)["columns"]
        (field,) = [column["id"] for column in columns if column["name"] == name]
        shown = queries.rows(self.store, self.owner, dataset, 100)[0]
        row = min(shown, key=lambda each: each["rowKey"])
        assert row["revisionId"] is not None
        wanted = RowEdit(row["revisionId"], name, {field: value})
        raw = ids.RowId(ids.raw_id(row["id"]))
        rows.edit(self.store, self.owner, dataset, raw, wanted, key)

    def stopped(self, dataset: ids.DatasetId) -> None:
        """A Run that found no item on a page, which is kept with its picture."""
        body = f"<title>Sign in{self.text}</title><p>Welcome{self.text}".encode()
        address = f"{made.URL}?q={quote(self.text)}"
        page = PageSnapshot(
            1, address, address, 200, f"Sign in{self.text}", body, cut=False, screenshot=PICTURE
        )
        self._end(dataset, lambda read: replace(read, seen=[page]))

    def blocked(self, dataset: ids.DatasetId) -> None:
        """A Run that the site has refused."""
        refused = made.REFUSED
        failure = PageFailure(1, made.URL, "forbidden", 403, "https://shop.example", refused)
        ending = StopReason("page_failed", refused)
        now = ids.now()
        step = Step("read", now - 2_000_000, now, "failed", made.URL, failure)
        self._end(
            dataset,
            lambda _: Harvest([], ending, failure, attempts=1, refusals=1, steps=[step]),
        )

    def _end(self, dataset: ids.DatasetId, changed: Callable[[Harvest], Harvest]) -> None:
        queued, _ = runs.enqueue(self.store, self.owner, dataset)
        attempt = attempts.begin(self.store, ids.RunId(ids.raw_id(queued)))
        assert attempt is not None
        read = made.harvest(attempt.recipe, [], StopReason("natural_end"))
        attempts.finish(self.store, attempt, changed(read), AcceptancePolicy())

    def looks(self) -> list[ids.LookId]:
        """Looks at pages that are over: one was tried, one refused, and one has no list."""
        columns = [
            {**column, "label": f"{str(column['name']).title()}{self.text}"[:120]}
            for column in made.COLUMNS[:3]
        ]
        declared = made.declared(f"lamps{self.text}"[:120], columns, required=["sku"])
        rows = [[item["sku"], item["title"], item["price"]] for item in self.items(5)]
        names = ["sku", "title", "price"]
        seen = PageLook(
            [
                ListOnPage(1, "li.item", 40, f"Lamp{self.text}", names, rows),
                ListOnPage(2, f"a{self.text}", 12, f"Home{self.text}", ["text"], [[self.text]]),
                ListOnPage(3, "td", 4, f"A cell{self.text}"),
            ],
            *(1, declared, names, rows),
            *([80, 80, 64], 80, [(made.URL, 40), (f"{made.URL}?page=2", 40)]),
            [
                ProvenKey(["sku"], "is a number or a code of the record", sure=True),
                ProvenKey(["title", "price"], "tell the records apart only together", sure=False),
            ],
            [f"the page has another list of as many records{self.text}"],
        )
        tried = self._look("?tried", seen)
        for tried_out in (
            {"outcome": "accept", "error": "The list goes on.", "checks": []},
            {
                "outcome": "failed",
                "error": f"2 of 40 records have no sku{self.text}.",
                "checks": [
                    {
                        "checkId": "identity",
                        "passed": False,
                        "message": f"2 of 40 records have no sku{self.text}.",
                    }
                ],
            },
        ):
            look = tried if tried_out["outcome"] == "accept" else self._look("?failed", seen)
            looks.try_out(self.store, self.owner, look, declared, TargetPolicy())
            self._end_look(tried={**tried_out, **self._read(rows)})
        nothing = self._look("?none", PageLook(seen.lists[1:], error=f"{NO_LIST}{self.text}"))
        return [tried, look, nothing]

    def preview(self, dataset: ids.DatasetId) -> ids.LookId:
        """A source that was found for the page of a dataset as it is, and what it would change."""
        declared = queries.source(self.store, self.owner, dataset)
        source = {**declared["source"], "itemSelector": f"li.lamp{self.text and '.x'}"}
        look = looks.try_source(self.store, self.owner, dataset, None, TargetPolicy())
        called = {"name": f"Lamp 1{self.text}"[:120], "key": "K001"}
        cells = [
            {"label": "Price", "before": 10, "after": 12, "covered": False, "type": "number"},
            {"label": "Title", "before": f"Lamp{self.text}", "after": self.text, "covered": True},
        ]
        rows = [
            {"kind": kind, "row": None, "name": "K001", "cells": cells, "called": called}
            for kind in ("updated", "created", "missing")
        ]
        labels = {"before": "Price", "after": f"Price{self.text}"}
        columns = {
            "added": [{"name": "color", "filled": 30, "empty": 9}],
            "relabelled": [{"name": "price", **labels}],
        }
        changes = {"new": 1, "changed": 1, "gone": 1, "unchanged": 37, "before": 0, "rows": rows}
        changes["columns"] = columns
        replaced = {"target": "itemSelector", "before": f"li{self.text}", "after": "li.lamp"}
        suggestion = {"records": 39, "searched": 39, "rows": 38}
        tried = {
            "outcome": "accept",
            "error": f"The list goes on{self.text}.",
            "checks": [],
            **self._read([[item["sku"], item["title"], item["price"]] for item in self.items(5)]),
            "version": queries.recipe_version(self.store, self.owner, dataset),
            "suggestion": {**suggestion, "replaced": [replaced], "lost": [f"stock{self.text}"]},
            "changes": changes,
        }
        self._end_look(seen=PageLook(declaration={**declared, "source": source}), tried=tried)
        return look

    def _look(self, query: str, seen: PageLook) -> ids.LookId:
        look = self._ask(query)
        self._end_look(seen=seen)
        return look

    def _ask(self, query: str) -> ids.LookId:
        wish = LookWish(f"{made.URL}{query}{quote(self.text)}", like=self.text[:200])
        return looks.ask(self.store, self.owner, wish, TargetPolicy())

    def _end_look(self, **came: Any) -> None:
        attempt = looks.begin(self.store)
        assert attempt is not None
        looks.finish(self.store, attempt, **came)

    def _read(self, rows: Sequence[Sequence[Scalar]]) -> dict[str, Any]:
        """What a trial of the first page has read."""
        names = ("sku", "title", "price")
        fields = [
            {
                "name": name,
                "matched": 40,
                "filled": 40,
                "extractionFailed": 0,
                "firstUnreadable": None,
            }
            for name in names
        ]
        page = {"url": made.URL, "finalUrl": made.URL, "status": 200, "items": 40, "nextLinks": []}
        return {
            "pages": [page],
            "fields": fields,
            "rows": [dict(zip(names, row, strict=True)) for row in rows],
            "complete": False,
            "odd": [{"code": "few", "message": f"{ODD}{self.text}"}],
        }

    def keys(self) -> str:
        """The id of a key, beside one that is revoked."""
        for label in ("revoked", "mine"):
            key = accounts.create_key(self.store, self.owner, f"{label}{self.text}")
            if label == "revoked":
                accounts.revoke_key(self.store, key["id"])
        return key["id"]

    def share(self, dataset: ids.DatasetId) -> str:
        """The id of an open address of a dataset, beside one that is revoked."""
        for label in ("revoked", "open"):
            clauses = [f"title contains x{self.text}"]
            share, _ = shares.add(
                *(self.store, self.owner, dataset, ["title"], clauses, f"{label}{self.text}")
            )
            if label == "revoked":
                shares.revoke(self.store, self.owner, share["id"])
        return share["id"]

    def notices(self, dataset: ids.DatasetId) -> list[ids.NoticeId]:
        """Notices of each channel: one is off, one fails, one has given up, one is damaged."""
        clause = f"title contains x{self.text}"
        wanted = ChangeFilter([clause, "price falls"], ["updated"], ["title", "price"], ["note"])
        of_it, all_kinds = [ids.format_uuid(dataset)], ("changes", "failing", "recovered", "odd")
        web, mail = "https://hooks.example/T1/k3y", "mailto://ada:s3cret@mail.example"
        added = [
            subscriptions.add(self.store, self.owner, Subscription(*wish))
            for wish in (
                ("deals", "webhook", web, ("changes",), of_it, 2, None, wanted),
                ("daily", "apprise", mail, ("changes",), None, 2, None, None, "0 7 * * *"),
                ("failing", "webhook", web, all_kinds, None, 3, None),
                ("log", "command", f"cat >> log; : {self.text}", ("odd",), None, 2, None),
                ("off", "webhook", web, ("silent",), None, 2, ids.Micros(86_400_000_000)),
                ("damaged", "webhook", web, ("odd",), None, 2, None),
            )
        ]
        with self.store.writing() as writer:
            notices.end(writer, added[4].id, writer.now())
            writer.execute("UPDATE notices SET kinds = '{' WHERE name = 'damaged'")
        self._tell(dataset, added[2], added[0])
        return [notice.id for notice in added[:5]]

    def _tell(self, dataset: ids.DatasetId, failing: Notice, given_up: Notice) -> None:
        """Messages that were delivered, given up, failed, and wait."""
        said = {"dataset": {"id": ids.format_uuid(dataset), "name": f"shop{self.text}"[:120]}}
        data = {**said, "run": None, "sentence": f"Lamps fell in price{self.text}."}
        problem = Problem("notice.status", {"status": 500})
        for notice, ends in ((failing, ["sent", "waiting", "waiting"]), (given_up, ["given_up"])):
            with self.store.writing() as writer:
                messages = [NewMessage("odd", data, None) for _ in ends]
                told = ToldStream(notice.id, Stream(), messages)
                outbox.put_each(writer, dataset, [told], writer.now())
            for end in ends[:2]:
                delivery = delivering.take(self.store)
                assert delivery is not None
                if end == "sent":
                    delivering.succeeded(self.store, delivery)
                    continue
                delivering.failed(self.store, delivery, problem)
                if end == "given_up":
                    with self.store.writing() as writer:
                        outbox.give_up_all(writer, notice.id, writer.now())

    def makers(self) -> ResearchTable:
        """A dataset of research with two Runs."""
        table = ResearchTable(self.store, self.owner, name=f"makers{self.text}"[:120])
        name = f"Acme{self.text}"[:150]
        acme = {"Founded": "1999", "City": f"Bern{self.text}"}
        for found in (acme, {**acme, "City": f"Basel{self.text}"}):
            attempt = table.begin()
            table.remember(attempt)
            table.record(attempt)
            kept = ResearchFact(
                *("reconciliation", "row_kept", "x"),
                url=PAGE,
                entity=name,
                key=key_of(name),
                candidate=name,
            )
            recording.record(self.store, attempt, step_of("validate", calls=(), facts=[kept]))
            table.finish(attempt, found_on(attempt, {name: found}))
        return table
