"""The file of an archive: a zip of JSON lines, and a manifest with the SHA-256 of each member.

Nothing is ever unpacked to a place that the file names, and no more of it is read than the manifest
declares.
"""

from __future__ import annotations

import hashlib
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import IO, Annotated

from msgspec import Meta, Struct, json

from livedata import __version__
from livedata.model import ids
from livedata.model.errors import Invalid

FORMAT = "livedata-archive"
FIRST = 1
VERSION = 2
"""The newest version of the format; it grows if an older livedata could not read it."""
MANIFEST = "manifest.json"
LONGEST_MANIFEST = 1_000_000
LONGEST_LINE = 100_000_000
"""A page that a Run has read may have 32 MiB of text; a line is the longest that is in memory."""
LONGEST_WHY = 500
CHUNK = 1_000_000
_UNREADABLE = (
    *(zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError),
    # Encrypted, compressed in a way that this Python does not know, or nested too deep.
    RuntimeError,
)


class Member(Struct, frozen=True, rename="camel"):
    """What the manifest says of a member: its size, its digest, and the kinds of its columns."""

    records: Annotated[int, Meta(ge=0)]
    bytes: Annotated[int, Meta(ge=0)]
    sha256: str
    columns: Mapping[str, str]


class _Version(Struct, frozen=True):
    """What the manifest of every version has."""

    format: str
    version: int
    livedata: str


class Manifest(_Version, frozen=True, rename="camel"):
    """What an archive says of itself."""

    created_at: str
    dataset: Mapping[str, str]
    members: Mapping[str, Member]


class ArchiveWriter:
    """Writes one member after another, and at the end the manifest."""

    def __init__(self, packed: zipfile.ZipFile) -> None:
        self._packed = packed
        self._members: dict[str, Member] = {}

    def write(self, name: str, columns: Mapping[str, str], lines: Iterable[bytes]) -> int:
        """Write a member, a line for each record; how many they are."""
        digest, count, size = hashlib.sha256(), 0, 0
        with self._packed.open(name, "w", force_zip64=True) as member:
            for line in lines:
                digest.update(line)
                count += 1
                size += member.write(line)
        self._members[name] = Member(count, size, digest.hexdigest(), columns)
        return count

    def close(self, dataset: Mapping[str, str], version: int = FIRST) -> None:
        """Write the manifest of a dataset, its id and its name, in a version of the format."""
        now = ids.format_timestamp(ids.now())
        manifest = Manifest(FORMAT, version, __version__, now, dataset, self._members)
        self._packed.writestr(MANIFEST, json.format(json.encode(manifest), indent=2))


@contextmanager
def new_archive(file: Path) -> Iterator[ArchiveWriter]:
    """An archive that is written into an empty file."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        yield ArchiveWriter(packed)


class Archive:
    """An archive that is read; whatever is wrong with it is Invalid, in one sentence."""

    def __init__(self, file: Path, packed: zipfile.ZipFile, manifest: Manifest) -> None:
        self.file = file
        self.manifest = manifest
        self._packed = packed

    def verify(self, expected: Iterable[str]) -> None:
        """Read all of it once, and compare it with its manifest. Raises Invalid."""
        names, wanted = self._packed.namelist(), set(expected)
        strange = {*names, *self.manifest.members} - {*wanted, MANIFEST}
        if strange:
            raise self.refusal(f"has the member {min(strange)!r}, which no archive has")
        missing = wanted - ({*names} & {*self.manifest.members})
        if missing:
            raise self.refusal(f"has no {min(missing)}")
        if len(names) > len({*names}):
            raise self.refusal("has a member twice")
        for name, member in self.manifest.members.items():
            self._verify(name, member)

    def lines(self, name: str) -> Iterator[bytes]:
        """The lines of a member. Raises Invalid."""
        left = self.manifest.members[name].bytes
        # A member gives line by line only slowly.
        with self._opened(name) as opened, BufferedReader(opened, CHUNK) as stream:  # type: ignore[type-var]
            while left and (line := stream.readline(min(left, LONGEST_LINE))):
                left -= len(line)
                yield line

    def refusal(self, why: str) -> Invalid:
        """The error that an archive cannot be imported; the sentence begins with its name."""
        # What is wrong may quote a text of any length.
        told = why if len(why) <= LONGEST_WHY else f"{why[:LONGEST_WHY]}…"
        return Invalid(f"{self.file} {told}; nothing was imported.")

    def _verify(self, name: str, member: Member) -> None:
        digest, size, records = hashlib.sha256(), 0, 0
        with self._opened(name) as stream:
            # One byte more than declared is enough to know.
            while chunk := stream.read(min(CHUNK, member.bytes + 1 - size)):
                digest.update(chunk)
                size += len(chunk)
                records += chunk.count(b"\n")
        if size > member.bytes:
            raise self.refusal(f"unpacks to more than it declares: {name}")
        declared = (member.bytes, member.records, member.sha256)
        if (size, records, digest.hexdigest()) != declared:
            raise self.refusal(f"was changed or damaged since it was written: {name}")

    @contextmanager
    def _opened(self, name: str) -> Iterator[IO[bytes]]:
        try:
            with self._packed.open(name) as stream:
                yield stream
        except _UNREADABLE as error:
            raise self.refusal(f"was changed or damaged since it was written: {name}") from error


@contextmanager
def open_archive(file: Path) -> Iterator[Archive]:
    """An archive to read. Raises Invalid for what is none, and OSError for what cannot be read."""
    with file.open("rb") as stream, _unpacked(file, stream) as packed:
        yield Archive(file, packed, _manifest(file, packed))


def _unpacked(file: Path, stream: IO[bytes]) -> zipfile.ZipFile:
    # Asked first: of a pipe or a device, which cannot be read twice, it raises OSError.
    begins_as_zip = stream.seekable() and stream.read(4) == b"PK\x03\x04"
    try:
        return zipfile.ZipFile(stream)
    except _UNREADABLE as error:
        # The list of its members stands at the end of a zip.
        if begins_as_zip:
            raise Invalid(f"{file} is cut short; nothing was imported. Copy it again.") from error
        raise Invalid(f"{file} is no archive of livedata; nothing was imported.") from error


def _manifest(file: Path, packed: zipfile.ZipFile) -> Manifest:
    try:
        with packed.open(MANIFEST) as stream:
            text = stream.read(LONGEST_MANIFEST + 1)
        about = json.decode(text[:LONGEST_MANIFEST], type=_Version)
        if about.format != FORMAT:
            raise ValueError("another format")
        if about.version <= VERSION:
            return json.decode(text, type=Manifest)
    except (*_UNREADABLE, KeyError) as error:
        raise Invalid(f"{file} is no archive of livedata; nothing was imported.") from error
    raise Invalid(
        f"{file} was written by livedata {about.livedata}, in version {about.version} of the "
        f"format; this livedata reads up to {VERSION}. Upgrade it; nothing was imported."
    )
