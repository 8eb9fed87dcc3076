"""The change feed as the JSON text that is answered: what :mod:`livedata.store.reads.feed` says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from livedata.store.codec import Fields, dump
from livedata.store.database import Reader
from livedata.store.ids import ident
from livedata.store.reads.feed import Window, schemas, select
from livedata.store.reads.rows import Wanted, observed, stored
from livedata.store.texts import Texts


def page(reader: Reader, dataset: bytes, fields: Fields, window: Window) -> bytes:
    """The revisions of a window, and what they refer to."""
    found, more = select(reader, dataset, window)
    writer = _Writer(fields, dataset)
    # Encoded one by one, and joined once: a copy of the whole page costs as much as reading it.
    parts = [part for one in found for part in (b",", writer.change(one).encode())]
    parts[:1] = [b'{"data":[']
    told = orjson.dumps(schemas(reader, dataset, {one[3] for one in found}))
    seen = ",".join(writer.observations(reader, dataset)).encode()
    last = found[-1][2] if more else "null"
    end = f'],"through":{window.through},"nextAfter":{last}}}'.encode()
    return b"".join((*parts, b'],"schemas":', told, b',"observations":[', seen, end))


class _Writer:
    """Writes revisions, then the observations that these referred to."""

    def __init__(self, fields: Fields, dataset: bytes) -> None:
        self._fields = fields
        self._dataset = ident(dataset)
        self._texts = Texts(fields)
        self._wanted = Wanted()

    def change(self, row: Sequence[Any]) -> str:
        """One revision."""
        texts = self._texts
        data, evidence, reasons, overrides = self._cells(row)
        request = "null" if row[16] is None else dump(row[16])
        digest = "null" if row[17] is None else f'"{row[17].hex()}"'
        return (
            f'{{"id":"{ident(row[0])}","datasetId":"{self._dataset}","rowId":"{ident(row[1])}",'
            f'"sequence":{row[2]},"schemaVersion":{row[3]},"previousRevisionId":{_maybe(row[4])},'
            f'"origin":"{row[5]}","kind":"{row[6]}","changedFieldIds":{texts.changed(row[7])},'
            f'"data":{data},"evidence":{evidence},"missingReasons":{reasons},'
            f'"presence":"{row[11]}","createdAt":"{texts.moment(row[18])}",'
            f'"runId":{self._known(row[14])},"actorId":{self._known(row[15])},'
            f'"requestId":{request},"requestHash":{digest},'
            f'"overrides":{overrides},"before":{self._before(row)}}}'
        )

    def observations(self, reader: Reader, dataset: bytes) -> list[str]:
        """What the revisions so far referred to."""
        return [
            f'{{"id":"{observation}","datasetId":"{self._dataset}",'
            f'"runId":"{self._texts.ident(row[1])}","method":"deterministic",'
            f'"sourceUrl":{dump(row[2])},"observedAt":"{self._texts.moment(row[3])}",'
            f'"contentDigest":"{row[4].hex()}","entries":{self._texts.entries(row[5], wanted)}}}'
            for observation, row, wanted in observed(reader, dataset, self._wanted)
        ]

    def _cells(self, row: Sequence[Any]) -> tuple[str, str, str, str]:
        """Data, evidence, missing reasons and overrides."""
        if row[9] is None and row[10] is None:
            values = orjson.loads(row[8])
            data, evidence = self._texts.data(row[8], values), "{}"
            if row[12] is not None and (read := self._texts.read(values)):
                observation = self._texts.ident(row[12])
                self._wanted.refer(observation, row[13], read)
                evidence = self._texts.evidence(observation, row[13], read)
            return data, evidence, "{}", "{}"
        cells = stored(row[8:11], row[12], row[13])
        self._wanted.add(cells, cells.read(self._fields))
        self._wanted.add(cells, cells.read_below())
        parts = (
            cells.evidence(self._fields),
            cells.missing(self._fields),
            cells.overridden(self._fields),
        )
        evidence, reasons, overrides = map(dump, parts)
        return self._texts.data(row[8], cells.values), evidence, reasons, overrides

    def _before(self, row: Sequence[Any]) -> str:
        """What stood before, and the overrides of it."""
        if row[4] is None:
            return "null"
        overrides = "{}"
        if row[21] is not None:
            before = stored(row[19:22], row[22], row[23])
            self._wanted.add(before, before.read_below())
            overrides = dump(before.overridden(self._fields))
        return f'{self._texts.data(row[19])},"beforeOverrides":{overrides}'

    def _known(self, raw: bytes | None) -> str:
        return "null" if raw is None else f'"{self._texts.ident(raw)}"'


def _maybe(raw: bytes | None) -> str:
    return "null" if raw is None else f'"{ident(raw)}"'
