"""Cells that change, each as one piece of a line."""

from __future__ import annotations

from livedata.cli.output.values import Value, format_inline


def format_cell(name: str, value: Value) -> str:
    """Write a cell of a new row: an arrow would say that it was empty before."""
    return f"{name}: {format_inline(value)}"


def format_changed_cell(name: str, before: Value, after: Value) -> str:
    """Write a cell that had another value."""
    return f"{name}: {format_inline(before)} → {format_inline(after)}"


def format_covered_cell(name: str, shown: Value, source: Value) -> str:
    """Write a cell that was edited by hand: what people see stays, the source below it moved."""
    return (
        f"{name}: stays {format_inline(shown)}, edited by hand; "
        f"the source now says {format_inline(source)}"
    )
