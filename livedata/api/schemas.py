"""JSON Schemas of the shapes: from the types of answers, and from pydantic for bodies."""

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

from livedata.model.base import Shape
from livedata.model.ids import ID_PATTERN
from livedata.model.wire import SchemaKeyword

REF = "#/components/schemas/"
_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}

JsonSchema = dict[str, Any]

# In forms that generators of clients understand or overlook: of `anyOf` and `oneOf` they make types
# of their own, without the properties that stand beside them.
_RULES: dict[str, JsonSchema] = {
    "UpdateDataset": {"minProperties": 1},
    # Two are required, and no others are allowed: the third is values or resetFieldIds.
    "EditRow": {"minProperties": 3},
    "CreateResearch": {
        "if": {"required": ["prompt"]},
        "then": {"not": {"required": ["plan"]}},
        "else": {"required": ["plan"]},
    },
    "SourceRead": {
        "if": {"properties": {"kind": {"const": "attribute"}}, "required": ["kind"]},
        "then": {"required": ["attribute"]},
        "else": {"not": {"required": ["attribute"]}},
    },
}
"""Rules for a body as a whole. The models check them in code, which pydantic cannot export."""

_PROPERTY_RULES: dict[tuple[str, str], JsonSchema] = {
    ("Source", "url"): {"format": "uri", "pattern": "^https?://"},
    ("CreateResearch", "urls"): {"uniqueItems": True},
    ("UrlPattern", "pattern"): {"pattern": r"^https?://[^{}]*\{page\}[^{}]*$"},
    ("CompositeKey", "fields"): {"uniqueItems": True},
    ("EditRow", "resetFieldIds"): {"uniqueItems": True},
}
"""Such rules for single properties."""


class Answers:
    """A builder of answer schemas; every typed dictionary that it meets becomes a component."""

    def __init__(self) -> None:
        self.components: dict[str, JsonSchema] = {}

    def of(self, kind: Any, variables: dict[Any, Any] | None = None) -> JsonSchema:
        """The schema of a type; `variables` are the type arguments of the dictionary around it.

        Raises TypeError for a type that has no schema.
        """
        arguments = variables or {}
        origin, inner = get_origin(kind), get_args(kind)
        # The order matters: a typed dictionary that is generic has an origin too.
        if kind is Any or kind is object:
            return {}
        if isinstance(kind, TypeVar):
            return self.of(arguments[kind])
        if kind in _PLAIN:
            return {"type": _PLAIN[kind]}
        if is_typeddict(origin or kind):
            return self._dictionary(origin or kind, inner)
        if origin is Annotated:
            words = (note for note in inner[1:] if isinstance(note, SchemaKeyword))
            return {**self.of(inner[0], arguments), **{word.keyword: word.value for word in words}}
        if origin is Literal:
            return {"type": _PLAIN[type(inner[0])], "enum": list(inner)}
        if origin in (Union, UnionType):
            return self._union([self.of(member, arguments) for member in inner])
        if origin is list:
            return {"type": "array", "items": self.of(inner[0], arguments)}
        if origin is dict:
            names = self.of(inner[0], arguments)
            about = {} if names == {"type": "string"} else {"propertyNames": names}
            return {"type": "object", "additionalProperties": self.of(inner[1], arguments), **about}
        raise TypeError(f"an answer cannot hold {kind!r}")

    @staticmethod
    def _union(members: list[JsonSchema]) -> JsonSchema:
        if all(member.keys() == {"type"} for member in members):
            return {"type": [member["type"] for member in members]}
        return {"anyOf": members}

    def _dictionary(self, shape: Any, inner: tuple[Any, ...]) -> JsonSchema:
        # Page[Row] becomes RowPage: a component's name must be plain text.
        name = "".join(argument.__name__ for argument in inner) + shape.__name__
        if name not in self.components:
            self.components[name] = {}  # a type that refers to itself must find its name here
            arguments = dict(zip(getattr(shape, "__parameters__", ()), inner, strict=True))
            hints = get_type_hints(shape, include_extras=True)
            self.components[name] = {
                "type": "object",
                "description": _first_line(shape),
                "properties": {key: self.of(_bare(hint), arguments) for key, hint in hints.items()},
                "required": [key for key, hint in hints.items() if _is_required(hint, shape)],
                "additionalProperties": False,
            }
        return {"$ref": REF + name}


def bodies(shapes: list[type[Shape]]) -> dict[str, JsonSchema]:
    """The schemas of `shapes` and of all shapes inside them, by name."""
    adapters = [(shape.__name__, "validation", TypeAdapter(shape)) for shape in shapes]
    _, schemas = TypeAdapter.json_schemas(adapters, ref_template=REF + "{model}")  # type: ignore[arg-type]
    components: dict[str, JsonSchema] = schemas["$defs"]
    for name, schema in components.items():
        schema.pop("title")
        schema.update(_RULES.get(name, {}))
        for key, about in schema["properties"].items():
            about.update(_PROPERTY_RULES.get((name, key), {}))
            _tidy(about)
    return components


def _tidy(about: JsonSchema) -> None:
    """Remove what describes our models only: titles, and None as the default of a property."""
    about.pop("title", None)
    if about.get("default", ...) is None:
        del about["default"]
    if about.get("pattern") == ID_PATTERN:
        about["format"] = "uuid"
    # What pydantic says of an object with ids for names, in the words of the answers.
    for value in about.pop("patternProperties", {}).values():
        about["propertyNames"] = {"type": "string", "format": "uuid", "pattern": ID_PATTERN}
        about["additionalProperties"] = value


def _bare(hint: Any) -> Any:
    return get_args(hint)[0] if get_origin(hint) in (NotRequired, Required) else hint


def _is_required(hint: Any, shape: Any) -> bool:
    # __required_keys__ does not see through annotations that are kept as text.
    if shape.__total__:
        return get_origin(hint) is not NotRequired
    return get_origin(hint) is Required


def _first_line(shape: Any) -> str:
    return str(shape.__doc__ or "").splitlines()[0]
