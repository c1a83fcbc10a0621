"""`python -m tests.proofs.production` installs what production does, in an environment and a folder of its own, and starts there.

The folder has the files of the container image. For each lock file that is installed, every module of the product is imported,
and Django's checks and `collectstatic` run. Needs a package index, as `make` does. It prints a table and ends with an error
if an installation did not start, or has a package of the extra `embedded`.
"""

import argparse
import os
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

from apps.launcher.data_folders import PROJECT
from tests.support.image_files import (
    ABSENT_MODULES,
    IMPORT_ALL_SCRIPT,
    NOT_FOR_PRODUCTION,
    REFUSE_IMPORTS_SCRIPT,
    copy_image,
    run_in_image,
)

QUICK = ("requirements.lock",)
ALL_LOCK_FILES = (*QUICK, "requirements-s3.lock")
# By find_spec: a package that is there counts, also where nobody imports it.
FIND_MODULES_SCRIPT = (
    "import sys; from importlib.util import find_spec; print(*[name for name in sys.argv[1:] if find_spec(name)])"
)
STEPS: dict[str, tuple[str, ...]] = {
    "import": ("-c", REFUSE_IMPORTS_SCRIPT + IMPORT_ALL_SCRIPT, "--", *NOT_FOR_PRODUCTION),
    "check": ("manage.py", "check", "--fail-level", "WARNING"),
    "collectstatic": ("manage.py", "collectstatic", "--noinput", "--verbosity", "0"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.proofs.production")
    parser.add_argument("--quick", action="store_true", help=f"{', '.join(QUICK)} alone")
    options = parser.parse_args(arguments)
    print(f"{'lock file':24} {'step':14} {'seconds':>8}")
    failed = [lock for lock in (QUICK if options.quick else ALL_LOCK_FILES) if not _check_lock_file(lock)]
    print(f"Did not start: {', '.join(failed)}" if failed else "Every installation starts without the embedded parts.")
    return 1 if failed else 0


def _check_lock_file(lock: str) -> bool:
    """Whether an installation from this lock file does everything asked of it."""
    with TemporaryDirectory(prefix="production-") as folder:
        image = copy_image(Path(folder) / "image")
        since = monotonic()
        python = _install(lock, Path(folder) / "venv")
        print(f"{lock:24} {'install':14} {monotonic() - since:8.1f}")
        return _lacks_embedded(image, python) and all(_run_step(lock, step, image, python) for step in STEPS)


def _install(lock: str, place: Path) -> str:
    """Install as the Dockerfile does. uv does not read the index that pip is given by its environment."""
    venv.create(place, with_pip=False)
    python = str(place / "bin" / "python")
    index = {"UV_DEFAULT_INDEX": os.environ["PIP_INDEX_URL"]} if os.environ.get("PIP_INDEX_URL") else {}
    command = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", python, "--require-hashes"]
    subprocess.run([*command, "-r", lock], cwd=PROJECT, env=index | os.environ, check=True)
    return python


def _lacks_embedded(image: Path, python: str) -> bool:
    top = {name for name in ABSENT_MODULES if "." not in name}
    found = run_in_image(image, "-c", FIND_MODULES_SCRIPT, *sorted(top), python=python).stdout.split()
    if found:
        print(f"The installation has {', '.join(found)}, which belongs to the extra `embedded` of pyproject.toml.")
    return not found


def _run_step(lock: str, step: str, image: Path, python: str) -> bool:
    since = monotonic()
    ran = run_in_image(image, *STEPS[step], python=python)
    print(f"{lock:24} {step:14} {monotonic() - since:8.1f}")
    if ran.returncode:
        print(ran.stdout, ran.stderr, sep="\n")
    return ran.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
