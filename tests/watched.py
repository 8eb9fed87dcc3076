"""A store that says how many read transactions begin, and what they are asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import pytest

    from livedata.store.database.store import Store

T = TypeVar("T")
MOST = 2
"""In so many read transactions all is read that is answered at once: who asks, and what."""
QUESTIONS = {"row", "rows", "each", "value"}


class Watched:
    """What reads a store, a backend or its class, whose transactions are counted.

    `asked` has each question with its values; `meanwhile` is called before each with its number.
    """

    def __init__(self, reads: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun = 0
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.meanwhile: Callable[[int], None] | None = None
        reading = reads.reading

        @contextmanager
        def watched(*backend: Any, **options: Any) -> Iterator[Any]:
            self.begun += 1
            with reading(*backend, **options) as reader:
                yield _Asked(reader, self)

        monkeypatch.setattr(reads, "reading", watched)

    @classmethod
    def of_store(cls, store: Store, monkeypatch: pytest.MonkeyPatch) -> Watched:
        """One store, and what is asked of it in this process."""
        return cls(store._backend, monkeypatch)

    def look(self, see: Callable[[str], T], path: str) -> T:
        """What is seen at a path, and only what is asked for that."""
        self.begun = 0
        self.asked.clear()
        return see(path)


class _Asked:
    """A transaction that says what it is asked."""

    def __init__(self, reader: Any, watched: Watched) -> None:
        self._reader, self._watched = reader, watched

    def __getattr__(self, name: str) -> Any:
        answer = getattr(self._reader, name)

        def asked(sql: str, /, **values: Any) -> Any:
            self._watched.asked.append((sql, values))
            if self._watched.meanwhile is not None:
                self._watched.meanwhile(len(self._watched.asked))
            return answer(sql, **values)

        return asked if name in QUESTIONS else answer
