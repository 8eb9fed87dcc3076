"""Commands that are proposed: whatever a dataset or an owner is called, bash reads them back."""

from __future__ import annotations

import shlex
import subprocess
import sys

import pytest

from livedata.hints import Subject, hint, hints
from livedata.messages.remedies import REMEDIES
from livedata.model.problem import Remedy

NAMES = [
    "shop",
    "my shop; ls",
    "-lead",
    "--",
    "it's",
    '"quoted" $(touch here) `touch there`',
    "a\nb",
    "tab\there's \x1b[31mred\u202e",
    "*",
    "~",
    "#1",
    "Größe 東京",
    "Größe\n\\東京",
]
SAMPLES = {
    "name": "proxy",
    "value": "auto",
    "host": "intranet:80",
    "file": "my source.toml",
    "row": "A 1",
    "column": "note",
    "keys": "title",
    "identity": 'field = "title"',
    "selector": 'div[class="box"]',
    "id": "01a228f9-789a-74e7-b692-3882cfad436f",
}


def words_of(command: str) -> list[str]:
    """The words as bash hands them over, of all commands of a line."""
    script = f'livedata() {{ printf "%s\\0" "$@"; }}\n{command}'
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=True)
    assert not done.stderr
    return done.stdout.decode().split("\0")[:-1]


@pytest.mark.parametrize("name", NAMES)
def test_bash_reads_a_name_back_as_it_is(name: str) -> None:
    words = words_of(Subject("local").command("run", name))
    assert [word for word in words if word != "--"] == ["run", *([name] if name != "--" else [])]
    assert words[-1] == name


@pytest.mark.parametrize("owner", NAMES)
def test_bash_reads_an_owner_back_as_it_is(owner: str) -> None:
    words = words_of(Subject(owner).command("runs show", "-lead"))
    assert words[:2] == ["runs", "show"]
    assert words[words.index("--owner") + 1] == owner
    assert words[-2:] == ["--", "-lead"]


def test_the_default_owner_is_not_named() -> None:
    assert Subject().command("run", "shop") == "livedata run shop"


@pytest.mark.parametrize("code", REMEDIES)
def test_every_remedy_is_a_line_that_ends_with_its_command_or_a_point(code: str) -> None:
    line = hint(Remedy(code, SAMPLES), Subject("alice", "my shop; ls", "4c-7"))
    words, _, command = line.replace(f": {sys.executable} ", ": livedata ").partition(": livedata ")
    assert "{" not in line
    assert "\n" not in line
    assert words[0].isupper()
    if command:
        shlex.split(command)
    else:
        assert line.endswith(".")


def test_a_dataset_is_tried_in_one_step_if_its_source_is_not_to_be_mended() -> None:
    [line] = hints([Remedy("preview", {"pages": 3})], Subject("alice", "-my shop; ls"))
    assert line.endswith(": livedata preview --pages 3 --owner alice -- '-my shop; ls'")


def test_a_preview_keeps_the_redirection_outside_of_the_names() -> None:
    remedies = [Remedy("preview", {"pages": 3}), Remedy("revise")]
    [line, _] = hints(remedies, Subject("alice", "-my shop; ls"))
    assert line.endswith(
        ": livedata dataset source --owner alice -- '-my shop; ls' > source.toml"
        " && livedata preview source.toml --pages 3 --owner alice"
    )


@pytest.mark.parametrize(
    ("value", "shown"), [("browser", '"browser"'), (True, "true"), (0, "0")], ids=str
)
def test_an_option_is_written_as_a_source_has_it(value: str | bool | int, shown: str) -> None:
    line = hint(Remedy("set_option", {"name": "render", "value": value}), Subject())
    assert line == f"Set render = {shown} in the source."


def test_a_remedy_may_name_what_it_is_for() -> None:
    remedy = Remedy("grant_credits", {"owner": "bob", "credits": 5})
    assert hint(remedy, Subject()) == "Add credits: livedata credits grant 5 --owner bob"
