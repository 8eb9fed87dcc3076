"""The JSON Schema of a shape: of typed dictionaries by their types, of bodies by pydantic."""

from __future__ import annotations

from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Required,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from pydantic import TypeAdapter

from livedata.model.base import ID_PATTERN, Shape
from livedata.model.wire import SchemaKeyword

REF = "#/components/schemas/"
_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}

JsonSchema = dict[str, Any]

_RULES: dict[str, JsonSchema] = {
    "UpdateDataset": {"minProperties": 1},
    "EditRow": {"anyOf": [{"required": ["values"]}, {"required": ["resetFieldIds"]}]},
    "SourceRead": {
        "oneOf": [
            {"properties": {"kind": {"const": "attribute"}}, "required": ["kind", "attribute"]},
            {"properties": {"kind": {"const": "text"}, "attribute": False}},
        ]
    },
}
"""What a body as a whole must fulfil: written in code, and here for readers."""

_PROPERTY_RULES: dict[tuple[str, str], JsonSchema] = {
    ("Source", "url"): {"format": "uri", "pattern": "^https?://"},
    ("UrlPattern", "pattern"): {"pattern": r"^https?://[^{}]*\{page\}[^{}]*$"},
    ("CompositeKey", "fields"): {"uniqueItems": True},
    ("EditRow", "resetFieldIds"): {"uniqueItems": True},
    ("EditRow", "values"): {"additionalProperties": False},
}
"""The same for single properties."""


class Answers:
    """Schemas of answers; every typed dictionary that is met becomes a component."""

    def __init__(self) -> None:
        self.components: dict[str, JsonSchema] = {}

    def of(self, kind: Any, variables: dict[Any, Any] | None = None) -> JsonSchema:
        """The schema of a type; `variables` are those of a generic dictionary around it."""
        known = variables or {}
        origin, inner = get_origin(kind), get_args(kind)
        if kind is Any or kind is object:
            return {}
        if isinstance(kind, TypeVar):
            return self.of(known[kind])
        if kind in _PLAIN:
            return {"type": _PLAIN[kind]}
        if is_typeddict(origin or kind):
            return self._dictionary(origin or kind, inner)
        if origin is Annotated:
            says = {one.keyword: one.value for one in inner[1:] if isinstance(one, SchemaKeyword)}
            return {**self.of(inner[0], known), **says}
        if origin is Literal:
            return {"type": _PLAIN[type(inner[0])], "enum": list(inner)}
        if origin in (Union, UnionType):
            return self._union([self.of(one, known) for one in inner])
        if origin is list:
            return {"type": "array", "items": self.of(inner[0], known)}
        if origin is dict:
            names = self.of(inner[0], known)
            about = {} if names == {"type": "string"} else {"propertyNames": names}
            return {"type": "object", "additionalProperties": self.of(inner[1], known), **about}
        raise TypeError(f"an answer cannot hold {kind!r}")

    @staticmethod
    def _union(members: list[JsonSchema]) -> JsonSchema:
        if all(one.keys() == {"type"} for one in members):
            return {"type": [one["type"] for one in members]}
        return {"anyOf": members}

    def _dictionary(self, made: Any, inner: tuple[Any, ...]) -> JsonSchema:
        name = "".join(one.__name__ for one in inner) + made.__name__
        if name not in self.components:
            self.components[name] = {}  # where it refers to itself, the name is enough
            known = dict(zip(getattr(made, "__parameters__", ()), inner, strict=True))
            hints = get_type_hints(made, include_extras=True)
            self.components[name] = {
                "type": "object",
                "description": _first_line(made),
                "properties": {key: self.of(_bare(hint), known) for key, hint in hints.items()},
                "required": [key for key, hint in hints.items() if _is_required(hint, made)],
                "additionalProperties": False,
            }
        return {"$ref": REF + name}


def bodies(shapes: list[type[Shape]]) -> dict[str, JsonSchema]:
    """The components that bodies are made of."""
    adapters = [(shape.__name__, "validation", TypeAdapter(shape)) for shape in shapes]
    _, schemas = TypeAdapter.json_schemas(adapters, ref_template=REF + "{model}")  # type: ignore[arg-type]
    found: dict[str, JsonSchema] = schemas["$defs"]
    for name, schema in found.items():
        schema.pop("title")
        schema.update(_RULES.get(name, {}))
        for key, about in schema["properties"].items():
            about.update(_PROPERTY_RULES.get((name, key), {}))
            _tidy(about)
    return found


def _tidy(about: JsonSchema) -> None:
    """Leave out what only says how the shape is built: titles, and None for "left out"."""
    about.pop("title", None)
    if about.get("default", ...) is None:
        del about["default"]
    if about.get("pattern") == ID_PATTERN:
        about["format"] = "uuid"


def _bare(hint: Any) -> Any:
    return get_args(hint)[0] if get_origin(hint) in (NotRequired, Required) else hint


def _is_required(hint: Any, made: Any) -> bool:
    # __required_keys__ does not see through annotations that are kept as text.
    if made.__total__:
        return get_origin(hint) is not NotRequired
    return get_origin(hint) is Required


def _first_line(made: Any) -> str:
    return str(made.__doc__ or "").splitlines()[0]
