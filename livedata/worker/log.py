"""The log of a server on stderr: lines for people, or one JSON object a line for programs."""

from __future__ import annotations

import json
import logging
import sys
import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from typing_extensions import override

from livedata.config import Settings
from livedata.model import ids
from livedata.model.ids import Micros

FOR_PEOPLE = "%(asctime)s %(levelname)s %(name)s %(message)s"
HIDDEN = "***"
# What a crawl worker and who watches it say to each other. The worker imports no more of that.
ALONE = "--alone"
"""Before the id of the one Run that a process is to execute."""
APART = "apart"
"""The first word of the line by which a worker names isolated Runs that it has met."""


class JsonLines(logging.Formatter):
    """Formats a record as one line: time, level, event, message, and what the event is about.

    A record names its event, and has its fields, as ``extra``. No secret stands in a line.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        super().__init__()
        self._secrets = tuple(secrets)

    @override
    def format(self, record: logging.LogRecord) -> str:
        fields: Mapping[str, Any] = getattr(record, "fields", {})
        line = {
            "time": ids.format_timestamp(Micros(int(record.created * 1_000_000))),
            "level": record.levelname.lower(),
            "event": getattr(record, "event", record.name),
            **fields,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps({name: self._shown(value) for name, value in line.items()}, default=str)

    def _shown(self, value: Any) -> Any:
        """A value without secrets, and without half characters, which no strict reader takes."""
        if not isinstance(value, str):
            return value
        for secret in self._secrets:
            value = value.replace(secret, HIDDEN)
        return value.encode(errors="backslashreplace").decode()


def configure(settings: Settings | None, *, as_json: bool, for_people: str = FOR_PEOPLE) -> None:
    """Let everything that is logged in this process go to stderr, without settings' passwords."""
    handler = logging.StreamHandler()
    secrets = passwords(settings) if settings else ()
    handler.setFormatter(JsonLines(secrets) if as_json else logging.Formatter(for_people))
    logging.basicConfig(handlers=[handler], level="WARNING")
    logging.getLogger("livedata").setLevel("INFO")
    # Requests may wait for a moment; a line for each would only slow them down.
    logging.getLogger("waitress.queue").setLevel("ERROR")
    if as_json:
        # What nobody expected, and what libraries warn of, is a line too.
        logging.captureWarnings(capture=True)
        sys.excepthook = _log_failure
        threading.excepthook = lambda failure: _log_failure(
            failure.exc_type, failure.exc_value, failure.exc_traceback
        )


def passwords(settings: Settings) -> set[str]:
    """The passwords in the settings, as they are written there and as they are."""
    known: set[str] = set()
    for url in (settings.database_url, settings.read_url, settings.listen_url, settings.proxy):
        with suppress(ValueError):  # what is no URL is refused where it is used
            parts = urlsplit(url)
            known.update((parts.password or "", *parse_qs(parts.query).get("password", ())))
    known |= {unquote(password) for password in known}
    return known - {""}


def relay(line: str, pid: int) -> None:
    """Log a line that a crawl worker has written: as it is, if it is a record already."""
    log = logging.getLogger("livedata.worker")
    try:
        record = json.loads(line)
        event, message = record.pop("event"), record.pop("message")
        level = logging.getLevelNamesMapping()[record.pop("level").upper()]
    except (ValueError, AttributeError, KeyError, TypeError, RecursionError):
        extra = {"event": "crawl_worker.output", "fields": {"pid": pid}}
        log.warning("%s", line, extra=extra)
    else:
        log.log(level, "%s", message, extra={"event": event, "fields": {**record, "pid": pid}})


def _log_failure(kind: Any, error: Any, trace: Any) -> None:
    logging.getLogger("livedata").critical(
        "%s", error, exc_info=(kind, error, trace), extra={"event": "failure"}
    )
