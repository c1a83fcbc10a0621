"""The restore drill: restores a backup next to the running installation, and compares both with the product's own commands."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, urlencode, urlsplit

from django.conf import settings
from django.db import connections

from apps.launcher.data_folders import PROJECT

DRILL_SUFFIX: Final = "_drill"
_TIMEOUT_SECONDS: Final = 1800
_QUOTED_LINES: Final = 3


@dataclass(frozen=True, slots=True)
class CommandOutput:
    """Output of a command of the product, and whether it succeeded."""

    out: str
    err: str
    is_well: bool

    @property
    def closing(self) -> str:
        """Return the last lines of the error output."""
        return " ".join(self.err.strip().splitlines()[-_QUOTED_LINES:])


def run_manage_command(name: str, *words: str) -> CommandOutput:
    """Run a command of the product on a database of this server, in a process of its own."""
    ran = subprocess.run(  # noqa: S603  # a fixed program with our own arguments
        [sys.executable, str(PROJECT / "manage.py"), *words],
        env=_environment(name),
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
        timeout=_TIMEOUT_SECONDS,
    )
    return CommandOutput(ran.stdout, ran.stderr, ran.returncode == 0)


def parse_prompt_hashes(output: str) -> dict[str, str]:
    """Return the hash of each prompt, by tenant, agent and customer."""
    records = (json.loads(line) for line in output.splitlines())
    return {f"{each['tenant']}/{each['agent']} for {each['customer']}": each["sha256"] for each in records}


def prompt_differences(here: Mapping[str, str], there: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence for each prompt that differs by any byte."""
    for prompt_key in sorted({*here, *there}):
        if here.get(prompt_key) != there.get(prompt_key):
            yield f"The prompt of {prompt_key} differs."


def _environment(name: str) -> dict[str, str]:
    """Return the installation's environment with another database; its roles keep their names."""
    return os.environ | {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DATABASE_URL": _login_url(name),
        "DATABASE_OWNER_URL": urlsplit(settings.DATABASE_OWNER_URL)._replace(path=f"/{quote(name)}").geturl(),
        "DATABASE_ROLE_PREFIX": settings.DATABASE_ROLE_PREFIX,
    }


def _login_url(name: str) -> str:
    """Return the URL of the product's login for another database. A socket's folder is a query parameter, not the host."""
    db_settings = connections["default"].settings_dict
    who = quote(db_settings["USER"]) + (
        f":{quote(db_settings['PASSWORD'], safe='')}" if db_settings["PASSWORD"] else ""
    )
    more = {key: value for key, value in db_settings["OPTIONS"].items() if isinstance(value, str)}
    query = urlencode(
        {"host": db_settings["HOST"], **({"port": db_settings["PORT"]} if db_settings["PORT"] else {}), **more}
    )
    return f"postgresql://{who}@/{quote(name)}?{query}"
