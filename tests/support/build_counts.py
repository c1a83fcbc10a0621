"""What the build is measured by on a machine whose seconds say nothing: processes started, databases cloned, statements made.

Each test process counts for itself and tells the one that hands out tests; `make test-all` fails where a sum is above its limit.
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
# Ordinary tests of the product's acts; what they ask of the database is the price of one more such test.
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
    """Count every process that this one starts from here on; Python tells of each, whoever starts it."""
    sys.addaudithook(lambda event, _: counts.update([PROCESSES]) if event == "subprocess.Popen" else None)


@contextmanager
def counted_statements(test: str) -> Iterator[None]:
    """Count what a test asks of the database, by its id, if it is one of the fixed set."""
    if not test.startswith(FIXED_SET):
        yield
        return
    with connections["default"].execute_wrapper(_count_statement):
        yield


def _count_statement(execute: Callable[..., Any], *statement: Any) -> Any:  # Any: what Django hands to a wrapper
    counts[STATEMENTS] += 1
    return execute(*statement)


def limits() -> dict[str, int]:
    """The most of each that the whole run may take."""
    held: dict[str, int] = json.loads(LIMITS.read_text())
    return held


def exceeded_limits(found: Counter[str], most: dict[str, int]) -> list[str]:
    """What was more than it may be, a sentence each; a name without a limit is one."""
    return [
        f"{name}: {found[name]}, at most {most.get(name, 0)} (tests/support/build_counts.json)"
        for name in sorted({*found, *most})
        if found[name] > most.get(name, 0)
    ]
