"""The cached template of tests is made again as soon as any of its sources changes."""

import inspect
from pathlib import Path

import pytest
from django.apps import apps

from apps.launcher.data_folders import PROJECT
from tests.support.database.migrated_cluster import sources, template_key

pytestmark = pytest.mark.kernel

KINDS = {
    "an SQL file": "apps/skills/sql/functions.sql",
    "an SQL file of a sub-package": "apps/learning/lessons/sql/triggers.sql",
    "a migration": "apps/skills/migrations/0004_more.py",
    "a module of models": "apps/skills/models.py",
    "a module of models by another name": "apps/memory/models.py",
    "a module in a package of models": "apps/skills/models/skill.py",
    "a mixin with fields": "apps/learning/usage_columns.py",
    "a module of the policy": "apps/governance/policy/policy_table.py",
    "a module of the set-up": "apps/tenants/database_roles.py",
    "a setting": "config/settings.py",
    "the lock file": "requirements-embedded.lock",
}


def write_source(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in (*KINDS.values(), "apps/api/framework/base_views.py"):
        write_source(tmp_path, name, "tokens = models.PositiveIntegerField()" if "columns" in name else "")
    return tmp_path


@pytest.mark.parametrize("kind", KINDS)
def test_a_change_of_what_the_template_is_made_from_changes_its_key(project: Path, kind: str) -> None:
    before = template_key(project)
    write_source(project, KINDS[kind], "tokens = models.BigIntegerField()  # another")
    assert template_key(project) != before


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_goes_changes_the_key_too(project: Path, kind: str) -> None:
    before = template_key(project)
    (project / KINDS[kind]).unlink()
    assert template_key(project) != before


def test_a_change_of_a_surface_leaves_the_key_as_it_is(project: Path) -> None:
    before = template_key(project)
    write_source(project, "apps/api/framework/base_views.py", "another = 1")
    assert template_key(project) == before


def test_every_module_that_a_table_of_ours_comes_from_is_a_source() -> None:
    found = {str(path) for path in sources()}
    modules = {
        inspect.getfile(part)
        for model in apps.get_models(include_auto_created=True)
        for part in model.__mro__
        if part.__module__.startswith("apps.")
    }
    assert len(modules) > 30
    assert modules <= found
    assert {str(path) for path in Path(PROJECT, "apps").glob("*/sql/*.sql")} <= found
