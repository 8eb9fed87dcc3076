"""The tables of a server, over HTTP: `livedata.connect` (rules 18.2)."""

from __future__ import annotations

import re
import weakref
from collections.abc import Iterator, Sequence
from typing import IO, Any, Final, TypedDict

from typing_extensions import override

from livedata.config import is_base
from livedata.formats.typed_files import pyarrow
from livedata.model.dataset import Dataset
from livedata.model.errors import Invalid, NotFound
from livedata.model.ids import DatasetId, format_uuid, raw_id
from livedata.model.row import Scalar
from livedata.python.client import Client, Params
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

_LONGEST: Final = 86_400
"""So many seconds of silence are waited for at most."""
_PAGE: Final = 100
"""So many datasets are listed in one answer."""


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
    return Tables(Client(base, key, timeout))


def _is_key(given: object) -> bool:
    return isinstance(given, str) and re.fullmatch("[!-~]+", given) is not None


def _is_duration(seconds: object) -> bool:
    return isinstance(seconds, int | float) and 0 < seconds <= _LONGEST


class Tables:
    """The tables of a server, by name: ``tables["books"]``; over it, their names."""

    def __init__(self, client: Client) -> None:
        """The tables that a key may read; `livedata.connect` makes one."""
        self._client = client

    def __getitem__(self, dataset: str) -> Table:
        """The table of a dataset: by its name, its id, or an unambiguous part of that."""
        wanted, names = named(dataset), {}
        for each in self._datasets():
            names[DatasetId(raw_id(each["id"]))] = each["name"]
            # There may be very many behind it, which are some requests each.
            if each["name"] == wanted:
                break
        dataset_id = choose_dataset(wanted, [*names.items()])
        return Table(names[dataset_id], _ServedTable(self._client, format_uuid(dataset_id)))

    def __iter__(self) -> Iterator[str]:
        """The names of the datasets, the newest first."""
        return (dataset["name"] for dataset in self._datasets())

    def __contains__(self, dataset: object) -> bool:
        return any(dataset == name for name in self)

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
    def __init__(self, client: Client, dataset: str) -> None:
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
