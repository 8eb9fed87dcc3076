"""``research eval``: Runs of a task in a store of its own, held against the table that is right."""

from __future__ import annotations

import json
import mimetypes
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qs, quote, unquote, urlsplit

import click
import msgspec
from msgspec import Struct
from msgspec.structs import asdict
from typing_extensions import override

from livedata.cli.context import CommandContext, common_options
from livedata.cli.demo import serving
from livedata.cli.output.streams import print_json, print_message
from livedata.cli.output.tables import print_record
from livedata.cli.source.source_file import read_declaration
from livedata.model.errors import Invalid
from livedata.model.research.declaration import PlanFile
from livedata.rules.research.scoring import Score, Scored
from livedata.services.research.evaluation import Measured, measure
from livedata.store.database.store import Store

if TYPE_CHECKING:
    from livedata.cli.context import CommandContext
    from livedata.config import Settings

NAME = "task"


@click.command("eval")
@click.argument("task", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option(
    "--runs", type=click.IntRange(1, 100), default=5, show_default=True, help="Runs of the task."
)
@common_options
def evaluate(ctx: CommandContext, task: Path, runs: int) -> None:
    """Measure how well the model fills a table that is known.

    TASK is a folder: plan.toml as livedata research plan writes it, the pages in pages/, and
    gold.json with what is right: {"Acme": {"City": ["Lyon"]}}. The pages are served and searched on
    this machine, in a store of their own; only the model is asked, anew in each Run.
    """
    known = read_task(task)
    with (
        tempfile.TemporaryDirectory(prefix="livedata-eval-") as home,
        served(known.pages) as host,
    ):
        commands = _Commands(_environment(ctx.settings, Path(home), host))
        dataset = commands.ask("research", "create", "--name", NAME, "--plan", str(known.plan))
        measured = []
        for number in range(1, runs + 1):
            # Fresh: a model that is not asked again would only be praised for its memory.
            run = commands.ask("run", NAME, "--fresh")
            store = Store(f"sqlite:///{home}/livedata.db")
            measured.append(measure(store, dataset["id"], run["id"], known.gold))
            if not ctx.json:
                print_message(f"Run {number} of {runs}: {_words(measured[-1].score)}")
    answer = _answer(known, measured)
    if ctx.json:
        print_json(answer)
    else:
        print_record({name: _shown(value) for name, value in answer.items()})


class _Commands(NamedTuple):
    """Commands of livedata over the store of the task."""

    environment: Mapping[str, str]

    def ask(self, *words: str) -> Any:
        """What a command answers in JSON; if it fails, this command does."""
        # A process each, because a reactor runs once in a process.
        # -P: nothing in the working folder may stand in for the package.
        command = [sys.executable, "-P", "-m", "livedata", *words, "--json"]
        done = subprocess.run(  # noqa: S603  (our own words)
            command, env=self.environment, stdout=subprocess.PIPE, check=False
        )
        answer = msgspec.json.decode(done.stdout or b"null")
        answer = answer[0] if isinstance(answer, list) else answer
        if done.returncode:
            # What no Run has in its answer was said on stderr, which is also ours.
            if answer is not None:
                print_message(f"A Run of the task ended as {answer['status']}: {answer['error']}")
            raise click.exceptions.Exit(done.returncode)
        return answer


def _environment(settings: Settings, home: Path, host: str) -> dict[str, str]:
    """The model that is set, with a store and a search of the task's own."""
    research = {
        f"LIVEDATA_{name.upper()}": str(value)
        for name, value in asdict(settings.research).items()
        if value is not None
    }
    return {
        **os.environ,
        **research,
        "LIVEDATA_HOME": str(home),
        "LIVEDATA_DATABASE_URL": "",
        "LIVEDATA_ALLOW_HOSTS": host,
        "LIVEDATA_SEARCH": "searxng",
        "LIVEDATA_SEARCH_URL": f"http://{host}",
        "LIVEDATA_SEARCH_KEY": "",
        # The day is that of the owners of the operator's own store.
        "LIVEDATA_RESEARCH_TOKENS_A_DAY": "",
        "LIVEDATA_RESEARCH_USD_A_DAY": "",
    }


def _answer(task: EvalTask, measured: Sequence[Measured]) -> dict[str, Any]:
    """All Runs together: scores and times are means, what was taken is summed."""
    scores = [each.score for each in measured]
    usd = [each.usd for each in measured if each.usd is not None]
    return {
        "task": task.name,
        "runs": len(measured),
        "entities": _mean([each.entities for each in scores]),
        "rows": _mean([each.rows for each in scores]),
        "items": _mean([each.items for each in scores]),
        "unsupportedCells": sum(each.unsupported for each in measured),
        "keyChurn": _churn([each.keys for each in measured]),
        "calls": sum(each.calls for each in measured),
        "inputTokens": sum(each.input_tokens for each in measured),
        "outputTokens": sum(each.output_tokens for each in measured),
        # None and not 0: nobody knows what a model without a price costs.
        "usd": sum(usd) if len(usd) == len(measured) else None,
        "credits": sum(each.credits for each in measured),
        "wallMs": round(fmean(each.wall_ms for each in measured)),
    }


def _mean(scored: Sequence[Scored]) -> dict[str, float]:
    return {
        name: round(fmean(getattr(each, name) for each in scored), 4)
        for name in ("precision", "recall", "f1")
    }


def _churn(keys: Sequence[Mapping[str, str]]) -> int:
    """How many entities had another key in a later Run than in the first that had them."""
    first: dict[str, str] = {}
    churned = set()
    for by_entity in keys:
        for entity, key in by_entity.items():
            if first.setdefault(entity, key) != key:
                churned.add(entity)
    return len(churned)


def _words(score: Score) -> str:
    parts = {"entities": score.entities, "items": score.items}
    return ", ".join(
        f"{each.precision:.3f} of the {name} right, {each.recall:.3f} found"
        for name, each in parts.items()
    )


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {share:.3f}" for name, share in value.items())
    return "not known" if value is None else str(value)


EXAMPLE = '{"Acme": {"City": ["Lyon"]}}'


class EvalTask(Struct, frozen=True):
    """What is asked, of which pages, and name -> label -> the values that are right."""

    name: str
    plan: Path
    pages: Mapping[str, Path]
    gold: Mapping[str, Mapping[str, list[str]]]


def read_task(folder: Path) -> EvalTask:
    """The task in a folder. Raises Invalid if a part of it is missing or cannot be read."""
    plan, pages, gold = (folder / name for name in ("plan.toml", "pages", "gold.json"))
    if not plan.is_file():
        raise Invalid(
            f"{folder} is no task: it has no plan.toml. livedata research plan makes one."
        )
    declared = read_declaration(PlanFile, plan)
    if declared.urls:
        raise Invalid(
            f"{plan} names addresses, but a task reads its own pages; take `urls` out of it."
        )
    files = sorted(file for file in pages.rglob("*") if file.is_file())
    if not files:
        raise Invalid(f"{folder} is no task: there is no page in {pages}. Save some there.")
    served = {f"/{file.relative_to(pages).as_posix()}": file for file in files}
    labels = [attribute.label for attribute in declared.plan.attributes]
    return EvalTask(folder.name, plan, served, _gold(gold, labels))


def _gold(file: Path, labels: Sequence[str]) -> dict[str, dict[str, list[str]]]:
    try:
        gold = msgspec.json.decode(file.read_bytes(), type=dict[str, dict[str, list[str]]])
    except FileNotFoundError:
        raise Invalid(f"{file} is missing: it says what is right, such as {EXAMPLE}.") from None
    except (OSError, UnicodeDecodeError, msgspec.DecodeError) as error:
        raise Invalid(f"{file} cannot be read: {error}. It is JSON such as {EXAMPLE}.") from None
    if not gold:
        raise Invalid(f"{file} holds no row: write what is right, such as {EXAMPLE}.")
    strange = next((label for row in gold.values() for label in row if label not in labels), None)
    if strange is not None:
        raise Invalid(
            f"{file} has values for {strange!r}, and the plan no such label; it has "
            f"{', '.join(labels)}."
        )
    return gold


SEARCH = "/search"
MOST_RESULTS = 50
_MARKUP = re.compile(
    r"<(?:script|style)\b.*?</(?:script|style)>|<[^>]*>", re.DOTALL | re.IGNORECASE
)
_TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.DOTALL | re.IGNORECASE)
_WORD = re.compile(r"\w+")


class _Page:
    """A page with the words by which it is searched."""

    def __init__(self, path: str, file: Path) -> None:
        self.path = path
        self.body = file.read_bytes()
        self.content_type = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
        markup = self.body.decode("utf-8", "replace")
        title = _TITLE.search(markup)
        self.title = path if title is None else " ".join(title[1].split())
        self.words = frozenset(_WORD.findall(_MARKUP.sub(" ", markup).lower()))


@contextmanager
def served(pages: Mapping[str, Path]) -> Iterator[str]:
    """Host and port of a server with these pages, by path; /search finds the pages of a query."""
    by_path = {path: _Page(path, file) for path, file in pages.items()}

    class Handler(_Handler):
        pages = by_path

    with serving(Handler) as host:
        yield host


def rank(pages: Sequence[_Page], query: str) -> list[_Page]:
    """The pages that have words of a query, those with most of them first."""
    wanted = set(_WORD.findall(query.lower()))
    hits = [(len(wanted & page.words), page) for page in pages]
    # Pages with as many words are in the order of their paths: a search finds the same each time.
    hits.sort(key=lambda hit: (-hit[0], hit[1].path))
    return [page for count, page in hits[:MOST_RESULTS] if count]


class _Handler(BaseHTTPRequestHandler):
    pages: Mapping[str, _Page] = {}

    def do_GET(self) -> None:
        """Answer a page or a search."""
        address = urlsplit(self.path)
        path = unquote(address.path)
        if path == SEARCH:
            self._answer(200, "application/json", self._search(address.query))
        elif (page := self.pages.get(path)) is not None:
            self._answer(200, page.content_type, page.body)
        else:
            self._answer(404, "text/plain", b"There is no such page.")

    def _search(self, query: str) -> bytes:
        words = " ".join(parse_qs(query).get("q", []))
        host = f"http://{self.headers['Host']}"
        ranked = rank(list(self.pages.values()), words)
        results = [{"url": host + quote(page.path), "title": page.title} for page in ranked]
        return json.dumps({"query": words, "results": results}).encode()

    def _answer(self, status: int, content_type: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    @override
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the command says what matters."""
