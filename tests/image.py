"""The image of `examples/deploy/image`, made and run: a container with nothing of this machine.

python -m tests.image                   # two minutes; exit code 1 if anything is wrong
python -m tests.image --browser         # four: with a Chromium, and a Run that needs it
python -m tests.image livedata.tar      # run one that there is

It needs podman besides what the script needs. Where the kernel lets it run nothing, it says why.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.error import URLError
from urllib.request import urlopen

import click

from livedata.worker.supervisor import GRACE
from tests.databases import free_port, running_server
from tests.examples.test_containers import composed
from tests.patience import until
from tests.site import Site
from tests.test_readme import ROOT

USER = 10001
# Without the right to raise a limit, a container gets lower ones than podman would give it.
LIMITS = ("--ulimit", "nofile=1024:4096", "--ulimit", "nproc=4096:4096")
ENGINES: Sequence[tuple[Sequence[str], Sequence[str]]] = (
    ((), ()),
    (("--runtime", "runc"), LIMITS),
    (("--runtime", "crun"), ("--cgroups=disabled", *LIMITS)),
)
"""Words of podman, and of its `run`: with the first of them that works all is run."""


class CannotRun(Exception):
    """No container runs on this machine."""


class Image:
    """An image, of which containers are run as Kubernetes runs them: read-only, without rights."""

    def __init__(self, archive: Path, home: Path, site: Site) -> None:
        self.name = (
            _podman(["load", "--quiet", "--input", str(archive)]).rpartition(": ")[2].strip()
        )
        home.mkdir()
        os.chown(home, USER, USER)
        self._options = [
            *("--rm", "--network", "host", "--read-only", "--cap-drop", "ALL"),
            *("--security-opt", "no-new-privileges", "--tmpfs", "/tmp"),
            *(
                "--volume",
                f"{home}:/var/lib/livedata",
                "--env",
                f"LIVEDATA_ALLOW_HOSTS={site.host}",
            ),
        ]
        said = []
        for engine, limits in ENGINES:
            self._engine, self._limits = engine, limits
            tried = subprocess.run(
                ["podman", *self._command("--version")], capture_output=True, check=False, text=True
            )
            if tried.returncode == 0:
                return
            said.append(f"podman {' '.join(engine)}: {tried.stderr.strip()}")
        raise CannotRun("\n".join(said))

    def run(self, *words: str, options: Sequence[str] = ()) -> str:
        """What `livedata` prints in a container."""
        return _podman(self._command(*words, options=options))

    @contextmanager
    def serving(self, *options: str) -> Iterator[tuple[str, int]]:
        """A container that serves, and its port."""
        port = free_port()
        words = ("serve", "--host", "127.0.0.1", "--port", str(port), "--crawlers", "1")
        detached = ("--detach", *options)
        name = _podman(self._command(*words, options=detached)).strip()
        try:
            until(lambda: _healthy(port))
            yield name, port
        finally:
            _podman([*self._engine, "rm", "--force", name])

    def inside(self, name: str, script: str) -> str:
        """What a shell prints in a container that runs."""
        return _podman([*self._engine, "exec", name, "sh", "-c", script])

    def end(self, name: str) -> tuple[float, int]:
        """Tell a container to end; the seconds that it took, and its exit code."""
        began = time.monotonic()
        _podman([*self._engine, "kill", "--signal", "TERM", name])
        code = _podman([*self._engine, "wait", name])
        return time.monotonic() - began, int(code)

    def _command(self, *words: str, options: Sequence[str] = ()) -> list[str]:
        return [*self._engine, "run", *self._options, *self._limits, *options, self.name, *words]


def _podman(words: Sequence[str]) -> str:
    done = subprocess.run(["podman", *words], capture_output=True, check=False, text=True)
    assert done.returncode == 0, f"podman {' '.join(words)}: {done.stderr}{done.stdout}"
    return done.stdout


def _healthy(port: int) -> bool:
    try:
        with urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5) as answer:
            return bool(answer.status == 200)
    except (URLError, ConnectionError):
        return False


def check_user(image: Image) -> str:
    """Whose process it is, and what that may write."""
    script = "id -u; touch /here /opt/livedata/here 2>&1; touch ~/here /tmp/here && rm ~/here"
    user, *refused = image.run("-c", script, options=("--entrypoint", "sh")).splitlines()
    assert user == str(USER), user
    assert len(refused) == 2, refused
    return f"it runs as user {user}, who writes to its home and /tmp alone"


def check_run(image: Image, site: Site, folder: Path, *store: str, browser: bool = False) -> str:
    """A dataset is created, and a Run of it accepted."""
    source = (ROOT / "examples" / "books.toml").read_text().replace("127.0.0.1:8000", site.host)
    if browser:
        source = source.replace("version = 1\n", 'version = 1\nrender = "browser"\n')
    (folder / "books.toml").write_text(source)
    mount = ("--volume", f"{folder}:/sources:ro", *store)
    # Chromium's own sandbox makes namespaces, which the filter of calls of most engines forbids.
    more = (*mount, "--security-opt", "seccomp=unconfined") if browser else mount
    image.run("dataset", "create", "/sources/books.toml", options=mount)
    image.run("run", "second-hand-books", options=more)
    rows = image.run("dataset", "export", "second-hand-books", options=store).splitlines()[1:]
    assert len(rows) == 7, rows
    return f"a Run{' in a Chromium' if browser else ''} read {len(rows)} rows"


def check_life(image: Image, *store: str) -> str:
    """The compose file finds it healthy, no zombie stays behind, and SIGTERM ends all in time."""
    *_, script = composed()["services"]["api"]["healthcheck"]["test"]
    with image.serving(*store) as (name, port):
        image.inside(name, f"python3 -c '{script.replace(':8000/', f':{port}/')}'")
        image.inside(name, "(sleep 0.1 &)")
        states = "sleep 0.5; cat /proc/[0-9]*/stat | cut -d' ' -f3"
        assert "Z" not in image.inside(name, states).split()
        seconds, code = image.end(name)
    assert (code, seconds < GRACE) == (0, True), (code, seconds)
    return (
        f"a server was healthy, left no zombie, and ended with {code} {seconds:.1f} s after SIGTERM"
    )


def check(archive: Path, *, browser: bool) -> None:
    """Try an image, and print what was seen."""
    with TemporaryDirectory() as place, Site() as site:
        folder = Path(place)
        folder.chmod(0o755)
        site.folder(ROOT / "examples" / "pages" / "books")
        image = Image(archive, folder / "home", site)
        bytes_of = _podman(["image", "inspect", "--format", "{{.Size}}", image.name])
        packed = archive.stat().st_size / 1e6
        click.echo(f"{image.name}: {packed:.0f} MB packed, {int(bytes_of) / 1e6:.0f} MB as it is")
        click.echo(image.run("--version").strip())
        click.echo(check_user(image))
        click.echo(check_run(image, site, folder, browser=browser))
        click.echo(check_life(image))
        with running_server() as server:
            url = f"LIVEDATA_DATABASE_URL={server.url(server.create())}"
            click.echo(f"PostgreSQL: {check_run(image, site, folder, '--env', url)}")
            click.echo(f"PostgreSQL: {check_life(image, '--env', url)}")


def main(words: list[str]) -> int:
    """Make an image, if none is given, and try it."""
    browser = "--browser" in words
    given = [word for word in words if not word.startswith("-")]
    with TemporaryDirectory() as place:
        archive = Path(given[0]) if given else Path(place) / "livedata.tar"
        if not given:
            script = ROOT / "examples" / "deploy" / "image"
            subprocess.run([script, *(["--browser"] if browser else []), archive], check=True)
        try:
            check(archive, browser=browser)
        except CannotRun as error:
            click.echo(f"No container runs on this machine:\n{error}", err=True)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
