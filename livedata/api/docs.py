"""The OpenAPI document as a page for people: plain HTML with its own style, without scripts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

Json = Mapping[str, Any]

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8881; --link: #36c; }
@media (prefers-color-scheme: dark) { :root { --link: #8ab4f8; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem; }
a { color: var(--link); text-decoration: none; }
a:hover { text-decoration: underline; }
h2 { border-top: 1px solid var(--line); margin-top: 2.5rem; padding-top: 1rem; }
h3 { margin: 2rem 0 0; }
code { font: 0.9em ui-monospace, monospace; overflow-wrap: anywhere; }
.method { display: inline-block; min-width: 4.5rem; font-weight: 600; }
table { border-collapse: collapse; width: 100%; margin: 0.5rem 0 1rem; }
th, td { text-align: left; vertical-align: top; border-bottom: 1px solid var(--line);
  padding: 0.3rem 0.6rem 0.3rem 0; }
th { font-weight: 600; }
tr:target, section:target { background: var(--soft); }
"""


def page(document: Json) -> str:
    """The page that describes an OpenAPI document."""
    return "".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{_text(document['info']['title'])} API</title><style>{_STYLE}</style></head>",
            f"<body><h1>{_text(document['info']['title'])} API ",
            f"{_text(document['info']['version'])}</h1>",
            f"<p>{_text(document['info']['description'])}</p>",
            "<p>Every endpoint needs a key: <code>Authorization: Bearer ld_…</code>. ",
            'The same as data: <a href="/v1/openapi.json">openapi.json</a>.</p>',
            "<nav><h2>Endpoints</h2><table>",
            *_contents(document),
            "</table></nav>",
            *_operations(document),
            "<h2>Shapes</h2>",
            *_shapes(document),
            "</body></html>",
        ]
    )


def _iter_operations(document: Json) -> Iterator[tuple[str, str, Json]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield path, method.upper(), operation


def _contents(document: Json) -> Iterator[str]:
    for path, method, operation in _iter_operations(document):
        name = operation["operationId"]
        yield (
            f'<tr><td><span class="method">{method}</span> <a href="#{name}">'
            f"<code>{_text(path)}</code></a></td><td>{_text(operation['summary'])}</td></tr>"
        )


def _operations(document: Json) -> Iterator[str]:
    for path, method, operation in _iter_operations(document):
        yield f'<section id="{operation["operationId"]}">'
        yield f'<h3><span class="method">{method}</span> <code>{_text(path)}</code></h3>'
        yield f"<p>{_text(operation['summary'])}</p>"
        if operation["parameters"]:
            yield from _table(("parameter", "in", "type", "about"), _parameters(operation))
        if "requestBody" in operation:
            schema = operation["requestBody"]["content"]["application/json"]["schema"]
            yield f"<p>Body: {_type(schema)}</p>"
        yield from _table(("status", "body", "meaning"), _responses(operation))
        yield "</section>"


def _parameters(operation: Json) -> Iterator[list[str]]:
    for parameter in operation["parameters"]:
        about = _text(parameter.get("description", ""))
        name, place = parameter["name"], parameter["in"]
        yield [f"<code>{name}</code>", place, _type(parameter["schema"]), about]


def _responses(operation: Json) -> Iterator[list[str]]:
    for status, answer in operation["responses"].items():
        content = answer.get("content")  # a 304 has none
        shape = _type(content["application/json"]["schema"]) if content else ""
        yield [status, shape, _text(answer["description"])]


def _shapes(document: Json) -> Iterator[str]:
    for name, schema in sorted(document["components"]["schemas"].items()):
        yield f'<section id="shape-{name}"><h3>{name}</h3>'
        yield f"<p>{_text(schema.get('description', ''))}</p>"
        required = schema.get("required", [])
        rows = (
            [f"<code>{key}</code>", _type(about), "" if key in required else "optional"]
            for key, about in schema["properties"].items()
        )
        yield from _table(("property", "type", ""), rows)
        yield "</section>"


def _table(heads: Any, rows: Iterator[list[str]]) -> Iterator[str]:
    yield "<table><tr>" + "".join(f"<th>{head}</th>" for head in heads) + "</tr>"
    for row in rows:
        yield "<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>"
    yield "</table>"


def _type(schema: Json) -> str:
    """A schema in a few words of HTML, with links to the shapes that it names."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f'<a href="#shape-{name}">{name}</a>'
    for union in ("anyOf", "oneOf"):
        if union in schema:
            return " or ".join(_type(part) for part in schema[union])
    # pydantic writes a Literal of one value as const, our own schemas write it as enum.
    if "const" in schema or "enum" in schema:
        values = schema.get("enum", [schema.get("const")])
        return " | ".join(f"<code>{_text(value)}</code>" for value in values) + _facts(schema)
    kind = schema.get("type", "any")
    if kind == "array":
        return "list of " + _type(schema["items"]) + _facts(schema)
    if kind == "object":
        inner = [schema.get("additionalProperties"), *schema.get("patternProperties", {}).values()]
        return "object of " + " or ".join(_type(part) for part in inner if part) + _facts(schema)
    # A type may also be a list: ["string", "null"].
    words = " or ".join([kind] if isinstance(kind, str) else kind)
    return (schema.get("format") or words) + _facts(schema)


_BOUNDS = (("minimum", "maximum"), ("minLength", "maxLength"), ("minItems", "maxItems"))


def _facts(schema: Json) -> str:
    facts = [
        f"{schema.get(low, 0)}..{schema.get(high, '')}"
        for low, high in (*_BOUNDS, ("minProperties", "maxProperties"))
        if low in schema or high in schema
    ]
    if "default" in schema:
        facts.append(f"default {str(schema['default']).lower()}")
    return f", {_text(', '.join(facts))}" if facts else ""


def _text(value: object) -> str:
    return escape(str(value))
