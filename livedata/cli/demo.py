"""``demo``: the main job in a minute, over a small shop that changes."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import click

from livedata.cli.demo_shop import LATER, Shop, served
from livedata.cli.output.streams import print_text
from livedata.hints import quoted


@click.command()
@click.option("--keep", is_flag=True, help="Keep the folder with the store and the source.")
def demo(keep: bool) -> None:
    """Show what livedata does, without any set-up or network.

    Serves a small shop on loopback, makes a table of it, changes the shop, and shows what the
    table and its history become, with the commands that you would type. Nothing is left behind.
    """
    with _folder(keep) as folder, served() as host:
        shell = _Shell(folder, host)
        (folder / "source.toml").write_text(SOURCE.format(url=f"http://{host}"), encoding="utf-8")
        print_text("A small shop is served on loopback, and source.toml says how to read it.")
        shell.types("dataset create source.toml")
        shell.types("run demo-shop")
        shell.types("rows list demo-shop")
        print_text("\nYou know a better price of the kettle, and write it into the table.")
        shell.types("rows edit demo-shop K-100 price=29.90")
        # The server makes a handler per request, so the class has what the shop sells.
        Shop.items = LATER
        print_text("\nThe shop changes: lamp cheaper, kettle dearer, teapot gone, a whisk is new.")
        shell.types("run demo-shop")
        # The first Run wrote a revision for each of the four items, the edit one more.
        shell.types("changes demo-shop --after 5")
        print_text("\nYour edit stays. Each cell has the text and the page that it was read from:")
        shell.types("rows show demo-shop L-200")
        Shop.heading = "h3"
        print_text("\nThe shop is redesigned: names stand in <h3> now, so a selector died.")
        shell.types("run demo-shop", expected=3)
        shell.types("runs explain demo-shop")
        print_text("\nNothing of it was accepted: the rows are as they were.")
        shell.types("rows list demo-shop")
        shell.types("check")
        if keep:
            print_text(
                f"\nKept: {folder}. Look around: LIVEDATA_HOME={quoted(str(folder))} "
                "livedata dataset list"
            )


SOURCE = """\
name = "demo-shop"

[[columns]]
name = "sku"
type = "string"
key = true

[[columns]]
name = "name"
type = "string"

[[columns]]
name = "price"
type = "number"

[source]
version = 1
url = "{url}/1"
itemSelector = "ul.products > li"
identity = {{ kind = "source-key", field = "sku" }}
pagination = {{ kind = "next-link", selector = "a.next" }}

[[source.fields]]
name = "sku"
read = {{ kind = "attribute", attribute = "data-sku" }}

[[source.fields]]
name = "name"
read = {{ selector = "h2" }}
required = true

[[source.fields]]
name = "price"
read = {{ selector = ".price" }}
"""


class _Shell(NamedTuple):
    folder: Path
    host: str

    def types(self, line: str, expected: int = 0) -> None:
        """Show a command and run it as the person at the shell would."""
        print_text(f"\n$ livedata {line}")
        environment = {
            **os.environ,
            "LIVEDATA_HOME": str(self.folder),
            # The demo must never touch the store of the person who tries it.
            "LIVEDATA_DATABASE_URL": "",
            # Runs read no addresses of this machine unless they are allowed by name.
            "LIVEDATA_ALLOW_HOSTS": self.host,
        }
        # A process each, as at a shell: what is shown then went through the store.
        # -P: nothing in the working folder may stand in for the package.
        words = [sys.executable, "-P", "-m", "livedata", *shlex.split(line)]
        code = subprocess.run(words, cwd=self.folder, env=environment, check=False).returncode  # noqa: S603  (our own words)
        if code != expected:
            raise click.ClickException(f"livedata {line} ended with {code} instead of {expected}.")


@contextmanager
def _folder(keep: bool) -> Iterator[Path]:
    if keep:
        yield Path(tempfile.mkdtemp(prefix="livedata-demo-"))
        return
    with tempfile.TemporaryDirectory(prefix="livedata-demo-") as name:
        yield Path(name)
