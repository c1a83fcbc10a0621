"""Roles that mix are refused when written, and found if they are there all the same (R016)."""

import os
import subprocess
import sys
from collections.abc import Iterator
from threading import Timer

import celery
import psycopg
import pytest
from django.core.management import CommandError, call_command
from psycopg import errors

from apps.launcher.data_folders import PROJECT
from apps.launcher.postgres import Postgres
from apps.tenants.checks import check_role_separation
from tests.settings import PREFIX
from tests.support.database.committing_fixture import committing as committing  # noqa: PLC0414  # a fixture by its own name
from tests.support.worlds.world import World, make_world

JOINS = "INSERT INTO tenants_user_groups (user_id, group_id) SELECT %s, id FROM auth_group WHERE name = %s"
DISABLE_TRIGGERS = """
ALTER TABLE tenants_user_groups DISABLE TRIGGER refuse_mixed_roles;
ALTER TABLE tenants_user DISABLE TRIGGER refuse_change_of_is_service;
ALTER TABLE tenants_user DROP CONSTRAINT service_user_is_neither_staff_nor_superuser;
ALTER TABLE tenants_membership DROP CONSTRAINT member_is_no_service_user, DROP CONSTRAINT member_is_a_person;
ALTER TABLE tenants_agent DROP CONSTRAINT agent_acts_as_service_user, DROP CONSTRAINT agent_user_is_a_service_user
"""


@pytest.fixture
def world(committing: str) -> World:
    return make_world()


@pytest.fixture
def superuser(postgres: Postgres, committing: str, world: World) -> Iterator["psycopg.Connection[tuple[object, ...]]"]:
    """Whom no row security binds; triggers and constraints do."""
    with psycopg.connect(postgres.url_for("postgres", database=committing), autocommit=True) as connection:
        yield connection


def check_messages() -> list[tuple[str | None, str]]:
    return [(each.id, str(each.msg)) for each in check_role_separation(None, databases=["default"])]


def test_groups_that_mix_roles_are_refused_when_written(
    world: World, superuser: "psycopg.Connection[tuple[object, ...]]"
) -> None:
    # R016
    agent, person = world.agent.service_user_id, world.operator_user.pk
    for user_id, group in ((agent, "operator"), (agent, "system"), (person, "agent"), (person, "system")):
        with pytest.raises(errors.CheckViolation, match="roles do not mix"):
            superuser.execute(JOINS, [user_id, group])
    superuser.execute(JOINS, [agent, "agent"])
    superuser.execute(JOINS, [person, "operator"])
    with pytest.raises(errors.CheckViolation, match="roles do not mix"):
        superuser.execute(JOINS, [person, "admin"])
    with pytest.raises(errors.CheckViolation, match="does not become a service user"):
        superuser.execute("UPDATE tenants_user SET is_service = true WHERE id = %s", [world.admin_user.pk])
    assert check_messages() == []


def test_a_service_user_with_rights_and_a_token_of_a_person_are_refused_when_written(
    world: World, superuser: "psycopg.Connection[tuple[object, ...]]"
) -> None:
    # R016
    agent, person = world.agent.service_user_id, world.operator_user.pk
    for right in ("is_staff", "is_superuser"):
        with pytest.raises(errors.CheckViolation):
            superuser.execute(f"UPDATE tenants_user SET {right} = true WHERE id = %s", [agent])  # noqa: S608
    with pytest.raises(errors.ForeignKeyViolation):
        superuser.execute("UPDATE tenants_agent SET service_user_id = %s WHERE id = %s", [person, world.agent.pk])
    with pytest.raises(errors.ForeignKeyViolation):
        superuser.execute("UPDATE tenants_membership SET user_id = %s WHERE user_id = %s", [agent, person])


def test_the_check_names_what_triggers_did_not_refuse(
    world: World, superuser: "psycopg.Connection[tuple[object, ...]]"
) -> None:
    # R016: each broken in turn, as whoever may take the walls down.
    agent, person = world.agent.service_user_id, world.operator_user.pk
    bot, operator = f"agent:{world.tenant.pk}:{world.agent.key}", world.operator_user.username
    superuser.execute(DISABLE_TRIGGERS)
    breaks: list[tuple[str, list[int | str], str, str]] = [
        ("UPDATE tenants_user SET is_superuser = true WHERE id = %s", [agent], "preceptor.E001", bot),
        (
            "UPDATE tenants_agent SET service_user_id = %s WHERE id = %s",
            [person, world.agent.pk],
            "preceptor.E002",
            operator,
        ),
        ("UPDATE tenants_membership SET user_id = %s WHERE user_id = %s", [agent, person], "preceptor.E003", bot),
        (JOINS, [agent, "operator"], "preceptor.E004", bot),
        (JOINS, [person, "agent"], "preceptor.E004", operator),
    ]
    for done, (statement, params, number, name) in enumerate(breaks, start=1):
        superuser.execute(statement.encode(), params)
        messages = check_messages()
        assert len(messages) == done
        assert any(each == number and name in text for each, text in messages)
    with pytest.raises(CommandError, match="is staff or superuser"):
        call_command("check", databases=["default"])


@pytest.fixture
def mixed(world: World, superuser: "psycopg.Connection[tuple[object, ...]]") -> str:
    """How the log names an agent's user who was made a superuser past the walls."""
    superuser.execute(DISABLE_TRIGGERS)
    superuser.execute("UPDATE tenants_user SET is_superuser = true WHERE id = %s", [world.agent.service_user_id])
    return f"preceptor.E001: Agent user agent:{world.tenant.pk}:{world.agent.key} is staff or superuser."


def test_a_worker_says_at_its_start_what_mixes(mixed: str, caplog: pytest.LogCaptureFixture) -> None:
    # R016
    celery.signals.worker_ready.send(sender=None)  # type: ignore[attr-defined]  # a submodule the configuration loads
    [message] = [record.getMessage() for record in caplog.records if record.name == "apps.tenants.checks"]
    assert message.startswith(mixed)


@pytest.mark.slow
def test_the_web_process_says_at_its_start_what_mixes_and_starts(
    mixed: str, postgres: Postgres, committing: str
) -> None:
    # R016
    found_words = find_startup_words(
        postgres.url_for(f"{PREFIX}_login", database=committing), mixed, "Application startup complete"
    )
    assert all(found_words.values()), found_words


@pytest.mark.slow
def test_a_database_that_is_away_keeps_the_web_process_from_nothing() -> None:
    away = "postgresql://nobody@127.0.0.1:1/nowhere"
    found_words = find_startup_words(away, "Role separation was not checked", "Application startup complete")
    assert all(found_words.values()), found_words


def find_startup_words(database_url: str, *words: str) -> dict[str, bool]:
    """Which of these words the web process wrote within half a minute of its start."""
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DATABASE_URL": database_url,
        "DATABASE_OWNER_URL": "",
    }
    command = [sys.executable, "-m", "uvicorn", "config.asgi:application", "--port", "0"]
    found = dict.fromkeys(words, False)
    with subprocess.Popen(command, cwd=PROJECT, env=environment, stderr=subprocess.PIPE, text=True) as server:
        deadline = Timer(30, server.kill)
        deadline.start()
        for line in server.stderr or ():
            found |= {word: True for word in words if word in line}
            if all(found.values()):
                break
        deadline.cancel()
        server.kill()
    return found


def test_without_the_database_nothing_is_asked() -> None:
    assert check_role_separation(None) == []
