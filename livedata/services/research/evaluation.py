"""How good the table of a Run is, what it rests on, and what the Run took (rules 14.14)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct, json

from livedata.model.ids import DatasetId, OwnerName, RowId, RunId, raw_id
from livedata.model.row import Row
from livedata.model.wire import as_uri
from livedata.rules.research.fold import fold
from livedata.rules.research.identity import fold_name
from livedata.rules.research.quotes import holds_numbers
from livedata.rules.research.scoring import Gold, Score, TableRow, score
from livedata.services import diagnostics, queries
from livedata.services.diagnostics import artifact_index
from livedata.store.database.store import Database
from livedata.store.research import artifacts, usage

OWNER = OwnerName("local")


class Measured(Struct, frozen=True):
    """One Run; `keys` has the key of each entity of the gold that is in the table.

    `unsupported` counts the cells whose words do not stand on the page that they name, or do not
    hold the numbers of the value. `usd` is None if the price of a call is not known.
    """

    score: Score
    unsupported: int
    keys: Mapping[str, str]
    calls: int
    input_tokens: int
    output_tokens: int
    usd: float | None
    credits: int
    wall_ms: int


def measure(db: Database, dataset: str, run: str, gold: Gold) -> Measured:
    """Judge the table as a Run has left it, and sum up what the Run took."""
    table = _Table(db, DatasetId(raw_id(dataset)), RunId(raw_id(run)))
    with db.reading() as reader:
        took = [call.usage for call in usage.calls_of(reader, RunId(raw_id(run)))]
    asked = [usage for usage in took if usage.model is not None]
    ledger = queries.usage(db, OWNER)["ledger"]
    return Measured(
        score=score(gold, table.rows(), table.kind),
        unsupported=sum(table.unsupported()),
        keys=table.keys(gold),
        calls=sum(usage.requests for usage in asked),
        input_tokens=sum(usage.input_tokens or 0 for usage in asked),
        output_tokens=sum(usage.output_tokens or 0 for usage in asked),
        usd=None if any(usage.usd is None for usage in asked) else sum(u.usd or 0 for u in asked),
        credits=-sum(entry["credits"] for entry in ledger if entry["runId"] == run),
        wall_ms=diagnostics.trace(db, OWNER, RunId(raw_id(run)))["wallMs"] or 0,
    )


class _RecordedPage(Struct):
    text: str = ""


class _Table:
    """The rows that are present after a Run, with the pages that they were read from."""

    def __init__(self, db: Database, dataset: DatasetId, run: RunId) -> None:
        self._db = db
        self._dataset = dataset
        recipe = artifact_index(db, OWNER, run)["recipe"]
        assert recipe is not None  # it has ended well, so it had a plan
        self.kind = recipe["plan"]["rowIdentity"]["kind"]
        self._name = recipe["fields"]["name"]
        self._labels = {each["fieldId"]: each["label"] for each in recipe["plan"]["attributes"]}
        every_row = queries.every_row(db, OWNER, dataset)
        self._present = [row for row in every_row if row["presence"] == "present"]
        self._pages: dict[str, dict[str, str]] = {}

    def rows(self) -> Iterator[TableRow]:
        """The rows as they are scored."""
        for row in self._present:
            values = {label: _text(row["data"][field]) for field, label in self._labels.items()}
            yield TableRow(self._names(row), values)

    def keys(self, gold: Gold) -> dict[str, str]:
        """The key of each entity of the gold that is there."""
        wanted = {fold_name(name, self.kind): name for name in gold}
        return {
            wanted[folded]: row["rowKey"]
            for row in self._present
            for folded in (fold_name(name, self.kind) for name in self._names(row))
            if folded in wanted
        }

    def unsupported(self) -> Iterator[bool]:
        """For each cell whether nothing supports it."""
        for row in self._present:
            detail = queries.row(self._db, OWNER, self._dataset, RowId(raw_id(row["id"])))
            observed = {each["id"]: each for each in detail["observations"]}
            for field in self._labels:
                value = _text(detail["data"][field])
                if value is None:
                    continue
                yield not any(
                    holds_numbers(entry["excerpt"], value)
                    and fold(entry["excerpt"]) in self._page(page["runId"], page["sourceUrl"])
                    for reference in detail["evidence"].get(field, [])
                    for page in [observed[reference["observationId"]]]
                    for entry in page["entries"]
                    if entry["id"] == reference["entryId"]
                )

    def _names(self, row: Row) -> Sequence[str]:
        aliases = row["identity"]["aliases"] if row["identity"] else []
        return [str(row["data"][self._name]), *aliases]

    def _page(self, run: str, url: str) -> str:
        """The folded text of a page as a Run has read it; "" if that is not recorded."""
        if run not in self._pages:
            texts: dict[str, str] = {}
            with self._db.reading() as reader:
                recorded = artifacts.recorded(reader, RunId(raw_id(run)), kind="page.text")
                for each in recorded:
                    body = json.decode(each.body or "{}", type=_RecordedPage)
                    # A long page is recorded in pieces, one after the other.
                    address = as_uri(each.source_url)
                    texts[address] = texts.get(address, "") + body.text
            self._pages[run] = {url: fold(text) for url, text in texts.items()}
        return self._pages[run].get(url, "")


def _text(value: object) -> str | None:
    return None if value is None else str(value)
