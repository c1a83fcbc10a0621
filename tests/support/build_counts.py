"""Counts of the build's cost on a machine whose times are not comparable: processes started, databases cloned, statements made.

Each test process counts for itself and reports to the controller; `make test-all` fails if a sum is above its limit.
"""

import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from django.db import connections

PROCESSES, CLONES, STATEMENTS = "processes started", "database clones made", "SQL statements of the fixed set"
LIMITS: Final = Path(__file__).with_name("build_counts.json")
# Ordinary tests of the product's acts; their statements show the price of one more such test.
FIXED_SET: Final = (
    "tests/desk/test_desk.py",
    "tests/memory/test_memory.py",
    "tests/tenants/test_people.py",
    "tests/skills/test_skills.py",
    "tests/api/resources/test_skills.py",
    "tests/console/tenants/test_members.py",
)
ARE_LIMITS_ENFORCED: Final = os.environ.get("HOLD_COUNTS") == "1"

counts: Counter[str] = Counter()


def begin_counting() -> None:
    """Count every process that this one starts from here on; Python's audit hook reports each."""
    sys.addaudithook(lambda event, _: counts.update([PROCESSES]) if event == "subprocess.Popen" else None)


@contextmanager
def counted_statements(test: str) -> Iterator[None]:
    """Count the database statements of a test, by its id, if it is one of the fixed set."""
    if not test.startswith(FIXED_SET):
        yield
        return
    with connections["default"].execute_wrapper(_count_statement):
        yield


def _count_statement(execute: Callable[..., Any], *statement: Any) -> Any:  # Any: what Django hands to a wrapper
    counts[STATEMENTS] += 1
    return execute(*statement)


def limits() -> dict[str, int]:
    """Return the limit of each count for a whole run."""
    held: dict[str, int] = json.loads(LIMITS.read_text())
    return held


def exceeded_limits(found: Counter[str], most: dict[str, int]) -> list[str]:
    """Return a sentence for each count above its limit, and for each count without a limit."""
    return [
        f"{name}: {found[name]}, at most {most.get(name, 0)} (tests/support/build_counts.json)"
        for name in sorted({*found, *most})
        if found[name] > most.get(name, 0)
    ]
