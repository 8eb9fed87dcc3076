"""The tables of a server, over HTTP: `livedata.connect` (rules 18.2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPException, HTTPResponse, IncompleteRead
from itertools import islice
from tempfile import SpooledTemporaryFile
from typing import IO, Any, Final, cast
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode
from urllib.request import HTTPRedirectHandler, Request, build_opener

import orjson
from typing_extensions import override

from livedata.config import USER_AGENT, is_base
from livedata.formats.parquet_writer import pyarrow
from livedata.model.dataset import Dataset
from livedata.model.errors import (
    Conflict,
    FormUnavailable,
    Invalid,
    LivedataError,
    NotFound,
)
from livedata.model.ids import DatasetId, format_uuid, raw_id
from livedata.python.source import (
    CellChange,
    ChangeQuestion,
    RowQuestion,
    TableChanges,
    TableRows,
)
from livedata.python.table import Table
from livedata.services.queries import choose_dataset

_PIECE: Final = 64 * 1024
"""So many bytes of an answer are read at once."""
_IN_MEMORY: Final = 4 * 1024 * 1024
"""An answer that is longer, in bytes, waits in a file."""
_PAGE: Final = 100
"""So many datasets are listed in one answer."""
_ERRORS: Final[Mapping[str, type[LivedataError]]] = {
    "bad_request": Invalid,
    "validation_failed": Invalid,
    "not_found": NotFound,
    "conflict": Conflict,
}
"""The code of an error -> what a store raises for it."""

Params = Mapping[str, str | Sequence[str]]


class ServerUnavailable(LivedataError):
    """A server cannot be reached, or does not answer as livedata does."""

    code = "server_unavailable"


def connect(url: str, *, key: str, timeout: float = 60) -> Tables:
    """The tables of a server, to be read with an API key (rules 18.2).

    `url` is the address under which ``livedata serve`` answers, `timeout` for how many seconds it
    may be silent. Nothing is asked yet. Raises Invalid for what can be no address and no key.
    """
    base = url.strip().rstrip("/").removesuffix("/v1")
    if not is_base(base):
        # It is not repeated: it may hold a password.
        raise Invalid(
            "url must be the address of a server, without a user, a query or a fragment, such as "
            "http://127.0.0.1:8000."
        )
    if not key or not key.isascii() or not key.isprintable() or " " in key:
        raise Invalid("key must be an API key, as `livedata key create` shows it once.")
    if not 0 < timeout < float("inf"):
        raise Invalid(f"timeout must be a number of seconds above 0, not {timeout!r}.")
    return Tables(_Client(base, key, timeout))


class Tables:
    """The tables of a server, by name: ``tables["books"]``; over it, their names."""

    def __init__(self, client: _Client) -> None:
        """The tables that a key may read; `livedata.connect` makes one."""
        self._client = client

    def __getitem__(self, dataset: str) -> Table:
        """The table of a dataset, by its name, its id or an unambiguous end of that."""
        listed = list(self._datasets())
        dataset_id = choose_dataset(
            dataset, [(DatasetId(raw_id(each["id"])), each["name"]) for each in listed]
        )
        (name,) = (each["name"] for each in listed if raw_id(each["id"]) == dataset_id)
        return Table(name, _ServedTable(self._client, format_uuid(dataset_id)))

    def __iter__(self) -> Iterator[str]:
        """The names of the datasets, the newest first."""
        return (dataset["name"] for dataset in self._datasets())

    def __contains__(self, dataset: object) -> bool:
        return dataset in list(self)

    @override
    def __repr__(self) -> str:
        return f"<Tables of {self._client.base}>"

    def _datasets(self) -> Iterator[Dataset]:
        cursor: str | None = ""
        while cursor is not None:
            params = {"limit": str(_PAGE), **({"cursor": cursor} if cursor else {})}
            data, cursor = self._client.json("/v1/datasets", params, "data", "nextCursor")
            yield from data


class _ServedTable:
    def __init__(self, client: _Client, dataset: str) -> None:
        self._client = client
        self._path = f"/v1/datasets/{dataset}"

    @property
    def place(self) -> str:
        """The address of the server."""
        return self._client.base

    def dataset(self) -> Dataset:
        """The dataset as it is."""
        (dataset,) = self._client.json(self._path, {}, "dataset")
        return cast("Dataset", dataset)

    def rows(self, asked: RowQuestion) -> TableRows:
        """Rows of one answer."""
        members = "columns", "rows", "through"
        return TableRows(
            *self._client.json(f"{self._path}/table", _params("json", asked), *members)
        )

    def first_rows(self, most: int) -> TableRows:
        """The first rows; the rest of the answer is not read."""
        with self._client.answer(f"{self._path}/table", {"format": "jsonl"}) as answer:
            through = self._client.through(answer)
            rows = [self._client.parsed(line) for line in islice(answer, most)]
        # Without a row nothing has the names.
        names = list(rows[0]) if rows else self.rows(RowQuestion(at=str(through))).names
        return TableRows(names, [list(row.values()) for row in rows], through)

    def arrow(self, asked: RowQuestion) -> Any:
        """A `pyarrow.Table`, read from the Parquet file that the server writes."""
        _, parquet = pyarrow()
        path = f"{self._path}/table"
        with (
            self._client.answer(path, _params("parquet", asked)) as answer,
            closing(self._client.whole(answer)) as file,
        ):
            try:
                return parquet.read_table(file)
            except ValueError:
                raise self._client.stranger() from None

    def changes(self, asked: ChangeQuestion) -> TableChanges:
        """Changes of one answer, which is here as a whole before the first is given."""
        params = {
            "format": "changes.jsonl",
            **({} if asked.after is None else {"after": str(asked.after)}),
            **({} if asked.since is None else {"since": asked.since}),
            **_common(asked.where, asked.columns),
            **({"when": asked.when} if asked.when else {}),
        }
        with self._client.answer(f"{self._path}/table", params) as answer:
            through = self._client.through(answer)
            return TableChanges(through, self._lines(self._client.whole(answer)))

    def _lines(self, file: IO[bytes]) -> Iterator[CellChange]:
        with closing(file):
            for line in file:
                yield cast("CellChange", self._client.parsed(line))


def _params(form: str, asked: RowQuestion) -> Params:
    return {
        "format": form,
        **({} if asked.at is None else {"at": asked.at}),
        **({"gone": "1"} if asked.gone else {}),
        **_common(asked.where, asked.columns),
    }


def _common(where: Sequence[str], columns: Sequence[str]) -> Params:
    return {
        **({"where": where} if where else {}),
        **({"columns": ",".join(columns)} if columns else {}),
    }


class _NoRedirect(HTTPRedirectHandler):
    """Follows nothing: a key must reach no other address than the one that it was given for."""

    @override
    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


class _Client:
    """What is asked of a server, and what its answers are made of."""

    def __init__(self, base: str, key: str, timeout: float) -> None:
        self.base = base
        self._headers = {"Authorization": f"Bearer {key}", "User-Agent": USER_AGENT}
        self._timeout = timeout
        self._opener = build_opener(_NoRedirect)

    def json(self, path: str, params: Params, *members: str) -> list[Any]:
        """These members of an answer in JSON."""
        with self.answer(path, params) as answer, closing(self.whole(answer)) as file:
            parsed = self.parsed(file.read())
        if not parsed.keys() >= {*members}:
            raise self.stranger()
        return [parsed[member] for member in members]

    def through(self, answer: HTTPResponse) -> int:
        """The sequence of the last change in a table (rules 17.5)."""
        told: str = answer.headers.get("X-Livedata-Through", "")
        if not told.isdecimal():
            raise self.stranger()
        return int(told)

    @contextmanager
    def answer(self, path: str, params: Params) -> Iterator[HTTPResponse]:
        """An answer whose body is still to be read. Raises LivedataError for all that is none."""
        query = f"?{urlencode(params, doseq=True)}" if params else ""
        request = Request(f"{self.base}{path}{query}", headers=self._headers)  # noqa: S310
        with self._reached(), self._opener.open(request, timeout=self._timeout) as answer:
            yield answer

    def whole(self, answer: HTTPResponse) -> IO[bytes]:
        """The body of an answer, from its start. Raises ServerUnavailable if it ends too early."""
        with ExitStack() as stack:
            spooled = stack.enter_context(SpooledTemporaryFile(max_size=_IN_MEMORY))
            while piece := answer.read(_PIECE):
                spooled.write(piece)
            announced = answer.headers["Content-Length"]
            if announced is not None and spooled.tell() != int(announced):
                raise self._broken_off()
            spooled.seek(0)
            stack.pop_all()
        return cast("IO[bytes]", spooled)

    def parsed(self, body: bytes) -> dict[str, Any]:
        """An object in JSON. Raises ServerUnavailable for what is none."""
        try:
            parsed = orjson.loads(body)
        except ValueError:
            parsed = None
        if not isinstance(parsed, dict):
            raise self.stranger()
        return parsed

    @contextmanager
    def _reached(self) -> Iterator[None]:
        try:
            yield
        except HTTPError as error:
            with closing(error):
                raise self._refused(error) from None
        except URLError as error:
            raise self._unreachable(error.reason) from None
        except TimeoutError:
            raise ServerUnavailable(
                f"{self.base} was silent for {self._timeout:g} seconds; try again, or wait longer "
                "with timeout=300."
            ) from None
        except (IncompleteRead, ConnectionResetError):
            raise self._broken_off() from None
        except HTTPException:
            raise self.stranger() from None
        except OSError as error:
            raise self._unreachable(error) from None

    def _refused(self, error: HTTPError) -> LivedataError:
        """What an answer says that is no success."""
        if 300 <= error.code < 400:
            place = error.headers.get("Location", "")
            return ServerUnavailable(
                f"{self.base} sends on to {place or 'nowhere'}. A key is sent nowhere else: "
                "connect to the address at which livedata itself answers."
            )
        if error.code == 401:
            refused = LivedataError(
                f"{self.base} does not know this key, or it was revoked; `livedata key create` on "
                "the server makes another."
            )
            refused.code = "unauthenticated"
            return refused
        try:
            told = orjson.loads(error.read(_IN_MEMORY))["error"]
            code, message = str(told["code"]), str(told["message"])
        except (ValueError, TypeError, LookupError, OSError, HTTPException):
            return self.stranger(f" (status {error.code})")
        if code == FormUnavailable.code:
            return FormUnavailable(f"On {self.base}: {message}")
        if code in _ERRORS:
            return _ERRORS[code](message)
        other = LivedataError(message)
        other.code = code
        return other

    def _unreachable(self, reason: object) -> ServerUnavailable:
        if isinstance(reason, ConnectionResetError):
            return self._broken_off()
        told = reason.strerror if isinstance(reason, OSError) and reason.strerror else reason
        return ServerUnavailable(
            f"{self.base} cannot be reached: {told}. Check the address, and that `livedata serve` "
            "runs there."
        )

    def _broken_off(self) -> ServerUnavailable:
        return ServerUnavailable(f"{self.base} broke its answer off; ask again.")

    def stranger(self, detail: str = "") -> ServerUnavailable:
        """What is raised for an answer that no livedata gives."""
        return ServerUnavailable(
            f"{self.base} does not answer as livedata does{detail}; check the address."
        )
