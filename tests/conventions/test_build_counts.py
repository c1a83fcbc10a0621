"""Counts of the build's cost: each count has a limit, and a run over a limit is named."""

import subprocess
import sys
from collections import Counter

import pytest
from django.db import connection

from apps.launcher.data_folders import PROJECT
from tests.support.build_counts import (
    CLONES,
    FIXED_SET,
    PROCESSES,
    STATEMENTS,
    counted_statements,
    counts,
    exceeded_limits,
    limits,
)

# Runs nothing of the product.
pytestmark = pytest.mark.unmeasured


def test_every_count_has_a_limit() -> None:
    assert set(limits()) == {PROCESSES, CLONES, STATEMENTS}


def test_more_than_the_limit_is_named_and_less_is_not() -> None:
    [sentence] = exceeded_limits(Counter({PROCESSES: 8, CLONES: 5}), {PROCESSES: 7, CLONES: 5})
    assert sentence.startswith(f"{PROCESSES}: 8, at most 7")
    assert exceeded_limits(Counter({"threads": 1}), {}) != []


def test_every_started_process_is_counted() -> None:
    before = counts[PROCESSES]
    subprocess.run([sys.executable, "-c", ""], check=True)
    assert counts[PROCESSES] == before + 1


@pytest.mark.django_db
@pytest.mark.parametrize(("path", "counted"), [(FIXED_SET[0], 1), ("tests/tenants/test_tenants.py", 0)])
def test_statements_are_counted_of_the_fixed_set_alone(path: str, counted: int) -> None:
    before = counts[STATEMENTS]
    with counted_statements(f"{path}::test"), connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    assert counts[STATEMENTS] - before == counted


def test_the_fixed_set_is_there() -> None:
    assert [path for path in FIXED_SET if not (PROJECT / path).exists()] == []
