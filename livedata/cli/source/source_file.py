"""Reading a ``source.toml`` or a plan, with the line of each wrong place.

A source is the body of interface 4.1, with the names of the JSON, in TOML or (``.json``) in JSON;
beside it may stand what `livedata apply` follows.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeVar

from livedata.cli.output.streams import print_message
from livedata.hints import Subject
from livedata.messages.request import summary
from livedata.messages.templates import joined
from livedata.model.base import Shape
from livedata.model.errors import Detail, Invalid, LocatedDetail
from livedata.model.source_file import SourceFile
from livedata.rules.declaration.declaration_text import MAX_BYTES, NOT_READY, DeclarationText

S = TypeVar("S", bound=Shape)


def read_source(path: Path) -> SourceFile:
    """Read the declaration of a source in the file at `path`, as `read_declaration` does."""
    return as_source(read_text(path))


def as_source(written: DeclarationText) -> SourceFile:
    """The declaration of a source in such a text. Raises Invalid."""
    value = written.value()
    # Each of its properties would be told as unknown, and those of a source as missing.
    if isinstance(value, dict) and "rowIdentity" in value and "source" not in value:
        raise Invalid(
            f"{written.file}: this is a plan of research, and not a source; livedata research "
            "create --name NAME --plan FILE makes a dataset of it."
        )
    return written.shaped(SourceFile, value)


def read_declaration(shape: type[S], path: Path) -> S:
    """Read the declaration in the file at `path`; raises Invalid, every detail with file and line.

    Only the shape is judged; `locate_problems` adds file and line to what other rules refuse.
    """
    written = read_text(path)
    return written.shaped(shape, written.value())


def locate_problems(error: Invalid, path: Path) -> Invalid:
    """Put ``file:line:`` before each message of `error`, by line; `path` holds the declaration."""
    try:
        written = read_text(path)
    except Invalid:
        # A file that is gone meanwhile has no lines to tell.
        return error
    return written.locate(error)


def read_text(path: Path) -> DeclarationText:
    """The text of the file at `path`. Raises Invalid."""
    try:
        with path.open("rb") as file:
            # One byte more than allowed tells a file that is too large, without reading it whole.
            body = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise Invalid(f"{path}: there is no such file.") from None
    except IsADirectoryError:
        raise Invalid(f"{path}: this is a folder, not a file.") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise Invalid(f"{path}: the file cannot be read ({why.lower()}).") from None
    if len(body) > MAX_BYTES:
        raise Invalid(f"{path}: the file is larger than 1 MiB.")
    try:
        # Some editors put a mark of the byte order first, which is no part of the text.
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        raise Invalid(f"{path}:{line}: the file is not UTF-8.") from None
    return DeclarationText(text, str(path), path.suffix.lower() == ".json")


def not_ready(why: str) -> str:
    """The comment that says why no Run would accept a source."""
    return f"{NOT_READY}{why}"


def refuse_not_ready(path: Path) -> None:
    """Refuse a file that still has the mark among the comments at its top; raises Invalid."""
    check_ready(read_text(path))


def check_ready(written: DeclarationText) -> None:
    """The same of a text that was read."""
    if (mark := written.not_ready) is not None:
        number, why = mark
        preview = Subject().command("preview", written.file)
        raise Invalid(
            f"{written.file}:{number}: this source is marked as not ready: {why}. Edit it until "
            f"{preview} is right, then delete line {number} of the file."
        )


def sources_below(folder: Path) -> list[Path]:
    """The ``*.toml`` below a folder but hidden ones, such as ``.taplo.toml``, by their paths.

    Raises Invalid if there is none, or if a link leads out of the folder: whoever reviews the
    folder does not see what changes behind it.
    """
    if not folder.is_dir():
        what = "a file, not a folder" if folder.exists() else "no folder that is there"
        raise Invalid(f"{folder}: this is {what}; name one with sources, such as sources.")
    whole, sources, leading_out = folder.resolve(), list[Path](), list[Detail]()
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        files = sorted(name for name in files if not name.startswith("."))
        for path in (Path(place, name) for name in (*folders, *files)):
            if path.is_symlink() and not path.resolve().is_relative_to(whole):
                if path.suffix == ".toml" or path.is_dir():
                    said = f"{path}: this link leads out of {folder}; put the file itself there"
                    leading_out.append(LocatedDetail("", said))
            elif path.suffix == ".toml" and path.is_file() and not path.is_symlink():
                sources.append(path)
    if leading_out:
        raise Invalid(summary(leading_out[0].message, len(leading_out)), tuple(leading_out))
    if not sources:
        init = Subject().command("init", options=["-o", str(folder / "table.toml")])
        raise Invalid(f"{folder}: no file below this folder is named *.toml. Write one: {init}")
    return sorted(sources)


def tell_unapplied(owner: str, declared: SourceFile, path: Path) -> None:
    """Say which tables of the file at `path` only `livedata apply` follows, if it has any."""
    if declared.applied:
        tables = joined(declared.applied)
        command = Subject(owner).command("apply", str(path.parent))
        print_message(f"What {path} says in {tables} takes effect by {command}")
