"""What a person gives to an agent so that it uses livedata: its settings, and a skill."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from typing import Any, Final

import tomli_w

from livedata.config import Settings

_NAME: Final = "livedata"


def config_for(client: str, settings: Settings, options: Sequence[str]) -> str:
    """What to paste into the settings of an agent: JSON or TOML alone."""
    # An agent has another PATH and another folder, and none of the settings of this shell: so the
    # interpreter and the home are absolute. What is secret stays out, but for that of the store.
    given = {name: value for name, value in os.environ.items() if _is_given(name, value)}
    command = {
        "command": sys.executable,
        "args": ["-m", "livedata", "mcp", *options],
        "env": {**given, "LIVEDATA_HOME": str(settings.home.resolve())},
    }
    return CLIENTS[client](command)


def _is_given(name: str, value: str) -> bool:
    is_secret = name.endswith(("_KEY", "_PASSWORD")) or (name == "LIVEDATA_PROXY" and "@" in value)
    return name.startswith("LIVEDATA_") and not is_secret


def skill() -> str:
    """A file SKILL.md for agents that use the shell."""
    return (files("livedata.mcp") / "SKILL.md").read_text(encoding="utf-8")


def _servers(command: Mapping[str, Any]) -> str:
    return json.dumps({"mcpServers": {_NAME: command}}, indent=2, ensure_ascii=False)


def _vscode(command: Mapping[str, Any]) -> str:
    return json.dumps({"servers": {_NAME: {"type": "stdio", **command}}}, indent=2)


def _codex(command: Mapping[str, Any]) -> str:
    return tomli_w.dumps({"mcp_servers": {_NAME: command}}).rstrip()


CLIENTS: Final[Mapping[str, Callable[[Mapping[str, Any]], str]]] = {
    "claude-code": _servers,
    "claude-desktop": _servers,
    "cursor": _servers,
    "vscode": _vscode,
    "codex": _codex,
}
"""The agents whose settings are known: the first three share a form."""
