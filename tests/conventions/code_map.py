"""The code map: one line for each package, from its docstring. `python -m tests.conventions.code_map` writes the page."""

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from apps.launcher.data_folders import PROJECT

PAGE: Final = PROJECT / "docs" / "code-map.md"
PAGE_HEADING: Final = """# Code map

This page lists every package with one sentence, for contributors who look for the right place to change. The sections are the
layers, top to bottom: a package imports only from sections below its own. [Architecture](architecture.md) explains how the parts
work together.

`python -m tests.conventions.code_map` writes this page from the docstrings of the `__init__.py` files, and a test fails when it is
out of date.
"""


def code_map() -> str:
    """Return the page as it has to be."""
    return "\n".join([PAGE_HEADING, *_sections()])


def _sections() -> Iterator[str]:
    for packages in _layers():
        yield f"## {', '.join(packages)}\n"
        for name in packages:
            yield from _module_lines(PROJECT / "apps" / name)
        yield ""


def _layers() -> Iterator[list[str]]:
    """Yield the packages of each layer, top to bottom, as the import contracts list them."""
    contracts = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    for layer in next(contract for contract in contracts if contract["type"] == "layers")["layers"]:
        names = [name.strip(" ()") for name in layer.split("|")]
        if found := [name for name in names if (PROJECT / "apps" / name).is_dir()]:
            yield found


def _module_lines(package: Path) -> Iterator[str]:
    """Yield the line of a package, and those of the packages in it, indented."""
    for folder in sorted([package, *(path.parent for path in package.rglob("*/__init__.py"))]):
        if sentence := _sentence(folder):
            place = folder.relative_to(PROJECT)
            yield f"{'  ' * (len(place.parts) - 2)}- [`{place}`](../{place}): {sentence}"


def _sentence(folder: Path) -> str:
    """Return the sentence of a package; empty for Django's own folders, which have none."""
    return ast.get_docstring(ast.parse((folder / "__init__.py").read_text("utf-8"))) or ""


if __name__ == "__main__":
    PAGE.write_text(code_map(), encoding="utf-8")
