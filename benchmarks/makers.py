"""A site of makers of lamps and a model that reads it at once: ``python -m benchmarks.makers``.

Its 25 pages have 25 makers each; the first 20 are 65 windows of a model.
"""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.makers import PLAN, Maker, read_makers
from tests.servers.model import ModelServer
from tests.servers.search import Found, SearchServer

PAGES, PER_PAGE = 25, 25
SHORT, LONG = 40_000, 54_000
"""Characters of a page with three windows, and of one with four."""
LONG_PAGES = 5


@dataclass(frozen=True)
class Served:
    """The site as served on loopback, with a model and a search for its pages beside it."""

    origin: str
    search: str

    @property
    def host(self) -> str:
        """The host with its port."""
        return self.origin.removeprefix("http://")

    @property
    def model(self) -> str:
        """The base URL of the model."""
        return f"{self.origin}/v1"

    def urls(self, pages: int) -> list[str]:
        """The addresses of the first pages."""
        return [f"{self.origin}{path(number)}" for number in range(1, pages + 1)]


def path(number: int) -> str:
    """The path of a page, from 1."""
    return f"/makers/{number}.html"


def page(number: int) -> str:
    """A page: each maker is a row of a table, after a text that says nothing of it."""
    chance = random.Random(number)
    words = _words(random.Random(0))
    length = (LONG if number <= LONG_PAGES else SHORT) // PER_PAGE
    parts = []
    for name, founded, city in _makers(number, chance):
        cells = f"<tr><td>{name}<td>{founded}<td>{city}</tr>"
        parts.append(f"<p>{_prose(chance, words, length - 40)}</p><table>{cells}</table>")
    title = f"Makers of lamps, part {number}"
    return f"<!doctype html><title>{title}</title><h1>{title}</h1>{''.join(parts)}"


def _makers(number: int, chance: random.Random) -> Iterator[Maker]:
    for place in range(PER_PAGE):
        of_all = (number - 1) * PER_PAGE + place
        yield f"Lamps {of_all:04} Ltd", str(chance.randint(1850, 2020)), _word(chance).title()


def _prose(chance: random.Random, words: list[str], length: int) -> str:
    return " ".join(chance.choices(words, k=length // 4))[:length]


def _words(chance: random.Random) -> list[str]:
    return [_word(chance) for _ in range(2_000)]


def _word(chance: random.Random) -> str:
    syllables = [chance.choice("bdfgklmnprst") + chance.choice("aeiou") for _ in range(5)]
    return "".join(syllables[: chance.randint(2, 5)])


def plan() -> str:
    """The plan of the table as a file."""
    lines = [f'{key} = "{value}"' for key, value in PLAN.items() if isinstance(value, str)]
    identity = PLAN["rowIdentity"]
    lines += ["[rowIdentity]", f'description = "{identity["description"]}"']
    lines += [f'kind = "{identity["kind"]}"', "scopeFields = []"]
    for each in PLAN["attributes"]:
        lines += ["[[attributes]]", f'label = "{each["label"]}"']
        lines += [f'description = "{each["description"]}"']
    return "\n".join(lines) + "\n"


@contextmanager
def serve() -> Iterator[Served]:
    """Serve site and model on a free port during the block."""
    # In a process of its own: its CPU time must not count as that of the program measured.
    command = [sys.executable, "-m", "benchmarks.makers"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as server:
        assert server.stdout is not None
        try:
            yield Served(*server.stdout.readline().split())
        finally:
            server.terminate()


def main() -> None:
    """Serve until stdin ends."""
    with ModelServer(read_makers) as server, SearchServer({}) as search:
        for number in range(1, PAGES + 1):
            server.site.page(path(number), page(number))
        origin = server.site.url.rstrip("/")
        search.pages = {"lamps": [Found(url) for url in Served(origin, "").urls(PAGES)]}
        print(origin, search.base_url, flush=True)
        # So the server ends with the process that started it, even if that one is killed.
        sys.stdin.read()


if __name__ == "__main__":
    main()
