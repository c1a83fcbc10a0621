"""A backup is one file: a manifest of its contents, PostgreSQL's own dump, and the folder of attachments."""

import hashlib
import json
import os
import shutil
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import psycopg

from apps.operations.backup.database_digest import (
    Contents,
    attachment_keys,
    bypasses_row_security,
    collation,
    migrations,
    server_major,
    table_digests,
)
from apps.operations.backup.postgres_programs import run_program

FORMAT_VERSION: Final = 2
MANIFEST: Final = "manifest.json"
DUMP: Final = "database.dump"
ATTACHMENTS_FOLDER: Final = "attachments"
_MANIFEST_BYTES: Final = 10_000_000
_CHUNK: Final = 1 << 20
_RUN_AS_OWNER: Final = (
    "Run the command as the user that web and worker run as. With Docker this is the image's own user, so leave out"
    " --user."
)


class BackupRefused(Exception):
    """A backup cannot be made or restored; the message gives the reason."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """The contents of a backup.

    `contents` is read in the same snapshot as the dump, so that a restored database can be compared with it.
    """

    format: int
    made_at: str
    server_major: int
    sorting: list[str]
    migrations: list[str]
    contents: Contents
    dump_sha256: str
    dump_bytes: int
    file_count: int
    file_bytes: int
    # False if attachments are stored in a bucket and are therefore not in the backup.
    has_files: bool

    @property
    def rows(self) -> int:
        """Return the number of rows in all tables."""
        return sum(int(rows) for rows, _ in self.contents.values())


def back_up(owner_url: str, file: Path, files: Path | None) -> Manifest:
    """Write a backup of the database, and of the attachments' folder if there is one. The product can keep running.

    The folder is read after the database. A file is stored before a row refers to it, so every row in the backup has its file.
    Refused if any file of the folder cannot be read: a backup without it would look complete.
    """
    if not file.parent.is_dir():
        raise BackupRefused(f"There is no folder {file.parent}. Create it first.")
    if not os.access(file.parent, os.W_OK | os.X_OK):
        raise BackupRefused(f"{_process_user()} may not write to {file.parent}. Make this user the folder's owner.")
    if file.exists():
        raise BackupRefused(f"{file} exists already. Name another file, or move this one away.")
    if files:
        # The dump may take an hour; a folder that cannot be read is reported before it.
        _attachment_paths(files)
    with TemporaryDirectory(dir=file.parent, prefix=".backup-") as folder:
        dump = Path(folder) / DUMP
        dump_info = _dump_database(owner_url, dump)
        kept = _attachment_paths(files) if files else {}
        manifest = Manifest(
            format=FORMAT_VERSION,
            **dump_info,
            dump_sha256=_sha256(dump),
            dump_bytes=dump.stat().st_size,
            file_count=len(kept),
            file_bytes=sum(path.stat().st_size for path in kept.values()),
            has_files=files is not None,
        )
        (Path(folder) / MANIFEST).write_text(json.dumps(asdict(manifest), indent=1), encoding="utf-8")
        _write_archive(file, {MANIFEST: Path(folder) / MANIFEST, DUMP: dump} | kept)
    return manifest


def read_manifest(file: Path) -> Manifest:
    """Return the manifest of a backup. Refused if the file is no backup, or if this release does not know its format."""
    try:
        with tarfile.open(file) as archive:
            first = archive.next()
            handle = archive.extractfile(first) if first and first.name == MANIFEST else None
            raw_manifest = json.loads(handle.read(_MANIFEST_BYTES)) if handle else {}
    except FileNotFoundError as missing:
        raise BackupRefused(f"There is no file {file}.") from missing
    except (tarfile.TarError, OSError, ValueError) as unreadable:
        raise BackupRefused(f"{file} is not a backup. Create one with: manage.py create_backup FILE") from unreadable
    return _parse_manifest(file, raw_manifest)


@contextmanager
def unpack_backup(file: Path, manifest: Manifest) -> Iterator[Path]:
    """Unpack a backup into a temporary folder with the dump and the attachments, completely or not at all."""
    with TemporaryDirectory(dir=file.parent, prefix=".restore-") as name:
        folder = Path(name)
        try:
            with tarfile.open(file) as archive:
                archive.extractall(folder, filter="data")
        except (tarfile.TarError, OSError) as damaged:
            raise BackupRefused(f"{file} is damaged: {damaged}. Nothing was restored.") from damaged
        dump = folder / DUMP
        if not dump.is_file() or _sha256(dump) != manifest.dump_sha256:
            raise BackupRefused(f"{file} is damaged: its dump does not match its manifest. Nothing was restored.")
        found = sum(path.is_file() for path in (folder / ATTACHMENTS_FOLDER).rglob("*"))
        if found != manifest.file_count:
            raise BackupRefused(
                f"{file} is damaged: it has {found} of {manifest.file_count} attachments. Nothing was restored."
            )
        yield folder


def restore_attachments(folder: Path, files: Path) -> int:
    """Copy the missing attachments, and return their number. Names are never reused, so existing files stay."""
    copied = 0
    source = folder / ATTACHMENTS_FOLDER
    for path in sorted(source.rglob("*")) if source.is_dir() else ():
        target = files / path.relative_to(source)
        if path.is_file() and not target.exists():
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Written under another name first, so that a partial copy is never taken for the file.
            unfinished = target.with_name(f"{target.name}.unfinished")
            shutil.copyfile(path, unfinished)
            unfinished.chmod(0o600)
            unfinished.rename(target)
            copied += 1
    return copied


def refuse_unwritable(files: Path) -> None:
    """Refuse to restore attachments to a folder in which this process may not create files."""
    existing = next(folder for folder in (files, *files.parents) if os.path.lexists(folder))
    below = (Path(name, each) for name, folders, _ in os.walk(files) for each in folders)
    for folder in (existing, *below):
        if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
            raise BackupRefused(
                f"{_process_user()} may not write to {folder}, and the backup has attachments. Nothing was restored."
                f" {_RUN_AS_OWNER}"
            )


def missing_attachments(owner_url: str, folder: Path) -> list[str]:
    """Return the keys of attachments that skills in a restored database name and an unpacked backup lacks."""
    with psycopg.connect(owner_url) as connection:
        keys = attachment_keys(connection)
    return [key for key in keys if not (folder / ATTACHMENTS_FOLDER / key).is_file()]


def _attachment_paths(files: Path) -> dict[str, Path]:
    """Return every file of the folder, by its name in a backup. Refused if one of them cannot be read."""
    paths = []
    for folder in _walk_folders(files):
        # Files of a folder with the right to list it but not to enter it cannot be read.
        if not os.access(folder, os.X_OK):
            raise _unreadable(folder, "Permission denied")
        paths += [path for path in folder.iterdir() if path.is_file()]
    for path in paths:
        if not os.access(path, os.R_OK):
            raise _unreadable(path, "Permission denied")
    return {f"{ATTACHMENTS_FOLDER}/{path.relative_to(files)}": path for path in sorted(paths)}


def _walk_folders(files: Path) -> Iterator[Path]:
    """Yield the folder and those below it. `Path.rglob` would skip a folder that it cannot read."""

    def refuse(error: OSError) -> None:
        raise _unreadable(error.filename, error.strerror) from error

    try:
        is_missing = not files.exists()
    except PermissionError as error:
        raise _unreadable(files, error.strerror) from error
    # Until the first attachment is stored there is no folder.
    if not is_missing:
        yield from (Path(name) for name, _, _ in os.walk(files, onerror=refuse))


def _unreadable(path: Path | str, reason: str | None) -> BackupRefused:
    return BackupRefused(
        f"{_process_user()} cannot read the attachments in {path} ({reason}), so the backup would be incomplete."
        f" {_RUN_AS_OWNER}"
    )


def _process_user() -> str:
    return f"The user of this process (uid {os.geteuid()})"


def _write_archive(file: Path, parts: Mapping[str, Path]) -> None:
    """Write these files into one archive in order. The archive gets its name once it is complete."""
    unfinished = file.with_name(f"{file.name}.unfinished")
    try:
        # The file contains every customer's texts, so only its owner may read it.
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as handle:
            with tarfile.open(fileobj=handle, mode="w") as archive:
                for name, path in parts.items():
                    try:
                        archive.add(path, name, recursive=False)
                    except (FileNotFoundError, PermissionError) as error:
                        raise _unreadable(path, error.strerror) from error
            handle.flush()
            os.fsync(handle.fileno())
        unfinished.rename(file)
    finally:
        unfinished.unlink(missing_ok=True)


def _dump_database(owner_url: str, dump: Path) -> Mapping[str, Any]:
    """Write the dump, and return its contents; both are read in one snapshot."""
    with psycopg.connect(owner_url) as connection:
        if not bypasses_row_security(connection):
            raise BackupRefused(
                "DATABASE_OWNER_URL signs in as a role from which row security hides rows. A backup needs a superuser, or a role"
                " with BYPASSRLS."
            )
        connection.rollback()
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        [(snapshot, now)] = connection.execute("SELECT pg_export_snapshot(), now()").fetchall()
        major = server_major(connection)
        words = ("--format=custom", "--compress=6", f"--snapshot={snapshot}", f"--file={dump}")
        run_program("pg_dump", words, owner_url, server_major=major)
        return {
            "made_at": now.isoformat(),
            "server_major": major,
            "sorting": collation(connection),
            "migrations": migrations(connection),
            "contents": table_digests(connection),
        }


def _parse_manifest(file: Path, raw_manifest: Any) -> Manifest:
    if not isinstance(raw_manifest, dict) or "format" not in raw_manifest:
        raise BackupRefused(f"{file} is not a backup. Create one with: manage.py create_backup FILE")
    if raw_manifest["format"] != FORMAT_VERSION:
        raise BackupRefused(
            f"{file} has format {raw_manifest['format']}, and this release reads {FORMAT_VERSION}. Use the release that wrote it."
        )
    try:
        return Manifest(**raw_manifest)
    except TypeError as unknown:
        raise BackupRefused(f"{file} is damaged: its manifest is incomplete.") from unknown


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as handle:
        while chunk := handle.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
