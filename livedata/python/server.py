"""The tables of a server, over HTTP: `livedata.connect` (rules 18.2)."""

from __future__ import annotations

import re
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPException, HTTPResponse, IncompleteRead
from tempfile import SpooledTemporaryFile
from typing import IO, Any, Final, TypedDict, TypeVar, cast
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener, getproxies

import msgspec
from msgspec import Struct
from typing_extensions import override

from livedata.config import USER_AGENT, is_base
from livedata.formats.parquet_writer import pyarrow
from livedata.messages.controls import escape_controls
from livedata.model.dataset import Dataset
from livedata.model.errors import Conflict, FormUnavailable, Invalid, LivedataError, NotFound
from livedata.model.ids import DatasetId, format_uuid, raw_id
from livedata.model.row import Scalar
from livedata.python.source import (
    CellChange,
    ChangeQuestion,
    RowQuestion,
    TableChanges,
    TableRows,
    named,
    sentences,
)
from livedata.python.table import Table
from livedata.services.queries import choose_dataset

T = TypeVar("T")
Params = Mapping[str, str | Sequence[str]]
_PIECE: Final = 64 * 1024
"""So many bytes of an answer are read at once."""
_IN_MEMORY: Final = 4 * 1024 * 1024
"""An answer that is longer, in bytes, waits in a file."""
_LONGEST: Final = 86_400
"""So many seconds of silence are waited for at most."""
_PAGE: Final = 100
"""So many datasets are listed in one answer."""
_ERRORS: Final[Mapping[str, type[LivedataError]]] = {
    "bad_request": Invalid,
    "validation_failed": Invalid,
    "not_found": NotFound,
    "conflict": Conflict,
}
"""The code of an error -> what a store raises for it."""


class ServerUnavailable(LivedataError):
    """A server cannot be reached, or does not answer as livedata does."""

    code = "server_unavailable"


def connect(url: str, *, key: str, timeout: float = 60) -> Tables:
    """The tables of a server, to be read with an API key (rules 18.2).

    `url` is the address under which ``livedata serve`` answers, `timeout` for how many seconds it
    may be silent. Nothing is asked yet. Raises Invalid for what can be no address and no key.
    """
    base = str(url).strip().rstrip("/").removesuffix("/v1")
    if not (base.isascii() and is_base(base)):
        # It is not repeated: it may hold a password.
        raise Invalid(
            "url must be the address of a server, without a user, a query or a fragment, such as "
            "http://127.0.0.1:8000."
        )
    if not _is_key(key):
        raise Invalid("key must be an API key, as `livedata key create` shows it once.")
    if not _is_duration(timeout):
        raise Invalid(
            f"timeout must be a number of seconds above 0, at most {_LONGEST}, not {timeout!r}."
        )
    return Tables(_Client(base, key, timeout))


def _is_key(given: object) -> bool:
    return isinstance(given, str) and re.fullmatch("[!-~]+", given) is not None


def _is_duration(seconds: object) -> bool:
    return isinstance(seconds, int | float) and 0 < seconds <= _LONGEST


class Tables:
    """The tables of a server, by name: ``tables["books"]``; over it, their names."""

    def __init__(self, client: _Client) -> None:
        """The tables that a key may read; `livedata.connect` makes one."""
        self._client = client

    def __getitem__(self, dataset: str) -> Table:
        """The table of a dataset: by its name, its id, or an unambiguous part of that."""
        names = {DatasetId(raw_id(each["id"])): each["name"] for each in self._datasets()}
        dataset_id = choose_dataset(named(dataset), [*names.items()])
        return Table(names[dataset_id], _ServedTable(self._client, format_uuid(dataset_id)))

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
            try:
                page = self._client.read("/v1/datasets", params, _DatasetPage)
            except NotFound:
                # Each livedata has this path, so the address is that of something else.
                raise self._client.stranger() from None
            yield from page["data"]
            cursor = page["nextCursor"]


class _DatasetPage(TypedDict):
    data: list[Dataset]
    nextCursor: str | None


class _DatasetAnswer(TypedDict):
    dataset: Dataset


class _TableAnswer(TypedDict):
    columns: list[str]
    rows: list[list[Scalar]]
    through: int


class _ServedTable:
    def __init__(self, client: _Client, dataset: str) -> None:
        self._client = client
        self._dataset = f"/v1/datasets/{dataset}"
        self._table = f"{self._dataset}/table"

    @property
    def place(self) -> str:
        """The address of the server."""
        return self._client.base

    def dataset(self) -> Dataset:
        """The dataset as it is."""
        return self._client.read(self._dataset, {}, _DatasetAnswer)["dataset"]

    def rows(self, asked: RowQuestion) -> TableRows:
        """Rows of one answer."""
        answer = self._client.read(self._table, _row_params("json", asked), _TableAnswer)
        if any(len(row) != len(answer["columns"]) for row in answer["rows"]):
            raise self._client.stranger()
        return TableRows(answer["columns"], answer["rows"], answer["through"])

    def two_moments(self, since: str, until: str | None) -> tuple[TableRows, TableRows]:
        """The rows at two moments; a second that is now, or to come, is not before the first."""
        then = self.rows(RowQuestion(since, gone=True))
        return then, self.rows(RowQuestion(until, gone=True))

    def first_rows(self, most: int) -> TableRows:
        """The first rows; the rest of the answer is not read."""
        with self._client.answer(self._table, {"format": "jsonl"}) as answer:
            through, body = self._client.through(answer), b""
            while body.count(b"\n") < most and (piece := self._client.piece(answer)):
                body += piece
        lines = body.split(b"\n")[:-1][:most]
        rows = [self._client.parsed(line, dict[str, Scalar]) for line in lines]
        # Without a row nothing has the names.
        names = list(rows[0]) if rows else self.rows(RowQuestion(at=str(through))).names
        return TableRows(names, [list(row.values()) for row in rows], through)

    def arrow(self, asked: RowQuestion) -> Any:
        """A `pyarrow.Table`, read from the Parquet file that the server writes."""
        with sentences():
            _, parquet = pyarrow()
        with self._client.body(self._table, _row_params("parquet", asked)) as file:
            try:
                return parquet.read_table(file)
            except ValueError:
                raise self._client.stranger() from None

    def changes(self, asked: ChangeQuestion) -> TableChanges:
        """Changes of one answer, which is here as a whole before the first is given."""
        params = _params(
            *(("format", "changes.jsonl"), ("after", asked.after), ("since", asked.since)),
            *(("when", asked.when), ("where", asked.where), ("columns", asked.columns)),
        )
        with self._client.answer(self._table, params) as answer:
            through = self._client.through(answer)
            file = self._client.whole(answer, is_marked=False)
        changes = TableChanges(through, self._lines(file))
        # Also of changes of which nobody asks for the first.
        weakref.finalize(changes, file.close)
        return changes

    def _lines(self, file: IO[bytes]) -> Iterator[CellChange]:
        for line in file:
            yield self._client.parsed(line, CellChange)


def _row_params(form: str, asked: RowQuestion) -> Params:
    gone = "1" if asked.gone else None
    return _params(
        *(("format", form), ("at", asked.at), ("gone", gone)),
        *(("where", asked.where), ("columns", asked.columns)),
    )


def _params(*asked: tuple[str, str | int | Sequence[str] | None]) -> Params:
    """What a question has; names of columns stand in one parameter."""
    given: dict[str, str | Sequence[str]] = {}
    for name, value in asked:
        if isinstance(value, int):
            given[name] = str(value)
        elif value:
            given[name] = ",".join(value) if name == "columns" else value
    return given


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
        # Through a proxy of https nobody reads the key; one of http would be given it.
        proxies = {kind: url for kind, url in getproxies().items() if kind in {"https", "no"}}
        self._opener = build_opener(_NoRedirect, ProxyHandler(proxies))

    def read(self, path: str, params: Params, shape: type[T]) -> T:
        """An answer in JSON. Raises ServerUnavailable for another shape."""
        with self.body(path, params) as file:
            return self.parsed(file.read(), shape)

    @contextmanager
    def body(self, path: str, params: Params) -> Iterator[IO[bytes]]:
        """The body of an answer that tells by itself whether it is whole."""
        with self.answer(path, params) as answer, closing(self.whole(answer)) as file:
            yield file

    @contextmanager
    def answer(self, path: str, params: Params) -> Iterator[HTTPResponse]:
        """An answer whose body is still to be read. Raises LivedataError for all that is none."""
        query = f"?{urlencode(params, doseq=True)}" if params else ""
        request = Request(f"{self.base}{path}{query}", headers=self._headers)  # noqa: S310
        with self._reached():
            answer = self._opener.open(request, timeout=self._timeout)
        with closing(answer):
            yield answer

    def piece(self, answer: HTTPResponse) -> bytes:
        """The next bytes of an answer, none at its end. Raises ServerUnavailable if it is cut."""
        with self._reached():
            return answer.read(_PIECE)

    def whole(self, answer: HTTPResponse, *, is_marked: bool = True) -> IO[bytes]:
        """The body of an answer, from its start. Raises ServerUnavailable if it ends too early.

        Of a body that is not `is_marked`, no end of its own says that it is whole.
        """
        announced = answer.headers.get("Content-Length", "")
        if not (is_marked or announced or answer.chunked):
            raise ServerUnavailable(
                f"{self.base} does not say where its answer ends, so a part would look like all: "
                "let the proxy before it speak HTTP/1.1 to livedata."
            )
        with ExitStack() as stack:
            spooled = stack.enter_context(SpooledTemporaryFile(max_size=_IN_MEMORY))
            while piece := self.piece(answer):
                spooled.write(piece)
            if announced.isdecimal() and spooled.tell() != int(announced):
                raise self._broken_off()
            spooled.seek(0)
            stack.pop_all()
        return cast("IO[bytes]", spooled)

    def through(self, answer: HTTPResponse) -> int:
        """The sequence of the last change in a table (rules 17.5)."""
        told: str = answer.headers.get("X-Livedata-Through", "")
        if not told.isdecimal():
            raise self.stranger()
        return int(told)

    def parsed(self, body: bytes, shape: type[T]) -> T:
        """A value in JSON. Raises ServerUnavailable for another shape."""
        try:
            return msgspec.json.decode(body, type=shape)
        except (ValueError, msgspec.MsgspecError):
            raise self.stranger() from None

    def stranger(self, detail: str = "") -> ServerUnavailable:
        """What is raised for an answer that no livedata gives."""
        return ServerUnavailable(
            f"{self.base} does not answer as livedata does{detail}; check the address."
        )

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
        except (OSError, UnicodeError) as error:
            raise self._unreachable(error) from None

    def _refused(self, error: HTTPError) -> LivedataError:
        """What an answer says that is no success."""
        if 300 <= error.code < 400:
            # Without its path: that may be a secret of somebody.
            place = urlsplit(error.headers.get("Location", ""))
            to = escape_controls(f" to {place.scheme}://{place.hostname}" if place.hostname else "")
            return ServerUnavailable(
                f"{self.base} sends on{to}. A key is sent nowhere else: connect to the address at "
                "which livedata itself answers."
            )
        if error.code == 401:
            return _coded(
                "unauthenticated",
                f"{self.base} does not know this key, or it was revoked; `livedata key create` on "
                "the server makes another.",
            )
        try:
            told = msgspec.json.decode(error.read(_IN_MEMORY), type=_ErrorAnswer).error
        except (ValueError, msgspec.MsgspecError, OSError, HTTPException):
            return self.stranger(f" (status {error.code})")
        message = escape_controls(told.message)
        if told.code == FormUnavailable.code:
            return FormUnavailable(f"On {self.base}: {message}")
        known = _ERRORS.get(told.code)
        return known(message) if known else _coded(told.code, message)

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


class _Error(Struct):
    code: str
    message: str


class _ErrorAnswer(Struct):
    error: _Error


def _coded(code: str, message: str) -> LivedataError:
    error = LivedataError(message)
    error.code = code
    return error
