"""The documented backup with Docker, run without Docker: `setpriv` gives a process the image's user and no capabilities."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest
from django.conf import settings
from django.db import connections

from apps.launcher.child_processes import SystemUser
from apps.launcher.data_folders import PROJECT
from apps.launcher.postgres import SOCKET_NAME, Postgres
from tests.support.servers.socket_relay import run_socket_relay
from tests.support.temp_folders import own_folder
from tests.support.worlds.world import make_persona, make_skill_with_file, make_world

_DOCKERFILE_USER = re.search(r"--gid (\d+) .*\n.*--uid (\d+) ", (PROJECT / "Dockerfile").read_text("utf-8"))
assert _DOCKERFILE_USER
ROOT = SystemUser(user_id=0, group_id=0)
IMAGE_USER = SystemUser(user_id=int(_DOCKERFILE_USER[2]), group_id=int(_DOCKERFILE_USER[1]))

pytestmark = [
    pytest.mark.slow,
    pytest.mark.processes,
    pytest.mark.skipif(os.geteuid() != 0, reason="Only root can start a process of another user."),
    pytest.mark.skipif(not shutil.which("setpriv"), reason="setpriv is missing. Debian: apt-get install util-linux"),
]


def run_without_capabilities(user: SystemUser, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run Python as this user, with the capabilities that the compose file leaves: none."""
    ids = (f"--reuid={user.user_id}", f"--regid={user.group_id}", "--clear-groups")
    rights = ("--inh-caps=-all", "--bounding-set=-all", "--no-new-privs")
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1", **variables}
    return subprocess.run(
        ["setpriv", *ids, *rights, sys.executable, *words],
        cwd=PROJECT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@dataclass(frozen=True)
class Container:
    """An installation with one attachment, which belongs to `user`. Any user reaches its database by a port."""

    user: SystemUser
    login: str
    owner: str
    backups: Path
    attachments: Path
    stored: Path

    def run(self, *words: str, user: SystemUser | None = None) -> subprocess.CompletedProcess[str]:
        """Run a command of the product as `docker compose run` does."""
        return run_without_capabilities(user or self.user, "manage.py", *words, **self.environment)

    @property
    def environment(self) -> dict[str, str]:
        return {
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "DATABASE_URL": self.login,
            "DATABASE_OWNER_URL": self.owner,
            "DATABASE_ROLE_PREFIX": settings.DATABASE_ROLE_PREFIX,
            "ATTACHMENTS_DIR": str(self.attachments),
        }

    def run_documented(self, line: str) -> subprocess.CompletedProcess[str]:
        """Run one line of the manual with its variables."""
        words = shlex.split(line.replace("/backups", str(self.backups)))
        assert "--user" not in words, "Only the image's own user can read the attachments."
        variables = dict(after.split("=", 1) for word, after in pairwise(words) if word == "-e")
        command = words[words.index("manage.py") :]
        return run_without_capabilities(self.user, *command, **self.environment | variables)


@pytest.fixture(scope="module")
def user() -> SystemUser:
    """The image's user. Where it cannot enter this clone, root stands in: without capabilities it reads only its own files."""
    # The drill starts the interpreter once more. Debian's Python may take over from one whose library it cannot enter.
    is_ours = f"import subprocess, sys; sys.exit(sys.base_prefix != {sys.base_prefix!r} or subprocess.call([sys.executable, '-V']))"
    ran = run_without_capabilities(IMAGE_USER, "-c", is_ours)
    return ROOT if ran.returncode else IMAGE_USER


@pytest.fixture
def container(committing: str, postgres: Postgres, user: SystemUser) -> Iterator[Container]:
    world = make_world()
    make_persona(world)
    [file] = make_skill_with_file(world, "approved").files
    connections.close_all()
    folder = own_folder()
    attachments, backups = folder / "attachments", folder / "backups"
    stored = attachments / file.key
    stored.parent.mkdir(parents=True)
    shutil.copyfile(Path(settings.ATTACHMENTS_DIR) / file.key, stored)
    backups.mkdir()
    for path in (attachments, stored.parent, stored, backups):
        path.chmod(0o700 if path.is_dir() else 0o600)
        os.chown(path, user.user_id, user.group_id)
    login = settings.DATABASES["default"]["USER"]
    [sockets] = parse_qs(urlsplit(postgres.url).query)["host"]
    with run_socket_relay(Path(sockets) / SOCKET_NAME) as relay:
        address = f"127.0.0.1:{relay.port}/{committing}"
        yield Container(
            user=user,
            login=f"postgresql://{login}@{address}",
            owner=f"postgresql://postgres@{address}",
            backups=backups,
            attachments=attachments,
            stored=stored,
        )
    connections.close_all()


def documented_commands() -> list[str]:
    """The lines of the manual that run a command about backups in a container, in their order."""
    text = (PROJECT / "docs/operations.md").read_text("utf-8")
    return re.findall(r"docker compose run [^`\n]*manage\.py \w+_backup[^`\n]*", text)


def test_the_documented_commands_keep_every_attachment(container: Container) -> None:
    create, drill, restore = documented_commands()
    made = container.run_documented(create)
    assert "1 attachments" in made.stdout, made.stderr
    [backup] = container.backups.glob("*.tar")
    with tarfile.open(backup) as archive:
        assert f"attachments/{container.stored.relative_to(container.attachments)}" in archive.getnames()
    drilled = container.run_documented(drill)
    assert "The backup is reliable." in drilled.stdout, drilled.stderr
    content = container.stored.read_bytes()
    container.stored.unlink()
    restored = container.run_documented(restore)
    assert "1 attachments were copied back" in restored.stdout, restored.stderr
    assert container.stored.read_bytes() == content
    assert container.stored.stat().st_uid == container.user.user_id


def test_a_backup_that_cannot_read_an_attachment_names_it_and_is_not_written(container: Container) -> None:
    os.chown(container.backups, 0, 0)
    for unreadable in (container.stored, container.attachments):
        os.chown(unreadable, IMAGE_USER.user_id, IMAGE_USER.group_id)
        os.chown(container.attachments if unreadable == container.stored else container.stored, 0, 0)
        os.chown(container.stored.parent, 0, 0)
        refused = container.run("create_backup", str(container.backups / "root.tar"), user=ROOT)
        assert refused.returncode == 1
        assert f"(uid 0) cannot read the attachments in {unreadable} (Permission denied)" in refused.stderr
    assert list(container.backups.iterdir()) == []


def test_a_restore_that_cannot_write_attachments_names_the_folder_and_changes_nothing(container: Container) -> None:
    made = container.run("create_backup", str(container.backups / "today.tar"))
    assert made.returncode == 0, made.stderr
    for path in (container.backups, container.backups / "today.tar"):
        os.chown(path, 0, 0)
    os.chown(container.attachments, IMAGE_USER.user_id, IMAGE_USER.group_id)
    with psycopg.connect(container.owner, autocommit=True) as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute("UPDATE tenants_tenant SET name = 'Renamed since'")
    refused = container.run("restore_backup", str(container.backups / "today.tar"), "--replace", user=ROOT)
    assert refused.returncode == 1
    assert f"may not write to {container.attachments}" in refused.stderr
    with psycopg.connect(container.owner) as connection:
        assert connection.execute("SELECT DISTINCT name FROM tenants_tenant").fetchall() == [("Renamed since",)]
