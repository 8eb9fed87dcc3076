"""What is wrong with an address, in words that follow its name: ``source.url`` "must ..."."""

from __future__ import annotations

from collections.abc import Mapping

from livedata.messages.templates import Words, fill
from livedata.model.problem import Problem


def _character(problem: Problem) -> str:
    character = str(problem.params["character"])
    named = {"\\": "a backslash", " ": "a space"}
    called = named.get(character, f"the character U+{ord(character):04X}")
    return f"must not contain {called} (character {problem.params['position']})"


PREDICATES: Mapping[str, Words] = {
    "address.character": _character,
    "address.scheme": "must begin with http:// or https://",
    "address.odd_port": "is not a URL that can be read: its port must be a number between 1 and "
    "65535",
    "address.odd_host": "is not a URL that can be read: its host is not a valid name or address",
    "address.credentials": "must not contain a user name or password",
    "address.port_0": "must not have the port 0: it is between 1 and 65535",
    "address.no_host": "must have a host after the two slashes",
    "address.host_name": 'has the host "{host}", which is not a valid name',
    "address.private": "has the private address {address}, which is not read",
    "address.other_host": 'has the host "{host}", which is none of those that may be read',
}


def predicate(problem: Problem) -> str:
    """What is wrong with an address, as what follows its name."""
    return fill(PREDICATES, problem)
