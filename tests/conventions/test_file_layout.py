"""The layout of files. Each rule is shown to catch a bad file before it checks the product."""

from functools import partial

import pytest

from tests.conventions import file_layout
from tests.conventions.allowances import LONG_FILES, LONG_FUNCTIONS, LONG_QUERIES
from tests.conventions.source_files import Check, find_flaws, make_source, sources

# Reads the product's sources and runs nothing of it.
pytestmark = pytest.mark.unmeasured

LONG_QUERY = 'X = """\nSELECT id, name\n  FROM skill\n WHERE a\n   AND b\n   AND c\n   AND d\n ORDER BY id\n"""'
LONG_FUNCTION = "def act() -> None:\n" + "    pass\n" * 60

RULES: dict[str, Check] = {
    "drawers": file_layout.catch_all_names,
    "relative": file_layout.relative_imports,
    "hidden": file_layout.hidden_imports,
    "signals": file_layout.signals_and_mocks,
    "broker": file_layout.broker_delays,
    "package": file_layout.package_sentences,
    "unfinished": file_layout.unfinished_lines,
    "file length": partial(file_layout.long_files, allowed=LONG_FILES),
    "function length": partial(file_layout.long_functions, allowed=LONG_FUNCTIONS),
    "long SQL": partial(file_layout.long_queries, allowed=LONG_QUERIES),
}

REJECTED_SOURCES = [
    ("drawers", "apps/skills/utils.py", ""),
    ("drawers", "apps/helpers/skills.py", ""),
    ("relative", "apps/skills/models.py", "from . import rules"),
    ("relative", "apps/skills/models.py", "from ..tenants import models"),
    ("hidden", "apps/skills/actions.py", "def act():\n    import json"),
    ("hidden", "apps/skills/actions.py", "class Page:\n    async def act(self):\n        from apps import api"),
    ("hidden", "apps/skills/models.py", "def ready():\n    import json"),
    ("signals", "apps/skills/models.py", "from django.dispatch import receiver"),
    ("signals", "apps/skills/models.py", "from django import dispatch"),
    ("signals", "apps/skills/models.py", "from django.db.models import signals"),
    ("signals", "apps/skills/models.py", "from django.db.models.signals import post_save"),
    ("signals", "apps/runtime/worker/engine.py", "from celery.signals import worker_process_init"),
    ("signals", "tests/rules/test_skills.py", "from unittest import mock"),
    ("signals", "tests/rules/test_skills.py", "from unittest.mock import patch"),
    ("broker", "apps/runtime/wakeup.py", "app.send_task('take_turn', countdown=5)"),
    ("broker", "apps/runtime/wakeup.py", "take_turn.apply_async(args, eta=soon)"),
    ("broker", "apps/runtime/tasks.py", "@shared_task(autoretry_for=(OSError,))\ndef take_turn(): ..."),
    ("broker", "apps/runtime/tasks.py", "def take_turn(task):\n    raise task.retry()"),
    ("package", "apps/skills/__init__.py", ""),
    ("package", "apps/skills/__init__.py", '"""Skills."""\nimport json'),
    ("package", "apps/skills/__init__.py", '"""Skills and not memory"""'),
    ("package", "apps/skills/__init__.py", '"""Skills. They are not memory."""'),
    ("package", "apps/skills/__init__.py", "from apps.skills.models import Skill"),
    ("unfinished", "apps/skills/models.py", "# TO" + "DO later"),
    ("unfinished", "apps/skills/models.py", "raise Not" + "ImplementedError"),
    ("file length", "apps/skills/models.py", "pass\n" * 501),
    ("function length", "apps/skills/models.py", LONG_FUNCTION),
    ("long SQL", "apps/skills/models.py", LONG_QUERY),
    ("long SQL", "apps/skills/models.py", LONG_QUERY.replace('"""', 'f"""', 1).replace("name", "{name}")),
]

ACCEPTED_SOURCES = [
    ("drawers", "apps/skills/management/commands/mine_skills.py", ""),
    ("drawers", "apps/webhooks/delivery_service.py", ""),
    ("drawers", "apps/tenants/service.py", ""),
    ("drawers", "apps/tenants/managers.py", ""),
    ("relative", "apps/skills/models.py", "from apps.skills import rules"),
    ("hidden", "apps/skills/models.py", "import json\n\ndef act():\n    return json"),
    ("hidden", "apps/skills/apps.py", "class Skills:\n    def ready(self):\n        from apps.skills import checks"),
    ("signals", "config/celery.py", "from celery.signals import worker_process_init"),
    ("signals", "apps/skills/models.py", "from apps.demo import story"),
    ("broker", "apps/runtime/wakeup.py", "app.send_task('take_turn', args=[1, 2, 5], retry=False)"),
    ("package", "apps/skills/__init__.py", '"""Runbooks and their states; not how they are learned."""'),
    ("package", "apps/skills/migrations/__init__.py", ""),
    ("package", "apps/skills/models/__init__.py", '"""Rows of skills."""\nfrom apps.skills.models.skill import Skill'),
    ("unfinished", "apps/skills/models.py", "todo = 1"),
    ("file length", "apps/skills/models.py", "pass\n" * 500),
    ("file length", "apps/skills/migrations/0001_initial.py", "pass\n" * 501),
    ("function length", "apps/skills/models.py", LONG_FUNCTION.removesuffix("    pass\n")),
    ("long SQL", "apps/skills/models.py", LONG_QUERY.replace("\n ORDER BY id", "")),
    ("long SQL", "apps/skills/models.py", LONG_QUERY.replace("SELECT", "Choose")),
    ("long SQL", "apps/skills/migrations/0002_rows.py", LONG_QUERY),
]


@pytest.mark.parametrize(("rule", "path", "text"), REJECTED_SOURCES)
def test_rule_catches(rule: str, path: str, text: str) -> None:
    assert list(RULES[rule](make_source(path, text)))


@pytest.mark.parametrize(("rule", "path", "text"), ACCEPTED_SOURCES)
def test_rule_lets_pass(rule: str, path: str, text: str) -> None:
    assert list(RULES[rule](make_source(path, text))) == []


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["drawers", "relative", "hidden", "package", "function length", "long SQL"])
def test_product_stands_in_its_places(rule: str) -> None:
    assert find_flaws(RULES[rule]) == []


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["signals", "broker", "unfinished", "file length"])
def test_product_and_tests_stand_in_their_places(rule: str) -> None:
    assert find_flaws(RULES[rule], "apps", "config", "tests", "benchmarks") == []


def test_allowance_shrinks_with_what_it_allows() -> None:
    grown, shrunk, right, short = (
        make_source("apps/skills/models.py", "pass\n" * lines) for lines in (551, 540, 550, 20)
    )
    allowed = {"apps/skills/models.py": 550}
    assert "limit 550" in next(iter(file_layout.long_files(grown, allowed)))
    assert "lower its allowance" in next(iter(file_layout.long_files(shrunk, allowed)))
    assert "remove it" in next(iter(file_layout.long_files(short, allowed)))
    assert list(file_layout.long_files(right, allowed)) == []


def test_every_allowance_names_a_file() -> None:
    paths = {str(source.path) for source in sources("apps", "config", "tests", "benchmarks")}
    assert {place.split("::")[0] for place in (*LONG_FILES, *LONG_FUNCTIONS, *LONG_QUERIES)} <= paths
