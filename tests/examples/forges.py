"""What executes the steps of examples/ci as they stand there: a bare remote, and its CI.

What cannot be had here has the nearest thing in its place: the checkout of a forge is `git clone`,
its artefacts are a folder, and what installs livedata does nothing, as the tests have it. At GitHub
`gh` is a script that asks files in place of the API; at GitLab curl asks a server on loopback.
"""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import parse_qs

import yaml  # type: ignore[import-untyped]
from typing_extensions import override

from tests.site import Answer
from tests.test_readme import ROOT

if TYPE_CHECKING:
    from tests.site import Request, Site

CI = ROOT / "examples" / "ci"
INSTALL = "pip install"
GH = f"""#!{sys.executable}
import json, os, pathlib, shutil, subprocess, sys
forge = pathlib.Path(os.environ["FORGE"])
words = sys.argv[1:]
given = dict(zip(words, words[1:]))
comments = forge / "comments.json"
if words[:2] == ["run", "download"]:
    assert given["--name"] == "store", words
    shutil.copytree(forge / "artifacts" / words[2], given["--dir"], dirs_exist_ok=True)
elif "-X" in given:
    assert words[0] == "api" and given["-F"].startswith("body=@"), words
    said = json.loads(comments.read_text())
    body = pathlib.Path(given["-F"].removeprefix("body=@")).read_text()
    if given["-X"] == "POST":
        assert words[3].endswith("/issues/7/comments"), words
        user = {{"login": "github-actions[bot]"}}
        said.append({{"id": len(said) + 1, "user": user, "body": body}})
    else:
        [old] = [each for each in said if words[3].endswith(f"/issues/comments/{{each['id']}}")]
        old["body"] = body
    comments.write_text(json.dumps(said))
else:
    assert words[0] == "api", words
    file = comments if "comments" in " ".join(words) else forge / "artifacts.json"
    subprocess.run(["jq", "-r", given["--jq"]], stdin=file.open(), check=True)
"""


class Forge(ABC):
    """A forge with one repository, of which ``work`` is Alice's clone."""

    file: ClassVar[str]

    def __init__(self, home: Path, site: Site) -> None:
        self.home, self.site = home, site
        self.accept = ""
        """The Run that a person accepts who starts the nightly job by hand."""
        self.remote, self.work = home / "remote.git", home / "work"
        self.jobs: dict[str, Any] = yaml.safe_load((CI / self.file).read_text())
        self.git("init", "-q", "--bare", "-b", "main", str(self.remote), at=home)
        self.git("config", "receive.advertisePushOptions", "true", at=self.remote)
        self.git("clone", "-q", str(self.remote), str(self.work), at=home)

    @property
    def environ(self) -> dict[str, str]:
        """The environment of a runner, and of Alice: nothing of this machine's git counts."""
        return {
            "PATH": f"{self.home}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(self.home),
            "PYTHONPATH": str(ROOT),
            "LIVEDATA_ALLOW_HOSTS": self.site.host,
            "GIT_CONFIG_NOSYSTEM": "1",
        }

    def git(self, *args: str, at: Path | None = None) -> str:
        who = ("-c", "user.name=Alice", "-c", "user.email=alice@shop.example")
        return self.typed(["git", *who, *args], at or self.work)

    def typed(self, words: list[str], at: Path | None = None) -> str:
        """What Alice types, and what it prints."""
        done = subprocess.run(
            words,
            cwd=at or self.work,
            env=self.environ,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done
        return done.stdout

    def push(self, branch: str = "main") -> None:
        """Commit all that Alice has written, and push it."""
        self.git("add", "-A")
        self.git("commit", "-q", "-m", f"On {branch}")
        self.git("push", "-q", "origin", f"HEAD:{branch}")

    def _clone(self, branch: str) -> Path:
        place = self.home / "runner"
        shutil.rmtree(place, ignore_errors=True)
        self.git("clone", "-q", "-b", branch, str(self.remote), str(place), at=self.home)
        return place

    def shell(self, script: str, at: Path, environ: dict[str, str]) -> tuple[int, str]:
        """How a script ends, as runners start it, and what it prints."""
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", script],
            cwd=at,
            env={**self.environ, **environ},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout

    @abstractmethod
    def check(self, branch: str) -> tuple[int, str]:
        """How the job for a pull request from a branch ends, and its log."""

    @abstractmethod
    def tables(self) -> tuple[int, str]:
        """How the nightly job ends, and its log."""

    @property
    @abstractmethod
    def comments(self) -> list[str]:
        """What stands below the pull request."""


class GitHub(Forge):
    """Steps that one job has; `gh` asks the files ``artifacts.json`` and ``comments.json``."""

    file = "github.yml"

    def __init__(self, home: Path, site: Site) -> None:
        super().__init__(home, site)
        gh = home / "gh"
        gh.write_text(GH)
        gh.chmod(0o755)
        # A store that a fork has left with the name of ours, and one that GitHub has deleted.
        ours = {"head_branch": "main", "repository_id": 1}
        self.kept: list[dict[str, Any]] = [
            {"expired": False, "workflow_run": {"id": 8, "head_repository_id": 2, **ours}},
            {"expired": True, "workflow_run": {"id": 9, "head_repository_id": 1, **ours}},
        ]
        self._write_artifacts()
        (home / "comments.json").write_text("[]")

    def _write_artifacts(self) -> None:
        (self.home / "artifacts.json").write_text(json.dumps({"artifacts": self.kept}))

    @override
    def check(self, branch: str) -> tuple[int, str]:
        return self._job("check", branch)

    @override
    def tables(self) -> tuple[int, str]:
        return self._job("tables", "main")

    @property
    @override
    def comments(self) -> list[str]:
        return [each["body"] for each in json.loads((self.home / "comments.json").read_text())]

    def _job(self, name: str, branch: str) -> tuple[int, str]:
        place, log = self._clone(branch), ""
        state = self.home / "environment"
        state.write_text("")
        for step in self.jobs["jobs"][name]["steps"]:
            assert step.get("if", _OURS) == _OURS, step
            if "uses" in step:
                _ACTIONS[step["uses"]](self, step, place)
            elif not step["run"].startswith(INSTALL):
                kept = dict(line.split("=", 1) for line in state.read_text().splitlines())
                code, said = self.shell(step["run"], place, {**self._environ(step), **kept})
                log += said
                if code:
                    return code, log
        return 0, log

    def _environ(self, step: dict[str, Any]) -> dict[str, str]:
        given = {**self.jobs["env"], **step.get("env", {})}
        return {
            "FORGE": str(self.home),
            "GITHUB_ENV": str(self.home / "environment"),
            "GITHUB_STEP_SUMMARY": str(self.home / "summary.md"),
            "GITHUB_REPOSITORY": "alice/tables",
            **{name: self._expression(value) for name, value in given.items()},
        }

    def _expression(self, text: str) -> str:
        known = {**_EXPRESSIONS, "inputs.accept": self.accept}
        return re.sub(r"\$\{\{ (.*?) \}\}", lambda match: known[match[1]], text)

    def _upload(self, step: dict[str, Any], place: Path) -> None:
        given, run = step["with"], 10 + len(self.kept)
        assert not given["path"].startswith("."), "hidden files are left out"
        shutil.copytree(place / given["path"], self.home / "artifacts" / str(run))
        ours = {"head_branch": "main", "repository_id": 1, "head_repository_id": 1}
        # The newest stands first.
        self.kept.insert(0, {"expired": False, "workflow_run": {"id": run, **ours}})
        self._write_artifacts()


_OURS = "github.event.pull_request.head.repo.full_name == github.repository"
_ACTIONS = {
    "actions/checkout@v4": lambda *_: None,
    "actions/setup-python@v5": lambda *_: None,
    "actions/upload-artifact@v4": GitHub._upload,
}
"""What stands for an action; the clone is there before the first step."""
_EXPRESSIONS = {
    "github.token": "token",
    "github.event.repository.default_branch": "main",
    "github.event.pull_request.number": "7",
}


class GitLab(Forge):
    """Scripts of jobs, each in one shell; the API answers on loopback."""

    file = "gitlab-ci.yml"
    _API = "/api/v4/projects/7"
    _PUSHED = "https://livedata:secret@gitlab.example/alice/tables.git"

    def __init__(self, home: Path, site: Site) -> None:
        super().__init__(home, site)
        self.notes: list[str] = []
        self.packed: bytes | None = None
        site.route(f"{self._API}/jobs/artifacts/main/download?job=tables", self._download)
        site.route(f"{self._API}/merge_requests/3/notes", self._note)

    @override
    def check(self, branch: str) -> tuple[int, str]:
        return self._job("check", self._clone(branch))

    @override
    def tables(self) -> tuple[int, str]:
        place = self._clone("main")
        self.git("checkout", "-q", "--detach", at=place)
        code, log = self._job("tables", place)
        if code:
            return code, log
        # An artefact is given once its pipeline has passed, as it does where the next job may fail.
        assert self.jobs["accepted"]["allow_failure"] is True
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w") as packed:
            for folder in self.jobs["tables"]["artifacts"]["paths"]:
                for file in (place / folder).rglob("*"):
                    packed.write(file, file.relative_to(place))
        self.packed = stream.getvalue()
        code, said = self._job("accepted", place)
        return code, log + said

    @property
    @override
    def comments(self) -> list[str]:
        return self.notes

    def _job(self, name: str, place: Path) -> tuple[int, str]:
        job = {**self.jobs["default"], **self.jobs[name]}
        lines = [*job["before_script"], *job["script"]]
        script = "\n".join(line for line in lines if not line.startswith(INSTALL))
        return self.shell(script, place, self._environ())

    def _environ(self) -> dict[str, str]:
        return {
            **self.jobs["variables"],
            "CI_API_V4_URL": self.site.at("/api/v4"),
            "CI_PROJECT_ID": "7",
            "CI_PROJECT_PATH": "alice/tables",
            "CI_SERVER_HOST": "gitlab.example",
            "CI_DEFAULT_BRANCH": "main",
            "CI_MERGE_REQUEST_IID": "3",
            "CI_JOB_TOKEN": "job",
            "LIVEDATA_TOKEN": "secret",
            "ACCEPT": self.accept,
            # The remote stands at this address.
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": f"url.{self.remote}.insteadOf",
            "GIT_CONFIG_VALUE_0": self._PUSHED,
        }

    def _download(self, request: Request) -> Answer:
        if request.headers.get("job-token") != "job":
            return Answer(401, "")
        return Answer(404, "") if self.packed is None else Answer(200, self.packed)

    def _note(self, request: Request) -> Answer:
        if request.headers.get("private-token") != "secret" or request.method != "POST":
            return Answer(401, "")
        self.notes.append(parse_qs(request.body.decode())["body"][0])
        return Answer(201, "")
