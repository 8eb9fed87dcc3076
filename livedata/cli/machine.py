"""What of this machine endangers a store, and what Runs find on it: browser, model and search."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from livedata.config import Settings
from livedata.hints import install_command
from livedata.messages.templates import plural
from livedata.model.research.settings import ResearchSettings
from livedata.research.providers import PACKAGES

if TYPE_CHECKING:
    from livedata.research.providers.trial import Tried

_NETWORK = frozenset(
    {
        *("9p", "afs", "beegfs", "ceph", "cifs", "fuse.glusterfs", "fuse.sshfs", "glusterfs"),
        *("gpfs", "lustre", "ncpfs", "nfs", "nfs4", "smb2", "smb3", "smbfs", "vboxsf", "virtiofs"),
    }
)
"""The types of file systems on which the locks of SQLite, or its shared memory, do not hold."""
BROWSERS = ("chromium-headless-shell", "chromium")
"""As the crawler looks for them; to ask it would cost the import of Scrapy."""
_MOUNTS = Path("/proc/self/mountinfo")


def dangers(settings: Settings) -> Iterator[str]:
    """What is not safe about where the store and its settings are, as sentences."""
    for place in (settings.home, settings.home / "config.toml"):
        yield from _read_by_others(place)
    url = urlsplit(settings.database_url)
    if url.scheme != "sqlite":
        return
    file = Path(settings.database_url.removeprefix("sqlite:///"))
    if file.parent != settings.home:
        yield from _read_by_others(file)
    kind = file_system(file)
    if kind in _NETWORK:
        yield (
            f"The store {file} is on a file system of another machine ({kind}), where SQLite may "
            "be damaged: move it to a local disk, or keep the store in PostgreSQL."
        )


def file_system(path: Path, mounts: Path = _MOUNTS) -> str:
    """The type of the file system that a path is on; empty if that is not known."""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""  # a system without /proc
    path, nearest = path.resolve(), ("", "")
    for line in lines:
        # 36 35 98:0 /root /mount options optional - type source options
        before, _, after = line.partition(" - ")
        mount = before.split()[4].replace("\\040", " ")
        if path.is_relative_to(mount) and len(mount) >= len(nearest[0]):
            nearest = mount, after.split()[0]
    return nearest[1]


def browser(settings: Settings) -> str:
    """The browser that Runs with ``render = "browser"`` start, or why there is none."""
    if find_spec("playwright") is None:
        return f"none: {install_command('browser')}"
    if settings.browser:
        named = Path(settings.browser).expanduser()
        usable = named.is_file() and os.access(named, os.X_OK)
        return (
            str(named) if usable else f"none: LIVEDATA_BROWSER names {named}, which is no program"
        )
    if (path := next(filter(None, map(shutil.which, BROWSERS)), None)) is not None:
        return path
    own = any(place for folder in _playwright() for place in folder.glob("chromium*"))
    return "Playwright's own" if own else "none found on this machine"


def model(settings: ResearchSettings) -> str:
    """The model that research asks, or why there is none."""
    if not settings.model:
        return "none: LIVEDATA_MODEL names one, for research"
    missing = [package for package in PACKAGES if find_spec(package) is None]
    if missing:
        return f"none: {install_command('research')}"
    parts = [f"{settings.model} at {settings.model_base_url}", f"output {settings.model_output}"]
    parts.append("with a key" if settings.model_api_key else "without a key")
    if settings.has_prices:
        prices = f"${settings.model_price_in:g} in, ${settings.model_price_out:g} out"
        parts.append(f"{prices} for a million tokens")
    else:
        parts.append("price not set")
    return ", ".join(parts)


def search(settings: ResearchSettings) -> str:
    """The search that research asks, or what is read without one."""
    if settings.search == "none":
        return "none: research reads the addresses that a dataset names"
    place = f" at {settings.search_url}" if settings.search_url else ""
    return f"{settings.search}{place}, {'with' if settings.search_key else 'without'} a key"


def _playwright() -> Iterator[Path]:
    """The folders in which Playwright may keep its browsers."""
    if named := os.environ.get("PLAYWRIGHT_BROWSERS_PATH"):
        yield Path(named)
    yield Path.home() / ".cache" / "ms-playwright"
    yield Path.home() / "Library" / "Caches" / "ms-playwright"


def _read_by_others(place: Path) -> Iterator[str]:
    try:
        mode, around = place.stat().st_mode, place.parent.stat().st_mode
    except OSError:
        return
    # A file of any mode is out of reach in a folder that nobody else may enter: an editor writes
    # most files readable, and the home is made for its owner alone.
    if mode & 0o044 and (place.is_dir() or around & 0o011):
        allowed = "700" if place.is_dir() else "600"
        yield (
            f"Others on this machine can read {place} ({mode & 0o777:o}), where keys and "
            f"passwords may stand: chmod {allowed} {place}"
        )


def outcome_in_words(tried: Tried) -> str:
    """What became of one output mode."""
    understood = tried.understood
    if understood.failure is not None:
        return f"no answer: {understood.failure.detail or understood.failure.code}"
    usage = understood.usage
    tokens = ""
    if usage.input_tokens is not None and usage.output_tokens is not None:
        tokens = f", {usage.input_tokens + usage.output_tokens:,} tokens"
    refused = f", {len(understood.refused)} refused" if understood.refused else ""
    rows = plural(len(understood.rows), "row")
    return f"{rows} that the page supports{refused}, {tried.seconds:.1f} s{tokens}"


def ask_model(settings: ResearchSettings) -> tuple[str, list[str]]:
    """What is said of the model once it was asked about a small page, and what needs a person."""
    # Imported late: the harness of research, its packages and the parser.
    from livedata.research.providers.trial import MARKUP, PLAN, URL, compiled, page_text, try_modes

    page = page_text(MARKUP.encode(), URL)
    tried: list[Tried] = []
    for each in try_modes(settings, compiled(PLAN), page):
        tried.append(each)
        if each.works:
            break
    first, last = tried[0], tried[-1]
    if first.works:
        return f"it answers, in {first.seconds:.1f} s", []
    why = outcome_in_words(first)
    if not last.works:
        return "it does not answer", [f"The model fills no table in any output mode: {why}."]
    problem = (
        f"The model does not fill a table with the output mode {first.mode} ({why}), and does with "
        f"{last.mode}: set LIVEDATA_MODEL_OUTPUT={last.mode}."
    )
    return f"it answers with output {last.mode}", [problem]
