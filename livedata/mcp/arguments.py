"""What a tool may be asked: each argument as its schema announces it, and as it is read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from msgspec import Struct

from livedata.messages.request import format_choices, format_value, nearest, shortened
from livedata.model.errors import Invalid
from livedata.rules.conditions.clauses import LONGEST_CLAUSE

Kind = Literal["text", "texts", "number", "flag", "object"]
_MOST_TEXTS: Final = 50
"""So many texts has a list at most: more columns or clauses say nothing more."""
_SCHEMAS: Final[Mapping[Kind, dict[str, Any]]] = {
    "text": {"type": "string"},
    "texts": {"type": "array", "items": {"type": "string"}},
    "number": {"type": "integer"},
    "flag": {"type": "boolean"},
    "object": {"type": "object"},
}
_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")
_NAMED: Final[Mapping[Kind, str]] = {
    "text": "a text",
    "texts": "a list of texts",
    "number": "a whole number",
    "flag": "true or false",
    "object": "an object",
}


class Argument(Struct, frozen=True):
    """An argument of a tool; `low` and `high` bound a number, and `longest` each of its texts.

    `parameter` is what its value is called in the house, if not as the agent calls it.
    """

    name: str
    about: str
    kind: Kind = "text"
    required: bool = False
    default: object = None
    low: int = 0
    high: int | None = None
    longest: int = LONGEST_CLAUSE
    parameter: str = ""

    def schema(self) -> dict[str, Any]:
        """It as JSON Schema."""
        schema = {**_SCHEMAS[self.kind], "description": self.about}
        if self.kind == "number":
            schema["minimum"] = self.low
            if self.high is not None:
                schema["maximum"] = self.high
        if self.default not in {None, False}:
            schema["default"] = self.default
        return schema

    def read(self, value: object) -> Any:
        """The value, as its schema has it. Raises Invalid."""
        match self.kind:
            case "flag" if isinstance(value, bool):
                return value
            case "object" if isinstance(value, dict):
                return value
            case "number" if isinstance(value, int) and not isinstance(value, bool):
                return self._bounded(value)
            case "text" if isinstance(value, str):
                return self._short(value)
            # A list of one is often written as that one.
            case "texts" if isinstance(value, str):
                return [self._short(value)]
            case "texts" if isinstance(value, list) and all(isinstance(v, str) for v in value):
                if len(value) > _MOST_TEXTS:
                    raise Invalid(f"{self.name} has {len(value)} texts; at most {_MOST_TEXTS}.")
                return [self._short(text) for text in value]
        raise Invalid(f"{self.name} must be {_NAMED[self.kind]}, not {format_value(value)}.")

    def _bounded(self, value: int) -> int:
        if value < self.low or (self.high is not None and value > self.high):
            bounds = f"at least {self.low}" if self.high is None else f"{self.low} to {self.high}"
            raise Invalid(f"{self.name} must be {bounds}, not {format_value(value)}.")
        return value

    def _short(self, text: str) -> str:
        if len(text) > self.longest:
            raise Invalid(
                f"{self.name} has {len(text)} characters; at most {self.longest} are read."
            )
        # No store has such a text, and PostgreSQL is not even asked for it.
        if _UNSTORABLE.search(text):
            raise Invalid(f"{self.name} holds NUL or half of a surrogate pair; write it without.")
        return text


def input_schema(arguments: Sequence[Argument]) -> dict[str, Any]:
    """What a tool with these arguments announces."""
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {argument.name: argument.schema() for argument in arguments},
        "additionalProperties": False,
    }
    required = [argument.name for argument in arguments if argument.required]
    return {**schema, "required": required} if required else schema


def read_arguments(
    tool: str, arguments: Sequence[Argument], given: Mapping[str, object]
) -> dict[str, Any]:
    """The value of every argument of a tool. Raises Invalid, which says what the tool takes."""
    names = [argument.name for argument in arguments]
    for name in given:
        if name not in names:
            near = nearest(name, names)
            hint = f"; did you mean {near!r}?" if near else "."
            takes = format_choices(names, "and") if names else "no arguments"
            raise Invalid(f"{tool} has no argument {shortened(name)!r}{hint} It takes {takes}.")
    values: dict[str, Any] = {}
    for argument in arguments:
        # Some clients write null for what they leave out.
        value = given.get(argument.name)
        if value is None and argument.required:
            raise Invalid(f"{tool} needs {argument.name!r}: {argument.about}")
        parameter = argument.parameter or argument.name
        values[parameter] = argument.default if value is None else argument.read(value)
    return values
