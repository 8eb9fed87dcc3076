"""Lists of addresses: a text, a CSV file, and what other tools that watch pages export.

An export is read for the address of each watch and the CSS selector that it names; what else it
has is told.
"""

from __future__ import annotations

import csv
import io
import re
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from livedata.messages.request import format_detail, format_value
from livedata.messages.strict_json import Unreadable, parse_json
from livedata.model.errors import Invalid, LivedataError
from livedata.model.problem import Remedy
from livedata.model.recipe import Render
from livedata.rules.declaration.consistency import selector_details

MOST_BYTES: Final = 64 * 1024 * 1024
"""As much of a list is read."""
_ENDINGS: Final = {
    ".csv": "csv",
    ".tsv": "csv",
    ".zip": "changedetection",
    ".json": "changedetection",
    ".yaml": "webchanges",
    ".yml": "webchanges",
}
"""How the name of a file ends -> its kind; any other holds an address a line."""


class ListedAddress(Struct, frozen=True):
    """An address, where it stands, and what is known of it by name: the cells of its line.

    Of another tool's export also the selector that it names, and what cannot be carried over, a
    sentence each.
    """

    place: str
    url: str
    values: Mapping[str, str] = {}
    selector: str | None = None
    render: Render = "static"
    lost: tuple[str, ...] = ()


class AddressList(Struct, frozen=True):
    """The entries of a list, the names of its columns, and a sentence for each that is left out.

    `tool` is the name of the other tool whose export it is; empty for a list of addresses alone.
    """

    name: str
    entries: Sequence[ListedAddress]
    columns: Sequence[str] = ()
    tool: str = ""
    left_out: tuple[str, ...] = ()


def read_addresses(file: Path, kind: str | None) -> AddressList:
    """Read a list from a file, or from stdin for ``-``. Raises Invalid for one that is none."""
    name = "stdin" if str(file) == "-" else str(file)
    listed = KINDS[kind or _ENDINGS.get(file.suffix.lower(), "urls")](name, _body(file, name))
    if not listed.entries and not listed.left_out:
        lacks = "no watch with an address" if listed.tool else "no address"
        raise Invalid(f"{name}: there is {lacks} in it, such as https://shop.example/list.")
    return listed


def _body(file: Path, name: str) -> bytes:
    try:
        if str(file) == "-":
            return _bounded(sys.stdin.buffer, name)
        # A backup has the pages that were watched too: its members are read one by one.
        if file.suffix.lower() == ".zip" or zipfile.is_zipfile(file):
            return _members(file, name)
        with file.open("rb") as stream:
            return _bounded(stream, name)
    except FileNotFoundError:
        raise Invalid(f"{name}: there is no such file.") from None
    except IsADirectoryError:
        raise Invalid(f"{name}: this is a folder, not a file.") from None
    # A member with a password is a RuntimeError, and so is one compressed in a way of its own.
    except (OSError, zipfile.BadZipFile, RuntimeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise Invalid(f"{name}: the file cannot be read ({why.lower()}).") from None


def _bounded(stream: Any, name: str, most: int = MOST_BYTES) -> bytes:
    body: bytes = stream.read(most + 1)
    if len(body) > most:
        raise Invalid(f"{name}: the list is larger than {MOST_BYTES // 1024**2} MiB.")
    return body


def _members(file: Path, name: str) -> bytes:
    """The watches of a backup of changedetection.io, old or new, as one JSON list."""
    bodies, left = [], MOST_BYTES
    with zipfile.ZipFile(file) as packed:
        for member in packed.namelist():
            if member.rpartition("/")[2] not in ("watch.json", "url-watches.json"):
                continue
            with packed.open(member) as stream:
                body = _bounded(stream, name, left)
            left -= len(body)
            _json(f"{name}, {member}", body)  # names the member that is no JSON
            bodies.append(body)
    if not bodies:
        raise Invalid(
            f"{name}: there is no watch.json and no url-watches.json in it, as a backup of "
            "changedetection.io has."
        )
    return b"[" + b",".join(bodies) + b"]"


def _text(name: str, body: bytes) -> str:
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        raise Invalid(f"{name}:{line}: the file is not UTF-8.") from None


def _urls(name: str, body: bytes) -> AddressList:
    """An address a line; empty lines and what stands behind ``#`` say nothing."""
    entries = []
    for number, line in enumerate(re.split(r"\r\n|\r|\n", _text(name, body)), 1):
        # A "#" within an address begins its fragment.
        if url := re.split(r"(?:^|\s)#", line.strip(), maxsplit=1)[0].strip():
            entries.append(ListedAddress(f"{name}:{number}", url))
    return AddressList(name, entries)


def _csv(name: str, body: bytes) -> AddressList:
    """Lines of cells; the column ``url`` has the address."""
    text = _text(name, body)
    first = text.partition("\n")[0]
    # A spreadsheet writes semicolons where the comma parts decimals.
    delimiter = max(",;\t", key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    entries = []
    try:
        columns = [cell.strip() for cell in next(reader, [])]
        of_url = [place for place, column in enumerate(columns) if column.lower() == "url"]
        if len(of_url) != 1 or len(set(columns)) < len(columns):
            raise Invalid(
                f"{name}:1: the first line must name the columns, each once, and one of them url, "
                f"such as url,title; it is {format_value(first.strip())}."
            )
        line = reader.line_num + 1
        for cells in reader:
            if any(cell.strip() for cell in cells):
                if len(cells) != len(columns):
                    raise Invalid(
                        f"{name}:{line}: this line has {len(cells)} cells, and the first one names "
                        f"{len(columns)} columns."
                    )
                values = {c: " ".join(v.split()) for c, v in zip(columns, cells, strict=True)}
                entries.append(ListedAddress(f"{name}:{line}", cells[of_url[0]].strip(), values))
            line = reader.line_num + 1
    except csv.Error as error:
        raise Invalid(f"{name}:{reader.line_num}: the CSV cannot be read: {error}.") from None
    return AddressList(name, entries, columns)


_NO_STEPS: Final = 'render = "browser" waits for the scripts of the page, and takes no steps'
_TOLD: Final = "livedata notice add tells of changes, with --when of some alone"
_WHOLE: Final = "a source names what is read, and nothing that is left out"
_GET: Final = "livedata asks for a page with GET, and with headers of its own"
_LOST: Final[Mapping[str, str]] = {
    "headers": _GET,
    "method": _GET,
    "body": _GET,
    "browser_steps": _NO_STEPS,
    "webdriver_js_execute_code": _NO_STEPS,
    "webdriver_delay": _NO_STEPS,
    "subtractive_selectors": _WHOLE,
    "ignore_text": _WHOLE,
    "extract_text": _WHOLE,
    "extract_lines_containing": _WHOLE,
    "trigger_text": _TOLD,
    "text_should_not_be_present": _TOLD,
    "conditions": _TOLD,
    "notification_urls": _TOLD,
    "tags": "a source belongs to no group, and what groups add is not read",
    "proxy": "LIVEDATA_PROXY names the proxy of all",
    "processor": "a source reads the records of a list",
    "time_between_check": "livedata dataset update D --schedule CRON makes Runs",
}
"""What a watch of changedetection.io may have, and why it cannot be carried over."""
_USUAL: Final = {"method": "GET", "processor": "text_json_diff"}


def _changedetection(name: str, body: bytes) -> AddressList:
    entries, left_out = [], []
    watches = [*_watches(_json(name, body))]
    for watch in watches:
        url = str(watch["url"]).strip().removeprefix("source:")
        title = " ".join(str(watch.get("title") or watch.get("page_title") or "").split())
        place = f'{name}: watch "{title or url}"'
        if "{{" in url or "{%" in url:
            left_out.append(f"{place} is left out: its address is a template, {url}.")
            continue
        selector, lost = _chosen("include_filters", map(_css_filter, _filters(watch)))
        lost += [
            f"{key} cannot be carried over: {_LOST[key]}." for key in _LOST if _has(watch, key)
        ]
        browser = str(watch.get("fetch_backend")).startswith(("html_webdriver", "extra_browser"))
        values = {"title": title} if title else {}
        render: Render = "browser" if browser else "static"
        entries.append(ListedAddress(place, url, values, selector, render, tuple(lost)))
    if watches and not any("include_filters" in watch for watch in watches):
        left_out.append(
            f"{name}: it names no filters; a backup has them, and the API for one watch."
        )
    return AddressList(name, entries, ("title",), "changedetection.io", tuple(left_out))


def _json(name: str, body: bytes) -> object:
    try:
        return parse_json(_text(name, body))
    except Unreadable as error:
        raise Invalid(f"{name}:{error.line or 1}: {error.message}.") from None


def _watches(value: object) -> Iterator[Mapping[str, Any]]:
    """The watches that a JSON holds: one, a list of them, or by id, as the store and the API do."""
    if isinstance(value, list):
        for each in value:
            yield from _watches(each)
    elif isinstance(value, dict):
        if isinstance(value.get("url"), str):
            yield value
        elif isinstance(watching := value.get("watching", value), dict):
            yield from _watches([each for each in watching.values() if isinstance(each, dict)])


def _filters(watch: Mapping[str, Any]) -> Iterator[str]:
    filters = watch.get("include_filters") or watch.get("css_filter") or []
    for each in [filters] if isinstance(filters, str) else filters:
        if text := str(each).strip():
            yield text


def _has(watch: Mapping[str, Any], key: str) -> bool:
    value = watch.get(key)
    if key == "time_between_check":
        own = isinstance(value, dict) and any(value.values())
        return own and not watch.get("time_between_check_use_default")
    return bool(value) and value != _USUAL.get(key)


def _css_filter(text: str) -> tuple[str, str | None]:
    """A filter as it is written, and as CSS if it is one."""
    other = text.startswith(("/", "xpath:", "xpath1:", "json:", "jq:", "jqraw:"))
    return text, None if other else text.removeprefix("css:")


def _chosen(key: str, filters: Iterator[tuple[str, str | None]]) -> tuple[str | None, list[str]]:
    """The first selector that a source may have, and why the other filters are not carried over."""
    chosen: str | None = None
    lost = []
    for written, css in filters:
        details = [] if css is None else [*selector_details("", css)]
        if css is None:
            why = "it names no elements by CSS"
        elif details:
            why = format_detail(details[0])
            why = why[:1].lower() + why[1:]
        elif chosen is None:
            chosen = css
            continue
        else:
            why = f"a source has one itemSelector, which is {chosen}"
        lost.append(f"{key}, {format_value(written)}, cannot be carried over: {why}.")
    return chosen, lost


_JOB: Final = {"url", "navigate", "name", "kind", "filter", "filters", "use_browser"}
"""What is read of a job; the rest is told."""
_SIMPLE: Final = {"element-by-id": "#", "element-by-class": ".", "element-by-tag": ""}
"""A filter that names elements -> what stands before the name in CSS."""


def _webchanges(name: str, body: bytes) -> AddressList:
    entries, left_out = [], []
    for line, job in _documents(name, _text(name, body)):
        place = f"{name}:{line}"
        url = job.get("url") or job.get("navigate")
        if not isinstance(url, str):
            what = "a command" if "command" in job else "no address"
            left_out.append(f"{place}: this job is left out: it has {what}.")
            continue
        selector, lost = _chosen("filter", _job_filters(job))
        names = [str(key) for key in job if key not in _JOB]
        lost += [f"{key} cannot be carried over: a source has nothing like it." for key in names]
        browser = job.get("use_browser") or job.get("kind") == "browser" or "navigate" in job
        title = " ".join(str(job.get("name") or "").split())
        values = {"title": title} if title else {}
        render: Render = "browser" if browser else "static"
        entries.append(ListedAddress(place, url.strip(), values, selector, render, tuple(lost)))
    return AddressList(name, entries, ("title",), "webchanges", tuple(left_out))


def _documents(name: str, text: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The jobs of a YAML stream, a document each, with the line on which each begins."""
    yaml = _yaml()
    loader = None
    try:
        loader = yaml.SafeLoader(text)
        while loader.check_node():
            node = loader.get_node()
            job = loader.construct_document(node)
            line = node.start_mark.line + 1
            if job is not None and not isinstance(job, dict):
                raise Invalid(f"{name}:{line}: this is no job, which has url: https://...")
            if job is not None:
                yield line, job
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark else 1
        why = getattr(error, "problem", None) or "it has a character that YAML does not allow"
        raise Invalid(f"{name}:{line}: the YAML cannot be read: {why}.") from None
    except (RecursionError, ValueError) as error:
        raise Invalid(f"{name}: the YAML cannot be read: {error}.") from None
    finally:
        if loader is not None:
            loader.dispose()


def _yaml() -> Any:
    # As text: it is an extra, and neither a type checker nor a start needs it.
    try:
        return import_module("yaml")
    except ModuleNotFoundError as error:
        raise LivedataError(
            "Jobs in YAML need the module yaml, which is not installed.",
            remedies=(Remedy("install_import"),),
        ) from error


def _job_filters(job: Mapping[str, Any]) -> Iterator[tuple[str, str | None]]:
    """The filters of a job, each as it is written, and as CSS if it names elements by it."""
    filters = job.get("filters") or job.get("filter") or []
    # Once they were a text with commas between: "css:#list,html2text".
    listed = filters.split(",") if isinstance(filters, str) else filters
    for each in listed if isinstance(listed, list) else [listed]:
        for kind, given in (each if isinstance(each, dict) else {each: None}).items():
            kind, _, short = str(kind).partition(":")
            inner = given.get("selector") if isinstance(given, dict) else given or short
            written = f"{kind}: {inner}" if inner else kind
            if kind == "css" or kind in _SIMPLE:
                yield written, f"{_SIMPLE.get(kind, '')}{inner}"
            else:
                yield written, None


KINDS: Final[Mapping[str, Callable[[str, bytes], AddressList]]] = {
    "urls": _urls,
    "csv": _csv,
    "changedetection": _changedetection,
    "webchanges": _webchanges,
}
"""The kinds of lists, and what reads each."""
