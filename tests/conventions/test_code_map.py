"""The map of the code is written from the packages' own sentences."""

import pytest

from apps.launcher.data_folders import PROJECT
from tests.conventions import code_map

# Reads the product's sources and runs nothing of it.
pytestmark = pytest.mark.unmeasured


def test_code_map_is_up_to_date() -> None:
    written = "docs/code-map.md is out of date. Run: .venv/bin/python -m tests.conventions.code_map"
    assert code_map.PAGE.read_text("utf-8") == code_map.code_map(), written


def test_every_package_of_the_product_is_on_the_map() -> None:
    packages = {path.parent for path in (PROJECT / "apps").glob("*/__init__.py")}
    assert {path.name for path in packages} <= set(code_map.code_map().replace("`", "/").split("/"))


def test_architecture_has_a_row_for_every_package() -> None:
    page = (PROJECT / "docs" / "architecture.md").read_text("utf-8")
    packages = {path.parent.name for path in (PROJECT / "apps").glob("*/__init__.py")}
    assert {name for name in packages if f"| [`{name}`](../apps/{name}) |" not in page} == set()


def test_a_package_in_a_package_is_indented_below_it() -> None:
    lines = code_map.code_map().splitlines()
    outer = next(place for place, line in enumerate(lines) if line.startswith("- [`apps/api`]"))
    assert lines[outer + 1].startswith("  - [`apps/api/")
