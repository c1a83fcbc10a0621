"""Names of public classes."""

import pytest

from tests.conventions.allowances import SHARED_CLASS_NAMES
from tests.conventions.class_names import shared_class_names
from tests.conventions.source_files import make_source, sources

# Reads the product's sources and runs nothing of it.
pytestmark = pytest.mark.unmeasured


def test_two_classes_of_one_name_are_caught() -> None:
    modules = [
        make_source(f"apps/skills/{name}.py", "class Verdict: ...\nclass _Row: ...") for name in ("files", "rules")
    ]
    assert list(shared_class_names(modules, {})) == [
        "Verdict is a class of apps/skills/files.py, apps/skills/rules.py: give each a name of its own."
    ]
    assert list(shared_class_names(modules, {"Verdict": "both are the vendor's"})) == []


def test_an_allowance_that_nothing_needs_is_caught() -> None:
    modules = [make_source("apps/skills/rules.py", "class Verdict: ...")]
    assert list(shared_class_names(modules, {"Verdict": "both are the vendor's"})) == [
        "Verdict is allowed twice and defined once: strike it from the list."
    ]
    assert list(shared_class_names(modules, {})) == []


def test_every_public_class_has_a_name_of_its_own() -> None:
    assert list(shared_class_names(sources("apps"), SHARED_CLASS_NAMES)) == []
