"""The tables of docs/reference/interface.md, made from the OpenAPI document that the API serves.

``python -m tests.reference`` writes them anew. A table stands between a marker and its end:

- ``<!-- fields: Row -->`` has the fields of a shape, ``<!-- fields: RowDetail beyond Row -->`` only
  those that Row lacks or has otherwise. The last column is written by hand, and kept.
- ``<!-- endpoint: GET /v1/usage -->`` has what an endpoint takes and answers.
- ``<!-- statuses -->`` and ``<!-- limits -->`` have those of all endpoints and shapes.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from livedata.api import create_app
from livedata.store.database.store import Store

Json = Mapping[str, Any]

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "reference"
INTERFACE = FOLDER / "interface.md"
COMMAND = "python -m tests.reference"

_MADE = re.compile(
    r"<!-- (fields|endpoint|statuses|limits)(?:: ([^\n]+))? -->\n(.*?)<!-- end -->", re.DOTALL
)
_BAR = re.compile(r"(?<!\\)\|")
_SECTION = re.compile(r"^#{2,3} (\d+(?:\.\d+)?)\.? ", re.MULTILINE)
_REF = "#/components/schemas/"
_ID = re.compile(r"\^\[0-9a-fA-F\]\{8\}-")
_FORMATS = {"uuid": "UUID", "date-time": "date-time", "uri": "URI"}
_BOUNDS = (
    ("minLength", "maxLength", "characters"),
    ("minItems", "maxItems", "entries"),
    ("minProperties", "maxProperties", "entries"),
    ("minimum", "maximum", ""),
)


def document() -> Json:
    """The OpenAPI document as the API answers it; it holds no data, so its store is not opened."""
    answer = create_app(Store("sqlite:///unopened.db")).test_client().get("/v1/openapi.json")
    return cast("Json", answer.get_json())


def shown(text: str) -> dict[str, str]:
    """Shape -> the number of the section that has its table, for all shapes that have one."""
    numbers = [(each.start(), each[1]) for each in _SECTION.finditer(text)]
    return {
        made[2].partition(" beyond ")[0]: [
            number for start, number in numbers if start < made.start()
        ][-1]
        for made in _MADE.finditer(text)
        if made[1] == "fields"
    }


def without_meaning(text: str) -> list[str]:
    """The fields in tables of `text` that nobody has said anything about."""
    return [
        f"{made[2]}: {name}"
        for made in _MADE.finditer(text)
        if made[1] == "fields"
        for name, meaning in _meanings(made[3]).items()
        if not meaning
    ]


def regenerated(text: str, about: Json) -> str:
    """`text` with every table as `about`, the document, has it."""
    tables = Tables(about, shown(text))
    return _MADE.sub(lambda made: tables.written(made, _section_of(text, made.start())), text)


def _section_of(text: str, position: int) -> str:
    return [each[1] for each in _SECTION.finditer(text) if each.start() < position][-1]


def _meanings(body: str) -> dict[str, str]:
    """Field -> what was written about it by hand, from the rows of a table."""
    rows = (_BAR.split(line.strip().strip("|")) for line in body.splitlines())
    return {cells[0].strip(" `"): cells[-1].strip() for cells in rows if "`" in cells[0]}


@dataclass(frozen=True)
class Tables:
    """Writes tables; `homes` says which section tells of which shape."""

    about: Json
    homes: Mapping[str, str]

    def written(self, made: re.Match[str], here: str) -> str:
        """What replaces a table, its markers included."""
        kind, name, body = made[1], made[2] or "", made[3]
        if kind == "fields":
            lines = self._fields(name, _meanings(body), here)
        elif kind == "endpoint":
            lines = self._endpoint(name, here)
        else:
            lines = self._statuses() if kind == "statuses" else self._limits()
        colon = f": {name}" if name else ""
        return f"<!-- {kind}{colon} -->\n" + "\n".join(lines) + "\n<!-- end -->"

    @property
    def _shapes(self) -> Json:
        return cast("Json", self.about["components"]["schemas"])

    def _fields(self, name: str, meanings: Mapping[str, str], here: str) -> Iterator[str]:
        own, _, base = name.partition(" beyond ")
        shape, known = self._shapes[own], self._shapes[base]["properties"] if base else {}
        yield from _head("Field", "Type", "Meaning")
        for field, schema in shape["properties"].items():
            if known.get(field) != schema:
                type_ = self._type(schema, here)
                if field not in shape.get("required", ()) and "default" not in schema:
                    type_ += "; may be left out"
                yield _row(f"`{field}`", type_, meanings.get(field, ""))

    def _endpoint(self, name: str, here: str) -> Iterator[str]:
        method, _, path = name.partition(" ")
        endpoint = self.about["paths"][path][method.lower()]
        queries = [query for query in endpoint["parameters"] if query["in"] == "query"]
        if queries:
            yield from _head("Query", "Type", "Meaning")
            for query in queries:
                type_ = self._type(query["schema"], here)
                yield _row(f"`{query['name']}`", type_, query["description"])
            yield ""
        if "requestBody" in endpoint:
            yield f"- Body: {self._type(_content(endpoint['requestBody']), here)}."
        for status, answer in endpoint["responses"].items():
            if status < "300":
                unchanged = (
                    " 304 if `If-None-Match` names it." if "304" in endpoint["responses"] else ""
                )
                yield f"- {status}: {self._type(_content(answer), here)}.{unchanged}"
        yield f"- Errors: {', '.join(s for s in endpoint['responses'] if s >= '400')}."

    def _statuses(self) -> Iterator[str]:
        known: dict[str, tuple[str, list[str]]] = {}
        for name, each in self._endpoints():
            for status, answer in each["responses"].items():
                known.setdefault(status, (answer["description"], []))[1].append(name)
        everywhere = len(list(self._endpoints()))
        yield from _head("Status", "Meaning", "Endpoints")
        for status, (meaning, names) in sorted(known.items()):
            of = "all" if len(names) == everywhere else ", ".join(f"`{name}`" for name in names)
            yield _row(status, meaning, of)

    def _limits(self) -> Iterator[str]:
        yield from _head("Subject", "Limit")
        for name, each in self._endpoints():
            for query in each["parameters"]:
                if _bounded(query["schema"]):
                    yield _row(f"`{name}`, `{query['name']}`", self._type(query["schema"]))
        for name, shape in self._shapes.items():
            for field, schema in shape["properties"].items():
                if _bounded(schema):
                    yield _row(f"`{name}.{field}`", self._type(schema))

    def _endpoints(self) -> Iterator[tuple[str, Json]]:
        for path, methods in self.about["paths"].items():
            for method, each in methods.items():
                yield f"{method.upper()} {path}", each

    def _type(self, schema: Json, here: str | None = None) -> str:
        """A schema in words; shapes of other sections than `here` with their section."""
        said = self._kind(schema, here)
        if "exclusiveMinimum" in schema:
            said += f", above {schema['exclusiveMinimum']}"
        for low, high, what in _BOUNDS:
            said += _bound(schema.get(low), schema.get(high), what)
        if schema.get("uniqueItems"):
            said += ", each once"
        if "pattern" in schema and not _is_id(schema):
            said += f", `{schema['pattern']}`".replace("|", "\\|")
        if "default" in schema:
            default = schema["default"]
            said += f"; default `{str(default).lower() if default in (True, False) else default}`"
        return said

    def _kind(self, schema: Json, here: str | None) -> str:
        if "$ref" in schema:
            return self._named(schema["$ref"].removeprefix(_REF), here)
        if "const" in schema:
            return f"`{schema['const']}`"
        if "enum" in schema:
            return _either([f"`{item}`" for item in schema["enum"]])
        for several in ("oneOf", "anyOf"):
            if several in schema:
                return _either([self._type(item, here) for item in schema[several]])
        if not isinstance(schema.get("type", ""), str):
            return _either(schema["type"])
        if schema.get("type") == "array":
            each = self._type(schema["items"], here)
            return f"array of ({each})" if ", " in each else f"array of {each}"
        if schema.get("type") == "object":
            return self._map(schema, here)
        if _is_id(schema):
            return "UUID"
        return _FORMATS.get(schema.get("format", "")) or str(schema.get("type", "any JSON"))

    def _map(self, schema: Json, here: str | None) -> str:
        keys = "UUID" if schema.get("propertyNames") else "string"
        values = schema.get("additionalProperties", {})
        if "patternProperties" in schema:
            (values,) = schema["patternProperties"].values()
            keys = "UUID"
        return f"object: {keys} → {self._type(values, here)}"

    def _named(self, name: str, here: str | None) -> str:
        home = self.homes.get(name)
        return name if here is None or home in (None, here) else f"{name} ({home})"


def _content(holder: Json) -> Json:
    return cast("Json", holder["content"]["application/json"]["schema"])


def _head(*titles: str) -> Iterator[str]:
    yield _row(*titles)
    yield "|" + " --- |" * len(titles)


def _row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


def _is_id(schema: Json) -> bool:
    """Whether it is a UUID; those that come in say so by a pattern, which any case may match."""
    return schema.get("format") == "uuid" or _ID.match(schema.get("pattern", "")) is not None


def _either(kinds: Sequence[str]) -> str:
    """The kinds as alternatives; whole numbers are numbers too."""
    some = [each for each in dict.fromkeys(kinds) if each != "integer" or "number" not in kinds]
    if len(some) == 2 and some[1] == "null" and "," in some[0]:
        some.reverse()
    return some[0] if len(some) == 1 else f"{', '.join(some[:-1])} or {some[-1]}"


def _bound(low: int | None, high: int | None, what: str) -> str:
    if low is None and high is None:
        return ""
    if high is None:
        return f", {low} or more {what}".rstrip()
    return (f", {low}..{high} {what}" if low is not None else f", at most {high} {what}").rstrip()


def _bounded(schema: Json) -> bool:
    """Whether something says how much there may be, be it one level further in."""
    inner = [schema, *schema.get("anyOf", ()), schema.get("items", {})]
    return any(high in each for each in inner for _, high, _ in _BOUNDS)


def main() -> None:
    """Write every table of the interface anew."""
    before = INTERFACE.read_text(encoding="utf-8")
    after = regenerated(before, document())
    INTERFACE.write_text(after, encoding="utf-8")
    said = "was up to date" if before == after else "is written: say what a new row means"
    sys.stdout.write(f"{INTERFACE} {said}.\n")


if __name__ == "__main__":
    main()
