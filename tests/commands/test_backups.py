"""Backups, from the first to the day they are needed: create_backup, restore_backup, drill_backup, hash_prompts."""

import json
import tarfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import psycopg
import pytest
from django.conf import settings
from django.db import connections
from pytest_django import Settings

from apps.governance.database.actor_transaction import acting_as
from apps.launcher.postgres import Postgres
from apps.operations.backup.archive import MANIFEST, BackupRefused, back_up, read_manifest
from apps.operations.backup.database_digest import differences
from apps.operations.backup.postgres_programs import ProgramFailed, run_program
from apps.operations.backup.restore_drill import prompt_differences
from apps.personas.models import Persona
from apps.tenants.policy_sync.drift import policy_drift
from tests.support.database.committing_fixture import committing
from tests.support.drivers.management_command import run_command
from tests.support.parameter_sampling import IS_WHOLE
from tests.support.worlds.world import World, make_persona, make_profile, make_skill, make_skill_with_file, make_world

__all__ = ["committing"]


@pytest.fixture
def world(committing: str, postgres: Postgres, settings: Settings, tmp_path: Path) -> Iterator[World]:
    """A tenant with something in it, and one file among its attachments."""
    settings.DATABASE_OWNER_URL = postgres.url_for("postgres", database=committing)
    settings.ATTACHMENTS_DIR = tmp_path / "attachments"
    made = make_world()
    make_persona(made)
    make_profile(made)
    make_skill(made, "approved")
    kept = tmp_path / "attachments" / str(made.tenant.pk)
    kept.mkdir(parents=True)
    (kept / "abc").write_bytes(b"a price list")
    yield made
    connections.close_all()


@pytest.fixture
def backup(world: World, tmp_path: Path) -> Path:
    file = tmp_path / "backup.tar"
    assert run_command("create_backup", str(file)).failure == ""
    return file


def as_superuser(statement: str) -> None:
    with psycopg.connect(settings.DATABASE_OWNER_URL, autocommit=True) as connection:
        connection.execute(statement)


def databases() -> set[str]:
    with psycopg.connect(settings.DATABASE_OWNER_URL) as connection:
        return {name for (name,) in connection.execute("SELECT datname FROM pg_database").fetchall()}


def personas(world: World) -> int:
    with acting_as(world.operator):
        return Persona.objects.count()


def lose_everything(world: World) -> None:
    as_superuser("SET session_replication_role = replica; TRUNCATE personas_persona, skills_skill CASCADE")
    (settings.ATTACHMENTS_DIR / str(world.tenant.pk) / "abc").unlink()
    assert personas(world) == 0


def forge_backup(backup: Path, **changes: object) -> Path:
    """The backup with another manifest."""
    other = backup.with_name("forged.tar")
    with tarfile.open(backup) as source, tarfile.open(other, "w") as target:
        for member in source:
            handle = source.extractfile(member)
            assert handle is not None
            content = handle.read()
            if member.name == MANIFEST:
                content = json.dumps(json.loads(content) | changes).encode()
                member.size = len(content)
            target.addfile(member, BytesIO(content))
    return other


@pytest.mark.slow
def test_what_was_lost_comes_back_from_a_backup_and_nothing_else_does(world: World, backup: Path) -> None:
    words = ("hash_prompts", "--at", read_manifest(backup).made_at)
    prompts = run_command(*words).out
    assert len(prompts.splitlines()) == 2
    lose_everything(world)
    refused = run_command("restore_backup", str(backup))
    assert "is not empty. To drop its contents, pass --replace." in refused.failure
    assert personas(world) == 0
    before = databases()
    seen = run_command("restore_backup", str(backup), "--replace", "--verbosity", "0")
    assert seen.failure == ""
    assert "has every row of the backup; 1 attachments were copied back." in seen.out
    assert personas(world) == 1
    assert (settings.ATTACHMENTS_DIR / str(world.tenant.pk) / "abc").read_bytes() == b"a price list"
    assert databases() == before
    assert policy_drift() == []
    assert run_command("verify_audit").failure == ""
    assert run_command(*words).out == prompts


def test_a_backup_is_its_owners_alone_and_says_what_it_lacks(
    world: World, backup: Path, settings: Settings, tmp_path: Path
) -> None:
    assert backup.stat().st_mode & 0o777 == 0o600
    assert "exists already" in run_command("create_backup", str(backup)).failure
    assert "There is no folder" in run_command("create_backup", str(tmp_path / "nowhere" / "x.tar")).failure
    settings.ATTACHMENTS_S3_BUCKET = "files-of-acme"
    seen = run_command("create_backup", str(tmp_path / "bucket.tar"))
    assert "Attachments are in the bucket files-of-acme and not in the backup." in seen.err
    assert "SEALING_KEYS" in seen.err
    assert not read_manifest(tmp_path / "bucket.tar").has_files
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".") or "unfinished" in path.name] == []


FORGED_MANIFESTS = (
    ({"format": 1}, "has format 1, and this release reads 2"),
    ({"dump_sha256": "0" * 64}, "is damaged: its dump does not match its manifest"),
    ({"server_major": 99}, "The backup is from PostgreSQL 99"),
    ({"sorting": ["UTF8", "i", "de-DE"]}, "This server sorts text by"),
    ({"contents": {"personas_persona": ["7", "1"]}}, "The restored database differs from the backup"),
    ({"more": 1}, "its manifest is incomplete"),
)


@pytest.mark.slow
def test_a_backup_that_is_none_or_not_whole_costs_nothing(world: World, backup: Path, tmp_path: Path) -> None:
    before = databases()
    for changes, sentence in FORGED_MANIFESTS:
        assert sentence in run_command("restore_backup", str(forge_backup(backup, **changes)), "--replace").failure
    other, cut = tmp_path / "other.tar", tmp_path / "cut.tar"
    other.write_text("Dear diary")
    assert "is not a backup" in run_command("restore_backup", str(other), "--replace").failure
    with tarfile.open(other, "w") as archive:
        archive.add(backup, "backup")
    assert "is not a backup" in run_command("restore_backup", str(other), "--replace").failure
    cut.write_bytes(backup.read_bytes()[: backup.stat().st_size // 2])
    assert "is damaged" in run_command("restore_backup", str(cut), "--replace").failure
    assert "There is no file" in run_command("restore_backup", str(tmp_path / "absent.tar"), "--replace").failure
    assert personas(world) == 1
    assert databases() == before


@pytest.mark.django_db
def test_who_does_not_see_every_row_makes_no_backup(postgres: Postgres, tmp_path: Path) -> None:
    login = connections["default"].settings_dict
    url = postgres.url_for(login["USER"], database=login["NAME"])
    with pytest.raises(BackupRefused, match="row security hides rows"):
        back_up(url, tmp_path / "half.tar", None)
    assert not (tmp_path / "half.tar").exists()


def test_commands_about_the_whole_database_need_its_owner(settings: Settings, tmp_path: Path) -> None:
    settings.DATABASE_OWNER_URL = ""
    for words in (("create_backup", str(tmp_path / "x")), ("restore_backup", str(tmp_path / "x")), ("drill_backup",)):
        assert "Set DATABASE_OWNER_URL" in run_command(*words).failure


@pytest.mark.slow
@pytest.mark.whole
def test_the_drill_says_whether_a_backup_can_be_relied_on(world: World) -> None:
    before = databases()
    # A good one is drilled by `.ci/run`, and with all its words where everything runs.
    if IS_WHOLE:
        assert_drill_passes()
    # It fails if the audit log or row security was changed, or if a skill's file is missing from the folder.
    [elsewhere] = make_skill_with_file(world).files
    as_superuser(
        "SET session_replication_role = replica; UPDATE governance_changerecord SET act = 'persona.amend' WHERE id ="
        " (SELECT min(id) FROM governance_changerecord); ALTER TABLE personas_persona NO FORCE ROW LEVEL SECURITY"
    )
    seen = run_command("drill_backup")
    assert "is not reliable: 3 findings" in seen.failure
    assert f"A skill names the attachment {elsewhere.key}, and the backup does not have it." in seen.err
    assert "verify_audit fails" in seen.err
    assert "sync_policy fails" in seen.err
    assert databases() == before


def assert_drill_passes() -> None:
    seen = run_command("drill_backup")
    assert (seen.failure, seen.err) == ("", "")
    lines = seen.out.splitlines()
    assert "1 attachments" in lines[0]
    assert lines[2:5] == [
        "The audit chain of every tenant is intact.",
        "Row security, rights and grants match this release.",
        "2 prompts are identical, byte for byte.",
    ]
    assert "is reliable" in lines[5]


def test_prompts_of_a_moment_have_the_same_hashes_whatever_is_written_later(world: World) -> None:
    with psycopg.connect(settings.DATABASE_OWNER_URL) as connection:
        [(now,)] = connection.execute("SELECT now()").fetchall()
    words = ("hash_prompts", "--tenant", world.tenant.key, "--at", now.isoformat())
    first = run_command(*words)
    assert first.failure == ""
    lines = [json.loads(line) for line in first.out.splitlines()]
    assert [(line["agent"], line["customer"] == "nobody") for line in lines] == [("support", True), ("support", False)]
    assert all(len(line["sha256"]) == 64 and int(line["bytes"]) > 500 for line in lines)
    make_skill(world, "approved")
    assert run_command(*words).out == first.out
    now_told = [
        json.loads(line)["sha256"]
        for line in run_command("hash_prompts", "--tenant", world.tenant.key).out.splitlines()
    ]
    assert now_told != [line["sha256"] for line in lines]
    assert "is not a moment" in run_command("hash_prompts", "--at", "yesterday").failure
    assert "has no UTC offset" in run_command("hash_prompts", "--at", "2026-11-23T18:00").failure


def test_a_prompt_that_differs_and_a_table_that_differs_are_named() -> None:
    assert list(prompt_differences({"a": "1", "b": "2"}, {"a": "1", "b": "3"})) == ["The prompt of b differs."]
    wanted, found = {"a": ["2", "5"], "b": ["1", "1"]}, {"a": ["1", "5"], "c": ["0", "0"]}
    assert list(differences(wanted, found)) == [
        "a has 1 of 2 rows, or some rows differ.",
        "b is missing.",
        "c is not in the backup.",
    ]


def test_a_program_that_is_missing_or_fails_says_so() -> None:
    with pytest.raises(ProgramFailed, match="The server is PostgreSQL 99 and there is only pg_dump"):
        run_program("pg_dump", (), "postgresql://nobody@/nothing", server_major=99)
    with pytest.raises(ProgramFailed, match="pg_dump failed with code"):
        run_program("pg_dump", (), "postgresql://nobody@/nothing?host=/nowhere", server_major=18)
