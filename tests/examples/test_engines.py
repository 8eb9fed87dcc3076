"""What `examples/engines` and the page about it tell engines of others, as these take it."""

from __future__ import annotations

import ast
import json
import re
import shlex
from typing import Any

import jsonschema_rs
import pytest
import yaml  # type: ignore[import-untyped]

from livedata.worker.engines import PLACE, CeleryTask, engine_of
from tests.examples.test_containers import OF_POSTGRES
from tests.examples.test_deploy import known_settings
from tests.test_readme import ROOT, blocks, wrong

ENGINES = ROOT / "examples" / "engines"
PAGE = ROOT / "docs" / "how-to" / "engines.md"
SCHEMA = json.loads((ROOT / "tests" / "examples" / "keda.schema.json").read_text())


def documents() -> list[dict[str, Any]]:
    """What the manifest for KEDA describes."""
    return list(yaml.safe_load_all((ENGINES / "keda-scaledjob.yaml").read_text()))


def container() -> dict[str, Any]:
    """What a Job of Kubernetes starts."""
    [only] = documents()[0]["spec"]["jobTargetRef"]["template"]["spec"]["containers"]
    assert isinstance(only, dict)
    return only


def test_the_manifest_is_one_that_keda_takes() -> None:
    for document in documents():
        jsonschema_rs.validate(SCHEMA, document)
    job, authentication = documents()
    [trigger] = job["spec"]["triggers"]
    assert trigger["authenticationRef"]["name"] == authentication["metadata"]["name"]


@pytest.mark.parametrize(
    ("written", "instead"),
    [('"5432"', "5432"), ("strategy: accurate", "strategy: exact"), ("backoffLimit", "retries")],
)
def test_what_keda_does_not_take_is_seen(written: str, instead: str) -> None:
    text = (ENGINES / "keda-scaledjob.yaml").read_text()
    assert written in text
    [job, _] = yaml.safe_load_all(text.replace(written, instead))
    with pytest.raises(jsonschema_rs.ValidationError):
        jsonschema_rs.validate(SCHEMA, job)


def test_a_job_of_kubernetes_starts_what_there_is_on_the_database_that_is_counted() -> None:
    assert wrong(container()["args"]) is None
    names = {each["name"]: each.get("value") for each in container()["env"]}
    assert names.keys() - OF_POSTGRES <= known_settings()
    asked = documents()[0]["spec"]["triggers"][0]["metadata"]
    url = f"postgresql://{asked['userName']}@{asked['host']}/{asked['dbName']}"
    assert names["LIVEDATA_DATABASE_URL"] == url


@pytest.mark.parametrize("name", ["celery_app", "airflow_dag"])
def test_a_program_starts_what_there_is(name: str) -> None:
    tree = ast.parse((ENGINES / f"{name}.py").read_text())
    [words] = [
        [item.value if isinstance(item, ast.Constant) else "x" for item in node.elts]
        for node in ast.walk(tree)
        if isinstance(node, ast.List)
        if [item.value for item in node.elts[:1] if isinstance(item, ast.Constant)] == ["livedata"]
    ]
    assert wrong([str(word) for word in words[1:]]) is None


def test_the_page_and_the_application_of_celery_name_the_same_task() -> None:
    [named] = {
        shlex.split(line)[-1]
        for block in blocks(PAGE.read_text(), "sh")
        for line in block.splitlines()
        if "--enqueue celery://" in line
    }
    engine = engine_of(named)
    assert isinstance(engine, CeleryTask)
    [task] = re.findall(r'task\(name="([^"]+)"', (ENGINES / "celery_app.py").read_text())
    assert engine.task == task


def test_the_commands_of_the_page_are_told_of_which_run() -> None:
    commands = re.findall(r"--enqueue '([^']+)'", PAGE.read_text())
    assert commands
    assert all(PLACE in command for command in commands)
