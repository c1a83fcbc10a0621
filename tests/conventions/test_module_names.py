"""Names of modules, and the number of modules in a folder."""

import pytest

from tests.conventions import module_names
from tests.conventions.source_files import find_flaws, make_source, sources

# Reads the product's sources and runs nothing of it.
pytestmark = pytest.mark.unmeasured

FOLDERS = ("apps", "config", "tests", "benchmarks")


@pytest.mark.parametrize(
    "name", ["told", "whose", "going_by", "having_read", "standing_in", "twice_held", "deciding", "sealed", "others"]
)
def test_name_that_names_nothing_is_caught(name: str) -> None:
    assert list(module_names.unnamed_modules(make_source(f"apps/skills/{name}.py", "")))


@pytest.mark.parametrize(
    "name",
    ["retry_delay", "memory_vetting", "claimed_endpoint", "billing", "circuit_breaker", "test_deciding", "__main__"],
)
def test_noun_is_a_name(name: str) -> None:
    assert list(module_names.unnamed_modules(make_source(f"apps/skills/{name}.py", ""))) == []


def test_every_module_is_named_by_what_is_in_it() -> None:
    assert find_flaws(module_names.unnamed_modules, *FOLDERS) == []


def test_a_folder_of_too_many_modules_is_caught() -> None:
    modules = [make_source(f"apps/skills/module_{number}.py", "") for number in range(26)]
    beside = [make_source("apps/skills/__init__.py", ""), make_source("apps/skills/migrations/0001_tables.py", "")]
    assert list(module_names.full_folders([*modules[:25], *beside])) == []
    assert list(module_names.full_folders(modules)) == [
        "apps/skills: 26 modules; make a folder of each feature (limit 25)."
    ]


def test_no_folder_is_full() -> None:
    assert list(module_names.full_folders(sources(*FOLDERS))) == []
