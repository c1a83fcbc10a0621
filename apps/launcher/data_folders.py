"""Folders for the files of the embedded parts, reachable by the user that each part runs as."""

import fcntl
import hashlib
import os
import pwd
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from apps.launcher.child_processes import CannotStart, SystemUser

PROJECT = Path(__file__).resolve().parents[2]
# sockaddr_un holds 108 bytes on Linux and 104 on macOS, including the closing zero.
LONGEST_SOCKET_PATH_BYTES = 103
SYSTEM_STATE = Path("/var/db" if sys.platform == "darwin" else "/var/lib") / "preceptor"


def default_home() -> Path:
    """Return the data folder of this clone: `.preceptor`, unless PRECEPTOR_HOME names another folder."""
    return Path(os.environ.get("PRECEPTOR_HOME") or PROJECT / ".preceptor").absolute()


def make_home(home: Path) -> Path:
    # Under root, PostgreSQL runs as `nobody`, who must be able to pass through this folder; only the owner may list it.
    return make_folder(home, 0o711 if os.geteuid() == 0 else 0o700)


def make_folder(folder: Path, mode: int) -> Path:
    """Create a folder with exactly this mode, whatever the umask; an existing folder keeps its mode."""
    if not folder.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(mode)
    return folder


def database_account() -> SystemUser | None:
    """Return the user that PostgreSQL runs as: `nobody` under root, since it refuses to run as root; None for other users."""
    if os.geteuid() != 0:
        return None
    entry = pwd.getpwnam("nobody")
    return SystemUser(user_id=entry.pw_uid, group_id=entry.pw_gid)


def can_enter(folder: Path, account: SystemUser | None) -> bool:
    return can_run(["/bin/sh", "-c", 'test -x "$1"', "sh", folder], account)


def can_run(command: list[str | Path], account: SystemUser | None) -> bool:
    try:
        outcome = subprocess.run(
            [str(word) for word in command],
            cwd="/",
            user=account.user_id if account else None,
            group=account.group_id if account else None,
            extra_groups=[] if account else None,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )
    except OSError:
        return False
    return outcome.returncode == 0


def reachable_folder(home: Path, account: SystemUser | None, *, throwaway: bool) -> Path:
    """Return the home, or a folder elsewhere if `account` may not pass through a directory above the home.

    No existing directory gets wider permissions; a folder elsewhere is linked from the home.
    """
    make_home(home)
    if account is None or can_enter(home, account):
        return home
    base_folder = Path(tempfile.gettempdir()) if throwaway else SYSTEM_STATE
    folder = make_folder(make_folder(base_folder, 0o711) / f"preceptor-{_path_digest(home)}", 0o711)
    _refuse_other_owner(folder, os.geteuid())
    link = home / "elsewhere"
    if not throwaway and not link.is_symlink():
        link.symlink_to(folder)
    return folder


def private_folder(folder: Path, account: SystemUser | None) -> Path:
    """Return a folder with mode 0700 that belongs to the account, or to the current user if there is none."""
    folder.mkdir(mode=0o700, exist_ok=True)
    if account:
        os.chown(folder, account.user_id, account.group_id)
    _refuse_other_owner(folder, account.user_id if account else os.geteuid())
    return folder


def socket_folder(folder: Path, socket_name: str, account: SystemUser | None) -> Path:
    """Return the folder, or a shorter one if the socket's path would be too long or hard to quote."""
    name = f"preceptor-{os.geteuid()}-{_path_digest(folder)}"
    # The last candidate is short on every system; private_folder() refuses it if another user created it.
    candidates = (folder, Path(tempfile.gettempdir()) / name, Path("/tmp") / name)  # noqa: S108
    chosen = next(candidate for candidate in candidates if _may_hold_socket(candidate / socket_name))
    return private_folder(chosen, account)


@contextmanager
def hold_file_lock(lock: Path, *, wait: bool = True) -> Iterator[None]:
    """Hold an exclusive file lock; the kernel releases it when the process dies.

    Without `wait`, raises BlockingIOError if the lock is held by another process.
    """
    # Mode 0600, because any user who may open the file could take the lock.
    with os.fdopen(os.open(lock, os.O_WRONLY | os.O_CREAT, 0o600), "w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield


def _refuse_other_owner(folder: Path, user_id: int) -> None:
    # In a shared directory, another user may have created the folder first.
    found = folder.lstat()
    if folder.is_symlink() or found.st_uid != user_id:
        raise CannotStart(f"{folder} belongs to another user. Remove it, or set PRECEPTOR_HOME to another folder.")


def _may_hold_socket(path: Path) -> bool:
    is_short = len(os.fsencode(path)) <= LONGEST_SOCKET_PATH_BYTES
    return is_short and re.fullmatch(r"[\w./+@~-]+", str(path), re.ASCII) is not None


def _path_digest(path: Path) -> str:
    return hashlib.sha256(os.fsencode(path.absolute())).hexdigest()[:10]
