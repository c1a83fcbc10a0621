"""Reading skill files from a zip, a folder or a single file, and writing a zip. Nothing is unpacked to disk."""

import re
import stat
import struct
import unicodedata
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Final

ARCHIVE_BYTES: Final = 20_000_000
UNPACKED_BYTES: Final = 50_000_000
MAX_ENTRIES: Final = 2_000
PATH_CHARACTERS: Final = 240
PATH_PARTS: Final = 8
# Files that operating systems leave in folders. They are skipped, like hidden files.
_SYSTEM_FILES: Final = frozenset({"__MACOSX", "Thumbs.db", "desktop.ini"})
_ENTRY_SIGNATURE: Final = b"PK\x01\x02"
_ZIP_SIGNATURES: Final = (b"PK\x03\x04", b"PK\x05\x06")
_CHUNK_BYTES: Final = 65_536
_ENCRYPTED, _UTF8 = 0x1, 0x800
# Errors that `zipfile` raises for forged headers, including BadZipFile.
_BROKEN_ARCHIVE_ERRORS: Final = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    LookupError,
    OSError,
    RuntimeError,
    ValueError,
)
_DRIVE_LETTER: Final = re.compile(r"[A-Za-z]:")
_CONTROL_CHARACTER: Final = re.compile(r"[\x00-\x1f\x7f]")
# Every written entry has the same values, so that the same skills give the same bytes.
_FIXED_TIMESTAMP: Final = (1980, 1, 1, 0, 0, 0)
_REGULAR_FILE_MODE: Final = (stat.S_IFREG | 0o644) << 16


class UnreadableArchiveError(ValueError):
    """Raised when a whole archive is refused. The message is a whole sentence."""


@dataclass(frozen=True, slots=True)
class ArchiveEntry:
    """One file: its path and its bytes."""

    path: PurePosixPath
    content: bytes


def read_archive_entries(file: IO[bytes]) -> tuple[ArchiveEntry, ...]:
    """Return the files in an upload: the entries of a zip, or the upload itself as a `SKILL.md`."""
    content = file.read(ARCHIVE_BYTES + 1)
    if len(content) > ARCHIVE_BYTES:
        raise UnreadableArchiveError(f"The file has more than {ARCHIVE_BYTES} bytes. Send fewer skills at once.")
    if not content.startswith(_ZIP_SIGNATURES):
        return (ArchiveEntry(PurePosixPath("SKILL.md"), content),)
    # Each entry of the zip's directory begins with these bytes. Reading millions of names would take too much memory.
    if content.count(_ENTRY_SIGNATURE) > MAX_ENTRIES:
        raise UnreadableArchiveError(
            f"The archive has more than {MAX_ENTRIES} entries, including those of archives inside it."
        )
    file.seek(0)
    try:
        with zipfile.ZipFile(file) as archive:
            return tuple(_read_archive(archive))
    except UnreadableArchiveError:
        raise
    except _BROKEN_ARCHIVE_ERRORS as refusal:
        raise UnreadableArchiveError(f"The archive is broken: {str(refusal) or 'it ends too early'}.") from refusal


def read_folder_entries(folder: Path) -> tuple[ArchiveEntry, ...]:
    """Return the files in a folder. Links are refused, because they could lead anywhere."""
    found: list[ArchiveEntry] = []
    budget = _ReadBudget()
    for file in sorted(folder.rglob("*")):
        path = PurePosixPath(folder.resolve().name, *file.relative_to(folder).parts)
        if _is_system_file(path.relative_to(path.parts[0])):
            continue
        if file.is_symlink():
            raise UnreadableArchiveError(f"{path} is a link. Replace it with the file itself.")
        if file.is_file():
            _refuse_path(str(path), budget)
            with file.open("rb") as opened:
                found.append(ArchiveEntry(path, budget.read(opened)))
    return tuple(found)


def write_archive(out: IO[bytes], entries: Iterable[ArchiveEntry]) -> None:
    """Write a zip that depends only on paths and contents.

    Entries are uncompressed, since compression differs between versions.
    """
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for entry in entries:
            zip_info = zipfile.ZipInfo(str(entry.path), _FIXED_TIMESTAMP)
            zip_info.create_system, zip_info.external_attr = 3, _REGULAR_FILE_MODE
            archive.writestr(zip_info, entry.content)


class _ReadBudget:
    """The bytes and names that an upload may still contain. They are counted while reading, because headers can lie."""

    def __init__(self) -> None:
        self.bytes_left = UNPACKED_BYTES
        self.names: set[str] = set()

    def read(self, file: IO[bytes]) -> bytes:
        read = bytearray()
        while chunk := file.read(min(_CHUNK_BYTES, self.bytes_left + 1)):
            read += chunk
            self.bytes_left -= len(chunk)
            if self.bytes_left < 0:
                raise UnreadableArchiveError(
                    f"Unpacked, the files have more than {UNPACKED_BYTES} bytes. Send fewer at once."
                )
        return bytes(read)

    def name(self, path: str) -> None:
        """Count a path. Refuse paths that a file system may treat as equal, because their files would overwrite each other."""
        folded = unicodedata.normalize("NFC", path).casefold()
        if folded in self.names:
            raise UnreadableArchiveError(f"{path} occurs twice, or again with another case. Rename one.")
        if len(self.names) == MAX_ENTRIES:
            raise UnreadableArchiveError(f"There are more than {MAX_ENTRIES} files. Send fewer skills at once.")
        self.names.add(folded)


def _read_archive(archive: zipfile.ZipFile) -> Iterator[ArchiveEntry]:
    budget = _ReadBudget()
    for zip_info in archive.infolist():
        name = _decode_name(zip_info)
        _refuse_path(name.removesuffix("/"), budget)
        if kind := stat.S_IFMT(zip_info.external_attr >> 16):
            _refuse_kind(name, kind)
        if zip_info.flag_bits & _ENCRYPTED:
            raise UnreadableArchiveError(f"{name} is encrypted. Send the archive without a password.")
        if zip_info.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
            raise UnreadableArchiveError(f"{name} has an unsupported compression. Pack it as an ordinary zip.")
        path = PurePosixPath(name)
        if name.endswith("/") or _is_system_file(path):
            continue
        with archive.open(zip_info) as opened:
            yield ArchiveEntry(path, budget.read(opened))


def _decode_name(zip_info: zipfile.ZipInfo) -> str:
    # The name as stored, because zipfile cuts names at a NUL, and reads a name without the UTF-8 flag as code page 437.
    name = zip_info.orig_filename
    if zip_info.flag_bits & _UTF8:
        return name
    try:
        return name.encode("cp437").decode()
    except UnicodeError as refusal:
        raise UnreadableArchiveError(f"The name {name} is not UTF-8.") from refusal


def _refuse_kind(name: str, kind: int) -> None:
    if kind not in {stat.S_IFREG, stat.S_IFDIR}:
        raise UnreadableArchiveError(f"{name} is a link or a device. Replace it with the file itself.")


def _refuse_path(path: str, budget: _ReadBudget) -> None:
    parts = path.split("/")
    if _CONTROL_CHARACTER.search(path) or "\\" in path or path.startswith("/") or _DRIVE_LETTER.match(path):
        raise UnreadableArchiveError(f"{path!r} is not a valid path in an archive.")
    if any(part in {"", ".", ".."} or part != part.strip() for part in parts):
        raise UnreadableArchiveError(f"{path!r} leads out of its folder, or has an empty name.")
    if len(path) > PATH_CHARACTERS or len(parts) > PATH_PARTS:
        raise UnreadableArchiveError(
            f"{path[:80]}… is longer than {PATH_CHARACTERS} characters or deeper than {PATH_PARTS} folders."
        )
    budget.name(path)


def _is_system_file(path: PurePosixPath) -> bool:
    return any(part.startswith(".") or part in _SYSTEM_FILES for part in path.parts)
