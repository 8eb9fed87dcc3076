"""The supported subset of CSS selectors: a parser whose errors name the part and its place."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NoReturn

from msgspec import Struct

from livedata.extraction.derived_names import advice

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_LENGTH: Final = 500
"""The largest number of characters of a selector."""

SUPPORTED: Final = "tags, classes, IDs, attributes, descendant and child combinators"


_ESCAPE = r"\\(?:[0-9a-fA-F]{1,6}(?:\r\n|[ \t\r\n\f])?|[^\n\r\f0-9a-fA-F])"
_CHAR = rf"(?:[-_a-zA-Z0-9]|[^\x00-\x7f]|{_ESCAPE})"
NAME: Final = rf"(?:--|-?(?:[_a-zA-Z]|[^\x00-\x7f]|{_ESCAPE})){_CHAR}*"
"""What CSS takes for a name, with its escapes; a pattern of `re`."""
_NAME = re.compile(NAME)
_SPACE = re.compile(r"[ \t\r\n\f]*")
_STRING = re.compile(
    r""""((?:[^"\\\n\r\f]|\\(?:\r\n|[\s\S]))*)"|'((?:[^'\\\n\r\f]|\\(?:\r\n|[\s\S]))*)'"""
)
_NEVER = re.compile("[\x00\ud800-\udfff]")
_OPERATOR = re.compile(r"[~|^$*!]?=")
_PSEUDO = re.compile(rf"::?(?:{_CHAR})*")
_UNESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})(?:\r\n|[ \t\r\n\f])?|(\r\n|[\n\r\f])|([\s\S]))")
_LAST_CODE_POINT: Final = 0x10FFFF


class BadSelector(ValueError):
    """A selector outside of the supported subset; ``str()`` is a sentence for a person.

    ``part`` is the wrong text, ``position`` its offset from 0, or None if all of it is wrong;
    ``instead`` says what to write, if something else does the same.
    """

    def __init__(self, what: str, part: str, position: int | None, instead: str = "") -> None:
        place = "" if position is None else f" at position {position}"
        told = [f"{what}{place}", instead, f"supported: {SUPPORTED}"]
        super().__init__(f"{'; '.join(filter(None, told))}.")
        self.part = part
        self.position = position


class AttributeTest(Struct, frozen=True):
    """A test ``[name operator value]``; ``operator`` is "" if the attribute only has to exist."""

    name: str
    operator: str
    value: str


class Compound(Struct, frozen=True):
    """The conditions for one element; ``tag`` is None for any tag."""

    tag: str | None
    ids: tuple[str, ...]
    classes: tuple[str, ...]
    attributes: tuple[AttributeTest, ...]


class SelectorStep(Struct, frozen=True):
    """A compound with its relation to the step before: its child, or any descendant of it."""

    compound: Compound
    child: bool


class Selector(Struct, frozen=True):
    """A selector: its text, and its steps from the outermost; the first is never a child."""

    text: str
    steps: tuple[SelectorStep, ...]


@lru_cache(maxsize=4096)  # every page of a Run asks for the same few selectors
def parse(text: str) -> Selector:
    """The selector that a text spells; raises `BadSelector` for anything outside of the subset.

    Tag and attribute names become lower case: HTML compares them in any case. All else keeps it.
    """
    _check_whole(text)
    return Selector(text, _Parser(text).steps())


def _check_whole(text: str) -> None:
    if len(text) > MAX_LENGTH:
        raise BadSelector(
            f"The selector has {len(text)} characters, over {MAX_LENGTH}, and is too long",
            text[MAX_LENGTH : MAX_LENGTH + 20],
            MAX_LENGTH,
        )
    if not text.strip(" \t\r\n\f"):
        raise BadSelector("The selector is empty", text, None)
    if never := _NEVER.search(text):
        raise BadSelector(
            "NUL and lone surrogates are not supported: found one", never.group(), never.start()
        )


class _Parser:
    """A parser that reads steps from left to right; ``at`` is the offset of the next character."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def steps(self) -> tuple[SelectorStep, ...]:
        self._skip_space()
        if self._peek() in ">+~":
            self._reject(f"A selector cannot start with '{self._peek()}'", self._peek())

        steps = [SelectorStep(self._compound(), child=False)]
        while self._combinator():
            child = self._peek() == ">"
            if child:
                self.at += 1
                self._skip_space()
            steps.append(SelectorStep(self._compound(), child=child))
        return tuple(steps)

    def _combinator(self) -> bool:
        """Move ``at`` to the next step, on its ``>`` or first character; False if there is none."""
        self._skip_space()
        char = self._peek()
        if char and char in "+~":
            self._reject_relation(f"The sibling combinator '{char}' is not supported", char)
        if char == ",":
            self._reject("The comma ',' (a list of selectors) is not supported", char)
        return bool(char)

    def _compound(self) -> Compound:
        start = self.at
        tag = self._tag()
        ids: list[str] = []
        classes: list[str] = []
        attributes: list[AttributeTest] = []
        # What is not supported has its entry too, so that its error can name it.
        readers: dict[str, Callable[[], None]] = {
            "#": lambda: ids.append(self._sigil("an ID")),
            ".": lambda: classes.append(self._sigil("a class")),
            "[": lambda: attributes.append(self._attribute()),
            ":": self._reject_pseudo,
            "|": self._reject_namespace,
            "*": lambda: self._reject("A '*' can only stand first", "*"),
            "/": self._reject_slash,
        }
        while (char := self._peek()) in readers:
            readers[char]()
        if self.at == start:
            self._reject_start()
        return Compound(tag, tuple(ids), tuple(classes), tuple(attributes))

    def _tag(self) -> str | None:
        if self._peek() == "*":
            self.at += 1
            return None
        match = _NAME.match(self.text, self.at)
        if match is None:
            return None
        self.at = match.end()
        return lower(unescape(match.group()))

    def _sigil(self, kind: str) -> str:
        start = self.at
        self.at += 1
        match = _NAME.match(self.text, self.at)
        if match is None:
            part = self.text[start : start + 2]
            raise BadSelector(f"'{part}' does not begin the name of {kind}", part, start)
        self.at = match.end()
        return unescape(match.group())

    def _attribute(self) -> AttributeTest:
        start = self.at
        self.at += 1
        self._skip_space()
        if self._peek() in ("|", "*"):
            self._reject_namespace()
        name = self._name(start)

        if self._peek() == "|" and self.text[self.at : self.at + 2] != "|=":
            self._reject_namespace()
        self._skip_space()
        operator, value = self._test(start)
        if self._peek() != "]":
            # [lang="de" i]: a letter after the value would change how case is compared.
            flag = _NAME.match(self.text, self.at)
            if flag is not None and value is not None:
                self._reject(f"The attribute flag '{flag.group()}' is not supported", flag.group())
            self._reject_attribute(start)
        self.at += 1
        return AttributeTest(lower(name), operator, value or "")

    def _test(self, start: int) -> tuple[str, str | None]:
        match = _OPERATOR.match(self.text, self.at)
        if match is None:
            return "", None
        operator = match.group()
        if operator == "!=":
            self._reject("The operator '!=' is not supported", operator)
        self.at = match.end()
        self._skip_space()
        string = _STRING.match(self.text, self.at)
        if string is None:
            value = self._name(start)
        else:
            self.at = string.end()
            value = unescape(string.group()[1:-1])
        self._skip_space()
        return operator, value

    def _name(self, start: int) -> str:
        match = _NAME.match(self.text, self.at)
        if match is None:
            self._reject_attribute(start)
        self.at = match.end()
        return unescape(match.group())

    def _skip_space(self) -> None:
        match = _SPACE.match(self.text, self.at)
        self.at = match.end() if match else self.at

    def _peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def _reject(self, what: str, part: str) -> NoReturn:
        raise BadSelector(what, part, self.at)

    def _reject_relation(self, what: str, part: str) -> NoReturn:
        """Reject what says where an element stands: a derived attribute may say it too."""
        instead = advice(self.text[: self.at], self.text[self.at :])
        raise BadSelector(what, part, self.at, instead)

    def _reject_pseudo(self) -> NoReturn:
        match = _PSEUDO.match(self.text, self.at)
        part = match.group() if match else ":"
        kind = "pseudo-element" if part.startswith("::") else "pseudo-class"
        self._reject_relation(f"The {kind} '{part}' is not supported", part)

    def _reject_slash(self) -> NoReturn:
        comment = self.text.startswith("/*", self.at)
        what = "The comment '/*' is not supported" if comment else "'/' cannot stand here"
        self._reject(what, "/*" if comment else "/")

    def _reject_namespace(self) -> NoReturn:
        self._reject("The namespace separator '|' is not supported", self._peek())

    def _reject_attribute(self, start: int) -> NoReturn:
        end = self.text.find("]", self.at)
        part = self.text[start : end + 1 if end >= 0 else len(self.text)]
        raise BadSelector(f"The attribute test '{part}' cannot be read", part, start)

    def _reject_start(self) -> NoReturn:
        part = self._peek()
        missing = "The selector ends where a tag, class, ID or attribute should follow"
        self._reject(f"'{part}' cannot stand here" if part else missing, part)


def lower(name: str) -> str:
    """The name with its ASCII letters in lower case, as HTML compares."""
    # str.lower() would also change "K" (the Kelvin sign); that of bytes knows only ASCII.
    return name.encode().lower().decode()


def unescape(text: str) -> str:
    """A name, or what stands in a string, with its escapes resolved."""
    return _UNESCAPE.sub(_unescaped, text) if "\\" in text else text


def _unescaped(match: re.Match[str]) -> str:
    if match[1] is None:
        return match[3] or ""  # an escaped newline continues the line, and means nothing
    point = int(match[1], 16)
    # CSS: NUL, surrogates and numbers beyond Unicode become the replacement character.
    wrong = point == 0 or point > _LAST_CODE_POINT or 0xD800 <= point <= 0xDFFF
    return "\ufffd" if wrong else chr(point)
