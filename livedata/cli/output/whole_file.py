"""Files that appear under their name only when they are complete."""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import shutil
import unicodedata
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Literal

from livedata.messages.templates import few
from livedata.model.errors import Conflict, Invalid, NotFound

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

FileAction = Literal["create", "replace", "leave"]
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)")
"""What a file may not be called on Windows."""
_LONGEST_STEM = 200
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW


def file_stem(name: str) -> str:
    """What the file of a dataset may be called on every system, without its ending.

    Names that differ in case alone have one. Raises Invalid for a name without letters and digits.
    """
    stem = re.sub(r"[^\w.]+", "-", unicodedata.normalize("NFC", name).lower()).strip("-.")
    stem = stem.encode()[:_LONGEST_STEM].decode(errors="ignore")
    if not stem:
        raise Invalid(f'its name "{name}" has no letter and no digit to call a file by.')
    return f"_{stem}" if _RESERVED.match(stem) else stem


def check_output(output: Path, *, force: bool, option: str = "-o") -> None:
    """Refuse at once a file that cannot be written, or that is there and not to be replaced.

    The `option` is the one that names it.
    """
    if not output.parent.is_dir():
        raise NotFound(f"{output} cannot be written: there is no folder {output.parent}.")
    if output.is_dir():
        raise Conflict(f"{output} is a folder; {option} names a file.")
    if output.is_file() and not force:
        raise Conflict(f"{output} exists; --force replaces it, {option} names another file.")


@contextmanager
def whole_file(output: Path) -> Iterator[Path]:
    """Give a fresh file to write, which takes the place of `output` if all goes well.

    A file that is cut in the middle looks like a smaller table, and nothing in it would say so.
    """
    _remove_leftovers(output)
    # In the same folder, where renaming it is one step. Nobody can know the name before, and a link
    # that stands there is not followed.
    part = output.with_name(f".{output.name}.{secrets.token_hex(4)}.part")
    try:
        handle = os.open(part, _NEW, 0o666)
    except FileExistsError:
        raise
    except OSError as error:
        # It is the folder that may not be written, and nobody knows the name of the fresh file.
        raise OSError(error.errno, error.strerror, str(output)) from error
    with os.fdopen(handle, "rb+") as held:
        # While it is written it is locked: a file of that name without a lock is a leftover.
        fcntl.flock(held, fcntl.LOCK_EX)
        try:
            yield part
            # Without this a power cut may leave an empty file under the whole one's name.
            os.fsync(held.fileno())
            part.replace(output)
        finally:
            part.unlink(missing_ok=True)


def write_whole_files(
    texts: Mapping[Path, str], folder: Path, *, force: bool
) -> Mapping[Path, FileAction]:
    """Write files of `folder`, all or none, and say what became of each; it is made if need be.

    A file that says the same is left alone. Raises Conflict for those that say something else,
    unless they may be replaced; they are back in their places if another cannot be written.
    """
    actions = {file: _action(file, text) for file, text in texts.items()}
    others = [str(file) for file, action in actions.items() if action == "replace"]
    if others and not force:
        raise Conflict(
            f"{few(others)} would be written with another content; --force replaces what is there. "
            "Nothing was written."
        )
    # Where renaming is one step, also if the folder is on a disk of its own.
    beside = folder / "_" if folder.is_dir() else folder
    beside.absolute().parent.mkdir(parents=True, exist_ok=True)
    with fresh_folder(beside.absolute()) as scratch:
        fresh = scratch / "fresh"
        fresh.mkdir()
        wanted = [file for file, action in actions.items() if action != "leave"]
        for file in wanted:
            (fresh / file.name).write_text(texts[file], encoding="utf-8", newline="\n")
        if folder.is_dir():
            _place(wanted, fresh, scratch)
        else:
            fresh.rename(folder)
    return actions


def _action(file: Path, text: str) -> FileAction:
    if file.is_dir():
        raise Conflict(f"{file} is a folder, where a file would stand. Nothing was written.")
    if not (file.exists() or file.is_symlink()):
        return "create"
    return "leave" if file.is_file() and file.read_bytes() == text.encode() else "replace"


def _place(files: Sequence[Path], fresh: Path, scratch: Path) -> None:
    placed: list[tuple[Path, Path | None]] = []
    try:
        for number, file in enumerate(files):
            there = file.exists() or file.is_symlink()
            placed.append((file, file.rename(scratch / str(number)) if there else None))
            (fresh / file.name).rename(file)
    except BaseException:
        for file, old in placed:
            file.unlink(missing_ok=True)
            if old is not None:
                old.rename(file)
        raise


@contextmanager
def fresh_folder(beside: Path) -> Iterator[Path]:
    """Give a folder beside `beside` for what is written in several files; at the end it is gone."""
    # With the slash only folders: rmtree would open a pipe of that name, and wait.
    for path in beside.parent.glob(".livedata-*.part/"):
        with suppress(OSError), _locked(path):
            shutil.rmtree(path)
    with (
        TemporaryDirectory(prefix=".livedata-", suffix=".part", dir=beside.parent) as name,
        _locked(Path(name)),
    ):
        yield Path(name)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Lock what is there. Raises OSError for what another process has locked, and for a link."""
    # Without O_NONBLOCK a pipe of that name would keep us waiting for its writer.
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)


def _remove_leftovers(output: Path) -> None:
    """Remove what exports to the same file have left that were killed."""
    name = re.compile(rf"\.{re.escape(output.name)}\.[0-9a-f]{{8}}\.part")
    for path in output.parent.iterdir():
        if name.fullmatch(path.name):
            # It may be another's, still be written, or be gone by now: then it is left alone.
            with suppress(OSError), _locked(path):
                path.unlink()
