"""Diagnoses one entity of a Run, or sums up all of them (interface 2.12)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final, Protocol, TypeVar

from livedata.model.diagnosis.entities import (
    Basis,
    DuplicateGroup,
    EntityDiagnosis,
    EntityPath,
    Fact,
    MissingCells,
    Peer,
    RunLossSummary,
)
from livedata.rules.diagnosis import losses
from livedata.rules.diagnosis.traces import EntityTrace, first_failures

MOST_NAMES: Final = 20
T = TypeVar("T", bound=EntityTrace)


class TracedEntities(Protocol[T]):
    """The entities of a Run, as a kind of Run knows them from its records."""

    @property
    def basis(self) -> Basis:
        """Whether they were recorded or come of a replay."""

    @property
    def attempt(self) -> str | None:
        """The attempt that recorded them."""

    @property
    def complete(self) -> bool:
        """Whether the output of the Run has all that was there, and was accepted."""

    @property
    def traces(self) -> Sequence[T]:
        """All of them, in the order in which they are told."""

    def named(self, name: str) -> Sequence[T]:
        """Those that a name means."""

    def names(self, matches: Sequence[T]) -> Sequence[str]:
        """The names of one that was meant; of several their keys."""

    def facts(self, trace: T, field: str | None) -> list[Fact]:
        """What is recorded of one, with what is recorded of its cell in a field."""

    def paths(self, trace: T) -> list[EntityPath]:
        """Its way over each page."""

    def peers(self, trace: T) -> Iterator[Peer]:
        """The others of its pages."""

    def unknowns_of(self, matches: Sequence[T]) -> Iterator[str]:
        """What is not known of those that a name means."""

    def unknowns(self) -> Iterator[str]:
        """What is not known of the Run."""

    def meaning(self, code: str) -> str:
        """The words for the code of a failure."""

    def duplicates(self) -> DuplicateGroup:
        """Those that were read more than once."""

    def missing_cells(self) -> Iterator[MissingCells]:
        """The empty cells of each field that has some."""


def diagnose(entities: TracedEntities[T], name: str, field: str | None) -> EntityDiagnosis:
    """The diagnosis of the entity that a name means; with `field`, of its cells only that one."""
    matches = entities.named(name)
    trace = matches[0] if len(matches) == 1 else None
    paths = [] if trace is None else entities.paths(trace)
    return {
        "entity": name,
        "basis": entities.basis,
        "attemptId": entities.attempt,
        "matchedNames": list(entities.names(matches))[:MOST_NAMES],
        # Several entities have the name: the answer says nothing of any of them.
        "outcome": "ambiguous" if len(matches) > 1 else trace.outcome if trace else "unknown",
        "field": field,
        "entityFacts": [] if trace is None else entities.facts(trace, field),
        # Only an accepted Run left cells.
        "cells": losses.list_cells(trace.row, field)
        if trace is not None and trace.row is not None and trace.outcome == "present"
        else [],
        "paths": paths,
        "firstFailures": [] if trace is None else first_failures(trace, paths),
        "recovered": trace is not None and trace.recovered,
        "peers": [] if trace is None else list(islice(entities.peers(trace), MOST_NAMES)),
        "unknowns": [*entities.unknowns_of(matches), *entities.unknowns()],
    }


def summarize(entities: TracedEntities[T]) -> RunLossSummary:
    """The summary of a Run: its entities by outcome, and what each group of them failed at."""
    traces = entities.traces
    return {
        "basis": entities.basis,
        "attemptId": entities.attempt,
        "outputComplete": entities.complete,
        "totals": losses.count_outcomes(traces),
        "entities": losses.list_entities(traces),
        "failureGroups": losses.group_failures(traces, entities.meaning),
        "duplicates": entities.duplicates(),
        "missingCells": list(entities.missing_cells()),
        "unknowns": list(entities.unknowns()),
    }
