"""livedata: tables from websites that can be trusted tomorrow.

What Python programs use of it (rules 18) is imported when they ask for it: each command imports
this package, and needs none of that. `__init__.pyi` tells type checkers the same.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__version__ = "1.0.0"

_PLACES = {
    "LivedataError": ("livedata.model.errors", "LivedataError"),
    "Table": ("livedata.python.table", "Table"),
    "Tables": ("livedata.python.server", "Tables"),
    "connect": ("livedata.python.server", "connect"),
    "open": ("livedata.python.store", "open_table"),
}
"""Name -> its module, and its name there."""


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # Not even importlib is imported by who asks for nothing: it brings warnings along.
    from importlib import import_module

    module, attribute = _PLACES[name]
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return [*globals(), *_PLACES]
