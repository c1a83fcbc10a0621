"""The commands that make a database ready: each may run again, and says what it did."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from django.conf import settings
from django.db import connections
from pytest_django import DjangoDbBlocker, Settings

from apps.launcher.postgres import Postgres
from apps.tenants.policy_sync.drift import policy_drift
from tests.settings import PREFIX
from tests.support.database.clones import clone_database, close_connections, point_to
from tests.support.drivers.management_command import run_command

NAME = f"{PREFIX}_setup"


@pytest.fixture
def owner_url(
    postgres: Postgres, template_database: str, django_db_setup: str, django_db_blocker: DjangoDbBlocker
) -> Iterator[str]:
    """A database of this test's own, in which commands may commit."""
    with own_database(postgres, template_database, django_db_blocker) as url:
        yield url


@pytest.fixture
def empty_owner_url(postgres: Postgres, django_db_setup: str, django_db_blocker: DjangoDbBlocker) -> Iterator[str]:
    """The same without anything in it."""
    with own_database(postgres, "template0", django_db_blocker) as url:
        yield url


@contextmanager
def own_database(postgres: Postgres, template: str, django_db_blocker: DjangoDbBlocker) -> Iterator[str]:
    """A copy of the template, until the block ends."""
    before = settings.DATABASE_OWNER_URL
    clone_database(postgres, template, NAME)
    settings.DATABASE_OWNER_URL = postgres.url_for("postgres", database=NAME)
    with django_db_blocker.unblock():
        yield settings.DATABASE_OWNER_URL
        close_connections()
    settings.DATABASE_OWNER_URL = before
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {NAME}")
    point_to(postgres, PREFIX)


def test_setting_up_again_changes_nothing(owner_url: str) -> None:
    seen = run_command("setup_database", "--verbosity", "0")
    assert seen.failure == ""
    assert seen.out.splitlines() == [
        "Roles created: none, all existed.",
        "Grants changed: 0.",
        "Database rights changed: 0.",
    ]


@pytest.mark.slow
def test_an_empty_database_is_set_up_the_same_whether_roles_or_policy_come_last(empty_owner_url: str) -> None:
    for order in (("setup_roles", "migrate", "sync_policy"), ("migrate", "sync_policy", "setup_roles")):
        for command in order:
            assert run_command(command, "--verbosity", "0").failure == "", command
        assert policy_drift() == []
    assert run_command("makemigrations", "--check", "--dry-run").failure == ""


@pytest.mark.slow
def test_migrate_runs_as_the_owner_because_the_login_may_not(owner_url: str) -> None:
    assert run_command("migrate", "--check", "--verbosity", "0").failure == ""
    assert "No migrations to apply" in run_command("migrate").out
    assert connections["owner"].settings_dict["NAME"] == NAME


def test_a_database_of_the_former_schema_is_refused_and_stays_as_it_is(owner_url: str) -> None:
    with psycopg.connect(owner_url, autocommit=True) as connection:
        connection.execute("DELETE FROM django_migrations WHERE app = 'tenants' AND name <> '0001_tables'")
        connection.execute("INSERT INTO django_migrations (app, name, applied) VALUES ('tenants', '0002_walls', now())")
    refused = run_command("setup_database", "--verbosity", "0")
    assert "made by a version before 0.1.0" in refused.failure
    assert "`make clean`" in refused.failure
    with psycopg.connect(owner_url, autocommit=True) as connection:
        rows = connection.execute("SELECT name FROM django_migrations WHERE app = 'tenants' ORDER BY name").fetchall()
    assert rows == [("0001_tables",), ("0002_walls",)]


@pytest.mark.slow
def test_drift_of_the_grants_is_found_and_repaired(owner_url: str) -> None:
    assert "agree with the policy" in run_command("sync_policy", "--check").out
    with psycopg.connect(owner_url, autocommit=True) as connection:
        connection.execute(
            "DELETE FROM tenants_roletemplategroupobjectpermission WHERE permission_id IN"
            " (SELECT id FROM auth_permission WHERE codename = 'skill_draft')"
        )
    drifted = run_command("sync_policy", "--check")
    assert "differs from the policy in 4 places" in drifted.failure
    assert "agent: lacks ['skill_draft']" in drifted.err
    assert run_command("sync_policy").failure == ""
    assert run_command("sync_policy", "--check").failure == ""


def test_roles_need_an_owner_and_the_installations_own_login(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(settings.DATABASES["default"], "USER", "somebody")
    assert "DATABASE_URL signs in as somebody" in run_command("setup_roles").failure
    settings.DATABASE_OWNER_URL = ""
    assert "Set DATABASE_OWNER_URL" in run_command("setup_roles").failure
