"""A person with a key, and a client that checks every answer against the contract."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson
from flask.testing import FlaskClient
from typing_extensions import override

from livedata.model import ids
from livedata.services import accounts
from tests import made
from tests.api.contract import problems

if TYPE_CHECKING:
    from werkzeug.test import TestResponse

    from livedata.model.row import Scalar
    from livedata.store.database.store import Store

NOWHERE = "01890000-0000-7000-8000-000000000000"
"""A valid id that nothing has."""
_PAGES = {"/v1/docs", "/v1/openapi.json", "/healthz"}


class JudgingClient(FlaskClient):
    """A client that fails the test if an answer breaks the contract."""

    @override
    def open(self, *args: Any, **kwargs: Any) -> TestResponse:
        # Each answer is read to its end, and so ends what it is read from.
        answer = super().open(*args, **{"buffered": True, **kwargs})
        path, method = answer.request.path, answer.request.method
        assert answer.headers["X-Request-Id"]
        assert int(answer.headers["X-Credits-Remaining"]) >= 0
        # A HEAD and a 304 have no body; the three pages are not part of section 4.
        if path in _PAGES or method == "HEAD" or answer.status_code == 304:
            return answer
        if not (path.endswith("/table") and answer.status_code == 200 and not answer.is_json):
            assert answer.content_type == "application/json"
            broken = problems(method, path, answer.status_code, orjson.loads(answer.data))
            assert not broken, broken
        return answer


@dataclass(frozen=True)
class Person:
    """An owner who uses the API with a key."""

    client: FlaskClient
    store: Store
    owner: str
    key: str

    @classmethod
    def meet(cls, client: FlaskClient, store: Store, owner: str) -> Person:
        """A new owner with 1,000 credits and a key."""
        key = accounts.create_key(store, owner, None, first_credits=1000)["key"]
        return cls(client, store, owner, key)

    def ask(self, method: str, path: str, **kwargs: Any) -> TestResponse:
        """Send a request below /v1 with the key; the answer."""
        headers = {"Authorization": f"Bearer {self.key}", **kwargs.pop("headers", {})}
        return self.client.open(f"/v1{path}", method=method, headers=headers, **kwargs)

    def get(self, path: str, status: int = 200, **kwargs: Any) -> Any:
        """The body of a GET that ends with `status`."""
        return body_of(self.ask("GET", path, **kwargs), status)

    def post(self, path: str, body: object = None, status: int = 201, **kwargs: Any) -> Any:
        """The body of the answer to a POST that ends with `status`."""
        return body_of(self.ask("POST", path, json=body, **kwargs), status)

    def patch(self, path: str, body: object, status: int = 200, **kwargs: Any) -> Any:
        """The body of the answer to a PATCH that ends with `status`."""
        return body_of(self.ask("PATCH", path, json=body, **kwargs), status)

    def dataset(self, name: str = "shop") -> str:
        """The path of a new dataset without rows."""
        return f"/datasets/{self.post('/datasets', made.declared(name))['dataset']['id']}"

    def table(self, name: str = "shop") -> str:
        """The path of a new dataset with the rows of :data:`tests.made.ITEMS`."""
        path = self.dataset(name)
        self.take(path)
        return path

    def take(self, path: str, items: Iterable[Mapping[str, Scalar]] = made.ITEMS) -> str:
        """Accept a Run of the dataset at `path` that finds `items`; the id of the Run."""
        return made.take(self.store, raw(path), items, owner=self.owner)

    def fields(self, path: str) -> dict[str, str]:
        """The field ids by column name."""
        columns = self.get(path)["dataset"]["columns"]
        return {column["name"]: column["id"] for column in columns}

    def row(self, path: str, key: str = "A1") -> dict[str, Any]:
        """The row with a key."""
        rows: list[dict[str, Any]] = self.get(f"{path}/rows")["data"]
        return next(row for row in rows if row["rowKey"] == key)


def body_of(answer: TestResponse, status: int) -> Any:
    """The body of an answer, which must have `status`."""
    assert answer.status_code == status, answer.data
    return orjson.loads(answer.data)


def raw(path: str) -> ids.DatasetId:
    """The 16 bytes of the id at the end of a path."""
    return ids.DatasetId(ids.raw_id(path.rpartition("/")[2]))
