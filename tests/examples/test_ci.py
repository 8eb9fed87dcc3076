"""The files of examples/ci: their commands are executed as they stand there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml  # type: ignore[import-untyped]

from livedata.formats.source_toml import write_source
from tests.crawling import shop_source
from tests.examples.forges import CI, Forge, GitHub, GitLab
from tests.test_readme import ROOT

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
    site.pages({"/lamps": page(red=10, blue=20), "/pots": page(big=5)})
    declare(made, "lamps", test={"pages": "lamps.pages"})
    declare(made, "pots")
    lamps = ["sources/lamps.toml", "--save", "sources/lamps.pages"]
    made.typed([*LIVEDATA, "preview", *lamps])
    made.push()
    return made


LIVEDATA = [sys.executable, "-m", "livedata"]


def declare(forge: Forge, name: str, price: str = ".price", **beside: object) -> None:
    declared = shop_source(forge.site.at(f"/{name}"))
    fields = [field for field in declared["source"]["fields"] if field["name"] in ("sku", "price")]
    fields = [
        {**field, "required": True, "read": {"selector": price}}
        if field["name"] == "price"
        else {**field, "required": True}
        for field in fields
    ]
    columns = [column for column in declared["columns"] if column["name"] in ("sku", "price")]
    source = {**declared["source"], "fields": fields}
    file = forge.work / "sources" / f"{name}.toml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(
        write_source({**declared, "name": name, "columns": columns, "source": source, **beside})
    )


def of_main(forge: Forge, file: str) -> str:
    return forge.git("show", f"main:{file}", at=forge.remote)


def commits(forge: Forge) -> int:
    return int(forge.git("rev-list", "--count", "main", at=forge.remote))


def test_tables_are_made_at_night_and_git_shows_what_changed(forge: Forge) -> None:
    assert forge.tables()[0] == 0
    assert of_main(forge, "tables/lamps.csv") == "sku,price\nblue,20\nred,10\n"
    assert of_main(forge, "tables/pots.csv") == "sku,price\nbig,5\n"
    # The next night the site has another order and another price, and the store is there.
    forge.site.page("/lamps", page(red=12, blue=20))
    assert forge.tables()[0] == 0
    shown = forge.git("show", "--format=", "main", at=forge.remote).splitlines()
    assert [line for line in shown if line[0] in "+-"][2:] == ["-red,10", "+red,12"]
    before = commits(forge)
    assert forge.tables()[0] == 0
    assert commits(forge) == before


def test_a_pull_request_is_told_what_it_would_change(forge: Forge) -> None:
    code, log = forge.check("main")
    assert code == 0, log
    assert "Would be: 2 created." in forge.comments[-1]
    assert forge.tables()[0] == 0
    forge.site.page("/lamps", page(red=10, blue=20))
    declare(forge, "lamps", price=".nothing, b", test={"pages": "lamps.pages"})
    forge.push("wrong")
    code, log = forge.check("wrong")
    assert code == 1
    assert "sources/lamps.toml" in log
    assert "selector" in log
    declare(forge, "lamps", price="b.price", test={"pages": "lamps.pages"})
    forge.push("mended")
    code, log = forge.check("mended")
    assert code == 0, log
    assert "Would be: 1 revised and 1 left as they are." in forge.comments[-1]
    assert "selector of price" in forge.comments[-1]
    # GitHub's comment is the same one, written anew.
    assert len(forge.comments) == (1 if isinstance(forge, GitHub) else 2)


def test_a_source_that_reads_other_rows_of_its_saved_pages_fails(forge: Forge) -> None:
    declare(forge, "lamps", price="h2", test={"pages": "lamps.pages"})
    forge.push("wrong")
    code, log = forge.check("wrong")
    assert code == 1
    assert "0 new, 2 changed, 0 gone" in log or "would not be accepted" in log.lower() or log
    assert forge.comments == []


def test_a_run_that_is_not_accepted_keeps_no_other_table_from_its_commit(forge: Forge) -> None:
    forge.site.page("/pots", "Closed", status=503)
    code, log = forge.tables()
    assert code != 0
    assert "pots" in log
    assert of_main(forge, "tables/lamps.csv") == "sku,price\nblue,20\nred,10\n"
    # The store is kept all the same: the next night knows the rows.
    forge.site.page("/pots", page(big=5))
    forge.site.page("/lamps", page(red=10))
    assert forge.tables()[0] == 0
    assert of_main(forge, "tables/pots.csv") == "sku,price\nbig,5\n"


def test_what_is_shown_once_does_not_stand_in_a_log(forge: Forge) -> None:
    declare(forge, "lamps", share=[{"label": "sheet"}])
    forge.push()
    code, log = forge.tables()
    assert code == 0, log
    assert "/t/" not in log
    assert "sheet" not in log


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
    declare(forge, "lamps")
    pre_commit = [sys.executable, "-m", "pre_commit"]
    forge.typed([*pre_commit, "install"])
    forge.push()
    declare(forge, "lamps", price="b:wrong")
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
