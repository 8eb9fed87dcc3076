"""The files of examples/ci: their commands are executed as they stand there."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml  # type: ignore[import-untyped]

from livedata.formats.source_toml import write_source
from tests.crawling import shop_source
from tests.examples.forges import CI, Forge, GitHub, GitLab
from tests.test_readme import ROOT, blocks

if TYPE_CHECKING:
    from tests.site import Site

ITEM = '<li class="product" data-sku="{0}"><h2><a>{0}</a></h2><b class="price">{1}</b></li>'
SCHEMAS = {"github.yml": "vendor.github-workflows", "gitlab-ci.yml": "vendor.gitlab-ci"}


def page(**prices: int) -> str:
    return "".join(ITEM.format(name, price) for name, price in prices.items())


@pytest.fixture(params=[GitHub, GitLab])
def forge(request: pytest.FixtureRequest, tmp_path: Path, site: Site) -> Forge:
    """A repository with two sources, of which lamps has saved pages."""
    made: Forge = request.param(tmp_path, site)
    site.pages({"/lamps": page(red=10, blue=20), "/pots": page(**POTS)})
    declare(made, "lamps", ".price", BESIDE)
    declare(made, "pots", ".price", {})
    lamps = ["sources/lamps.toml", "--save", "sources/lamps.pages"]
    made.typed([*LIVEDATA, "preview", *lamps])
    made.push()
    return made


BESIDE: Mapping[str, object] = {"test": {"pages": "lamps.pages"}, "share": [{"label": "sheet"}]}
POTS = {f"p{number}": 1 for number in range(25)}
LIVEDATA = [sys.executable, "-m", "livedata"]


def declare(forge: Forge, name: str, price: str, beside: Mapping[str, object]) -> None:
    """Write a source with two columns, both of which each record must have."""
    declared = shop_source(forge.site.at(f"/{name}"))
    reads = {field["name"]: field["read"] for field in declared["source"]["fields"]}
    reads = {"sku": reads["sku"], "price": {"selector": price}}
    fields = [{"name": name, "read": read, "required": True} for name, read in reads.items()]
    source = {**declared["source"], "fields": fields}
    columns = [column for column in declared["columns"] if column["name"] in reads]
    whole = {**declared, "name": name, "columns": columns, "source": source, **beside}
    file = forge.work / "sources" / f"{name}.toml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(write_source(whole))


def of_main(forge: Forge, file: str) -> str:
    return forge.git("show", f"main:{file}", at=forge.remote)


def changed(forge: Forge) -> list[str]:
    """The lines that the last commit of main takes away and adds."""
    shown = forge.git("show", "--format=", "main", at=forge.remote).splitlines()
    return [line for line in shown if line[0] in "+-" and not line.startswith(("+++", "---"))]


@pytest.mark.slow
def test_tables_are_made_at_night_and_git_shows_what_changed(forge: Forge) -> None:
    code, log = forge.tables()
    assert code == 0, log
    assert of_main(forge, "tables/lamps.csv") == "sku,price\nblue,20\nred,10\n"
    assert len(of_main(forge, "tables/pots.csv").splitlines()) == 1 + len(POTS)
    # The address of the share is shown once, and not where others read.
    assert "shown only now" not in log
    # The next night the store is there. The site has another order and another price, and one of
    # its lists is nearly empty: that is said, and the other table is committed all the same.
    forge.site.page("/lamps", page(red=12, blue=20))
    forge.site.page("/pots", page(p1=1))
    code, log = forge.tables()
    assert code == 5
    assert changed(forge) == ["-red,10", "+red,12"]
    # The store of a night that failed is kept as any other: Alice accepts what it has.
    held = re.search(r"livedata runs show (\S+)", log)
    assert held, log
    forge.accept = held[1]
    code, log = forge.tables()
    assert code == 0, log
    assert "pots: accepted, 0 new, 0 changed, 24 gone" in log
    assert of_main(forge, "tables/pots.csv") == "sku,price\np1,1\n"
    forge.accept = ""
    before = forge.git("rev-parse", "main", at=forge.remote)
    code, log = forge.tables()
    assert code == 0, log
    assert forge.git("rev-parse", "main", at=forge.remote) == before


@pytest.mark.slow
def test_a_pull_request_is_told_what_it_would_change(forge: Forge) -> None:
    # Before the first night there is no store.
    code, log = forge.check("main")
    assert code == 0, log
    assert "Would be: 2 created." in forge.comments[-1]
    assert "A Run of the saved pages would add 2 rows" in forge.comments[-1]
    assert forge.tables()[0] == 0
    # A selector that nobody could read, then one that reads something else.
    for price, said in [
        ("b:price", "The pseudo-class ':price' is not supported"),
        ("h2", "2 changed, 0 gone; 0 rows as saved."),
    ]:
        declare(forge, "lamps", price, BESIDE)
        forge.push(f"with-{price[:1]}")
        code, log = forge.check(f"with-{price[:1]}")
        assert code == 1
        assert said in log
    declare(forge, "lamps", "b.price", BESIDE)
    forge.push("mended")
    code, log = forge.check("mended")
    assert code == 0, log
    assert "Would be: 1 revised and 1 unchanged." in forge.comments[-1]
    assert "selector of price" in forge.comments[-1]
    # At GitHub a pull request has one comment, which is written anew.
    assert len(forge.comments) == (1 if isinstance(forge, GitHub) else 2)


OFFER = (
    '<li class="product"><a href="/{0}/{1}"><h2>{0} number {1}</h2></a> <b class="price">{1}0</b> '
    '<i class="offer">{1}5</i></li>'
)
PAGE = (ROOT / "docs" / "how-to" / "ci.md").read_text()


@pytest.mark.slow
def test_the_how_to_leads_from_nothing_to_a_commented_pull_request(
    tmp_path: Path, site: Site
) -> None:
    forge = GitHub(tmp_path, site)
    for name in ("kettles", "pots", "pans", "cups", "lids"):
        items = "".join(OFFER.format(name, number) for number in range(1, 6))
        site.page(f"/{name}", f"<title>{name}</title><ul>{items}</ul>")
    environ = {
        "LIVEDATA": str(ROOT),
        "EMAIL": "alice@shop.example",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.{forge.remote}.insteadOf",
        "GIT_CONFIG_VALUE_0": "git@github.com:alice/tables.git",
    }
    begin = PAGE.partition("## What the plan is compared with")[0]
    place = tmp_path
    for text in blocks(begin.replace("https://shop.example", site.url), "sh"):
        if text.startswith("git pull"):
            assert forge.tables()[0] == 0
        if "--update" in text:
            code, log = forge.check("mend-prices")
            assert code == 1
            assert "price: 10 → 15" in log
        code, said = forge.shell(text, place, environ)
        assert code == 0, said
        place = tmp_path / "tables"
    code, log = forge.check("mend-prices")
    assert code == 0, log
    [comment] = forge.comments
    assert "Would be: 1 revised and 4 unchanged." in comment
    assert "0 new, 5 changed, 0 gone" in comment
    assert all(said in PAGE for said in ("Would be: 1 revised and 4 unchanged.", "5 changed"))


@pytest.mark.parametrize("file", SCHEMAS)
def test_a_forge_takes_the_file(file: str, tmp_path: Path) -> None:
    def judged(path: Path) -> int:
        words = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", SCHEMAS[file]]
        return subprocess.run([*words, str(path)], check=False, capture_output=True).returncode

    assert judged(CI / file) == 0
    wrong = tmp_path / file
    text = (CI / file).read_text()
    wrong.write_text(text.replace("runs-on:", "run-on:").replace("  script:", "  scripts:"))
    assert judged(wrong) != 0


@pytest.mark.parametrize("file", ["pre-commit-config.yaml", ".pre-commit-hooks.yaml"])
def test_a_commit_of_a_wrong_source_is_stopped(file: str, tmp_path: Path, site: Site) -> None:
    forge = GitHub(tmp_path, site)
    [hook] = (
        yaml.safe_load((CI / file).read_text())["repos"][0]["hooks"]
        if file == "pre-commit-config.yaml"
        # As of a repository of hooks it would be installed first: here livedata is there already.
        else yaml.safe_load((ROOT / file).read_text())
    )
    config = {"repos": [{"repo": "local", "hooks": [{**hook, "language": "system"}]}]}
    (forge.work / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config))
    declare(forge, "lamps", ".price", {})
    pre_commit = [sys.executable, "-m", "pre_commit"]
    forge.typed([*pre_commit, "install"])
    forge.push()
    declare(forge, "lamps", "b:wrong", {})
    forge.git("add", "-A")
    done = subprocess.run(
        ["git", "-c", "user.name=A", "-c", "user.email=a@b.example", "commit", "-m", "Wrong"],
        cwd=forge.work,
        env=forge.environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "sources/lamps.toml:" in done.stdout + done.stderr
