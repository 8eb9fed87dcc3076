"""How the packages of an extra are installed beside this livedata, however that was installed."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from shlex import quote


def install_command(extra: str) -> str:
    """The command that brings an extra of livedata to the Python of this process.

    It names the packages and not ``livedata[EXTRA]``: the folder that livedata came from may be
    gone, and on an index anybody could have taken the name.
    """
    # The Python of this process: another one on the PATH would install it where nobody looks.
    python = quote(sys.executable)
    # What uv makes has no pip.
    pip = f"{python} -m pip install" if find_spec("pip") else f"uv pip install --python {python}"
    return " ".join([pip, *map(quote, packages(extra))])


def packages(extra: str) -> list[str]:
    """What an extra asks for, as pip reads it, such as ``playwright<2,>=1.60``."""
    # Imported here: only who lacks a package pays for it.
    from importlib.metadata import requires

    from packaging.requirements import Requirement

    asked = []
    for requirement in map(Requirement, requires("livedata") or ()):
        marker, requirement.marker = requirement.marker, None
        if marker is not None and marker.evaluate({"extra": extra}):
            asked.append(str(requirement))
    return asked
