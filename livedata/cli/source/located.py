"""A problem of a declaration with the file and the line where it stands."""

from __future__ import annotations

from livedata.model.errors import Detail


class LocatedDetail(Detail, frozen=True):
    """A detail whose message is a whole sentence that begins with ``file:line:``."""
