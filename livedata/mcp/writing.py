"""How agents make tables: they look at a page, try a source, create a dataset, and run it.

Websites are read in processes of their own, with the guard, robots.txt, politeness and credits that
all of livedata has.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from tempfile import TemporaryFile
from threading import Event, Thread
from typing import IO, Any, Final

import orjson
from msgspec import Struct

from livedata.config import load
from livedata.mcp.access import (
    DatasetAccess,
    OpenDataset,
    check_url,
    environ,
    explain_call,
    targets,
)
from livedata.mcp.answers import (
    LONGEST_ANSWER,
    LONGEST_SENTENCE,
    Answer,
    compact,
    cut_text,
    cut_texts,
    fitting,
)
from livedata.mcp.run import explain_run
from livedata.messages.request import format_detail, shortened
from livedata.messages.validation import read
from livedata.model.errors import Invalid, LivedataError
from livedata.model.ids import format_uuid
from livedata.model.problem import Remedy
from livedata.model.requests import CreateDataset
from livedata.rules.declaration import consistency
from livedata.services import datasets, queries
from livedata.store.database.store import Store

_LONGEST_WAIT: Final = 20
"""So many seconds an agent waits for a Run: many clients wait no longer than 60."""
_LONGEST_DECLARATION: Final = 200_000
_MOST_PROBLEMS: Final = 8
"""So many of the problems of a declaration are told; who mends these is told the others."""
_LONGEST_PROBLEM: Final = 220
_ENDED: Final = frozenset({0, 3, 4, 5})
"""Exit codes that say how a Run ended."""
_IN_PROGRESS: Final = 7


def look_at_page(
    access: DatasetAccess, *, url: str, like: str | None, number: int | None
) -> Answer:
    """What ``init`` finds on a page: its lists, and a declaration for one of them."""
    check_url(access, f"url {shortened(url)}", url)
    if like is not None and not like.strip():
        raise Invalid(
            'like is empty: give a text that stands in a record of the list, such as "Kettle", or '
            "leave it out for the likeliest list."
        )
    wish = {"url": url, "like": [] if like is None else [like], "number": number}
    looked = ask_crawler(access, {"look": wish})
    declaration = looked["declaration"]
    if len(compact(declaration)) > LONGEST_ANSWER // 2:
        raise LivedataError("The declaration of this list is too long for an answer; use a shell.")
    shown = {name: looked[name] for name in ("lists", "rows", "unsure", "error")}
    # A declaration is used as it stands, so nothing in it is cut.
    return fitting(
        lambda most: {
            "from_websites": True,
            "ready": looked["ready"],
            "declaration": declaration,
            **cut_texts(shown, most),
        }
    )


def preview_source(access: DatasetAccess, *, declaration: Mapping[str, Any]) -> Answer:
    """What a Run of a declaration would find and say; nothing is stored."""
    _judge(access, declaration)
    tried = ask_crawler(access, {"preview": declaration})
    if not tried["complete"] and tried["outcome"] == "accept":
        # It reads one page on purpose, which is no fault of the declaration.
        tried["error"] = None
    return fitting(lambda most: {"from_websites": True, **cut_texts(tried, most)})


def create_dataset(access: DatasetAccess, *, declaration: Mapping[str, Any]) -> Answer:
    """A new dataset of a declaration; it has no rows before its first Run."""
    declared = _judge(access, declaration)
    settings = load()
    first = settings.grant(access.owner)
    with closing(Store(access.database.url, limits=settings.limits)) as store:
        created = datasets.create(
            store, access.owner, declared, targets(access), first_credits=first
        )
    with access.opened(created["name"]) as opened:
        return opened.about()


def run_dataset(access: DatasetAccess, *, dataset: str) -> Answer:
    """A Run of a dataset: how it ended, or its id if it goes on."""
    with access.opened(dataset) as opened:
        name, key = opened.dataset()["name"], format_uuid(opened.id)
        _check_site(access, opened)
    ended = run_for(access, key, _LONGEST_WAIT)
    if ended is None:
        return _going_on(access, name, f"The Run goes on after {_LONGEST_WAIT} seconds")
    if ended.code == _IN_PROGRESS:
        return _going_on(access, name, "A Run of it is in progress already")
    if ended.code not in _ENDED:
        raise LivedataError(_first_line(ended.said))
    run = ended.answer()
    return {**explain_run(access, dataset=name, run=run["id"]), "rowDeltas": run["rowDeltas"]}


def _going_on(access: DatasetAccess, name: str, why: str) -> Answer:
    with access.opened(name) as opened:
        newest = queries.runs(opened.db, opened.owner, opened.id, 1)
        run = newest[0]["id"] if newest else None
        call = explain_call(name)
        if run is not None:
            call["arguments"]["run"] = run
        return {
            **opened.about(),
            "run": run,
            "status": newest[0]["status"] if newest else "queued",
            "sentence": f"{why}: ask later how it ended.",
            "causes": [],
            "try": [call],
        }


def _check_site(access: DatasetAccess, opened: OpenDataset) -> None:
    """Raise Invalid if a dataset is of a site that may not be read: its Run would only fail."""
    source = queries.source(opened.db, opened.owner, opened.id)["source"]
    if isinstance(source, dict) and isinstance(url := source.get("url"), str):
        check_url(access, f"The address of {opened.name!r}", url)


def _judge(access: DatasetAccess, declaration: Mapping[str, Any]) -> CreateDataset:
    """The declaration, if an agent may make it. Raises Invalid with all that is wrong."""
    if len(compact(declaration)) > _LONGEST_DECLARATION:
        raise Invalid(f"declaration is longer than {_LONGEST_DECLARATION} bytes.")
    with _telling_all():
        declared = read(CreateDataset, dict(declaration))
        if declared.source.ignore_robots:
            raise Invalid("source.ignoreRobots is for the owner to set: leave it out.")
        if declared.source.proxy != "auto":
            raise Invalid("source.proxy is for the owner to set: leave it out.")
        consistency.check(declared, targets(access))
    return declared


@contextmanager
def _telling_all() -> Iterator[None]:
    """Say of a declaration all that is wrong at once: each call costs an agent a turn."""
    try:
        yield
    except Invalid as error:
        details = error.details
        told = f"declaration: {error.message}"
        if len(details) > 1:
            shown = [
                f"({number}) {cut_text(format_detail(detail), _LONGEST_PROBLEM)}"
                for number, detail in enumerate(details[:_MOST_PROBLEMS], 1)
            ]
            more = f"; and {len(details) - len(shown)} more" if len(details) > len(shown) else ""
            told = f"declaration has {len(details)} problems: {'; '.join(shown)}{more}."
        raise Invalid(told, remedies=error.remedies) from None


def _first_line(said: str) -> str:
    line = next((line for line in said.splitlines() if line.strip()), "The command said nothing.")
    return cut_text(line.removeprefix("Error: "), LONGEST_SENTENCE)


_LONGEST_LOOK: Final = 120
"""So many seconds has a look at a site: two pages, and the pauses that the site wishes."""
_OFTEN: Final = 0.2
"""So many seconds are between two looks whether somebody still waits."""


class EndedProcess(Struct, frozen=True):
    """How a process ended, and what it said."""

    code: int
    printed: bytes
    said: str

    def answer(self) -> Any:
        """What it printed as JSON. Raises RuntimeError with what it said if that is none."""
        try:
            return orjson.loads(self.printed)
        except orjson.JSONDecodeError:
            why = f"A process of livedata ended with {self.code}: {self.said}"
            raise RuntimeError(why) from None


def ask_crawler(access: DatasetAccess, question: Mapping[str, object]) -> Any:
    """What a process that reads websites answers. Raises LivedataError with what it refuses."""
    with TemporaryFile() as printed, TemporaryFile() as said:
        words = ["spiders.cli.asked"]
        process = _started(access, words, printed, said, stdin=subprocess.PIPE)
        # Closed before the answer is there it would end the process: nobody waits for that then.
        with suppress(BrokenPipeError), _stdin(process) as stdin:
            with suppress(BrokenPipeError):
                stdin.write(orjson.dumps(question) + b"\n")
                stdin.flush()
            if not _has_ended(process, access.withdrawn, _LONGEST_LOOK):
                _kill(process)
                raise LivedataError(
                    f"The site did not answer within {_LONGEST_LOOK} seconds; try it later."
                )
        told = _ended(process, printed, said).answer()
    if "error" in told:
        remedies = (Remedy(each["code"], each["params"]) for each in told["remedies"])
        raise LivedataError(told["error"], remedies=tuple(remedies))
    return told["answer"]


def run_for(access: DatasetAccess, dataset: str, seconds: float) -> EndedProcess | None:
    """How a Run of a dataset, which goes by its id, has ended; None if it goes on after so long."""
    words = ["livedata", "run", "--json", f"--owner={access.owner}", "--", dataset]
    # Into files: it goes on when this process ends, and a pipe that nobody reads would end it.
    with TemporaryFile() as printed, TemporaryFile() as said:
        process = _started(access, words, printed, said, stdin=subprocess.DEVNULL)
        if _has_ended(process, access.withdrawn, seconds):
            return _ended(process, printed, said)
        # Only its end is waited for, by nobody who is asked.
        Thread(target=process.wait, daemon=True).start()
        return None


def _started(
    access: DatasetAccess,
    words: Sequence[str],
    printed: IO[bytes],
    said: IO[bytes],
    stdin: int,
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603  (our own program, and no shell)
        [sys.executable, "-P", "-m", *words],
        env={**environ(access), "NO_COLOR": "1"},
        stdin=stdin,
        stdout=printed,
        stderr=said,
        # What ends this process from a terminal ends no Run: it would be read again.
        start_new_session=True,
    )


def _stdin(process: subprocess.Popen[bytes]) -> IO[bytes]:
    assert process.stdin is not None
    return process.stdin


def _has_ended(process: subprocess.Popen[bytes], withdrawn: Event, seconds: float) -> bool:
    """Whether a process ends within so many seconds, and while somebody waits for its answer."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and not withdrawn.is_set():
        with suppress(subprocess.TimeoutExpired):
            process.wait(_OFTEN)
            return True
    return False


def _kill(process: subprocess.Popen[bytes]) -> None:
    # With the browser that it may have started.
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _ended(process: subprocess.Popen[bytes], printed: IO[bytes], said: IO[bytes]) -> EndedProcess:
    printed.seek(0)
    said.seek(0)
    return EndedProcess(process.returncode, printed.read(), said.read().decode(errors="replace"))
