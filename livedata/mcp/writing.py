"""How agents make tables: they look at a page, try a source, create a dataset, and run it.

Websites are read by commands of livedata in processes of their own, with the guard, robots.txt,
politeness and credits that these have; what they print reaches no wire.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any, Final

import orjson
from msgspec import Struct

from livedata.config import load
from livedata.mcp.access import DatasetAccess, OpenDataset, explain_call
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
from livedata.messages import request
from livedata.messages.validation import read
from livedata.model.errors import Invalid, LivedataError
from livedata.model.ids import format_uuid
from livedata.model.requests import CreateDataset
from livedata.rules.network.targets import url_problem
from livedata.services import datasets, queries
from livedata.store.database.store import Store

_LONGEST_LOOK: Final = 120
"""So many seconds has a look at a site: two pages, and the pauses that the site wishes."""
_LONGEST_WAIT: Final = 20
"""So many seconds an agent waits for a Run: many clients wait no longer than 60."""
_LONGEST_DECLARATION: Final = 200_000
_ENDED: Final = frozenset({0, 3, 4, 5})
"""Exit codes that say how a Run ended, or would end."""


class _Ended(Struct, frozen=True):
    code: int
    printed: bytes
    said: str

    def answer(self) -> Any:
        """What the command printed as JSON. Raises LivedataError with what it said if nothing."""
        try:
            return orjson.loads(self.printed)
        except orjson.JSONDecodeError:
            raise LivedataError(_first_line(self.said)) from None


def look_at_page(
    access: DatasetAccess, *, url: str, like: str | None, number: int | None
) -> Answer:
    """What ``init`` finds on a page: its lists, and a declaration for one of them."""
    words = ["init", "--yes"]
    words += [] if like is None else [f"--like={like}"]
    words += [] if number is None else [f"--list={number}"]
    with TemporaryDirectory(prefix="livedata-") as folder:
        file = str(Path(folder) / "source.toml")
        looked = _look(access, [*words, f"--output={file}"], url).answer()
    declaration = looked["declaration"]
    if not looked["lists"]:
        raise LivedataError(cut_text(looked["error"], LONGEST_SENTENCE))
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
    _judge(declaration)
    with TemporaryDirectory(prefix="livedata-") as folder:
        file = Path(folder) / "source.json"
        file.write_bytes(orjson.dumps(declaration))
        tried = _look(access, ["preview"], str(file)).answer()
    if not tried["complete"] and tried["outcome"] == "accept":
        # It reads one page on purpose, which is no fault of the declaration.
        tried["error"] = None
    return fitting(lambda most: {"from_websites": True, **cut_texts(tried, most)})


def create_dataset(access: DatasetAccess, *, declaration: Mapping[str, Any]) -> Answer:
    """A new dataset of a declaration; it has no rows before its first Run."""
    declared = _judge(declaration)
    settings = load(_environ(access))
    targets = settings.targets
    with closing(Store(access.database.url)) as store:
        first = settings.grant(access.owner)
        created = datasets.create(store, access.owner, declared, targets, first_credits=first)
    with access.opened(created["name"]) as opened:
        arguments = {"dataset": created["name"]}
        return {**opened.about(), "try": [{"tool": "run_dataset", "arguments": arguments}]}


def run_dataset(access: DatasetAccess, *, dataset: str) -> Answer:
    """A Run of a dataset: how it ended, or its id if it goes on."""
    with access.opened(dataset) as opened:
        name, key = opened.dataset()["name"], format_uuid(opened.id)
        _check_site(access, opened)
    process = _start(access, ["run"], key)
    try:
        printed, said = process.communicate(timeout=_LONGEST_WAIT)
    except subprocess.TimeoutExpired:
        # It goes on by itself; only its end is waited for, by nobody who is asked.
        Thread(target=process.communicate, daemon=True).start()
        return _going_on(access, name)
    ended = _Ended(process.returncode, printed, said.decode(errors="replace"))
    if ended.code not in _ENDED:
        raise LivedataError(_first_line(ended.said))
    run = ended.answer()
    return {**explain_run(access, dataset=name, run=run["id"]), "rowDeltas": run["rowDeltas"]}


def _going_on(access: DatasetAccess, name: str) -> Answer:
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
            "sentence": f"The Run goes on after {_LONGEST_WAIT} seconds: ask later how it ended.",
            "causes": [],
            "try": [call],
        }


def _check_site(access: DatasetAccess, opened: OpenDataset) -> None:
    """Raise Invalid if a dataset is of a site that may not be read: its Run would only fail."""
    source = queries.source(opened.db, opened.owner, opened.id)["source"]
    if isinstance(source, dict) and isinstance(url := source.get("url"), str):
        problem = url_problem(url, load(_environ(access)).targets)
        if problem is not None:
            raise Invalid(f"The address of {opened.name!r} {request.predicate(problem)}.")


def _judge(declaration: Mapping[str, Any]) -> CreateDataset:
    """The declaration, if an agent may make it. Raises Invalid."""
    if len(compact(declaration)) > _LONGEST_DECLARATION:
        raise Invalid(f"declaration is longer than {_LONGEST_DECLARATION} bytes.")
    declared = read(CreateDataset, dict(declaration))
    if declared.source.ignore_robots:
        raise Invalid("source.ignoreRobots is for the owner to set: leave it out.")
    if declared.source.proxy != "auto":
        raise Invalid("source.proxy is for the owner to set: leave it out.")
    return declared


def _look(access: DatasetAccess, words: Sequence[str], argument: str) -> _Ended:
    with _start(access, words, argument) as process:
        try:
            printed, said = process.communicate(timeout=_LONGEST_LOOK)
        except subprocess.TimeoutExpired:
            process.kill()
            raise LivedataError(
                f"The site did not answer within {_LONGEST_LOOK} seconds; try it later."
            ) from None
    return _Ended(process.returncode, printed, said.decode(errors="replace"))


def _start(access: DatasetAccess, words: Sequence[str], argument: str) -> subprocess.Popen[bytes]:
    # Behind two hyphens nothing is an option, whatever an agent writes.
    command = [*words, "--json", f"--owner={access.owner}", "--", argument]
    return subprocess.Popen(  # noqa: S603  (our own program, and no shell)
        [sys.executable, "-P", "-m", "livedata", *command],
        env={**_environ(access), "NO_COLOR": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # It outlives this process: a Run that is half read would be read again.
        start_new_session=True,
    )


def _environ(access: DatasetAccess) -> dict[str, str]:
    """The environment of this process, where `sites` narrows what may be read."""
    narrowed = {"LIVEDATA_ONLY_HOSTS": access.sites} if access.sites else {}
    return {**os.environ, **narrowed}


def _first_line(said: str) -> str:
    line = next((line for line in said.splitlines() if line.strip()), "The command said nothing.")
    return cut_text(line.removeprefix("Error: "), LONGEST_SENTENCE)
