"""What people send and write as JSON Schema: the bodies of the API, and a source file for editors.

The shapes of the model say it all, with what each property means, but for the rules that they check
in code, which pydantic cannot export: those stand here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, get_args

from pydantic import TypeAdapter

from livedata.model.base import Shape
from livedata.model.dataset import CollectedType
from livedata.model.ids import ID_PATTERN
from livedata.model.source_file import SourceFile

JsonSchema = dict[str, Any]

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_DEFINITIONS: Final = "#/$defs/"

# In forms that generators of clients understand or overlook: of `anyOf` and `oneOf` they make types
# of their own, without the properties that stand beside them.
_RULES: Final[Mapping[str, JsonSchema]] = {
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
"""Rules for a shape as a whole."""

_PROPERTY_RULES: Final[Mapping[tuple[str, str], JsonSchema]] = {
    ("Source", "url"): {"format": "uri", "pattern": "^https?://"},
    ("CreateResearch", "urls"): {"uniqueItems": True},
    ("UrlPattern", "pattern"): {"pattern": r"^https?://[^{}]*\{page\}[^{}]*$"},
    ("CompositeKey", "fields"): {"uniqueItems": True},
    ("EditRow", "resetFieldIds"): {"uniqueItems": True},
}
"""Such rules for single properties."""

_FILE_RULES: Final[Mapping[str, JsonSchema]] = {
    "NewColumn": {
        "if": {"properties": {"ownership": {"const": "user"}}, "required": ["ownership"]},
        "then": {"properties": {"key": {"const": False}}},
        "else": {"properties": {"type": {"enum": list(get_args(CollectedType))}}},
    },
}
"""Rules of a source that the API answers in words of its own, and an editor had better know."""


def shape_schemas(shapes: Sequence[type[Shape]], refer: str) -> dict[str, JsonSchema]:
    """The schemas of `shapes` and of all shapes in them, by name; `refer` begins a reference."""
    adapters = [(shape.__name__, "validation", TypeAdapter(shape)) for shape in shapes]
    _, schemas = TypeAdapter.json_schemas(adapters, ref_template=refer + "{model}")  # type: ignore[arg-type]
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


def source_file_schema() -> JsonSchema:
    """The JSON Schema of a source file, by which editors complete and check it."""
    shapes = shape_schemas([SourceFile], _DEFINITIONS)
    for name, schema in shapes.items():
        schema.update(_FILE_RULES.get(name, {}))
        schema["description"] = _for_people(schema["description"])
        schema["properties"] = {
            key: _for_editors(key, about) for key, about in schema["properties"].items()
        }
    root = shapes.pop(SourceFile.__name__)
    about = "A table from a website: its columns, and where and how livedata reads them."
    whole = {**root, "description": about}
    return {"$schema": DIALECT, "title": "livedata source", **whole, "$defs": shapes}


def _for_editors(key: str, about: JsonSchema) -> JsonSchema:
    """A property with a title, in words of the dialect that every editor knows."""
    kept = dict(about)
    # OpenAPI has this word, in JSON Schema it means nothing: what may stand there is said besides,
    # for that none of several shapes fits tells nobody which word is wrong.
    if chosen := kept.pop("discriminator", None):
        words = {"enum": list(chosen["mapping"])}
        kept["properties"] = {chosen["propertyName"]: words}
    # Up to draft 7, which editors of TOML follow, nothing counts that stands beside a reference.
    reference = kept.pop("$ref", None)
    referred = {} if reference is None else {"allOf": [{"$ref": reference}]}
    return {"title": _title(key), **kept, **referred}


def _title(key: str) -> str:
    """The name of a property in words: itemSelector is titled Item selector."""
    words = re.sub(r"[A-Z]", lambda letter: f" {letter[0].lower()}", key).replace("-", " ")
    return words[:1].upper() + words[1:]


def _for_people(docstring: str) -> str:
    """What a shape is, without the place in the reference and the marks of a docstring."""
    first = docstring.partition("\n\n")[0].replace("``", "`")
    said = re.sub(r"^Interface [\d.]+(?: and [\d.]+)?: ", "", " ".join(first.split()))
    return said[:1].upper() + said[1:]
