"""The container file, the compose file and the manifests of Kubernetes in `examples/deploy`.

compose-spec.json is the schema that Compose publishes of its files, under the Apache License 2.0;
kubernetes-validate brings those of Kubernetes. `python -m tests.image` makes the image and runs it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import click
import jsonschema_rs
import kubernetes_validate
import pytest
import yaml  # type: ignore[import-untyped]

from livedata.api import server
from livedata.store import queue
from livedata.store.database.store import Store
from livedata.worker import looks, supervisor
from livedata.worker.metrics import serving_metrics
from spiders.worker.main import SLOW_POLL
from tests.api.serving import Serving
from tests.databases import Server
from tests.examples.test_deploy import DEPLOY, HOME, UNITS, known_settings, section, unit
from tests.patience import until
from tests.test_readme import ROOT, wrong

CONTAINER_FILE = (DEPLOY / "Containerfile").read_text()
IMAGE = DEPLOY / "image"
KUBERNETES = DEPLOY / "kubernetes"
OF_POSTGRES = {"PGPASSWORD", "POSTGRES_USER", "POSTGRES_DB", "POSTGRES_PASSWORD"}
# What the page says: the oldest version that knows all of the manifests, and the newest.
VERSIONS = ("1.30", kubernetes_validate.latest_version())
SPARE = 5
"""The seconds that a process which is told to end may take beyond what it promises."""
Manifest = dict[str, Any]


def listed(instruction: str) -> list[str]:
    """The words of an instruction of the container file."""
    words: list[str] = json.loads(
        re.findall(rf"^{instruction} (.*)$", CONTAINER_FILE, re.MULTILINE)[0]
    )
    return words


def composed() -> dict[str, Any]:
    """The compose file."""
    parsed: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    return parsed


@cache
def manifests() -> list[Manifest]:
    """All that the kustomization names."""
    kustomization = yaml.safe_load((KUBERNETES / "kustomization.yaml").read_text())
    texts = [(KUBERNETES / name).read_text() for name in kustomization["resources"]]
    return [manifest for text in texts for manifest in yaml.safe_load_all(text)]


def of_kind(kind: str) -> dict[str, Manifest]:
    """Name -> the manifest, of those of a kind."""
    return {each["metadata"]["name"]: each for each in manifests() if each["kind"] == kind}


def pods() -> dict[str, Manifest]:
    """Name of a Deployment -> what its pods are."""
    return {name: each["spec"]["template"] for name, each in of_kind("Deployment").items()}


def container(pod: Manifest) -> Manifest:
    """The one container of a pod."""
    (only,) = pod["spec"]["containers"]
    single: Manifest = only
    return single


def probes() -> Iterator[tuple[str, Manifest]]:
    """Each probe, by its kind."""
    for pod in pods().values():
        for name, value in container(pod).items():
            if name.endswith("Probe"):
                yield name, value


def test_the_container_file_installs_extras_that_there_are_and_starts_what_there_is() -> None:
    (extras,) = re.findall(r"^ARG EXTRAS=([\w,]+)$", CONTAINER_FILE, re.MULTILINE)
    (named,) = re.findall(r"--build-arg EXTRAS=([\w,]+)", CONTAINER_FILE)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(named.split(",")) - set(extras.split(",")) == {"browser"}
    assert set(named.split(",")) <= set(project["optional-dependencies"])
    assert listed("ENTRYPOINT") == ["tini", "--", "livedata"]
    assert wrong(listed("CMD")) is None
    copied = re.findall(r"^COPY (?!--from)(.*) /src\S*$", CONTAINER_FILE, re.MULTILINE)
    assert all((ROOT / name).exists() for names in copied for name in names.split())


def test_the_image_is_built_by_arguments_that_the_container_file_has() -> None:
    given = set(re.findall(r"--build-arg (\w+)=", IMAGE.read_text()))
    assert given == set(re.findall(r"^ARG (\w+)=", CONTAINER_FILE, re.MULTILINE))


def test_the_script_of_the_image_says_how_it_is_called_and_what_it_lacks(tmp_path: Path) -> None:
    usage = subprocess.run([IMAGE, "--help"], capture_output=True, check=False, text=True)
    assert usage.returncode == 2
    assert "examples/deploy/image [--browser] [FILE]" in usage.stdout
    for name in ("sh", "dirname", "realpath"):
        program = shutil.which(name)
        assert program
        (tmp_path / name).symlink_to(program)
    lacking = subprocess.run(
        [IMAGE], capture_output=True, check=False, text=True, env={"PATH": str(tmp_path)}
    )
    assert lacking.returncode == 1
    assert lacking.stderr == ("mmdebstrap is not installed: apt-get install mmdebstrap buildah\n")


def test_the_first_process_of_a_container_ends_in_time_and_leaves_no_zombies(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    *first, program = listed("ENTRYPOINT")
    spaces = ["unshare", "--user", "--map-root-user", "--pid", "--kill-child", "--mount-proc"]
    if subprocess.run([*spaces, "true"], capture_output=True, check=False).returncode:
        with capsys.disabled():
            click.echo("\nNo first process was tried: no namespace of pids can be made here.")
        return
    assert program == "livedata"
    home = {"LIVEDATA_HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    log, ended = tmp_path / "log", tmp_path / "ended"
    command = [*spaces, *first, sys.executable, "-m", "livedata", "worker", "--crawlers", "1"]
    with log.open("w") as written:
        outside = subprocess.Popen(command, env={**os.environ, **home}, stderr=written)
    try:
        until(lambda: "livedata works on" in log.read_text())
        (pid,) = _children(outside.pid)
        before = _children(pid)
        # It ends before its child, which then belongs to the first process.
        orphaning = ("sh", "-c", f"(sleep 0.1; touch {ended}) &")
        subprocess.run(["nsenter", "--target", str(pid), "--all", *orphaning], check=True)
        until(ended.exists)
        until(lambda: _children(pid) == before, seconds=5)
        os.kill(pid, signal.SIGTERM)
        assert outside.wait(supervisor.GRACE + SPARE) == 0
    finally:
        outside.kill()
        outside.wait()
    assert "the Runs in progress go back into the queue" in log.read_text()


def _children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_the_compose_file_is_one_that_compose_takes() -> None:
    schema = json.loads((Path(__file__).parent / "compose-spec.json").read_text())
    judge = jsonschema_rs.validator_for(schema)
    assert [error.message for error in judge.iter_errors(composed())] == []
    assert list(judge.iter_errors({"services": {"api": {"stop_grace": "30s"}}}))


def test_the_services_of_the_compose_file_start_what_there_is() -> None:
    services = composed()["services"]
    assert set(services) == {"database", "api", "worker"}
    assert {name: wrong(services[name]["command"]) for name in ("api", "worker")} == {
        "api": None,
        "worker": None,
    }
    assert services["worker"]["deploy"]["replicas"] == 2
    # The API follows no schedules with this option; the workers do.
    assert "--no-worker" in services["api"]["command"]
    assert "--no-schedules" not in services["worker"]["command"]
    build = services["api"]["build"]
    assert (DEPLOY / build["context"]).resolve() == ROOT
    assert (ROOT / build["dockerfile"]).is_file()


def test_the_variables_of_the_compose_file_are_read_by_somebody() -> None:
    services = composed()["services"]
    named = {name for service in services.values() for name in service["environment"]}
    assert named - OF_POSTGRES <= known_settings()
    url = services["api"]["environment"]["LIVEDATA_DATABASE_URL"]
    user, database = (
        services["database"]["environment"][f"POSTGRES_{each}"] for each in ("USER", "DB")
    )
    assert url == f"postgresql://{user}@database/{database}"
    # No password stands in the file.
    assert services["database"]["environment"]["POSTGRES_PASSWORD"].startswith("${PGPASSWORD:?")


def test_the_check_of_health_of_the_compose_file_tells_a_server_from_none(tmp_path: Path) -> None:
    kind, _, *words = composed()["services"]["api"]["healthcheck"]["test"]
    assert kind == "CMD"

    def asked(port: int) -> int:
        command = [sys.executable, *(word.replace(":8000/", f":{port}/") for word in words)]
        return subprocess.run(command, capture_output=True, check=False).returncode

    with Serving(tmp_path) as served:
        assert asked(served.port) == 0
    assert asked(served.port) == 1


@pytest.mark.parametrize("version", VERSIONS)
def test_the_manifests_are_of_kubernetes(version: str) -> None:
    assert f"Kubernetes {VERSIONS[0]}" in section("Kubernetes")
    for manifest in manifests():
        kubernetes_validate.validate(manifest, version, strict=True)
    wrong_one = {**manifests()[0], "dat": {}}
    with pytest.raises(kubernetes_validate.ValidationError, match="dat"):
        kubernetes_validate.validate(wrong_one, version, strict=True)


def test_the_kustomization_has_every_manifest_and_every_image() -> None:
    kustomization = yaml.safe_load((KUBERNETES / "kustomization.yaml").read_text())
    files = {file.name for file in KUBERNETES.glob("*.yaml")}
    assert {*kustomization["resources"], "kustomization.yaml"} == files
    images = {container(pod)["image"] for pod in pods().values()}
    assert images == {each["name"] for each in kustomization["images"]} == {"livedata"}


def test_pods_start_what_there_is_and_one_follows_the_schedules() -> None:
    args = {name: container(pod)["args"] for name, pod in pods().items()}
    assert {name: wrong(words) for name, words in args.items()} == dict.fromkeys(args)
    scheduling = [
        name for name, words in args.items() if not {"--no-worker", "--no-schedules"} & {*words}
    ]
    assert scheduling == ["livedata-scheduler"]
    assert of_kind("Deployment")["livedata-scheduler"]["spec"]["replicas"] == 1
    # The autoscaler alone says how many workers there are: with each `apply` there would be as many
    # as stand here.
    assert "replicas" not in of_kind("Deployment")["livedata-worker"]["spec"]


def test_pods_have_the_settings_that_livedata_reads_and_the_secret_of_the_page() -> None:
    configured = of_kind("ConfigMap")
    (create,) = re.findall(
        r"create secret generic -n livedata (\S+) --from-literal=(\w+)=",
        section("Kubernetes"),
    )
    for pod in pods().values():
        only = container(pod)
        (source,) = only["envFrom"]
        assert set(configured[source["configMapRef"]["name"]]["data"]) <= known_settings()
        (password,) = only["env"]
        secret = password["valueFrom"]["secretKeyRef"]
        assert (password["name"], secret["name"], secret["key"]) == ("PGPASSWORD", *create)
        # A service of this name would bring variables that begin as settings do.
        assert pod["spec"]["enableServiceLinks"] is False


def test_what_selects_pods_selects_some() -> None:
    labels = [pod["metadata"]["labels"] for pod in pods().values()]
    selectors = [each["spec"]["selector"]["matchLabels"] for each in of_kind("Deployment").values()]
    assert selectors == labels
    budgets = of_kind("PodDisruptionBudget")
    assert [budgets[name]["spec"]["selector"]["matchLabels"] for name in budgets] == [
        pods()[name]["metadata"]["labels"] for name in budgets
    ]
    for pod in pods().values():
        for spread in pod["spec"].get("topologySpreadConstraints", ()):
            assert spread["labelSelector"]["matchLabels"] == pod["metadata"]["labels"]
    (service,) = of_kind("Service").values()
    assert service["spec"]["selector"] == pods()["livedata-api"]["metadata"]["labels"]
    (port,) = service["spec"]["ports"]
    assert port["targetPort"] == container(pods()["livedata-api"])["ports"][0]["name"]
    (scaler,) = of_kind("HorizontalPodAutoscaler").values()
    target = scaler["spec"]["scaleTargetRef"]
    assert target["name"] in of_kind(target["kind"])


def test_ports_are_those_at_which_processes_listen() -> None:
    for pod in pods().values():
        only = container(pod)
        (port,) = only["ports"]
        options = dict(zip(only["args"], only["args"][1:], strict=False))
        address = options.get("--metrics") or f"{options['--host']}:{options['--port']}"
        assert address == f"0.0.0.0:{port['containerPort']}"
        asked = {(probe.get("httpGet") or probe["tcpSocket"])["port"] for _, probe in probes()}
        assert port["name"] in asked
        told = pod["metadata"].get("annotations", {}).get("prometheus.io/port")
        assert told in {None, str(port["containerPort"])}


def test_pods_may_do_no_more_than_the_image_needs() -> None:
    (user, group) = re.findall(r"^USER (\d+):(\d+)$", CONTAINER_FILE, re.MULTILINE)[0]
    assert f"useradd --uid {user}" in CONTAINER_FILE
    for pod in pods().values():
        of_pod, of_container = pod["spec"]["securityContext"], container(pod)["securityContext"]
        assert (of_pod["runAsNonRoot"], of_pod["runAsUser"]) == (True, int(user))
        assert of_pod["runAsGroup"] == of_pod["fsGroup"] == int(group)
        assert of_container == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        mounts = {each["mountPath"]: each["name"] for each in container(pod)["volumeMounts"]}
        assert set(mounts) == {HOME, "/tmp"}
        assert set(mounts.values()) == {each["name"] for each in pod["spec"]["volumes"]}
    assert f"LIVEDATA_HOME={HOME}\n" in CONTAINER_FILE


def test_whoever_is_told_to_end_has_the_time_that_it_takes() -> None:
    needed = max(server.GRACE, supervisor.GRACE) + SPARE
    for pod in pods().values():
        pause = container(pod).get("lifecycle", {}).get("preStop", {}).get("sleep", {})
        given = pod["spec"]["terminationGracePeriodSeconds"]
        assert given >= pause.get("seconds", 0) + needed
    for name in ("api", "worker"):
        assert int(composed()["services"][name]["stop_grace_period"].removesuffix("s")) >= needed
    assert all(int(unit(file)["Service"]["TimeoutStopSec"]) >= needed for file in UNITS)


def test_the_times_that_the_manifests_and_the_page_tell_are_those_of_the_code() -> None:
    lease = queue.LEASE // 1_000_000
    worker = (KUBERNETES / "worker.yaml").read_text()
    assert f"within {supervisor.GRACE:g} s. Those" in worker
    assert f"{lease} s after the last sign of life" in worker
    page = " ".join(section("Kubernetes").split())
    assert f"gives its Runs back within {supervisor.GRACE:g} seconds" in page
    assert f"when their leases of {lease} seconds end, within two minutes" in page
    assert lease + SLOW_POLL < 120


def test_livedata_ends_a_process_that_holds_too_much_before_the_kernel_does() -> None:
    megabytes = int(of_kind("ConfigMap")["livedata"]["data"]["LIVEDATA_CRAWLER_MEMORY"])
    for name in ("livedata-worker", "livedata-scheduler"):
        only = container(pods()[name])
        limit = only["resources"]["limits"]["memory"]
        crawlers = int(only["args"][only["args"].index("--crawlers") + 1])
        # One for what is isolated stands beside each crawl worker.
        processes = 2 * crawlers + looks.AT_ONCE
        most = processes * supervisor.KILLED_ABOVE * megabytes * 1_000_000
        assert int(limit.removesuffix("Gi")) * 1024**3 > most


@pytest.mark.postgres
def test_a_server_whose_store_is_away_is_asked_nothing_and_lives(
    tmp_path: Path, postgres: Server
) -> None:
    paths = {name: probe["httpGet"]["path"] for name, probe in probes() if "httpGet" in probe}
    assert set(paths) == {"startupProbe", "readinessProbe", "livenessProbe"}
    name = postgres.create()
    (tmp_path / "config.toml").write_text(f'database_url = "{postgres.url(name)}"\n')
    with Serving(tmp_path) as served:
        base = f"http://127.0.0.1:{served.port}"
        assert {_status(base + path) for path in paths.values()} == {200}
        postgres.rename(name)
        after = {each: _status(base + path) for each, path in paths.items()}
    assert after == {"startupProbe": 503, "readinessProbe": 503, "livenessProbe": 200}


def _status(url: str) -> int:
    try:
        with closing(urlopen(url, timeout=30)) as answer:
            return int(answer.status)
    except HTTPError as error:
        with closing(error):
            return int(error.code)


def test_the_autoscaler_asks_for_a_metric_that_there_is(store: Store) -> None:
    (scaler,) = of_kind("HorizontalPodAutoscaler").values()
    (metric,) = scaler["spec"]["metrics"]
    name = metric["external"]["metric"]["name"]
    values = yaml.safe_load((DEPLOY / "prometheus-adapter.yaml").read_text())
    (rule,) = values["rules"]["external"]
    assert rule["seriesQuery"].partition("{")[0] == name
    with (
        serving_metrics(store, ("127.0.0.1", 0)) as (_, port),
        urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer,
    ):
        told = answer.read().decode()
    assert f"\n{name} 0" in told
    # What tells it is a process that Prometheus is shown.
    scraped = [name for name, pod in pods().items() if "annotations" in pod["metadata"]]
    assert scraped == ["livedata-scheduler"]
