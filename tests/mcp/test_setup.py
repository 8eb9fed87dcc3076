"""What a person gives to an agent works there: its settings, and the skill."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters

from livedata.cli.mcp import CLIENTS
from tests.cli.shell import Shell
from tests.services.table import Table


def commands(client: str, printed: str) -> dict[str, Any]:
    """The servers that the settings of an agent name."""
    settings = tomllib.loads(printed) if client == "codex" else json.loads(printed)
    (servers,) = settings.values()
    return dict(servers)


@pytest.mark.parametrize("client", CLIENTS)
def test_what_is_printed_for_an_agent_starts_the_server_of_this_store(
    table: Table, tmp_path: Path, client: str
) -> None:
    table.store.close()
    folder = tmp_path / "project"
    folder.mkdir()
    shell = Shell(tmp_path)
    printed = shell.out("mcp", "--print-config", client, "--datasets", "shop")
    command = commands(client, printed)["livedata"]

    # An agent works in a folder that somebody else may have filled.
    for module in ("livedata", "click", "mcp", "anyio", "orjson"):
        (folder / f"{module}.py").write_text("raise SystemExit('another module')")

    async def ask() -> Any:
        server = StdioServerParameters(
            command=command["command"], args=command["args"], env=command["env"], cwd=folder
        )
        async with Client(server) as agent:
            return await agent.call_tool("list_datasets", {})

    answer = anyio.run(ask).structured_content
    assert [each["dataset"] for each in answer["datasets"]] == ["shop"]


def test_settings_of_the_shell_are_given_to_the_agent_without_secrets(
    table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table.store.close()
    monkeypatch.setenv("LIVEDATA_TIMEZONE", "Asia/Tokyo")
    monkeypatch.setenv("LIVEDATA_MODEL_API_KEY", "secret")
    monkeypatch.setenv("LIVEDATA_PROXY", "http://me:secret@proxy.example:3128")
    printed = Shell(tmp_path).out("mcp", "--print-config", "cursor")
    assert commands("cursor", printed)["livedata"]["env"]["LIVEDATA_TIMEZONE"] == "Asia/Tokyo"
    assert "secret" not in printed


def test_the_skill_names_commands_and_options_that_are_there(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    text = shell.out("mcp", "--print-skill")
    assert text.startswith("---\nname: livedata\ndescription: ")
    rows = [line.split("`")[1::2] for line in text.splitlines() if line.startswith("| ")]
    named = [command.split() for row in rows for command in row]
    assert len(named) >= 8
    for words in named:
        assert words[0] == "livedata"
        path = [word for word in words[1:3] if word.islower() and word.isalpha()]
        help_text = shell.out(*path, "--help")
        for option in (word for word in words if word.startswith("--")):
            assert option in help_text, (words, option)


@pytest.mark.parametrize("options", [(), ("--write",), ("--datasets", "shop")])
def test_to_print_settings_opens_no_store_and_makes_none(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    home = tmp_path / "nowhere"
    printed = Shell(home).out("mcp", "--print-config", "cursor", *options)
    command = commands("cursor", printed)["livedata"]
    assert command["args"] == ["-P", "-m", "livedata", "mcp", *options]
    assert command["env"]["LIVEDATA_HOME"] == str(home)
    assert not home.exists()


def test_a_store_that_is_not_there_is_said_before_an_agent_asks(tmp_path: Path) -> None:
    assert "There is no store" in Shell(tmp_path / "nowhere").error("mcp", code=8)


def test_a_dataset_that_is_not_there_is_said_before_an_agent_asks(
    table: Table, tmp_path: Path
) -> None:
    table.store.close()
    sentence = Shell(tmp_path).error("mcp", "--datasets", "shpo")
    assert "There is no dataset 'shpo'; did you mean 'shop'?" in sentence
