"""Writing a declaration as ``source.toml``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tomli_w

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def write_source(declared: Mapping[str, object]) -> str:
    """Write a declaration as TOML in its JSON names; ``read_source`` reads it back equal."""
    source = declared["source"]
    columns = declared["columns"]
    assert isinstance(source, dict)
    assert isinstance(columns, (list, tuple))
    # In TOML the keys of a table come before the tables below it.
    parts = [_pairs(declared, but={"columns", "source"})]
    parts += ["[[columns]]\n" + _pairs(column) for column in columns]
    parts.append("[source]\n" + _pairs(source, but={"fields", "identity", "pagination"}))
    parts += ["[[source.fields]]\n" + _pairs(field) for field in source["fields"]]
    parts.append("[source.identity]\n" + _pairs(source["identity"]))
    parts.append("[source.pagination]\n" + _pairs(source["pagination"]))
    return "\n".join(parts)


def _pairs(table: Mapping[str, object], but: Iterable[str] = ()) -> str:
    # TOML has no null: what is left out is read back as the default, which is null.
    kept = {key: value for key, value in table.items() if key not in but and value is not None}
    return "".join(f"{_key(key)} = {inline(value)}\n" for key, value in kept.items())


def _key(key: str) -> str:
    return tomli_w.dumps({key: 0}).partition(" = ")[0]


def inline(value: object) -> str:
    """Write a value as it stands behind the equals sign of TOML."""
    if isinstance(value, dict):
        pairs = [f"{_key(key)} = {inline(v)}" for key, v in value.items() if v is not None]
        return f"{{ {', '.join(pairs)} }}" if pairs else "{}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(inline(entry) for entry in value)}]"
    # tomli_w writes documents only, so a value is cut out of one.
    return tomli_w.dumps({"k": value}).removeprefix("k = ").removesuffix("\n")
